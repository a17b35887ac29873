//! The summary of a run: the machine, each task's figures and histogram, the verdict.

use std::fmt::Write as _;

use crate::caveats::{distinct, statement};
use crate::words::{count, exact, known_count, list, microseconds, share};
use jitterlab_analysis::caveats::measured_ns;
use jitterlab_analysis::measured::{MeasuredRun, MeasuredTask};
use jitterlab_analysis::summary::{PERCENTILES, Statistics, Summary};
use jitterlab_model::units::Human;
use jitterlab_model::{Bench, Distribution, Keep, Known, Quantity, RunInfo, StopReason, TaskRun, Warning};

use crate::chart::Terminal;
use crate::machine::machine_line;
use crate::requirement::judgement;
use crate::run::{refusals, task_line};
use crate::table::columns;
use crate::wrap::{remarks, wrap, wrap_indented};
use crate::{isolation, quantity, waiting, warnings, why};

/// The whole summary, readable at 80 columns, its figures at the terminal's width.
pub fn text(measured: &MeasuredRun, terminal: Terminal) -> String {
    let info = &measured.run;
    let mut text = overview(info, measured.tasks.iter(), terminal);
    if let Some(file) = &measured.file {
        text += &format!(
            "run file: {}\nsee more of it with jitterlab analyze, plot and report\n",
            file.display()
        );
    }
    text += &isolation::comparison(measured);
    text += &late(measured);
    text += &required(measured);
    text + &info.firmware.as_ref().map_or(String::new(), crate::firmware::text)
}

/// What the head rests on, a screen of it: the figures of each task, what speaks against them, where the rest is. What was
/// refused was said when the run began, and the head says it.
pub(crate) fn answer(measured: &MeasuredRun) -> String {
    let info = &measured.run;
    let mut text = head(info);
    for (task, measured) in info.tasks.iter().zip(&measured.tasks) {
        text += &figures(info, task, &measured.summary);
    }
    text += &minded(measured.tasks.iter());
    text += &warnings(&info.warnings);
    text += &late(measured);
    text += &required(measured);
    text += &isolation::comparison(measured);
    if let Some(file) = &measured.file {
        text += &format!(
            "run file: {}\nsee all of it with --details, jitterlab analyze, plot and report\n",
            file.display()
        );
    }
    text
}

/// What each requirement came to.
fn required(measured: &MeasuredRun) -> String {
    let tasks = measured.required.iter().flat_map(|required| &required.tasks);
    let each = tasks.flat_map(|task| task.requirements.iter().map(|of| judgement(&task.task, of)));
    each.collect()
}

/// Why activations were late, where that was found out, and the activations before the one that ended the run.
fn late(measured: &MeasuredRun) -> String {
    let info = &measured.run;
    let why = measured.why.iter().map(|of| why::brief(of, info));
    let around = measured.around.as_ref().map(|around| crate::run::around(info, around, &measured.why));
    why.chain(around).collect()
}

/// What is said of a run and of each task, wherever they come from.
pub(crate) fn overview<'a>(
    info: &RunInfo,
    tasks: impl Iterator<Item = &'a MeasuredTask> + Clone,
    terminal: Terminal,
) -> String {
    let mut text = head(info);
    for (task, measured) in info.tasks.iter().zip(tasks.clone()) {
        let summary = &measured.summary;
        text.push('\n');
        text.push_str(&figures(info, task, summary));
        text.push_str(&histogram(summary, &measured.latency_histogram(), terminal));
        text.push_str(&wrap(&statement(summary, measured_ns(task))));
    }
    text + &minded(tasks) + &warnings(&info.warnings) + &refusals(info)
}

/// What speaks against the figures of the tasks.
fn minded<'a>(tasks: impl Iterator<Item = &'a MeasuredTask>) -> String {
    remarks("Bear in mind", &distinct(tasks.flat_map(|task| &task.caveats)))
}

/// What a reader of the figures has to know, each on lines of its own.
pub fn warnings(warnings: &[Warning]) -> String {
    warnings.iter().map(|warning| wrap(&format!("warning: {}", warnings::sentence(warning)))).collect()
}

