//! Words for one late activation: its parts, and the activity around it.

use jitterlab_analysis::causes::LateEvent;
use jitterlab_model::RunInfo;
use jitterlab_model::causes::{Certainty, ExecutionContext};

use super::words::{cause_text, certainty_word, due_text, evidence_word};
use crate::section::{Cell, Piece};
use crate::words::{count, time};

/// One late activation with its parts, and in full with the activity around it.
pub fn event_pieces(event: &LateEvent, first_due_ns: i64, run: &RunInfo, in_full: bool) -> Vec<Piece> {
    let at = run
        .epoch_offset_ns
        .map_or(String::new(), |_| format!(", at {} UTC", due_text(event.due_ns, first_due_ns, run)));
    let caption = format!(
        "{}. {} late: activation {} on CPU {}, due {:.6} s after the first{at}",
        event.rank,
        time(event.latency_ns as f64),
        count(event.index),
        event.cpu,
        (event.due_ns - first_due_ns) as f64 / 1e9
    );
    let parts = event.parts.iter().map(|part| {
        let sure = match part.certainty {
            Certainty::Proven => String::new(),
            sure => format!(" ({}: {})", certainty_word(sure), evidence_word(part.evidence)),
        };
        let function = part.function.as_ref().map_or(String::new(), |function| format!(", in {function}"));
        let what = format!("{}{function}{sure}", cause_text(&part.cause));
        vec![Cell::time(part.at_ns as f64), Cell::time(part.ns as f64), what.into()]
    });
    let around = event.ran.iter().map(|span| {
        let context = match span.context {
            ExecutionContext::Interrupt => "interrupt",
            ExecutionContext::Softirq => "softirq",
            ExecutionContext::Thread => "thread",
            _ => "the task",
        };
        let [at, length] = [span.at_ns, span.ns].map(|ns| Cell::time(ns as f64));
        vec![at, length, context.into(), span.name.as_str().into()]
    });
    let mut pieces = vec![Piece::table(caption, &["at, µs", "for", "part of the latency"], parts)];
    if in_full && !event.ran.is_empty() {
        let caption = format!("What ran on CPU {} around it, from the due time on", event.cpu);
        pieces.push(Piece::table(caption, &["at, µs", "for", "", "what ran"], around));
    }
    pieces
}
