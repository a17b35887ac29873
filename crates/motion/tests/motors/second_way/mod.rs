//! A machine that goes through absolute time from event to event. For each state of the processor it has the
//! probability and the loop's covariance there. Its state after a window of time is a linear function of the
//! one before; the equation for the stationary state is solved by the subspace of its powers.

mod powers;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use nalgebra::{DMatrix, DVector, SMatrix};
use powers::{Powers, fixed_point};

type Matrix<const N: usize> = SMatrix<f64, N, N>;

/// Action for a job that is not finished when its task is due again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrunPolicy {
    Skip,
    CatchUp,
    RePhase,
    Kill,
}

/// Time at which the output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    End,
    Start,
    NextStart,
    NextDue,
}

/// A task: execution times of its kinds of jobs in ns, the chances of each kind after another, and its wait
/// before a start.
#[derive(Debug, Clone)]
pub struct Asked {
    pub kinds: Vec<i64>,
    pub rows: Vec<Vec<f64>>,
    pub late: OverrunPolicy,
    pub zeroes: bool,
    pub wait: i64,
    pub when: When,
    /// States that are rarer than this do not count.
    pub rarest: f64,
}

/// The loop after a long time: mean cost, radius per period, and periods from one start to the next.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    pub cost: f64,
    pub radius: f64,
    pub interval: f64,
    /// No state was left out for being rare: without those the radius is too small.
    pub is_whole: bool,
}

/// A loop in the state [x; u; v; s; xc]: the plant, its input, an output that waits, the last sample, the controller.
pub struct Closed<const N: usize> {
    states: usize,
    a: Matrix<N>,
    intensity: Matrix<N>,
    rate: Matrix<N>,
    /// Variance of a sample's error.
    error: f64,
    /// K, 1/Ti and Td.
    law: [f64; 3],
}

/// 1000/(s (s + 1)), PD: `data/plants/dc-servo.toml`.
pub fn dc_servo() -> Closed<6> {
    let (mut a, mut intensity, mut rate) = (Matrix::zeros(), Matrix::zeros(), Matrix::zeros());
    (a[(0, 0)], a[(0, 2)], a[(1, 0)]) = (-1.0, 1.0, 1_000.0);
    intensity[(0, 0)] = 1.0;
    (rate[(1, 1)], rate[(2, 2)]) = (1.0, 1.0);
    Closed { states: 2, a, intensity, rate, error: 0.0, law: [1.5, 0.0, 0.035] }
}

/// 4.545e7/(s (s + 9.09) (s + 6283)), PID: `data/plants/ball-screw.toml`.
pub fn ball_screw() -> Closed<8> {
    let (mut a, mut intensity, mut rate) = (Matrix::zeros(), Matrix::zeros(), Matrix::zeros());
    (a[(0, 0)], a[(0, 3)]) = (-6_283.0, 6_283.0);
    (a[(1, 0)], a[(1, 1)]) = (1.0, -9.09);
    a[(2, 1)] = 4.545e7 / 6_283.0;
    intensity[(0, 0)] = 4.5e-4 * 6_283.0 * 6_283.0;
    (rate[(2, 2)], rate[(3, 3)]) = (1e4, 1.0);
    Closed { states: 3, a, intensity, rate, error: 1e-7, law: [2.4, 1.0 / 0.08, 0.012] }
}

/// Effect of a stretch of time: z = phi z + noise, cost = rate . covariance + of the noise itself.
struct Stretch<const N: usize> {
    phi: Matrix<N>,
    noise: Matrix<N>,
    cost: Matrix<N>,
    of_noise: f64,
}

/// The state of the processor. Times in ns from now; -1: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Processor {
    due: i64,
    /// End of the job at work.
    left: i64,
    /// Start of the job that is due.
    begins: i64,
    /// Jobs that wait for the one at work.
    waiting: u32,
    /// Kind of the last job, if the next one depends on it.
    kind: usize,
    /// An output waits to be written.
    pending: bool,
}

type Ensemble<const N: usize> = BTreeMap<(i64, Processor), (f64, Matrix<N>)>;

fn add_share<const N: usize>(to: &mut Ensemble<N>, at: (i64, Processor), share: f64, covariance: &Matrix<N>) {
    let entry = to.entry(at).or_insert_with(|| (0.0, Matrix::zeros()));
    entry.0 += share;
    entry.1 += covariance;
}

pub struct Machine<const N: usize> {
    closed: Closed<N>,
    period: i64,
    sample: Matrix<N>,
    finish: Matrix<N>,
    compute: Matrix<N>,
    write: Matrix<N>,
    zero: Matrix<N>,
    stretches: RefCell<HashMap<i64, Rc<Stretch<N>>>>,
}

