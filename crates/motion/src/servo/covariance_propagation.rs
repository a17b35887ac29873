//! The covariance of a loop along the moments of its tasks, with the cycles counted.

use super::along_trace::{AlongTrace, CostStretch, CovarianceAlongTrace, Interval, TimeBase};
use super::closed_loop::Loop;
use super::cycles::{CycleAnalysis, CycleCollector, IdleInstant};
use super::markov_chain::Stationary;
use super::timing::Moment;

/// Parts into which a course is cut for its interval.
const PARTS: usize = 20;
/// 97.5 % point of Student's distribution with one degree of freedom less than that.
const STUDENT: f64 = 2.093_024;
/// Shortest length of a part, in multiples of the loop's memory.
const MEMORIES: f64 = 10.0;
/// Moments within which the loop forgets how it began, for each period that it remembers, and their limits.
const WARM: f64 = 60.0;
const LEAST_WARM: f64 = 300.0;
const MOST_WARM: f64 = 60_000.0;

/// A covariance along moments whose first part is passed twice: to warm up, then for the cost.
pub(super) struct WarmedUpCovariance {
    walk: CovarianceAlongTrace,
    first: Vec<Moment>,
    most: usize,
}

impl WarmedUpCovariance {
    /// Starts from the covariance of another stationary loop, which is forgotten in the warm-up.
    pub fn new(closed: &Loop, begin: &Stationary, period_ns: i64) -> WarmedUpCovariance {
        let memory = 1.0 / (1.0 - begin.radius_per_period).max(f64::MIN_POSITIVE);
        WarmedUpCovariance {
            walk: CovarianceAlongTrace::new(
                closed,
                TimeBase::Nominal,
                begin.covariance.as_ref(),
                STRETCH * period_ns,
            ),
            first: Vec::new(),
            most: (WARM * memory).clamp(LEAST_WARM, MOST_WARM) as usize,
        }
    }

    pub fn process(&mut self, moment: Moment) {
        if self.most == 0 {
            return self.walk.process(moment);
        }
        self.first.push(moment);
    }

    /// Notes a time at which all tasks are idle; the warm-up ends at such a time.
    pub fn mark_idle(&mut self, time_ns: i64) {
        if self.most > 0 {
            self.first.push(Moment::IdleDue(time_ns));
            if self.first.len() >= self.most {
                self.warm_up();
            }
        }
    }

    /// Adds a stretch of time at a constant cost rate, without a change of the covariance.
    pub fn add_constant_cost(&mut self, from_ns: i64, to_ns: i64, cost: f64) {
        if self.most > 0 {
            self.warm_up();
        }
        self.walk.add_constant_cost(from_ns, to_ns, cost);
    }

    /// Runs through the kept moments once to settle the covariance, then again for the cost.
    fn warm_up(&mut self) {
        self.most = 0;
        self.first.iter().for_each(|moment| self.walk.process(*moment));
        self.walk.restart();
        self.first.drain(..).for_each(|moment| self.walk.process(moment));
    }

    pub fn finish(mut self) -> AlongTrace {
        if self.most > 0 {
            self.warm_up();
        }
        self.walk.finish()
    }
}

/// The covariance of a loop along the moments of its tasks, with the cycles counted.
pub(super) struct CovariancePropagation {
    closed: Loop,
    period_ns: i64,
    pub cycles: CycleCollector,
    warmed: WarmedUpCovariance,
    /// Moments since all tasks were last idle together: the course ends with a whole cycle.
    held: Vec<Moment>,
    together_ns: Option<i64>,
}

/// Periods of a stretch of the curve along a course, at first.
const STRETCH: i64 = 8;
/// Moments since all tasks were together after which they are not waited for.
const MOST_HELD: usize = 1 << 12;

/// Cost, cycles and stability of a loop along the moments of its tasks.
pub(super) struct PropagationResult {
    pub cycles: CycleCollector,
    pub analysis: CycleAnalysis,
    /// The loop as its cycles follow each other: its cost is that along the course.
    pub stationary: Stationary,
    pub along: AlongTrace,
    /// Confidence interval of the mean cost of such courses.
    pub interval: Option<Interval>,
}

