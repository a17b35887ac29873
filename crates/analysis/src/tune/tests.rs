//! Machines whose truth is known. Those whose blocks depend on each other are in the calibration.

use super::*;
use crate::random::Random;

#[test]
fn what_dominates_is_found_first_and_what_it_hid_afterwards() {
    // The tail is that of the worst cause: a program that takes the processor hides a quarter that idle states cost.
    let mut random = Random::new(5);
    let mut experiment = Experiment::new(5, 8, 2);
    while let Some(round) = experiment.next_round() {
        let block = |on: &[bool], random: &mut Random| {
            let hog = if on[0] { 0.0 } else { 3e6 };
            let idle = if on[1] { 40e3 } else { 50e3 };
            let tail = f64::max(hog, idle) * (0.05 * random.normal()).exp();
            BlockFigures {
                tail_ns: tail as i64,
                max_ns: 2 * tail as i64,
                missed: 0,
                due: 5_000,
                verdict: None,
            }
        };
        let figures = round.rows.iter().map(|row| block(&row.on, &mut random)).collect();
        experiment.add(round, figures);
    }
    let found = experiment.found();
    assert_eq!((found[0].0, found[1].0), (Judgement::Helps, Judgement::Helps), "{found:?}");
    assert!(
        found[2..].iter().all(|(judgement, _)| !matches!(judgement, Judgement::Helps | Judgement::Harms))
    );
    let tail = |knob: usize| found[knob].1[0].change;
    assert!(tail(0) < 0.05 && tail(1) < 1.0 && tail(0) < tail(1));
}

#[test]
fn what_helps_the_tail_and_harms_the_maximum_is_not_kept() {
    let mut random = Random::new(3);
    let mut experiment = Experiment::new(1, 20, 4);
    while let Some(round) = experiment.next_round() {
        let figures = round.rows.iter().map(|row| {
            let noise = (0.05 * random.normal()).exp();
            let (tail, max) = if row.on[0] { (30e3, 300e3) } else { (50e3, 100e3) };
            let [tail_ns, max_ns] = [tail, max].map(|ns: f64| (ns * noise) as i64);
            BlockFigures { tail_ns, max_ns, missed: 0, due: 5_000, verdict: None }
        });
        let figures = figures.collect();
        experiment.add(round, figures);
    }
    assert_eq!(experiment.found()[0].0, Judgement::HelpsAndHarms);
}

#[test]
fn nothing_is_said_of_blocks_that_are_all_alike() {
    let mut experiment = Experiment::new(3, 6, 4);
    while let Some(round) = experiment.next_round() {
        let figures = round.rows.iter().map(|_| BlockFigures {
            tail_ns: 10_000,
            max_ns: 20_000,
            missed: 0,
            due: 5_000,
            verdict: None,
        });
        let figures = figures.collect();
        experiment.add(round, figures);
    }
    let found = experiment.found();
    assert!(found.iter().all(|(judgement, _)| *judgement == Judgement::NoMatter), "{found:?}");
    assert!(found.iter().all(|(_, effects)| effects.iter().all(|effect| !effect.real)));
}

#[test]
fn a_plan_keeps_to_its_budget_and_says_when_it_cannot() {
    const S: i64 = 1_000_000_000;
    for (knobs, budget_s, period_ns) in
        [(1, 60, 1_000_000), (12, 1_800, 1_000_000), (19, 600, 25_000), (8, 28_800, 10_000_000)]
    {
        let plan = TunePlan::of(knobs, budget_s * S, period_ns, BLOCK_OVERHEAD_NS).unwrap();
        let rows = design::halves(plan.knobs) + usize::from(plan.knobs > 1);
        let blocks = (rows * plan.rounds + 2 * plan.pairs) as i64;
        assert!(blocks * (plan.block_ns + BLOCK_OVERHEAD_NS) <= budget_s * S, "{plan:?}");
        assert!(plan.knobs >= 1 && plan.rounds >= 2 && plan.pairs >= 6, "{plan:?}");
        assert!(plan.shows(0.1) > plan.shows(0.05) && plan.shows(0.1) < 5.0, "{plan:?}");
    }
    assert_eq!(TunePlan::of(5, 5 * S, 1_000_000, BLOCK_OVERHEAD_NS), None);
    assert!(TunePlan::of(40, 120 * S, 1_000_000, BLOCK_OVERHEAD_NS).unwrap().knobs < 40);
    assert_eq!(TunePlan::of(12, 1_800 * S, 1_000_000, BLOCK_OVERHEAD_NS).unwrap().knobs, 12);
}

#[test]
fn what_a_plan_says_it_shows_it_shows() {
    let plan = TunePlan::of(10, 1_800_000_000_000, 1_000_000, BLOCK_OVERHEAD_NS).unwrap();
    let factor = 1.0 / (1.0 + plan.shows(0.1));
    let found = (0..100).filter(|seed| {
        let mut random = Random::new(*seed);
        let mut experiment = Experiment::new(10, plan.rounds, *seed);
        while let Some(round) = experiment.next_round() {
            let block = |row: &design::Row| {
                let level = if row.on[0] { factor } else { 1.0 };
                let tail_ns = (50_000.0 * level * (0.1 * random.normal()).exp()) as i64;
                BlockFigures { tail_ns, max_ns: 2 * tail_ns, missed: 0, due: 5_000, verdict: None }
            };
            let figures = round.rows.iter().map(block).collect();
            experiment.add(round, figures);
        }
        experiment.found()[0].0 == Judgement::Helps
    });
    let found = found.count();
    assert!((70..=97).contains(&found), "{found} of 100 at {factor}");
}
