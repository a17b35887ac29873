//! One late activation: its parts, and what ran around it, as a timeline.

use std::fmt::Write as _;

use jitterlab_analysis::causes::LateEvent;
use jitterlab_model::causes::{Certainty, Lane};

use super::words::{cause, certainty, evidence};
use crate::chart::wrapped;
use crate::words::{count, time};
use crate::wrap::wrap;

/// One late activation with its parts.
#[must_use]
pub fn event(event: &LateEvent, first_due_ns: i64, in_full: bool) -> String {
    let mut text = wrap(&format!(
        "{}. {} late: activation {} on CPU {}, due {:.6} s after the first",
        event.rank,
        time(event.latency_ns as f64),
        count(event.index),
        event.cpu,
        (event.due_ns - first_due_ns) as f64 / 1e9
    ));
    let rows = event.parts.iter().map(|part| {
        let shown = match part.certainty {
            Certainty::Proven => String::new(),
            sure => format!(" ({}: {})", certainty(sure), evidence(part.evidence)),
        };
        let function = part.function.as_ref().map_or(String::new(), |function| format!(", in {function}"));
        (part.at_ns, part.ns, format!("{}{function}{shown}", cause(&part.cause)))
    });
    text += &timeline(rows);
    if in_full && !event.ran.is_empty() {
        let _ = writeln!(text, "  what ran on CPU {} around it, from the due time on", event.cpu);
        text += &timeline(event.ran.iter().map(|span| {
            let lane = match span.lane {
                Lane::Interrupt => "    in an interrupt: ",
                Lane::Softirq => "  softirq: ",
                Lane::Thread => "",
                _ => "the task: ",
            };
            (span.at_ns, span.ns, format!("{lane}{}", span.name))
        }));
    }
    text
}

/// Lines of begin, length and words, at 80 columns.
fn timeline(rows: impl Iterator<Item = (i64, i64, String)>) -> String {
    let mut text = String::new();
    for (at_ns, ns, words) in rows {
        let at = if at_ns < 0 { time(at_ns as f64) } else { format!("+{}", time(at_ns as f64)) };
        let mut lines = wrapped(&words, 56).into_iter();
        let indent: String = words.chars().take_while(|c| *c == ' ').collect();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "  {at:>9} {:>9}  {indent}{first}", time(ns as f64));
        for line in lines {
            let _ = writeln!(text, "{:23}{indent}{line}", "");
        }
    }
    text
}
