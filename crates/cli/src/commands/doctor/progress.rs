//! How far a measurement of `doctor` is.

use std::time::Instant;

use jitterlab_analysis::trial::TrialStep;
use jitterlab_host::SessionProgress;

use crate::countdown::Countdown;

/// How far a measurement is.
pub(super) struct Progress {
    countdown: Countdown,
    looked: Instant,
}

impl Progress {
    /// Of a measurement of this length.
    pub(super) fn begin(length_ns: i64) -> Self {
        let mut countdown = Countdown::for_people(length_ns);
        countdown.tell(SessionProgress::Begins(TrialStep::Measuring));
        Progress { countdown, looked: Instant::now() }
    }

    /// Shows it, not more often than every second.
    pub(super) fn look(&mut self) {
        let took = self.looked.elapsed();
        if took.as_secs() >= 1 {
            self.looked = Instant::now();
            self.countdown.tell(SessionProgress::Took(i64::try_from(took.as_nanos()).unwrap_or(i64::MAX)));
        }
    }
}
