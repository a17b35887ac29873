//! Interleaved blocks on the real machine. Only what must hold on any machine is asserted.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::sync::atomic::AtomicBool;

use jitterlab_host::{DmaLatency, Stage};
use jitterlab_model::{Compensation, Flags, TaskSpec};
use jitterlab_trace::Parts;

#[test]
fn blocks_of_two_ways_lie_on_one_grid_and_join_to_runs() {
    let stage =
        Stage::prepare("period=1ms,policy=other".parse().unwrap(), DmaLatency::default(), Parts::nowhere())
            .unwrap();
    let plain = stage.spec().clone();
    let early = TaskSpec { compensate: Compensation::Margin { margin_ns: 100_000 }, ..plain.clone() };
    let mut told = Vec::new();
    let interrupted = AtomicBool::new(false);
    let ways = [plain, early];
    let blocks = stage.interleave(&ways, 3, 30_000_000, &mut |n| told.push(n), &interrupted).unwrap();
    assert_eq!(told, [1, 2, 3, 4, 5, 6]);
    for (spec, blocks) in ways.iter().zip(&blocks) {
        let (info, rows) = stage.as_run(spec, blocks);
        assert_eq!((blocks.len(), rows.len()), (3, 90));
        let result = info.tasks[0].result.as_ref().unwrap();
        assert_eq!(result.executed, 90);
        assert!(result.cpu_time_ns.is_some() && info.facts_after.is_some());
        assert_eq!(rows.iter().filter(|r| r.flags.contains(Flags::AFTER_GAP)).count(), 3);
        for pair in rows.windows(2) {
            assert!(pair[1].index > pair[0].index);
            let apart_ns = pair[1].due_ns - pair[0].due_ns;
            assert_eq!(apart_ns, (pair[1].index - pair[0].index) as i64 * spec.period_ns);
        }
    }
    let first = |way: usize, round: usize| blocks[way][round].result.first_due_ns;
    assert!((0..3).all(|round| first(0, round) < first(1, round)));
    assert!((0..2).all(|round| first(1, round) < first(0, round + 1)));
}

#[test]
fn an_interruption_leaves_whole_rounds() {
    let stage =
        Stage::prepare("period=1ms,policy=other".parse().unwrap(), DmaLatency::default(), Parts::nowhere())
            .unwrap();
    let ways = [stage.spec().clone(), stage.spec().clone()];
    let interrupted = AtomicBool::new(true);
    let blocks = stage.interleave(&ways, 3, 30_000_000, &mut |_| {}, &interrupted).unwrap();
    assert!(blocks.iter().all(Vec::is_empty));
}

#[test]
fn the_clock_has_a_floor() {
    let stage =
        Stage::prepare("period=1ms,policy=other".parse().unwrap(), DmaLatency::default(), Parts::nowhere())
            .unwrap();
    let floor = stage.clock_floor().unwrap();
    assert!(floor.count() > 10_000 && floor.min_ns() >= Some(0));
}
