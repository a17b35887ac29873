//! Sleeping on civil time. Due times stay on CLOCK_MONOTONIC and are translated; when somebody sets the clock, the
//! sleep is interrupted, the translation repeated, and the step counted.

use std::io;

use jitterlab_model::SleepClock;

use super::{Arrival, Wake, WakeReport, WakeUp};
use crate::system::{Kernel, System};

/// A clock that is off by more than this has been set: slewing changes civil time and CLOCK_MONOTONIC alike.
const STEP_NS: i64 = 100_000;
/// Readings of both clocks to choose the closest from.
const TRIES: usize = 16;

/// Any wake-up method, on the clock of civil time.
pub struct OnCivilTime<S: System> {
    inner: Box<dyn WakeUp<S>>,
    clock: SleepClock,
    /// Clock minus CLOCK_MONOTONIC.
    offset_ns: i64,
    steps: u64,
    moved_ns: i64,
    _watch: Box<dyn Send>,
}

impl<S: System> OnCivilTime<S> {
    /// `inner` waits for times of `clock`, in the calling thread.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(inner: Box<dyn WakeUp<S>>, clock: SleepClock, system: &S) -> io::Result<Self> {
        let watch = system.kernel().watch_civil_time()?;
        let readings = (0..TRIES).map(|_| measure_offset(system, clock));
        let offset_ns = readings.min_by_key(|r| r.width_ns).map_or(0, |r| r.offset_ns);
        Ok(OnCivilTime { inner, clock, offset_ns, steps: 0, moved_ns: 0, _watch: watch })
    }

    /// Counts a step and takes the new offset if the clock was set.
    fn note_clock_set(&mut self, system: &S) {
        let ClockOffset { offset_ns, width_ns } = measure_offset(system, self.clock);
        let moved_ns = offset_ns - self.offset_ns;
        // Readings that were torn apart are the less precise, the further apart they are.
        if moved_ns.abs() > STEP_NS + width_ns {
            self.steps += 1;
            self.moved_ns += moved_ns;
            self.offset_ns = offset_ns;
        }
    }
}

/// Offset of a clock from CLOCK_MONOTONIC, and its uncertainty.
struct ClockOffset {
    /// Clock minus CLOCK_MONOTONIC: rather some nanoseconds too large, which makes sleeps end late, than too small,
    /// which would make them end early.
    offset_ns: i64,
    /// Time between the readings.
    width_ns: i64,
}

fn measure_offset<S: System>(system: &S, clock: SleepClock) -> ClockOffset {
    let before_ns = system.now_ns();
    let clock_ns = system.kernel().clock_ns(clock);
    ClockOffset { offset_ns: clock_ns - before_ns, width_ns: system.now_ns() - before_ns }
}

impl<S: System> WakeUp<S> for OnCivilTime<S> {
    fn wait(&mut self, system: &S, due_ns: i64) -> io::Result<Wake> {
        loop {
            let arrival = match self.inner.wait(system, due_ns.saturating_add(self.offset_ns))? {
                Wake::Due => Arrival::without_polling(system.now_ns()),
                Wake::Read(arrival) => arrival,
                Wake::Interrupted => {
                    self.note_clock_set(system);
                    return Ok(Wake::Interrupted);
                }
            };
            if (arrival.now_ns - due_ns).abs() > STEP_NS {
                self.note_clock_set(system);
            }
            if arrival.now_ns >= due_ns {
                return Ok(Wake::Read(arrival));
            }
        }
    }

    fn report(&self) -> WakeReport {
        WakeReport { clock_steps: self.steps, clock_moved_ns: self.moved_ns, ..self.inner.report() }
    }
}
