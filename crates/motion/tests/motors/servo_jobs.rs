//! The exact stationary values of jobs with given execution times, against independent solvers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what cannot be")]

use jitterlab_model::Activation;
use jitterlab_motion::JudgedRun;
use jitterlab_motion::catalog::{self, Device};
use jitterlab_motion::servo::{
    AssessmentOptions, Execution, ExecutionKind, LoopUnderRun, OverrunAction, Plant, SingleTaskLoop,
    Stationary, Step, StepSet, StoppingRule, WeaklyHard,
};
use nalgebra::DMatrix;

const OSCILLATOR: &str = "name = 'oscillator'\n[transfer_function]\nnumerator = [1]\ndenominator = [1, 0.4, 1, 0]\n\
     [noise]\ninput = 1.0\nmeasurement = 0.001\n[cost]\noutput = 1.0\ninput = 1.0\n[controller]\nkind = 'lqg'";

fn plant(name: &str) -> Plant {
    match name {
        "osc-lqg" => Plant::from_toml(name, OSCILLATOR).unwrap(),
        name => catalog::find_device(name, None).unwrap(),
    }
}

/// The distributions as the table of check numbers writes them, in periods.
fn execution(text: &str, period_ns: i64) -> Execution {
    let h = period_ns as f64;
    let number = |t: &str| t.trim().parse::<f64>().unwrap();
    let kind = |share: f64, low: f64, high: f64| ExecutionKind {
        share,
        low_ns: (low * h).round(),
        high_ns: (high * h).round(),
    };
    let (name, rest) = text.split_once(' ').unwrap();
    match name {
        "const" if rest == "1+1ns" => Execution::constant(h + 1.0),
        "const" => Execution::constant((number(rest) * h).round()),
        "two" => {
            let (values, share) = rest.trim_end_matches('%').rsplit_once(' ').unwrap();
            let (a, b) = values.split_once('/').unwrap();
            let q = number(share) / 100.0;
            let (a, b) = (number(a), number(b));
            Execution::with_independent_kinds(vec![kind(1.0 - q, a, a), kind(q, b, b)])
        }
        "uniform" => {
            let (low, high) = rest.split_once('-').unwrap();
            Execution::with_independent_kinds(vec![kind(1.0, number(low), number(high))])
        }
        "chain" => {
            assert_eq!(rest, ".8/1.2 p=.1 b=2");
            let enter = 0.1 * 0.5 / 0.9;
            let rows = DMatrix::from_row_slice(2, 2, &[1.0 - enter, enter, 0.5, 0.5]);
            Execution::with_transitions(vec![kind(0.9, 0.8, 0.8), kind(0.1, 1.2, 1.2)], rows)
        }
        other => panic!("{other}"),
    }
}

fn solved(plant: &Plant, period_ns: i64, execution: &Execution, action: OverrunAction) -> Stationary {
    SingleTaskLoop { overrun: action, ..SingleTaskLoop::new(plant.clone(), period_ns) }
        .stationary_with_execution(execution)
        .unwrap()
}

/// Cells whose backlog makes a job depend on those before: followed along a drawn sequence.
const DRAWN: [(&str, &str, &str); 4] = [
    ("dc-servo", "two .8/1.2 10%", "catch-up"),
    ("dc-servo", "chain .8/1.2 p=.1 b=2", "catch-up"),
    ("ball-screw", "two .5/2.6 5%", "catch-up"),
    ("osc-lqg", "two .8/1.2 10%", "catch-up"),
];

#[test]
fn every_cell_of_the_check_table() {
    let mut cells = 0;
    for line in include_str!("../data/jobs.csv").lines().filter(|line| line.starts_with("cell,")) {
        let cell: Vec<&str> = line.split(',').collect();
        let [_, name, h_ms, distribution, policy, cost, rho_job, rho_h, _, interval, ..] = cell[..] else {
            panic!("{line}");
        };
        let number = |t: &str| if t == "inf" { f64::INFINITY } else { t.parse::<f64>().unwrap() };
        let period_ns = (number(h_ms) * 1e6) as i64;
        let found =
            solved(&plant(name), period_ns, &execution(distribution, period_ns), policy.parse().unwrap());
        let near = |a: f64, b: f64, enough: f64| a == b || (a / b - 1.0).abs() < enough;
        if DRAWN.contains(&(name, distribution, policy)) {
            assert!(near(found.cost, number(cost), 1e-3), "{line}: {found:?}");
            assert!(near(found.radius_per_period, number(rho_h), 1e-2), "{line}: {found:?}");
        } else {
            assert!(near(found.cost, number(cost), 2e-9), "{line}: {found:?}");
            assert!(near(found.spectral_radius, number(rho_job), 1e-9), "{line}: {found:?}");
            assert!(near(found.radius_per_period, number(rho_h), 2e-9), "{line}: {found:?}");
            assert!(near(found.interval_periods, number(interval), 1e-6), "{line}: {found:?}");
        }
        cells += 1;
    }
    assert_eq!(cells, 61);
}

