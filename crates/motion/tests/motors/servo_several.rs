//! Several loops of one run: two rates, cascades, and tasks that share a processor.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use jitterlab_model::Activation;
use jitterlab_motion::JudgedRun;
use jitterlab_motion::catalog::{self, Device};
use jitterlab_motion::servo::{
    AssessmentOptions, Design, Gains, GivenTimes, Guarantee, LoopAssessment, LoopTask, LoopUnderRun,
    MissedJobs, MultiTaskLoop, OverrunAction, Plant, PlantResult, Redesign, RedesignKind, Schedule,
    SingleTaskLoop, TaskSummary, TaskTiming,
};
use nalgebra::{DMatrix, DVector};

const MS: i64 = 1_000_000;

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

/// Jitterbug's example of a ball and a beam: phi = 4.4/s u, x = -9/s^2 phi, mean of x^2 + phi^2. The outer controller is
/// 0.2 (1 + 1/(10 s) + s/(1 + s/10)) by matched poles and zeros, with the gain of the continuous one at s = 0.1/h, as MATLAB has it where
/// there is an integrator; the inner one is 4.
fn ball_and_beam(design_period_s: f64) -> (Plant, [f64; 3], [f64; 3]) {
    let h = design_period_s;
    let root = |sign: f64| (-2.02 + sign * (2.02f64 * 2.02 - 4.0 * 2.2 * 0.2).sqrt()) / 4.4;
    let (z1, z2, p2) = ((root(1.0) * h).exp(), (root(-1.0) * h).exp(), (-10.0 * h).exp());
    let (zeros, poles) = ([1.0, -(z1 + z2), z1 * z2], [1.0, -(1.0 + p2), p2]);
    let at = |p: [f64; 3], z: f64| (p[0] * z + p[1]) * z + p[2];
    let s = 0.1 / h;
    let continuous = (2.2 * s * s + 2.02 * s + 0.2) / (s * s + 10.0 * s);
    let gain = continuous * at(poles, (s * h).exp()) / at(zeros, (s * h).exp());
    let numerator = zeros.map(|c| -gain * c);
    let text = format!(
        "name = 'ball and beam'\noutputs = ['ball', 'beam']\n[state_space]\na = [[0, 0, 0], [-9, 0, 0], [0, 1, 0]]\n\
         b = [[4.4], [0], [0]]\nc = [[0, 0, 1], [1, 0, 0]]\n\
         [[loop]]\nname = 'inner'\nreads = 'beam'\nwrites = 'input'\nperiod = '50 ms'\n\
         controller = {{ kind = 'pd', gain = 4, derivative_time = '0 s' }}\n\
         [[loop]]\nname = 'outer'\nreads = 'ball'\nwrites = 'inner'\nperiod = '100 ms'\n\
         controller = {{ kind = 'transfer-function', numerator = {numerator:?}, denominator = {poles:?} }}\n"
    );
    (Plant::from_toml("ball and beam", &text).unwrap(), numerator, poles)
}

fn multi_task_loop(plant: &Plant, tasks: &[(&str, i64)], mapping: &[&str]) -> MultiTaskLoop {
    let there: Vec<LoopTask> = tasks
        .iter()
        .map(|(name, period_ns)| LoopTask::new(*name, *period_ns, OverrunAction::default()))
        .collect();
    let mapping: Vec<String> = mapping.iter().map(|text| (*text).into()).collect();
    MultiTaskLoop::from_assignments(&[(None, plant.clone())], &mapping, Some(&there), TaskTiming::default())
        .unwrap()
        .remove(0)
}

