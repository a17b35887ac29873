//! A measured run in words: how each purpose is served, the figures of its tasks, reasons to doubt them.

use std::path::Path;

use jitterlab_analysis::caveats::measured_ns;
use jitterlab_analysis::measured::{MeasuredRun, MeasuredTask};
use jitterlab_analysis::summary::{PERCENTILES, Percentile, Statistics, Summary};
use jitterlab_analysis::verdict::Verdict;
use jitterlab_model::units::Human;
use jitterlab_model::{Bench, Gap, Known, Quantity, RunInfo, TaskRun, Warning};

use crate::caveats::{distinct_clauses, task_statement};
use crate::chart::{Axis, Chart, Layer, Scale, Shape};
use crate::conclusion::{self, Conclusion, file_argument};
use crate::document::Present;
use crate::requirement::outcome_line;
use crate::section::{Cell, Piece, Section, Table};
use crate::words::{
    MANY_TASKS, SHOWN_TASKS, count, known_count, list, list_some, microseconds_of_bins, sentence, share, time,
};
use crate::{isolation, loads, purpose, quantity, run, waiting, warnings, why};

/// A quantile is shown where at least this many values lie beyond it.
const MIN_BEYOND: u64 = 10;

/// One value in this many lies beyond the last quantile of the short table.
const RAREST_ONE_IN: u64 = 1_000;

impl Present for MeasuredRun {
    const KIND: &'static str = "run";

    fn conclusion(&self) -> Option<Conclusion> {
        conclusion::run::measurement_conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        let info = &self.run;
        let tasks: Vec<&MeasuredTask> = self.tasks.iter().collect();
        let mut pieces = main_tables(info, self.verdict.as_ref(), &tasks);
        let required = self.required.iter().flat_map(|required| &required.tasks);
        pieces.extend(
            required.flat_map(|task| {
                task.requirements.iter().map(|of| Piece::text(outcome_line(&task.task, of)))
            }),
        );
        pieces.extend(isolation::isolation_table(self));
        // Of many tasks, one screen holds the causes of the worst.
        let most = if self.why.len() > SHOWN_TASKS { 1 } else { SHOWN_TASKS };
        let (shown, others) = why::split_worst(&self.why, most);
        let causes = |tasks: Vec<usize>| {
            tasks
                .into_iter()
                .flat_map(|number| why::brief_pieces(&self.why[number], info))
                .collect::<Vec<_>>()
        };
        pieces.extend(causes(shown));
        pieces.extend(self.around.iter().flat_map(|around| run::neighbour_pieces(info, around, &self.why)));
        pieces.extend(note_pieces(info, &tasks, Vec::new()));
        let mut folded = detail_pieces(info, &tasks);
        folded.extend(causes(others));
        folded.extend(tasks.iter().filter_map(|task| histogram_piece(task, Chart::TALL)));
        folded.extend(info.firmware.iter().flat_map(crate::firmware::firmware_pieces));
        pieces.push(Piece::details(DETAILS_TITLE, folded));
        vec![Section::new(
            "run",
            "Measured run",
            "The figures of each task, and what to know about them.",
            pieces,
        )]
    }
}

/// Path of the saved run, for the end of its result.
pub fn saved_note(file: &Path) -> String {
    let file = file_argument(&file.display().to_string());
    format!("saved {file}; more: jitterlab analyze {file}")
}

/// Message that a run could not be saved.
pub const NOT_SAVED: &str = "no run file was written: these figures are all that is left of the run";

/// Title of the folded part of a run.
pub(crate) const DETAILS_TITLE: &str = "Every figure, the histogram, and how it was measured";

