//! Current step and remaining time, for commands that measure in several steps.

use jitterlab_host::Progress;
use jitterlab_report::progress;

use crate::status_line::StatusLine;

/// Shows the progress of an experiment on standard error: on a terminal one line that is rewritten, else one
/// line for each step.
pub struct Countdown {
    /// `None` if nothing is to be shown.
    line: Option<StatusLine>,
}

impl Countdown {
    /// Unless it is to be `quiet`.
    pub fn new(quiet: bool) -> Self {
        Countdown { line: (!quiet).then(StatusLine::new) }
    }

    /// The same where a person watches, and nothing elsewhere.
    pub fn for_people() -> Self {
        Countdown { line: Some(StatusLine::new()).filter(StatusLine::is_redrawn) }
    }

    /// Shows that a step begins, or that a part of it is done.
    pub fn tell(&mut self, now: &Progress) {
        if let Some(line) = self.line.as_ref().filter(|line| now.begins || line.is_redrawn()) {
            line.show(&progress::left(&now.step, now.left_ns));
        }
    }
}
