//! Words for the causes of late activations: the causes in a table, the worst starts, the remedies.

mod audit;
mod clues;
pub mod event;
pub(crate) mod marks;
mod misses;
mod words;

use jitterlab_analysis::causes::{
    CauseRow, ClusterWithPath, ClustersWithPaths, LateEvent, RunWhy, TaskWhy, is_unusual,
};
use jitterlab_model::causes::{Cause, CauseClass, Tracer};
use jitterlab_model::{Fitness, RunInfo, TaskRun};

use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::run::task_line;
use crate::section::{Cell, Piece, Section, Table};
use crate::words::{SHOWN_TASKS, count, list, plural, share, time};
use event::event_pieces;
pub(crate) use words::remedy_clause;
pub use words::{cause_text, path_text, step_text};
use words::{due_text, is_measurement};

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

    fn conclusion(&self) -> Option<Conclusion> {
        why_conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        let each = |(of, task): (&TaskWhy, &TaskRun)| match self.one_event {
            true => single_event_pieces(of, self, task),
            false => {
                let sentences = if is_task_of_answer(of, self) {
                    gap_sentences(of)
                } else {
                    task_sentences(of, &self.run).collect()
                };
                sentences.into_iter().map(Piece::text).chain(task_pieces(of, self, task)).collect()
            }
        };
        let mut pieces = with_others_folded(self, each);
        let clues = if self.tasks.is_empty() { clues::clue_pieces(&self.run) } else { Vec::new() };
        pieces.extend(clues);
        if pieces.is_empty() {
            pieces.push(Piece::text("It holds no task whose causes were kept."));
        }
        if !self.one_event && !self.tasks.is_empty() {
            let file = crate::conclusion::file_argument(&self.file);
            pieces.push(Piece::text(format!("One start in full: jitterlab why --event 1 {file}")));
        }
        vec![section(pieces)]
    }
}

/// Pieces of the tasks with the largest latencies, and behind them those of the others, folded.
pub(crate) fn with_others_folded(
    why: &RunWhy,
    of_task: impl Fn((&TaskWhy, &TaskRun)) -> Vec<Piece>,
) -> Vec<Piece> {
    let (shown, others) = split_worst(&why.tasks, SHOWN_TASKS);
    let of_tasks = |numbers: &[usize]| -> Vec<Piece> {
        let both = numbers.iter().filter_map(|number| why.tasks.get(*number).zip(why.run.tasks.get(*number)));
        both.flat_map(&of_task).collect()
    };
    let mut pieces = of_tasks(&shown);
    if !others.is_empty() {
        let summary = format!("The other {}", plural(others.len() as u64, "task"));
        pieces.push(Piece::details(summary, of_tasks(&others)));
    }
    pieces
}

/// Splits the tasks, by their numbers, into those with the largest latencies and the others, each in their order.
pub(crate) fn split_worst(tasks: &[TaskWhy], shown: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(tasks[*number].max_ns));
    let worst = &order[..shown.min(order.len())];
    (0..tasks.len()).partition(|number| worst.contains(number))
}

pub(crate) fn section(pieces: Vec<Piece>) -> Section {
    Section::new(
        "causes",
        "Why it was late",
        "What delayed the latest starts, by the kernel's own events. The parts of each latency add up to it.",
        pieces,
    )
}

/// The causes of a task's late starts, the latest of them, the remedies, and everything else, folded.
pub(crate) fn task_pieces(of: &TaskWhy, why: &RunWhy, task: &TaskRun) -> Vec<Piece> {
    let first_due_ns = task.result.as_ref().map_or(0, |result| result.first_due_ns);
    let latest =
        (!of.events.is_empty()).then(|| Piece::Table(table_of_worst_starts(of, first_due_ns, &why.run)));
    let mut remedies = remedy_sentences(of, &why.run).into_iter().map(Piece::note);
    // The next step is the first remedy.
    let said = is_task_of_answer(of, why).then(|| remedies.next()).flatten();
    let audit = audit::audit_pieces(of, task, &why.run);
    let starts = latest.into_iter().chain(audit).chain(remedies);
    // Of several tasks, one screen holds the causes, starts and habits of the one that the answer is about.
    let starts: Vec<Piece> = main_causes_piece(of).into_iter().chain(starts).collect();
    let (shown, mut details) =
        if is_task_of_answer(of, why) { (starts, Vec::new()) } else { (Vec::new(), starts) };
    details.extend(said);
    details.push(Piece::text(task_line(&why.run, task)));
    details.extend((of.explained > 0).then(|| Piece::Table(table_of_every_cause(of))));
    details.extend(clusters_piece(&of.clusters));
    details
        .extend(typical_wakeup_sentence(of).into_iter().chain(interruptions_sentence(of)).map(Piece::text));
    details.extend(
        of.events.iter().take(LATEST).flat_map(|late| event_pieces(late, first_due_ns, &why.run, true)),
    );
    details.push(Piece::text(tracing_sentence(&why.tracer)));
    let folded =
        Piece::details(format!("{}: every cause, and the latest starts one by one", of.task), details);
    shown.into_iter().chain([folded]).collect()
}

