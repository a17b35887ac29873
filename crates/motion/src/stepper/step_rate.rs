//! Fastest rate of software steps: StepConf's formulas, and the probability of breaking a drive's timing.

use jitterlab_analysis::exact_binomial::poisson_upper;
use jitterlab_model::distribution::Beyond;
use jitterlab_model::{Distribution, TimingStats};

use serde::Serialize;

use super::drive::Drive;

/// Way to make step pulses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StepMode {
    /// Rising and falling edge in one base period (parallel port reset): one period for each step.
    DoubleStep,
    /// One edge in each base period: two periods for each step.
    SingleStep,
}

impl StepMode {
    /// Base periods that each step takes.
    pub fn periods_per_step(self) -> f64 {
        match self {
            StepMode::DoubleStep => 1.0,
            StepMode::SingleStep => 2.0,
        }
    }

    /// Largest step rate of a base period in steps per second.
    pub fn max_rate_hz(self, base_period_ns: i64) -> f64 {
        1e9 / (self.periods_per_step() * base_period_ns as f64)
    }

    pub(super) fn other_mode(self) -> StepMode {
        match self {
            StepMode::DoubleStep => StepMode::SingleStep,
            StepMode::SingleStep => StepMode::DoubleStep,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StepConf {
    /// Step mode. StepConf chooses double step when the step time is at most 5 us.
    pub mode: StepMode,
    pub min_period_ns: i64,
    /// Largest step rate in steps (microsteps) per second.
    pub max_rate_hz: f64,
}

/// Overhead StepConf adds in double-step mode.
const STEPCONF_OVERHEAD_NS: i64 = 5_000;
/// Longest base period StepConf writes.
pub const STEPCONF_LONGEST_NS: i64 = 100_000;

/// Shortest base period and largest step rate of LinuxCNC's StepConf, in the step mode that it chooses. In stepconf.py
/// they are `minperiod` and `maxsteprate`; `jitter_ns` is its Base Period Maximum Jitter.
pub fn stepconf_limits(jitter_ns: i64, drive: &Drive) -> StepConf {
    let mode = if drive.step_time_ns <= 5_000 { StepMode::DoubleStep } else { StepMode::SingleStep };
    StepConf::with_mode(mode, jitter_ns, drive)
}

impl StepConf {
    /// Shortest base period and largest step rate by StepConf's formulas, in a given step mode.
    pub fn with_mode(mode: StepMode, jitter_ns: i64, drive: &Drive) -> Self {
        let (time, space) = (drive.step_time_ns, drive.step_space_ns);
        let min_period_ns = match mode {
            StepMode::DoubleStep => (jitter_ns + time + space + STEPCONF_OVERHEAD_NS).max(4 * time),
            StepMode::SingleStep => jitter_ns + time.max(space),
        };
        let max_rate_hz = (1e9 / min_period_ns as f64).floor() / mode.periods_per_step();
        StepConf { mode, min_period_ns, max_rate_hz }
    }
}

/// Deviations of the intervals between a real run's activations from its period.
#[derive(Debug, Clone, Copy)]
pub enum IntervalErrors<'a> {
    /// Measured: the run's period errors.
    Measured(&'a Distribution),
    /// Only the latencies are known (a histogram of another tool): e = L' - L with both drawn independently.
    FromLatency(&'a Distribution),
    /// Ticks were missed or came a period late: the intervals between them depended on the run's own period,
    /// and are no guide to another. A tick that comes later than a base period can spare, by these latencies,
    /// comes too close to the next, or in a burst behind it.
    LateTicks(&'a Distribution),
}

impl<'a> IntervalErrors<'a> {
    /// Interval errors of a run, measured or bounded by its latencies as far as its source reports them.
    pub fn from_stats(stats: &'a TimingStats) -> Self {
        let (latency, errors) = (&stats.latency, &stats.period_error);
        let a_period_late = latency.peak_to_peak_ns().is_some_and(|range| range >= stats.period_ns());
        match () {
            () if latency.count() > 0 && (stats.least_missed() > 0 || a_period_late) => {
                IntervalErrors::LateTicks(latency)
            }
            () if errors.count() > 0 => IntervalErrors::Measured(errors),
            () => IntervalErrors::FromLatency(latency),
        }
    }

    fn distribution(&self) -> &Distribution {
        let (IntervalErrors::Measured(d) | IntervalErrors::FromLatency(d) | IntervalErrors::LateTicks(d)) =
            self;
        d
    }

    /// Most negative interval error that the run can have had.
    fn worst_ns(&self) -> Option<i64> {
        match self {
            IntervalErrors::Measured(errors) => errors.min_ns(),
            IntervalErrors::FromLatency(latency) | IntervalErrors::LateTicks(latency) => {
                latency.peak_to_peak_ns().map(|p| -p)
            }
        }
    }

    /// Expected number of intervals of the run with an error below `limit_ns`. Values known only within
    /// bounds that reach below the limit count whole: never too few. `None` if most of them are such values.
    fn expected_count_below(&self, limit_ns: i64) -> Option<f64> {
        match self {
            IntervalErrors::Measured(errors) => count_possibly_below(errors, limit_ns).map(|n| n as f64),
            IntervalErrors::LateTicks(latency) => {
                let spared_ns = latency.min_ns()?.saturating_sub(limit_ns);
                // Not above: below or at.
                let in_time = count_surely_below(latency, spared_ns.saturating_add(1))?;
                Some((latency.count() - in_time) as f64)
            }
            IntervalErrors::FromLatency(latency) => {
                let n = latency.count() as f64;
                let max = latency.max_ns().unwrap_or(0);
                let beyond = latency.values_beyond_bins().map(|b| (b.to_ns.unwrap_or(i64::MAX), b.count));
                let earlier = latency.bins().map(|b| (b.high_ns.min(max), b.count)).chain(beyond);
                earlier
                    .map(|(late, count)| {
                        let after = count_possibly_below(latency, late.saturating_add(limit_ns))?;
                        Some(count as f64 / n * after as f64)
                    })
                    .sum()
            }
        }
    }
}

/// Largest possible number of values below a limit; `None` if bounds on both sides of it leave most open.
fn count_possibly_below(distribution: &Distribution, limit_ns: i64) -> Option<u64> {
    let min = distribution.min_ns().unwrap_or(0);
    let bins: u64 = distribution.bins().take_while(|b| b.low_ns.max(min) < limit_ns).map(|b| b.count).sum();
    match distribution.values_beyond_bins().filter(|beyond| beyond.from_ns < limit_ns) {
        Some(beyond)
            if beyond.to_ns.is_none_or(|to| to >= limit_ns) && is_mostly_beyond(distribution, beyond) =>
        {
            None
        }
        Some(beyond) => Some(bins + beyond.count),
        None => Some(bins),
    }
}

/// Number of values that are certainly below a limit; `None` as for [`count_possibly_below`].
fn count_surely_below(distribution: &Distribution, limit_ns: i64) -> Option<u64> {
    let max = distribution.max_ns().unwrap_or(i64::MAX);
    let bins: u64 = distribution.bins().take_while(|b| b.high_ns.min(max) < limit_ns).map(|b| b.count).sum();
    match distribution.values_beyond_bins() {
        Some(beyond) if beyond.to_ns.is_some_and(|to| to < limit_ns) => Some(bins + beyond.count),
        Some(beyond) if beyond.from_ns < limit_ns && is_mostly_beyond(distribution, beyond) => None,
        _ => Some(bins),
    }
}

fn is_mostly_beyond(distribution: &Distribution, beyond: Beyond) -> bool {
    beyond.count == 0 || beyond.count > distribution.count() / 2
}

/// Frequency with which a generator with a base period breaks a drive's step timing.
///
/// Two successive ticks come T + e apart, where e is the run's period error; the drive's step time or space is
/// broken when that is too short. The run's errors are taken as they were: the figures hold for its load, and
/// assume that latency does not depend on the period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimingRisk {
    pub base_period_ns: i64,
    /// Intervals of the run that would have been too short (a fraction when only latencies are known).
    pub seen: f64,
    pub of: u64,
    /// Expected violations in an hour of stepping at the largest rate, from the run's intervals.
    pub expected_per_hour: f64,
    /// 95 % upper confidence limit of that, as the run's length allows. Never zero.
    pub at_most_per_hour: f64,
}

impl TimingRisk {
    /// Risk of a base period in a mode; `None` without known intervals, or for a period of 0.
    pub fn new(
        errors: IntervalErrors,
        drive: &Drive,
        mode: StepMode,
        base_period_ns: i64,
    ) -> Option<TimingRisk> {
        let of = errors.distribution().count();
        if of == 0 || base_period_ns <= 0 {
            return None;
        }
        let seen = errors.expected_count_below(needed_interval_ns(drive, mode) - base_period_ns)?;
        let intervals_per_hour = 3600e9 / base_period_ns as f64;
        Some(TimingRisk {
            base_period_ns,
            seen,
            of,
            expected_per_hour: seen / of as f64 * intervals_per_hour,
            at_most_per_hour: (poisson_upper(seen.ceil(), 0.95) / of as f64).min(1.0) * intervals_per_hour,
        })
    }

    /// Largest step rate of the base period in steps per second.
    pub fn max_rate_hz(&self, mode: StepMode) -> f64 {
        mode.max_rate_hz(self.base_period_ns)
    }

    /// Probability of at least one violation in an hour, from the run's intervals: 1 - exp(-expected).
    pub fn probability_per_hour(&self) -> f64 {
        -(-self.expected_per_hour).exp_m1()
    }

    /// Risk of the shortest base period that the run's intervals would not have violated once.
    pub fn shortest_unviolated(errors: IntervalErrors, drive: &Drive, mode: StepMode) -> Option<TimingRisk> {
        let need = needed_interval_ns(drive, mode).max(1);
        let worst = errors.worst_ns()?.min(0);
        let (mut low, mut high) = (need - 1, need - worst);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match Self::new(errors, drive, mode, middle) {
                Some(risk) if risk.seen == 0.0 => high = middle,
                _ => low = middle,
            }
        }
        Self::new(errors, drive, mode, high)
    }
}

/// Cost of a change of direction at a base period: whole ticks between the last step and the new direction,
/// and between that and the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reversal {
    /// Ticks the direction is held after a step, as stepgen rounds them up.
    pub hold_ticks: i64,
    /// Ticks the direction is set before the next step.
    pub setup_ticks: i64,
    /// Smaller of the times that those ticks leave above the drive's needs, in ns: so much closer may two come.
    pub spare_ns: i64,
    /// Two ticks of the run come closer than that: this jitter has to be added to both times.
    pub broken_by_jitter: bool,
}

impl Reversal {
    /// A reversal on a base period, under a release jitter. Two ticks any number of periods apart come closer than
    /// nominal by at most the release jitter. LinuxCNC's StepConf adds its jitter figure to both times for that
    /// reason.
    pub fn new(drive: &Drive, base_period_ns: i64, jitter_ns: i64) -> Reversal {
        let base_period_ns = base_period_ns.max(1);
        let ticks = |time_ns: i64| (time_ns + base_period_ns - 1) / base_period_ns;
        let (hold_ticks, setup_ticks) = (ticks(drive.direction_hold_ns), ticks(drive.direction_setup_ns));
        let spare = |ticks: i64, needed: i64| ticks * base_period_ns - needed;
        let spare_ns =
            spare(hold_ticks, drive.direction_hold_ns).min(spare(setup_ticks, drive.direction_setup_ns));
        // A drive that needs no time for the direction cannot be hurried.
        let needs = drive.direction_hold_ns > 0 || drive.direction_setup_ns > 0;
        Reversal { hold_ticks, setup_ticks, spare_ns, broken_by_jitter: needs && jitter_ns > spare_ns }
    }
}

/// The shortest interval between two ticks that keeps a drive's step time and space. In single-step mode each is one
/// interval; in double-step mode the pulse is made inside the tick and the rest must remain for the space.
fn needed_interval_ns(drive: &Drive, mode: StepMode) -> i64 {
    match mode {
        StepMode::DoubleStep => drive.step_time_ns + drive.step_space_ns,
        StepMode::SingleStep => drive.step_time_ns.max(drive.step_space_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use jitterlab_model::Activation;
    use jitterlab_model::distribution::{Moments, SourceGaps};

    fn drive(time: i64, space: i64) -> Drive {
        let stepconf: Drive = catalog::find_device("stepconf", None).unwrap();
        Drive { step_time_ns: time, step_space_ns: space, ..stepconf }
    }

    #[test]
    fn the_five_rows_of_stepconf() {
        for (jitter, time, period, rate) in [
            (15_000, 5_000, 30_000, 33_333.0),
            (15_000, 2_500, 25_000, 40_000.0),
            (50_000, 2_500, 60_000, 16_666.0),
            (100_000, 2_500, 110_000, 9_090.0),
            (15_000, 10_000, 25_000, 20_000.0),
        ] {
            let found = stepconf_limits(jitter, &drive(time, time));
            assert_eq!((found.min_period_ns, found.max_rate_hz), (period, rate));
        }
    }

    #[test]
    fn a_fast_drive_can_be_stepped_singly_too() {
        let single = StepConf::with_mode(StepMode::SingleStep, 15_000, &drive(2_500, 2_500));
        assert_eq!((single.min_period_ns, single.max_rate_hz), (17_500, 57_142.0 / 2.0));
    }

    #[test]
    fn the_example_of_linuxcnc_s_manual() {
        // Tweaking software step generation: 11 us of latency and a drive that wants 20 us make 31 us, a step in 62 us.
        let found = stepconf_limits(11_000, &drive(20_000, 20_000));
        assert_eq!((found.min_period_ns, found.max_rate_hz), (31_000, (1e9f64 / 31_000.0).floor() / 2.0));
        assert!((1e9 / found.max_rate_hz - 62_000.0).abs() < 2.0);
    }

    #[test]
    fn a_reversal_takes_whole_ticks_and_jitter_eats_what_they_leave() {
        let drive = Drive { direction_hold_ns: 10_000, direction_setup_ns: 35_000, ..drive(5_000, 5_000) };
        let steady = Reversal::new(&drive, 20_000, 4_000);
        assert_eq!((steady.hold_ticks, steady.setup_ticks, steady.spare_ns), (1, 2, 5_000));
        assert!(!steady.broken_by_jitter && Reversal::new(&drive, 20_000, 5_001).broken_by_jitter);
        let free = Drive { direction_hold_ns: 0, direction_setup_ns: 0, ..drive };
        assert!(!Reversal::new(&free, 20_000, 1_000_000).broken_by_jitter);
    }

    #[test]
    fn the_risk_counts_intervals_that_were_too_short() {
        let mut errors = Distribution::new();
        (0..9_999).for_each(|_| errors.record(0));
        errors.record(-20_000);
        let drive = drive(5_000, 5_000);
        let measured = IntervalErrors::Measured(&errors);
        let risk = TimingRisk::new(measured, &drive, StepMode::SingleStep, 20_000).unwrap();
        assert_eq!((risk.seen, risk.of), (1.0, 10_000));
        assert!((risk.expected_per_hour - 1e-4 * 3600.0 / 20e-6).abs() < 1e-6);
        let safe = TimingRisk::shortest_unviolated(measured, &drive, StepMode::SingleStep).unwrap();
        assert_eq!((safe.seen, safe.base_period_ns), (0.0, 25_000));
        assert!(safe.at_most_per_hour > 10_000.0, "a short run promises little: {safe:?}");
    }

    /// Every tenth tick of a thread of 25 us comes 60 us late, and two are missed: none of its intervals is shorter than
    /// 15 us, and yet no base period below 60 us keeps 5 us between two ticks.
    #[test]
    fn ticks_that_are_a_period_late_count_by_their_lateness() {
        let mut stats = TimingStats::new(25_000);
        let mut due_ns = 0;
        for k in 0..10_000i64 {
            let (late, missed) = if k % 10 == 0 { (60_000, 2) } else { (0, 0) };
            let start_ns = due_ns + late;
            let index = (due_ns / 25_000) as u64;
            stats.push(&Activation {
                index,
                due_ns,
                start_ns,
                end_ns: start_ns,
                missed,
                ..Activation::default()
            });
            due_ns += 25_000 * (1 + i64::from(missed));
        }
        let errors = IntervalErrors::from_stats(&stats);
        assert!(matches!(errors, IntervalErrors::LateTicks(_)));
        let drive = drive(5_000, 5_000);
        let risk = |period| TimingRisk::new(errors, &drive, StepMode::SingleStep, period).unwrap().seen;
        assert_eq!((risk(30_000), risk(64_999), risk(65_000)), (1_000.0, 1_000.0, 0.0));
        let safe = TimingRisk::shortest_unviolated(errors, &drive, StepMode::SingleStep).unwrap();
        assert_eq!(safe.base_period_ns, 65_000);
    }

    #[test]
    fn extremes_alone_give_no_risk_but_the_period_that_is_never_broken() {
        let open = Beyond { count: 80_000, from_ns: -8_000, to_ns: Some(10_000) };
        let moments = Moments { count: 80_000, min_ns: -8_000, max_ns: 10_000, sum: 0, sum_of_squares: 0 };
        let errors = Distribution::from_parts(moments, [])
            .with_gaps(SourceGaps { beyond: Some(open), ..SourceGaps::default() });
        let measured = IntervalErrors::Measured(&errors);
        let drive = drive(5_000, 5_000);
        assert!(TimingRisk::new(measured, &drive, StepMode::SingleStep, 12_000).is_none());
        let safe = TimingRisk::shortest_unviolated(measured, &drive, StepMode::SingleStep).unwrap();
        assert_eq!((safe.seen, safe.base_period_ns), (0.0, 13_000));
    }

    #[test]
    fn latencies_alone_give_the_risk_of_independent_ones() {
        let mut latency = Distribution::new();
        (0..900).for_each(|_| latency.record(10));
        (0..100).for_each(|_| latency.record(100));
        let drive = drive(5_000, 5_000);
        // An interval shrinks by 90 ns when a late activation is followed by a punctual one: 0.1 x 0.9.
        let risk = |period| {
            TimingRisk::new(IntervalErrors::FromLatency(&latency), &drive, StepMode::SingleStep, period)
                .unwrap()
        };
        assert!((risk(5_089).seen - 90.0).abs() < 1e-9);
        assert_eq!(risk(5_090).seen, 0.0);
    }
}