/// The load that ran beside a run, with what each part of it reached where that is known.
pub fn load(info: &RunInfo) -> String {
    match info.loads.as_slice() {
        [] if info.bench == Bench::Mcu => "the firmware's own".into(),
        [] => info.load.to_string(),
        ran => ran.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// What was measured where, how long, and why it ended.
fn head(info: &RunInfo) -> String {
    let mut text = String::new();
    let length = info.measured_ns().map_or("unknown length".into(), |ns| Human(ns as f64).to_string());
    // A program that records itself need not tell all of it.
    let told = [info.tool.as_str(), &info.started, &length].into_iter().filter(|part| !part.is_empty());
    let _ = writeln!(text, "{}, load: {}", told.collect::<Vec<_>>().join(", "), load(info));
    if let Some(facts) = &info.facts_before {
        text.push_str(&wrap(&machine_line(facts)));
    }
    match &info.stop {
        Some(StopReason::Interrupted) => text.push_str("ended early by Ctrl-C or a signal\n"),
        Some(StopReason::Above { task, index, latency_ns }) => {
            let name = info.tasks.get(*task).map_or("?", |t| t.spec.name.as_str());
            let latency = Human(*latency_ns as f64);
            let _ = writeln!(text, "ended by a latency of {latency} of {name} (activation {index})");
        }
        Some(StopReason::Overloaded { overload, .. }) => {
            text.push_str(&wrap(&format!("stopped for the machine's safety: {overload}")));
        }
        Some(StopReason::WaitFailed { task, why }) => {
            let name = info.tasks.get(*task).map_or("?", |t| t.spec.name.as_str());
            text.push_str(&wrap(&format!("ended because {name} could not wait any more: {why}")));
        }
        Some(StopReason::Crashed) => {
            text.push_str("recovered: the measuring process did not end by itself\n");
        }
        _ => {}
    }
    if let Keep::Spikes { above_ns } = info.keep {
        let above = exact(above_ns);
        let _ =
            writeln!(text, "the file keeps per-second histograms, and activations from {above} latency on");
    }
    text
}

fn figures(info: &RunInfo, task: &TaskRun, summary: &Summary) -> String {
    let lost = records_lost(summary.dropped);
    let share =
        summary.missed_share().filter(|s| *s > 0.0).map_or(String::new(), |s| format!(" ({})", share(s)));
    let mut text = wrap(&task_line(info, task));
    let outside = task.result.as_ref().and_then(|r| r.core.as_ref()).map_or(String::new(), |core| {
        format!(
            "\n  {}: {} outside real-time mode, {} mode switches, gravity {} ns",
            core.core,
            count(core.outside),
            count(core.mode_switches),
            core.gravity_ns
        )
    });
    let _ = writeln!(
        text,
        "  {} activations, {} missed{share}{lost}{outside}",
        known_count(summary.executed),
        known_count(summary.missed)
    );
    text.push_str(&waiting::findings(task));
    let (told, untold): (Vec<_>, Vec<_>) =
        summary.quantities().into_iter().partition(|(_, figures)| is_told(figures));
    text += &columns(&header("in µs"), told.into_iter().map(|(quantity, figures)| row(quantity, figures)));
    let untold: Vec<String> = untold.iter().map(|(of, _)| quantity::name(*of).to_owned()).collect();
    if !untold.is_empty() {
        text += &wrap_indented(&format!("not told: {}", list(&untold)));
    }
    text
}

/// Whether anything is known of a quantity.
fn is_told(figures: &Statistics) -> bool {
    let known = figures.percentiles().any(|(_, ns)| ns.at_least().is_some());
    known || figures.min_ns.is_some() || figures.max_ns.is_some() || figures.mean_ns.is_some()
}

/// What stands above the figures of quantities, the first column under this name.
pub(crate) fn header(first: &'static str) -> Vec<&'static str> {
    [first, "min", "mean", "sd"].into_iter().chain(PERCENTILES.map(|p| p.name)).chain(["max"]).collect()
}

fn row(quantity: Quantity, figures: &Statistics) -> Vec<String> {
    let mut cells = vec![quantity::row(quantity).to_owned()];
    let whole = |ns: Option<i64>| ns.map(|ns| ns as f64);
    let values = [whole(figures.min_ns), figures.mean_ns, figures.sd_ns].into_iter();
    cells.extend(values.map(|ns| ns.map_or("-".into(), microseconds)));
    cells.extend(figures.percentiles().map(|(_, ns)| bounded(ns)));
    cells.push(figures.max_ns.map_or("-".into(), |ns| microseconds(ns as f64)));
    cells
}

/// How many records were lost, if any were or that is not known.
pub(crate) fn records_lost(dropped: Known<u64>) -> String {
    match dropped {
        Known::Exactly(0) | Known::Unknown => String::new(),
        lost => format!(", {} records lost", known_count(lost)),
    }
}

/// A percentile in a narrow cell: `>12.00` where it is only known to be above that.
fn bounded(ns: Known<i64>) -> String {
    match (ns.exactly(), ns.at_least()) {
        (Some(ns), _) => microseconds(ns as f64),
        (None, Some(low)) => format!(">{}", microseconds(low as f64)),
        (None, None) => "-".into(),
    }
}

fn histogram(summary: &Summary, latency: &Distribution, terminal: Terminal) -> String {
    if !latency.has_shape() {
        return "  no distribution of latencies is known\n".into();
    }
    format!(
        "  latency of {}, {} wake-ups, logarithmic count\n{}",
        summary.task,
        count(latency.count()),
        terminal.distribution(latency)
    )
}
