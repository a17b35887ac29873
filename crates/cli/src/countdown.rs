//! What is going on and how long it will still take, for commands that measure in several steps.

use std::io::{self, IsTerminal, Write};

use jitterlab_host::SessionProgress;
use jitterlab_report::progress;

/// Tells on standard error how far a measurement is: on a terminal one line that is rewritten, else one line for
/// each step.
pub struct Countdown {
    quiet: bool,
    rewrites: bool,
    left_ns: i64,
    step: String,
}

impl Countdown {
    /// For steps that take `total_ns` together.
    pub fn new(total_ns: i64, quiet: bool) -> Self {
        Countdown { quiet, rewrites: Countdown::is_watched(), left_ns: total_ns, step: String::new() }
    }

    /// Whether a person sees a line that is rewritten.
    pub fn is_watched() -> bool {
        io::stderr().is_terminal()
    }

    /// Shows that a step begins, or that a part of it is done.
    pub fn tell(&mut self, progress: SessionProgress) {
        match progress {
            SessionProgress::Begins(step) => {
                self.step = progress::step(step);
                self.show(!self.rewrites);
            }
            SessionProgress::Took(ns) => {
                self.left_ns = (self.left_ns - ns).max(0);
                if self.rewrites {
                    self.show(false);
                }
            }
        }
    }

    fn show(&self, line: bool) {
        if self.quiet {
            return;
        }
        let (begin, end) = if line { ("", "\n") } else { ("\r\x1b[K", "") };
        let left_s = (self.left_ns as f64 / 1e9).ceil();
        let mut out = io::stderr().lock();
        // A closed standard error is no reason to stop.
        let _ = write!(out, "{begin}{}{end}", progress::left(&self.step, left_s));
        let _ = out.flush();
    }
}

impl Drop for Countdown {
    fn drop(&mut self) {
        if self.rewrites && !self.quiet {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
