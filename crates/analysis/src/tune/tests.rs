//! Machines of known truth. Machines with dependent blocks are in the calibration.

use super::*;
use crate::random::Random;

fn block(tail: f64, max: f64, missed: u64) -> BlockFigures {
    BlockFigures { tail_ns: tail as i64, max_ns: max as i64, missed, due: 5_000, verdict: None, repeated: 0 }
}

/// Runs an experiment over settings on a machine whose blocks come from this function.
fn played(
    mut experiment: Experiment,
    seed: u64,
    mut of: impl FnMut(&[bool], f64) -> BlockFigures,
) -> Experiment {
    let mut random = Random::new(seed);
    while let Some(round) = experiment.next_round() {
        let figures = round.rows.iter().map(|row| of(&row.on, (0.05 * random.normal()).exp())).collect();
        experiment.add_round(round, figures);
    }
    experiment
}

fn judgements(experiment: &Experiment) -> Vec<SettingVerdict> {
    experiment.results().iter().map(SettingResult::judgement).collect()
}

#[test]
fn of_remedies_that_mask_each_other_the_first_is_kept_and_what_it_hid_is_found_beside_it() {
    // Either of the first two ends a program that takes the processor, which hides a quarter that idle states cost.
    let machine = |on: &[bool], noise: f64| {
        let hog = if on[0] || on[1] { 0.0 } else { 3e6 };
        let idle = if on[2] { 40e3 } else { 50e3 };
        let tail = f64::max(hog, idle) * noise;
        block(tail, 2.0 * tail, 0)
    };
    let found = played(Experiment::new(5, 120, Figure::Tail, 5), 5, machine);
    let judged = judgements(&found);
    assert_eq!(
        judged[..3],
        [SettingVerdict::Helps, SettingVerdict::NotNeeded, SettingVerdict::Helps],
        "{found:?}"
    );
    assert!(
        judged[3..].iter().all(|of| matches!(of, SettingVerdict::Undecided | SettingVerdict::NoMatter)),
        "{judged:?}"
    );
    let of = found.results();
    assert_eq!((&of[0].beside[..], &of[2].beside[..]), (&[][..], &[0][..]), "the second beside the first");
    assert!(of[0].effects[0].change < 0.05 && of[2].effects[0].change < 1.0, "{of:?}");
}

#[test]
fn a_remedy_that_does_much_more_is_kept_before_the_main_causes_own() {
    let machine = |on: &[bool], noise: f64| {
        let tail = noise
            * if on[1] {
                50e3
            } else if on[0] {
                1e6
            } else {
                3e6
            };
        block(tail, 2.0 * tail, 0)
    };
    let found = played(Experiment::new(2, 60, Figure::Tail, 9), 2, machine);
    assert_eq!(judgements(&found), [SettingVerdict::NotNeeded, SettingVerdict::Helps], "{found:?}");
}

#[test]
fn what_helps_the_tail_and_harms_the_maximum_is_not_kept() {
    let machine = |on: &[bool], noise: f64| {
        let (tail, max) = if on[0] { (30e3, 300e3) } else { (50e3, 100e3) };
        block(tail * noise, max * noise, 0)
    };
    let found = played(Experiment::new(1, 40, Figure::Tail, 4), 3, machine);
    assert_eq!(judgements(&found), [SettingVerdict::HelpsAndHarms]);
}

#[test]
fn misses_decide_where_the_start_misses_and_a_block_without_any_is_compared_too() {
    let machine = |on: &[bool], noise: f64| block(9e6, 20e6, if on[0] { 0 } else { (900.0 * noise) as u64 });
    let pilots: Vec<BlockFigures> = (0..PILOTS).map(|_| machine(&[false], 1.0)).collect();
    let pilot = Pilot::from_blocks(&pilots);
    assert_eq!((pilot.figure, pilot.spread), (Figure::Missed, 0.0));
    let found = played(Experiment::new(2, 60, pilot.figure, 4), 3, machine);
    let judged = judgements(&found);
    assert_eq!(judged[0], SettingVerdict::Helps, "{found:?}");
    assert!(found.results()[0].effects[0].change < 1e-3, "{found:?}");
    assert_eq!(Pilot::from_blocks(&[block(1e3, 2e3, 19)]).figure, Figure::Tail);
}

#[test]
fn nothing_is_said_of_blocks_that_are_all_alike() {
    let found = played(Experiment::new(3, 24, Figure::Tail, 4), 1, |_, _| block(10e3, 20e3, 0));
    assert_eq!(judgements(&found), [SettingVerdict::NoMatter; 3]);
    assert!(found.results().iter().all(|of| of.effects.iter().all(|effect| !effect.real)));
}

