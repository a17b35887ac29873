//! Status of a monitor, in three lines and two tables.

use jitterlab_analysis::summary::{P50, P99, P99_9};
use jitterlab_model::Fitness;
use jitterlab_report::conclusion::Conclusion;
use jitterlab_report::document::Present;
use jitterlab_report::section::{Cell, Piece, Section};
use jitterlab_report::words::{count, plural, time};

use super::cause_text;
use crate::hour::WorstStart;
use crate::status::Status;

/// Age of the last hour above which a monitor that runs does not measure.
const STALE_NS: i64 = 2 * 3_600_000_000_000;

/// Gaps below this are those between two pieces of a measurement.
const SHOWN_GAP_NS: i64 = 1_000_000;

impl Present for Status {
    const KIND: &'static str = "monitor-status";

    fn conclusion(&self) -> Option<Conclusion> {
        let run = self.measured.conclusion()?;
        let due: u64 = self.tasks.iter().map(|task| task.due).sum();
        let lost: u64 = self.tasks.iter().map(|task| task.lost).sum();
        let length_ns = (self.utc_ns.1 - self.utc_ns.0) as f64;
        let unseen = match lost {
            0 => String::new(),
            lost => format!(", {} of them not seen", count(lost)),
        };
        let verdict = format!(
            "{}, in {} and {}{unseen}.",
            run.verdict.trim_end_matches('.'),
            time(length_ns),
            plural(due, "due time")
        );
        let latest =
            self.tasks.iter().filter_map(|task| task.worst_starts.first()).max_by_key(|late| late.latency_ns);
        let number = match latest {
            Some(late) => format!("{} Latest start {}.", run.number, worst_start_text(late)),
            None => run.number,
        };
        let next = match (self.is_running, run.fitness) {
            (false, _) => {
                format!("jitterlab monitor (none runs; the last hour ended {} ago)", time(self.age_ns as f64))
            }
            (true, _) if self.age_ns > STALE_NS => {
                "journalctl -u jitterlab-monitor (no hour has ended for two)".into()
            }
            (true, Fitness::Unfit) => format!("jitterlab why on the last file in {}/days", self.folder),
            (true, _) => "nothing; jitterlab monitor pack STICK takes its hours to a fleet".into(),
        };
        Some(Conclusion { verdict, number, next, ..run })
    }

    fn sections(&self) -> Vec<Section> {
        let figures = self.measured.summaries().zip(&self.tasks).map(|(summary, task)| {
            let at = |percentile| {
                Cell::optional(summary.latency.at(percentile).exactly(), |ns| Cell::time(ns as f64))
            };
            vec![
                Cell::Text(task.name.clone()),
                Cell::Count(task.due),
                Cell::Count(task.missed),
                at(P50),
                at(P99),
                at(P99_9),
                Cell::optional(summary.latency.max_ns, |ns| Cell::time(ns as f64)),
            ]
        });
        let header = ["latency, µs", "due", "missed", "p50", "p99", "p99.9", "max"];
        let latest = self.tasks.iter().flat_map(|task| {
            task.worst_starts.iter().map(|late| {
                let why = Cell::Text(cause_text(late.cause.as_ref()));
                vec![
                    Cell::Text(format_utc(late.utc_ns)),
                    Cell::Text(task.name.clone()),
                    Cell::time(late.latency_ns as f64),
                    why,
                ]
            })
        });
        let mut pieces = vec![
            Piece::table(span_text(self), &header, figures),
            Piece::details(
                "The latest starts",
                vec![Piece::table("", &["UTC", "task", "µs late", "cause"], latest)],
            ),
        ];
        if self.gap_ns >= SHOWN_GAP_NS {
            pieces.push(Piece::note(format!("Nothing was measured for {} of it.", time(self.gap_ns as f64))));
        }
        let id = "monitor";
        vec![Section::new(id, "What was seen", "", pieces)]
    }
}

/// Beginning and end of the counts, and the size of the folder.
fn span_text(status: &Status) -> String {
    format!(
        "{} to {} UTC, {:.1} MB in {}",
        format_utc(status.utc_ns.0),
        format_utc(status.utc_ns.1),
        status.bytes as f64 / 1e6,
        status.folder
    )
}

fn worst_start_text(late: &WorstStart) -> String {
    format!(
        "{} late on {} UTC, {}",
        time(late.latency_ns as f64),
        format_utc(late.utc_ns),
        cause_text(late.cause.as_ref())
    )
}

/// Unix time as `2026-11-28 10:00:00`.
fn format_utc(utc_ns: i64) -> String {
    let time =
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(utc_ns.max(0).unsigned_abs());
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.replace('T', " ").trim_end_matches('Z').into()
}
