//! Step pulses as a software step generator makes them at the activations of its thread.

use jitterlab_model::{Activation, Overrun};

use super::quantisation::StepTicks;

/// A step pulse train: a rate of pulses on a base period, sent at activations.
///
/// Each tick of the base thread adds to an accumulator (see [`StepTicks`]); a pulse leaves with the
/// activation that serves its tick. The effect of a stall depends on the policy: with `skip` the missed ticks
/// never run and the train is late for good; with `catch-up` they run back to back when the stall is over;
/// with `re-phase` the grid restarts one period after the late tick.
#[derive(Debug, Clone)]
pub struct PulseTrain<I> {
    latencies: I,
    base_period_ns: i64,
    policy: Overrun,
    /// Ticks that have run: the accumulator's age.
    ticks_run: u64,
    next_tick: u64,
    /// The tick that sends the next pulse, and those of the pulses after it.
    pulse_tick: u64,
    pulse_ticks: StepTicks,
    busy_until_ns: i64,
    /// Total shift of the grid in ns (policy re-phase).
    shift_ns: i64,
}

/// Shortest distance of two pulses of a burst: two passes of the loop. Far below anything a motor follows.
const BURST_NS: i64 = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// Nanoseconds from the first due time.
    pub time_ns: i64,
    /// Latency of the tick that sent it.
    pub latency_ns: i64,
}

impl<I: Iterator<Item = i64>> PulseTrain<I> {
    /// Pulses at `pulses_per_s` on a base period, each tick late by the next of `latencies_ns`.
    ///
    /// The latencies may come from a run with another period: they are then taken in their order on this grid, as
    /// if latency did not depend on the period.
    pub fn new(
        latencies_ns: impl IntoIterator<IntoIter = I>,
        base_period_ns: i64,
        pulses_per_s: f64,
        policy: Overrun,
    ) -> Self {
        let base_period_ns = base_period_ns.max(1);
        let mut pulse_ticks = StepTicks::new(base_period_ns, pulses_per_s);
        // Step 0 is where the train begins: the first pulse is that of step 1.
        let pulse_tick = pulse_ticks.by_ref().nth(1).unwrap_or(u64::MAX);
        PulseTrain {
            latencies: latencies_ns.into_iter(),
            base_period_ns,
            policy,
            ticks_run: 0,
            next_tick: 0,
            pulse_tick,
            pulse_ticks,
            busy_until_ns: i64::MIN,
            shift_ns: 0,
        }
    }
}

impl<I: Iterator<Item = i64>> Iterator for PulseTrain<I> {
    type Item = Pulse;

    fn next(&mut self) -> Option<Pulse> {
        loop {
            let latency_ns = self.latencies.next()?;
            let due = self.next_tick as i64 * self.base_period_ns + self.shift_ns;
            // A tick cannot start before the previous one is through.
            let start = (due + latency_ns).max(self.busy_until_ns);
            self.busy_until_ns = start + BURST_NS.min(self.base_period_ns / 4);
            self.next_tick += 1;
            self.ticks_run += 1;
            let late_ns = start - due;
            let missed = if late_ns >= self.base_period_ns { late_ns / self.base_period_ns } else { 0 };
            match self.policy {
                Overrun::Skip => self.next_tick += missed as u64,
                Overrun::RePhase if missed > 0 => self.shift_ns += late_ns,
                Overrun::RePhase | Overrun::CatchUp => {}
            }
            if self.ticks_run >= self.pulse_tick {
                self.pulse_tick = self.pulse_ticks.next().unwrap_or(u64::MAX);
                return Some(Pulse { time_ns: start, latency_ns: late_ns });
            }
        }
    }
}

/// The latencies of a trace in order of due time. Activations run to catch up are not events of their own: they
/// belong to the stall before them, which a [`PulseTrain`] plays again under either policy.
pub fn latencies_ns(trace: &[Activation]) -> impl Iterator<Item = i64> + Clone + '_ {
    trace.iter().filter(|a| !a.flags.contains(jitterlab_model::Flags::CAUGHT_UP)).map(Activation::latency_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pulse_times(latencies: &[i64], policy: Overrun) -> Vec<i64> {
        PulseTrain::new(latencies.to_vec(), 50_000, 20_000.0, policy).map(|p| p.time_ns).collect()
    }

    #[test]
    fn punctual_ticks_make_a_uniform_train() {
        assert_eq!(pulse_times(&[0; 4], Overrun::Skip), [0, 50_000, 100_000, 150_000]);
    }

    #[test]
    fn a_stall_delays_the_train_for_good_or_ends_in_a_burst() {
        // Tick 1 is 120 us late: ticks 2 and 3 pass meanwhile.
        let late = [0, 120_000, 0, 0, 0];
        assert_eq!(pulse_times(&late, Overrun::Skip), [0, 170_000, 200_000, 250_000, 300_000]);
        assert_eq!(pulse_times(&late, Overrun::CatchUp), [0, 170_000, 180_000, 190_000, 200_000]);
        assert_eq!(pulse_times(&late, Overrun::RePhase), [0, 170_000, 220_000, 270_000, 320_000]);
    }

    proptest! {
        #[test]
        fn pulses_come_in_order_and_catching_up_loses_none(
            latencies in prop::collection::vec(-5_000i64..400_000, 1..200), rate in 100.0f64..20_000.0
        ) {
            for policy in [Overrun::Skip, Overrun::CatchUp, Overrun::RePhase] {
                let train = PulseTrain::new(latencies.clone(), 50_000, rate, policy);
                let times: Vec<i64> = train.map(|p| p.time_ns).collect();
                prop_assert!(times.windows(2).all(|w| w[1] > w[0]));
                let due = (latencies.len() as f64 * 50e-6 * rate).floor() as i64;
                prop_assert!((times.len() as i64 - due).abs() <= 1, "{} {due}", times.len());
            }
        }
    }
}