impl<const N: usize> Machine<N> {
    pub fn new(closed: Closed<N>, period: i64) -> Machine<N> {
        let n = closed.states;
        let (u, v, s, last, sum) = (n, n + 1, n + 2, n + 3, n + 4);
        let with = |row: usize, entries: &[(usize, f64)]| {
            let mut act = Matrix::<N>::identity();
            act.row_mut(row).fill(0.0);
            entries.iter().for_each(|(column, value)| act[(row, *column)] = *value);
            act
        };
        let h = period as f64 * 1e-9;
        let [k, per_ti, td] = closed.law;
        let commit = |to: usize| {
            let mut act = with(to, &[(s, -k * (1.0 + td / h + h * per_ti)), (last, k * td / h)]);
            act.row_mut(last).fill(0.0);
            act[(last, s)] = 1.0;
            if sum < N {
                act[(to, sum)] = -k * per_ti;
                act[(sum, s)] = h;
            }
            act
        };
        Machine {
            period,
            sample: with(s, &[(n - 1, 1.0)]),
            finish: commit(u),
            compute: commit(v),
            write: with(u, &[(v, 1.0)]),
            zero: with(u, &[]),
            stretches: RefCell::default(),
            closed,
        }
    }

    /// Transition, noise and cost of a stretch of time, by the first terms of their series and doubling.
    fn stretch(&self, ns: i64) -> Rc<Stretch<N>> {
        if let Some(known) = self.stretches.borrow().get(&ns) {
            return Rc::clone(known);
        }
        const DOUBLINGS: i32 = 14;
        let Closed { a, intensity, rate, .. } = &self.closed;
        let t = ns as f64 * 1e-9 / 2f64.powi(DOUBLINGS);
        let (mut phi, mut term) = (Matrix::identity(), Matrix::identity());
        let (mut noise, mut of_time) = (intensity * t, intensity * t);
        let (mut cost, mut of_rate) = (rate * t, rate * t);
        for k in 1..6 {
            term = a * term * (t / f64::from(k));
            phi += term;
            let next = t / f64::from(k + 1);
            of_time = (a * of_time + of_time * a.transpose()) * next;
            of_rate = (a.transpose() * of_rate + of_rate * a) * next;
            noise += of_time;
            cost += of_rate;
        }
        let mut of_noise = rate.dot(intensity) * t * t / 2.0;
        for _ in 0..DOUBLINGS {
            of_noise = 2.0 * of_noise + cost.dot(&noise);
            cost += phi.transpose() * cost * phi;
            noise += phi * noise * phi.transpose();
            phi *= phi;
        }
        let made = Rc::new(Stretch { phi, noise, cost, of_noise });
        self.stretches.borrow_mut().insert(ns, Rc::clone(&made));
        made
    }

