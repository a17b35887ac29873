//! From the activations of a task to the events of its loop.

use std::collections::HashMap;
use std::str::FromStr;

use jitterlab_model::{Activation, Flags};

use super::looped::{Event, Pattern};
use crate::error::MotionError;

/// When the sensors are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// By the task, when it starts.
    #[default]
    AtStart,
    /// By hardware, at the due time.
    AtDue,
}

/// When the output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Actuation {
    /// By the task, when its work is done.
    #[default]
    AtEnd,
    /// By the task, when it starts, with what it computed from the sample just read (next to no work between).
    AtStart,
    /// By the task, when it starts next time: one period of delay, but without the jitter of its work.
    AtNextStart,
    /// By hardware, at the next due time after the work is done.
    AtNextDue,
}

impl FromStr for Sampling {
    type Err = MotionError;

    fn from_str(text: &str) -> Result<Self, MotionError> {
        match text {
            "start" => Ok(Sampling::AtStart),
            "due" => Ok(Sampling::AtDue),
            _ => Err(MotionError::NotASampling(text.into())),
        }
    }
}

impl FromStr for Actuation {
    type Err = MotionError;

    fn from_str(text: &str) -> Result<Self, MotionError> {
        match text {
            "end" => Ok(Actuation::AtEnd),
            "start" => Ok(Actuation::AtStart),
            "next-start" => Ok(Actuation::AtNextStart),
            "next-due" => Ok(Actuation::AtNextDue),
            _ => Err(MotionError::NotAnActuation(text.into())),
        }
    }
}

/// Where in the task sampling and actuation happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskTiming {
    /// When the sensors are read.
    pub sampling: Sampling,
    /// When the output is written.
    pub actuation: Actuation,
}

/// An event of the loop, or a place where the record is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Something happens at a time of the run's clock.
    At(i64, Event),
    /// Time starts anew here: records are lost before it.
    Cut(i64),
}

impl TaskTiming {
    /// The moments of a trace, in order; a task is one sequence, so nothing overtakes. `activations` are those of
    /// one task of this period.
    pub fn moments(
        self,
        activations: impl IntoIterator<Item = Activation>,
        period_ns: i64,
        mut give: impl FnMut(Moment),
    ) {
        let mut last = i64::MIN;
        let mut pending: Option<i64> = None;
        let mut first = true;
        for a in activations {
            if first || a.flags.contains(Flags::AFTER_GAP) {
                give(Moment::Cut(a.due_ns));
                (first, last, pending) = (false, a.due_ns.min(a.start_ns), None);
            }
            let mut at = |time: i64, event| {
                last = last.max(time);
                give(Moment::At(last, event));
            };
            match self.actuation {
                Actuation::AtNextStart if pending.is_some() => at(a.start_ns, Event::Actuate),
                Actuation::AtNextDue => {
                    if let Some(due) = pending {
                        at(due, Event::Actuate);
                    }
                }
                _ => {}
            }
            at(if self.sampling == Sampling::AtDue { a.due_ns } else { a.start_ns }, Event::Sample);
            match self.actuation {
                Actuation::AtEnd => at(a.end_ns, Event::Actuate),
                Actuation::AtStart => at(a.start_ns, Event::Actuate),
                Actuation::AtNextStart => pending = Some(0),
                Actuation::AtNextDue => {
                    let periods = (a.end_ns - a.due_ns).max(1).div_euclid(period_ns)
                        + i64::from((a.end_ns - a.due_ns).max(1).rem_euclid(period_ns) > 0);
                    pending = Some(a.due_ns + periods * period_ns);
                }
            }
        }
    }

    /// The pattern of a task that always starts this much after its due time and works this long.
    pub fn constant_pattern(self, latency_ns: i64, execution_ns: i64, period_ns: i64) -> Pattern {
        self.constant_cycle(latency_ns, execution_ns, period_ns, 1)
    }