/// One activation in full.
fn single_event_pieces(of: &TaskWhy, why: &RunWhy, task: &TaskRun) -> Vec<Piece> {
    let first_due_ns = task.result.as_ref().map_or(0, |result| result.first_due_ns);
    let mut pieces = vec![Piece::text(task_line(&why.run, task))];
    pieces.extend(of.events.iter().flat_map(|late| event_pieces(late, first_due_ns, &why.run, true)));
    if of.events.is_empty() {
        pieces.push(Piece::text("No such activation is among those that are kept."));
    }
    pieces
}

/// The causes of a task after its run.
pub fn brief_pieces(of: &TaskWhy, run: &RunInfo) -> Vec<Piece> {
    let sentences = task_sentences(of, run).map(Piece::text);
    let task = run.task(&of.task);
    let audit = task.into_iter().flat_map(|task| audit::audit_pieces(of, task, run));
    sentences.chain(main_causes_piece(of)).chain(audit).collect()
}

/// Task that the answer on a run is about; `None` if the answer is about one event.
fn task_of_run_answer(why: &RunWhy) -> Option<&TaskWhy> {
    task_of_answer(&why.tasks).filter(|_| !why.one_event)
}

/// The task that missed most by its work, else the one that started latest; `None` if none was explained. Tasks that
/// something unusual delayed come before others.
fn task_of_answer(tasks: &[TaskWhy]) -> Option<&TaskWhy> {
    let explained = tasks.iter().filter(|task| task.explained > 0);
    let missed = |task: &TaskWhy| task.cause_of_misses().map(|_| task.misses.due_times);
    explained.max_by_key(|task| (missed(task), task.main_cause().is_some(), task.max_ns))
}

/// The next step after a run whose causes are known; `None` if no task was explained.
pub(crate) fn next_step_of_run(tasks: &[TaskWhy], run: &RunInfo) -> Option<String> {
    next_step(task_of_answer(tasks)?, run)
}

fn is_task_of_answer(of: &TaskWhy, why: &RunWhy) -> bool {
    task_of_run_answer(why).is_some_and(|answered| std::ptr::eq(answered, of))
}

/// Main facts about a task, each with its name.
fn task_sentences(of: &TaskWhy, run: &RunInfo) -> impl Iterator<Item = String> {
    main_sentences(of, run).into_iter().map(|sentence| format!("{}: {sentence}", of.task))
}

/// The next step: the remedy that removes most; `None` without causes.
fn next_step(of: &TaskWhy, run: &RunInfo) -> Option<String> {
    if let Some((most, _)) = of.cause_of_misses() {
        return Some(remedy_clause(&most.cause, run));
    }
    let most = ranked_remedies(of, run).into_iter().next()?;
    let more = most.rows.len() - 1;
    let together = match more {
        0 => String::new(),
        _ => format!(
            " (for this and {}: {} together)",
            plural(more as u64, "other cause"),
            share(most.share_of_worst)
        ),
    };
    Some(format!("{}{together}", most.remedy))
}

/// The three lines: the main cause of the task with the worst start; `None` for a single activation.
pub(crate) fn why_conclusion(why: &RunWhy) -> Option<Conclusion> {
    let Some(task) = task_of_run_answer(why) else {
        return clues::clue_conclusion(&why.run).filter(|_| why.tasks.is_empty());
    };
    Some(misses::misses_conclusion(task, &why.run).unwrap_or_else(|| late_starts_conclusion(task, &why.run)))
}

