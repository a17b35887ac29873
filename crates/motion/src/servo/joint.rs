//! The cycles of several tasks together, added up as they come: constant memory, no time rounded.

use nalgebra::DMatrix;

use super::chain::{Chain, Stationary, Stretches};
use super::classes::{Memory, Rows};
use super::evaluate::BATCHES;
use super::looped::{Act, Event, Loop};
use super::misses::{AtMost, Misses};
use super::timing::Job;
use super::weakly_hard::{Step, Steps};

/// Cycles in time, and others.
const CLASSES: usize = 2;
/// Of each class so many cycles count one by one; of more, each second one counts twice, and so on.
const ONE_BY_ONE: u64 = 4_096;
/// A cycle of more events than this is none: the tasks are not idle together for too long.
const MOST_EVENTS: usize = 1 << 16;
/// Of each class about so many cycles, evenly from all of the run, stand for all in what is proved of any sequence.
const SHOWN: usize = 256;

/// In which periods outputs are missed: those of the plant's slowest task, or of several tasks what all have in common.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Owed {
    /// Their length.
    pub period_ns: i64,
    /// Outputs of each task in one of them.
    pub outputs: Vec<usize>,
}

impl Owed {
    /// Of each period of a cycle whether any task wrote less than it owes.
    fn missed(&self, events: &[(f64, Event)], length_ns: f64) -> Vec<bool> {
        let period_ns = self.period_ns as f64;
        let periods = (length_ns / period_ns).round().max(1.0) as usize;
        let mut outputs = vec![vec![0; self.outputs.len()]; periods];
        for (time, event) in events.iter().filter(|(_, e)| matches!(e.act, Act::Finish | Act::Compute)) {
            let place = ((time / period_ns).floor().max(0.0) as usize).min(periods - 1);
            if let Some(written) = outputs[place].get_mut(usize::from(event.by)) {
                *written += 1;
            }
        }
        outputs.iter().map(|written| written.iter().zip(&self.outputs).any(|(w, owed)| w < owed)).collect()
    }
}

/// The cycles of a run, in twenty parts.
pub(super) struct JointCycles {
    period_ns: i64,
    owed: Owed,
    begin_ns: Option<i64>,
    events: Vec<(f64, Event)>,
    is_too_long: bool,
    /// A due time was missed, or its job killed.
    is_missed: bool,
    /// Cycles that stand for all of their class, and every how many-th of those computed is one.
    shown: [(Vec<Step>, u64); CLASSES],
    misses: Misses,
    /// Periods so far, and whether records are lost before the next.
    passed: i64,
    after_gap: bool,
    rows: Rows,
    last: Option<usize>,
    /// Of each class: how many there were, and every how many-th of them counts now.
    seen: [u64; CLASSES],
    each: [u64; CLASSES],
    parts: Vec<([Stretches; CLASSES], DMatrix<f64>)>,
    /// The maps that were computed.
    pub computed: u64,
}

impl JointCycles {
    /// None yet, for a state of this order; rates are per so long a period, and these outputs are owed.
    pub fn new(order: usize, period_ns: i64, owed: Owed) -> JointCycles {
        let part = || ([Stretches::new(order), Stretches::new(order)], DMatrix::zeros(CLASSES, CLASSES));
        JointCycles {
            period_ns,
            begin_ns: None,
            events: Vec::new(),
            is_too_long: false,
            is_missed: false,
            shown: std::array::from_fn(|_| (Vec::new(), 1)),
            misses: Misses::new(owed.period_ns),
            passed: 0,
            after_gap: true,
            owed,
            rows: Rows::new(CLASSES),
            last: None,
            seen: [0; CLASSES],
            each: [1; CLASSES],
            parts: (0..BATCHES).map(|_| part()).collect(),
            computed: 0,
        }
    }

    /// Cycles there were.
    pub fn count(&self) -> u64 {
        self.seen.iter().sum()
    }

    /// Something happens.
    pub fn at(&mut self, time_ns: i64, event: Event) {
        if let Some(begin) = self.begin_ns {
            if self.events.len() < MOST_EVENTS {
                self.events.push(((time_ns - begin) as f64, event));
            } else {
                self.is_too_long = true;
            }
        }
    }

    /// A due time is missed, or its job killed.
    pub fn missed(&mut self) {
        self.is_missed = true;
    }

    /// Records are lost: what began is no cycle.
    pub fn cut(&mut self) {
        self.after_gap = true;
        self.begin_ns = None;
        self.last = None;
        self.rows.pass(None);
    }