/// `examples/multirate.m` of Jitterbug (Lincoln and Cervin): it contains the costs 3.3955, 1.9329 and 1.9910.
#[test]
fn jitterbug_s_ball_and_beam_of_one_and_of_two_rates() {
    let cost = |design_s, tasks: &[(&str, i64)], mapping: &[&str]| {
        let (plant, ..) = ball_and_beam(design_s);
        (multi_task_loop(&plant, tasks, mapping).ideal_stationary().unwrap().cost * 1e4).round() / 1e4
    };
    let both = ["outer=all", "inner=all"];
    assert!((cost(0.1, &[("all", 100 * MS)], &both) - 3.3955).abs() < 1e-9);
    assert!((cost(0.05, &[("all", 50 * MS)], &both) - 1.9329).abs() < 1e-9);
    assert!((cost(0.1, &[("outer", 100 * MS), ("inner", 50 * MS)], &[]) - 1.9910).abs() < 1e-9);
}

fn activation(index: u64, due_ns: i64, start_ns: i64, end_ns: i64) -> Activation {
    Activation { index, due_ns, start_ns, end_ns, ..Activation::default() }
}

fn judged(several: &MultiTaskLoop, records: &[Vec<Activation>]) -> LoopAssessment {
    let records: Vec<&[Activation]> = records.iter().map(Vec::as_slice).collect();
    several.under_run(&records, &AssessmentOptions::default()).unwrap().0
}

/// A machine of its own for the ball and beam: it knows no controllers' matrices, only sums of samples before, and one exponential a
/// stretch. z = [phi, v, x; u; ref; sample of x; of phi; of ref; e1, e2; r1, r2].
struct Machine {
    a: DMatrix<f64>,
    r: DMatrix<f64>,
    q: DMatrix<f64>,
    numerator: [f64; 3],
    denominator: [f64; 3],
}

/// A map of the covariance with its noise and its cost.
struct Map {
    f: DMatrix<f64>,
    v: DMatrix<f64>,
    s: DMatrix<f64>,
    offset: f64,
}

const Z: usize = 12;

impl Machine {
    fn new(numerator: [f64; 3], denominator: [f64; 3]) -> Machine {
        let mut a = DMatrix::zeros(Z, Z);
        (a[(0, 3)], a[(1, 0)], a[(2, 1)]) = (4.4, -9.0, 1.0);
        let (mut r, mut q) = (DMatrix::zeros(Z, Z), DMatrix::zeros(Z, Z));
        r[(0, 0)] = 4.4 * 4.4;
        (q[(0, 0)], q[(2, 2)]) = (1.0, 1.0);
        Machine { a, r, q, numerator, denominator }
    }

    /// Lets time pass, by the series of the exponential's integrals in short steps.
    fn pass(&self, map: &mut Map, time_s: f64) {
        const STEPS: usize = 8;
        let t = time_s / STEPS as f64;
        let mut phi = DMatrix::identity(Z, Z);
        let mut term = DMatrix::identity(Z, Z);
        let (mut noise, mut cost) = (&self.r * t, &self.q * t);
        let (mut noise_term, mut cost_term) = (noise.clone(), cost.clone());
        // The cost of noise: the integral of tr(Q V(s)), V' = A V + V A' + R.
        let mut of_noise = (&self.q * &noise_term).trace() * t / 2.0;
        for k in 1..14 {
            term = &self.a * &term * (t / f64::from(k));
            phi += &term;
            let next = t / f64::from(k + 1);
            noise_term = (&self.a * &noise_term + &noise_term * self.a.transpose()) * next;
            cost_term = (self.a.transpose() * &cost_term + &cost_term * &self.a) * next;
            noise += &noise_term;
            cost += &cost_term;
            of_noise += (&self.q * &noise_term).trace() * t / f64::from(k + 2);
        }
        for _ in 0..STEPS {
            map.s += map.f.transpose() * &cost * &map.f;
            map.offset += (&cost * &map.v).trace() + of_noise;
            map.f = &phi * &map.f;
            map.v = &phi * &map.v * phi.transpose() + &noise;
        }
    }

