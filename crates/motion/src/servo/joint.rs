//! The cycles of several tasks together, added up as they come: constant memory, no time rounded.

use nalgebra::DMatrix;

use super::chain::{Chain, Stationary, Stretches};
use super::classes::{Memory, Rows};
use super::evaluate::BATCHES;
use super::looped::{Event, Loop};

/// Cycles in time, and others.
const CLASSES: usize = 2;
/// Of each class so many cycles count one by one; of more, each second one counts twice, and so on.
const ONE_BY_ONE: u64 = 4_096;
/// A cycle of more events than this is none: the tasks are not idle together for too long.
const MOST_EVENTS: usize = 1 << 16;

/// The cycles of a run, in twenty parts.
pub(super) struct JointCycles {
    period_ns: i64,
    begin_ns: Option<i64>,
    events: Vec<(f64, Event)>,
    is_too_long: bool,
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
    /// None yet, for a state of this order; rates are per so long a period.
    pub fn new(order: usize, period_ns: i64) -> JointCycles {
        let part = || ([Stretches::new(order), Stretches::new(order)], DMatrix::zeros(CLASSES, CLASSES));
        JointCycles {
            period_ns,
            begin_ns: None,
            events: Vec::new(),
            is_too_long: false,
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

    /// Records are lost: what began is no cycle.
    pub fn cut(&mut self) {
        self.begin_ns = None;
        self.last = None;
        self.rows.pass(None);
    }

    /// All tasks have their turn; what lies behind belongs to this part of the run.
    pub fn together(&mut self, closed: &mut Loop, time_ns: i64, in_time: bool, part: usize) {
        let begin = self.begin_ns.replace(time_ns).filter(|_| !std::mem::take(&mut self.is_too_long));
        let class = usize::from(!in_time);
        if let Some(begin) = begin {
            let (stretches, pairs) = &mut self.parts[part.min(BATCHES - 1)];
            if self.seen[class].is_multiple_of(self.each[class]) {
                let length = (time_ns - begin) as f64;
                let passage = closed.passage(&self.events, length);
                stretches[class].add(&passage, length * 1e-9, self.each[class] as f64);
                self.computed += 1;
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
