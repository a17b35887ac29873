//! A run as cycles. A cycle lasts from one time at which every task is due and none is at work to the next
//! such time, with all events between.
//!
//! If waits and execution times are independent, so are the cycles. A job that overruns is one cycle together
//! with the due times it misses; a burst that catches up is one cycle of many jobs.

use std::collections::HashMap;

use super::burst_stability::{ClassSequences, Stability};
use super::closed_loop::{Event, Loop, LoopAction};
use super::markov_chain::{MarkovChain, Stationary, StretchDistribution};
use super::overrun::MissedOutput;
use super::timing::{Job, Moment, effective_event};
use super::weakly_hard::{MissCounter, Step, WeaklyHard};

/// Cycles of each class that are kept; beyond it each second one, which counts twice, and so on.
const KEPT: usize = 8_192;
/// Cycles of each class that are kept for the comparison of overrun actions.
pub(super) const FEW_KEPT: usize = 1_024;
/// Most events of the cycles that are kept of a class.
const MOST_EVENTS: usize = 1 << 18;
/// Events of a cycle beyond which it is dropped.
const LONGEST: usize = 1 << 16;
const MOST_CLASSES: usize = 64;
/// Cycles of each class, evenly from the run, that enter the proof for any sequence.
const SHOWN: usize = 256;
/// Parts of a period to which the time of the last output is rounded when cycles are classified.
const PARTS: f64 = 4.0;

/// Outputs due in each period: the period of the plant's one task, or the common multiple of several tasks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputsPerPeriod {
    pub period_ns: i64,
    /// Outputs of each task in one of them.
    pub outputs: Vec<usize>,
}

impl OutputsPerPeriod {
    /// True for each period of a cycle in which a task wrote fewer outputs than were due.
    pub fn missed_periods(&self, events: &[(f64, Event)], length_ns: f64) -> Vec<bool> {
        let period_ns = self.period_ns as f64;
        let periods = (length_ns / period_ns).round().max(1.0) as usize;
        let mut outputs = vec![vec![0; self.outputs.len()]; periods];
        for (time, event) in events.iter().filter(|(_, event)| is_output(*event)) {
            // An event at the very end of the cycle belongs to the cycle.
            let place = ((time / period_ns).floor().max(0.0) as usize).min(periods - 1);
            if let Some(written) = outputs[place].get_mut(usize::from(event.by)) {
                *written += 1;
            }
        }
        outputs
            .iter()
            .map(|written| written.iter().zip(&self.outputs).any(|(w, due_outputs)| w < due_outputs))
            .collect()
    }
}

fn is_output(event: Event) -> bool {
    matches!(event.act, LoopAction::Finish | LoopAction::Compute)
}

/// A time at which all tasks are due, or were just served, and none is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdleInstant {
    pub time_ns: i64,
    /// No due time was missed since the last such.
    pub in_time: bool,
}

/// A cycle: its events with their times from its begin, and its length.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RegenerationCycle {
    pub events: Vec<(f64, Event)>,
    pub length_ns: f64,
}

impl RegenerationCycle {
    /// Number of jobs that start in the cycle.
    pub fn job_count(&self) -> usize {
        self.events.iter().filter(|(_, event)| event.act == LoopAction::Sample).count()
    }

    /// Time of the first sample, in ns from the begin of the cycle.
    pub fn first_latency(&self) -> Option<f64> {
        self.events.iter().find(|(_, event)| event.act == LoopAction::Sample).map(|(time, _)| *time)
    }
}

/// Key of a class: in time or not, periods, misses, and the part of a period in which the last output came.
type CycleKey = (bool, usize, usize, usize);

/// Cycles that are alike: as long, with as many misses and their last output in the same part of a period.
#[derive(Debug, Clone, PartialEq)]
struct CycleClass {
    in_time: bool,
    count: u64,
    /// One of this many cycles is kept.
    keep_every: u64,
    kept: Vec<RegenerationCycle>,
    events: usize,
}

impl CycleClass {
    fn add_cycle(&mut self, most: usize, events: &[(f64, Event)], length_ns: f64) {
        if self.count.is_multiple_of(self.keep_every) {
            self.events += events.len();
            self.kept.push(RegenerationCycle { events: events.to_vec(), length_ns });
            if self.kept.len() >= most.max(2) || self.events > MOST_EVENTS && self.kept.len() > 1 {
                let mut place = 0;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.keep_every *= 2;
                self.events = self.kept.iter().map(|cycle| cycle.events.len()).sum();
            }
        }
        self.count += 1;
    }

    /// Number of cycles that each kept one represents.
    fn weight(&self) -> f64 {
        self.count as f64 / self.kept.len().max(1) as f64
    }
}

