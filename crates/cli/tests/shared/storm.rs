//! A storm of interrupts: thousands of timers that expire at once, all handled in one interrupt.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::time::{Duration, Instant};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;

/// Number of its timers, interval of their expiry, and its longest duration.
const TIMERS: usize = 4_000;
const EVERY: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(900);

/// Words for a shell that begin it: before ordinary programs, so that they do not hold it up, and behind the task.
pub fn script() -> String {
    let own = std::env::current_exe().unwrap();
    format!("ulimit -n 8192; JITTERLAB_STORM=1 exec chrt -f 1 {} --exact storm::itself", own.display())
}

/// A program of its own, started by [`script`].
#[test]
fn itself() {
    if std::env::var_os("JITTERLAB_STORM").is_none() {
        return;
    }
    let timer = || TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::empty()).unwrap();
    let timers: Vec<TimerFd> = (0..TIMERS).map(|_| timer()).collect();
    let began = Instant::now();
    while began.elapsed() < LONGEST {
        let armed = Instant::now();
        let at = clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap() + TimeSpec::from_duration(EVERY);
        for timer in &timers {
            timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME).unwrap();
        }
        std::thread::sleep(EVERY.saturating_sub(armed.elapsed()));
    }
}