    fn apply_event(&self, map: &mut Map, event: char) {
        let mut e = DMatrix::identity(Z, Z);
        let mut row = |to: usize, from: &[(usize, f64)]| {
            e.row_mut(to).fill(0.0);
            from.iter().for_each(|(column, factor)| e[(to, *column)] += factor);
        };
        let ([b0, b1, b2], [_, a1, a2]) = (self.numerator, self.denominator);
        match event {
            'O' => row(5, &[(2, 1.0)]),
            'o' => {
                let sum = [(5, -b0), (8, b1), (9, b2), (10, -a1), (11, -a2)];
                row(4, &sum);
                row(9, &[(8, 1.0)]);
                row(8, &[(5, -1.0)]);
                row(11, &[(10, 1.0)]);
                row(10, &sum);
            }
            'I' => {
                row(6, &[(0, 1.0)]);
                row(7, &[(4, 1.0)]);
            }
            _ => row(3, &[(7, 4.0), (6, -4.0)]),
        }
        map.f = &e * &map.f;
        map.v = &e * &map.v * e.transpose();
    }

    /// A cycle of events at times in ns.
    fn cycle(&self, events: &[(i64, char)], length_ns: i64) -> Map {
        let zeros = DMatrix::zeros(Z, Z);
        let mut map = Map { f: DMatrix::identity(Z, Z), v: zeros.clone(), s: zeros, offset: 0.0 };
        let mut now = 0;
        for (time, event) in events {
            self.pass(&mut map, (time - now) as f64 * 1e-9);
            self.apply_event(&mut map, *event);
            now = *time;
        }
        self.pass(&mut map, (length_ns - now) as f64 * 1e-9);
        map
    }
}

/// The waits and works of the outer job and of the two inner ones of a cycle, in ms: in time, late within it, and with an inner job
/// that overruns its due time.
const CYCLES: [[(i64, i64); 3]; 4] = [
    [(2, 8), (1, 4), (3, 5)],
    [(20, 45), (11, 17), (0, 30)],
    [(5, 60), (1, 2), (7, 40)],
    [(1, 10), (3, 58), (-1, 0)],
];

/// The jobs of these cycles, one after the other; an inner job that would be due before the one before ends is skipped.
fn records(order: &[usize]) -> Vec<Vec<Activation>> {
    let (mut outer, mut inner) = (Vec::new(), Vec::new());
    for (k, cycle) in order.iter().enumerate() {
        let [of_outer, first, second] = CYCLES[*cycle];
        let at = |due: i64, (wait, work): (i64, i64)| (due, due + wait * MS, due + (wait + work) * MS);
        let begin = k as i64 * 100 * MS;
        let (due, start, end) = at(begin, of_outer);
        outer.push(activation(k as u64, due, start, end));
        for (number, job) in [(0, first), (1, second)] {
            if job.0 >= 0 {
                let (due, start, end) = at(begin + number * 50 * MS, job);
                inner.push(activation(2 * k as u64 + number as u64, due, start, end));
            }
        }
    }
    vec![outer, inner]
}

fn events(cycle: [(i64, i64); 3]) -> Vec<(i64, char)> {
    let [outer, first, second] = cycle;
    let job = |due: i64, (wait, work): (i64, i64), start: char, end: char| {
        [((due + wait) * MS, start), ((due + wait + work) * MS, end)]
    };
    let mut all = [job(0, outer, 'O', 'o'), job(0, first, 'I', 'i')].concat();
    if second.0 >= 0 {
        all.extend(job(50, second, 'I', 'i'));
    }
    all.sort_by_key(|e| e.0);
    all
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0 * 16_807 % 2_147_483_647;
        self.0
    }
}

