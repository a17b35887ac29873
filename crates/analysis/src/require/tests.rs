use super::*;
use jitterlab_model::{Activation, Distribution, TaskResult, TaskRun, TaskSpec};
use proptest::prelude::*;

fn requirement(text: &str) -> Requirement {
    text.parse().unwrap()
}

fn evidence(values: u64, broke: u64) -> Evidence {
    Evidence { values, broke, may_have_broken: broke }
}

/// Breaches one by one, evenly over the run.
fn singly(values: u64, broke: u64) -> Breaches {
    let mut all = Breaches::default();
    for k in 0..broke {
        let (from, to) = (values * k / broke, values * (k + 1) / broke);
        all.push(from, to - from, &evidence(to - from, 1));
    }
    if broke == 0 {
        all.push(0, values, &evidence(values, 0));
    }
    all
}

fn outcome(text: &str, values: u64, broke: u64) -> Outcome {
    requirement(text).judge(&singly(values, broke), None).outcome
}

#[test]
fn every_form_is_read() {
    let read = |text: &str| {
        let r = requirement(text);
        (r.subject, r.limit_ns, r.limit_breaks, r.share)
    };
    assert_eq!(read("p99.99 < 80us"), (Required::Latency, 80_000, true, 1e-4));
    assert_eq!(read("p50<=1ms"), (Required::Latency, 1_000_000, false, 0.5));
    assert_eq!(read("max < 200us"), (Required::Latency, 200_000, true, 0.0));
    assert_eq!(read("missed = 0"), (Required::Missed, 0, false, 0.0));
    assert_eq!(read("missed < 0.01%"), (Required::Missed, 0, false, 1e-4));
    assert_eq!(read("period-error p99.9 < 50us"), (Required::PeriodError, 50_000, true, 1e-3));
    assert_eq!(read("p(latency>100us) < 1e-6"), (Required::Latency, 100_000, false, 1e-6));
    assert_eq!(read("P( response >= 1ms ) <= 5%"), (Required::Response, 1_000_000, true, 0.05));
}

#[test]
fn mistakes_are_named() {
    let message = |text: &str| text.parse::<Requirement>().unwrap_err().to_string();
    assert!(message("fast").contains("p99.99 < 80us"));
    assert!(message("p100 < 1us").contains("below 100"));
    assert!(message("p99.x < 1us").contains("quantile"));
    assert!(message("speed max < 1us").contains("speed"));
    assert!(message("mean < 1us").contains("mean"));
    assert!(message("p99 < 80").contains("unit"));
    assert!(message("missed < 2").contains("share"));
    assert!(message("p(latency>1us) > 3").contains("not a requirement"));
    assert!(message("missed max < 1us").contains("missed"));
}

#[test]
fn a_share_is_decided_by_what_broke_it() {
    assert_eq!(outcome("p99 < 80us", 100_000, 900), Outcome::Pass);
    assert_eq!(outcome("p99 < 80us", 100_000, 990), Outcome::NotEnoughData);
    assert_eq!(outcome("p99 < 80us", 100_000, 1_100), Outcome::Fail);
    assert_eq!(outcome("p99.99 < 80us", 1_000_000, 10), Outcome::Pass);
}

#[test]
fn what_came_too_rarely_shows_no_bursts_and_passes_only_with_what_is_known_of_them() {
    let r = requirement("p99.99 < 80us");
    let judged = r.judge(&singly(1_000_000, 0), None);
    assert_eq!((judged.outcome, judged.basis), (Outcome::NotEnoughData, LimitBasis::Singly));
    assert!((judged.share_limits[1] - 2.995_7e-6).abs() < 1e-9, "{judged:?}");
    // 33 times 2.9957 in a million is below 1e-4, 34 times is not.
    assert_eq!(judged.passes_if_at_most, Some(33));
    let with = |together| r.judge(&singly(1_000_000, 0), Some(together)).outcome;
    assert_eq!((with(33), with(34)), (Outcome::Pass, Outcome::NotEnoughData));
    assert_eq!(r.judge(&singly(1_000_000, 4), Some(10)).outcome, Outcome::Pass);
    // One broken value in ten may be the beginning of a burst, or all there will ever be.
    assert_eq!(outcome("p99.99 < 80us", 10, 1), Outcome::NotEnoughData);
    assert_eq!(requirement("p99 < 80us").judge(&singly(1_000, 300), Some(1)).outcome, Outcome::Fail);
}

