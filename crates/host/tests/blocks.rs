//! Interleaved blocks on the real machine. Only facts that hold on any machine are asserted.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::sync::atomic::AtomicBool;

use jitterlab_host::{DmaLatency, Experiment, Progress, TaskMeasurer};
use jitterlab_model::{Compensation, Flags};
use jitterlab_trace::FinishedParts;

fn prepare<'e, 'a>(experiment: &'e mut Experiment<'a>) -> TaskMeasurer<'e, 'a> {
    TaskMeasurer::prepare("period=1ms,policy=other".parse().unwrap(), DmaLatency::default(), experiment)
        .unwrap()
}

#[test]
fn blocks_of_two_ways_lie_on_one_grid_and_join_to_runs() {
    let mut left_ms = Vec::new();
    let mut tell = |now: &Progress| left_ms.extend(now.remaining_ns.map(|ns| ns / 1_000_000));
    let interrupted = AtomicBool::new(false);
    let mut experiment = Experiment::new(FinishedParts::without_file(), &mut tell, &interrupted);
    experiment.set_total_time(180_000_000);
    let mut bench = prepare(&mut experiment);
    let plain = bench.spec.clone();
    let ways = [plain, bench.spec_with_compensation(Compensation::Margin { margin_ns: 100_000 })];
    let blocks = bench.measure_in_turns(&ways, 3, 30_000_000).unwrap();
    for (spec, blocks) in ways.iter().zip(&blocks) {
        let (info, rows) = bench.blocks_as_run(spec, blocks);
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
    drop(bench);
    assert_eq!(left_ms, [150, 120, 90, 60, 30, 0]);
}

#[test]
fn an_interruption_leaves_whole_rounds() {
    let (mut tell, interrupted) = (|_: &Progress| (), AtomicBool::new(true));
    let mut experiment = Experiment::new(FinishedParts::without_file(), &mut tell, &interrupted);
    let mut bench = prepare(&mut experiment);
    let ways = [bench.spec.clone(), bench.spec.clone()];
    assert!(bench.measure_in_turns(&ways, 3, 30_000_000).unwrap().iter().all(Vec::is_empty));
}

#[test]
fn the_clock_has_a_floor() {
    let (mut tell, interrupted) = (|_: &Progress| (), AtomicBool::new(false));
    let mut experiment = Experiment::new(FinishedParts::without_file(), &mut tell, &interrupted);
    let floor = prepare(&mut experiment).measure_clock_floor().unwrap();
    assert!(floor.count() > 10_000 && floor.min_ns() >= Some(0));
}
