//! CLOCK_REALTIME, on which watched threads may wait, and which may be set meanwhile.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jitterlab_analysis::watch::SystemState;
use jitterlab_rt::{Linux, System};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Readings of both clocks to choose the closest from, and the distance of two readings that is close enough, in ns.
const TRIES: usize = 16;
const CLOSE_NS: i64 = 2_000;
/// Far in the future: the timer is to be cancelled rather than to expire.
const FAR: Duration = Duration::from_secs(1 << 33);

/// Readings of CLOCK_REALTIME.
#[derive(Debug)]
pub(super) struct RealtimeClock {
    /// Cancelled by the kernel when the clock is set (timerfd_create(2)); without it, steps that cancel each other
    /// between two readings stay unseen.
    cancelled: Option<TimerFd>,
}

impl RealtimeClock {
    pub(super) fn new() -> Self {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_REALTIME, flags).ok().filter(|timer| {
            let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET;
            timer.set(Expiration::OneShot(TimeSpec::from_duration(FAR)), flags).is_ok()
        });
        RealtimeClock { cancelled: timer }
    }

    /// Reads the offset of CLOCK_REALTIME into `system`, before the events until `complete_ns` are processed.
    pub(super) fn note_reading(&self, system: &mut SystemState, complete_ns: i64) {
        // It never expires: the only end of a wait is that the clock was set.
        let was_set = self.cancelled.as_ref().is_some_and(|timer| timer.wait().is_ok());
        let read = || {
            let before_ns = Linux.now_ns();
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let after_ns = Linux.now_ns();
            (after_ns - before_ns, before_ns + (after_ns - before_ns) / 2 - since.as_nanos() as i64)
        };
        let mut best = read();
        for _ in 1..TRIES {
            if best.0 <= CLOSE_NS {
                break;
            }
            best = best.min(read());
        }
        system.note_clock_reading(best.1, complete_ns, Linux.now_ns(), was_set);
    }
}
