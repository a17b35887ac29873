//! Verdict of a run on purposes, with the deciding quantity.

use jitterlab_model::{Bench, Fitness, Gap, Known, RunInfo};
use serde::{Deserialize, Serialize};

use crate::exact_binomial::binomial_upper;
use crate::purposes::{CONFIDENCE, CONTROL_LOOP, Limit, Measure, PURPOSES, Purpose, activations_needed};
use crate::summary::Summary;

/// Verdict of a run on the purposes of its machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The purpose asked for; `None` for all usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Its fitness; for several purposes, the worst of those tested.
    pub fitness: Fitness,
    /// Each purpose, from the shortest period to the longest; of tasks whose periods none of them has, only
    /// [`CONTROL_LOOP`].
    pub purposes: Vec<PurposeVerdict>,
}

/// Verdict of a run on one purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PurposeVerdict {
    /// Its name among [`PURPOSES`], or that of [`CONTROL_LOOP`].
    pub purpose: String,
    /// The period of its task, in ns.
    pub period_ns: i64,
    /// The fitness.
    pub fitness: Fitness,
    /// Reason why it is undecided, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<Untested>,
    /// The deciding quantity, or the one that would decide in a longer run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidingFigure>,
    /// Sources of its limits.
    pub sources: Vec<String>,
}

/// Reason why a run does not decide on a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Untested {
    /// No task had a period of its kind.
    Period,
    /// The task ran under an ordinary policy, without a breach: other work may delay it at any time.
    Policy,
    /// Too few activations: a share of [`crate::purposes::OPEN_SHARE`] of them may break a limit without that
    /// having shown.
    Length {
        /// Number of activations needed.
        activations: u64,
    },
    /// Due times from another tool and starts seem to be on different clocks: the latency is unknown.
    Clocks {
        /// Rate by which starts gain on due times, in millionths.
        millionths: f64,
    },
    /// The source does not have the deciding quantity.
    Gap {
        /// The missing data.
        gap: Gap,
    },
}

/// The quantity that decides on a purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Decision")]
pub struct DecidingFigure {
    /// Name of its task.
    pub task: String,
    /// The measured value, in nanoseconds or as a number.
    #[serde(rename = "seen")]
    pub measured: i64,
    /// True if that is an upper bound: intervals, if only latencies are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
    /// Upper limit, with 95 % confidence, of the share of activations that may break the limit although none of
    /// the run did, if breaches are independent. `None` if one did, or for a figure of all activations together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_share: Option<f64>,
    /// The limit of the purpose.
    #[serde(flatten)]
    pub limit: Limit,
}

impl Verdict {
    /// Judges a run for the requested purpose, or else all usual ones; `None` for runs without a real machine. Each
    /// task has the rate in millionths by which its starts gain on due times
    /// ([`crate::patterns::SlowChange::clock_gain_ppm`]), if known.
    #[must_use]
    pub fn from_run(
        run: &RunInfo,
        tasks: &[(&Summary, Option<f64>)],
        requested: Option<&Purpose>,
    ) -> Option<Self> {
        if matches!(run.bench, Bench::Mcu | Bench::Kernel) {
            return None;
        }
        let tasks = TaskFigures::new(run, tasks);
        let usual = Verdict::new(requested, |purpose| {
            PurposeVerdict::new(purpose, judge_worst(purpose, run, &tasks))
        });
        let is_of_none =
            requested.is_none() && usual.purposes.iter().all(|of| of.untested == Some(Untested::Period));
        let by_shares = is_of_none.then(|| PurposeVerdict::from_period_shares(run, &tasks)).flatten();
        Some(by_shares.map_or(usual, |only| Verdict {
            asked: None,
            fitness: only.fitness,
            purposes: vec![only],
        }))
    }

    /// Judges the requested purpose, or else all usual ones.
    #[must_use]
    pub fn new(requested: Option<&Purpose>, judge: impl Fn(&Purpose) -> PurposeVerdict) -> Self {
        let wanted = PURPOSES.iter().filter(|purpose| requested.is_none_or(|one| one.name == purpose.name));
        let purposes: Vec<PurposeVerdict> = wanted.map(judge).collect();
        let fitness = worst_tested(purposes.iter().map(|purpose| purpose.fitness));
        Verdict { asked: requested.map(|one| one.name.to_owned()), fitness, purposes }
    }