#[test]
fn without_order_nothing_is_decided_but_what_never_came() {
    let judge = |text: &str, broke| {
        let breaches = Breaches::from_totals(evidence(1_000_000, broke));
        (
            requirement(text).judge(&breaches, None).outcome,
            requirement(text).judge(&breaches, Some(3)).outcome,
        )
    };
    assert_eq!(judge("p99 < 80us", 100), (Outcome::NotEnoughData, Outcome::Pass));
    assert_eq!(judge("p99 < 80us", 100_000), (Outcome::NotEnoughData, Outcome::Fail));
    assert_eq!(judge("max < 80us", 0), (Outcome::Pass, Outcome::Pass));
    assert_eq!(judge("max < 80us", 1), (Outcome::Fail, Outcome::Fail));
}

#[test]
fn never_means_never_seen() {
    assert_eq!(outcome("missed = 0", 1_000, 0), Outcome::Pass);
    assert_eq!(outcome("missed = 0", 1_000, 1), Outcome::Fail);
    assert_eq!(requirement("max < 1us").judge(&Breaches::default(), None).outcome, Outcome::NotEnoughData);
    let judged = requirement("missed = 0").judge(&singly(1_000, 0), None);
    assert!((judged.share_limits[1] - 2.99e-3).abs() < 1e-5, "{judged:?}");
    let unknown = requirement("missed = 0").judge(&Breaches::from_gap(Gap::Missed), None);
    assert_eq!((unknown.outcome, unknown.unknown), (Outcome::Unknown, Some(Gap::Missed)));
}

#[test]
fn bursts_say_less() {
    let r = requirement("p99 < 80us");
    let bursts = |size: u64| {
        let mut all = Breaches::default();
        // 2 % of the time, anywhere.
        let mut random = crate::random::Random::new(7);
        let mut at: Vec<u64> = (0..1_000 / size).map(|_| random.below(50_000) as u64).collect();
        at.sort_unstable();
        all.push(0, 50_000, &evidence(49_000, 0));
        at.into_iter().for_each(|index| all.push(index, size, &evidence(size, size)));
        all
    };
    assert_eq!(r.judge(&bursts(1), None).outcome, Outcome::Fail);
    let many = r.judge(&bursts(100), None);
    assert_eq!(many.outcome, Outcome::NotEnoughData, "{many:?}");
    assert!(matches!(many.basis, LimitBasis::Bursts { effective } if effective < 12.0), "{many:?}");
    assert!(many.share_limits[0] < 0.013 && many.share_limits[1] > 0.03, "{many:?}");
}

#[test]
fn missed_due_times_count_with_their_age() {
    let r = requirement("p99 < 1us");
    let mut counter = BreachCounter::new(&r, 1_000);
    counter.push(&Activation { start_ns: 5_300, end_ns: 5_300, missed: 5, ..Activation::default() });
    assert_eq!(counter.breaches().evidence, evidence(6, 5));
    let missed = requirement("missed = 0");
    let mut counter = BreachCounter::new(&missed, 1_000);
    counter.push(&Activation { missed: 5, ..Activation::default() });
    assert_eq!(counter.breaches().evidence, evidence(6, 5));
}

#[test]
fn a_limit_inside_a_bin_leaves_a_range() {
    let mut d = Distribution::new();
    (0..100).for_each(|i| d.record(100_000 + i * 10));
    let of = |text: &str| Evidence::from_distribution(&d, &requirement(text));
    let inside = of("max < 100.5us");
    assert!(inside.broke < 50 && 50 < inside.may_have_broken && inside.values == 100, "{inside:?}");
    assert_eq!(of("max < 101us"), evidence(100, 0));
    assert_eq!(
        requirement("max < 100.5us")
            .judge(&Breaches::from_totals(Evidence { broke: 0, ..inside }), None)
            .outcome,
        Outcome::NotEnoughData
    );
}

#[test]
fn a_plan_says_how_long() {
    let claim = requirement("p(latency>100us) < 1e-6");
    let plan = claim.plan(&singly(120_000, 0), None, 1_000_000).unwrap();
    assert!(plan.if_none_breaks.values.abs_diff(2_995_731) <= 2, "{plan:?}");
    assert!((plan.if_none_breaks.length_ns / 1e9 - 2_995.7).abs() < 0.1);
    let in_bursts = claim.plan(&singly(120_000, 0), Some(50), 1_000_000).unwrap();
    assert!(in_bursts.if_none_breaks.values.abs_diff(149_786_614) <= 100, "{in_bursts:?}");
    let seen = claim.plan(&singly(10_000_000, 5), None, 1_000_000).unwrap();
    assert!(
        seen.if_no_more_break.values > 10_000_000
            && seen.at_this_rate.unwrap().values > seen.if_no_more_break.values
    );
    assert_eq!(claim.plan(&singly(1_000, 50), None, 1_000_000).unwrap().now.outcome, Outcome::Fail);
    assert_eq!(requirement("missed = 0").plan(&singly(9, 0), None, 1), None);
}

