//! Words for the causes of late activations: the causes in a table, the latest starts, the remedies.

mod audit;
mod clues;
pub mod event;
pub(crate) mod marks;
mod words;

use jitterlab_analysis::causes::{CauseRow, LateEvent, RunWhy, TaskWhy, is_unusual};
use jitterlab_model::causes::{Cause, CauseClass, Tracer};
use jitterlab_model::{Fitness, RunInfo, TaskRun};

use crate::document::Present;
use crate::head::Head;
use crate::run::task_line;
use crate::section::{Cell, Piece, Section, Table};
use crate::words::{count, list, plural, share, time};
use event::event;
pub(crate) use words::remedy;
use words::when;
pub use words::{cause, step};

/// Activations that are shown one by one.
const LATEST: usize = 10;
/// Number of the latest that are shown as lanes, and letters of a lane.
const LANES: usize = 3;
const LANE: i64 = 20;
/// Causes in the first table, and in the detailed one.
const SHOWN: usize = 3;
const ROWS: usize = 12;
/// Causes with a remedy.
const REMEDIES: usize = 5;
/// Functions of a cause that are named.
const FUNCTIONS: usize = 3;
/// Interruptions that are listed.
const INTERRUPTIONS: usize = 5;

impl Present for RunWhy {
    const KIND: &'static str = "why";

    fn head(&self) -> Option<Head> {
        answer(self)
    }

    fn sections(&self) -> Vec<Section> {
        let each = |(of, task): (&TaskWhy, &TaskRun)| match self.one_event {
            true => only_event(of, self, task),
            false => {
                let sentences = if is_answered(of, self) { gaps(of) } else { beside_the_answer(of, self) };
                sentences.into_iter().map(Piece::text).chain(pieces(of, self, task)).collect()
            }
        };
        let mut pieces: Vec<Piece> = self.tasks.iter().zip(&self.run.tasks).flat_map(each).collect();
        let clues = if self.tasks.is_empty() { clues::pieces(&self.run) } else { Vec::new() };
        pieces.extend(clues);
        if pieces.is_empty() {
            pieces.push(Piece::text("It holds no task whose causes were kept."));
        }
        if !self.one_event && !self.tasks.is_empty() {
            let file = crate::head::shown(&self.file);
            pieces.push(Piece::text(format!("One start in full: jitterlab why --event 1 {file}")));
        }
        vec![section(pieces)]
    }
}

/// The section of causes.
pub(crate) fn section(pieces: Vec<Piece>) -> Section {
    Section::new(
        "causes",
        "Why it was late",
        "What delayed the latest starts, by the kernel's own events. The parts of each latency add up to it.",
        pieces,
    )
}

/// The causes of a task's late starts, the latest of them, the remedies, and everything else, folded.
pub(crate) fn pieces(of: &TaskWhy, why: &RunWhy, task: &TaskRun) -> Vec<Piece> {
    let first_due_ns = task.result.as_ref().map_or(0, |result| result.first_due_ns);
    let latest = (!of.events.is_empty()).then(|| Piece::Table(lanes(of, first_due_ns, &why.run)));
    let remedies = remedies(of, &why.run).into_iter().map(Piece::note);
    let audit = audit::pieces(of, task, &why.run);
    let starts: Vec<Piece> = latest.into_iter().chain(audit).chain(remedies).collect();
    // Of several tasks, one screen holds the starts and habits of the one that the answer is about.
    let (shown, mut details) = if is_answered(of, why) { (starts, Vec::new()) } else { (Vec::new(), starts) };
    details.push(Piece::text(task_line(&why.run, task)));
    details.extend((of.explained > 0).then(|| Piece::Table(every_cause(of))));
    details.extend(usual(of).into_iter().chain(interruptions(of)).map(Piece::text));
    details.extend(of.events.iter().take(LATEST).flat_map(|late| event(late, first_due_ns, &why.run, true)));
    details.push(Piece::text(tracer(&why.tracer)));
    let folded =
        Piece::details(format!("{}: every cause, and the latest starts one by one", of.task), details);
    piece(of).into_iter().chain(shown).chain([folded]).collect()
}

