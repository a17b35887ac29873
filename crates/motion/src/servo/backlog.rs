//! The chain of a task that serves every due time: how late a job starts depends on the jobs before it.
//!
//! The state at a start is the backlog, the time since the job was due, beside the kind of its execution time. A job that works
//! for X leaves the backlog max(0, backlog + X - h). Of constant execution times the backlogs that can be are listed; with ranges
//! there is a continuum of them, and what the loop makes of a backlog is smooth between known places: it is interpolated there,
//! with as many digits as polynomials give.

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};

use super::chain::{Chain, Edge, Stationary, Stretches};
use super::execution::{Execution, Kind};
use super::given_task::GivenTask;
use super::looped::{Act, Event, Loop};
use super::quadrature::mean_points;
use super::timing::Actuation;

/// Points of each piece of a range of execution times.
const POINTS: usize = 12;
/// Points of each piece of a range where a job ends before the next is due.
const POINTS_IN_TIME: usize = 24;

/// The stationary loop of a task that serves every due time. A task that works as long as its period or longer on average
/// never comes to rest: the limit is given, jobs back to back.
pub(super) fn stationary(closed: &mut Loop, task: &GivenTask) -> Stationary {
    let (execution, actuation) = (&task.execution, task.timing.actuation);
    let jobs = Jobs { execution, actuation, period: task.period_ns as f64, wait: task.wait_ns };
    if execution.mean_ns() >= jobs.period * (1.0 - 1e-12) {
        return match actuation {
            Actuation::AtNextDue => jobs.chain(closed, &jobs.phases(), true).stationary(),
            _ => jobs.back_to_back(closed).stationary(),
        };
    }
    if execution.longest_ns() <= jobs.period {
        return jobs.chain(closed, &Levels::punctual(), false).stationary();
    }
    // The largest backlog that is told apart grows until next to no job has it; then, as long as that is soon done, until the
    // radius stays, which a few rare backlogs can decide.
    let (mut most, mut before) = (4.0, None);
    loop {
        let levels = jobs.levels(most * jobs.period);
        let is_last = 2 * levels.nodes.len() > MOST_LEVELS;
        if is_last || before.is_some() || jobs.share_at_end(&levels) < 1e-13 {
            let found = jobs.chain(closed, &levels, false).stationary();
            let stays = |radius: f64| (found.spectral_radius / radius - 1.0).abs() < 1e-9;
            if is_last || levels.nodes.len() > SOON_DONE || !found.is_stable() || before.is_some_and(stays) {
                return jobs.with_deep_backlogs(closed, found);
            }
            before = Some(found.spectral_radius);
        }
        most *= 1.5;
    }
}

/// Backlogs of which the radius is soon found.
const SOON_DONE: usize = 300;

/// Most backlogs told apart.
const MOST_LEVELS: usize = 1_500;

struct Jobs<'a> {
    execution: &'a Execution,
    actuation: Actuation,
    period: f64,
    /// From a due time to the earliest start.
    wait: f64,
}

