//! Guarantees about jobs that may be missed, against bounds of another program (ellipsoids by an LMI, words by search) and own
//! sequences drawn by chance.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what cannot be")]

use jitterlab_analysis::random::Random;
use jitterlab_motion::catalog::{self, Device};
use jitterlab_motion::servo::{
    Execution, GivenTask, Guarantee, MissedJobs, OverrunAction, Plant, ServoResult, SingleTaskLoop,
    StabilityUnderMisses, Step, StepSet, StoppingRule, TimingSource, WeaklyHard,
};
use nalgebra::DMatrix;

const TWO_MASS: &str = include_str!("../data/two-mass.toml");

struct Cell {
    question: SingleTaskLoop,
    hit: f64,
    late: Vec<f64>,
    at_most: WeaklyHard,
    lower: f64,
    upper: f64,
    guarantee: Guarantee,
    lower_any_end: Option<f64>,
}

fn read_cells() -> Vec<Cell> {
    let number = |t: &str| t.parse::<f64>().unwrap();
    let of = |line: &str| {
        let cell: Vec<&str> = line.split(',').collect();
        let [plant, period, hit, late, action, m, k, _, lower, upper, verdict, _, any_end] = cell[..] else {
            panic!("{line}");
        };
        let plant = match plant {
            "two-mass" => Plant::from_toml(plant, TWO_MASS).unwrap(),
            name => catalog::find_device(name, None).unwrap(),
        };
        let period_ns = jitterlab_model::units::parse_duration_ns(period).unwrap();
        Cell {
            question: SingleTaskLoop {
                overrun: action.parse().unwrap(),
                ..SingleTaskLoop::new(plant, period_ns)
            },
            hit: number(hit),
            late: late.split('+').map(number).collect(),
            at_most: WeaklyHard { misses: m.parse().unwrap(), of: k.parse().unwrap() },
            lower: number(lower),
            upper: number(upper),
            guarantee: match verdict {
                "stable" => Guarantee::Stable,
                "unstable" => Guarantee::Unstable,
                _ => Guarantee::DoesNotDecay,
            },
            lower_any_end: (!any_end.is_empty()).then(|| number(any_end)),
        }
    };
    let cells: Vec<Cell> = include_str!("../data/misses.csv").lines().skip(1).map(of).collect();
    assert_eq!(cells.len(), 18);
    cells
}

impl Cell {
    fn maps(&self, ends: &[f64]) -> Vec<DMatrix<f64>> {
        let period_ns = self.question.period_ns as f64;
        let mut closed = self.question.closed_loop().unwrap();
        let task = self.question.task_with_execution(Execution::constant(0.0));
        ends.iter().map(|x| task.passage(&mut closed, (x * period_ns).round()).phi).collect()
    }

    fn is_killed(&self) -> bool {
        self.question.overrun.to_string().starts_with("kill")
    }

    /// Sequences drawn by chance, with late jobs that end anywhere, stay within the bound of the proof.
    fn drawn_sequences_grow_no_more(&self, found: &StabilityUnderMisses, random: &mut Random) {
        let (m, k) = (self.at_most.misses as usize, self.at_most.of as usize);
        let hit = self.maps(&[self.hit]).remove(0);
        // Ends anywhere; of each number of periods some.
        let pools: Vec<Vec<DMatrix<f64>>> = (1..=if self.is_killed() { 1 } else { m })
            .map(|late| {
                let ends: Vec<f64> = (0..12).map(|_| late as f64 + random.uniform()).collect();
                self.maps(&ends)
            })
            .collect();
        let mut worst: f64 = 0.0;
        for _ in 0..8 {
            let mut product = DMatrix::identity(hit.nrows(), hit.nrows());
            let (mut missed, mut logs): (Vec<bool>, f64) = (Vec::new(), 0.0);
            while missed.len() < 6_000 {
                let recent = missed.iter().rev().take(k - 1).filter(|m| **m).count();
                let most = (m - recent).min(pools.len());
                if most == 0 || random.uniform() < 0.3 {
                    product = &hit * product;
                    missed.push(false);
                } else {
                    let late = random.below(most);
                    product = &pools[late][random.below(12)] * product;
                    missed.extend(std::iter::repeat_n(true, late + 1));
                    missed.extend((!self.is_killed()).then_some(false));
                }
                let size = product.norm();
                logs += size.ln();
                product /= size;
            }
            worst = worst.max((logs / missed.len() as f64).exp());
        }
        let upper = found.upper.unwrap_or(f64::INFINITY);
        // The first few jobs may grow by the shape of the norm.
        assert!(
            worst <= upper.max(found.lower) * 1.004,
            "{} {:?}: {worst} {found:?}",
            self.question.plant.name,
            self.at_most
        );
    }