/// The bounds of the table enclose the growth per job; each bound here has to be on its own side of it, and near.
#[test]
fn every_bound_of_the_check_table_under_misses() {
    let mut cells = 0;
    for line in include_str!("../data/jobs.csv").lines().filter(|line| line.starts_with("mK,")) {
        let (before, rest) = line.split_once('"').unwrap();
        let (case, rest) = rest.split_once('"').unwrap();
        let name = before.split(',').nth(1).unwrap();
        let h_ms = before.split(',').nth(2).unwrap();
        let rest: Vec<&str> = rest.split(',').collect();
        let (policy, lower, upper) = (rest[1], rest[rest.len() - 2], rest[rest.len() - 1]);
        let (lower, upper): (f64, f64) = (lower.parse().unwrap(), upper.parse().unwrap());
        let pair: Vec<u32> =
            case[1..case.find(')').unwrap()].split(',').map(|n| n.trim().parse().unwrap()).collect();
        let at_most = WeaklyHard { misses: pair[0], of: pair[1] };
        let step = |map: DMatrix<f64>, missed| Step { map, missed: vec![missed] };
        let steps = if name.starts_with("A1") {
            let m = |v: [f64; 4]| DMatrix::from_row_slice(2, 2, &v);
            vec![step(m([1.0, 1.0, 0.0, 1.0]), false), step(m([1.0, 0.0, 1.0, 1.0]), true)]
        } else {
            let period_ns = h_ms.parse::<i64>().unwrap() * 1_000_000;
            let plant = plant(name);
            let action: OverrunAction = policy.parse().unwrap();
            let map = |x: f64| {
                let question =
                    SingleTaskLoop { overrun: action, ..SingleTaskLoop::new(plant.clone(), period_ns) };
                let task = question.task_with_execution(Execution::constant((x * period_ns as f64).round()));
                let mut closed = question.closed_loop().unwrap();
                task.passage(&mut closed, task.execution.longest_ns()).phi
            };
            let (hit, miss) = if case.contains("X=.8h") { (0.8, 1.2) } else { (0.5, 1.5) };
            vec![step(map(hit), false), step(map(miss), true)]
        };
        let found = StepSet::new(steps).stability(at_most, StoppingRule::Gap(1e-4));
        let found_upper = found.upper.unwrap();
        assert!(found.lower >= lower - 1e-9 && found.lower <= upper + 1e-9, "{line}: {found:?}");
        assert!(found_upper >= lower - 1e-9 && found_upper <= upper + 2e-4, "{line}: {found:?}");
        cells += 1;
    }
    assert_eq!(cells, 10);
}

/// A job that ends just when its task is due again: its output comes after the zero of the due time it missed, as a nanosecond later.
#[test]
fn a_job_of_exactly_one_period_costs_what_a_little_longer_one_does() {
    // Limits from the right, by another program.
    for (name, ms, cost) in [("dc-servo", 4, 501.225_991), ("ball-screw", 1, 29.234_480)] {
        let h = ms * 1_000_000;
        for execution in [h, h + 1] {
            let times = Execution::constant(execution as f64);
            let found = solved(&plant(name), h, &times, "skip/zero".parse().unwrap());
            assert!((found.cost / cost - 1.0).abs() < 1e-5, "{name} {execution}: {found:?}");
        }
    }
}

/// The example of overruns in Jitterbug's manual (Cervin and Lincoln 2006): a job that does not end in its
/// period is killed, and the LQG controller continues without its measurement. Execution times are uniform on
/// {0..m} h/20, and the design assumes m h/40.
#[test]
fn jitterbug_s_example_of_killed_jobs_and_an_observer_without_data() {
    let h = 250_000_000;
    let published = [
        (20, 2.103_029),
        (21, 2.173_430),
        (22, 2.269_792),
        (24, 2.628_110),
        (26, 3.922_682),
        (27, 8.162_676),
        (28, f64::INFINITY),
    ];
    for (m, cost) in published {
        let times = (0..=m).map(|k| k as f64 * h as f64 / 20.0);
        let kinds = times.map(|ns| ExecutionKind { share: 1.0, low_ns: ns, high_ns: ns }).collect();
        let design_delay_ns = m * h / 40;
        let overrun = "kill/predict".parse().unwrap();
        let question =
            SingleTaskLoop { overrun, design_delay_ns, ..SingleTaskLoop::new(plant("osc-lqg"), h) };
        let found =
            question.stationary_with_execution(&Execution::with_independent_kinds(kinds)).unwrap().cost;
        assert!(found == cost || (found - cost).abs() < 6e-7, "{m}: {found}");
    }
}

#[test]
fn the_same_run_gives_the_same_figures_each_time() {
    let period_ns = 1_000_000;
    let mut random = 1u64;
    let mut free_ns = 0;
    // Has too many different execution times: they are rounded on the way.
    let run: Vec<Activation> = (0..20_000)
        .filter_map(|index| {
            random = random * 16_807 % 2_147_483_647;
            let due_ns = index * period_ns;
            let late_ns = if random.is_multiple_of(97) { 1_300_000 } else { 0 };
            let start_ns = due_ns + (random % 30_000) as i64;
            let end_ns = start_ns + 40_000 + (random % 9_973) as i64 + late_ns;
            (due_ns >= free_ns).then(|| {
                free_ns = end_ns;
                Activation { index: index as u64, due_ns, start_ns, end_ns, ..Activation::default() }
            })
        })
        .collect();
    let question = SingleTaskLoop::new(plant("dc-servo"), period_ns);
    let name = JudgedRun::assumed("run".into(), period_ns, 0);
    let judged = || {
        LoopUnderRun::new(&question, name.clone(), run.as_slice(), &AssessmentOptions::default())
            .unwrap()
            .0
            .assessment
    };
    let (first, second) = (judged(), judged());
    assert_eq!(first.misses, second.misses);
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}