/// Conclusion with the main cause of a task's late starts.
fn late_starts_conclusion(task: &TaskWhy, run: &RunInfo) -> Conclusion {
    let Some(main) = task.main_cause() else {
        return Conclusion {
            fitness: Fitness::Good,
            asked: false,
            verdict: "NOTHING UNUSUAL delayed any start.".into(),
            number: format!(
                "The latest of {} was {} late, all of it the usual way.",
                plural(task.explained, "activation"),
                time(task.max_ns as f64)
            ),
            next: "jitterlab predict (how much worse it can get), or a longer run".into(),
        };
    };
    let (part, latest) = (share(main.share_of_worst), count(task.worst_count));
    let (fitness, verdict) = match main.cause.class {
        CauseClass::Lost => (
            Fitness::CannotTell,
            format!(
                "CANNOT TELL what delayed {} most: events of the kernel are missing, so of {part} of what delayed the {latest} \
                 latest starts nothing is known.",
                task.task
            ),
        ),
        _ => (
            Fitness::Limited,
            format!(
                "LARGEST CAUSE: {} ({}), {part} of what delayed the {latest} latest starts of {}.",
                cause_text(&main.cause),
                certainty_text(main),
                task.task
            ),
        ),
    };
    let next = next_step(task, run).filter(|_| main.cause.class != CauseClass::Lost);
    let next = next.unwrap_or_else(|| remedy_clause(&main.cause, run));
    Conclusion { fitness, asked: false, verdict, number: worst_sentence(task, main), next }
}

/// Sentences on the largest delay by the main cause, and on the latest start, with and without its own.
fn worst_sentence(of: &TaskWhy, main: &CauseRow) -> String {
    let without = |row: &CauseRow| row.max_without_class_ns.filter(|ns| *ns < of.max_ns);
    let most = unusual_causes(of).filter_map(|row| Some((row, without(row)?))).min_by_key(|(_, ns)| *ns);
    let (worst, latest) = (time(main.worst_ns as f64), time(of.max_ns as f64));
    let less = most.map_or(String::new(), |(row, ns)| {
        let without = time(ns as f64);
        let has_equals =
            of.causes.iter().any(|other| other.cause.class == row.cause.class && other.cause != row.cause);
        match row.cause.class == main.cause.class {
            true if has_equals => format!("; without causes of that kind, at most {without}"),
            true => format!("; without that cause, at most {without}"),
            false if has_equals => {
                format!("; without causes such as “{}”, at most {without}", cause_text(&row.cause))
            }
            false => format!("; without “{}”, at most {without}", cause_text(&row.cause)),
        }
    });
    let delayed = match main.cause.class {
        CauseClass::Lost => String::new(),
        _ => format!("The largest delay by that cause was {worst}. "),
    };
    format!("{delayed}The latest start was {latest} late{less}.")
}