impl Jobs<'_> {
    fn period_ns(&self) -> i64 {
        self.period as i64
    }

    /// Jobs that start as soon as the one before ends, for ever. A step lasts as long as the job.
    fn back_to_back(&self, closed: &mut Loop) -> Chain {
        let kinds = self.execution.kinds();
        let stretches = kinds.iter().map(|kind| {
            let mut stretches = Stretches::new(closed.lasting());
            for (time, share) in mean_points(kind.low_ns, kind.high_ns, [], POINTS_IN_TIME) {
                let events = self.events(0.0, time, time);
                stretches.add(&closed.passage(&events, time), time * 1e-9, share);
            }
            stretches
        });
        self.execution.chained(&stretches.collect::<Vec<_>>(), self.period_ns())
    }

    /// A job that starts with this backlog and works so long, until the next start.
    fn events(&self, backlog: f64, time: f64, length: f64) -> Vec<(f64, Event)> {
        let mut events = Vec::with_capacity(4);
        let mut at = |time: f64, act: Act| events.push((time, act.alone()));
        // What was computed last is written at each due time: once more, it changes nothing.
        let due_times = self.due_times(backlog, length);
        let write = |from: f64, until: f64, at: &mut dyn FnMut(f64, Act)| {
            due_times
                .iter()
                .filter(|due| **due >= from && **due < until)
                .for_each(|due| at(*due, Act::Write));
        };
        write(0.0, f64::MIN_POSITIVE, &mut at);
        at(0.0, Act::Sample);
        write(f64::MIN_POSITIVE, time, &mut at);
        match self.actuation {
            Actuation::AtStart => at(0.0, Act::Finish),
            Actuation::AtEnd => at(time, Act::Finish),
            Actuation::AtNextStart => {
                at(time, Act::Compute);
                at(length, Act::Write);
            }
            Actuation::AtNextDue => {
                at(time, Act::Compute);
                write(time.max(f64::MIN_POSITIVE), length, &mut at);
            }
        }
        events
    }

    /// Due times from a start with this backlog on, where outputs wait for them; one at the very end comes with the next start.
    fn due_times(&self, backlog: f64, length: f64) -> Vec<f64> {
        if self.actuation != Actuation::AtNextDue {
            return Vec::new();
        }
        let since = (backlog + self.wait) % self.period;
        let due_times = (0..).map(|n| f64::from(n) * self.period - since);
        due_times.skip_while(|due| *due < 0.0).take_while(|due| *due < length).collect()
    }

    /// While the backlog is deep, jobs are back to back. How a disturbance then fades, weighed by how such times end, is a
    /// radius that no finite number of backlogs shows.
    fn with_deep_backlogs(&self, closed: &mut Loop, found: Stationary) -> Stationary {
        if !found.is_stable() || self.actuation == Actuation::AtNextDue {
            return found;
        }
        let deep = self.back_to_back(closed).least_growth();
        Stationary {
            spectral_radius: found.spectral_radius.max(deep),
            radius_per_period: found.radius_per_period.max(deep),
            ..found
        }
    }

    /// One state for each memory of execution times and each backlog. Since jobs and due times are one to one, each step
    /// counts as a period; of a task that is never done a step is as long as the job, and a backlog stands for what is left of it
    /// without whole periods.
    fn chain(&self, closed: &mut Loop, levels: &Levels, is_endless: bool) -> Chain {
        let (left_by, memories) = self.execution.memories();
        let count = levels.nodes.len();
        let (mut stretches, mut edges) = (Vec::new(), Vec::new());
        for (level, backlog) in levels.nodes.iter().enumerate() {
            for number in 0..self.execution.kinds().len() {
                // To each backlog it can leave, the jobs that do.
                let mut to: Vec<Option<Stretches>> = vec![None; count];
                for (time, share) in self.times(number, *backlog, levels) {
                    let (length, lasts, left) = if is_endless {
                        (time, time, (backlog + time) % self.period)
                    } else {
                        (time.max(self.period - backlog), self.period, backlog + time - self.period)
                    };
                    let passage = closed.passage(&self.events(*backlog, time, length), length);
                    for (target, weight) in levels.around(left) {
                        let stretches = to[target].get_or_insert_with(|| Stretches::new(closed.lasting()));
                        stretches.add(&passage, lasts * 1e-9, share * weight);
                    }
                }
                for (target, ways) in to.into_iter().enumerate().filter_map(|(t, s)| Some((t, s?))) {
                    for (memory, next) in memories.iter().enumerate() {
                        let (from, to) = (memory * count + level, left_by[number] * count + target);
                        edges.push(Edge { from, to, stretches: stretches.len(), factor: next[number] });
                    }
                    stretches.push(ways);
                }
            }
        }
        edges.retain(|edge| edge.factor != 0.0);
        Chain::new(memories.len() * count, stretches, edges, self.period_ns())
    }

    /// Execution times of a kind with their shares, to be summed over at this backlog.
    fn times(&self, kind: usize, backlog: f64, levels: &Levels) -> Vec<(f64, f64)> {
        let kind = &self.execution.kinds()[kind];
        let done_in_time = self.period - backlog;
        let due_times = self.due_times(backlog, kind.high_ns);
        let cuts = levels.breaks.iter().map(|place| place + done_in_time).chain([done_in_time]);
        let cuts = cuts.chain(due_times);
        let points = if kind.high_ns < done_in_time { POINTS_IN_TIME } else { POINTS };
        mean_points(kind.low_ns, kind.high_ns, cuts, points)
    }

    /// Share of the jobs that start with the largest backlogs told apart.
    fn share_at_end(&self, levels: &Levels) -> f64 {
        let (left_by, memories) = self.execution.memories();
        let count = levels.nodes.len();
        let states = memories.len() * count;
        // Their probabilities solve pi = pi T with the sum one: pi (I - T + 1/states) = 1/states.
        let share_of_each = 1.0 / states as f64;
        let mut system =
            DMatrix::from_element(states, states, share_of_each) + DMatrix::identity(states, states);
        for (level, backlog) in levels.nodes.iter().enumerate() {
            for (number, left) in left_by.iter().enumerate() {
                for (time, share) in self.times(number, *backlog, levels) {
                    for (target, weight) in levels.around(backlog + time - self.period) {
                        for (memory, next) in memories.iter().enumerate() {
                            let at = (left * count + target, memory * count + level);
                            system[at] -= next[number] * share * weight;
                        }
                    }
                }
            }
        }
        let Some(shares) = system.lu().solve(&DVector::from_element(states, share_of_each)) else {
            return 1.0;
        };
        let last = levels.order.min(count);
        (0..states).filter(|state| state % count >= count - last).map(|state| shares[state].abs()).sum()
    }

    /// The times since a due time at which jobs back to back can start.
    fn phases(&self) -> Levels {
        const MOST_PHASES: usize = 200;
        let (mut known, mut open) = (BTreeSet::from([0i64]), vec![0i64]);
        while let Some(phase) = open.pop().filter(|_| known.len() <= MOST_PHASES) {
            let next = |kind: &Kind| (phase + kind.low_ns.round() as i64) % self.period_ns();
            open.extend(self.execution.kinds().iter().map(next).filter(|next| known.insert(*next)));
        }
        let is_constant = self.execution.kinds().iter().all(|kind| kind.low_ns == kind.high_ns);
        if !is_constant || known.len() > MOST_PHASES {
            return Levels::even(self.period / MOST_PHASES as f64, self.period);
        }
        Levels { nodes: known.into_iter().map(|phase| phase as f64).collect(), breaks: Vec::new(), order: 1 }
    }

    /// The backlogs to tell apart, up to the largest.
    fn levels(&self, most: f64) -> Levels {
        let kinds = self.execution.kinds();
        if kinds.iter().all(|kind| kind.low_ns == kind.high_ns) {
            let steps: Vec<f64> = kinds.iter().map(|kind| kind.low_ns - self.period).collect();
            Levels::reachable(&steps, most).unwrap_or_else(|| Levels::even(self.period / 50.0, most))
        } else {
            let ends = kinds.iter().flat_map(|kind| [kind.low_ns, kind.high_ns]);
            Levels::smooth(&ends.map(|end| self.period - end).collect::<Vec<_>>(), self.period, most)
        }
    }
}

