use super::*;
use jitterlab_model::{Activation, Distribution, TaskResult};
use proptest::prelude::*;

fn requirement(text: &str) -> Requirement {
    text.parse().unwrap()
}

fn evidence(values: u64, broke: u64) -> Evidence {
    Evidence { values, broke, may_have_broken: broke }
}

fn outcome(text: &str, values: u64, broke: u64) -> Outcome {
    requirement(text).judge(evidence(values, broke), 1.0).outcome
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
fn a_short_run_cannot_support_a_high_quantile() {
    assert_eq!(outcome("p99.99 < 80us", 10_000, 0), Outcome::NotEnoughData);
    assert_eq!(outcome("p99.99 < 80us", 29_955, 0), Outcome::NotEnoughData);
    assert_eq!(outcome("p99.99 < 80us", 29_957, 0), Outcome::Pass);
    assert_eq!(outcome("p99.99 < 80us", 29_957, 1), Outcome::NotEnoughData);
    assert_eq!(outcome("p99.99 < 80us", 29_957, 8), Outcome::Fail);
    // One broken value in a few says little; many in a few say it is broken.
    assert_eq!(outcome("p99.99 < 80us", 10, 1), Outcome::Fail);
    assert_eq!(outcome("p90 < 80us", 10, 1), Outcome::NotEnoughData);
}

#[test]
fn never_means_never_seen() {
    assert_eq!(outcome("missed = 0", 1_000, 0), Outcome::Pass);
    assert_eq!(outcome("missed = 0", 1_000, 1), Outcome::Fail);
    assert_eq!(outcome("max < 1us", 0, 0), Outcome::NotEnoughData);
    let judged = requirement("missed = 0").judge(evidence(1_000, 0), 1.0);
    assert!((judged.share_limits[1] - 2.99e-3).abs() < 1e-5, "{judged:?}");
}

#[test]
fn clusters_say_less() {
    let r = requirement("p99 < 80us");
    assert_eq!(r.judge(evidence(1_000, 20), 1.0).outcome, Outcome::Fail);
    assert_eq!(r.judge(evidence(1_000, 20), 0.1).outcome, Outcome::NotEnoughData);
}

#[test]
fn missed_due_times_count_with_their_age() {
    let r = requirement("p99 < 1us");
    let mut counter = EvidenceCounter::new(&r, 1_000);
    counter.push(&Activation { start_ns: 5_300, end_ns: 5_300, missed: 5, ..Activation::default() });
    assert_eq!(counter.evidence(), evidence(6, 5));
    let missed = requirement("missed = 0");
    let mut counter = EvidenceCounter::new(&missed, 1_000);
    counter.push(&Activation { missed: 5, ..Activation::default() });
    assert_eq!(counter.evidence(), evidence(6, 5));
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
        requirement("max < 100.5us").judge(Evidence { broke: 0, ..inside }, 1.0).outcome,
        Outcome::NotEnoughData
    );
}

#[test]
fn a_plan_says_how_long() {
    let claim = requirement("p(latency>100us) < 1e-6");
    let plan = claim.plan(evidence(120_000, 0), 1.0, 1_000_000).unwrap();
    assert!(plan.if_none_breaks.values.abs_diff(2_995_731) <= 2, "{plan:?}");
    assert!((plan.if_none_breaks.length_ns / 1e9 - 2_995.7).abs() < 0.1);
    let seen = claim.plan(evidence(10_000_000, 5), 1.0, 1_000_000).unwrap();
    assert!(
        seen.if_no_more_break.values > 10_000_000
            && seen.at_this_rate.unwrap().values > seen.if_no_more_break.values
    );
    assert_eq!(claim.plan(evidence(1_000, 5), 1.0, 1_000_000).unwrap().now.outcome, Outcome::Fail);
    assert_eq!(requirement("missed = 0").plan(evidence(9, 0), 1.0, 1), None);
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
    fn pass_and_fail_never_both_hold(values in 1u64..1_000_000, broke in 0u64..1_000, share in 1e-6f64..0.5) {
        let broke = broke.min(values);
        let r = Requirement { share, ..requirement("p99 < 1us") };
        let judged = r.judge(evidence(values, broke), 1.0);
        let [low, high] = judged.share_limits;
        match judged.outcome {
            Outcome::Unknown => prop_assert!(false, "all is known here"),
            Outcome::Pass => prop_assert!(high <= share * (1.0 + 1e-6)),
            Outcome::Fail => prop_assert!(low >= share * (1.0 - 1e-6)),
            Outcome::NotEnoughData => prop_assert!(low <= share * (1.0 + 1e-6) && share <= high * (1.0 + 1e-6)),
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

#[test]
fn what_only_the_task_itself_counted_is_evidence_too() {
    let counters = TaskResult { missed: 3, max_latency_ns: 90_000, ..TaskResult::default() };
    let missed = evidence(1_000, 1).with_counters(&counters, &requirement("missed = 0"));
    assert_eq!((missed.values, missed.broke), (1_002, 3));
    let lost = requirement("max < 80us");
    assert_eq!(lost.judge(evidence(1_000, 0).with_counters(&counters, &lost), 1.0).outcome, Outcome::Fail);
    let kept = requirement("max < 95us");
    assert_eq!(evidence(1_000, 0).with_counters(&counters, &kept), evidence(1_000, 0));
}