proptest! {
    #[test]
    fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,40}") {
        let _ = text.parse::<Requirement>();
    }

    #[test]
    fn any_number_in_any_form_never_panics(number in "[0-9.e%-]{0,12}", form in 0usize..4) {
        let text = match form {
            0 => format!("p{number} < 1us"),
            1 => format!("missed < {number}"),
            2 => format!("p(latency > {number}us) < {number}"),
            _ => format!("max < {number}us"),
        };
        let _ = text.parse::<Requirement>();
    }

    #[test]
    fn pass_and_fail_never_both_hold(values in 1u64..1_000_000, broke in 0u64..1_000, share in 1e-6f64..0.5, together in prop::option::of(1u64..100)) {
        let broke = broke.min(values);
        let r = Requirement { share, ..requirement("p99 < 1us") };
        let judged = r.judge(&singly(values, broke), together);
        let [low, high] = judged.share_limits;
        match judged.outcome {
            Outcome::Unknown => prop_assert!(false, "all is known here"),
            Outcome::Pass => prop_assert!(high <= share * (1.0 + 1e-6)),
            Outcome::Fail => prop_assert!(low >= share * (1.0 - 1e-6)),
            Outcome::NotEnoughData => prop_assert!(judged.basis == LimitBasis::Singly || low <= share && share <= high),
        }
    }
}

#[test]
fn the_size_of_a_period_error_counts_whatever_its_sign() {
    let requirement = requirement("period-error max < 100us");
    let mut errors = Distribution::new();
    [-150_000, -50_000, 20_000, 130_000].into_iter().for_each(|ns| errors.record(ns));
    let found = Evidence::from_distribution(&errors, &requirement);
    assert_eq!((found.values, found.broke, found.may_have_broken), (4, 2, 2));
}

fn task(result: TaskResult) -> TaskRun {
    TaskRun { result: Some(result), ..TaskRun::new(TaskSpec::default()) }
}

#[test]
fn what_only_the_task_itself_counted_is_evidence_too() {
    let counted = task(TaskResult { missed: 3, max_latency_ns: 90_000, ..TaskResult::default() });
    let missed = evidence(1_000, 1).with_counters(&counted, &requirement("missed = 0"));
    assert_eq!((missed.values, missed.broke), (1_002, 3));
    let lost = requirement("max < 80us");
    let judged = lost.judge(&singly(1_000, 0).with_counters(&counted, &lost), None);
    assert_eq!((judged.outcome, judged.evidence), (Outcome::Fail, evidence(1_001, 1)));
    let kept = requirement("max < 95us");
    assert_eq!(evidence(1_000, 0).with_counters(&counted, &kept), evidence(1_000, 0));
}

#[test]
fn lost_records_may_have_broken_what_no_counter_includes() {
    let mut lossy = task(TaskResult { dropped: 5, max_latency_ns: 90_000, ..TaskResult::default() });
    let may_hide = |task: &TaskRun, text: &str| {
        let all = evidence(1_000, 0).with_counters(task, &requirement(text));
        (all.values, all.broke, all.may_have_broken)
    };
    // The thread's own extremes include the lost ones, and bound the distance of two starts.
    assert_eq!(may_hide(&lossy, "max < 95us"), (1_000, 0, 0));
    assert_eq!(may_hide(&lossy, "period-error max < 95us"), (1_000, 0, 0));
    assert_eq!(may_hide(&lossy, "period-error max < 85us"), (1_010, 0, 10), "the intervals on both sides");
    assert_eq!(may_hide(&lossy, "execution max < 1s"), (1_005, 0, 5));
    lossy.add_gaps_of_lost_records();
    assert_eq!(may_hide(&lossy, "max < 95us"), (1_005, 0, 5));
    assert_eq!(may_hide(&lossy, "period-error max < 95us"), (1_010, 0, 10));
    assert_eq!(requirement("missed = 0").missing_data(&lossy), Some(Gap::Missed));
}
