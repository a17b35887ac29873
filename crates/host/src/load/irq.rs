//! `irq`: a storm of timer interrupts.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use jitterlab_model::load::LoadUnit;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::unistd;

use super::{Kind, Work, share_per_cpu};

/// Distance of the interrupts of one worker.
const EVERY: Duration = Duration::from_micros(20);

pub(super) const KIND: Kind = Kind {
    name: "irq",
    usage: "irq[:N]",
    unit: Some(LoadUnit::Operations),
    share: share_per_cpu,
    begin: |_| Ok(Box::new(InterruptLoad { timer: None })),
};

struct InterruptLoad {
    timer: Option<TimerFd>,
}

impl Work for InterruptLoad {
    fn step(&mut self) -> io::Result<u64> {
        let timer = match &self.timer {
            Some(timer) => timer,
            None => {
                let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
                timer
                    .set(Expiration::Interval(TimeSpec::from_duration(EVERY)), TimerSetTimeFlags::empty())?;
                self.timer.insert(timer)
            }
        };
        let mut came = 0;
        for _ in 0..500 {
            let mut count = [0; 8];
            unistd::read(timer.as_fd(), &mut count)?;
            // The number that came since the last reading; each was an interrupt only if it was read in time.
            came += u64::from_ne_bytes(count).min(1);
        }
        Ok(came)
    }
}
