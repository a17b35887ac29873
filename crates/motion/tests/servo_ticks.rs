//! A solver of its own for jobs on a lattice: a machine that goes through absolute time tick by tick. It knows no jobs' maps, no
//! steps of a schedule and no ratio of means: only which state the processor is in, and one matrix exponential a tick. Ranges of
//! execution times are put on finer and finer lattices, and what that leaves is taken out (Richardson 1911).
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::collections::BTreeMap;

use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Controller, Execution, Kind, Late, OverrunAction, Plant, Question, Without};
use nalgebra::{DMatrix, SMatrix};

/// A matrix of the largest state there is here; smaller ones leave the rest zero.
type Matrix = SMatrix<f64, 8, 8>;

/// The state of the processor between ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Processor {
    /// Ticks since the last due time.
    phase: u32,
    /// Ticks of work left and one more; zero without a job.
    left: u32,
    /// Due times that wait.
    waiting: u32,
    /// The kind of the last job.
    kind: usize,
    /// Due times do not count until the job ends: then the grid begins anew.
    stopped: bool,
}

/// Plant, controller and what is held in one state: [x; u; s; xc].
struct Machine {
    /// Ticks of a period.
    ticks: u32,
    flow: Matrix,
    /// Noise of a tick, and the cost of a tick: on the covariance, and of its own noise.
    noise: Matrix,
    cost: Matrix,
    cost_of_noise: f64,
    sample: (Matrix, Matrix),
    finish: Matrix,
    zero: Matrix,
}

/// In the corner of the largest.
fn wide(m: &DMatrix<f64>) -> Matrix {
    let mut wide = Matrix::zeros();
    wide.view_mut((0, 0), m.shape()).copy_from(m);
    wide
}

impl Machine {
    fn new(plant: &Plant, c: &Controller, period_s: f64, ticks: u32) -> Machine {
        let tick_s = period_s / f64::from(ticks);
        let (n, m, p) = plant.sizes();
        let nc = c.states();
        let size = n + m + p + nc;
        let mut a = DMatrix::zeros(size, size);
        a.view_mut((0, 0), (n, n)).copy_from(&plant.a);
        a.view_mut((0, n), (n, m)).copy_from(&plant.b);
        let mut intensity = DMatrix::zeros(size, size);
        intensity.view_mut((0, 0), (n, n)).copy_from(&plant.process_noise);
        let mut q = DMatrix::zeros(size, size);
        q.view_mut((0, 0), (n + m, n + m)).copy_from(&plant.cost());
        // vec P' = (A (+) A) vec P + vec R, cost' = vec Q . vec P: one exponential of a chain of them, in short steps.
        const STEPS: i32 = 14;
        let short = tick_s / 2f64.powi(STEPS);
        let series = |k: i32| -> f64 { (1..=k).map(f64::from).product() };
        let power = |k: i32| (0..k).fold(DMatrix::identity(size, size), |power, _| power * &a);
        let mut flow =
            (0..6).fold(DMatrix::zeros(size, size), |sum, k| sum + power(k) * (short.powi(k) / series(k)));
        let lyapunov = |x: &DMatrix<f64>| &a * x + x * a.transpose();
        let adjoint = |x: &DMatrix<f64>| a.transpose() * x + x * &a;
        let integral = |begin: &DMatrix<f64>, of: &dyn Fn(&DMatrix<f64>) -> DMatrix<f64>| {
            let (mut term, mut sum) = (begin * short, begin * short);
            for k in 2..6 {
                term = of(&term) * (short / f64::from(k));
                sum += &term;
            }
            sum
        };
        let (mut noise, mut cost) = (integral(&intensity, &lyapunov), integral(&q, &adjoint));
        // The mean of the cost that noise adds within the step: R t^2/2 + ..., weighed by Q.
        let mut cost_of_noise = (&q * &intensity).trace() * short * short / 2.0
            + (&q * lyapunov(&intensity)).trace() * short.powi(3) / 6.0;
        for _ in 0..STEPS {
            cost_of_noise = 2.0 * cost_of_noise + cost.dot(&noise);
            cost = &cost + flow.transpose() * &cost * &flow;
            noise = &noise + &flow * &noise * flow.transpose();
            flow = &flow * &flow;
        }
        let mut sample = DMatrix::identity(size, size);
        sample.rows_mut(n + m, p).fill(0.0);
        sample.view_mut((n + m, 0), (p, n)).copy_from(&plant.c);
        let mut error = DMatrix::zeros(size, size);
        error.view_mut((n + m, n + m), (p, p)).copy_from(&plant.measurement_noise);
        let mut finish = DMatrix::identity(size, size);
        let mut zero = finish.clone();
        zero.rows_mut(n, m).fill(0.0);
        finish.rows_mut(n, m).fill(0.0);
        finish.rows_mut(n + m + p, nc).fill(0.0);
        finish.view_mut((n, n + m), (m, p)).copy_from(&c.d);
        finish.view_mut((n, n + m + p), (m, nc)).copy_from(&c.c);
        finish.view_mut((n + m + p, n + m), (nc, p)).copy_from(&c.b);
        finish.view_mut((n + m + p, n + m + p), (nc, nc)).copy_from(&c.a);
        Machine {
            ticks,
            flow: wide(&flow),
            noise: wide(&noise),
            cost: wide(&cost),
            cost_of_noise,
            sample: (wide(&sample), wide(&error)),
            finish: wide(&finish),
            zero: wide(&zero),
        }
    }
}