    /// Returns the purposes with this fitness.
    pub fn with_fitness(&self, fitness: Fitness) -> impl Iterator<Item = &PurposeVerdict> {
        self.purposes.iter().filter(move |purpose| purpose.fitness == fitness)
    }
}

/// Returns the fitness for several purposes: the worst of those tested, or undecided if none was.
fn worst_tested(each: impl Iterator<Item = Fitness>) -> Fitness {
    each.filter(|fitness| *fitness != Fitness::CannotTell).max().unwrap_or(Fitness::CannotTell)
}

impl PurposeVerdict {
    /// Judges tasks by shares of their own periods, and returns the worst verdict; `None` if no period is above 0.
    fn from_period_shares(run: &RunInfo, tasks: &[TaskFigures<'_>]) -> Option<Self> {
        let judged = tasks.iter().filter(|task| task.summary.period_ns > 0).map(|task| {
            let period_ns = task.summary.period_ns;
            (judge_task(&Limit::period_share_limits(period_ns), run, task), period_ns)
        });
        let (worst, period_ns) = judged.max_by_key(|(judged, _)| severity(judged))?;
        Some(PurposeVerdict { period_ns, ..PurposeVerdict::new(&CONTROL_LOOP, worst) })
    }

    /// Creates the verdict on a purpose from its outcome.
    #[must_use]
    pub fn new(purpose: &Purpose, outcome: PurposeOutcome) -> Self {
        let (fitness, untested, decided_by) = match outcome {
            Ok((fitness, decision)) => (fitness, None, Some(decision)),
            Err((why, decision)) => (Fitness::CannotTell, Some(why), decision),
        };
        PurposeVerdict {
            purpose: purpose.name.into(),
            period_ns: purpose.period_ns,
            fitness,
            untested,
            decided_by,
            sources: purpose.sources.iter().map(|source| (*source).to_owned()).collect(),
        }
    }

    /// Returns the worst verdict of several runs; too short only if all together are. `None` without runs. Each comes
    /// with its number of activations.
    pub fn worst_of_runs<'a>(
        runs: impl Iterator<Item = (&'a PurposeVerdict, u64)>,
    ) -> Option<PurposeVerdict> {
        let (mut all, mut activations) = (Vec::new(), 0);
        for (verdict, ran) in runs {
            activations += ran;
            all.push(verdict.if_long_enough());
        }
        let mut worst = all.into_iter().max_by_key(|verdict| {
            (verdict.fitness, verdict.decided_by.as_ref().map(|decision| decision.measured))
        })?;
        let decision = worst.decided_by.as_mut();
        if let Some(open_share) = decision.and_then(|decision| decision.open_share.as_mut()) {
            *open_share = share_left_open(activations);
        }
        let served = matches!(worst.fitness, Fitness::Good | Fitness::Limited);
        if served && activations < activations_needed() {
            worst.fitness = Fitness::CannotTell;
            worst.untested = Some(Untested::Length { activations: activations_needed() });
        }
        Some(worst)
    }

    /// Returns the verdict as if the run had been long enough.
    fn if_long_enough(&self) -> PurposeVerdict {
        let mut verdict = self.clone();
        if let (Some(Untested::Length { .. }), Some(decision)) = (self.untested, &self.decided_by) {
            (verdict.fitness, verdict.untested) = (decision.limit.fitness_of(decision.measured), None);
        }
        verdict
    }
}

impl Limit {
    /// Returns the fitness for a value, in ns or as a number.
    #[must_use]
    pub fn fitness_of(self, value: i64) -> Fitness {
        match value {
            value if value <= self.good => Fitness::Good,
            value if value <= self.limited => Fitness::Limited,
            _ => Fitness::Unfit,
        }
    }

    /// Returns the fitness for a value that is known in part; `None` if its bounds differ in fitness.
    fn known_fitness(self, value: Known<i64>) -> Option<Fitness> {
        let [low, high] = [value.at_least()?, value.at_most()?].map(|value| self.fitness_of(value));
        (low == high).then_some(low)
    }
}

/// Returns the 95 % upper limit of the share of breaches when this many activations had none.
fn share_left_open(activations: u64) -> f64 {
    binomial_upper(0.0, activations as f64, CONFIDENCE)
}

/// Figures of a task of a run.
struct TaskFigures<'a> {
    number: usize,
    summary: &'a Summary,
    /// Rate in millionths by which its starts gain on the due times of another tool.
    clocks: Option<f64>,
}

