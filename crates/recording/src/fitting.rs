//! Due times of a loop that does not state them: a grid fitted to its starts, as for threads that are watched.

use jitterlab_analysis::causes::Call;
use jitterlab_analysis::watch::{LoopFollower, PeriodicWait, Wait, WaitKey, find_periodic_wait};
use jitterlab_model::watched::{DueTimeSource, WaitKind};
use jitterlab_model::{Activation, Flags, Gap, Overrun, TaskResult, TaskRun, TaskSpec, Warning};

/// The grid is fitted to the starts of this time at least, and to this many at most.
const FIT_LENGTH_NS: i64 = 2_000_000_000;
const MAX_FIT_STARTS: usize = 1 << 17;
/// A dummy key: there is one loop, so its waits need not be distinguished.
const KEY: WaitKey = WaitKey { call: Call::Other(0), object: 0 };

/// Puts activations on their grid.
#[derive(Debug)]
pub(crate) struct GridFitting {
    /// The period, if it is stated.
    period_ns: Option<i64>,
    overrun: Overrun,
    /// Activations before the grid was found, and their number at which another try is made.
    held: Vec<Activation>,
    enough: usize,
    within_ns: i64,
    grid: Option<Grid>,
    /// True if the starts show no grid, and their mean distance is used.
    is_guess: bool,
    /// The last that was put on it.
    last: Option<Activation>,
    /// Counters of the activations on the grid.
    result: TaskResult,
}

#[derive(Debug)]
enum Grid {
    /// Every due time is served in turn.
    InTurn { origin_ns: i64, period_ns: i64 },
    /// An activation serves the last due time before it. With the previous activation.
    Follows(Box<LoopFollower>, Option<Activation>),
}

impl GridFitting {
    /// Creates the fitting for a task with or without a stated period.
    pub(crate) fn new(spec: &TaskSpec, states_period: bool) -> Self {
        GridFitting {
            period_ns: states_period.then_some(spec.period_ns),
            overrun: spec.overrun,
            held: Vec::new(),
            enough: 0,
            within_ns: 0,
            grid: None,
            is_guess: false,
            last: None,
            result: TaskResult::default(),
        }
    }

    /// The period, if it is stated.
    pub(crate) fn period_ns(&self) -> Option<i64> {
        self.period_ns
    }

    /// Returns the properties that are unknown before the first activation, for a journal whose program is killed.
    pub(crate) fn unknown_at_start(&self) -> Vec<Gap> {
        let period = self.period_ns.is_none().then_some(Gap::Period);
        [Gap::Settings, Gap::Phase].into_iter().chain(period).collect()
    }

    /// Takes the next activations in order; returns those whose due times on the grid are known by now.
    pub(crate) fn place_on_grid(&mut self, rows: &[Activation], is_last: bool) -> Vec<Activation> {
        let mut placed = Vec::new();
        if self.grid.is_some() {
            self.push_placed(rows, &mut placed);
        } else {
            self.held.extend_from_slice(rows);
            if is_last || self.held.len() >= self.enough {
                self.try_fit(is_last);
            }
            if self.grid.is_some() {
                let held = std::mem::take(&mut self.held);
                self.push_placed(&held, &mut placed);
            }
        }
        if let (true, Some(Grid::Follows(follower, Some(before)))) = (is_last, &mut self.grid) {
            placed.extend(follower.end_activation(before.end_ns));
        }
        placed.iter().for_each(|row| self.count_placed(row));
        placed
    }

    fn try_fit(&mut self, is_last: bool) {
        let (Some(first), Some(last)) = (self.held.first(), self.held.last()) else { return };
        self.within_ns = last.start_ns - first.start_ns;
        if !is_last && self.within_ns < FIT_LENGTH_NS && self.held.len() < MAX_FIT_STARTS {
            return;
        }
        self.grid = match (self.period_ns, self.overrun) {
            (Some(period_ns), Overrun::CatchUp) => Some(Grid::in_turn(&self.held, period_ns)),
            (Some(period_ns), _) => {
                let residual = |row: &Activation| {
                    (row.start_ns - first.start_ns + period_ns / 2).rem_euclid(period_ns) - period_ns / 2
                };
                let earliest_ns = self.held.iter().map(residual).min().unwrap_or(0);
                Some(Grid::follows(PeriodicWait {
                    key: KEY,
                    waits: WaitKind::Read,
                    is_woken: false,
                    on_realtime: false,
                    period_ns: period_ns as f64,
                    due: DueTimeSource::FittedGrid,
                    origin_ns: (first.start_ns + earliest_ns) as f64,
                    regular: 1.0,
                    passes: self.held.len(),
                }))
            }
            (None, _) => {
                let pairs = self.held.windows(2).map(|pair| wait_before(&pair[1], pair[0].end_ns));
                find_periodic_wait(&pairs.collect::<Vec<_>>()).ok().map(Grid::follows)
            }
        };
        if self.grid.is_none() && (is_last || self.held.len() >= MAX_FIT_STARTS) {
            // Nothing shows which due time each start belongs to.
            let distances = (self.held.len() as i64 - 1).max(1);
            let period_ns = (self.within_ns / distances).max(1);
            self.grid = Some(Grid::in_turn(&self.held, period_ns));
            self.is_guess = true;
        }
        self.enough = 2 * self.held.len();
    }