/// What is in a state of the processor: its probability, and the covariance times it.
type Ensemble = BTreeMap<Processor, (f64, Matrix)>;

fn put(to: &mut Ensemble, state: Processor, share: f64, covariance: &Matrix) {
    let entry = to.entry(state).or_insert_with(|| (0.0, Matrix::zeros()));
    entry.0 += share;
    entry.1 += covariance;
}

/// Everything that happens at a tick: the end of a job, then a due time (which a job that just ends has missed), then a start.
fn tick(
    machine: &Machine,
    action: OverrunAction,
    kinds: &[(u32, f64)],
    next: &dyn Fn(usize, usize) -> f64,
    before: Ensemble,
) -> Ensemble {
    const MOST_WAITING: u32 = 60;
    let zeroes = action.without == Without::Zero;
    let mut after = Ensemble::new();
    for (mut state, (share, mut p)) in before {
        if share < 1e-13 {
            continue;
        }
        let apply = |e: &Matrix, p: &Matrix| e * p * e.transpose();
        let is_due = state.phase == machine.ticks;
        let was_idle = state.left == 0;
        let is_killed = is_due && !was_idle && action.late == Late::Kill;
        if is_killed {
            state.left = 0;
        } else if state.left == 1 {
            state.left = 0;
            p = apply(&machine.finish, &p);
        }
        // A due time that is not served, or whose job is killed.
        let skipped = is_due && !was_idle && action.late == Late::Skip;
        if zeroes && (is_killed || skipped) {
            p = apply(&machine.zero, &p);
        }
        let is_done = state.left == 0 && !was_idle;
        if action.late == Late::RePhase && is_done && (is_due || state.stopped) {
            (state.phase, state.stopped) = (0, false);
        } else if is_due {
            state.phase = 0;
            state.stopped = action.late == Late::RePhase && !was_idle;
        }
        if is_due && action.late == Late::CatchUp {
            state.waiting = (state.waiting + 1).min(MOST_WAITING);
        }
        let starts = match action.late {
            Late::CatchUp => state.left == 0 && state.waiting > 0,
            _ => is_due && (was_idle || is_killed),
        };
        if !starts {
            put(&mut after, state, share, &p);
            continue;
        }
        state.waiting = state.waiting.saturating_sub(1);
        let p = apply(&machine.sample.0, &p) + machine.sample.1 * share;
        for (kind, (ticks, _)) in kinds.iter().enumerate() {
            let part = next(kind, state.kind);
            if part > 0.0 {
                put(&mut after, Processor { left: ticks + 1, kind, ..state }, share * part, &(p * part));
            }
        }
    }
    after
}

/// Jobs on a lattice: how long each kind works in ticks, with its share, and the chance that one comes after another.
struct OnLattice<'a> {
    kinds: Vec<(u32, f64)>,
    next: &'a dyn Fn(usize, usize) -> f64,
}