/// The backlogs told apart, and how what lies between follows from them.
struct Levels {
    /// Ascending, zero first.
    nodes: Vec<f64>,
    /// Ends of the pieces between which what the loop makes of a backlog is smooth.
    breaks: Vec<f64>,
    /// Nodes of each piece; the zero stands alone before them. Of one node: the nearest ones.
    order: usize,
}

impl Levels {
    /// None but zero.
    fn punctual() -> Levels {
        Levels { nodes: vec![0.0], breaks: Vec::new(), order: 1 }
    }

    /// All that these steps lead to from zero, in whole nanoseconds; `None` where they are too many.
    fn reachable(steps: &[f64], most: f64) -> Option<Levels> {
        let mut known = BTreeSet::from([0i64]);
        let mut open = vec![0i64];
        while let Some(level) = open.pop() {
            for step in steps {
                let next = (level as f64 + step).clamp(0.0, most).round() as i64;
                if known.insert(next) {
                    open.push(next);
                }
            }
            if known.len() > MOST_LEVELS {
                return None;
            }
        }
        let nodes: Vec<f64> = known.into_iter().map(|level| level as f64).collect();
        Some(Levels { nodes, breaks: Vec::new(), order: 1 })
    }

    /// So far apart from each other.
    fn even(distance: f64, most: f64) -> Levels {
        let nodes: Vec<f64> = (0..=(most / distance) as u32).map(|i| f64::from(i) * distance).collect();
        Levels { nodes, breaks: Vec::new(), order: 1 }
    }