    /// All tasks have their turn; what lies behind belongs to this part of the run.
    pub fn together(&mut self, closed: &mut Loop, time_ns: i64, in_time: bool, part: usize) {
        let begin = self.begin_ns.replace(time_ns).filter(|_| !std::mem::take(&mut self.is_too_long));
        let class = usize::from(std::mem::take(&mut self.is_missed) || !in_time);
        if let Some(begin) = begin {
            let length = (time_ns - begin) as f64;
            let missed = self.owed.missed(&self.events, length);
            self.count_misses(&missed);
            let (stretches, pairs) = &mut self.parts[part.min(BATCHES - 1)];
            if self.seen[class].is_multiple_of(self.each[class]) {
                let passage = closed.passage(&self.events, length);
                stretches[class].add(&passage, length * 1e-9, self.each[class] as f64);
                self.computed += 1;
                keep(&mut self.shown[class], self.seen[class], Step { map: passage.phi, missed });
            }
            self.seen[class] += 1;
            if self.seen[class] >= ONE_BY_ONE * 2 * self.each[class] {
                self.each[class] *= 2;
            }
            if let Some(last) = self.last.replace(class) {
                pairs[(last, class)] += 1.0;
            }
            self.rows.pass(Some(class));
        }
        self.events.clear();
    }

    /// The periods of a cycle, as those of one task that owes an output in each.
    fn count_misses(&mut self, missed: &[bool]) {
        for killed in missed {
            let due_ns = self.passed.saturating_mul(self.owed.period_ns);
            let after_gap = std::mem::take(&mut self.after_gap);
            self.misses.job(&Job { due_ns, start_ns: due_ns, end_ns: due_ns, killed: *killed, after_gap });
            self.passed += 1;
        }
    }

    /// The most periods with a missed output that came how close together.
    pub fn misses_seen(&self) -> Vec<AtMost> {
        self.misses.seen()
    }

    /// The cycles that stand for all, as steps of sequences with so many misses; and how many they are.
    pub fn steps(&self) -> (Steps, u64) {
        let all: Vec<Step> = self.shown.iter().flat_map(|(steps, _)| steps).cloned().collect();
        let count = all.len() as u64;
        (Steps::new(all), count)
    }

    /// The cycles in time alone; `None` where there are none.
    pub fn in_time(&self) -> Option<Stationary> {
        let all =
            self.parts.iter().skip(1).fold(self.parts[0].0[0].clone(), |all, (part, _)| all.with(&part[0]));
        (all.weight() > 0.0).then(|| Chain::independent(&all, self.period_ns).stationary())
    }

    /// How far a cycle depends on the one before.
    pub fn memory(&self) -> Memory {
        self.rows.memory()
    }

    /// The loop under these cycles, with what memory they show.
    pub fn clustered(&self) -> Stationary {
        self.stationary(self.memory(), None)
    }

    /// The loop under these cycles with so much memory, without one of the parts where that is wanted.
    pub fn stationary(&self, memory: Memory, left_out: Option<usize>) -> Stationary {
        let kept =
            || self.parts.iter().enumerate().filter(|(i, _)| Some(*i) != left_out).map(|(_, part)| part);
        let order = self.parts[0].0[0].order();
        let mut of_classes = vec![Stretches::new(order); CLASSES];
        let mut pairs = DMatrix::zeros(CLASSES, CLASSES);
        for (stretches, counts) in kept() {
            of_classes.iter_mut().zip(stretches).for_each(|(all, part)| *all = all.with(part));
            pairs += counts;
        }
        if memory == Memory::None {
            let all = of_classes[0].with(&of_classes[1]);
            return Chain::independent(&all, self.period_ns).stationary();
        }
        Chain::of_present(&of_classes, &pairs, self.period_ns).stationary()
    }
}

/// Keeps a cycle of this number in its class if its turn has come; of too many, each second one goes.
fn keep((kept, each): &mut (Vec<Step>, u64), number: u64, step: Step) {
    if !number.is_multiple_of(*each) {
        return;
    }
    kept.push(step);
    if kept.len() >= 2 * SHOWN {
        let mut place = 0;
        kept.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        *each *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_missed_where_any_task_owes_an_output() {
        let owed = Owed { period_ns: 100, outputs: vec![1, 2] };
        let done = |time: f64, by: u8| (time, Event { by, act: Act::Finish });
        let all = [done(10.0, 1), done(40.0, 0), done(70.0, 1)];
        assert_eq!(owed.missed(&all, 100.0), [false]);
        assert_eq!(owed.missed(&all[..2], 100.0), [true]);
        // The second task's last output comes in the next period, beside that period's own.
        let late =
            [done(10.0, 1), done(40.0, 0), done(105.0, 1), done(120.0, 1), done(150.0, 0), done(170.0, 1)];
        assert_eq!(owed.missed(&late, 200.0), [true, false]);
    }

    #[test]
    fn cycles_that_stand_for_all_come_from_all_of_the_run() {
        let mut kept = (Vec::new(), 1);
        for number in 0..10_000u64 {
            let map = DMatrix::from_element(1, 1, number as f64);
            keep(&mut kept, number, Step { map, missed: vec![false] });
        }
        let numbers: Vec<f64> = kept.0.iter().map(|step| step.map[(0, 0)]).collect();
        assert!((SHOWN..2 * SHOWN).contains(&numbers.len()), "{}", numbers.len());
        assert!(numbers[0] == 0.0 && *numbers.last().unwrap() > 9_900.0);
        assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] == kept.1 as f64));
    }
}