/// The mean cost after so many blocks that nothing changes any more, or infinite.
fn by_ticks(plant: &Plant, h: i64, ticks: u32, jobs: &OnLattice, action: OverrunAction) -> f64 {
    let controller = plant.design.controller(plant, h, 0).unwrap();
    let period_s = h as f64 * 1e-9;
    let machine = Machine::new(plant, &controller, period_s, ticks);
    // Whole cycles: of jobs back to back, of a grid that begins anew, of any that skips.
    let only = jobs.kinds[0].0;
    let block = match action.late {
        Late::CatchUp if jobs.kinds.len() == 1 => only.max(ticks) * ticks,
        Late::RePhase if jobs.kinds.len() == 1 && only >= ticks => (only + ticks) * 12,
        _ => ticks * 12,
    };
    let begin = Processor { phase: ticks, left: 0, waiting: 0, kind: 0, stopped: false };
    let mut ensemble = Ensemble::from([(begin, (1.0, Matrix::zeros()))]);
    let mut last = f64::NAN;
    // Next to nothing is left of 0.995, and of 0.98, after so many periods.
    let longest = if jobs.kinds.len() == 1 { 6_000 } else { 1_500 };
    for _ in 0..(longest * ticks).div_ceil(block) {
        let mut cost = 0.0;
        for _ in 0..block {
            let mut moved = Ensemble::new();
            let before = std::mem::take(&mut ensemble);
            for (mut state, (share, p)) in tick(&machine, action, &jobs.kinds, jobs.next, before) {
                cost += machine.cost.dot(&p) + share * machine.cost_of_noise;
                let p = machine.flow * p * machine.flow.transpose() + machine.noise * share;
                state.left -= u32::from(state.left > 0);
                state.phase += u32::from(!state.stopped);
                put(&mut moved, state, share, &p);
            }
            ensemble = moved;
        }
        let cost = cost / (period_s * f64::from(block) / f64::from(ticks));
        if (cost / last - 1.0).abs() < 1e-10 {
            return cost;
        }
        if cost > 1e12 {
            break;
        }
        last = cost;
    }
    f64::INFINITY
}

/// Execution times in tenths of a period.
type Tenths = (u32, u32);

/// Each with its share; one that is a range is put on a lattice of so many ticks, at the middles of parts of two ticks.
fn on_lattice(kinds: &[(f64, Tenths)], ticks: u32) -> (Vec<(u32, f64)>, Vec<usize>) {
    let (mut all, mut of) = (Vec::new(), Vec::new());
    for (number, (share, (low, high))) in kinds.iter().enumerate() {
        let (low, high) = (low * ticks / 10, high * ticks / 10);
        let parts = if high > low { (high - low) / 2 } else { 1 };
        for part in 0..parts {
            all.push((if high > low { low + 2 * part + 1 } else { low }, share / f64::from(parts)));
            of.push(number);
        }
    }
    (all, of)
}

struct Cell {
    kinds: Vec<(f64, Tenths)>,
    /// Kinds of this chain in place of independent ones.
    chain: Option<[[f64; 2]; 2]>,
}

impl Cell {
    fn of(kinds: &[(f64, Tenths)]) -> Cell {
        Cell { kinds: kinds.to_vec(), chain: None }
    }

    fn execution(&self, h: i64) -> Execution {
        let tenth = |n: u32| f64::from(n) * h as f64 / 10.0;
        let kinds = self.kinds.iter().map(|(share, (low, high))| Kind {
            share: *share,
            low_ns: tenth(*low),
            high_ns: tenth(*high),
        });
        match self.chain {
            None => Execution::independent(kinds.collect()),
            Some(rows) => Execution::chain(kinds.collect(), DMatrix::from_fn(2, 2, |i, j| rows[i][j])),
        }
    }

    fn is_range(&self) -> bool {
        self.kinds.iter().any(|(_, (low, high))| high > low)
    }

