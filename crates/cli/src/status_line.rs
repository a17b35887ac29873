//! Progress of a command, in one line of standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Texts that are kept for a log that is slow to take them.
const WAITING: usize = 64;
const CLEAR: &str = "\r\x1b[K";

/// On a terminal a line that each text replaces, elsewhere a line for each text. A thread of its own writes
/// them: a stopped terminal (Ctrl-S), or a pipe without a reader, delays nothing else.
pub struct StatusLine {
    /// `None` once it ends, or where there is no thread to write from.
    texts: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
    is_redrawn: bool,
}

impl StatusLine {
    /// A line that is redrawn where standard error is a terminal.
    pub fn new() -> Self {
        StatusLine::start(io::stderr().is_terminal())
    }

    /// A line if standard error is a terminal, else `None`.
    pub fn for_people() -> Option<Self> {
        Some(StatusLine::new()).filter(StatusLine::is_redrawn)
    }

    /// A status line that is never redrawn, since something else writes to the terminal.
    pub fn line_by_line() -> Self {
        StatusLine::start(false)
    }

    fn start(is_redrawn: bool) -> Self {
        let (sender, texts) = sync_channel::<String>(if is_redrawn { 1 } else { WAITING });
        let write = move || texts.iter().try_for_each(|text| io::stderr().write_all(text.as_bytes()));
        // A closed standard error is no reason to stop.
        let writer = thread::Builder::new().name("status line".into()).spawn(move || drop(write())).ok();
        StatusLine { texts: writer.is_some().then_some(sender), writer, is_redrawn }
    }

    /// True if each text replaces the one before.
    pub fn is_redrawn(&self) -> bool {
        self.is_redrawn
    }

    /// Shows a text, unless the one before is still being written.
    pub fn show(&self, text: &str) {
        let text = if self.is_redrawn { format!("{CLEAR}{text}") } else { format!("{text}\n") };
        let _ = self.texts.as_ref().map(|texts| texts.try_send(text));
    }

    /// Clears a redrawn line, to make room for something else.
    pub fn clear(&self) {
        if self.is_redrawn {
            let _ = io::stderr().write_all(CLEAR.as_bytes());
        }
    }
}

impl Drop for StatusLine {
    /// Waits until the last text is written and clears a redrawn line, so that the next output need not wait.
    fn drop(&mut self) {
        self.texts = None;
        if self.is_redrawn {
            let _ = self.writer.take().map(JoinHandle::join);
            self.clear();
        }
    }
}