#[test]
fn a_cascade_of_two_rates_costs_what_a_machine_without_matrices_of_controllers_finds() {
    let (plant, numerator, denominator) = ball_and_beam(0.1);
    let machine = Machine::new(numerator, denominator);
    let maps: Vec<Map> = CYCLES.iter().map(|c| machine.cycle(&events(*c), 100 * MS)).collect();
    let loops = multi_task_loop(&plant, &[("outer", 100 * MS), ("inner", 50 * MS)], &[]);
    // At random; and in bursts, where the last cycle comes again with the chance of three in four.
    for burst in [false, true] {
        let mut random = Random(7);
        let mut last = 0;
        let order: Vec<usize> = (0..4_001)
            .map(|_| {
                if !burst || random.next().is_multiple_of(4) {
                    last = [0, 0, 0, 0, 0, 1, 1, 2, 2, 3][(random.next() % 10) as usize];
                }
                last
            })
            .collect();
        let found = judged(&loops, &records(&order));
        // Every cycle but the last, which has no next one to show its end.
        let counted = &order[..order.len() - 1];
        let share = |k: usize| counted.iter().filter(|c| **c == k).count() as f64 / counted.len() as f64;
        // The mean map of the covariance, as one matrix.
        let (mut all, mut noise) = (DMatrix::identity(Z * Z, Z * Z), DVector::zeros(Z * Z));
        for (k, map) in maps.iter().enumerate() {
            all -= map.f.kronecker(&map.f) * share(k);
            noise += DVector::from_column_slice(map.v.as_slice()) * share(k);
        }
        let p = DMatrix::from_column_slice(Z, Z, all.lu().solve(&noise).unwrap().as_slice());
        let paid = |(k, map): (usize, &Map)| share(k) * ((&map.s * &p).trace() + map.offset);
        let expected = maps.iter().enumerate().map(paid).sum::<f64>() / 0.1;
        near(found.evaluation.independent.cost, expected, 1e-8);
        // The run itself, from the same begin.
        let mut covariance = DMatrix::zeros(Z, Z);
        let mut cost = 0.0;
        for (place, k) in counted.iter().enumerate() {
            let map = &maps[*k];
            if place >= 1_000 {
                cost += (&map.s * &covariance).trace() + map.offset;
            }
            covariance = &map.f * &covariance * map.f.transpose() + &map.v;
        }
        near(found.evaluation.along.cost, cost / 300.0, 2e-2);
        // The loop remembers so long that an interval needs a longer run than this, and none is given.
        assert!(found.evaluation.cost_interval.is_none_or(|i| i.contains(cost / 300.0)), "{found:?}");
    }
}

/// Two tasks on one processor, preemptive: the first works 1 ms or 2.5 ms of 4 ms, the second 2.5 ms of 6 ms,
/// and each closes a servo of its own. The course of the second in 12 ms follows from the three jobs of the
/// first.
#[test]
fn loops_that_share_a_processor_are_judged_jointly() {
    let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
    let of_second = |works: usize| -> &'static [(i64, i64)] {
        match works {
            0 => &[(1000, 3500), (6000, 9500)],
            1 => &[(1000, 3500), (6000, 11000)],
            2 => &[(1000, 3500), (6500, 10000)],
            3 => &[(1000, 3500), (6500, 11500)],
            4 | 5 => &[(2500, 6000)],
            _ => &[(2500, 7500)],
        }
    };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    // Every row of three jobs as often as any other, in an order without memory.
    let mut random = Random(11);
    let mut order: Vec<usize> = (0..8_000).map(|k| k % 8).collect();
    (1..order.len()).rev().for_each(|i| order.swap(i, (random.next() % (i as u64 + 1)) as usize));
    order.push(0);
    for (k, works) in order.iter().enumerate() {
        let begin = k as i64 * 12 * MS;
        for job in 0..3 {
            let due = begin + job * 4 * MS;
            let work = if works >> (2 - job) & 1 == 1 { 5 * MS / 2 } else { MS };
            first.push(activation(3 * k as u64 + job as u64, due, due, due + work));
        }
        for (start, end) in of_second(*works) {
            let due = begin + if *start >= 6000 { 6 * MS } else { 0 };
            let index = ((due - begin) / (6 * MS)) as u64 + 2 * k as u64;
            second.push(activation(index, due, begin + start * 1000, begin + end * 1000));
        }
    }
    let there: Vec<LoopTask> = [("a", 4 * MS), ("b", 6 * MS)]
        .map(|(name, period_ns)| LoopTask::new(name, period_ns, OverrunAction::default()))
        .into();
    let asked = [(Some("a".into()), plant.clone()), (Some("b".into()), plant)];
    let both = MultiTaskLoop::from_assignments(&asked, &[], Some(&there), TaskTiming::default()).unwrap();
    let of_a = judged(&both[0], &[first.clone(), second.clone()]).evaluation;
    let of_b = judged(&both[1], &[second, first]).evaluation;
    near(of_a.independent.cost, 65.611_723_57, 1e-9);
    near(of_b.independent.cost, 243.335_992_19, 1e-9);
    near(of_b.independent.spectral_radius, 0.732_027_284_8, 1e-8);
    assert!(of_b.cost_interval.unwrap().contains(243.335_992_19));
}

