//! What a run's timing costs a loop, and which part of it what share.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::along_trace::{AlongTrace, CostStretch, TimeBase, Walk};
use super::chain::{Chain, Stationary, Stretches};
use super::classes::{Memory, Rows, classes_of};
use super::cycles::{Course, Pattern};
use super::flow::Flow;
use super::gather::{Gathered, MeanTiming, gather, moments};
use super::looped::Loop;
use super::question::Question;
use super::record::Record;
use super::weakly_hard::Steps;
use crate::error::MotionError;

/// Between these two values, with a confidence of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The smaller one.
    pub low: f64,
    /// The larger one; infinite where the loop may not even be stable.
    #[serde(with = "crate::Infinite")]
    pub high: f64,
}

impl Interval {
    /// Whether a value lies in it.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// What the timing costs. All costs are means of the plant's cost rate; infinite where the loop is not mean-square
/// stable.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// Every activation punctual, with no work to do.
    pub ideal: Stationary,
    /// Every activation late by the mean wait and working the mean execution time.
    pub mean_delay: Stationary,
    /// The run's cycles that are in time, in random order.
    pub jitter: Stationary,
    /// The run's cycles in random order.
    pub independent: Stationary,
    /// The run's cycles with their memory, as far as the run shows one.
    pub clustered: Stationary,
    /// How far what comes depends on what came.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub memory: Memory,
    /// Where the cost with memory lies; `None` where the run is too short to say.
    pub cost_interval: Option<Interval>,
    /// Where its radius per period lies.
    pub radius_interval: Option<Interval>,
    /// The run itself, from event to event.
    pub along: AlongTrace,
    /// Where the mean cost of runs like this one lies, by the run itself.
    pub along_interval: Option<Interval>,
    /// The timing in short.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub timing: MeanTiming,
    /// Times were told apart this finely for the stationary costs.
    pub resolution_ns: i64,
}

/// How the loss against ideal timing divides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Loss {
    /// (cost - ideal) / ideal of the run's stationary cost with its memory.
    pub total: f64,
    /// Part due to mean latency and execution time.
    pub mean_delay: f64,
    /// Part due to the variation around the mean; negative where jitter happens to help.
    pub jitter: f64,
    /// Part due to jobs that overrun, at random.
    pub missed: f64,
    /// Part due to their coming in clusters.
    pub clusters: f64,
}

/// Whether the two ways to a run's cost agree, and which one to believe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// They agree within their intervals.
    Agree,
    /// The run is not one timing but several, one after the other, or remembers longer than the chain: the cost along the run
    /// is what this run cost.
    BelieveTheRun,
    /// The loop is not stable in the mean square: a finite run always has a finite cost, which grows with its length.
    BelieveTheStability,
    /// The run is too short to say.
    TooShort,
}

impl Evaluation {
    /// The loss and its parts, each as a share of the ideal cost; infinite from the first unstable step on.
    pub fn loss(&self) -> Loss {
        let ideal = self.ideal.cost;
        let part = |now: &Stationary, before: &Stationary| match (now.is_stable(), before.is_stable()) {
            (true, _) => (now.cost - before.cost) / ideal,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        };
        Loss {
            total: part(&self.clustered, &self.ideal),
            mean_delay: part(&self.mean_delay, &self.ideal),
            jitter: part(&self.jitter, &self.mean_delay),
            missed: part(&self.independent, &self.jitter),
            clusters: part(&self.clustered, &self.independent),
        }
    }

    /// The loss that is to be believed, as a share of the ideal cost, and where it lies: by how cycles follow each other, or where the run
    /// remembers longer than that by the run itself.
    pub fn believed(&self) -> (f64, Option<Interval>) {
        let by_the_run = self.agreement() == Agreement::BelieveTheRun;
        let (cost, interval) = if by_the_run {
            (self.along.cost, self.along_interval)
        } else {
            (self.clustered.cost, self.cost_interval)
        };
        let share = |cost: f64| cost / self.ideal.cost - 1.0;
        (share(cost), interval.map(|i| Interval { low: share(i.low), high: share(i.high) }))
    }

