//! How far a long calculation is, for a person at a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::units::Human;

/// Nothing is shown before this time.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time from one showing to the next.
const STEP: Duration = Duration::from_millis(200);

/// Shows how much of a known amount of work is done, on standard error if that is a terminal.
pub struct ReadProgress<'a> {
    whole: u64,
    done: &'a AtomicU64,
    begin: Instant,
}

impl<'a> ReadProgress<'a> {
    /// Work of this size begins; `done` says how much of it is.
    pub fn new(whole: u64, done: &'a AtomicU64) -> Self {
        ReadProgress { whole, done, begin: Instant::now() }
    }

    /// Returns when the work is finished; until then shows its share and the time left.
    pub fn watch(&self, finished: impl Fn() -> bool) {
        let mut shown: Option<Instant> = None;
        let mut pause = Duration::from_micros(50);
        while !finished() {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
            let due = shown.is_none_or(|last| last.elapsed() > STEP) && self.begin.elapsed() > PATIENCE;
            if due && io::stderr().is_terminal() {
                self.show();
                shown = Some(Instant::now());
            }
        }
        if shown.is_some() {
            // Nobody is left to tell when standard error is closed.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn show(&self) {
        let done = self.done.load(Ordering::Relaxed).clamp(1, self.whole.max(1));
        let taken = self.begin.elapsed().as_nanos() as f64;
        let left = taken * (self.whole.max(done) - done) as f64 / done as f64;
        let percent = 100 * done / self.whole.max(1);
        let _ = write!(io::stderr(), "\r{percent} % read, {} left \x1b[K", Human(left));
    }
}