/// One activation in full.
fn only_event(of: &TaskWhy, why: &RunWhy, task: &TaskRun) -> Vec<Piece> {
    let first_due_ns = task.result.as_ref().map_or(0, |result| result.first_due_ns);
    let mut pieces = vec![Piece::text(task_line(&why.run, task))];
    pieces.extend(of.events.iter().flat_map(|late| event(late, first_due_ns, &why.run, true)));
    if of.events.is_empty() {
        pieces.push(Piece::text("No such activation is among those that are kept."));
    }
    pieces
}

/// The causes of a task after its run.
pub fn brief(of: &TaskWhy, run: &RunInfo) -> Vec<Piece> {
    let sentences = of_task(of, run).map(Piece::text);
    let task = run.tasks.iter().find(|task| task.spec.name == of.task);
    let audit = task.into_iter().flat_map(|task| audit::pieces(of, task, run));
    sentences.chain(piece(of)).chain(audit).collect()
}

/// The task that the answer is about: the one that started latest, of those that something unusual delayed if there are any.
fn answered(why: &RunWhy) -> Option<&TaskWhy> {
    let tasks = why.tasks.iter().filter(|task| !why.one_event && task.explained > 0);
    tasks.max_by_key(|task| (task.main_cause().is_some(), task.max_ns))
}

fn is_answered(of: &TaskWhy, why: &RunWhy) -> bool {
    answered(why).is_some_and(|answered| std::ptr::eq(answered, of))
}

/// Main facts about another task than the one that the answer is about: a next step is said once.
fn beside_the_answer(of: &TaskWhy, why: &RunWhy) -> Vec<String> {
    let said = answered(why).and_then(|answered| next_step(answered, &why.run));
    of_task(of, &why.run)
        .filter(|sentence| !said.as_ref().is_some_and(|said| sentence.ends_with(said)))
        .collect()
}

/// Main facts about a task and the next step, each with its name.
fn of_task(of: &TaskWhy, run: &RunInfo) -> impl Iterator<Item = String> {
    head(of, run).into_iter().map(|sentence| format!("{}: {sentence}", of.task))
}

/// The next step against the main cause.
fn next_step(of: &TaskWhy, run: &RunInfo) -> Option<String> {
    of.main_cause().map(|main| format!("Next: {}.", remedy(&main.cause, run)))
}

