//! Measured compensation next to its theoretical expectation.

use serde::Serialize;

use crate::compensation::{EmpiricalDistribution, nist};
use crate::wakeup::BlockView;

/// Returns the distribution of the latencies of these blocks together.
#[must_use]
pub fn latency_distribution(blocks: &[BlockView<'_>]) -> EmpiricalDistribution {
    EmpiricalDistribution::new(blocks.iter().flat_map(|b| b.activations).map(|a| a.latency_ns() as f64))
}

/// Cost of one wake-up (S in the NIST paper), measured from inside and from outside.
///
/// The paper's own method, an oscilloscope between the timer chip and the task's output, is the inside one;
/// the paper notes that it leaves out the last switch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ServiceTime {
    /// Median time from the due time to the task's return into the wait, by the clock: interrupt, leaving idle,
    /// wake-up, switch to the task and its own code, but not the switch back.
    pub inside_ns: f64,
    /// Processor time of the thread for each wake-up, in ns: its own code and its system calls with the
    /// switches that the kernel accounts to it, but neither the interrupt nor leaving idle.
    pub outside_ns: f64,
    /// The period of a task that only wakes, often, in ns.
    pub often_every_ns: i64,
    /// Processor time for each wake-up of that task, in ns: caches and processor had no time to cool down. This is
    /// the cost of repeated early wake-ups.
    pub often_ns: f64,
}

impl ServiceTime {
    /// Computes it from blocks of the task and of one that only wakes, often; `None` if processor times are unknown.
    pub fn new(plain: &[BlockView<'_>], often: &BlockView<'_>) -> Option<Self> {
        let each = |blocks: &[BlockView<'_>]| {
            let used: i64 = blocks.iter().map(|b| b.result.cpu_time_ns).sum::<Option<i64>>()?;
            let executed: u64 = blocks.iter().map(|b| b.result.executed).sum();
            Some(used as f64 / executed.max(1) as f64)
        };
        let responses = plain.iter().flat_map(|b| b.activations).map(|a| a.response_ns() as f64);
        Some(ServiceTime {
            inside_ns: EmpiricalDistribution::new(responses).quantile(0.5),
            outside_ns: each(plain)?,
            often_every_ns: often.period_ns,
            often_ns: each(std::slice::from_ref(often))?,
        })
    }
}

/// One period A of repeated early wake-ups: its measured cost, and the load by equation 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoadPoint {
    /// The period A, in ns.
    pub every_ns: i64,
    /// Measured share of a processor beyond that of the uncompensated task.
    pub measured: f64,
    /// The part of it that was polled.
    pub polled: f64,
    /// Load by equation 1.
    pub equation_1: f64,
    /// Load if half of the last period is polled.
    pub mean_poll: f64,
}

impl LoadPoint {
    /// Computes the point of a block measured with this A; `None` if processor times are unknown. `uncompensated` is
    /// the load of the uncompensated task.
    pub fn new(every_ns: i64, block: &BlockView<'_>, uncompensated: f64, service_ns: f64) -> Option<Self> {
        let (a, t) = (every_ns as f64, block.period_ns as f64);
        Some(LoadPoint {
            every_ns,
            measured: block.load()? - uncompensated,
            polled: block.result.polled_ns as f64 / block.length_ns() as f64,
            equation_1: nist::load(a, service_ns, t),
            mean_poll: nist::mean_poll_load(a, service_ns, t),
        })
    }
}

/// One margin: the prediction from latencies measured without it, and the measurement with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MarginPoint {
    /// The margin m, in ns.
    pub margin_ns: i64,
    /// The integral of F over \[0, m\], divided by the period.
    pub expected_polled: f64,
    /// Share of the time that was polled.
    pub measured_polled: f64,
    /// 1 - F(m).
    pub expected_late: f64,
    /// Share of starts that were late by more than the resolution of the clock.
    pub measured_late: f64,
}

impl MarginPoint {
    /// Computes the point of blocks measured with this margin, and of latencies measured in turns with them. A start is
    /// late beyond `tolerance_ns`. `None` without blocks.
    pub fn new(
        margin_ns: i64,
        blocks: &[BlockView<'_>],
        latencies: &EmpiricalDistribution,
        tolerance_ns: i64,
    ) -> Option<Self> {
        let period_ns = blocks.first()?.period_ns as f64;
        let length_ns: i64 = blocks.iter().map(BlockView::length_ns).sum();
        let polled_ns: i64 = blocks.iter().map(|b| b.result.polled_ns).sum();
        let starts = || blocks.iter().flat_map(|b| b.activations);
        let late = starts().filter(|a| a.latency_ns() > tolerance_ns).count();
        Some(MarginPoint {
            margin_ns,
            expected_polled: latencies.expected_poll(margin_ns as f64) / period_ns,
            measured_polled: polled_ns as f64 / length_ns as f64,
            expected_late: latencies.late_probability(margin_ns as f64),
            measured_late: late as f64 / starts().count().max(1) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, TaskResult};

    fn block<'a>(result: &'a TaskResult, activations: &'a [Activation]) -> BlockView<'a> {
        BlockView { period_ns: 500_000, result, activations }
    }

    #[test]
    fn a_load_is_what_comes_on_top() {
        let result = TaskResult {
            last_end_ns: 1_000_000,
            cpu_time_ns: Some(200_000),
            polled_ns: 50_000,
            ..TaskResult::default()
        };
        let point = LoadPoint::new(50_000, &block(&result, &[]), 0.01, 5_000.0).unwrap();
        assert_eq!((point.equation_1, point.mean_poll), (0.19, 0.14));
        assert!((point.measured - 0.19).abs() < 1e-12 && point.polled == 0.05);
        let unknown = TaskResult { cpu_time_ns: None, ..result };
        assert_eq!(LoadPoint::new(50_000, &block(&unknown, &[]), 0.01, 5_000.0), None);
    }

    #[test]
    fn a_wake_up_costs_what_the_thread_used_for_each() {
        let used = |cpu_time_ns| TaskResult { executed: 2, cpu_time_ns, ..TaskResult::default() };
        let (plain, often, unknown) = (used(Some(30_000)), used(Some(14_000)), used(None));
        let rows = [9_000, 11_000, 500_000].map(|end_ns| Activation { end_ns, ..Activation::default() });
        let often_block = BlockView { period_ns: 50_000, result: &often, activations: &[] };
        let service = ServiceTime::new(&[block(&plain, &rows)], &often_block).unwrap();
        assert_eq!((service.inside_ns, service.outside_ns, service.often_ns), (11_000.0, 15_000.0, 7_000.0));
        assert_eq!(ServiceTime::new(&[block(&unknown, &rows)], &often_block), None);
    }

    #[test]
    fn a_margin_is_judged_by_the_latencies_without_it() {
        let result = TaskResult { last_end_ns: 1_000_000, polled_ns: 16_000, ..TaskResult::default() };
        let starts = [10, 9_000].map(|start_ns| Activation { start_ns, ..Activation::default() });
        // X is 5 or 25 us: with m = 15 us half of the starts poll for 10 us, the others are late.
        let latencies = EmpiricalDistribution::new([5_000.0, 25_000.0]);
        let point = MarginPoint::new(15_000, &[block(&result, &starts)], &latencies, 100).unwrap();
        assert_eq!((point.expected_polled, point.expected_late), (0.01, 0.5));
        assert_eq!((point.measured_polled, point.measured_late), (0.016, 0.5));
    }
}
