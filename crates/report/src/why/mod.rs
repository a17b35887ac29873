//! Why activations were late, for the terminal: what to do first, the causes in a table, the latest one by one.

pub mod event;
mod words;

use std::fmt::Write as _;

use jitterlab_analysis::causes::{CauseRow, RunWhy, TaskWhy, is_unusual};
use jitterlab_model::causes::{Cause, CauseClass, Tracer};
use jitterlab_model::{Fitness, RunInfo, TaskRun};

use crate::head::Head;
use crate::run::task_line;
use crate::section::Piece;
use crate::table::columns;
use crate::words::{count, list, plural, share, time};
use crate::wrap::wrap;
use event::event;
pub use words::step;
pub(crate) use words::{cause, remedy};

/// Activations that the page tells one by one.
const LATEST: usize = 10;
/// Causes in the table at most.
const ROWS: usize = 12;
/// Causes in the table after a run.
const BRIEF_ROWS: usize = 5;
/// Causes whose remedy is told.
const REMEDIES: usize = 5;
/// Functions that are told of a cause.
const FUNCTIONS: usize = 3;
/// Letters of a cause in the table.
const NAME: usize = 33;
/// Interruptions that are told.
const INTERRUPTIONS: usize = 5;

/// Everything that `jitterlab why` says.
#[must_use]
pub fn text(why: &RunWhy) -> String {
    let mut text = String::new();
    for (of, task) in why.tasks.iter().zip(&why.run.tasks) {
        text += &wrap(&task_line(&why.run, task));
        if why.one_event {
            text += &events(of, task, true);
            continue;
        }
        // Of a task by itself the first lines say it.
        let said = why.tasks.len() == 1 && of.explained > 0;
        text += &wrapped(&if said { gaps(of) } else { head(of, &why.run) });
        text += &table(of, ROWS);
        text += &remedies(of, &why.run);
        text += &usual(of);
        text += &interruptions(of);
        text += &events(of, task, false);
        text.push('\n');
    }
    if !why.one_event {
        text += &tracer(&why.tracer);
        text += "one of them in full: jitterlab why --event 1 FILE\n";
    }
    text + &format!("file: {}\n", why.file)
}

/// What is said of a task after its run.
#[must_use]
pub fn brief(of: &TaskWhy, run: &RunInfo) -> String {
    let mut text = format!("\nwhy {} was late\n", of.task);
    text += &wrapped(&head(of, run));
    text += &table(of, BRIEF_ROWS);
    text
}

/// The three lines: what delayed the task most that started latest. Of a single activation there are none.
pub(crate) fn answer(why: &RunWhy) -> Option<Head> {
    let tasks = || why.tasks.iter().filter(|task| !why.one_event && task.explained > 0);
    let found =
        tasks().filter_map(|task| Some((task, task.main_cause()?))).max_by_key(|(task, _)| task.max_ns);
    let Some((task, main)) = found else {
        let latest = tasks().max_by_key(|task| task.max_ns)?;
        return Some(Head {
            fitness: Fitness::Good,
            asked: false,
            verdict: "NOTHING UNUSUAL delayed any start.".into(),
            number: format!(
                "The latest of {} was {} late, all of it the usual way.",
                plural(latest.explained, "activation"),
                time(latest.max_ns as f64)
            ),
            next: "jitterlab predict (how much worse it can get), or a longer run".into(),
        });
    };
    let next = remedy(&main.cause, &why.run);
    if main.cause.class == CauseClass::Lost {
        let part = share(main.latest_share);
        return Some(Head {
            fitness: Fitness::CannotTell,
            asked: false,
            verdict: format!(
                "CANNOT TELL what delayed {} most: events of the kernel were lost, so of {part} of what delayed the {} latest \
                 starts nothing is known.",
                task.task,
                count(task.latest),
            ),
            number: worst(task, main),
            next,
        });
    }
    Some(Head {
        fitness: Fitness::Limited,
        asked: false,
        verdict: format!(
            "LARGEST CAUSE: {} ({}), {} of what delayed the {} latest starts of {}.",
            cause(&main.cause),
            sureness(main),
            share(main.latest_share),
            count(task.latest),
            task.task
        ),
        number: worst(task, main),
        next,
    })
}