/// The three lines: the main cause of the task with the latest start; `None` for a single activation.
pub(crate) fn answer(why: &RunWhy) -> Option<Head> {
    let Some(task) = answered(why) else {
        return clues::head(&why.run).filter(|_| why.tasks.is_empty());
    };
    let Some(main) = task.main_cause() else {
        return Some(Head {
            fitness: Fitness::Good,
            asked: false,
            verdict: "NOTHING UNUSUAL delayed any start.".into(),
            number: format!(
                "The latest of {} was {} late, all of it the usual way.",
                plural(task.explained, "activation"),
                time(task.max_ns as f64)
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

/// Largest delay by a cause; the latest start, and the same without that cause and all of its kind, or
/// without the kind that made it late.
fn worst(of: &TaskWhy, main: &CauseRow) -> String {
    let without = |row: &CauseRow| row.max_without_class_ns.filter(|ns| *ns < of.max_ns);
    let unusual = of.causes.iter().filter(|row| is_unusual(row.cause.class));
    let most = unusual.filter_map(|row| Some((row, without(row)?))).min_by_key(|(_, ns)| *ns);
    let less = most.map_or(String::new(), |(row, ns)| {
        let others =
            of.causes.iter().any(|other| other.cause.class == row.cause.class && other.cause != row.cause);
        let named = match row.cause.class == main.cause.class {
            true => "it".into(),
            false => format!("“{}”", cause(&row.cause)),
        };
        let equals = if others { " and causes of its kind" } else { "" };
        format!("; without {named}{equals} at most {}", time(ns as f64))
    });
    let (worst, latest) = (time(main.worst_ns as f64), time(of.max_ns as f64));
    let delayed = match main.cause.class {
        CauseClass::Lost => String::new(),
        _ => format!("It delayed a start by up to {worst}. "),
    };
    format!("{delayed}The latest start was {latest} late{less}.")
}

/// Share of activations whose events are complete, events that were lost, and the effect of a quota.
fn gaps(of: &TaskWhy) -> Vec<String> {
    let whole = of.explained.saturating_sub(of.gaps);
    let lost = (of.gaps > 0).then(|| {
        format!(
            "{} of {} have their causes whole; of the others events were lost.",
            share(whole as f64 / of.explained.max(1) as f64),
            plural(of.explained, "activation")
        )
    });
    let left_out = (of.left_out > 0).then(|| {
        format!(
            "The file had no room for the parts of {}; they are in the sums.",
            plural(of.left_out, "late start")
        )
    });
    let quota = of.quota.filter(|quota| quota.throttled > 0).map(|quota| {
        format!(
            "The CPU quota of its control group was used up in {} of {}, and held threads of the group off for {} in all.",
            count(quota.throttled),
            plural(quota.periods, "period"),
            time(quota.ns as f64)
        )
    });
    lost.into_iter().chain(left_out).chain(quota).collect()
}

/// Main facts about a task, and the next step.
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
    [said].into_iter().chain(next_step(of, run)).chain(gaps(of)).collect()
}

/// Certainty of a cause, over all its delays.
pub(crate) fn sureness(row: &CauseRow) -> String {
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

/// The largest causes, each with the letter that marks it in the latest starts.
pub(crate) fn piece(of: &TaskWhy) -> Option<Piece> {
    let row = |((letter, _), row): ((char, &Cause), &CauseRow)| {
        vec![
            format!("{letter} {}", cause(&row.cause)).into(),
            Cell::Share(row.latest_share),
            Cell::time(row.worst_ns as f64),
            Cell::new(row.max_without_class_ns, |ns| Cell::time(ns as f64)),
            sureness(row).into(),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = marked(of).into_iter().zip(unusual(of)).map(row).collect();
    rows.extend(smaller(of, SHOWN).map(|(number, latest_share, _, worst_ns)| {
        let name = format!("  {}", plural(number as u64, "smaller cause"));
        vec![name.into(), Cell::Share(latest_share), Cell::time(worst_ns), Cell::Nothing, "".into()]
    }));
    let from = of.latest_from_ns.map_or(String::new(), |ns| format!(" ({} late or more)", time(ns as f64)));
    let caption = format!(
        "{}: the {} latest of {} starts{from}; the latest {}",
        of.task,
        count(of.latest),
        count(of.explained),
        time(of.max_ns as f64)
    );
    (of.explained > 0)
        .then(|| Piece::table(caption, &["cause, µs", "share", "worst", "latest without", "how sure"], rows))
}

/// Every cause with all known facts.
fn every_cause(of: &TaskWhy) -> Table {
    let optional = |ns: Option<i64>| Cell::new(ns, |ns| Cell::time(ns as f64));
    let cells = |row: &CauseRow| {
        vec![
            cause(&row.cause).into(),
            Cell::Share(row.latest_share),
            Cell::Share(row.share),
            Cell::time(row.worst_ns as f64),
            optional(row.max_without_ns),
            optional(row.p99_9_without_ns),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = unusual(of).take(ROWS).map(cells).collect();
    rows.extend(smaller(of, ROWS).map(|(number, latest_share, all_share, worst_ns)| {
        let name = plural(number as u64, "smaller cause");
        let [latest, all] = [latest_share, all_share].map(Cell::Share);
        vec![name.into(), latest, all, Cell::time(worst_ns), Cell::Nothing, Cell::Nothing]
    }));
    rows.extend(of.causes.iter().filter(|row| !is_unusual(row.cause.class)).map(|row| {
        let mut cells = cells(row);
        (cells[1], cells[4], cells[5]) = (Cell::Nothing, Cell::Nothing, Cell::Nothing);
        cells
    }));
    let mut measured = vec!["as measured".into(), Cell::Nothing, Cell::Nothing, Cell::Nothing];
    measured.extend([Cell::time(of.max_ns as f64), optional(of.p99_9_ns)]);
    rows.push(measured);
    let caption = format!(
        "{}: each cause's share of what delayed the latest starts beyond the usual way, its share of all lateness, its worst delay, and maximum and p99.9 without it",
        of.task
    );
    Table::new(caption, &["cause, µs", "latest", "all", "worst", "max without", "p99.9 without"], rows)
}

fn unusual(of: &TaskWhy) -> impl Iterator<Item = &CauseRow> {
    of.causes.iter().filter(|row| is_unusual(row.cause.class))
}

/// The causes after the first `shown` together: their number, their shares of the latest and of all lateness, and the
/// worst delay.
fn smaller(of: &TaskWhy, shown: usize) -> Option<(usize, f64, f64, f64)> {
    let left = || unusual(of).skip(shown);
    let worst_ns = left().map(|row| row.worst_ns).max()?;
    let sum = |of: fn(&CauseRow) -> f64| left().map(of).sum::<f64>();
    Some((left().count(), sum(|row| row.latest_share), sum(|row| row.share), worst_ns as f64))
}

/// The causes of the first table with their letters.
fn marked(of: &TaskWhy) -> Vec<(char, &Cause)> {
    let causes: Vec<&Cause> = unusual(of).take(SHOWN).map(|row| &row.cause).collect();
    marks::letters(&causes).into_iter().zip(causes).collect()
}

/// The latest starts, each from its due time to its start, in letters of causes.
fn lanes(of: &TaskWhy, first_due_ns: i64, run: &RunInfo) -> Table {
    let causes = marked(of);
    let mark = |cause: &Cause| match causes.iter().find(|(_, known)| *known == cause) {
        _ if !is_unusual(cause.class) => marks::USUAL,
        Some((letter, _)) => *letter,
        None => marks::OTHER,
    };
    let lane = |late: &LateEvent| {
        let cell = |number: i64| {
            let at_ns = late.latency_ns * (2 * number + 1) / (2 * LANE);
            let part = late.parts.iter().find(|part| (part.at_ns..part.at_ns + part.ns).contains(&at_ns));
            part.map_or(' ', |part| mark(&part.cause))
        };
        (0..LANE).map(cell).collect::<String>()
    };
    let rows = of.events.iter().take(LANES).map(|late| {
        vec![
            format!("#{}", count(late.index)).into(),
            Cell::time(late.latency_ns as f64),
            lane(late).into(),
            when(late.due_ns, first_due_ns, run).into(),
        ]
    });
    let due = if run.epoch_offset_ns.is_some() { "due, UTC" } else { "due after" };
    Table::new(
        "The latest, from due time to start: letters as above, · the usual way, * other causes",
        &["start", "late, µs", "", due],
        rows,
    )
}

/// Remedies for each large cause, those of a class once.
fn remedies(of: &TaskWhy, run: &RunInfo) -> Vec<String> {
    let mut remedies: Vec<(&CauseRow, String, Vec<String>)> = Vec::new();
    for row in of.causes.iter().filter(|row| row.latest_share >= 0.01).take(REMEDIES) {
        let remedy = remedy(&row.cause, run);
        let is_like = |known: &(&CauseRow, String, _)| {
            known.1 == remedy || known.0.cause.class == row.cause.class && row.cause.who.is_some()
        };
        match remedies.iter_mut().find(|known| is_like(known)) {
            Some((_, known, likewise)) if *known != remedy => likewise.push(cause(&row.cause)),
            Some(_) => {}
            None => remedies.push((row, remedy, Vec::new())),
        }
    }
    let sentence = |(row, remedy, likewise): (&CauseRow, String, Vec<String>)| {
        let check = row.check.as_ref().map_or(String::new(), |id| format!(" (check: {id})"));
        let functions: Vec<String> =
            row.functions.iter().take(FUNCTIONS).map(|(name, _)| name.clone()).collect();
        let within =
            if functions.is_empty() { String::new() } else { format!(", mostly in {}", list(&functions)) };
        let likewise =
            if likewise.is_empty() { String::new() } else { format!("; likewise for {}", list(&likewise)) };
        format!("{}, {}{within}: {remedy}{check}{likewise}", cause(&row.cause), sureness(row))
    };
    remedies.into_iter().map(sentence).collect()
}

fn usual(of: &TaskWhy) -> Option<String> {
    let steps = of.usual.iter().map(|usual| format!("{} {}", time(usual.median_ns as f64), step(usual.step)));
    let steps: Vec<String> = steps.collect();
    (!steps.is_empty()).then(|| format!("A normal wake-up (median): {}.", steps.join(", ")))
}

fn interruptions(of: &TaskWhy) -> Option<String> {
    // Interruptions of unknown length are listed, too.
    let (timed, untimed): (Vec<_>, Vec<_>) = of.interruptions.iter().partition(|sum| sum.max_ns > 0);
    let listed = timed.into_iter().take(INTERRUPTIONS).chain(untimed).map(|sum| {
        let times = if sum.times == 1 { "once".into() } else { format!("{} times", count(sum.times)) };
        let worst = match sum.max_ns {
            0 => "no event shows for how long".into(),
            ns => format!("at worst {}", time(ns as f64)),
        };
        format!("{} ({times}, {worst})", cause(&sum.cause))
    });
    let listed: Vec<String> = listed.collect();
    (!listed.is_empty()).then(|| format!("Its work was interrupted by {}.", listed.join(", ")))
}

fn tracer(tracer: &Tracer) -> String {
    let lost = if tracer.lost == 0 { "none lost".into() } else { format!("{} lost", count(tracer.lost)) };
    let each = tracer
        .event_ns
        .map_or(String::new(), |ns| format!("; an event takes about {} here", time(ns as f64)));
    format!(
        "Tracing: {}, {lost}; reading them took {} of processor time{each}.",
        plural(tracer.events, "event"),
        time(tracer.cpu_time_ns as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use crate::document;
    use crate::terminal::Extent;
    use jitterlab_analysis::causes::ListedEvents;
    use jitterlab_model::causes::{CauseSum, Evidence, LateStart, Part, TaskCauses};
    use jitterlab_model::{Bench, TaskSpec};

    #[test]
    fn of_a_task_on_a_xenomai_core_it_is_said_that_linux_does_not_see_it() {
        let of = |wake: &str| {
            let spec: TaskSpec = format!("name=servo,period=1ms,wake={wake}").parse().unwrap();
            let run = RunInfo::new(Bench::Host, "monotonic", [spec]);
            let nothing = TaskCauses::default();
            head(&TaskWhy::new("servo", &nothing, ListedEvents::Latest(1)), &run).concat()
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
        let of = TaskWhy::new("main", &causes, ListedEvents::Latest(1));
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

    /// A run with a thread in the way, idle states, and starts that nothing delayed.
    fn delayed() -> RunWhy {
        let hog = Cause { class: CauseClass::Preempted, who: Some("drillbit (fifo:85)".into()) };
        let sums = [hog, CauseClass::Idle.into(), CauseClass::Usual.into()].map(|cause| {
            let mut sum = CauseSum::new(cause);
            sum.count(90_000, 80_000, 80_000, 0);
            sum
        });
        let late = |index: u64, cause, latency_ns| LateStart {
            index,
            due_ns: index as i64 * 1_000_000,
            latency_ns,
            cpu: 1,
            parts: [
                (2, 0, 10_000, Evidence::Events),
                (cause, 10_000, latency_ns - 10_000, Evidence::WasIdle),
            ]
            .map(|(cause, at_ns, ns, evidence)| Part { cause, at_ns, ns, evidence, function: None })
            .into(),
            spans: Vec::new(),
        };
        let mut causes = TaskCauses {
            explained: 3,
            lateness_ns: 270_000,
            max_ns: 190_000,
            causes: sums.into(),
            latest: vec![late(7, 0, 190_000), late(8, 1, 90_000), late(9, 2, 80_000)],
            ..TaskCauses::default()
        };
        for ns in [190_000, 90_000, 80_000] {
            causes.latencies.record(ns);
        }
        let tasks = vec![TaskWhy::new("main", &causes, ListedEvents::Latest(9))];
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        RunWhy { file: "why.parquet".into(), tasks, tracer: Tracer::default(), one_event: false, run }
    }

    #[test]
    fn causes_and_the_latest_starts_fit_every_terminal() {
        let shown = |columns, extent| {
            document::text(&delayed(), extent, Terminal { columns, ascii: false, colour: false })
        };
        insta::assert_snapshot!("why-40", shown(40, Extent::Answer));
        insta::assert_snapshot!("why-80", shown(80, Extent::Answer));
        insta::assert_snapshot!("why-details-120", shown(120, Extent::Details));
    }
}