    /// Whether the two ways to the cost agree.
    pub fn agreement(&self) -> Agreement {
        if !self.clustered.is_stable() {
            return Agreement::BelieveTheStability;
        }
        let (Some(a), Some(b)) = (self.cost_interval, self.along_interval) else {
            return Agreement::TooShort;
        };
        if a.low <= b.high && b.low <= a.high { Agreement::Agree } else { Agreement::BelieveTheRun }
    }
}

/// Parts into which a run is cut for its intervals.
pub(super) const BATCHES: usize = 20;
/// 97.5 % point of Student's distribution with one degree of freedom less than that.
const STUDENT: f64 = 2.093_024;
/// A part is so many times as long as the loop remembers.
const MEMORIES: f64 = 10.0;

impl Question {
    /// Judges a run's activations of the task that closes the loop.
    ///
    /// # Errors
    /// A controller that cannot be designed, a loop that is unstable even with ideal timing, too few activations, or a
    /// record that cannot be read.
    pub fn evaluate<R: Record + ?Sized>(&self, record: &R) -> Result<Evaluation, MotionError> {
        Ok(Judging::new(self, record)?.finish(self, record)?.0)
    }
}

/// A run being judged: what is known after the first pass.
pub(super) struct Judging {
    pub gathered: Gathered,
    pub patterns: Vec<Pattern>,
    passages: Vec<Flow>,
    ideal: Stationary,
    independent: Stationary,
}

impl Judging {
    pub fn new<R: Record + ?Sized>(question: &Question, record: &R) -> Result<Judging, MotionError> {
        let ideal = question.ideal()?;
        let mut closed = question.closed()?;
        let gathered = gather(question, record)?;
        let patterns = gathered.cycles.patterns();
        let passages: Vec<Flow> = patterns.iter().map(|p| closed.passage(&p.events, p.length_ns)).collect();
        let all = stretches(closed.lasting(), &patterns, &passages, |_| true);
        let independent = Chain::independent(&all, question.period_ns).stationary();
        Ok(Judging { gathered, patterns, passages, ideal, independent })
    }

    /// The cycles as steps of sequences with so many misses.
    pub fn steps(&self, period_ns: i64) -> Steps {
        Steps::of_cycles(&self.patterns, &self.passages, period_ns)
    }

    /// The second pass: how cycles follow each other, and the cost along the run.
    pub fn finish<R: Record + ?Sized>(
        self,
        question: &Question,
        record: &R,
    ) -> Result<(Evaluation, Counted), MotionError> {
        let closed = question.closed()?;
        let order = closed.lasting();
        let period_ns = question.period_ns;
        let weights: Vec<u64> = self.patterns.iter().map(|p| p.count).collect();
        let class_of = classes_of(&self.badness(period_ns), &weights);
        let classes = class_of.iter().max().map_or(1, |most| most + 1);

        let total: u64 = weights.iter().sum();
        let mut followed = Rows::new(classes);
        let mut batches: Vec<Batch> =
            (0..BATCHES).map(|_| Batch::new(self.patterns.len(), classes)).collect();
        let (mut place, mut before) = (0u64, None);
        let mut again = self.gathered.cycles.clone().again();
        let begin = self.independent.covariance.as_ref().or(self.ideal.covariance.as_ref());
        let curve_step_ns = curve_step_ns(self.gathered.timing.periods, period_ns);
        let mut walk = Walk::new(&closed, TimeBase::Nominal, begin, curve_step_ns);
        moments(question, record, |moment| {
            walk.pass(moment);
            again.pass(moment, |number| {
                let class = number.map(|n| class_of[n as usize]);
                followed.pass(class);
                let batch =
                    &mut batches[(place * BATCHES as u64 / total.max(1)).min(BATCHES as u64 - 1) as usize];
                if let Some(number) = number {
                    batch.patterns[number as usize] += 1;
                    place += 1;
                }
                if let (Some(from), Some(to)) = (before, class) {
                    batch.pairs[(from, to)] += 1.0;
                }
                before = class;
            });
        })?;

        let memory = followed.memory();
        let timing = self.gathered.timing;
        let periods = timing.periods as f64;
        let counted =
            Counted { patterns: self.patterns, batches, class_of, classes, memory, period_ns, periods };
        let (clustered, left_out) = counted.under_passages(order, &self.passages);
        let cost_interval = jackknife(clustered.cost, &values(&left_out, |s| s.cost));
        let radius_interval =
            jackknife(clustered.radius_per_period, &values(&left_out, |s| s.radius_per_period));

        let along = walk.finish();
        let is_long = is_long_enough(periods, clustered.radius_per_period);
        let along_interval = if is_long { by_batches(&along) } else { None };
        let in_time = |p: &Pattern| p.course(period_ns) == Course::InTime;
        let in_time = stretches(order, &counted.patterns, &self.passages, in_time);
        let jitter = if in_time.weight() > 0.0 {
            Chain::independent(&in_time, period_ns).stationary()
        } else {
            self.independent.clone()
        };
        let (wait_ns, execution_ns) = (timing.wait_ns.round() as i64, timing.execution_ns.round() as i64);
        let evaluation = Evaluation {
            ideal: self.ideal,
            mean_delay: question.constant(wait_ns, execution_ns)?,
            jitter,
            independent: self.independent,
            clustered,
            memory,
            cost_interval,
            radius_interval,
            along,
            along_interval,
            timing,
            resolution_ns: self.gathered.cycles.fineness().width_ns,
        };
        Ok((evaluation, counted))
    }