/// The same two tasks from their execution times alone, put through a processor of their own making.
#[test]
fn given_times_on_one_processor_cost_what_enumeration_finds() {
    let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
    let asked = [(Some("a".into()), plant.clone()), (Some("b".into()), plant)];
    let judged = |of_a: &str, overrun: &str| -> Vec<(LoopAssessment, Vec<TaskSummary>)> {
        let texts = [format!("a@4ms={of_a}"), "b@6ms=2.5ms".into()];
        let given: Vec<GivenTimes> = texts.iter().map(|t| GivenTimes::parse(t, &asked).unwrap()).collect();
        let overrun: OverrunAction = overrun.parse().unwrap();
        let of = |g: &GivenTimes| LoopTask::new(&g.name, g.period_ns, overrun);
        let there: Vec<LoopTask> = given.iter().map(of).collect();
        let both = MultiTaskLoop::from_assignments(&asked, &[], Some(&there), TaskTiming::default()).unwrap();
        let schedule = Schedule::new(&given).unwrap();
        let wishes =
            AssessmentOptions { misses: vec!["1/2".parse().unwrap()], ..AssessmentOptions::default() };
        both.iter().map(|several| several.under_schedule(&schedule, &wishes).unwrap()).collect()
    };
    let action = |of: &(LoopAssessment, Vec<TaskSummary>), wanted: &str| {
        let wanted: OverrunAction = wanted.parse().unwrap();
        of.0.actions.iter().find(|a| a.action == wanted).unwrap().stationary.cost
    };
    // The first always short: the same cycle for ever.
    let always = judged("1ms", "skip");
    near(always[1].0.evaluation.independent.cost, 87.331_750_07, 1e-9);
    // Along the run, which ends within a cycle.
    near(always[1].0.evaluation.clustered.cost, 87.331_750_07, 1e-5);
    near(action(&always[1], "skip"), 87.331_750_07, 1e-5);
    let random = judged("1ms:0.5,2.5ms:0.5", "skip");
    near(random[0].0.evaluation.independent.cost, 65.611_723_57, 0.01);
    near(random[1].0.evaluation.independent.cost, 243.335_992_19, 0.03);
    assert!(
        random[1].0.evaluation.cost_interval.unwrap().contains(243.335_992_19),
        "{:?}",
        random[1].0.evaluation
    );
    // The cost computed for another action equals the cost of a run in which the tasks take it.
    let killed = judged("1ms:0.5,2.5ms:0.5", "kill/zero");
    near(action(&killed[1], "kill/zero"), killed[1].0.evaluation.clustered.cost, 1e-5);
    // Of the second's periods some have no output, of the first's none; each response follows its step.
    assert!(
        random[1].0.misses.iter().any(|m| m.at_most.of == 2)
            && random[0].1[0].timing.as_ref().unwrap().missed == 0
    );
    for (found, _) in &random {
        let step = &found.responses[0];
        assert!((step.ideal_points.last().unwrap().outputs[0] - 1.0).abs() < 0.05, "{:?}", step.ideal);
        assert!(step.apart.is_finite() && step.recorded_points.len() == step.ideal_points.len());
    }
}

