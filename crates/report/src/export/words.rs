//! Words for export formats and their results.

use jitterlab_model::Warning;
use jitterlab_motion::stepper::{BaseThread, Drive, NoBasePeriod, StepMode};
use jitterlab_runs::Run;

use super::{ExportSummary, Format, Loss};
use crate::warnings::warning_sentence;
use crate::words::{count, exact_time, plural, time};

/// Help text of a format: contents and readers.
pub fn format_help(format: Format) -> &'static str {
    match format {
        Format::Csv => "Comma-separated values: a line per activation, the columns of the run file",
        Format::Cyclictest => "The latency's histogram as cyclictest -h prints it, for its gnuplot scripts",
        Format::Hdr => "A log of HdrHistogram: the latency's histogram of each second and task",
        Format::OpenMetrics => "Figures and the latency's histogram with their time, for promtool tsdb",
        Format::Prometheus => "The same as classic text, for node_exporter's textfile collector",
        Format::Perfetto => {
            "Activations on a time line, of runs with --why what ran around the latest, for ui.perfetto.dev"
        }
        Format::TraceDat => {
            "What ran around the latest starts of a run with --why, for KernelShark (trace.dat)"
        }
        Format::Junit => "What is decided as test cases in JUnit's XML: --require, --for",
        Format::LinuxCnc => {
            "Periods of LinuxCNC's threads for its INI file and StepConf, for a drive: --drive"
        }
    }
}

/// Summary of an export in a line, and a line for each loss and warning.
pub fn summary_text(format: Format, exported: &ExportSummary, warnings: &[Warning]) -> String {
    let what = match format {
        Format::Csv => plural(exported.values, "activation"),
        Format::Cyclictest | Format::Hdr | Format::OpenMetrics | Format::Prometheus => {
            latency_count_text(exported.values)
        }
        Format::TraceDat => plural(exported.late_starts, "late start"),
        Format::Perfetto if exported.late_starts > 0 => plural(exported.late_starts, "late start"),
        Format::Perfetto => plural(exported.values, "activation"),
        Format::Junit => plural(exported.values, "verdict"),
        Format::LinuxCnc => plural(exported.values, "thread"),
    };
    let lost = exported.losses.iter().map(|loss| loss_text(format, loss));
    let known = warnings.iter().map(warning_sentence);
    lost.chain(known).fold(format!("{what} as {format}"), |text, line| text + "\n  " + &line)
}

fn loss_text(format: Format, loss: &Loss) -> String {
    match loss {
        Loss::Negative { count } => {
            format!(
                "{} below 0 (early wake-ups) as 0, since {format} has none below",
                latencies_count_clause(*count)
            )
        }
        Loss::Overflow { count, above_ns } => {
            format!(
                "{} above {}, where {format} ends, only in its overflows",
                latencies_count_clause(*count),
                exact_time(*above_ns)
            )
        }
        Loss::Beyond { count } => {
            format!(
                "{} in no bin: the source tells only between what they lie",
                latencies_count_clause(*count)
            )
        }
        Loss::OnlySpikes => {
            "the run keeps its spikes and their neighbours alone: no other activation is in it".into()
        }
        Loss::LeftOut { task } => {
            format!("without task {task}, of which nothing that {format} holds is known")
        }
        Loss::NoThread { entry, why } => format!("no {entry}: {why}"),
        Loss::NoLength => format!("the source does not tell how long it lasted: {format} says 0 s"),
        Loss::Tagged { task, tag } => {
            format!("task {task} is called {tag} in it, since another one has its name there")
        }
        Loss::Earlier { count } => {
            format!(
                "{} of the run, which were not among the latest, are not in it",
                plural(*count, "activation")
            )
        }
    }
}

fn latencies_count_clause(number: u64) -> String {
    let counts = if number == 1 { "counts" } else { "count" };
    format!("{} {counts}", latency_count_text(number))
}

fn latency_count_text(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "latency" } else { "latencies" })
}

/// Note where an activation was due.
pub(super) fn due_note(task: &str, index: u64) -> String {
    format!("{task} #{index} due")
}

pub(super) fn start_note(task: &str, latency_ns: i64) -> String {
    format!("{task} starts, {} late", time(latency_ns as f64))
}

pub(super) fn handler_note(name: &str, begins: bool) -> String {
    format!("{name} {}", if begins { "begins" } else { "ends" })
}

/// Comment that names the source of LinuxCNC's entries.
pub(super) fn source_comment(run: &Run) -> String {
    let label = run.label().replace(char::is_control, " ");
    format!("From {label}: times in ns; without a BASE_PERIOD steps are not for this computer to make.")
}

pub(super) const STEPGEN: &str =
    "As PnCconf writes a joint: setp stepgen.0.steplen [JOINT_0]STEPLEN, and so on.";
pub(super) const STEPCONF: &str = "What StepConf asks for; LATENCY is its Base Period Maximum Jitter.";
pub(super) const NO_BASE: &str = "No task had the period of a step generator, 25 to 100 µs: measure one, as jitterlab run --for step-50us does.";
pub(super) const NO_SERVO: &str =
    "No task had the period of a servo thread, 1 ms: measure one, as jitterlab run --for servo-thread does.";
pub(super) const SIMULATED: &str = "Its time is a simulated one: measure on the computer that runs LinuxCNC.";

/// Reason why a task with an unknown policy gives no thread.
pub(super) fn unknown_policy_sentence(task: &str) -> String {
    format!("It does not say under which policy {task} ran: measure it with jitterlab run.")
}

/// Comment on the measurement and the drive behind a base thread.
pub(super) fn base_thread_comment(base: &BaseThread, drive: &Drive) -> String {
    let mode = match base.stepconf.mode {
        StepMode::DoubleStep => "a step in each period (parport reset)",
        StepMode::SingleStep => "a step in two periods",
    };
    format!(
        "{}: ticks up to {} late; drive {}; {mode}, at most {} steps/s",
        base.task,
        time(base.jitter_ns as f64),
        drive.name,
        count(base.stepconf.max_rate_hz as u64)
    )
}

/// Reason why a task gives no base thread.
pub(super) fn no_base_thread_reason(task: &str, why: NoBasePeriod) -> String {
    match why {
        NoBasePeriod::Untold => format!("The source does not say how late {task} came at worst."),
        NoBasePeriod::Policy => format!("NOT real time: {task} ran under an ordinary policy."),
        NoBasePeriod::Period { period_ns } => {
            format!("{task} came every {}, a step generator every 25 to 100 µs.", exact_time(period_ns))
        }
        NoBasePeriod::Length { ticks } => {
            format!("The run is too short: it takes {} of {task} to tell.", plural(ticks, "tick"))
        }
        NoBasePeriod::TooLate { jitter_ns } => format!(
            "NOT FIT for software stepping: {task} came up to {} late, and above 100 µs LinuxCNC's manual advises against it.",
            time(jitter_ns as f64)
        ),
    }
}

/// States that a run shows a purpose not to be served.
pub(super) fn unfit_sentence(purpose: &str, decision: &str) -> String {
    format!("NOT FIT for {purpose}: {decision}")
}

/// States that a run does not decide about a purpose.
pub(super) fn undecided_sentence(purpose: &str, why: &str) -> String {
    format!("It cannot be told whether {purpose} is served: {why}.")
}