    /// What each pattern does to the loop: what one more of it adds to the cost, now and in what follows; of a loop that is
    /// not stable, how long it leaves the loop alone.
    fn badness(&self, period_ns: i64) -> Vec<f64> {
        // Of two that are as long, the one whose last output comes later.
        let length =
            |pattern: &Pattern| pattern.length_ns + pattern.events.last().map_or(0.0, |e| e.0) * 1e-3;
        let found = self.independent.covariance.as_ref().and_then(|covariance| {
            let all = stretches(covariance.nrows(), &self.patterns, &self.passages, |_| true);
            let value = Chain::independent(&all, period_ns).value()?;
            let worth = |(pattern, passage): (&Pattern, &Flow)| {
                let after = &passage.phi * covariance * passage.phi.transpose() + &passage.noise;
                passage.cost.dot(covariance) + passage.offset
                    - self.independent.cost * pattern.length_ns * 1e-9
                    + value.dot(&after)
            };
            Some(self.patterns.iter().zip(&self.passages).map(worth).collect::<Vec<f64>>())
        });
        let found = found.filter(|values| values.iter().all(|v| v.is_finite()));
        found.unwrap_or_else(|| self.patterns.iter().map(length).collect())
    }
}

/// A run's patterns, how often each comes in each part of the run, and how they follow each other.
pub(super) struct Counted {
    pub patterns: Vec<Pattern>,
    batches: Vec<Batch>,
    class_of: Vec<usize>,
    classes: usize,
    memory: Memory,
    period_ns: i64,
    periods: f64,
}

impl Counted {
    /// The loop of any controller under them, and without each part of the run in turn; no part is left out where the run is too
    /// short for what the loop remembers.
    pub fn under(&self, closed: &mut Loop) -> (Stationary, Vec<Stationary>) {
        let passages: Vec<Flow> =
            self.patterns.iter().map(|p| closed.passage(&p.events, p.length_ns)).collect();
        self.under_passages(closed.lasting(), &passages)
    }

    fn under_passages(&self, order: usize, passages: &[Flow]) -> (Stationary, Vec<Stationary>) {
        let in_batches: Vec<Vec<Stretches>> = self
            .batches
            .iter()
            .map(|batch| batch.stretches(order, &self.patterns, passages, &self.class_of, self.classes))
            .collect();
        let without = |left_out: Option<usize>| {
            let kept = || (0..BATCHES).filter(|b| Some(*b) != left_out);
            let mut of_classes = vec![Stretches::new(order); self.classes];
            for batch in kept() {
                of_classes.iter_mut().zip(&in_batches[batch]).for_each(|(all, part)| *all = all.with(part));
            }
            let none = DMatrix::zeros(self.classes, self.classes);
            let pairs = kept().fold(none, |sum, b| sum + &self.batches[b].pairs);
            chain(self.memory, &of_classes, &pairs, self.period_ns).stationary()
        };
        let all = without(None);
        let is_long = is_long_enough(self.periods, all.radius_per_period);
        let left_out = if is_long { (0..BATCHES).map(|b| without(Some(b))).collect() } else { Vec::new() };
        (all, left_out)
    }
}

