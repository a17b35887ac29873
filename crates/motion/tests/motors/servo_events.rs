//! The verdict on a run's worst event, by a move the machine would make.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use jitterlab_model::Activation;
use jitterlab_motion::servo::{
    AssessmentOptions, FollowedReference, LoopUnderRun, Reference, SingleTaskLoop,
};
use jitterlab_motion::{JudgedRun, catalog};

/// The worst event of punctual jobs without work but one, under `skip`.
fn worst_event(period_ns: i64, late: f64) -> FollowedReference {
    let (count, place) = (200_000_000 / period_ns * 4, 200_000_000 / period_ns * 2);
    let free_ns = place * period_ns + (late * period_ns as f64) as i64;
    let job = |k: i64| {
        let due_ns = k * period_ns;
        let end_ns = if k == place { free_ns } else { due_ns };
        Activation { index: k as u64, due_ns, start_ns: due_ns, end_ns, ..Activation::default() }
    };
    let run: Vec<Activation> =
        (0..count).filter(|k| *k <= place || k * period_ns > free_ns).map(job).collect();
    let question = SingleTaskLoop::new(catalog::find_device("dc-servo", None).unwrap(), period_ns);
    let name = JudgedRun::assumed("run".into(), period_ns, 0);
    let found = LoopUnderRun::new(&question, name, run.as_slice(), &AssessmentOptions::default()).unwrap().0;
    found.assessment.responses.into_iter().next().unwrap()
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

/// Computed by another program, from the same definition.
#[test]
fn the_worst_event_is_judged_by_a_move() {
    for (late, apart, of_error) in
        [(1.5, 0.005_420, 0.0561), (2.5, 0.010_461, 0.1084), (0.5, 0.001_041, 0.0108)]
    {
        let found = worst_event(4_000_000, late);
        assert_eq!(found.reference, Reference::Move { distance: 1.0, time_ns: 166_667_000 });
        near(found.apart, apart, 3e-3);
        near(found.of_error, of_error, 6e-3);
        near(found.ideal.max_error, 0.09653, 1e-3);
    }
}

/// A step's response would differ by all of the step, whatever the period.
#[test]
fn an_event_matters_less_the_shorter_the_period() {
    for (period_ns, apart, of_error) in
        [(500_000, 0.000_78, 0.0085), (1_000_000, 0.001_53, 0.0165), (2_000_000, 0.002_93, 0.0311)]
    {
        let found = worst_event(period_ns, 1.5);
        near(found.apart, apart, 0.01);
        near(found.of_error, of_error, 0.01);
    }
}