/// What a cause took at worst; how late the latest start was, and without which cause it would have been less.
fn worst(of: &TaskWhy, main: &CauseRow) -> String {
    let without = |row: &CauseRow| row.max_without_ns.filter(|ns| *ns < of.max_ns);
    let unusual = of.causes.iter().filter(|row| is_unusual(row.cause.class));
    let most = unusual.filter_map(|row| Some((row, without(row)?))).min_by_key(|(_, ns)| *ns);
    let less = most.map_or(String::new(), |(row, ns)| {
        let cause = if row.cause == main.cause {
            "that cause".into()
        } else {
            format!("“{}”", cause(&row.cause))
        };
        format!("; without {cause} it would have been {}", time(ns as f64))
    });
    let (worst, latest) = (time(main.worst_ns as f64), time(of.max_ns as f64));
    let delayed = match main.cause.class {
        CauseClass::Lost => String::new(),
        _ => format!("It delayed a start by up to {worst}. "),
    };
    format!("{delayed}The latest start was {latest} late{less}.")
}

/// How many activations are known in part only.
fn gaps(of: &TaskWhy) -> Vec<String> {
    let said = (of.gaps > 0).then(|| {
        format!("Of {} a part is not known, since events were lost.", plural(of.gaps, "activation"))
    });
    said.into_iter().collect()
}

/// What to know first of a task, and what to do next.
pub(crate) fn head(of: &TaskWhy, run: &RunInfo) -> Vec<String> {
    if of.explained == 0 {
        let spec = run.tasks.iter().map(|task| &task.spec).find(|spec| spec.name == of.task);
        if let Some(core) = spec.map(|spec| spec.wake).filter(|wake| wake.traits().core) {
            return vec![format!("The kernel's events say nothing of it: tasks of {core} run beside Linux.")];
        }
        return vec!["No activation was explained: none ended while events were recorded.".into()];
    }
    let Some(main) = of.main_cause() else {
        return vec![format!(
            "Nothing unusual delayed any of {}: the latest started {} late, all of it the usual way.",
            plural(of.explained, "activation"),
            time(of.max_ns as f64)
        )];
    };
    let least = of.latest_from_ns.map_or(String::new(), |ns| format!(", those from {} on,", time(ns as f64)));
    let what = match main.cause.class {
        CauseClass::Lost => "is not known, since events of the kernel were lost".into(),
        _ => format!("is {} ({})", cause(&main.cause), sureness(main)),
    };
    let said = format!(
        "{} of what delayed the {} latest starts{least} {what}. {}",
        share(main.latest_share),
        count(of.latest),
        worst(of, main)
    );
    [said, format!("Next: {}.", remedy(&main.cause, run))].into_iter().chain(gaps(of)).collect()
}