/// The tables that everybody wants: how each purpose is served, and the main figures.
pub(crate) fn main_tables(info: &RunInfo, verdict: Option<&Verdict>, tasks: &[&MeasuredTask]) -> Vec<Piece> {
    let several = tasks.len() > 1;
    let each = || info.tasks.iter().zip(tasks);
    let named =
        |(task, of): (&TaskRun, &&MeasuredTask)| (task.spec.name.clone(), activation_counts(&of.summary));
    let conditions = conditions(info);
    let caption = match each().map(named).collect::<Vec<_>>().as_slice() {
        named if named.len() >= MANY_TASKS => joint_counts_sentence(tasks, &conditions),
        [(name, counts)] => format!("{}: {counts}", join_nonempty(&[name.clone(), conditions])),
        named => {
            let each: Vec<String> = named.iter().map(|(name, counts)| format!("{name}: {counts}")).collect();
            let conditions = if conditions.is_empty() { conditions } else { format!("{conditions}. ") };
            format!("{conditions}{}", each.join("; "))
        }
    };
    let mut sorted: Vec<(&TaskRun, &&MeasuredTask)> = each().collect();
    if sorted.len() >= MANY_TASKS {
        sorted.sort_by_key(|(_, task)| worst_ns(&task.summary).unwrap_or(i64::MAX));
    }
    let extremes = if sorted.len() >= MANY_TASKS { best_and_worst_note(&sorted) } else { None };
    if sorted.len() > SHOWN_TASKS {
        sorted.reverse();
        sorted.truncate(SHOWN_TASKS);
    }
    let known = sorted.iter().filter(|(_, task)| task.summary.knows(Gap::Unit));
    let rows = known.flat_map(|(spec, task)| {
        let summary = &task.summary;
        let label = name_with_cpu(spec, tasks.len() >= MANY_TASKS);
        let name = move |quantity| match several {
            true => format!("{label}: {}", quantity::table_name(quantity)),
            false => quantity::table_name(quantity).to_owned(),
        };
        let main =
            summary.quantities().into_iter().filter(|(quantity, _)| is_main_quantity(*quantity, summary));
        main.filter(|(_, figures)| has_any_figure(figures))
            .map(move |(quantity, figures)| figure_row(name(quantity), figures, summary, false))
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let figures = match rows.is_empty() {
        true => Piece::text(caption),
        false => Piece::table(caption, &header(false), rows),
    };
    verdict.and_then(purpose::purpose_table).into_iter().chain(extremes).chain([figures]).collect()
}

/// The largest latency of a task, or else the largest error of its period; `None` if both are unknown.
fn worst_ns(summary: &Summary) -> Option<i64> {
    let error = &summary.period_error;
    summary.latency.max_ns.or_else(|| Some(error.max_ns?.max(-error.min_ns?)))
}

/// A task's name, and the processor to which it was bound, unless the name contains it.
fn name_with_cpu(task: &TaskRun, with_cpu: bool) -> String {
    let cpu = task.spec.cpu.filter(|cpu| with_cpu && !task.spec.name.ends_with(&cpu.to_string()));
    cpu.map_or(task.spec.name.clone(), |cpu| format!("{}, CPU {cpu}", task.spec.name))
}

/// Names the best and the worst task with their largest values; `None` if these are not sure. Stages of one activation
/// are not held against each other: the best is among those that are named as the worst is.
fn best_and_worst_note(sorted: &[(&TaskRun, &&MeasuredTask)]) -> Option<Piece> {
    let kind = |task: &TaskRun| task.spec.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let (worst, of_worst) = sorted.last()?;
    let (best, of_best) = sorted.iter().find(|(task, _)| kind(task) == kind(worst))?;
    let is_sure = sorted.iter().all(|(_, of)| Gap::EVERYTHING.iter().all(|gap| of.summary.knows(*gap)));
    let named = |task: &TaskRun, of: &MeasuredTask| {
        Some(format!("{}, {}", name_with_cpu(task, true), time(worst_ns(&of.summary)? as f64)))
    };
    let said = format!("Best: {} at most. Worst: {}.", named(best, of_best)?, named(worst, of_worst)?);
    (is_sure && best.spec.name != worst.spec.name).then(|| Piece::text(said))
}

/// Number of activations that many tasks ran and missed, with their common facts once.
fn joint_counts_sentence(tasks: &[&MeasuredTask], conditions: &str) -> String {
    let counts: Option<Vec<u64>> = tasks.iter().map(|task| task.summary.executed.exactly()).collect();
    let counts = counts.and_then(|all| Some((*all.iter().min()?, *all.iter().max()?)));
    let ran = match counts {
        Some((least, most)) if least == most => format!("{} activations each", count(most)),
        Some((least, most)) => format!("{} to {} activations each", count(least), count(most)),
        None => "unknown activations".into(),
    };
    let mut misses: Vec<(String, Vec<String>)> = Vec::new();
    for task in tasks {
        let of_task = missed_text(&task.summary);
        match misses.iter_mut().find(|(known, _)| *known == of_task) {
            Some((_, names)) => names.push(task.summary.task.clone()),
            None => misses.push((of_task, vec![task.summary.task.clone()])),
        }
    }
    let misses = match misses.as_slice() {
        [(all, _)] => all.clone(),
        several => {
            let each = several.iter().map(|(missed, names)| format!("{missed} of {}", list_some(names)));
            each.collect::<Vec<_>>().join("; ")
        }
    };
    let order = match tasks.len() > SHOWN_TASKS {
        true => format!("the worst {SHOWN_TASKS} first, others with --details"),
        false => "best first".into(),
    };
    let tasks = format!("{} tasks, {order}: {ran}, {misses}", tasks.len());
    if conditions.is_empty() { tasks } else { format!("{conditions}. {tasks}") }
}

/// True if a quantity is among the main figures of a task.
fn is_main_quantity(quantity: Quantity, summary: &Summary) -> bool {
    match quantity {
        Quantity::CycleToCycle => false,
        Quantity::CorrectedLatency => summary.missed.at_least().is_some_and(|missed| missed > 0),
        _ => true,
    }
}

/// Length and load of the run, as far as they are known.
fn conditions(info: &RunInfo) -> String {
    let length = info.measured_ns().map(|ns| Human(ns as f64).to_string());
    let load = match info.bench {
        Bench::Mcu => String::new(),
        _ if info.loads.is_empty() && info.load.specs().is_none() => String::new(),
        Bench::Host if info.loads.is_empty() && info.load.is_none() => "no load started".into(),
        _ => format!("load: {}", loads::run_load_text(info)),
    };
    join_nonempty(&[length.unwrap_or_default(), load])
}

/// Joins the non-empty parts with commas.
fn join_nonempty(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ")
}

/// Numbers of activations that ran and that were missed.
fn activation_counts(summary: &Summary) -> String {
    format!("{} activations, {}", known_count(summary.executed), missed_text(summary))
}

/// Number of missed due times, and the task's reaction to them.
fn missed_text(summary: &Summary) -> String {
    let missed = match summary.missed {
        Known::Unknown => "missed ones unknown".into(),
        missed => format!("{} missed", known_count(missed)),
    };
    let part = summary.missed_share().filter(|part| *part > 0.0).map(share);
    let overrun = summary.overrun.exactly().map(|policy| format!("overrun: {policy}"));
    let of_missed = join_nonempty(&[part.unwrap_or_default(), overrun.unwrap_or_default()]);
    let of_missed = if of_missed.is_empty() { of_missed } else { format!(" ({of_missed})") };
    let lost = match summary.dropped {
        Known::Exactly(0) | Known::Unknown => String::new(),
        lost => format!(", {} records lost", known_count(lost)),
    };
    format!("{missed}{of_missed}{lost}")
}

/// Notes of warnings, then findings (`found`), then caveats about the figures.
pub(crate) fn note_pieces(info: &RunInfo, tasks: &[&MeasuredTask], found: Vec<String>) -> Vec<Piece> {
    let caveats = distinct_clauses(tasks.iter().flat_map(|task| &task.caveats));
    let grave: Vec<&Warning> = info.warnings.iter().filter(|of| **of != Warning::NoChecksums).collect();
    let all = warnings::warning_sentences(&grave).into_iter().chain(found).chain(caveats);
    all.map(|text| Piece::note(sentence(&text))).collect()
}

/// Everything else that is known of a run and its tasks.
pub(crate) fn detail_pieces(info: &RunInfo, tasks: &[&MeasuredTask]) -> Vec<Piece> {
    let refused = info.refused.iter().map(|refusal| {
        Piece::text(format!("Refused: {} ({}). Remedy: {}", refusal.what, refusal.why, refusal.remedy))
    });
    let mut pieces = vec![Piece::facts("", run::run_facts(info))];
    pieces.extend(refused);
    let unchecked = info.warnings.iter().filter(|warning| **warning == Warning::NoChecksums);
    pieces.extend(unchecked.map(|warning| Piece::text(sentence(&warnings::warning_sentence(warning)))));
    for (task, MeasuredTask { summary, .. }) in info.tasks.iter().zip(tasks) {
        pieces.push(Piece::text(task_statement(summary, measured_ns(task))));
        pieces.extend(waiting::finding_sentences(task).into_iter().map(Piece::text));
        pieces.push(Piece::Table(figure_table(summary)));
        let unknown = summary.quantities().into_iter().filter(|(_, figures)| !has_any_figure(figures));
        let unknown: Vec<String> = unknown.map(|(of, _)| quantity::name(of).to_owned()).collect();
        if !unknown.is_empty() {
            pieces.push(Piece::text(format!("Unknown: {}.", list(&unknown))));
        }
    }
    pieces
}

pub(crate) fn figure_table(summary: &Summary) -> Table {
    let known = summary.quantities().into_iter().filter(|(_, figures)| has_any_figure(figures));
    let rows = known
        .map(|(quantity, figures)| figure_row(quantity::table_name(quantity).into(), figures, summary, true));
    Table::new(format!("{}: {}", summary.task, activation_counts(summary)), &header(true), rows)
}

/// True if any figure of a quantity is known.
fn has_any_figure(figures: &Statistics) -> bool {
    let percentile = figures.percentiles().any(|(_, ns)| ns.at_least().is_some());
    percentile || figures.min_ns.is_some() || figures.max_ns.is_some() || figures.mean_ns.is_some()
}

/// Headings of figures: all of them, or the main ones.
fn header(all: bool) -> Vec<&'static str> {
    let moments: &[&str] = if all { &["mean", "sd"] } else { &[] };
    let percentiles = PERCENTILES.iter().filter(|p| all || p.one_in <= RAREST_ONE_IN).map(|p| p.name);
    ["µs", "min"].into_iter().chain(moments.iter().copied()).chain(percentiles).chain(["max"]).collect()
}

fn figure_row(name: String, figures: &Statistics, summary: &Summary, all: bool) -> Vec<Cell> {
    let whole = |ns: Option<i64>| Cell::optional(ns, |ns| Cell::time(ns as f64));
    let mut cells = vec![Cell::Text(name), whole(figures.min_ns)];
    if all {
        cells.extend([figures.mean_ns, figures.sd_ns].map(|ns| Cell::optional(ns, Cell::time)));
    }
    let is_counted = summary.knows(Gap::Count);
    let is_supported = |p: Percentile| !is_counted || figures.count / p.one_in >= MIN_BEYOND;
    let percentiles = figures.percentiles().filter(|(p, _)| all || p.one_in <= RAREST_ONE_IN);
    cells
        .extend(percentiles.map(|(p, ns)| if is_supported(p) { percentile_cell(ns) } else { Cell::Nothing }));
    cells.push(whole(figures.max_ns));
    cells
}

/// A percentile: `>12` where it is only known to be above that.
fn percentile_cell(ns: Known<i64>) -> Cell {
    match (ns.exactly(), ns.at_least()) {
        (Some(ns), _) => Cell::time(ns as f64),
        (None, Some(low)) => Cell::Text(format!(">{}", microseconds_of_bins(low as f64, 0.0))),
        (None, None) => Cell::Nothing,
    }
}

/// Histograms of the tasks' latencies, of many tasks only those with the least and largest maximum.
pub(crate) fn histogram_pieces(tasks: &[&MeasuredTask]) -> Vec<Piece> {
    let (mut shown, unknown): (Vec<&MeasuredTask>, Vec<&MeasuredTask>) =
        tasks.iter().partition(|task| has_shape(task));
    let names: Vec<String> = unknown.iter().map(|task| task.summary.task.clone()).collect();
    if shown.len() >= MANY_TASKS {
        shown.sort_by_key(|task| task.summary.latency.max_ns);
        shown.drain(1..shown.len() - 1);
    }
    let charts = shown.into_iter().filter_map(|task| histogram_piece(task, Chart::GLANCE));
    let without = (!names.is_empty()).then(|| {
        let (of, is) = if names.len() > 1 { ("distributions", "are") } else { ("distribution", "is") };
        Piece::text(format!("The {of} of {}'s latencies {is} unknown.", list_some(&names)))
    });
    charts.chain(without).collect()
}

fn has_shape(task: &MeasuredTask) -> bool {
    task.latency_histogram().has_shape() && task.summary.knows(Gap::Unit)
}

/// Histogram of a task's latencies; `None` if their distribution or unit is unknown.
fn histogram_piece(task: &MeasuredTask, height: u32) -> Option<Piece> {
    let (name, latency) = (&task.summary.task, task.latency_histogram());
    if !has_shape(task) {
        return None;
    }
    let values = if task.summary.knows(Gap::Grid) { "wake-ups" } else { "values" };
    let [low_ns, high_ns] = [latency.min_ns(), latency.max_ns()].map(|ns| ns.unwrap_or(0));
    Some(Piece::Figure(Chart {
        name: "histogram".into(),
        caption: format!(
            "Latency of {name}, {} {values}; bars: logarithm of the count.",
            count(latency.count())
        ),
        x: Axis::time_from("latency", low_ns, low_ns > 0 && high_ns > 30 * low_ns),
        y: Axis::log("count").with_other_scale(Scale::Linear),
        layers: vec![Layer::new(name, 0, Shape::from_distribution(&latency))],
        height,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use crate::document::{self, Extent};
    use jitterlab_model::{Granted, Policy, TaskResult, TaskSpec, TimingStats};

    /// Ten thousand starts, some of them late, and a second task that misses.
    fn measured(tasks: &[&str]) -> MeasuredRun {
        let specs = tasks.iter().map(|spec| spec.parse::<TaskSpec>().unwrap());
        let mut run = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", specs);
        let granted =
            Granted { policy: Policy::Fifo(80), cpus: vec![1], memory_locked: true, timer_slack_ns: None };
        let mut stats: Vec<TimingStats> = Vec::new();
        for (task, missed) in run.tasks.iter_mut().zip(0u64..) {
            task.granted = Some(granted.clone());
            let latencies =
                (0..10_000i64).map(|k| 3_000 + k * 7_919 % 29_000 + if k == 4_711 { 941_000 } else { 0 });
            task.result = Some(TaskResult {
                executed: 10_000,
                missed,
                last_end_ns: 10_000_000_000,
                ..TaskResult::default()
            });
            stats.push(crate::test_data::timing_stats(&latencies.collect::<Vec<_>>()));
        }
        MeasuredRun::new(run, &stats, Some("quiet.parquet".into()))
    }

    fn shown(run: &MeasuredRun, extent: Extent, columns: usize) -> String {
        document::terminal_text(run, extent, Terminal { columns, ascii: false, colour: false })
    }

    #[test]
    fn a_run_fits_every_terminal() {
        let one = measured(&["name=main,period=1ms"]);
        insta::assert_snapshot!("run-40", shown(&one, Extent::Answer, 40));
        insta::assert_snapshot!("run-80", shown(&one, Extent::Answer, 80));
        insta::assert_snapshot!("run-details-120", shown(&one, Extent::Details, 120));
        let two = measured(&["name=base,period=1ms", "name=servo,period=1ms"]);
        insta::assert_snapshot!("run-of-two-80", shown(&two, Extent::Answer, 80));
    }

    #[test]
    fn a_quantile_that_few_values_support_is_not_shown() {
        let stats = crate::test_data::timing_stats(&(0..200).collect::<Vec<_>>());
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let run = MeasuredRun::new(run, &[stats], None);
        let summary = &run.tasks[0].summary;
        let cells = figure_row("latency".into(), &summary.latency, summary, false);
        let is_there: Vec<bool> = cells.iter().skip(2).map(|cell| *cell != Cell::Nothing).collect();
        assert_eq!(is_there, [true, true, false, false, true], "p50, p90, p99, p99.9, max");
    }
}
