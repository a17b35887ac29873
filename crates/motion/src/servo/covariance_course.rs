//! A loop followed through the course of its tasks: its covariance is carried along it, and its cycles are counted.

use super::along_trace::{AlongTrace, CostStretch, CovarianceAlongTrace, Interval, TimeBase};
use super::closed_loop::Loop;
use super::cycles::{Cycles, IdleInstant, JudgedCycles};
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

/// A covariance along a course, from the one at the end of the course's own first part.
pub(super) struct Warmed {
    walk: CovarianceAlongTrace,
    first: Vec<Moment>,
    most: usize,
}

impl Warmed {
    /// From the covariance of another stationary loop, which is forgotten in the first part.
    pub fn new(closed: &Loop, begin: &Stationary, period_ns: i64) -> Warmed {
        let memory = 1.0 / (1.0 - begin.radius_per_period).max(f64::MIN_POSITIVE);
        Warmed {
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

    pub fn pass(&mut self, moment: Moment) {
        if self.most == 0 {
            return self.walk.pass(moment);
        }
        self.first.push(moment);
    }

    /// Takes a time at which all tasks are together: a course begins with the covariance at such a time.
    pub fn turn(&mut self, time_ns: i64) {
        if self.most > 0 {
            self.first.push(Moment::Turn(time_ns));
            if self.first.len() >= self.most {
                self.warm_up();
            }
        }
    }

    /// Time passes from one time to another at this cost, without a change of the covariance.
    pub fn rest(&mut self, from_ns: i64, to_ns: i64, cost: f64) {
        if self.most > 0 {
            self.warm_up();
        }
        self.walk.rest(from_ns, to_ns, cost);
    }

    fn warm_up(&mut self) {
        self.most = 0;
        self.first.iter().for_each(|moment| self.walk.pass(*moment));
        self.walk.restart();
        self.first.drain(..).for_each(|moment| self.walk.pass(moment));
    }

    pub fn finish(mut self) -> AlongTrace {
        if self.most > 0 {
            self.warm_up();
        }
        self.walk.finish()
    }
}

pub(super) struct Course {
    closed: Loop,
    period_ns: i64,
    pub cycles: Cycles,
    warmed: Warmed,
    /// Moments since all tasks were last idle together: the course ends with a whole cycle.
    held: Vec<Moment>,
    together_ns: Option<i64>,
}

/// Periods of a stretch of the curve along a course, at first.
const STRETCH: i64 = 8;
/// Moments since all tasks were together after which they are not waited for.
const MOST_HELD: usize = 1 << 12;

pub(super) struct Followed {
    pub cycles: Cycles,
    pub judged: JudgedCycles,
    /// The loop as its cycles follow each other: its cost is that along the course.
    pub stationary: Stationary,
    pub along: AlongTrace,
    /// Confidence interval of the mean cost of such courses.
    pub interval: Option<Interval>,
}

impl Course {
    /// At its begin, from the covariance of another stationary loop.
    pub fn new(closed: &Loop, period_ns: i64, cycles: Cycles, begin: &Stationary) -> Course {
        let warmed = Warmed::new(closed, begin, period_ns);
        Course { closed: closed.clone(), period_ns, cycles, warmed, held: Vec::new(), together_ns: None }
    }

    /// The next moment, or a time at which all tasks are together.
    pub fn pass(&mut self, moment: Result<Moment, IdleInstant>) {
        self.cycles.pass(moment);
        match moment {
            Ok(moment) => self.held.push(moment),
            Err(together) => self.together_ns = Some(together.time_ns),
        }
        if moment.is_err() || self.held.len() > MOST_HELD {
            self.held.drain(..).for_each(|moment| self.warmed.pass(moment));
        }
        if let Err(together) = moment {
            self.warmed.turn(together.time_ns);
        }
    }

    pub fn finish(mut self) -> Followed {
        let judged = self.cycles.judged(&mut self.closed);
        if let Some(time_ns) = self.together_ns {
            self.warmed.pass(Moment::Turn(time_ns));
        }
        let along = self.warmed.finish();
        let periods = along.time_s * 1e9 / self.period_ns as f64;
        let stationary = along_cycles(&judged.stability, &judged.rates, along.cost);
        let is_long = is_long_enough(periods, stationary.radius_per_period);
        let interval = if is_long { by_parts(&along) } else { None };
        Followed { cycles: self.cycles, judged, stationary, along, interval }
    }
}

/// The loop of these rates with this cost, if it can be stable at all.
pub(super) fn along_cycles(
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

pub(super) fn parts_of(along: &AlongTrace) -> Option<Vec<f64>> {
    let length = along.curve.len() / PARTS;
    let mean = |part: &[CostStretch]| part.iter().map(|stretch| stretch.cost).sum::<f64>() / length as f64;
    (length > 0).then(|| along.curve.chunks_exact(length).take(PARTS).map(mean).collect())
}

/// Half the interval of the mean of parts of a course; `None` of parts that have none.
pub(super) fn spread(parts: &[f64]) -> Option<f64> {
    let count = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let squares: f64 = parts.iter().map(|m| (m - mean).powi(2)).sum();
    let half = STUDENT * (squares / (count - 1.0) / count).sqrt();
    half.is_finite().then_some(half)
}

/// The interval of the mean cost along a course by the means of its parts. A few bad parts make these skewed: Student's statistic is
/// transformed for that (Hall 1992).
fn by_parts(along: &AlongTrace) -> Option<Interval> {
    let parts = parts_of(along)?;
    let (half, count) = (spread(&parts)?, parts.len() as f64);
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
