//! The live view: what is happening while a measurement runs.
//!
//! It draws what ordinary threads counted; the measured threads know nothing of it. The terminal is only written
//! to, never asked: one that was closed, stopped or does not answer holds nothing up.

mod few;
mod painter;
mod parts;
mod plain;
pub mod screen;
mod whole;

pub use few::FewLines;
pub use plain::PlainView;
pub use whole::{WholeScreen, Wish};

use jitterlab_model::units::Human;

fn time(ns: Option<i64>) -> String {
    ns.map_or("-".into(), |ns| Human(ns as f64).to_string())
}

#[cfg(test)]
mod tests {
    use jitterlab_analysis::measured::{SoFar, TaskSoFar};

    use crate::sample;

    /// A measurement of 10 s after 4 s, with these latencies of a task every millisecond.
    pub(super) fn so_far(latencies_ns: &[i64]) -> SoFar {
        let task = TaskSoFar {
            name: "servo".into(),
            stats: sample::stats(latencies_ns),
            dropped: 0,
            recent_max_ns: latencies_ns.iter().max().copied(),
        };
        SoFar { elapsed_ns: 4_000_000_000, planned_ns: Some(10_000_000_000), tasks: vec![task] }
    }
}