/// Whether the parts of a run of so many periods are long enough for what a loop remembers.
pub(super) fn is_long_enough(periods: f64, radius_per_period: f64) -> bool {
    periods / BATCHES as f64 * (1.0 - radius_per_period) > MEMORIES
}

/// One figure of several loops.
pub(super) fn values(all: &[Stationary], of: impl Fn(&Stationary) -> f64) -> Vec<f64> {
    all.iter().map(of).collect()
}

/// Stretches of the curve along a run.
const STRETCHES: i64 = 500;

/// Length of the stretches of the curve along a run of so many periods.
pub(super) fn curve_step_ns(periods: u64, period_ns: i64) -> i64 {
    (periods as i64 * period_ns / STRETCHES).max(1)
}

/// The patterns that are wanted, together.
fn stretches(
    order: usize,
    patterns: &[Pattern],
    passages: &[Flow],
    wanted: impl Fn(&Pattern) -> bool,
) -> Stretches {
    let mut all = Stretches::new(order);
    for (pattern, passage) in patterns.iter().zip(passages).filter(|(pattern, _)| wanted(pattern)) {
        all.add(passage, pattern.length_ns * 1e-9, pattern.count as f64);
    }
    all
}

/// Classes with the memory they have.
fn chain(memory: Memory, of_classes: &[Stretches], pairs: &DMatrix<f64>, period_ns: i64) -> Chain {
    if memory == Memory::None {
        let all = of_classes.iter().fold(Stretches::new(of_classes[0].order()), |all, class| all.with(class));
        return Chain::independent(&all, period_ns);
    }
    Chain::of_present(of_classes, pairs, period_ns)
}

/// A part of a run.
struct Batch {
    patterns: Vec<u64>,
    pairs: DMatrix<f64>,
}

impl Batch {
    fn new(patterns: usize, classes: usize) -> Batch {
        Batch { patterns: vec![0; patterns], pairs: DMatrix::zeros(classes, classes) }
    }

    fn stretches(
        &self,
        order: usize,
        patterns: &[Pattern],
        passages: &[Flow],
        class_of: &[usize],
        classes: usize,
    ) -> Vec<Stretches> {
        let mut of_classes = vec![Stretches::new(order); classes];
        for (number, count) in self.patterns.iter().enumerate().filter(|(_, count)| **count > 0) {
            let time_s = patterns[number].length_ns * 1e-9;
            of_classes[class_of[number]].add(&passages[number], time_s, *count as f64);
        }
        of_classes
    }
}

/// The interval of a value by what it is when each part of the run is left out in turn (the delete-group jackknife: Quenouille
/// 1956, Tukey 1958).
pub(super) fn jackknife(value: f64, left_out: &[f64]) -> Option<Interval> {
    if left_out.is_empty() || !value.is_finite() {
        return None;
    }
    let count = left_out.len() as f64;
    let mean = left_out.iter().sum::<f64>() / count;
    let squares: f64 = left_out.iter().map(|v| (v - mean).powi(2)).sum();
    let half = STUDENT * (squares * (count - 1.0) / count).sqrt();
    if half.is_finite() {
        Some(Interval { low: value - half, high: value + half })
    } else {
        Some(Interval { low: left_out.iter().copied().fold(value, f64::min), high: f64::INFINITY })
    }
}

/// The mean costs of the parts of a run.
pub(super) fn parts_of(along: &AlongTrace) -> Option<Vec<f64>> {
    let length = along.curve.len() / BATCHES;
    let mean = |part: &[CostStretch]| part.iter().map(|stretch| stretch.cost).sum::<f64>() / length as f64;
    (length > 0).then(|| along.curve.chunks_exact(length).map(mean).collect())
}

/// Half the interval of the mean of parts of a run; `None` of parts that have none.
pub(super) fn spread(parts: &[f64]) -> Option<f64> {
    let count = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let squares: f64 = parts.iter().map(|m| (m - mean).powi(2)).sum();
    let half = STUDENT * (squares / (count - 1.0) / count).sqrt();
    half.is_finite().then_some(half)
}

/// The interval of the mean cost along a run by the means of its parts.
pub(super) fn by_batches(along: &AlongTrace) -> Option<Interval> {
    let half = spread(&parts_of(along)?)?;
    Some(Interval { low: along.cost - half, high: along.cost + half })
}
