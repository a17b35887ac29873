//! Showing a measurement while it goes on: on a terminal the live view, elsewhere a line every few seconds.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use jitterlab_analysis::measured::SoFar;

use crate::chart::Terminal;
use crate::live::{FewLines, PlainView, WholeScreen, Wish};

/// How a measurement is shown while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// On the whole screen of a terminal that is large enough, else in a few lines of it, else as plain lines.
    Auto,
    /// In a few lines of a terminal, else as plain lines.
    Lines,
    /// As a plain line on standard error now and then.
    Plain,
    /// Not at all.
    Nothing,
}

/// Shows a measurement while it goes on.
pub struct Watcher {
    show: Show,
    next: Instant,
}

enum Show {
    Nothing,
    Plain(PlainView),
    Few(FewLines),
    Whole(Box<WholeScreen>),
}

impl Show {
    fn plain() -> Self {
        PlainView::on_stderr().map_or(Show::Nothing, Show::Plain)
    }

    fn few(tasks: usize, terminal: Terminal) -> Self {
        if !io::stdout().is_terminal() {
            return Show::plain();
        }
        FewLines::on_stdout(tasks, terminal).map_or_else(|_| Show::plain(), Show::Few)
    }
}

impl Watcher {
    const LINE_EVERY: Duration = Duration::from_secs(5);
    const DRAW_EVERY: Duration = Duration::from_millis(250);

    /// For this many tasks.
    #[must_use]
    pub fn new(tasks: usize, view: View, terminal: Terminal) -> Self {
        let show = match view {
            View::Nothing => Show::Nothing,
            View::Plain => Show::plain(),
            View::Lines => Show::few(tasks, terminal),
            View::Auto => match WholeScreen::take(tasks, terminal) {
                Some(whole) => Show::Whole(Box::new(whole)),
                None => Show::few(tasks, terminal),
            },
        };
        let first = if matches!(show, Show::Plain(_)) { Self::LINE_EVERY } else { Self::DRAW_EVERY };
        Watcher { show, next: Instant::now() + first }
    }

    /// Shows the measurement if it is time to, or if a key asks for it; says whether it is to end.
    pub fn look(&mut self, so_far: impl FnOnce() -> SoFar) -> Wish {
        let is_asked = match &mut self.show {
            Show::Nothing => return Wish::GoOn,
            Show::Whole(view) => view.is_asked(),
            _ => false,
        };
        if Instant::now() < self.next && !is_asked {
            return Wish::GoOn;
        }
        let so_far = so_far();
        let drawn = match &mut self.show {
            Show::Nothing => Ok(Wish::GoOn),
            Show::Plain(view) => {
                self.next += Self::LINE_EVERY;
                view.draw(&so_far).map(|()| Wish::GoOn)
            }
            Show::Few(view) => {
                self.next = Instant::now() + Self::DRAW_EVERY;
                view.draw(&so_far).map(|()| Wish::GoOn)
            }
            Show::Whole(view) => {
                self.next = Instant::now() + Self::DRAW_EVERY;
                view.draw(&so_far)
            }
        };
        drawn.unwrap_or_else(|_| {
            // Where standard error takes nothing either, nothing is shown.
            self.show = if matches!(self.show, Show::Plain(_)) { Show::Nothing } else { Show::plain() };
            Wish::GoOn
        })
    }

    /// Says something beside the view; gives it back where the view does not hide it.
    pub fn say(&mut self, text: String) -> Option<String> {
        match &mut self.show {
            Show::Whole(view) => {
                view.say(&text);
                None
            }
            _ => Some(text),
        }
    }

    /// Clears the view away, and gives what it has to leave behind.
    #[must_use]
    pub fn finish(self) -> Vec<String> {
        match self.show {
            Show::Whole(view) => view.finish(),
            _ => Vec::new(),
        }
    }
}
