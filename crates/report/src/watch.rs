//! Showing a measurement while it goes on: on a terminal the live view, elsewhere a line every few seconds.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use jitterlab_analysis::measured::SoFar;

use crate::live::{LiveView, PlainView};

/// Shows a measurement while it goes on.
pub struct Watcher {
    show: Show,
    next: Instant,
}

enum Show {
    Nothing,
    Lines(PlainView),
    View(LiveView),
}

impl Show {
    fn lines() -> Self {
        PlainView::on_stderr().map_or(Show::Nothing, Show::Lines)
    }
}

impl Watcher {
    const LINE_EVERY: Duration = Duration::from_secs(5);
    const DRAW_EVERY: Duration = Duration::from_millis(250);

    /// For this many tasks: nothing when quiet; lines on standard error when standard output is no terminal or is to carry
    /// a result for programs.
    #[must_use]
    pub fn new(tasks: usize, quiet: bool, for_programs: bool) -> Self {
        let show = if quiet {
            Show::Nothing
        } else if for_programs || !io::stdout().is_terminal() {
            Show::lines()
        } else {
            LiveView::on_stdout(tasks).map_or_else(|_| Show::lines(), Show::View)
        };
        let first = if matches!(show, Show::View(_)) { Self::DRAW_EVERY } else { Self::LINE_EVERY };
        Watcher { show, next: Instant::now() + first }
    }

    /// Shows the measurement if it is time to.
    pub fn look(&mut self, so_far: impl FnOnce() -> SoFar) {
        if matches!(self.show, Show::Nothing) || Instant::now() < self.next {
            return;
        }
        let so_far = so_far();
        match &mut self.show {
            Show::Nothing => {}
            Show::Lines(view) => {
                if view.draw(&so_far).is_err() {
                    self.show = Show::Nothing;
                }
                self.next += Self::LINE_EVERY;
            }
            Show::View(view) => {
                if view.draw(&so_far).is_err() {
                    self.show = Show::lines();
                }
                self.next = Instant::now() + Self::DRAW_EVERY;
            }
        }
    }

    /// Clears the view away.
    pub fn finish(self) {
        if let Show::View(view) = self.show {
            view.finish();
        }
    }
}
