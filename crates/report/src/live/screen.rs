//! The terminal as a whole screen with keys: taken for the live view, and given back in every ending.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};

/// To a screen of its own, without a cursor, on which a line that is too long ends at the edge.
pub(super) const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
/// Back, to what stood there before.
pub(super) const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// The least columns and rows on which all has its place.
const LEAST: (usize, usize) = (64, 18);

/// How the terminal was set before.
static BEFORE: OnceLock<Termios> = OnceLock::new();
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// What somebody who watches wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Stop,
    Pause,
    Next,
    Previous,
    Task(usize),
    Range,
    Counts,
    Mark,
}

/// The terminal of standard input and output, whose keys come one by one and unseen. Ctrl-C is still a signal; Ctrl-Z and
/// Ctrl-\\, which would leave the terminal as it is, are not.
pub(super) struct Screen(());

impl Screen {
    /// Takes it; `None` where there is no terminal that somebody watches and types at, or where it is too small.
    pub(super) fn take() -> Option<Self> {
        let (columns, rows) = size()?;
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let is_large_enough = columns >= LEAST.0 && rows >= LEAST.1;
        if is_dumb || !is_large_enough || !isatty(io::stdout()) || !is_in_front() {
            return None;
        }
        let now = tcgetattr(io::stdin()).ok()?;
        let mut wanted = BEFORE.get_or_init(|| now).clone();
        wanted.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // A read gives what was typed, and waits for nothing.
        for code in [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME] {
            wanted.special_codes[code] = 0;
        }
        for code in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
            wanted.special_codes[code] = 0;
        }
        IS_TAKEN.store(true, Ordering::SeqCst);
        let screen = Screen(());
        tcsetattr(io::stdin(), OptionalActions::Now, &wanted).ok()?;
        Some(screen)
    }

    /// What was typed since.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut typed = [0; 64];
        // A read from behind would stop the program.
        let length = if is_in_front() { rustix::io::read(io::stdin(), &mut typed).unwrap_or(0) } else { 0 };
        keys(&typed[..length])
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back_input();
    }
}

/// Gives the terminal back where nothing is waited for: at a second Ctrl-C. Does only what a signal handler may.
pub fn give_back_at_once() {
    if !give_back_input() {
        return;
    }
    let out = io::stdout();
    // A stopped terminal would hold up the end.
    let mut writable = [PollFd::new(&out, PollFlags::OUT)];
    if poll(&mut writable, Some(&Timespec::default())) == Ok(1) {
        let _ = rustix::io::write(&out, LEAVE.as_bytes());
    }
}

/// Whether it was taken.
fn give_back_input() -> bool {
    let was_taken = IS_TAKEN.swap(false, Ordering::SeqCst);
    if let (true, Some(before)) = (was_taken, BEFORE.get()) {
        // A change from behind would stop the program.
        if is_in_front() {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
    was_taken
}

/// Whether standard input is the terminal that this program is in front of.
fn is_in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Columns and rows, where they are known.
pub(super) fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some((columns, rows))
}

/// The width in pixels, where the terminal tells it.
#[must_use]
pub fn width_in_pixels() -> Option<u16> {
    tcgetwinsize(io::stdout()).ok().map(|size| size.ws_xpixel).filter(|width| *width > 0)
}

/// The keys that these bytes are; what is none of ours is left out.
fn keys(typed: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    let mut rest = typed;
    while let [first, after @ ..] = rest {
        let (key, after) = match (first, after) {
            // Arrows, and other keys that send several bytes.
            (0x1b, [b'[' | b'O', more @ ..]) => {
                let end = more.iter().position(|c| (0x40..=0x7e).contains(c)).unwrap_or(more.len());
                let key = match more.get(end) {
                    Some(b'B' | b'C') => Some(Key::Next),
                    Some(b'A' | b'D' | b'Z') => Some(Key::Previous),
                    _ => None,
                };
                (key, more.get(end + 1..).unwrap_or_default())
            }
            // Escape alone may be the first half of an arrow.
            (b'q', after) => (Some(Key::Stop), after),
            (b' ' | b'p', after) => (Some(Key::Pause), after),
            (b'\t' | b'n', after) => (Some(Key::Next), after),
            (b'1'..=b'9', after) => (Some(Key::Task(usize::from(first - b'1'))), after),
            (b'r', after) => (Some(Key::Range), after),
            (b'c', after) => (Some(Key::Counts), after),
            (b'm', after) => (Some(Key::Mark), after),
            (_, after) => (None, after),
        };
        found.extend(key);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_keys() {
        let all = [Key::Stop, Key::Pause, Key::Next, Key::Previous, Key::Task(1), Key::Mark];
        assert_eq!(keys(b"q \x1b[C\x1b[Z2m"), all);
        assert_eq!(keys(b"\x1bOB\x1b"), [Key::Next]);
        assert_eq!(keys(b"\x1b[15~xrc"), [Key::Range, Key::Counts]);
        assert_eq!(keys(b"\x1b[1;5"), []);
    }
}