    /// Applies all events at this instant: the end of a job, then a due time, then a start. A job that just ends has
    /// missed the due time, and its output overrules the zero of that.
    fn instant(
        &self,
        asked: &Asked,
        mut now: Processor,
        share: f64,
        mut p: Matrix<N>,
        mut give: impl FnMut(Processor, f64, &Matrix<N>),
    ) -> f64 {
        let act = |e: &Matrix<N>, p: &mut Matrix<N>| *p = e * *p * e.transpose();
        let (is_due, was_at_work) = (now.due == 0, now.left >= 0);
        let is_killed = is_due && asked.late == OverrunPolicy::Kill && (was_at_work || now.begins >= 0);
        let is_done = now.left == 0 && !is_killed;
        if is_killed {
            (now.left, now.begins) = (-1, -1);
        } else if is_done {
            now.left = -1;
            match asked.when {
                When::End => act(&self.finish, &mut p),
                When::NextStart | When::NextDue => {
                    act(&self.compute, &mut p);
                    now.pending = true;
                }
                When::Start => {}
            }
        }
        let mut served = false;
        if is_due {
            now.due = self.period;
            let is_missed = was_at_work || now.begins >= 0;
            let begins_anew = asked.late == OverrunPolicy::RePhase && is_missed;
            served = matches!(asked.late, OverrunPolicy::CatchUp | OverrunPolicy::Kill) || !is_missed;
            // An output that comes just then stays.
            let has_output = is_done && asked.when == When::End;
            if asked.zeroes && !has_output && (is_killed || is_missed && asked.late == OverrunPolicy::Skip) {
                act(&self.zero, &mut p);
            }
            if begins_anew && !is_done {
                now.due = -1;
            }
            if now.pending && asked.when == When::NextDue && !begins_anew {
                act(&self.write, &mut p);
                now.pending = false;
            }
        } else if is_done && now.due < 0 && asked.late == OverrunPolicy::RePhase {
            now.due = self.period;
        }
        if served {
            now.begins = asked.wait;
        }
        let mut starts = false;
        if now.begins == 0 {
            now.begins = -1;
            starts = true;
        }
        if asked.late == OverrunPolicy::CatchUp {
            now.waiting += u32::from(starts && now.waiting < ENDLESS);
            starts = now.left < 0 && now.waiting > 0;
            now.waiting -= u32::from(starts && now.waiting < ENDLESS);
        }
        if !starts {
            give(now, share, &p);
            return 0.0;
        }
        if now.pending && asked.when == When::NextStart {
            act(&self.write, &mut p);
            now.pending = false;
        }
        act(&self.sample, &mut p);
        p[(self.closed.states + 2, self.closed.states + 2)] += self.closed.error * share;
        if asked.when == When::Start {
            act(&self.finish, &mut p);
        }
        let forgets = asked.rows.iter().all(|row| *row == asked.rows[0]);
        for (kind, chance) in asked.rows[now.kind].iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
            let next = Processor { left: asked.kinds[kind], kind: if forgets { 0 } else { kind }, ..now };
            give(next, share * chance, &(p * *chance));
        }
        share
    }

    /// A window of time from these states: the contents of each state at its end, the cost, and the number of
    /// jobs started.
    fn window(&self, asked: &Asked, length: i64, mut open: Ensemble<N>) -> (Ensemble<N>, f64, f64) {
        let (mut end, mut cost, mut started) = (Ensemble::new(), 0.0, 0.0);
        while let Some(((time, state), (share, p))) = open.pop_first() {
            let times = [state.due, state.left, state.begins];
            let next = times.into_iter().filter(|t| *t >= 0).min().unwrap_or(i64::MAX);
            let passed = next.min(length - time);
            let stretch = self.stretch(passed);
            cost += stretch.cost.dot(&p) + stretch.of_noise * share;
            let p = stretch.phi * p * stretch.phi.transpose() + stretch.noise * share;
            let later = |t: i64| if t < 0 { t } else { t - passed };
            let state = Processor {
                due: later(state.due),
                left: later(state.left),
                begins: later(state.begins),
                ..state
            };
            let time = time + passed;
            if time == length {
                add_share(&mut end, (0, state), share, &p);
            } else {
                started += self
                    .instant(asked, state, share, p, |s, share, p| add_share(&mut open, (time, s), share, p));
            }
        }
        (end, cost, started)
    }

    /// Cost and spectral radius of the loop after a long time.
    pub fn stationary(&self, asked: &Asked) -> Found {
        let h = self.period;
        let longest = asked.kinds.iter().copied().fold(0, i64::max);
        let mut length = h;
        let mut begin = Processor { due: 0, left: -1, begins: -1, waiting: 0, kind: 0, pending: false };
        if asked.late == OverrunPolicy::CatchUp && self.mean_work(asked) >= h as f64 - 1e-6 {
            // It is never done: jobs back to back, for ever.
            let due = if asked.when == When::NextDue { (h - asked.wait) % h } else { -1 };
            begin = Processor { due, left: 0, waiting: ENDLESS, ..begin };
            length = if asked.kinds.len() == 1 && due < 0 { longest } else { h };
        } else if asked.late == OverrunPolicy::RePhase && asked.kinds.len() == 1 && longest + asked.wait >= h
        {
            length = asked.wait + longest + h;
        }
        let reached = self.reached(asked, length, begin);
        let shares = &reached.shares;
        // Plain windows first, for the sizes of the coordinates.
        let mut size = DVector::from_element(N, 1.0);
        let mut x = DVector::zeros(reached.unknown_count::<N>());
        for _ in 0..30 {
            x = reached.pack(&self.window(asked, length, reached.unpack(&x, shares, &size)).0, &size);
        }
        let diagonal =
            reached.unpack::<N>(&x, shares, &size).values().fold(Matrix::<N>::zeros(), |sum, e| sum + e.1);
        for i in 0..N {
            size[i] = if diagonal[(i, i)] > 0.0 { diagonal[(i, i)].sqrt() } else { 1.0 };
        }
        let none = DVector::zeros(shares.len());
        let map = |x: &DVector<f64>| {
            reached.pack(&self.window(asked, length, reached.unpack(x, &none, &size)).0, &size)
        };
        let zero = DVector::zeros(x.len());
        let noise = reached.pack(&self.window(asked, length, reached.unpack(&zero, shares, &size)).0, &size);
        let radius = Powers::new(&map, &noise, 200).radius().powf(h as f64 / length as f64);
        let solution = if radius < 1.0 - 1e-9 { fixed_point(&map, &noise) } else { None };
        let begin = reached.unpack(solution.as_ref().unwrap_or(&zero), shares, &size);
        let (_, cost, started) = self.window(asked, length, begin);
        let cost = if solution.is_some() { cost / (length as f64 * 1e-9) } else { f64::INFINITY };
        Found { is_whole: reached.is_whole, cost, radius, interval: length as f64 / h as f64 / started }
    }

    /// Mean execution time, by the shares after many jobs.
    fn mean_work(&self, asked: &Asked) -> f64 {
        let kinds = asked.kinds.len();
        let rows = DMatrix::from_fn(kinds, kinds, |i, j| asked.rows[i][j]);
        let mut shares = DMatrix::from_element(1, kinds, 1.0 / kinds as f64);
        (0..400).for_each(|_| shares = &shares * &rows);
        asked.kinds.iter().zip(shares.iter()).map(|(x, share)| *x as f64 * share).sum()
    }

    /// States that are reached at the begins of windows, without those in which next to no window begins.
    fn reached(&self, asked: &Asked, length: i64, begin: Processor) -> Reached {
        let (mut states, mut numbers) = (vec![begin], HashMap::from([(begin, 0)]));
        let mut ways: Vec<(usize, usize, f64)> = Vec::new();
        // Probability of the best known way to each state.
        let mut odds = vec![1.0];
        let (mut from, mut is_whole) = (0, true);
        while from < states.len() {
            let open = Ensemble::from([((0, states[from]), (1.0, Matrix::zeros()))]);
            for ((_, state), (share, _)) in self.window(asked, length, open).0 {
                let odd = odds[from] * share;
                let to = match numbers.get(&state) {
                    Some(to) => *to,
                    None if odd < asked.rarest => {
                        is_whole = false;
                        continue;
                    }
                    None => {
                        states.push(state);
                        odds.push(odd);
                        numbers.insert(state, states.len() - 1);
                        states.len() - 1
                    }
                };
                ways.push((from, to, share));
            }
            from += 1;
        }
        // Their shares stay the same from window to window, and add up to one.
        let count = states.len();
        let mut system = DMatrix::from_element(count, count, 1.0 / count as f64);
        system.fill_diagonal(1.0 + 1.0 / count as f64);
        ways.iter().for_each(|(from, to, share)| system[(*to, *from)] -= share);
        let shares = system.lu().solve(&DVector::from_element(count, 1.0 / count as f64));
        let mut shares = shares.unwrap_or_else(|| DVector::zeros(count));
        shares /= shares.sum();
        Reached { states, numbers, shares, is_whole }
    }
}

