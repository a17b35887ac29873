//! What is going on and how long it will still take, for commands that measure in several steps.

use jitterlab_host::SessionProgress;
use jitterlab_report::progress;

use crate::status_line::StatusLine;

/// Tells on standard error how far a measurement is: on a terminal one line that is rewritten, else one line for
/// each step.
pub struct Countdown {
    /// `None` where nothing is to be told.
    line: Option<StatusLine>,
    left_ns: i64,
    step: String,
}

impl Countdown {
    /// For steps that take `total_ns` together.
    pub fn new(total_ns: i64, quiet: bool) -> Self {
        Countdown { line: (!quiet).then(StatusLine::new), left_ns: total_ns, step: String::new() }
    }

    /// The same where a person watches, and nothing elsewhere.
    pub fn for_people(total_ns: i64) -> Self {
        let line = Some(StatusLine::new()).filter(StatusLine::is_redrawn);
        Countdown { line, left_ns: total_ns, step: String::new() }
    }

    /// Shows that a step begins, or that a part of it is done.
    pub fn tell(&mut self, progress: SessionProgress) {
        let is_step = matches!(progress, SessionProgress::Begins(_));
        match progress {
            SessionProgress::Begins(step) => self.step = progress::step(step),
            SessionProgress::Took(ns) => self.left_ns = (self.left_ns - ns).max(0),
        }
        if let Some(line) = self.line.as_ref().filter(|line| is_step || line.is_redrawn()) {
            line.show(&progress::left(&self.step, (self.left_ns as f64 / 1e9).ceil()));
        }
    }
}