#[test]
fn one_setting_is_measured_in_turns_and_what_there_is_no_time_for_is_left() {
    let mut one = Experiment::new(1, 8, Figure::Tail, 7);
    let round = one.next_round().unwrap();
    let on: Vec<&[bool]> = round.rows.iter().map(|row| &row.on[..]).collect();
    assert_eq!(on, [[false], [true]], "A B");
    // Twelve blocks are three rounds of the base and three settings.
    let mut many = Experiment::new(10, 12, Figure::Tail, 7);
    let mut tried: Vec<usize> = many.next_round().unwrap().rows.iter().filter_map(|row| row.tries).collect();
    tried.sort_unstable();
    assert_eq!(tried, [0, 1, 2]);
    assert_eq!(Experiment::new(1, 5, Figure::Tail, 7).next_round(), None);
}

const S: i64 = 1_000_000_000;

fn pilot(spread: f64) -> Pilot {
    Pilot { figure: Figure::Tail, spread, blocks: PILOTS }
}

#[test]
fn a_plan_keeps_to_its_budget_and_says_when_it_cannot() {
    for (knobs, budget_s, period_ns) in
        [(1, 60, 1_000_000), (12, 1_800, 1_000_000), (19, 600, 25_000), (8, 28_800, 10_000_000)]
    {
        let plan = TunePlan::new(knobs, budget_s * S, period_ns, BLOCK_OVERHEAD_NS, pilot(0.1)).unwrap();
        let blocks = (plan.blocks() + 2 * plan.pairs) as i64;
        assert!(blocks * (plan.block_ns + BLOCK_OVERHEAD_NS) <= budget_s * S, "{plan:?}");
        assert!(plan.knobs >= 1 && plan.rounds >= FEWEST_ROUNDS && plan.pairs >= 4, "{plan:?}");
        assert!(
            plan.detectable_change(0.1) > plan.detectable_change(0.05) && plan.detectable_change(0.1) < 2.0,
            "{plan:?}"
        );
    }
    assert_eq!(TunePlan::new(5, 5 * S, 1_000_000, BLOCK_OVERHEAD_NS, pilot(0.1)), None);
    assert!(TunePlan::new(40, 120 * S, 1_000_000, BLOCK_OVERHEAD_NS, pilot(0.1)).unwrap().knobs < 40);
    assert_eq!(TunePlan::new(12, 1_800 * S, 1_000_000, BLOCK_OVERHEAD_NS, pilot(0.1)).unwrap().knobs, 12);
}

#[test]
fn six_minutes_decide_a_factor_of_three_of_as_many_settings_as_that_allows() {
    let of = |spread: f64| TunePlan::new(12, 360 * S, 1_000_000, BLOCK_OVERHEAD_NS, pilot(spread)).unwrap();
    for spread in [0.1, 0.3, 0.6, 0.9] {
        assert!(of(spread).detectable_change(spread) <= 2.0, "{:?}", of(spread));
    }
    assert!(of(0.9).knobs < of(0.3).knobs, "{:?}", of(0.9));
}

#[test]
fn the_plan_is_that_of_the_reference() {
    // statistics-2.md, D.3: the spread seen in three, five, eight blocks may be 1.56, 1.32, 1.22 times as large; those are
    // pooled over two sides, of 4, 8 and 14 degrees.
    for (degrees, times) in [(4, 1.56), (8, 1.32), (14, 1.22)] {
        let of = Pilot { blocks: degrees + 1, ..pilot(1.0) };
        assert!((of.spread_upper_limit() - times).abs() < 0.01, "{degrees}: {}", of.spread_upper_limit());
    }
}

#[test]
fn what_a_plan_says_it_shows_it_shows() {
    let plan = TunePlan::new(10, 1_800 * S, 1_000_000, BLOCK_OVERHEAD_NS, pilot(0.1)).unwrap();
    let factor = 1.0 / (1.0 + plan.detectable_change(0.05));
    let found = (0..100).filter(|seed| {
        let machine = |on: &[bool], noise: f64| {
            let tail = 50e3 * noise * if on[0] { factor } else { 1.0 };
            block(tail, 2.0 * tail, 0)
        };
        let found = played(Experiment::new(10, plan.blocks(), Figure::Tail, *seed), *seed, machine);
        judgements(&found)[0] == SettingVerdict::Helps
    });
    let found = found.count();
    assert!((80..=99).contains(&found), "{found} of 100 at {factor}");
}