/// Number of waiting jobs that means there is always one.
const ENDLESS: u32 = u32::MAX;
/// The states at the begins of windows, with their shares.
struct Reached {
    states: Vec<Processor>,
    numbers: HashMap<Processor, usize>,
    shares: DVector<f64>,
    is_whole: bool,
}

impl Reached {
    fn unknown_count<const N: usize>(&self) -> usize {
        self.states.len() * N * (N + 1) / 2
    }

    /// The covariances of these unknowns, which are in units of `size`.
    fn unpack<const N: usize>(
        &self,
        x: &DVector<f64>,
        shares: &DVector<f64>,
        size: &DVector<f64>,
    ) -> Ensemble<N> {
        let mut values = x.iter();
        let mut all = Ensemble::new();
        for (state, share) in self.states.iter().zip(shares.iter()) {
            let mut p = Matrix::zeros();
            for j in 0..N {
                for i in 0..=j {
                    p[(i, j)] = values.next().map_or(0.0, |v| v * size[i] * size[j]);
                    p[(j, i)] = p[(i, j)];
                }
            }
            all.insert((0, *state), (*share, p));
        }
        all
    }

    fn pack<const N: usize>(&self, all: &Ensemble<N>, size: &DVector<f64>) -> DVector<f64> {
        let each = N * (N + 1) / 2;
        let mut x = DVector::zeros(self.unknown_count::<N>());
        for ((_, state), (_, p)) in all {
            let Some(number) = self.numbers.get(state) else { continue };
            let mut at = number * each;
            for j in 0..N {
                for i in 0..=j {
                    x[at] = p[(i, j)] / (size[i] * size[j]);
                    at += 1;
                }
            }
        }
        x
    }
}
