//! Compensation: waking early on purpose and polling the clock up to the due time. Decorators around any wake-up
//! method.
//!
//! With X the latency of the early sleep, F its distribution and m the margin, the task polls for
//! E\[max(0, m - X)\] = integral of F from 0 to m on average, and starts late with probability 1 - F(m).

mod margin;
mod repeat;
mod tracker;

pub use margin::EarlyWake;
pub use repeat::RepeatedWake;
pub use tracker::QuantileTracker;

use std::io;

use jitterlab_model::Compensation;

use crate::system::System;
use crate::wake::{Wake, WakeUp};

/// The longest time that choosing a margin from data takes.
pub const CALIBRATION_NS: i64 = 10_000_000_000;
/// Number of measured latencies for each one that may lie beyond the margin.
const SAMPLES_PER_LATE: f64 = 4.0;
const LEAST_SAMPLES: f64 = 200.0;
/// Enough for any share of late starts that can be checked in a calibration.
const MOST_SAMPLES: f64 = 1e6;

/// The wake-up with the compensation asked for. Where the margin has to be chosen from data, early sleeps of the
/// task's period are measured here.
///
/// # Errors
/// A sleep that failed.
pub fn with_compensation<S: System>(
    wake: Box<dyn WakeUp<S>>,
    system: &S,
    compensation: Compensation,
    period_ns: i64,
) -> io::Result<Box<dyn WakeUp<S>>> {
    Ok(match (compensation, compensation.target_late_share()) {
        (Compensation::Repeat { every_ns }, _) => Box::new(RepeatedWake::new(wake, every_ns)),
        (Compensation::Margin { margin_ns }, _) => Box::new(EarlyWake::with_fixed_margin(wake, margin_ns)),
        (_, Some(late)) => {
            let mut wake = wake;
            let latencies = measure_latencies(&mut *wake, system, period_ns, sample_count(late, period_ns))?;
            let margin_ns = margin_for(&latencies, late).min(longest_margin_ns(period_ns));
            match compensation {
                Compensation::Adaptive { .. } => {
                    let step_ns = tracker::default_step_ns(&latencies);
                    let tracker =
                        QuantileTracker::new(late, margin_ns, step_ns, longest_margin_ns(period_ns));
                    Box::new(EarlyWake::with_tracked_margin(wake, tracker, latencies.len() as u64))
                }
                _ => Box::new(EarlyWake::with_measured_margin(wake, margin_ns, latencies.len() as u64)),
            }
        }
        (_, None) => wake,
    })
}

/// Longest margin that is chosen automatically: half the period.
fn longest_margin_ns(period_ns: i64) -> i64 {
    period_ns / 2
}

/// Number of latencies that a calibration measures for a wanted share of late starts.
fn sample_count(late: f64, period_ns: i64) -> usize {
    let wanted = (SAMPLES_PER_LATE / late).clamp(LEAST_SAMPLES, MOST_SAMPLES) as i64;
    wanted.min(CALIBRATION_NS / period_ns.max(1)).max(1) as usize
}

/// Measures latencies of sleeps to successive due times `period_ns` apart, in increasing order.
///
/// # Errors
/// A sleep that failed.
pub fn measure_latencies<S: System>(
    wake: &mut dyn WakeUp<S>,
    system: &S,
    period_ns: i64,
    samples: usize,
) -> io::Result<Vec<i64>> {
    let mut latencies = Vec::with_capacity(samples);
    let mut due_ns = system.now_ns().saturating_add(period_ns);
    while latencies.len() < samples {
        let now_ns = match wake.wait(system, due_ns)? {
            Wake::Due => system.now_ns(),
            Wake::Read(arrival) => arrival.now_ns,
            Wake::Interrupted => continue,
        };
        latencies.push(now_ns - due_ns);
        let passed = (now_ns - due_ns).max(0) / period_ns.max(1);
        due_ns = due_ns.saturating_add((passed + 1) * period_ns.max(1));
    }
    latencies.sort_unstable();
    Ok(latencies)
}

/// The margin that leaves the share `late` of starts late, from latencies in increasing order. It is the k-th
/// largest of n with k = floor(late (n + 1)), which the next latency exceeds with probability k / (n + 1)
/// whatever its distribution. Where n is too small for that, the largest.
pub fn margin_for(latencies: &[i64], late: f64) -> i64 {
    let n = latencies.len();
    let k = ((late * (n as f64 + 1.0)) as usize).clamp(1, n.max(1));
    n.checked_sub(k).and_then(|at| latencies.get(at)).copied().unwrap_or(0).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_is_the_order_statistic_for_the_wanted_share() {
        let latencies: Vec<i64> = (1..=999).collect();
        assert_eq!(margin_for(&latencies, 1e-2), 990);
        assert_eq!(margin_for(&latencies, 1e-3), 999);
        assert_eq!(margin_for(&latencies, 1e-6), 999);
        assert_eq!(margin_for(&latencies, 0.5), 500);
        assert_eq!(margin_for(&[], 0.5), 0);
    }

    #[test]
    fn a_calibration_is_long_enough_for_the_share_and_no_longer_than_promised() {
        assert_eq!(sample_count(1e-3, 500_000), 4_000);
        assert_eq!(sample_count(0.5, 500_000), 200);
        assert_eq!(sample_count(1e-9, 1_000_000), 10_000);
        assert_eq!(sample_count(1e-3, 3_600_000_000_000), 1);
    }
}