    /// The same for a task that serves every n-th due time alone: the pattern of `periods` together.
    pub(super) fn constant_cycle(
        self,
        latency_ns: i64,
        execution_ns: i64,
        period_ns: i64,
        periods: i64,
    ) -> Pattern {
        let cycle_ns = periods * period_ns;
        let activations = (0..4).map(|k| {
            let due_ns = k * cycle_ns;
            let start_ns = due_ns + latency_ns;
            Activation {
                index: k as u64,
                due_ns,
                start_ns,
                end_ns: start_ns + execution_ns,
                ..Activation::default()
            }
        });
        let mut cycles = Periods::default();
        self.moments(activations, period_ns, |moment| cycles.add(moment, cycle_ns));
        // By the third cycle the task has settled: what was put off is there as well.
        cycles.slices.get(2).cloned().unwrap_or_default()
    }
}

/// A trace cut into periods of the grid.
#[derive(Debug, Clone, Default)]
struct Periods {
    origin: i64,
    /// Slices of the part since the last cut.
    slices: Vec<Pattern>,
    done: Vec<Vec<Pattern>>,
}

impl Periods {
    fn add(&mut self, moment: Moment, period_ns: i64) {
        match moment {
            Moment::Cut(origin) => {
                self.done.push(std::mem::take(&mut self.slices));
                self.origin = origin;
            }
            Moment::At(time, event) => {
                // An early start belongs to the first slice, which then begins with it.
                let since = (time - self.origin).max(0);
                let index = (since / period_ns) as usize;
                let offset = since % period_ns;
                // An event on the very end of a period that closes it (an output put off to the next due time)
                // comes before the sample of the next: keep it there.
                self.slices.resize(self.slices.len().max(index + 1), Vec::new());
                self.slices[index].push((offset, event));
            }
        }
    }
}

/// The periods of a trace as numbers of distinct patterns.
#[derive(Debug, Clone, Default)]
pub struct PeriodPatterns {
    /// The distinct patterns, times rounded to [`PeriodPatterns::resolution_ns`].
    pub patterns: Vec<Pattern>,
    /// How often each occurs.
    pub counts: Vec<u64>,
    /// The pattern of each period; one sequence for each part of the trace without lost records.
    pub sequences: Vec<Vec<u32>>,
    /// How finely times are told apart.
    pub resolution_ns: i64,
}

/// Most distinct patterns kept; beyond, times are told apart more coarsely.
const MOST_PATTERNS: usize = 2_000;

impl PeriodPatterns {
    /// Cuts a trace into periods and counts its patterns. Long traces with many different times are rounded just
    /// so much that a few thousand patterns remain (the mean of the rounding is zero).
    pub fn of(
        timing: TaskTiming,
        activations: impl IntoIterator<Item = Activation>,
        period_ns: i64,
    ) -> PeriodPatterns {
        let mut periods = Periods::default();
        timing.moments(activations, period_ns, |moment| periods.add(moment, period_ns));
        periods.done.push(std::mem::take(&mut periods.slices));
        let parts: Vec<Vec<Pattern>> = periods.done.into_iter().filter(|p| !p.is_empty()).collect();
        let mut resolution_ns = 1;
        loop {
            match Self::at_resolution(&parts, period_ns, resolution_ns) {
                Some(found) => return found,
                None => resolution_ns *= 4,
            }
        }
    }

    fn at_resolution(parts: &[Vec<Pattern>], period_ns: i64, resolution_ns: i64) -> Option<PeriodPatterns> {
        let mut found = PeriodPatterns { resolution_ns, ..PeriodPatterns::default() };
        let mut numbers: HashMap<Pattern, u32> = HashMap::new();
        for part in parts {
            let mut sequence = Vec::with_capacity(part.len());
            for slice in part {
                let rounded: Pattern =
                    slice.iter().map(|(t, e)| (round(*t, resolution_ns).min(period_ns), *e)).collect();
                let next = found.patterns.len() as u32;
                let number = *numbers.entry(rounded).or_insert_with_key(|pattern| {
                    found.patterns.push(pattern.clone());
                    found.counts.push(0);
                    next
                });
                found.counts[number as usize] += 1;
                sequence.push(number);
                // At once: going on to the end of a long trace at every resolution took most of the time.
                if found.patterns.len() > MOST_PATTERNS && resolution_ns < period_ns / 16 {
                    return None;
                }
            }
            found.sequences.push(sequence);
        }
        Some(found)
    }