impl CovariancePropagation {
    /// Starts from the covariance of another stationary loop.
    pub fn new(
        closed: &Loop,
        period_ns: i64,
        cycles: CycleCollector,
        begin: &Stationary,
    ) -> CovariancePropagation {
        let warmed = WarmedUpCovariance::new(closed, begin, period_ns);
        CovariancePropagation {
            closed: closed.clone(),
            period_ns,
            cycles,
            warmed,
            held: Vec::new(),
            together_ns: None,
        }
    }

    /// Processes a moment, or a time at which all tasks are idle.
    pub fn process(&mut self, moment: Result<Moment, IdleInstant>) {
        self.cycles.process(moment);
        match moment {
            Ok(moment) => self.held.push(moment),
            Err(together) => self.together_ns = Some(together.time_ns),
        }
        if moment.is_err() || self.held.len() > MOST_HELD {
            self.held.drain(..).for_each(|moment| self.warmed.process(moment));
        }
        if let Err(together) = moment {
            self.warmed.mark_idle(together.time_ns);
        }
    }

    pub fn finish(mut self) -> PropagationResult {
        let analysis = self.cycles.analysis(&mut self.closed);
        if let Some(time_ns) = self.together_ns {
            self.warmed.process(Moment::IdleDue(time_ns));
        }
        let along = self.warmed.finish();
        let periods = along.time_s * 1e9 / self.period_ns as f64;
        let stationary = stationary_of_cycles(&analysis.stability, &analysis.rates, along.cost);
        let is_long = is_long_enough(periods, stationary.radius_per_period);
        let interval = if is_long { interval_by_parts(&along) } else { None };
        PropagationResult { cycles: self.cycles, analysis, stationary, along, interval }
    }
}

/// Stationary loop of these spectral radii and this cost; an infinite cost if it is unstable.
pub(super) fn stationary_of_cycles(
    stability: &super::burst_stability::Stability,
    rates: &Stationary,
    cost: f64,
) -> Stationary {
    let is_stable = *stability != super::burst_stability::Stability::Unstable;
    let at_least = |radius: f64| if is_stable { radius } else { radius.max(1.0) };
    Stationary {
        cost: if is_stable { cost } else { f64::INFINITY },
        spectral_radius: at_least(rates.spectral_radius),
        radius_per_period: at_least(rates.radius_per_period),
        ..rates.clone()
    }
}

/// True if the parts of a course of `periods` periods are long enough for the loop's memory.
pub(super) fn is_long_enough(periods: f64, radius_per_period: f64) -> bool {
    periods / PARTS as f64 * (1.0 - radius_per_period) > MEMORIES
}

/// Mean costs of equal parts of a trace; `None` if it is too short.
pub(super) fn part_costs(along: &AlongTrace) -> Option<Vec<f64>> {
    let length = along.curve.len() / PARTS;
    let mean = |part: &[CostStretch]| part.iter().map(|stretch| stretch.cost).sum::<f64>() / length as f64;
    (length > 0).then(|| along.curve.chunks_exact(length).take(PARTS).map(mean).collect())
}

/// Half the 95 % confidence interval of the mean of these parts; `None` if it is not finite.
pub(super) fn half_confidence_interval(parts: &[f64]) -> Option<f64> {
    let count = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let squares: f64 = parts.iter().map(|m| (m - mean).powi(2)).sum();
    let half = STUDENT * (squares / (count - 1.0) / count).sqrt();
    half.is_finite().then_some(half)
}

/// Confidence interval of the mean cost along a trace by the means of its parts. A few bad parts make these skewed: Student's statistic is
/// transformed for that (Hall 1992).
fn interval_by_parts(along: &AlongTrace) -> Option<Interval> {
    let parts = part_costs(along)?;
    let (half, count) = (half_confidence_interval(&parts)?, parts.len() as f64);
    let deviation = half / STUDENT * count.sqrt();
    let mean = parts.iter().sum::<f64>() / count;
    let cubes = parts.iter().map(|m| (m - mean).powi(3)).sum::<f64>() / count;
    let skew = if deviation > 0.0 { cubes / deviation.powi(3) } else { 0.0 };
    if skew.abs() < 1e-3 {
        return Some(Interval { low: along.cost - half, high: along.cost + half });
    }
    let moved = |student: f64| {
        let y = student / count.sqrt() - skew / (6.0 * count);
        3.0 / skew * ((1.0 + skew * y).cbrt() - 1.0) * deviation
    };
    Some(Interval { low: along.cost - moved(STUDENT), high: along.cost - moved(-STUDENT) })
}
