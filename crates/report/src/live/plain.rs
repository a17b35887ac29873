//! A plain line now and then: for logs and pipes.

use std::io;

use jitterlab_analysis::measured::SoFar;
use jitterlab_model::units::Human;

use super::painter::{Painter, Place};
use super::time;
use crate::printable::printable;

/// A plain line now and then, on standard error.
pub struct PlainView(Painter);

impl PlainView {
    /// On standard error.
    ///
    /// # Errors
    /// When there is no thread to write from.
    pub fn on_stderr() -> io::Result<Self> {
        Painter::start(io::stderr(), Place::EachOnItsOwn).map(PlainView)
    }

    /// Writes the line of a look, unless standard error has not taken the last one yet.
    ///
    /// # Errors
    /// When standard error cannot be written to.
    pub fn draw(&mut self, so_far: &SoFar) -> io::Result<()> {
        self.0.show(vec![printable(&line(so_far)).into_owned()])
    }
}

/// Elapsed time, and per task count, latencies and misses.
fn line(so_far: &SoFar) -> String {
    let tasks = so_far.tasks.iter().map(|task| {
        let latency = &task.stats.latency;
        let lost = if task.dropped > 0 { format!(", {} records lost", task.dropped) } else { String::new() };
        format!(
            "{} n={} latency min {} median {} p99 {} max {}, missed {}{lost}",
            task.name,
            latency.count(),
            time(latency.min_ns()),
            time(latency.quantile_ns(0.5)),
            time(latency.quantile_ns(0.99)),
            time(latency.max_ns()),
            task.stats.seen_missed()
        )
    });
    format!("{}: {}", Human(so_far.elapsed_ns as f64), tasks.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::tests::so_far;
    use super::*;

    #[test]
    fn the_plain_line_tells_the_same() {
        let line = line(&so_far(&[2_000, 90_000]));
        assert!(line.starts_with("4 s: servo n=2 latency min 2 µs"), "{line}");
        assert!(line.contains("max 90 µs, missed 0"), "{line}");
    }
}