    /// What the loop makes of a backlog has a kink where a shortest or longest job just ends in time; each further job hands it
    /// on, shifted and smoother. `shifts` are the period minus the ends of the ranges.
    fn smooth(shifts: &[f64], period: f64, most: f64) -> Levels {
        const GENERATIONS: usize = 5;
        const NEAREST: f64 = 0.02;
        const WIDEST: f64 = 0.25;
        const ORDER: usize = 8;
        let mut places = vec![0.0];
        let mut generation = vec![0.0];
        for _ in 0..GENERATIONS {
            let next = generation.iter().flat_map(|place| shifts.iter().map(move |shift| place + shift));
            let mut fresh: Vec<f64> = Vec::new();
            for place in next.filter(|place| *place > 0.0 && *place < most) {
                if places.iter().chain(&fresh).all(|p| (p - place).abs() > NEAREST * period) {
                    fresh.push(place);
                }
            }
            places.extend(&fresh);
            generation = fresh;
        }
        places.push(most);
        places.sort_by(f64::total_cmp);
        // Far from the kinks long pieces do.
        let mut breaks = vec![0.0];
        for pair in places.windows(2) {
            let parts = ((pair[1] - pair[0]) / (WIDEST * period)).ceil().max(1.0);
            for part in 1..=parts as u32 {
                breaks.push(pair[0] + (pair[1] - pair[0]) * f64::from(part) / parts);
            }
        }
        let mut nodes = vec![0.0];
        for pair in breaks.windows(2) {
            nodes.extend(mean_points(pair[0], pair[1], [], ORDER).into_iter().map(|(x, _)| x));
        }
        Levels { nodes, breaks, order: ORDER }
    }

    /// The nodes around a backlog with their weights; of one below zero there is none.
    fn around(&self, backlog: f64) -> Vec<(usize, f64)> {
        let backlog = backlog.max(0.0);
        let last = self.nodes.len() - 1;
        if self.order == 1 {
            let above = self.nodes.partition_point(|node| *node < backlog).min(last);
            let below = above.saturating_sub(1);
            let (low, high) = (self.nodes[below], self.nodes[above]);
            if backlog >= high || above == 0 {
                return vec![(above, 1.0)];
            }
            let share = (backlog - low) / (high - low);
            return vec![(below, 1.0 - share), (above, share)];
        }
        if backlog == 0.0 {
            return vec![(0, 1.0)];
        }
        let pieces = self.breaks.len() - 1;
        let piece = self.breaks.partition_point(|end| *end < backlog).clamp(1, pieces) - 1;
        let backlog = backlog.min(self.breaks[pieces]);
        let first = 1 + piece * self.order;
        let nodes = &self.nodes[first..first + self.order];
        let weight = |i: usize| {
            let others = nodes.iter().enumerate().filter(|(j, _)| *j != i);
            others.map(|(_, other)| (backlog - other) / (nodes[i] - other)).product::<f64>()
        };
        (0..self.order).map(|i| (first + i, weight(i))).collect()
    }
}
