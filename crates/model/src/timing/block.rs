//! Counting a block of activations at once: column by column, in loops that the compiler turns into vector code.

use super::TimingStats;
use crate::activation::{Activation, Flags};
use crate::distribution::{BLOCK, Distribution, SMALL};
use crate::histogram::slot_of_i32;

/// Magnitude that all values of a block stay below (67 ms): a difference of two of them stays below [`SMALL`].
const LIMIT: i64 = SMALL as i64 / 2;

/// Fewer activations are counted one by one: whole histograms take more memory than they do.
const WORTH_IT: u64 = 4_096;

/// Counts a block as [`TimingStats::push`] would each of its activations, and returns true. If the block is special (a
/// gap in the records, a value of 67 ms or more, few predecessors), does nothing and returns false.
///
/// Compiled for several generations of processors; the one it runs on chooses.
#[multiversion::multiversion(targets = "simd")]
pub(super) fn push(stats: &mut TimingStats, block: &[Activation; BLOCK]) -> bool {
    let (Some(mut start), Some(error)) = (stats.previous_start_ns, stats.previous_error_ns) else {
        return false;
    };
    let [mut latencies, mut cycles, mut executions] = [[0i32; BLOCK]; 3];
    let mut errors = [error as i32; BLOCK + 1];
    let (mut gaps, mut missed, mut size) = (0, 0, error.wrapping_add(LIMIT) as u64);
    for (i, a) in block.iter().enumerate() {
        let (latency, execution) = (a.latency_ns(), a.execution_ns());
        let error = a.start_ns.wrapping_sub(start).wrapping_sub(stats.period_ns);
        gaps |= a.flags.0 & Flags::AFTER_GAP.0;
        missed |= a.missed;
        for value in [latency, execution, error] {
            size |= value.wrapping_add(LIMIT) as u64;
        }
        (latencies[i], executions[i], errors[i + 1]) = (latency as i32, execution as i32, error as i32);
        start = a.start_ns;
    }
    if gaps != 0 || size >= 2 * LIMIT as u64 || stats.executed() < WORTH_IT {
        return false;
    }
    let last_error = i64::from(errors[BLOCK]);
    for (cycle, pair) in cycles.iter_mut().zip(errors.windows(2)) {
        *cycle = (pair[1] - pair[0]).wrapping_abs();
    }
    let [_, errors @ ..] = &mut errors;
    let quantities = [
        (&mut stats.latency, &mut latencies),
        (&mut stats.period_error, errors),
        (&mut stats.cycle_to_cycle, &mut cycles),
        (&mut stats.execution, &mut executions),
    ];
    for (distribution, values) in quantities {
        distribution.record_moments(values);
        values.iter_mut().for_each(|v| *v = slot_of_i32(*v));
    }
    // Four histograms in turn: a count is written back long before it is needed again.
    let [latency, period_error, cycle_to_cycle, execution] =
        [&mut stats.latency, &mut stats.period_error, &mut stats.cycle_to_cycle, &mut stats.execution]
            .map(Distribution::slots_mut);
    for i in 0..BLOCK {
        latency[latencies[i] as usize] += 1;
        period_error[errors[i] as usize] += 1;
        cycle_to_cycle[cycles[i] as usize] += 1;
        execution[executions[i] as usize] += 1;
    }
    if missed != 0 {
        block.iter().for_each(|a| stats.push_missed(a));
    }
    (stats.previous_start_ns, stats.previous_error_ns) = (Some(start), Some(last_error));
    true
}