    /// Guarantee for any such miss.
    fn asked(&self) -> (StabilityUnderMisses, ServoResult) {
        let times = format!("{}h", self.hit);
        let result = ServoResult::under_execution(&self.question, &times, &[self.at_most]).unwrap();
        let TimingSource::Execution(under) = &result.judged else { panic!("{times}") };
        (under.misses[0].clone(), result)
    }
}

#[test]
fn every_cell_of_the_table_of_missed_jobs() {
    for cell in read_cells() {
        let late = &cell.late;
        let mut steps = vec![Step { map: cell.maps(&[cell.hit]).remove(0), missed: vec![false] }];
        for (x, map) in late.iter().zip(cell.maps(late)) {
            let missed =
                if cell.is_killed() { vec![true] } else { (0..=*x as u32).map(|k| k < *x as u32).collect() };
            steps.push(Step { map, missed });
        }
        let found = StepSet::new(steps).stability(cell.at_most, StoppingRule::Gap(1e-3));
        let name =
            format!("{} {} {:?}: {found:?}", cell.question.plant.name, cell.question.overrun, cell.at_most);
        assert_eq!(found.guarantee, cell.guarantee, "{name}");
        assert!((found.lower - cell.lower).abs() < 2e-9, "{name} {}", cell.lower);
        let upper = found.upper.unwrap();
        assert!(upper >= cell.lower - 1e-9 && upper <= cell.upper + 1e-3, "{name}");
    }
}

#[test]
fn the_miss_is_in_the_proof_though_no_job_misses() {
    let mut random = Random::new(11);
    for cell in read_cells() {
        let (found, result) = cell.asked();
        let name =
            format!("{} {} {:?}: {found:?}", cell.question.plant.name, cell.question.overrun, cell.at_most);
        if cell.is_killed() {
            assert_eq!((found.missed, found.guarantee), (MissedJobs::Killed, cell.guarantee), "{name}");
            assert!((found.lower - cell.lower).abs() < 2e-9, "{name}");
        } else {
            // The program of the table looked at ends at .02, .5 and .98 of a period alone.
            let any_end = cell.lower_any_end.unwrap();
            assert!(matches!(found.missed, MissedJobs::EndingAt { .. }), "{name}");
            assert_eq!(found.guarantee == Guarantee::Stable, any_end < 1.0, "{name}");
        }
        cell.drawn_sequences_grow_no_more(&found, &mut random);
        let verdict = result.verdict().unwrap();
        let is_unfit = verdict.fitness == jitterlab_model::Fitness::Unfit;
        assert_eq!(is_unfit, found.guarantee != Guarantee::Stable, "{name}");
    }
}

#[test]
fn a_task_that_catches_up_is_not_proved_by_jobs_that_never_miss() {
    let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
    let overrun: OverrunAction = "catch-up".parse().unwrap();
    let question = SingleTaskLoop { overrun, ..SingleTaskLoop::new(plant, 4_000_000) };
    let at_most = WeaklyHard { misses: 2, of: 3 };
    let result = ServoResult::under_execution(&question, "0.5h", &[at_most]).unwrap();
    assert_eq!(result.verdict().unwrap().fitness, jitterlab_model::Fitness::CannotTell);
    let task: GivenTask = question.task_with_execution(Execution::constant(2e6));
    let mut closed = question.closed_loop().unwrap();
    let jobs = task.steps(&mut closed).unwrap();
    let found = task.stability_under_misses(&mut closed, &jobs, at_most, StoppingRule::Decide);
    assert_eq!((found.missed, found.guarantee), (MissedJobs::None, Guarantee::Undecided));
}