/// Share of activations whose events are complete, events that were lost, and the effect of a quota.
fn gap_sentences(of: &TaskWhy) -> Vec<String> {
    let whole = of.explained.saturating_sub(of.gaps);
    let lost = (of.gaps > 0).then(|| {
        format!(
            "{} of {} have their causes whole; of the others events are missing.",
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

/// Main facts about a task.
pub(crate) fn main_sentences(of: &TaskWhy, run: &RunInfo) -> Vec<String> {
    if of.explained == 0 {
        if let Some(core) = run.task(&of.task).map(|task| task.spec.wake).filter(|wake| wake.traits().core) {
            return vec![format!("The kernel's events say nothing of it: tasks of {core} run beside Linux.")];
        }
        return vec!["No activation was explained: none ended while events were recorded.".into()];
    }
    let conclusions = misses::misses_conclusion(of, run).into_iter().chain([late_starts_conclusion(of, run)]);
    conclusions.map(|said| format!("{} {}", said.verdict, said.number)).chain(gap_sentences(of)).collect()
}

/// Certainty of a cause, over all its delays.
pub(crate) fn certainty_text(row: &CauseRow) -> String {
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

/// Table of the largest causes, each with its letter in the worst starts; `None` if no start was explained.
pub(crate) fn main_causes_piece(of: &TaskWhy) -> Option<Piece> {
    let row = |((letter, _), row): ((char, &Cause), &CauseRow)| {
        vec![
            format!("{letter} {}", cause_text(&row.cause)).into(),
            Cell::Share(row.share_of_worst),
            Cell::time(row.worst_ns as f64),
            Cell::optional(row.max_without_class_ns, |ns| Cell::time(ns as f64)),
            certainty_text(row).into(),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = lettered_causes(of).into_iter().zip(unusual_causes(of)).map(row).collect();
    rows.extend(sum_of_smaller(of, SHOWN).map(|(number, share_of_worst, _, worst_ns)| {
        let name = format!("  {}", plural(number as u64, "smaller cause"));
        vec![name.into(), Cell::Share(share_of_worst), Cell::time(worst_ns), Cell::Nothing, "".into()]
    }));
    let from = of.worst_from_ns.map_or(String::new(), |ns| format!(" ({} late or more)", time(ns as f64)));
    let caption = format!(
        "{}: the {} latest of {} starts{from}; the latest {}",
        of.task,
        count(of.worst_count),
        count(of.explained),
        time(of.max_ns as f64)
    );
    (of.explained > 0)
        .then(|| Piece::table(caption, &["cause, µs", "share", "worst", "latest without", "how sure"], rows))
}

/// Every cause with all known facts.
fn table_of_every_cause(of: &TaskWhy) -> Table {
    let optional = |ns: Option<i64>| Cell::optional(ns, |ns| Cell::time(ns as f64));
    let cells = |row: &CauseRow| {
        vec![
            cause_text(&row.cause).into(),
            Cell::Share(row.share_of_worst),
            Cell::Share(row.share),
            Cell::time(row.worst_ns as f64),
            optional(row.max_without_ns),
            optional(row.p99_9_without_ns),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = unusual_causes(of).take(ROWS).map(cells).collect();
    rows.extend(sum_of_smaller(of, ROWS).map(|(number, share_of_worst, all_share, worst_ns)| {
        let name = plural(number as u64, "smaller cause");
        let [latest, all] = [share_of_worst, all_share].map(Cell::Share);
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

/// Clusters of a latency, each with the path that most of its activations took; `None` where they are no more than one.
pub fn clusters_piece(found: &ClustersWithPaths) -> Option<Piece> {
    let avoided = share(found.lambda?);
    let row = |of: &ClusterWithPath| {
        let range = format!("{} .. {}", time(of.low_ns as f64), time(of.high_ns as f64));
        let path = path_text(&of.path);
        vec![
            range.into(),
            Cell::Share(of.share),
            path.into(),
            Cell::Share(of.path_share),
            Cell::Share(of.share_of_path),
        ]
    };
    let caption = format!(
        "Clusters of the latency, and what most of each met on the way, in order; to know the way avoids {avoided} of the errors \
         in guessing the cluster"
    );
    let header = ["cluster", "share", "what it met", "of the cluster", "ends there"];
    Some(Piece::table(caption, &header, found.clusters.iter().map(row)))
}

fn unusual_causes(of: &TaskWhy) -> impl Iterator<Item = &CauseRow> {
    of.causes.iter().filter(|row| is_unusual(row.cause.class))
}

/// The causes after the first `shown` summed: number, shares of the latest and of all lateness, worst delay. `None` if
/// there are no more.
fn sum_of_smaller(of: &TaskWhy, shown: usize) -> Option<(usize, f64, f64, f64)> {
    let left = || unusual_causes(of).skip(shown);
    let worst_ns = left().map(|row| row.worst_ns).max()?;
    let sum = |of: fn(&CauseRow) -> f64| left().map(of).sum::<f64>();
    Some((left().count(), sum(|row| row.share_of_worst), sum(|row| row.share), worst_ns as f64))
}

/// The causes of the first table with their letters.
fn lettered_causes(of: &TaskWhy) -> Vec<(char, &Cause)> {
    let causes: Vec<&Cause> = unusual_causes(of).take(SHOWN).map(|row| &row.cause).collect();
    marks::cause_letters(&causes).into_iter().zip(causes).collect()
}

/// The worst starts, each from its due time to its start, in letters of causes.
fn table_of_worst_starts(of: &TaskWhy, first_due_ns: i64, run: &RunInfo) -> Table {
    let causes = lettered_causes(of);
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
            due_text(late.due_ns, first_due_ns, run).into(),
        ]
    });
    let due = if run.epoch_offset_ns.is_some() { "due, UTC" } else { "due after" };
    Table::new(
        "The latest, from due time to start: letters as above, · the usual way, * other causes",
        &["start", "late, µs", "", due],
        rows,
    )
}

/// A remedy, and the causes that it removes.
struct RemedyWithCauses<'a> {
    remedy: String,
    /// The largest comes first.
    rows: Vec<&'a CauseRow>,
    share_of_worst: f64,
}

/// The remedies for all causes of the worst starts, those that remove most first.
fn ranked_remedies<'a>(of: &'a TaskWhy, run: &RunInfo) -> Vec<RemedyWithCauses<'a>> {
    let mut all: Vec<RemedyWithCauses> = Vec::new();
    for row in of.causes.iter().filter(|row| row.share_of_worst > 0.0) {
        let remedy = remedy_clause(&row.cause, run);
        let is_alike = |known: &RemedyWithCauses| {
            let first = &known.rows[0].cause;
            known.remedy == remedy || has_same_remedy(first, &row.cause)
        };
        match all.iter_mut().find(|known| is_alike(known)) {
            Some(known) => {
                known.rows.push(row);
                known.share_of_worst += row.share_of_worst;
            }
            None => {
                all.push(RemedyWithCauses { remedy, rows: vec![row], share_of_worst: row.share_of_worst });
            }
        }
    }
    // Many short parts have many remedies.
    let is_mixed = |of: &RemedyWithCauses| of.rows[0].cause.class == CauseClass::Mixed;
    all.sort_by(|a, b| is_mixed(a).cmp(&is_mixed(b)).then(b.share_of_worst.total_cmp(&a.share_of_worst)));
    all
}

/// True if the remedies for two causes differ in their names only.
fn has_same_remedy(a: &Cause, b: &Cause) -> bool {
    let [measures_a, measures_b] = [a, b].map(|cause| cause.who.as_deref().is_some_and(is_measurement));
    // What helps against these depends on which of them it is.
    let differs = matches!(a.class, CauseClass::Softirq | CauseClass::OtherTimer);
    a.class == b.class && b.who.is_some() && measures_a == measures_b && !differs
}

/// Remedies for each large cause, those of a class once.
fn remedy_sentences(of: &TaskWhy, run: &RunInfo) -> Vec<String> {
    let sentence = |RemedyWithCauses { remedy, rows, .. }: RemedyWithCauses| {
        let (row, likewise) = (rows[0], &rows[1..]);
        let check = row.check.as_ref().map_or(String::new(), |id| format!(" (check: {id})"));
        let functions: Vec<String> =
            row.functions.iter().take(FUNCTIONS).map(|(name, _)| name.clone()).collect();
        let within =
            if functions.is_empty() { String::new() } else { format!(", mostly in {}", list(&functions)) };
        let likewise = match likewise {
            [] => String::new(),
            [only] => format!("; likewise for {}", cause_text(&only.cause)),
            more => format!("; likewise for {}", plural(more.len() as u64, "other cause")),
        };
        format!("{}, {}{within}: {remedy}{check}{likewise}", cause_text(&row.cause), certainty_text(row))
    };
    let large = ranked_remedies(of, run).into_iter().filter(|remedied| remedied.share_of_worst >= 0.01);
    large.take(REMEDIES).map(sentence).collect()
}

fn typical_wakeup_sentence(of: &TaskWhy) -> Option<String> {
    let steps = of
        .typical_steps
        .iter()
        .map(|usual| format!("{} {}", time(usual.median_ns as f64), step_text(usual.step)));
    let steps: Vec<String> = steps.collect();
    (!steps.is_empty()).then(|| format!("A normal wake-up (median): {}.", steps.join(", ")))
}

fn interruptions_sentence(of: &TaskWhy) -> Option<String> {
    // Interruptions of unknown length are listed, too.
    let (timed, untimed): (Vec<_>, Vec<_>) = of.interruptions.iter().partition(|sum| sum.max_ns > 0);
    let listed = timed.into_iter().take(INTERRUPTIONS).chain(untimed).map(|sum| {
        let times = if sum.times == 1 { "once".into() } else { format!("{} times", count(sum.times)) };
        let worst = match sum.max_ns {
            0 => "no event shows for how long".into(),
            ns => format!("at worst {}", time(ns as f64)),
        };
        format!("{} ({times}, {worst})", cause_text(&sum.cause))
    });
    let listed: Vec<String> = listed.collect();
    (!listed.is_empty()).then(|| format!("Its work was interrupted by {}.", listed.join(", ")))
}

fn tracing_sentence(tracer: &Tracer) -> String {
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
    use jitterlab_model::causes::{CauseSum, Evidence, LateStart, LatencyPart, PathStep, TaskCauses};
    use jitterlab_model::{Bench, TaskSpec};

    #[test]
    fn of_a_task_on_a_xenomai_core_it_is_said_that_linux_does_not_see_it() {
        let of = |wake: &str| {
            let spec: TaskSpec = format!("name=servo,period=1ms,wake={wake}").parse().unwrap();
            let run = RunInfo::new(Bench::Host, "monotonic", [spec]);
            let nothing = TaskCauses::default();
            main_sentences(&TaskWhy::new("servo", &nothing, ListedEvents::Worst(1)), &run).concat()
        };
        assert!(of("cobalt").contains("tasks of cobalt run beside Linux"), "{}", of("cobalt"));
        assert!(of("nanosleep").contains("none ended while events were recorded"));
    }

    #[test]
    fn lost_events_are_no_cause_of_which_anything_is_said() {
        let part = LatencyPart { cause: 0, at_ns: 0, ns: 80_000, evidence: Evidence::None, function: None };
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
        (causes.causes, causes.worst_starts) = (vec![lost], vec![late]);
        causes.latencies.record(80_000);
        let of = TaskWhy::new("main", &causes, ListedEvents::Worst(1));
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let said = main_sentences(&of, &run).concat();
        assert!(said.contains("nothing is known. The latest start was 80 µs late."), "{said}");
        assert!(!said.contains("largest delay"), "{said}");
        let row = &of.causes[0];
        assert_eq!((row.max_without_ns, row.p99_9_without_ns), (None, None), "{row:?}");
        let why =
            RunWhy { file: String::new(), tasks: vec![of], tracer: Tracer::default(), one_event: false, run };
        assert!(why_conclusion(&why).unwrap().verdict.starts_with("CANNOT TELL what delayed main most"));
    }

    /// A run with a thread in the way, idle states, and starts that nothing delayed.
    fn delayed() -> RunWhy {
        let hog = Cause { class: CauseClass::Preempted, who: Some("drillbit (fifo:85)".into()) };
        let sums = [hog, CauseClass::Idle.into(), CauseClass::TypicalWakeUp.into()].map(|cause| {
            let mut sum = CauseSum::new(cause);
            sum.add_activation(90_000, 80_000, 80_000, 0);
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
            .map(|(cause, at_ns, ns, evidence)| LatencyPart { cause, at_ns, ns, evidence, function: None })
            .into(),
            spans: Vec::new(),
        };
        let mut causes = TaskCauses {
            explained: 3,
            lateness_ns: 270_000,
            max_ns: 190_000,
            causes: sums.into(),
            worst_starts: vec![late(7, 0, 190_000), late(8, 1, 90_000), late(9, 2, 80_000)],
            ..TaskCauses::default()
        };
        for ns in [190_000, 90_000, 80_000] {
            causes.latencies.record(ns);
        }
        let tasks = vec![TaskWhy::new("main", &causes, ListedEvents::Worst(9))];
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        RunWhy { file: "why.parquet".into(), tasks, tracer: Tracer::default(), one_event: false, run }
    }

    /// Causes of a task's late starts, with these shares of its worst starts in percent.
    fn late_by(causes: &[(CauseClass, Option<&str>, i64)]) -> TaskWhy {
        let mut all = TaskCauses { explained: 1, max_ns: 100_000, ..TaskCauses::default() };
        let mut at_ns = 0;
        let mut part = |(number, (.., percent)): (usize, &(CauseClass, Option<&str>, i64))| {
            let part = LatencyPart {
                cause: number,
                at_ns,
                ns: percent * 1_000,
                evidence: Evidence::Events,
                function: None,
            };
            at_ns += part.ns;
            part
        };
        let parts = causes.iter().enumerate().map(&mut part).collect();
        all.causes = causes
            .iter()
            .map(|(class, who, percent)| {
                let mut sum = CauseSum::new(Cause { class: *class, who: who.map(str::to_owned) });
                sum.add_activation(100_000, percent * 1_000, percent * 1_000, 0);
                sum
            })
            .collect();
        all.latencies.record(100_000);
        all.worst_starts =
            vec![LateStart { index: 0, due_ns: 0, latency_ns: 100_000, cpu: 0, parts, spans: Vec::new() }];
        TaskWhy::new("main", &all, ListedEvents::Worst(1))
    }

    #[test]
    fn the_next_step_is_the_remedy_that_removes_most() {
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let threads = [("rustc", 25), ("cargo", 20), ("sh", 10)];
        let mut causes: Vec<_> =
            threads.iter().map(|(who, percent)| (CauseClass::Shared, Some(*who), *percent)).collect();
        causes.insert(0, (CauseClass::Outside, None, 45));
        let next = next_step(&late_by(&causes), &run).unwrap();
        assert!(
            next.contains("above that of rustc")
                && next.contains("(for this and 2 other causes: 55 % together)"),
            "{next}"
        );
        causes[0].2 = 65;
        assert!(next_step(&late_by(&causes), &run).unwrap().contains("firmware"));
        // Parts that are not named one by one have no remedy.
        let mixed = late_by(&[(CauseClass::Mixed, None, 70), (CauseClass::PageFault, None, 30)]);
        assert!(next_step(&mixed, &run).unwrap().contains("mlockall"));
    }

    #[test]
    fn a_measurement_is_not_moved_away_but_made_smaller() {
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        for class in [CauseClass::NotPreemptible, CauseClass::Shared, CauseClass::Preempted] {
            let of = |who: &str| {
                let named = Cause { class, who: Some(who.into()) };
                (cause_text(&named), remedy_clause(&named, &run))
            };
            let (named, remedy) = of("jitterlab");
            assert!(
                named.contains("(a measurement)") && remedy.contains("fewer events"),
                "{named}: {remedy}"
            );
            let (named, remedy) = of("rustc");
            assert!(!named.contains("measurement") && !remedy.contains("fewer events"), "{named}: {remedy}");
        }
    }

    #[test]
    fn clusters_are_named_by_what_they_met_before_and_after_the_due_time() {
        let usual = vec![PathStep::Idle(Some(2)), PathStep::Interrupt("local_timer".into())];
        let tick = [PathStep::Timer("tick_nohz_handler".into()), PathStep::Due].into_iter();
        let cluster = |path: Vec<PathStep>, ns: i64| ClusterWithPath {
            low_ns: ns,
            high_ns: ns + 400,
            centre_ns: ns as f64,
            count: 50,
            share: 0.5,
            path,
            path_share: 1.0,
            share_of_path: 0.9,
        };
        let tick = tick.chain(usual.clone()).collect();
        let clusters_of = vec![cluster(usual, 3_000), cluster(tick, 5_000), cluster(Vec::new(), 9_000)];
        let found = ClustersWithPaths { clusters: clusters_of, lambda: Some(0.75) };
        let text = Section::new("", "", "", clusters_piece(&found).into_iter().collect()).text(Terminal {
            columns: 160,
            ascii: false,
            colour: false,
        });
        let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            ["avoids 75 %", "3 µs .. 3.40 µs 50 % idle state 2", "after timer", "several rare ways"]
                .iter()
                .all(|of| words.contains(of)),
            "{text}"
        );
        assert_eq!(clusters_piece(&ClustersWithPaths { lambda: None, ..found }), None);
    }

    #[test]
    fn the_latest_start_may_have_another_cause_than_the_largest() {
        let mut of = late_by(&[(CauseClass::Outside, None, 60), (CauseClass::Shared, Some("cargo"), 40)]);
        of.max_ns = 30_000_000;
        for (row, ns) in of.causes.iter_mut().zip([30_000_000, 2_000_000]) {
            row.max_without_class_ns = Some(ns);
        }
        assert_eq!(
            worst_sentence(&of, &of.causes[0]),
            "The largest delay by that cause was 60 µs. The latest start was 30 ms late; without “thread cargo”, \
             at most 2 ms."
        );
    }

    #[test]
    fn causes_and_the_latest_starts_fit_every_terminal() {
        let shown = |columns, extent| {
            document::terminal_text(&delayed(), extent, Terminal { columns, ascii: false, colour: false })
        };
        insta::assert_snapshot!("why-40", shown(40, Extent::Answer));
        insta::assert_snapshot!("why-80", shown(80, Extent::Answer));
        insta::assert_snapshot!("why-details-120", shown(120, Extent::Details));
    }
}
