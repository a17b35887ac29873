//! A solver of its own for jobs on a lattice: a machine that goes through absolute time tick by tick. It knows no jobs' maps, no
//! steps of a schedule and no ratio of means: only which state the processor is in, and one matrix exponential a tick.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::collections::BTreeMap;

use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Controller, Execution, Kind, Late, OverrunAction, Plant, Question, Without};
use nalgebra::DMatrix;

/// Ticks of a period.
const TICKS: u32 = 10;

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
    flow: DMatrix<f64>,
    /// Noise of a tick, and the cost of a tick: on the covariance, and of its own noise.
    noise: DMatrix<f64>,
    cost: DMatrix<f64>,
    cost_of_noise: f64,
    sample: (DMatrix<f64>, DMatrix<f64>),
    finish: DMatrix<f64>,
    zero: DMatrix<f64>,
}

impl Machine {
    fn new(plant: &Plant, c: &Controller, tick_s: f64) -> Machine {
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
        Machine { flow, noise, cost, cost_of_noise, sample: (sample, error), finish, zero }
    }
}

/// What is in a state of the processor: its probability, and the covariance times it.
type Ensemble = BTreeMap<Processor, (f64, DMatrix<f64>)>;

fn put(to: &mut Ensemble, state: Processor, share: f64, covariance: DMatrix<f64>) {
    let entry =
        to.entry(state).or_insert_with(|| (0.0, DMatrix::zeros(covariance.nrows(), covariance.nrows())));
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
    let mut after = Ensemble::new();
    for (mut state, (share, mut p)) in before {
        if share < 1e-13 {
            continue;
        }
        let apply = |e: &DMatrix<f64>, p: &DMatrix<f64>| e * p * e.transpose();
        let is_due = state.phase == TICKS;
        let was_idle = state.left == 0;
        let is_killed = is_due && !was_idle && action.late == Late::Kill;
        if is_killed {
            state.left = 0;
            if action.without == Without::Zero {
                p = apply(&machine.zero, &p);
            }
        } else if state.left == 1 {
            state.left = 0;
            p = apply(&machine.finish, &p);
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
            put(&mut after, state, share, p);
            continue;
        }
        state.waiting = state.waiting.saturating_sub(1);
        let p = apply(&machine.sample.0, &p) + &machine.sample.1 * share;
        for (kind, (ticks, _)) in kinds.iter().enumerate() {
            let part = next(kind, state.kind);
            if part > 0.0 {
                put(&mut after, Processor { left: ticks + 1, kind, ..state }, share * part, &p * part);
            }
        }
    }
    after
}

/// Periods of a block: whole cycles of every constant execution time here.
const BLOCK: usize = 12;

/// The mean cost after so many blocks that nothing changes any more, or infinite.
fn by_ticks(plant: &Plant, period_ns: i64, execution: &Execution, action: OverrunAction) -> f64 {
    let controller = plant.design.controller(plant, period_ns, 0).unwrap();
    let tick_s = period_ns as f64 * 1e-9 / f64::from(TICKS);
    let machine = Machine::new(plant, &controller, tick_s);
    let kinds: Vec<(u32, f64)> = execution
        .kinds()
        .iter()
        .map(|k| ((k.low_ns / period_ns as f64 * f64::from(TICKS)).round() as u32, k.share))
        .collect();
    let next = |kind: usize, before: usize| execution.follows(kind, before);
    let size = machine.flow.nrows();
    let begin = Processor { phase: TICKS, left: 0, waiting: 0, kind: 0, stopped: false };
    let mut ensemble = Ensemble::from([(begin, (1.0, DMatrix::zeros(size, size)))]);
    let mut last = f64::NAN;
    // 0.99^(12 * 250) is nothing.
    for _ in 0..250 {
        let mut cost = 0.0;
        for _ in 0..BLOCK * TICKS as usize {
            let mut moved = Ensemble::new();
            for (mut state, (share, p)) in
                tick(&machine, action, &kinds, &next, std::mem::take(&mut ensemble))
            {
                cost += machine.cost.dot(&p) + share * machine.cost_of_noise;
                let p = &machine.flow * p * machine.flow.transpose() + &machine.noise * share;
                state.left -= u32::from(state.left > 0);
                state.phase += u32::from(!state.stopped);
                put(&mut moved, state, share, p);
            }
            ensemble = moved;
        }
        let cost = cost / (tick_s * f64::from(TICKS) * BLOCK as f64);
        if (cost / last - 1.0).abs() < 1e-11 {
            return cost;
        }
        if cost > 1e12 {
            break;
        }
        last = cost;
    }
    f64::INFINITY
}

fn two(a: f64, b: f64, share: f64, h: i64) -> Execution {
    let kind = |share, x: f64| Kind { share, low_ns: x * h as f64, high_ns: x * h as f64 };
    Execution::independent(vec![kind(1.0 - share, a), kind(share, b)])
}

fn rows(a: f64, b: f64, h: i64) -> Execution {
    let kind = |x: f64| Kind { share: 0.5, low_ns: x * h as f64, high_ns: x * h as f64 };
    Execution::chain(vec![kind(a), kind(b)], DMatrix::from_row_slice(2, 2, &[0.9, 0.1, 0.4, 0.6]))
}

#[test]
fn jobs_cost_what_a_machine_of_ticks_finds() {
    let mut compared = 0;
    for (name, h) in [("dc-servo", 4_000_000), ("ball-screw", 1_000_000)] {
        let plant: Plant = catalog::find(name, None).unwrap();
        let distributions = [
            ("0.1", Execution::constant(0.1 * h as f64)),
            ("0.7", Execution::constant(0.7 * h as f64)),
            ("1.0", Execution::constant(h as f64)),
            ("1.4", Execution::constant(1.4 * h as f64)),
            ("0.3 or 1.5", two(0.3, 1.5, 0.2, h)),
            ("0.5 or 2.3", two(0.5, 2.3, 0.1, h)),
            ("0.6 or 1.0", two(0.6, 1.0, 0.3, h)),
            ("0.7 and 1.3 in rows", rows(0.7, 1.3, h)),
        ];
        for (told, execution) in &distributions {
            for action in ["skip", "re-phase", "kill", "kill/zero", "catch-up"] {
                let action: OverrunAction = action.parse().unwrap();
                // A task that never catches up has no stationary backlog.
                if action.late == Late::CatchUp && execution.mean_ns() >= h as f64 {
                    continue;
                }
                let found =
                    Question { overrun: action, ..Question::of(plant.clone(), h) }.under(execution).unwrap();
                // The machine has to go on until it has forgotten where it began.
                let is_slow = found.is_stable() && found.radius_per_period > 0.96;
                if is_slow && execution.kinds().len() > 1 {
                    continue;
                }
                let cost = by_ticks(&plant, h, execution, action);
                let is_same = found.cost == cost || (found.cost / cost - 1.0).abs() < 1e-7;
                assert!(is_same, "{name} {told} {action}: {} {cost}", found.cost);
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}