/// Cycles of a run in classes of alike ones, a limited number kept of each.
#[derive(Debug, Clone)]
pub(super) struct CycleCollector {
    period_ns: i64,
    due_outputs: OutputsPerPeriod,
    /// Most cycles that are kept of a class, and most jobs of a cycle: a longer burst is cut where jobs start.
    kept_limit: usize,
    most_jobs: usize,
    begin_ns: Option<i64>,
    jobs: usize,
    events: Vec<(f64, Event)>,
    is_too_long: bool,
    is_missed: bool,
    numbers: HashMap<CycleKey, u8>,
    /// The kind of the last cycle, whose number is known.
    last: Option<(CycleKey, u8)>,
    classes: Vec<CycleClass>,
    sequences: ClassSequences,
    misses: MissCounter,
    /// Periods so far, and whether records are lost before the next.
    passed: i64,
    after_gap: bool,
}

impl CycleCollector {
    /// Starts without cycles; rates are per `period_ns`, and `due_outputs` are the outputs due. A cycle has at most
    /// `most_jobs` of a single task.
    pub fn new(period_ns: i64, due_outputs: OutputsPerPeriod, most_jobs: usize) -> CycleCollector {
        CycleCollector {
            period_ns,
            misses: MissCounter::new(due_outputs.period_ns),
            due_outputs,
            kept_limit: KEPT,
            most_jobs,
            begin_ns: None,
            jobs: 0,
            events: Vec::new(),
            is_too_long: false,
            is_missed: false,
            numbers: HashMap::new(),
            last: None,
            classes: Vec::new(),
            sequences: ClassSequences::new(),
            passed: 0,
            after_gap: true,
        }
    }

    #[must_use]
    pub fn with_kept_limit(self, kept_limit: usize) -> CycleCollector {
        CycleCollector { kept_limit, ..self }
    }

    /// Processes a moment, or a time at which all tasks are idle; `Some(in_time)` if that ended a cycle.
    pub fn process(&mut self, moment: Result<Moment, IdleInstant>) -> Option<bool> {
        match moment {
            Ok(Moment::At(time, event)) => return self.add_event(time, event),
            Ok(Moment::Cut(_)) => {
                (self.after_gap, self.begin_ns) = (true, None);
                self.events.clear();
                self.jobs = 0;
            }
            Ok(Moment::IdleDue(_)) => {}
            Err(together) => return self.end_cycle(together),
        }
        None
    }

    fn add_event(&mut self, time_ns: i64, event: Event) -> Option<bool> {
        let mut ended = None;
        if event.act == LoopAction::Sample && self.due_outputs.outputs.len() == 1 {
            if self.jobs == self.most_jobs {
                ended = self.end_cycle(IdleInstant { time_ns, in_time: false });
            }
            self.jobs += 1;
        }
        if let Some(begin) = self.begin_ns {
            if self.events.len() < LONGEST {
                self.events.push(((time_ns - begin) as f64, event));
            } else {
                self.is_too_long = true;
            }
        }
        ended
    }

    /// Marks the cycle as one with a missed due time or a killed job.
    pub fn mark_missed(&mut self) {
        self.is_missed = true;
    }

    fn end_cycle(&mut self, together: IdleInstant) -> Option<bool> {
        let begin =
            self.begin_ns.replace(together.time_ns).filter(|_| !std::mem::take(&mut self.is_too_long));
        let in_time = together.in_time && !std::mem::take(&mut self.is_missed);
        if let Some(begin) = begin {
            self.add_cycle((together.time_ns - begin) as f64, in_time);
        }
        self.events.clear();
        self.jobs = 0;
        begin.map(|_| in_time)
    }

