//! A matrix with repetitions, and plans for large machines.

use std::collections::BTreeSet;

use jitterlab_model::facts::{Cache, Cpu, Sharing};
use jitterlab_model::{CpuSet, SystemFacts};
use proptest::prelude::*;

use super::*;
use crate::random::Random;

/// A matrix of one task on CPUs 0 to 2: level and spread of each, in nanoseconds.
fn one_task(levels: [(f64, f64); 3], repetitions: u32) -> Matrix {
    let mut random = Random::new(1);
    let mut measurements = Vec::new();
    for repetition in 0..repetitions {
        for (cpu, (level, spread)) in levels.iter().enumerate() {
            let value = level + spread * (random.below(1_000) as f64 / 500.0 - 1.0);
            measurements.push(CellMeasurement {
                cpus: vec![cpu as u16],
                condition: "none".into(),
                repetition,
                tasks: vec![CellTiming {
                    max_ns: Some(9.0 * value),
                    p999_ns: Some(value),
                    ..CellTiming::default()
                }],
            });
        }
    }
    Matrix { tasks: vec!["main".into()], measurements }
}

#[test]
fn a_clear_best_is_sure_and_a_tie_is_not() {
    let clear =
        recommend(&one_task([(9_000.0, 500.0), (3_000.0, 200.0), (8_000.0, 500.0)], 5), None).unwrap();
    assert_eq!(
        (clear.cpus.as_slice(), clear.probability, clear.candidates.len()),
        ([1].as_slice(), Some(1.0), 1)
    );
    assert_eq!((clear.statistic, clear.worst.as_slice()), (CellStatistic::P999, [0].as_slice()));
    assert!((clear.worst_factor - 3.0).abs() < 0.5);
    let tie = recommend(&one_task([(3_000.0, 900.0), (3_000.0, 900.0), (9_000.0, 500.0)], 5), None).unwrap();
    assert!(tie.probability.unwrap() < 0.95 && tie.candidates.len() == 2, "{tie:?}");
    assert!(recommend(&Matrix::default(), None).is_none());
}

#[test]
fn the_worst_condition_decides() {
    let mut m = one_task([(3_000.0, 10.0), (4_000.0, 10.0), (9_000.0, 10.0)], 3);
    let mut loaded = one_task([(30_000.0, 10.0), (5_000.0, 10.0), (9_000.0, 10.0)], 3).measurements;
    loaded.iter_mut().for_each(|x| x.condition = "mem:2".into());
    m.measurements.extend(loaded);
    let r = recommend(&m, None).unwrap();
    assert_eq!(r.cpus, [1]);
    assert!(r.worst_condition_ns[0].is_some_and(|ns| ns > 4_900.0), "{r:?}");
    let effect = condition_effect(&m, ("none", "mem:2"), &[0], CellStatistic::P999, false).unwrap();
    assert_eq!(effect.answer, Answer::CannotTell, "{effect:?}");
}

#[test]
fn what_the_data_do_not_decide_is_said() {
    let m = one_task([(3_000.0, 1.0), (3_000.0, 1.0), (3_000.0, 1.0)], 1);
    assert!(same_cpu_effect(&m, "none", CellStatistic::P999).is_none(), "one task is always on one CPU");
}

/// A machine of two packages of 16 cores with two threads each; the last two cores of each package isolated.
fn server() -> SystemFacts {
    let mut facts = SystemFacts::default();
    for id in 0..64u16 {
        let core = id % 32;
        facts.cpus.push(Cpu {
            id,
            package: Some(core / 16),
            siblings: [core, core + 32].into_iter().collect(),
            ..Cpu::default()
        });
    }
    for package in 0..2 {
        let cpus = facts.cpus.iter().filter(|c| c.package == Some(package)).map(|c| c.id).collect();
        facts.caches.push(Cache { level: 3, size_bytes: None, cpus });
    }
    facts.isolation.isolated = "30-31,62-63".parse().ok();
    facts
}

#[test]
fn a_large_machine_gets_a_subset_that_holds_every_case() {
    let facts = server();
    let proposal = propose(&facts, &facts.online_cpus(), 2, 36);
    assert!((4..=6).contains(&proposal.cpus.len()), "{proposal:?}");
    assert!(proposal.cpus.contains(0), "CPU 0 stands for the chores");
    let isolated: CpuSet = "30-31,62-63".parse().unwrap();
    assert!(proposal.cpus.overlaps(&isolated) && !proposal.cpus.without(&isolated).is_empty());
    let ways: BTreeSet<Sharing> =
        placements(&proposal.cpus, 2).iter().map(|p| facts.sharing(p[0], p[1])).collect();
    assert_eq!(ways, [Sharing::Same, Sharing::Core, Sharing::Cache(3), Sharing::Machine].into());
    assert!(proposal.omits_cpus() && proposal.usable == 64);
    assert_eq!(propose(&facts, &facts.online_cpus(), 1, 64).cpus.len(), 64, "one task on each is affordable");
    assert_eq!(propose(&facts, &"4,5".parse().unwrap(), 2, 1).cpus.len(), 2, "two CPUs are the least");
}

#[test]
fn placements_are_pairs_or_the_diagonal() {
    let cpus: CpuSet = "0,2".parse().unwrap();
    assert_eq!(placements(&cpus, 1), [[0], [2]]);
    assert_eq!(placements(&cpus, 2), [[0, 0], [0, 2], [2, 0], [2, 2]]);
    assert_eq!(placements(&cpus, 3)[1], [0, 2, 2]);
    assert!(placements(&cpus, 0).is_empty());
}

proptest! {
    #[test]
    fn every_round_of_a_plan_holds_every_cell_once(n in 1u16..6, conditions in 1usize..4, repetitions in 1u32..5, seed: u64) {
        let cpus: CpuSet = (0..n).collect();
        let conditions: Vec<String> = (0..conditions).map(|c| c.to_string()).collect();
        let places = placements(&cpus, 2);
        let plan = CellPlan::new(&places, &conditions, repetitions, seed);
        let round = places.len() * conditions.len();
        prop_assert_eq!(plan.cells.len(), round * repetitions as usize);
        for (repetition, cells) in plan.cells.chunks(round).enumerate() {
            let distinct: BTreeSet<_> = cells.iter().map(|c| (&c.cpus, &c.condition)).collect();
            prop_assert_eq!(distinct.len(), round);
            prop_assert!(cells.iter().all(|c| c.repetition == repetition as u32));
        }
        prop_assert_eq!(&plan, &CellPlan::new(&places, &conditions, repetitions, seed));
    }

    #[test]
    fn a_proposal_is_affordable_and_part_of_what_there_is(affordable in 4usize..100, tasks in 1usize..4) {
        let facts = server();
        let proposal = propose(&facts, &facts.online_cpus(), tasks, affordable);
        prop_assert!(proposal.cpus.without(&facts.online_cpus()).is_empty());
        prop_assert!(placements(&proposal.cpus, tasks).len() <= affordable.max(4));
        prop_assert!(proposal.cpus.len() >= 2);
    }
}