    fn cost(&self, plant: &Plant, h: i64, action: OverrunAction) -> f64 {
        let of = |ticks: u32| {
            let (kinds, of) = on_lattice(&self.kinds, ticks);
            let next = |after: usize, before: usize| match self.chain {
                None => kinds[after].1,
                Some(rows) => rows[of[before]][of[after]],
            };
            by_ticks(plant, h, ticks, &OnLattice { kinds: kinds.clone(), next: &next }, action)
        };
        if !self.is_range() {
            return of(10);
        }
        // The error falls with the square of the width of the parts.
        let (coarse, fine) = (of(20), of(40));
        if coarse.is_finite() { (4.0 * fine - coarse) / 3.0 } else { fine }
    }
}

/// Execution times from a tenth of a period to two of them: constant, of two and three values, in rows, of ranges.
fn cells() -> Vec<Cell> {
    let mut cells: Vec<Cell> = (1..=20).map(|tenths| Cell::of(&[(1.0, (tenths, tenths))])).collect();
    let points = |values: &[(f64, u32)]| {
        Cell::of(&values.iter().map(|(share, v)| (*share, (*v, *v))).collect::<Vec<_>>())
    };
    cells.extend([
        points(&[(0.8, 3), (0.2, 15)]),
        points(&[(0.9, 5), (0.1, 23)]),
        points(&[(0.7, 6), (0.3, 10)]),
        points(&[(0.5, 8), (0.5, 12)]),
        points(&[(0.9, 8), (0.1, 12)]),
        points(&[(0.8, 2), (0.2, 20)]),
        points(&[(0.3, 10), (0.7, 14)]),
        points(&[(0.7, 3), (0.2, 10), (0.1, 20)]),
        points(&[(0.6, 1), (0.3, 11), (0.1, 17)]),
        points(&[(0.5, 9), (0.4, 10), (0.1, 13)]),
    ]);
    let rows = |a: u32, b: u32, chain| Cell { chain: Some(chain), ..points(&[(0.5, a), (0.5, b)]) };
    cells.extend([rows(7, 13, [[0.9, 0.1], [0.4, 0.6]]), rows(4, 20, [[0.95, 0.05], [0.5, 0.5]])]);
    cells.extend([
        Cell::of(&[(1.0, (4, 9))]),
        Cell::of(&[(1.0, (5, 13))]),
        Cell::of(&[(1.0, (8, 12))]),
        Cell::of(&[(0.9, (1, 5)), (0.1, (10, 16))]),
        Cell::of(&[(0.85, (6, 8)), (0.15, (20, 20))]),
    ]);
    cells
}

#[test]
fn jobs_cost_what_a_machine_of_ticks_finds() {
    let mut compared = 0;
    for (name, h) in [("dc-servo", 4_000_000), ("ball-screw", 1_000_000)] {
        let plant: Plant = catalog::find(name, None).unwrap();
        for (place, cell) in cells().into_iter().enumerate() {
            let execution = cell.execution(h);
            for action in ["skip", "skip/zero", "re-phase", "kill", "kill/zero", "catch-up"] {
                let action: OverrunAction = action.parse().unwrap();
                // Where a task works about as long as its period by chance, or longer, its backlog wanders for ever; and some put it
                // on too many places for a slow loop.
                let works = execution.mean_ns() / h as f64;
                let is_slow = name == "ball-screw";
                let random = cell.kinds.len() > 1 || cell.is_range();
                let late = execution.longest_ns() > if is_slow { 1.3 } else { 3.0 } * h as f64;
                let many = random && (late || works > 0.95);
                if action.late == Late::CatchUp && many {
                    continue;
                }
                // Of the slow loop each third cell that is not constant.
                if random && is_slow && place % 3 != 0 {
                    continue;
                }
                let question = Question { overrun: action, ..Question::of(plant.clone(), h) };
                let found = question.under(&execution).unwrap();
                // What hardly fades needs longer than the machine goes on.
                let fades = if random { 0.98 } else { 0.995 };
                if found.is_stable() && found.radius_per_period > fades {
                    continue;
                }
                let cost = cell.cost(&plant, h, action);
                let is_same = found.cost == cost || (found.cost / cost - 1.0).abs() < 1e-6;
                assert!(is_same, "{name} {:?} {action}: {} {cost}", cell.kinds, found.cost);
                compared += 1;
            }
        }
    }
    println!("{compared} cells");
    assert!(compared > 300, "{compared}");
}
