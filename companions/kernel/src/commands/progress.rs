//! Progress of the guests, while they run.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jitterlab_console::output;
use jitterlab_kernel::GuestProgress;

/// One line on standard error for all guests: rewritten on a terminal, now and then a new one elsewhere.
pub struct ProgressLine {
    names: Vec<String>,
    state: Mutex<State>,
    quiet: bool,
    terminal: bool,
}

struct State {
    guests: Vec<Option<GuestProgress>>,
    next: Instant,
    drawn: usize,
}

impl ProgressLine {
    const TERMINAL_EVERY: Duration = Duration::from_millis(250);
    const LINE_EVERY: Duration = Duration::from_secs(10);

    /// Creates a line for guests of these names.
    pub fn new(names: Vec<String>, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let guests = vec![None; names.len()];
        let next = Instant::now() + if terminal { Duration::ZERO } else { Self::LINE_EVERY };
        ProgressLine { names, state: Mutex::new(State { guests, next, drawn: 0 }), quiet, terminal }
    }

    /// Clears the line.
    pub fn finish(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.drawn > 0 {
            let _ = write!(io::stderr(), "\r{:width$}\r", "", width = state.drawn);
        }
    }

    fn draw(&self, state: &mut State) {
        let here = state.guests.iter().flatten().map(|p| p.host).max().unwrap_or_default();
        let guests = self.names.iter().zip(&state.guests);
        let guests = guests.filter_map(|(name, p)| Some(format!("{name} {} s", (*p)?.guest.as_secs())));
        let text =
            format!("guest time: {} ({} s here)", guests.collect::<Vec<_>>().join(", "), here.as_secs());
        if self.terminal {
            let _ = write!(io::stderr(), "\r{text:width$}", width = state.drawn);
            state.drawn = text.chars().count();
        } else {
            output::print_note(&text);
        }
    }

    /// Shows that something takes time before a boot.
    pub fn show_note(&self, guest: usize, text: &str) {
        if !self.quiet {
            output::print_note(&format!("{}: {text}", self.names[guest]));
        }
    }

    pub fn show_progress(&self, guest: usize, progress: GuestProgress) {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.guests[guest] = Some(progress);
        let now = Instant::now();
        if !self.quiet && now >= state.next {
            self.draw(state);
            state.next =
                now + if self.terminal { ProgressLine::TERMINAL_EVERY } else { ProgressLine::LINE_EVERY };
        }
    }
}