#[test]
fn a_cascade_is_judged_by_given_times_with_its_misses_and_responses() {
    let plant: Plant = catalog::find_device("cascaded-axis", None).unwrap();
    let asked = [(None, plant)];
    let judged = |of_current: &str| -> PlantResult {
        let texts = ["position=0.1h", "speed=0.1h", of_current];
        let given: Vec<GivenTimes> = texts.iter().map(|t| GivenTimes::parse(t, &asked).unwrap()).collect();
        let of = |g: &GivenTimes| LoopTask::new(&g.name, g.period_ns, OverrunAction::default());
        let there: Vec<LoopTask> = given.iter().map(of).collect();
        let several = MultiTaskLoop::from_assignments(&asked, &[], Some(&there), TaskTiming::default())
            .unwrap()
            .remove(0);
        let wishes =
            AssessmentOptions { misses: vec!["1/10".parse().unwrap()], ..AssessmentOptions::default() };
        PlantResult::under_schedule(&several, &Schedule::new(&given).unwrap(), &wishes).unwrap()
    };
    let missed =
        |found: &PlantResult| found.tasks.iter().map(|t| t.timing.as_ref().unwrap().missed).sum::<u64>();
    let calm = judged("current=0.2h");
    assert_eq!((calm.misses_period_ns, missed(&calm)), (MS, 0));
    let calm = calm.under.unwrap();
    // The same cycle for ever, but for the begin of the run; it never misses.
    near(calm.evaluation.clustered.cost, calm.evaluation.along.cost, 1e-4);
    // No miss is in a proof of these jobs.
    assert_eq!((calm.misses[0].missed, calm.misses[0].guarantee), (MissedJobs::None, Guarantee::Undecided));
    let step = &calm.responses[0];
    assert!((step.recorded_points.last().unwrap().outputs[0] - 1.0).abs() < 0.1, "{:?}", step.recorded);
    let late = judged("current=0.2h:0.999,1.2h:0.001");
    assert!(missed(&late) > 0);
    let late = late.under.unwrap();
    assert!(!late.misses.is_empty());
    // Rare and short: the cost is nearly that of calm times, by both methods.
    near(late.evaluation.clustered.cost, late.evaluation.along.cost, 1e-3);
    near(late.evaluation.clustered.cost, calm.evaluation.clustered.cost, 1e-2);
    assert!(late.evaluation.independent.cost != calm.evaluation.independent.cost);
}

#[test]
fn loops_without_their_tasks_and_circles_are_refused() {
    let (plant, ..) = ball_and_beam(0.1);
    let bind = |mapping: &[String], there: Option<&[LoopTask]>| {
        MultiTaskLoop::from_assignments(&[(None, plant.clone())], mapping, there, TaskTiming::default())
    };
    let there = [LoopTask::new("outer", MS, OverrunAction::default())];
    let message = bind(&[], Some(&there)).unwrap_err().to_string();
    assert!(message.contains("--loop LOOP=TASK") && message.contains("outer"), "{message}");
    let message = bind(&["beam=x".into()], None).unwrap_err().to_string();
    assert!(message.contains("outer, inner"), "{message}");
    let alone = bind(&[], None).unwrap().remove(0);
    assert!(alone.ideal_stationary().is_ok());
    // The inner loop continues with the last reference, so that a margin is found for both tasks, of a whole
    // period or less.
    assert_eq!(alone.tolerated_delays_ns().unwrap().len(), 2);
    let dc: Plant = catalog::find_device("dc-servo", None).unwrap();
    let two = [(None, dc.clone()), (Some("outer".into()), dc)];
    let message = MultiTaskLoop::from_assignments(&two, &[], Some(&there), TaskTiming::default())
        .unwrap_err()
        .to_string();
    assert!(message.contains("TASK="), "{message}");
    let circle = "name = 'x'\n[transfer_function]\nnumerator = [1]\ndenominator = [1, 1]\n\
         [[loop]]\nname = 'a'\nreads = 'output'\nwrites = 'b'\nperiod = '1 ms'\ncontroller = { kind = 'pd', gain = 1, derivative_time = '0 s' }\n\
         [[loop]]\nname = 'b'\nreads = 'output'\nwrites = 'a'\nperiod = '1 ms'\ncontroller = { kind = 'pd', gain = 1, derivative_time = '0 s' }\n";
    assert!(Plant::from_toml("x", circle).unwrap_err().to_string().contains("circle"));
}

