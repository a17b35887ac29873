//! What a run can be written out as, and what was written.

use jitterlab_model::Warning;
use jitterlab_runs::export::{Exported, Format, Loss};

use crate::warnings::sentence;
use crate::words::{count, exact, plural};

/// What reads a format, or what it holds.
#[must_use]
pub fn about(format: Format) -> &'static str {
    match format {
        Format::Csv => "Comma-separated values: a line per activation, the columns of the run file",
        Format::Arrow => "Arrow IPC, which is Feather: the same as a table for pandas, polars, R or Julia",
        Format::Cyclictest => "The latency's histogram as cyclictest -h prints it, for its gnuplot scripts",
        Format::Hdr => "A log of HdrHistogram: the latency's histogram of each second and task",
        Format::OpenMetrics => "Figures and the latency's histogram for Prometheus and what reads its text",
        Format::Markdown => "The figures of each task as a table, for an issue, a merge request or a note",
        Format::Perfetto => "Runs with --why: what ran around the latest starts, for ui.perfetto.dev",
    }
}

/// What was written, in a line; and a line for each thing that its reader has to know.
#[must_use]
pub fn text(format: Format, exported: &Exported, warnings: &[Warning]) -> String {
    let what = match format {
        Format::Csv | Format::Arrow => plural(exported.values, "activation"),
        Format::Cyclictest | Format::Hdr | Format::OpenMetrics | Format::Markdown => {
            latencies(exported.values)
        }
        Format::Perfetto => plural(exported.values, "late start"),
    };
    let lost = exported.losses.iter().map(|loss| self::loss(format, loss));
    let known = warnings.iter().map(sentence);
    lost.chain(known).fold(format!("{what} as {format}"), |text, line| text + "\n  " + &line)
}

fn loss(format: Format, loss: &Loss) -> String {
    match loss {
        Loss::Negative { count } => {
            format!("{} below 0 (early wake-ups) as 0, since {format} has none below", counted(*count))
        }
        Loss::Overflow { count, above_ns } => {
            format!(
                "{} above {}, where {format} ends, only in its overflows",
                counted(*count),
                exact(*above_ns)
            )
        }
        Loss::Beyond { count } => {
            format!("{} in no bin: the source tells only between what they lie", counted(*count))
        }
        Loss::OnlySpikes => {
            "the run keeps its spikes and their neighbours alone: no other activation is in it".into()
        }
        Loss::LeftOut { task } => {
            format!("without task {task}, of which nothing that {format} holds is known")
        }
    }
}

fn counted(number: u64) -> String {
    let counts = if number == 1 { "counts" } else { "count" };
    format!("{} {counts}", latencies(number))
}

fn latencies(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "latency" } else { "latencies" })
}