/// How sure a cause is, all its delays together.
fn sureness(row: &CauseRow) -> String {
    let kinds =
        [(row.proven, "proven"), (row.likely, "likely"), (1.0 - row.proven - row.likely, "undecided")];
    let seen: Vec<_> = kinds.into_iter().filter(|(part, _)| *part >= 0.005).collect();
    match seen[..] {
        [(_, only)] => only.into(),
        _ => {
            seen.iter().map(|(part, word)| format!("{} {word}", share(*part))).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Headings of the table of causes.
const HEADINGS: [&str; 6] = ["cause", "latest", "all", "worst", "max without", "p99.9"];

/// The table of causes on the page.
pub(crate) fn piece(of: &TaskWhy) -> Option<Piece> {
    let caption = "Each cause: its share of what delayed the latest starts beyond the usual way, its share of all lateness, by how much it delayed a start at worst, and what the maximum and p99.9 would be without it.";
    (of.explained > 0).then(|| Piece::table(caption, &HEADINGS, rows(of, ROWS)))
}

fn table(of: &TaskWhy, most: usize) -> String {
    if of.explained == 0 {
        return String::new();
    }
    columns(&HEADINGS, rows(of, most))
}

fn rows(of: &TaskWhy, most: usize) -> Vec<Vec<String>> {
    let optional = |ns: Option<i64>| ns.map_or("-".into(), |ns| time(ns as f64));
    let unusual = of.causes.iter().filter(|row| is_unusual(row.cause.class));
    let shown: Vec<&CauseRow> = unusual.clone().take(most).collect();
    let cells = |row: &CauseRow| {
        vec![
            short(&row.cause),
            share(row.latest_share),
            share(row.share),
            time(row.worst_ns as f64),
            optional(row.max_without_ns),
            optional(row.p99_9_without_ns),
        ]
    };
    let mut rows: Vec<Vec<String>> = shown.iter().map(|row| cells(row)).collect();
    let left: Vec<&CauseRow> = unusual.skip(most).collect();
    if !left.is_empty() {
        let sum = |of: fn(&CauseRow) -> f64| left.iter().map(|row| of(row)).sum::<f64>();
        rows.push(vec![
            format!("{} more", left.len()),
            share(sum(|row| row.latest_share)),
            share(sum(|row| row.share)),
            optional(left.iter().map(|row| row.worst_ns).max()),
            "-".into(),
            "-".into(),
        ]);
    }
    for row in of.causes.iter().filter(|row| !is_unusual(row.cause.class)) {
        let mut cells = cells(row);
        (cells[1], cells[4], cells[5]) = ("-".into(), "-".into(), "-".into());
        rows.push(cells);
    }
    rows.push(vec![
        "as it was".into(),
        String::new(),
        String::new(),
        String::new(),
        time(of.max_ns as f64),
        optional(of.p99_9_ns),
    ]);
    rows
}

/// A cause in the room that a table has for it.
pub(crate) fn short(of: &Cause) -> String {
    cut(&cause(of), NAME)
}

fn wrapped(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| wrap(sentence)).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

fn remedies(of: &TaskWhy, run: &RunInfo) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut text = String::new();
    for row in of.causes.iter().filter(|row| row.latest_share >= 0.01).take(REMEDIES) {
        let remedy = remedy(&row.cause, run);
        if told.contains(&remedy) {
            continue;
        }
        let check = row.check.as_ref().map_or(String::new(), |id| format!(" (check: {id})"));
        let functions = row.functions.iter().take(FUNCTIONS).map(|(name, _)| name.clone());
        let functions: Vec<String> = functions.collect();
        let within = match functions.is_empty() {
            true => String::new(),
            false => format!(", mostly in {}", list(&functions)),
        };
        text += &wrap(&format!("- {}, {}{within}: {remedy}{check}", cause(&row.cause), sureness(row)));
        told.push(remedy);
    }
    text
}

fn usual(of: &TaskWhy) -> String {
    let steps = of.usual.iter().map(|usual| format!("{} {}", step(usual.step), time(usual.median_ns as f64)));
    let steps: Vec<String> = steps.collect();
    if steps.is_empty() {
        return String::new();
    }
    wrap(&format!("The usual way, in the middle: {}.", steps.join(", ")))
}

fn interruptions(of: &TaskWhy) -> String {
    // Those of which no length is known are told all the same.
    let (timed, untimed): (Vec<_>, Vec<_>) = of.interruptions.iter().partition(|sum| sum.max_ns > 0);
    let told = timed.into_iter().take(INTERRUPTIONS).chain(untimed).map(|sum| {
        let times = if sum.times == 1 { "once".into() } else { format!("{} times", count(sum.times)) };
        let worst = match sum.max_ns {
            0 => "for how long is in no event".into(),
            ns => format!("at worst {}", time(ns as f64)),
        };
        format!("{} ({times}, {worst})", cause(&sum.cause))
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => String::new(),
        false => wrap(&format!("Its work was interrupted by {}.", told.join(", "))),
    }
}

/// The latest activations one by one, as the page folds them away.
pub(crate) fn latest(of: &TaskWhy, task: &TaskRun) -> String {
    let first_due_ns = task.result.as_ref().map_or(0, |result| result.first_due_ns);
    of.events.iter().take(LATEST).map(|late| event(late, first_due_ns, true)).collect()
}

fn events(of: &TaskWhy, task: &TaskRun, in_full: bool) -> String {
    if of.events.is_empty() {
        return if in_full {
            "  no such activation is among those that are kept\n".into()
        } else {
            String::new()
        };
    }
    let first_due_ns = task.result.as_ref().map_or(0, |result| result.first_due_ns);
    let mut text = String::new();
    if !in_full {
        let _ = writeln!(text, "the latest {}", of.events.len());
    }
    for late in &of.events {
        text += &event(late, first_due_ns, in_full);
    }
    text
}

fn tracer(tracer: &Tracer) -> String {
    let lost = if tracer.lost == 0 { "none lost".into() } else { format!("{} lost", count(tracer.lost)) };
    let each = tracer
        .event_ns
        .map_or(String::new(), |ns| format!("; an event takes about {} here", time(ns as f64)));
    wrap(&format!(
        "Tracing: {}, {lost}; reading them took {} of processor time{each}.",
        plural(tracer.events, "event"),
        time(tracer.cpu_time_ns as f64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::causes::Told;
    use jitterlab_model::causes::{CauseSum, Evidence, LateStart, Part, TaskCauses};
    use jitterlab_model::{Bench, TaskSpec};

    #[test]
    fn of_a_task_on_a_xenomai_core_it_is_said_that_linux_does_not_see_it() {
        let of = |wake: &str| {
            let spec: TaskSpec = format!("name=servo,period=1ms,wake={wake}").parse().unwrap();
            let run = RunInfo::new(Bench::Host, "monotonic", [spec]);
            let nothing = TaskCauses::default();
            head(&TaskWhy::of("servo", &nothing, Told::Latest(1)), &run).concat()
        };
        assert!(of("cobalt").contains("tasks of cobalt run beside Linux"), "{}", of("cobalt"));
        assert!(of("nanosleep").contains("none ended while events were recorded"));
    }

    #[test]
    fn lost_events_are_no_cause_of_which_anything_is_said() {
        let part = Part { cause: 0, at_ns: 0, ns: 80_000, evidence: Evidence::None, function: None };
        let late = LateStart {
            index: 0,
            due_ns: 0,
            latency_ns: 80_000,
            cpu: 0,
            parts: vec![part],
            spans: Vec::new(),
        };
        let lost = CauseSum { sum_ns: 80_000, max_ns: 80_000, ..CauseSum::new(CauseClass::Lost.into()) };
        let mut causes = TaskCauses { explained: 1, max_ns: 80_000, gaps: 1, ..TaskCauses::default() };
        (causes.causes, causes.latest) = (vec![lost], vec![late]);
        causes.latencies.record(80_000);
        let of = TaskWhy::of("main", &causes, Told::Latest(1));
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let said = head(&of, &run).concat();
        assert!(
            said.contains(
                "is not known, since events of the kernel were lost. The latest start was 80 µs late."
            ),
            "{said}"
        );
        assert!(!said.contains("delayed a start"), "{said}");
        let row = &of.causes[0];
        assert_eq!((row.max_without_ns, row.p99_9_without_ns), (None, None), "{row:?}");
        let why =
            RunWhy { file: String::new(), tasks: vec![of], tracer: Tracer::default(), one_event: false, run };
        assert!(answer(&why).unwrap().verdict.starts_with("CANNOT TELL what delayed main most"));
    }
}