/// Jobs of a servo every 4 ms whose work comes in bursts of long and short ones.
fn bursty() -> Vec<Activation> {
    let (mut random, mut long, mut free) = (Random(5), false, 0);
    let mut run = Vec::new();
    for index in 0..6_000 {
        let due = index * 4 * MS;
        if random.next().is_multiple_of(8) {
            long = !long;
        }
        let work = if long { 32 } else { 4 } * MS / 10 + (random.next() % 400_000) as i64;
        if due >= free {
            let start = due + (random.next() % 100_000) as i64;
            free = start + work;
            run.push(activation(index as u64, due, start, free));
        }
    }
    run
}

#[test]
fn controllers_designed_anew_recover_what_they_say() {
    let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
    let noisy = Plant { measurement_noise: DMatrix::from_element(1, 1, 1e-2), ..plant };
    let run = bursty();
    let wishes = AssessmentOptions { redesign: true, ..AssessmentOptions::default() };
    let judged = |plant: &Plant, wishes: &AssessmentOptions| {
        let (question, name) =
            (SingleTaskLoop::new(plant.clone(), 4 * MS), JudgedRun::assumed("run".into(), 4 * MS, 0));
        LoopUnderRun::new(&question, name, run.as_slice(), wishes).unwrap().0.assessment
    };
    let found = judged(&noisy, &wishes).redesigns;
    assert_eq!(found.len(), 3, "{found:?}");
    for redesign in &found {
        // More lead alone does not help this loop, and the result says so.
        let helps = !matches!(redesign.redesign, RedesignKind::MeanDelay { .. });
        assert_eq!(redesign.cost < redesign.instead_of, helps, "{redesign:?}");
        let share = 1.0 - redesign.cost / redesign.instead_of;
        assert!(redesign.recovered.unwrap().contains(share), "{redesign:?}");
        // Judged by itself, from the numbers that are given out, it costs the same.
        let design = match (&redesign.gains, redesign.redesign) {
            (Gains::Pid { loops, .. }, _) => {
                let (gain, derivative_s) = (vec![loops[0].gain], vec![loops[0].derivative_time_s]);
                Design::Pid { gain, integral_s: None, derivative_s }
            }
            (Gains::StateSpace { a, b, c, d, .. }, RedesignKind::LinearQuadratic { .. }) => {
                let matrix = |rows: &[Vec<f64>], sign: f64| {
                    let all: Vec<f64> = rows.iter().flatten().map(|v| sign * v).collect();
                    DMatrix::from_row_slice(rows.len(), rows[0].len(), &all)
                };
                Design::Discrete {
                    a: matrix(a, 1.0),
                    b: matrix(b, -1.0),
                    c: matrix(c, 1.0),
                    d: matrix(d, -1.0),
                }
            }
            other => panic!("{other:?}"),
        };
        let alone = judged(&Plant { design, ..noisy.clone() }, &AssessmentOptions::default());
        near(alone.evaluation.along.cost, redesign.cost, 1e-3);
    }
    // A plant with a filter already is designed for the mean delay once.
    let filtered = judged(&Plant { design: Design::Lqg, ..noisy }, &wishes).redesigns;
    assert!(
        matches!(filtered[..], [Redesign { redesign: RedesignKind::MeanDelay { .. }, .. }]),
        "{filtered:?}"
    );
}