impl<'a> TaskFigures<'a> {
    fn new(run: &RunInfo, tasks: &[(&'a Summary, Option<f64>)]) -> Vec<Self> {
        let figures = |(number, &(summary, clocks)): (usize, &(&'a Summary, Option<f64>))| TaskFigures {
            number,
            summary,
            clocks: clocks.filter(|_| run.bench == Bench::Import),
        };
        tasks.iter().enumerate().map(figures).collect()
    }
}

/// A decision, or the reason why there is none, with the quantity that would decide.
pub type PurposeOutcome = Result<(Fitness, DecidingFigure), (Untested, Option<DecidingFigure>)>;

/// Sort key of an outcome: the larger, the worse.
fn severity(outcome: &PurposeOutcome) -> (Fitness, Option<i64>) {
    match outcome {
        Ok((fitness, decision)) => (*fitness, Some(decision.measured)),
        Err((_, decision)) => (Fitness::CannotTell, decision.as_ref().map(|decision| decision.measured)),
    }
}

/// Judges the tasks whose period tests a purpose: of several the worst one decides.
fn judge_worst(purpose: &Purpose, run: &RunInfo, tasks: &[TaskFigures<'_>]) -> PurposeOutcome {
    let known = |task: &&TaskFigures<'_>| task.summary.knows(Gap::Period);
    let fitting = tasks.iter().filter(known).filter(|task| purpose.is_tested_by(task.summary.period_ns));
    fitting.map(|task| judge_task(purpose.limits, run, task)).max_by_key(severity).unwrap_or_else(|| {
        let unknown = tasks.iter().any(|task| !known(&task));
        let periodic = tasks.iter().any(|task| task.summary.knows(Gap::Grid));
        let gap = if periodic { Gap::Period } else { Gap::Grid };
        Err((if unknown { Untested::Gap { gap } } else { Untested::Period }, None))
    })
}

/// Judges a task by limits: the fitness and the deciding figure, or why it is undecided.
fn judge_task(limits: &[Limit], run: &RunInfo, task: &TaskFigures<'_>) -> PurposeOutcome {
    let TaskFigures { number, summary, clocks } = *task;
    if let Some(gap) = Gap::EVERYTHING.into_iter().find(|gap| !summary.knows(*gap)) {
        return Err((Untested::Gap { gap }, None));
    }
    let granted = run.tasks.get(number).and_then(|task| task.granted.as_ref());
    let is_ordinary = granted.is_some_and(|granted| !granted.policy.is_real_time());
    let ran = summary.latency.count.max(summary.period_error.count);
    let found = limits.iter().map(|limit| match (limit.measure, clocks) {
        (Measure::Latency, Some(_)) => (*limit, Known::Unknown),
        (measure, _) => (*limit, measured_value(measure, summary)),
    });
    // A value that breaks a limit does so in any length and under any policy.
    let decided = |limit: Limit, measured: i64| {
        let fitness = limit.fitness_of(measured);
        let at_most = limit.measure == Measure::Interval && summary.period_error.max_ns.is_none();
        let each = fitness != Fitness::Unfit && limit.measure != Measure::PeriodDeviation;
        let counted = summary.knows(Gap::Count);
        let open_share = (each && counted).then(|| share_left_open(ran));
        (fitness, DecidingFigure { task: summary.task.clone(), measured, at_most, open_share, limit })
    };
    let too_short = match summary.knows(Gap::Count) {
        true => Untested::Length { activations: activations_needed() },
        false => Untested::Gap { gap: Gap::Count },
    };
    let worst = found
        .clone()
        .filter_map(|(limit, value)| Some(decided(limit, value.exactly().or(value.at_least())?)))
        // Of equal ones the first: the limits are in the order of their importance.
        .reduce(|a, b| if b.0 > a.0 { b } else { a });
    match worst {
        Some((Fitness::Unfit, decision)) => Ok((Fitness::Unfit, decision)),
        Some((_, decision)) if is_ordinary => Err((Untested::Policy, Some(decision))),
        None if is_ordinary => Err((Untested::Policy, None)),
        Some(worst) => match found.clone().find(|(limit, value)| limit.known_fitness(*value).is_none()) {
            None if ran < activations_needed() => Err((too_short, Some(worst.1))),
            None => Ok(worst),
            Some((limit, _)) => Err((
                match clocks {
                    Some(millionths) => Untested::Clocks { millionths },
                    None if limit.measure != Measure::Missed && summary.has_lost_records() => {
                        Untested::Gap { gap: Gap::Unseen }
                    }
                    None => Untested::Gap { gap: gap_behind(limit.measure) },
                },
                None,
            )),
        },
        None if ran < activations_needed() => Err((too_short, None)),
        None => Err((Untested::Gap { gap: Gap::DueTimes }, None)),
    }
}

/// Returns the data without which a quantity is undecided.
fn gap_behind(measure: Measure) -> Gap {
    match measure {
        Measure::Missed => Gap::Missed,
        Measure::Latency => Gap::Latency,
        Measure::Interval | Measure::PeriodDeviation => Gap::DueTimes,
    }
}

/// Returns the measured value of a quantity, as far as it is known.
fn measured_value(measure: Measure, summary: &Summary) -> Known<i64> {
    let (errors, latency) = (&summary.period_error, &summary.latency);
    let bounded = |at_least: i64, at_most: Option<i64>| match at_most {
        Some(at_most) if at_most == at_least => Known::Exactly(at_least),
        Some(at_most) => Known::Between { at_least, at_most },
        None => Known::AtLeast { at_least },
    };
    let knows_extremes = summary.knows(Gap::Unseen);
    let recorded = |value: i64| bounded(value, knows_extremes.then_some(value));
    // The difference of the largest and the smallest latency bounds the error of an interval.
    let range_ns = latency.min_ns.zip(latency.max_ns).map(|(min, max)| max.saturating_sub(min));
    match measure {
        Measure::Interval => match errors.min_ns.zip(errors.max_ns) {
            Some((min, max)) => {
                let largest = min.saturating_abs().max(max.saturating_abs());
                let is_bounded = knows_extremes && summary.missed == Known::Exactly(0);
                let at_most = match summary.has_lost_records() {
                    false => Some(largest),
                    true => range_ns.filter(|_| is_bounded).map(|range| range.max(largest)),
                };
                bounded(largest, at_most)
            }
            None => range_ns.map_or(Known::Unknown, recorded),
        },
        // An activation that was early on purpose has no latency.
        Measure::Latency => latency.max_ns.map_or(Known::Unknown, |max| recorded(max.max(0))),
        Measure::PeriodDeviation => errors.sd_ns.map_or(Known::Unknown, |sd| recorded(sd.round() as i64)),
        Measure::Missed => summary.missed.map(|missed| i64::try_from(missed).unwrap_or(i64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purposes::OPEN_SHARE;
    use jitterlab_model::{Activation, Granted, Policy, TaskResult, TaskSpec, TimingStats};

    fn run(period_ns: i64, policy: Policy) -> RunInfo {
        let mut run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec { period_ns, ..TaskSpec::default() }]);
        run.tasks[0].granted =
            Some(Granted { policy, cpus: vec![1], memory_locked: true, timer_slack_ns: None });
        run
    }

    /// Judges a run of `activations` activations, one of which is late by `late_ns`.
    fn verdict(run: &RunInfo, activations: i64, late_ns: i64, asked: Option<&str>) -> Verdict {
        let period_ns = run.tasks[0].spec.period_ns;
        let mut stats = TimingStats::new(period_ns);
        for index in 0..activations {
            let due_ns = index * period_ns;
            let start_ns = due_ns + if index == activations / 2 { late_ns } else { 3_000 };
            let missed = if index == activations / 2 { (late_ns / period_ns) as u32 } else { 0 };
            let (index, end_ns) = (index as u64, start_ns);
            stats.push(&Activation { index, due_ns, start_ns, end_ns, missed, ..Activation::default() });
        }
        let summary = Summary::new(&run.tasks[0], &stats);
        Verdict::from_run(run, &[(&summary, None)], asked.and_then(Purpose::by_name)).unwrap()
    }

    fn named(verdict: &Verdict, fitness: Fitness) -> Vec<&str> {
        verdict.with_fitness(fitness).map(|purpose| purpose.purpose.as_str()).collect()
    }

    #[test]
    fn a_run_speaks_for_the_purposes_of_its_period_only() {
        let found = verdict(&run(1_000_000, Policy::Fifo(80)), 10_000, 60_000, None);
        assert_eq!(named(&found, Fitness::Good), ["servo-thread", "fieldbus-1ms", "robot-1khz", "audio"]);
        assert_eq!((found.fitness, named(&found, Fitness::CannotTell).len()), (Fitness::Good, 6));
        assert!(found.with_fitness(Fitness::CannotTell).all(|p| p.untested == Some(Untested::Period)));
    }

    #[test]
    fn a_loop_of_another_period_is_judged_by_shares_of_it() {
        let found = |late_ns| verdict(&run(2_000_000, Policy::Fifo(80)), 10_000, late_ns, None);
        let fitness = |late_ns| found(late_ns).fitness;
        assert_eq!(
            [199_000, 201_000, 1_001_000].map(fitness),
            [Fitness::Good, Fitness::Limited, Fitness::Unfit]
        );
        let [only] = &found(10_000).purposes[..] else { panic!() };
        assert_eq!((&*only.purpose, only.period_ns), (CONTROL_LOOP.name, 2_000_000));
        // One that was asked for is answered, even if with nothing.
        let asked = verdict(&run(2_000_000, Policy::Fifo(80)), 10_000, 10_000, Some("servo-thread"));
        assert_eq!(
            (asked.fitness, asked.purposes[0].untested),
            (Fitness::CannotTell, Some(Untested::Period))
        );
    }

    #[test]
    fn each_limit_is_kept_where_it_is_published() {
        let step =
            |late_ns| verdict(&run(50_000, Policy::Fifo(80)), 10_000, late_ns, Some("step-50us")).fitness;
        assert_eq!([22_000, 44_000, 60_000].map(step), [Fitness::Good, Fitness::Limited, Fitness::Unfit]);
        let servo =
            |late_ns| verdict(&run(1_000_000, Policy::Fifo(80)), 10_000, late_ns, Some("servo-thread"));
        assert_eq!(servo(400_000).fitness, Fitness::Limited);
        let decided = servo(5_300_000).purposes[0].decided_by.clone().unwrap();
        assert_eq!((decided.limit.measure, decided.measured), (Measure::Interval, 5_297_000));
    }

    #[test]
    fn of_purposes_that_differ_the_worst_counts() {
        let found = verdict(&run(1_000_000, Policy::Fifo(80)), 10_000, 900_000, None);
        assert_eq!(named(&found, Fitness::Limited), ["audio"], "{found:#?}");
        assert_eq!(
            (named(&found, Fitness::Unfit), found.fitness),
            (vec!["servo-thread", "fieldbus-1ms", "robot-1khz"], Fitness::Unfit)
        );
    }

    #[test]
    fn what_was_not_tested_cannot_be_told() {
        let untested =
            |run: &RunInfo, n, late| verdict(run, n, late, Some("servo-thread")).purposes[0].untested;
        let ordinary = run(1_000_000, Policy::Other);
        assert_eq!(untested(&ordinary, 10_000, 60_000), Some(Untested::Policy));
        // A value that breaks a limit counts under any policy.
        assert_eq!(untested(&ordinary, 10_000, 9_000_000), None);
        let (short, gap) = (run(1_000_000, Policy::Fifo(80)), Untested::Gap { gap: Gap::Missed });
        let too_short = Untested::Length { activations: activations_needed() };
        assert_eq!(untested(&short, 100, 60_000), Some(too_short));
        // A value that breaks a limit counts in a run of any length.
        assert_eq!(untested(&short, 100, 9_000_000), None);
        let mut silent = run(1_000_000, Policy::Fifo(80));
        silent.tasks[0].unknown = vec![Gap::Missed];
        let mut stats = TimingStats::new(1_000_000);
        (0..4_000).for_each(|index| {
            stats.push(&Activation {
                index,
                due_ns: index as i64 * 1_000_000,
                start_ns: index as i64 * 1_000_000 + 5,
                end_ns: index as i64 * 1_000_000 + 5,
                ..Activation::default()
            });
        });
        stats.drop_unknown(&silent.tasks[0].unknown);
        let summary = Summary::new(&silent.tasks[0], &stats);
        let found = Verdict::from_run(&silent, &[(&summary, None)], Purpose::by_name("audio")).unwrap();
        assert_eq!((found.fitness, found.purposes[0].untested), (Fitness::CannotTell, Some(gap)));
    }

    #[test]
    fn lost_records_leave_open_what_no_counter_includes() {
        let lossy = |max_latency_ns, unknown: &[Gap]| {
            let mut run = run(1_000_000, Policy::Fifo(80));
            let executed = 10_020;
            let counters = TaskResult {
                executed,
                dropped: 20,
                min_latency_ns: 3_000,
                max_latency_ns,
                ..TaskResult::default()
            };
            (run.tasks[0].result, run.tasks[0].unknown) = (Some(counters), unknown.to_vec());
            run
        };
        let judged = |run: &RunInfo, late_ns| {
            let verdict = verdict(run, 10_000, late_ns, Some("servo-thread"));
            (verdict.fitness, verdict.purposes[0].untested)
        };
        let open = (Fitness::CannotTell, Some(Untested::Gap { gap: Gap::Unseen }));
        // The thread's own extremes bound every interval between lost starts.
        assert_eq!(judged(&lossy(60_000, &[]), 60_000), (Fitness::Good, None));
        assert_eq!(judged(&lossy(700_000, &[]), 60_000), open);
        // Of a watched thread nobody knows more than was seen, but what breaks a limit does so whatever was lost.
        let watched = lossy(60_000, &[Gap::Missed, Gap::Unseen]);
        assert_eq!(judged(&watched, 60_000), open);
        assert_eq!(judged(&watched, 900_000), (Fitness::Unfit, None));
    }

    #[test]
    fn a_purpose_is_served_only_where_so_many_activations_exclude_one_breach_in_a_thousand() {
        let run = run(1_000_000, Policy::Fifo(80));
        let servo = |n: u64| verdict(&run, n as i64, 60_000, Some("servo-thread")).purposes.remove(0);
        let needed = activations_needed();
        assert!(share_left_open(needed) <= OPEN_SHARE && share_left_open(needed - 1) > OPEN_SHARE);
        // One breach in a thousand would have shown with 95 %, but did not.
        assert!((0.999f64.powf(needed as f64) - 0.05).abs() < 1e-4, "{needed}");
        let (few, enough) = (servo(needed - 1), servo(needed));
        assert_eq!((few.fitness, enough.fitness), (Fitness::CannotTell, Fitness::Good));
        assert_eq!(few.untested, Some(Untested::Length { activations: needed }));
        // The value, and the share left open, are reported either way.
        let open = |found: &PurposeVerdict| found.decided_by.as_ref().unwrap().open_share.unwrap();
        assert!(open(&few) > OPEN_SHARE && open(&enough) <= OPEN_SHARE);
        assert!(open(&servo(500)) > 0.005, "500 activations leave open whether one in 200 breaks a limit");
        // Blocks of one measurement are as long as they are together, and as good as the worst.
        let (block, bad) = (servo(600), verdict(&run, 600, 200_000, Some("servo-thread")).purposes.remove(0));
        let joint = |blocks: &[&PurposeVerdict]| {
            PurposeVerdict::worst_of_runs(blocks.iter().map(|block| (*block, 600))).unwrap()
        };
        assert_eq!(joint(&[&block; 4]).fitness, Fitness::CannotTell);
        assert_eq!(joint(&[&block; 5]).fitness, Fitness::Good);
        assert_eq!(joint(&[&block, &block, &bad, &block, &block]).fitness, Fitness::Limited);
    }

    #[test]
    fn between_two_clocks_nothing_is_late() {
        let judged = |bench| {
            let run = RunInfo { bench, ..run(1_000_000, Policy::Fifo(80)) };
            let mut stats = TimingStats::new(1_000_000);
            for index in 0..100_000 {
                let start_ns = index as i64 * 1_000_020 + 3_000;
                let due_ns = index as i64 * 1_000_000;
                let end_ns = start_ns;
                stats.push(&Activation { index, due_ns, start_ns, end_ns, ..Activation::default() });
            }
            let summary = Summary::new(&run.tasks[0], &stats);
            Verdict::from_run(&run, &[(&summary, Some(20.0))], None).unwrap()
        };
        let here = judged(Bench::Host);
        assert_eq!(named(&here, Fitness::Unfit), ["fieldbus-1ms", "audio"]);
        let imported = judged(Bench::Import);
        assert_eq!(named(&imported, Fitness::Good), ["servo-thread", "robot-1khz"]);
        let open = imported.purposes.iter().find(|p| p.purpose == "audio").unwrap();
        assert_eq!(open.untested, Some(Untested::Clocks { millionths: 20.0 }));
    }

    #[test]
    fn a_simulated_machine_is_not_judged() {
        let simulated = RunInfo::new(Bench::Mcu, "cycles", [TaskSpec::default()]);
        assert_eq!(Verdict::from_run(&simulated, &[], None), None);
    }
}