    fn add_cycle(&mut self, length_ns: f64, in_time: bool) {
        let period_ns = self.period_ns as f64;
        let periods = (length_ns / period_ns).round() as usize;
        let missed =
            if in_time { Vec::new() } else { self.due_outputs.missed_periods(&self.events, length_ns) };
        let last = self.events.iter().rev().find(|(_, event)| is_output(*event));
        let part = last.map_or(PARTS as usize, |(time, _)| (time % period_ns / period_ns * PARTS) as usize);
        let misses = missed.iter().filter(|missed| **missed).count();
        let kind = (in_time, periods, misses, part);
        let number = match self.last {
            Some((last, number)) if last == kind => number,
            _ => {
                let next = self.numbers.len().min(MOST_CLASSES - 1) as u8;
                *self.numbers.entry(kind).or_insert(next)
            }
        };
        self.last = Some((kind, number));
        if usize::from(number) == self.classes.len() {
            self.classes.push(CycleClass { in_time, count: 0, keep_every: 1, kept: Vec::new(), events: 0 });
        }
        let class = &mut self.classes[usize::from(number)];
        class.in_time &= in_time;
        class.add_cycle(self.kept_limit, &self.events, length_ns);
        self.sequences.add_class(number);
        // In time none is missed.
        let owed_periods = (length_ns / self.due_outputs.period_ns as f64).round().max(1.0) as usize;
        for place in 0..if in_time { owed_periods } else { missed.len() } {
            let killed = missed.get(place).copied().unwrap_or(false);
            let due_ns = self.passed.saturating_mul(self.due_outputs.period_ns);
            let after_gap = std::mem::take(&mut self.after_gap);
            self.misses.add_job(&Job { due_ns, start_ns: due_ns, end_ns: due_ns, killed, after_gap });
            self.passed += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Most periods with a missed output in any window, for several window lengths.
    pub fn observed_misses(&self) -> Vec<WeaklyHard> {
        self.misses.most_misses_per_window()
    }

    /// Kept cycles, each with the number of cycles that it represents.
    pub fn weighted_cycles(&self) -> impl Iterator<Item = (&RegenerationCycle, f64)> {
        self.classes.iter().flat_map(|class| class.kept.iter().map(|cycle| (cycle, class.weight())))
    }

    /// Kept cycles, evenly spread over each class, as steps for the proofs of stability under misses.
    pub fn steps(&self, closed: &mut Loop) -> Vec<Step> {
        let shown = |class: &CycleClass| {
            let each = class.kept.len().div_ceil(SHOWN).max(1);
            class.kept.iter().step_by(each).cloned().collect::<Vec<RegenerationCycle>>()
        };
        let step = |cycle: RegenerationCycle| Step {
            map: closed.passage(&cycle.events, cycle.length_ns).phi,
            missed: self.due_outputs.missed_periods(&cycle.events, cycle.length_ns),
        };
        self.classes.iter().flat_map(shown).map(step).collect()
    }

    /// Distribution of the loop's maps in each class; at missed due times the output follows `missed_output`.
    fn stretches(&self, closed: &mut Loop, missed_output: MissedOutput) -> Vec<StretchDistribution> {
        let marked = |cycle: &RegenerationCycle| RegenerationCycle {
            events: cycle
                .events
                .iter()
                .filter_map(|(t, e)| Some((*t, effective_event(*e, missed_output)?)))
                .collect(),
            ..*cycle
        };
        let of = |class: &CycleClass| {
            let cycles: Vec<RegenerationCycle> = class.kept.iter().map(marked).collect();
            cycle_distribution(closed, cycles.iter().map(|cycle| (cycle, class.weight())))
        };
        self.classes.iter().map(of).collect()
    }

    /// Stationary loops under all cycles and under those in time, each in random order, and stability in recorded order.
    pub fn analysis(&self, closed: &mut Loop) -> CycleAnalysis {
        // Events at marks are part of the cycles already.
        let stretches = self.stretches(closed, MissedOutput::Zero);
        let all = |wanted: fn(&CycleClass) -> bool| {
            let of = self.classes.iter().zip(&stretches).filter(|(class, _)| wanted(class));
            of.map(|(_, stretches)| stretches.clone()).reduce(|all, class| all.merged_with(&class))
        };
        let alone = |all: StretchDistribution| MarkovChain::independent(&all, self.period_ns).stationary();
        let (stability, rates, memory) = self.sequences.stability(&stretches, self.period_ns);
        CycleAnalysis {
            independent: all(|_| true).map(alone),
            in_time: all(|class| class.in_time).map(alone),
            stability,
            rates,
            memory,
        }
    }

    /// Stability and spectral radii under the cycles in their order; at missed due times the output follows `missed_output`.
    pub fn stability(&self, closed: &mut Loop, missed_output: MissedOutput) -> (Stability, Stationary) {
        let (stability, rates, _) =
            self.sequences.stability(&self.stretches(closed, missed_output), self.period_ns);
        (stability, rates)
    }
}

/// Stationary loops and stability under the cycles of a run.
pub(super) struct CycleAnalysis {
    /// All of them in random order; `None` where there are none.
    pub independent: Option<Stationary>,
    /// Only the cycles in time; `None` where there are none.
    pub in_time: Option<Stationary>,
    pub stability: Stability,
    pub rates: Stationary,
    /// Number of cycles that the rates remember.
    pub memory: usize,
}

/// Distribution of the loop's maps under these cycles, with their weights as frequencies.
pub(super) fn cycle_distribution<'a>(
    closed: &mut Loop,
    cycles: impl Iterator<Item = (&'a RegenerationCycle, f64)>,
) -> StretchDistribution {
    let mut all = StretchDistribution::new(closed.lasting_size());
    for (cycle, weight) in cycles {
        let passage = closed.passage(&cycle.events, cycle.length_ns);
        all.add(&passage, cycle.length_ns * 1e-9, weight);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: i64 = 1_000;

    fn finish_event(time: f64, by: u8) -> (f64, Event) {
        (time, Event { by, act: LoopAction::Finish })
    }

    #[test]
    fn a_period_is_missed_where_any_task_owes_an_output() {
        let due_outputs = OutputsPerPeriod { period_ns: 100, outputs: vec![1, 2] };
        let all = [finish_event(10.0, 1), finish_event(40.0, 0), finish_event(70.0, 1)];
        assert_eq!(due_outputs.missed_periods(&all, 100.0), [false]);
        assert_eq!(due_outputs.missed_periods(&all[..2], 100.0), [true]);
        // The second task's last output comes in the next period, with that period's own.
        let late = [
            finish_event(10.0, 1),
            finish_event(40.0, 0),
            finish_event(105.0, 1),
            finish_event(120.0, 1),
            finish_event(150.0, 0),
            finish_event(170.0, 1),
        ];
        assert_eq!(due_outputs.missed_periods(&late, 200.0), [true, false]);
    }

    fn cycles(jobs: &[Job], most_jobs: usize) -> CycleCollector {
        let mut found =
            CycleCollector::new(H, OutputsPerPeriod { period_ns: H, outputs: vec![1] }, most_jobs);
        let mut moments = super::super::timing::MomentGenerator::new(Default::default(), H, 0);
        let mut last = None::<i64>;
        for job in jobs {
            moments.add_job(job, |moment| {
                found.process(match moment {
                    Moment::IdleDue(time_ns) => {
                        let in_time = last.replace(time_ns).is_some_and(|last| time_ns - last == H);
                        Err(IdleInstant { time_ns, in_time })
                    }
                    moment => Ok(moment),
                });
            });
        }
        found
    }

    /// Number of cycles, and of those that are kept.
    fn counts(found: &CycleCollector) -> (u64, u64) {
        let kept = found.classes.iter().map(|class| class.kept.len() as u64).sum();
        (found.classes.iter().map(|class| class.count).sum(), kept)
    }

    fn job(index: i64, latency: i64, execution: i64) -> Job {
        let due_ns = index * H;
        let start_ns = due_ns + latency;
        Job { due_ns, start_ns, end_ns: start_ns + execution, killed: false, after_gap: false }
    }

    #[test]
    fn a_job_that_overruns_is_one_cycle_with_the_due_time_it_misses() {
        let jobs: Vec<Job> =
            [0, 1, 3, 4, 6].map(|k| job(k, 0, if k == 1 || k == 4 { H + 200 } else { 500 })).into();
        let found = cycles(&jobs, 8);
        let seen: Vec<(bool, u64, f64)> =
            found.classes.iter().map(|c| (c.in_time, c.count, c.kept[0].length_ns)).collect();
        assert_eq!(seen, [(true, 2, 1e3), (false, 2, 2e3)]);
        let times: Vec<f64> = found.classes[1].kept[0].events.iter().map(|e| e.0).collect();
        assert_eq!(times, [0.0, 1_200.0]);
    }

    #[test]
    fn a_burst_is_one_cycle_or_is_cut_where_jobs_start() {
        // Each half a period too long; the third catches up.
        let burst =
            [job(0, 0, 3 * H / 2), job(1, H / 2, H), job(2, H / 2, 100), job(3, 0, 100), job(4, 0, 100)];
        let whole = cycles(&burst, 8);
        assert_eq!((counts(&whole).0, whole.classes[0].kept[0].job_count()), (2, 3));
        let cut = cycles(&burst, 1);
        assert_eq!((counts(&cut).0, cut.classes[0].kept[0].length_ns), (4, 1.5e3));
    }

    #[test]
    fn lost_records_end_a_cycle_without_counting_it() {
        let mut jobs: Vec<Job> = (0..6).map(|k| job(k, 0, 100)).collect();
        jobs[3].after_gap = true;
        assert_eq!(counts(&cycles(&jobs, 8)).0, 4);
    }

    #[test]
    fn kept_cycles_come_from_all_of_the_run() {
        let jobs: Vec<Job> = (0..100_000).map(|k| job(k, k % 7, 100)).collect();
        let found = cycles(&jobs, 8);
        let (seen, kept) = counts(&found);
        assert!(seen == 99_999 && (KEPT as u64 / 2..KEPT as u64).contains(&kept), "{seen} {kept}");
        assert!((found.weighted_cycles().map(|(_, weight)| weight).sum::<f64>() - 99_999.0).abs() < 1e-6);
    }
}