    fn push_placed(&mut self, rows: &[Activation], placed: &mut Vec<Activation>) {
        for row in rows {
            match &mut self.grid {
                Some(Grid::InTurn { origin_ns, period_ns }) => {
                    let due_ns = *origin_ns + *period_ns * row.index as i64;
                    let is_behind =
                        placed.last().or(self.last.as_ref()).is_some_and(|before| due_ns <= before.end_ns);
                    let flags = if is_behind { row.flags.with(Flags::CAUGHT_UP) } else { row.flags };
                    placed.push(Activation { due_ns, flags, ..*row });
                }
                Some(Grid::Follows(follower, before)) => {
                    // Activations that the ring had no room for have no row.
                    let is_next = before.is_none_or(|before| row.index == before.index + 1);
                    let ended_ns = before.map_or(row.start_ns, |before| before.end_ns);
                    if !is_next {
                        placed.extend(follower.end_activation(ended_ns));
                    }
                    placed.extend(follower.process_wait(&wait_before(row, ended_ns)));
                    *before = Some(*row);
                }
                None => {}
            }
        }
    }

    fn count_placed(&mut self, row: &Activation) {
        self.last = Some(*row);
        let (late_ns, result) = (row.latency_ns(), &mut self.result);
        if result.executed == 0 {
            (result.first_due_ns, result.min_latency_ns, result.max_latency_ns) =
                (row.due_ns, late_ns, late_ns);
        }
        result.executed += 1;
        result.last_end_ns = row.end_ns.max(row.due_ns);
        result.min_latency_ns = result.min_latency_ns.min(late_ns);
        result.max_latency_ns = result.max_latency_ns.max(late_ns);
    }

    /// Number of due times that none of the `executed` activations served.
    fn missed_due_times(&self, executed: u64) -> u64 {
        self.last.map_or(0, |last| (last.index + 1).saturating_sub(executed))
    }

    /// Returns the counters of the activations on the grid: none before there is one.
    pub(crate) fn grid_result(&self, counted: &TaskResult) -> TaskResult {
        let missed = self.missed_due_times(self.result.executed + counted.dropped);
        TaskResult { missed, ..self.result.clone() }
    }

    /// Adds the results to the description of the task, and returns the warning about the fit.
    pub(crate) fn add_to_description(&self, run: &mut TaskRun) -> Warning {
        let task = run.spec.name.clone();
        if let Some(result) = &mut run.result {
            let TaskResult { first_due_ns, last_end_ns, min_latency_ns, max_latency_ns, .. } = self.result;
            *result = TaskResult {
                missed: self.missed_due_times(result.executed),
                first_due_ns,
                last_end_ns,
                min_latency_ns,
                max_latency_ns,
                ..result.clone()
            };
        }
        run.spec.period_ns = match &self.grid {
            Some(Grid::InTurn { period_ns, .. }) => *period_ns,
            Some(Grid::Follows(follower, _)) => {
                self.period_ns.unwrap_or(follower.periodic_wait().period_ns.round() as i64)
            }
            None => run.spec.period_ns,
        };
        run.unknown = vec![Gap::Settings, Gap::Phase];
        if self.is_guess {
            run.unknown.extend([Gap::Period, Gap::Missed]);
            return Warning::NoGridFound { task };
        }
        Warning::DueFitted { task, within_ns: self.within_ns, with_period: self.period_ns.is_none() }
    }
}

impl Grid {
    fn in_turn(rows: &[Activation], period_ns: i64) -> Self {
        let origin = |row: &Activation| row.start_ns - period_ns.saturating_mul(row.index as i64);
        Grid::InTurn { origin_ns: rows.iter().map(origin).min().unwrap_or(0), period_ns }
    }

    fn follows(found: PeriodicWait) -> Self {
        Grid::Follows(Box::new(LoopFollower::new(found)), None)
    }
}

/// The wait before an activation, which began when the one before it ended.
fn wait_before(row: &Activation, began_ns: i64) -> Wait {
    Wait {
        key: KEY,
        began_ns,
        ended_ns: row.start_ns,
        cpu: row.cpu,
        waits: WaitKind::Read,
        due_ns: None,
        waker: None,
        on_realtime: false,
        clock_was_set: false,
    }
}