    /// Periods counted.
    pub fn periods(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Patterns with their counts as shares.
    pub fn weighted(&self) -> impl Iterator<Item = (&[(i64, Event)], f64)> {
        self.patterns.iter().map(Vec::as_slice).zip(self.counts.iter().map(|c| *c as f64))
    }
}

fn round(time: i64, resolution: i64) -> i64 {
    (time + resolution / 2).div_euclid(resolution) * resolution
}

#[cfg(test)]
mod tests {
    use super::*;
    use Event::{Actuate, Sample};

    const H: i64 = 1_000;

    fn at(index: i64, latency: i64, execution: i64) -> Activation {
        let due_ns = index * H;
        let start_ns = due_ns + latency;
        Activation {
            index: index as u64,
            due_ns,
            start_ns,
            end_ns: start_ns + execution,
            ..Activation::default()
        }
    }

    fn patterns(actuation: Actuation, activations: &[Activation]) -> Vec<Pattern> {
        let timing = TaskTiming { sampling: Sampling::AtStart, actuation };
        let found = PeriodPatterns::of(timing, activations.to_vec(), H);
        found.sequences[0].iter().map(|n| found.patterns[*n as usize].clone()).collect()
    }

    #[test]
    fn a_late_activation_leaves_a_period_empty() {
        let trace = [at(0, 10, 50), at(1, 1_200, 50), at(3, 20, 50)];
        let expected: [Pattern; 4] = [
            vec![(10, Sample), (60, Actuate)],
            vec![],
            vec![(200, Sample), (250, Actuate)],
            vec![(20, Sample), (70, Actuate)],
        ];
        assert_eq!(patterns(Actuation::AtEnd, &trace), expected);
    }

    #[test]
    fn outputs_can_be_put_off_to_the_next_start_or_due_time() {
        let trace = [at(0, 10, 50), at(1, 30, 50)];
        let next_start = patterns(Actuation::AtNextStart, &trace);
        assert_eq!(next_start[1], [(30, Actuate), (30, Sample)]);
        let next_due = patterns(Actuation::AtNextDue, &trace);
        assert_eq!(next_due[1], [(0, Actuate), (30, Sample)]);
    }

    #[test]
    fn constant_timing_has_one_pattern() {
        let timing = |actuation| TaskTiming { sampling: Sampling::AtStart, actuation };
        let pattern = |actuation| timing(actuation).constant_pattern(10, 50, H);
        assert_eq!(pattern(Actuation::AtEnd), [(10, Sample), (60, Actuate)]);
        assert_eq!(pattern(Actuation::AtStart), [(10, Sample), (10, Actuate)]);
        assert_eq!(pattern(Actuation::AtNextStart), [(10, Actuate), (10, Sample)]);
        assert_eq!(pattern(Actuation::AtNextDue), [(0, Actuate), (10, Sample)]);
    }

    #[test]
    fn lost_records_start_a_new_sequence() {
        let after_gap = Activation { flags: Flags::AFTER_GAP, ..at(50, 10, 50) };
        let found = PeriodPatterns::of(TaskTiming::default(), [at(0, 10, 50), after_gap], H);
        assert_eq!((found.sequences.len(), found.periods(), found.patterns.len()), (2, 2, 1));
    }

    #[test]
    fn many_different_times_are_told_apart_more_coarsely() {
        let trace = (0..5_000).map(|k| Activation { ..at(k, 0, 0) }).map(|a| Activation {
            due_ns: a.due_ns * 1_000,
            start_ns: a.due_ns * 1_000 + a.index as i64 * 37,
            end_ns: a.due_ns * 1_000 + a.index as i64 * 37 + 1,
            ..a
        });
        let found = PeriodPatterns::of(TaskTiming::default(), trace, H * 1_000);
        assert!(found.patterns.len() <= MOST_PATTERNS && found.resolution_ns > 1);
        assert_eq!(found.periods(), 5_000);
    }
}
