//! Writing from a thread of its own: a terminal that was stopped (Ctrl-S) or is read by nobody holds up only that.

use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use super::screen;

/// Where a frame is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind the one before.
    EachOnItsOwn,
    /// In the place of the one before, below what stood there.
    BelowCursor,
    /// On a screen of its own.
    WholeScreen,
}

/// The thread that writes, and the way to it.
pub(super) struct Painter {
    /// `None` once it is told to end.
    frames: Option<SyncSender<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
    place: Place,
}

impl Painter {
    pub(super) fn start(out: impl Write + Send + 'static, place: Place) -> io::Result<Self> {
        let (frames, to_draw) = sync_channel::<Vec<String>>(0);
        let thread = thread::Builder::new().name("live view".into()).spawn(move || {
            // A terminal that is gone needs no tidying.
            let _ = paint(out, place, to_draw);
        })?;
        Ok(Painter { frames: Some(frames), thread: Some(thread), place })
    }

    /// Hands over a frame, unless the one before is still being written.
    ///
    /// # Errors
    /// The terminal took no more.
    pub(super) fn show(&self, lines: Vec<String>) -> io::Result<()> {
        match self.frames.as_ref().map(|frames| frames.try_send(lines)) {
            Some(Ok(()) | Err(TrySendError::Full(_))) => Ok(()),
            None | Some(Err(TrySendError::Disconnected(_))) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Painter {
    /// Waits until the view is off the terminal: what is printed next would have to wait for the terminal as well.
    fn drop(&mut self) {
        self.frames = None;
        if self.place != Place::EachOnItsOwn {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

fn paint(mut out: impl Write, place: Place, frames: impl IntoIterator<Item = Vec<String>>) -> io::Result<()> {
    let mut write = |text: &str| out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let mut shown = None;
    for lines in frames {
        write(&match (place, shown) {
            (Place::EachOnItsOwn, _) => lines.join("\n") + "\n",
            (Place::BelowCursor, _) => back(shown.unwrap_or(0)) + &over(&lines) + "\n\x1b[J",
            (Place::WholeScreen, None) => format!("{}\x1b[H{}", screen::ENTER, over(&lines)),
            (Place::WholeScreen, Some(_)) => format!("\x1b[H{}", over(&lines)),
        })?;
        shown = Some(lines.len());
    }
    match (place, shown) {
        (Place::BelowCursor, Some(lines)) => write(&(back(lines) + "\x1b[J")),
        (Place::WholeScreen, Some(_)) => write(screen::LEAVE),
        _ => Ok(()),
    }
}

/// Lines over others, each cleared first: behind a full line there is nothing to clear but its end.
fn over(lines: &[String]) -> String {
    format!("\x1b[2K{}", lines.join("\r\n\x1b[2K"))
}

/// To the first of the lines above the cursor.
fn back(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\r\x1b[{lines}A") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(place: Place) -> String {
        let mut out = Vec::new();
        paint(&mut out, place, [vec!["one".to_owned(), "two".into()], vec!["three".into()]]).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_taken_is_given_back() {
        let screen = painted(Place::WholeScreen);
        assert!(screen.starts_with(screen::ENTER) && screen.ends_with(screen::LEAVE), "{screen:?}");
        assert!(painted(Place::BelowCursor).ends_with("\r\x1b[1A\x1b[J"));
        assert_eq!(painted(Place::EachOnItsOwn), "one\ntwo\nthree\n");
    }
}
