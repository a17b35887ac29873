//! F. M. Proctor and W. P. Shackleford, "Real-time Operating System Timing Jitter and its Impact on Motor
//! Control" (NIST, 2001), sections 2 and 3: the jitter of a task of 500 us, the cost of compensating it, and
//! the gain.

use jitterlab_model::ClockFit;
use serde::Serialize;

use super::nist_calls::EarlyCalls;
use super::stretches::{each_is_above, factor};
use super::{SystemUnderLoads, Tested};
use jitterlab_analysis::Summary;
use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime};
use jitterlab_analysis::median_interval::MedianInterval;

/// The paper's period.
pub const PERIOD_NS: i64 = 500_000;

/// Numbers that the paper prints for its figures 1, 2, 5 and 6.
pub const PRINTED: PrintedJitter = PrintedJitter {
    jitter_ns: 3_600.0,
    jitter_in_figure_2_ns: 3_500.0,
    compensated_jitter_ns: 98.0,
    factor: 40.0,
    extra_load: 0.20,
    service_ns: 5_000.0,
    least_load: 0.19,
    least_load_every_ns: 50_000,
};

/// Numbers that the paper prints for its figures 1, 2, 5 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PrintedJitter {
    /// Jitter of the uncompensated task in figure 6.
    pub jitter_ns: f64,
    /// The same as figure 2 has it.
    pub jitter_in_figure_2_ns: f64,
    /// Jitter of the compensated task in figure 6.
    pub compensated_jitter_ns: f64,
    /// Factor by which that is smaller, in the paper's words; the two numbers give 36.7.
    pub factor: f64,
    /// Share of the processor that it costs.
    pub extra_load: f64,
    /// The service time assumed for figure 5.
    pub service_ns: f64,
    /// The least load of figure 5.
    pub least_load: f64,
    /// The distance of wake-ups with that load.
    pub least_load_every_ns: i64,
}

/// Figures 1, 2, 5 and 6 repeated on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistJitter {
    /// Numbers that the paper prints.
    pub printed: PrintedJitter,
    /// T, the paper's 500 us.
    pub period_ns: i64,
    /// Accuracy of the time stamp counter in nanoseconds; `None` if CLOCK_MONOTONIC was read.
    pub clock_fit: Option<ClockFit>,
    /// Time between two readings of the clock.
    pub floor_ns: i64,
    /// Figure 1: 100 samples.
    pub short: Deviations,
    pub short_clusters: Vec<LatencyCluster>,
    /// Figure 2: 10,000 samples.
    pub long: Deviations,
    pub long_clusters: Vec<LatencyCluster>,
    /// Figure 4: one activation, called early at the distance that equation 2 recommends; `None` where none was called early.
    pub early_calls: Option<EarlyCalls>,
    /// Figure 5: the service time S.
    pub service: ServiceTime,
    /// Figure 5: measured loads.
    pub load_curve: Vec<LoadPoint>,
    /// Figure 6: 100 uncompensated samples.
    pub uncompensated: Deviations,
    /// Figure 6: 100 compensated samples.
    pub compensated: Deviations,
    /// Margin of the compensated task.
    pub margin_ns: i64,
    /// Jitter of uncompensated series of 100 samples.
    pub uncompensated_jitter_ns: Option<MedianInterval>,
    /// Jitter of compensated series of 100 samples.
    pub compensated_jitter_ns: Option<MedianInterval>,
    /// Factor by which the jitter became smaller, series by series.
    pub factor: Option<MedianInterval>,
    /// Additional share of a processor.
    pub extra_load: Option<MedianInterval>,
}

/// The latencies of one measurement of figure 3.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyRange {
    pub min_ns: i64,
    pub max_ns: i64,
    /// Standard deviation, the largest of several runs.
    pub sd_ns: Option<f64>,
    /// Activations that ran.
    pub executed: u64,
    /// Activations that were missed.
    pub missed: u64,
}

impl LatencyRange {
    /// Of a task; `None` where nothing was measured.
    pub fn from_summary(summary: &Summary) -> Option<Self> {
        let latency = &summary.latency;
        Some(LatencyRange {
            min_ns: latency.min_ns?,
            max_ns: latency.max_ns?,
            sd_ns: latency.sd_ns,
            executed: summary.executed.exactly()?,
            missed: summary.missed.exactly()?,
        })
    }

    /// The range over both runs.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        LatencyRange {
            min_ns: self.min_ns.min(other.min_ns),
            max_ns: self.max_ns.max(other.max_ns),
            sd_ns: self.sd_ns.zip(other.sd_ns).map(|(a, b)| a.max(b)),
            executed: self.executed + other.executed,
            missed: self.missed + other.missed,
        }
    }

    pub fn range_ns(&self) -> i64 {
        self.max_ns.saturating_sub(self.min_ns)
    }
}

/// Figure 3 repeated on the real-time systems of a machine, or on kernels in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistLoads {
    /// The systems under normal, network and disk load; the first two correspond to figures 3a and 3b.
    pub systems: Vec<SystemUnderLoads<LatencyRange>>,
    /// True for virtual time; `ns_per_instruction` is then the time of an instruction.
    pub in_virtual_time: bool,
    pub ns_per_instruction: Option<u32>,
    /// Statements of the paper about the figure, tested.
    pub statements: Vec<Tested<Statement>>,
}

/// Statement of the paper about its figure 3.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "says", rename_all = "kebab-case")]
pub enum Statement {
    /// The range grows as the environment is loaded more heavily.
    RangeGrowsWithLoad {
        system: String,
        /// Ranges under the loads from none to most.
        ranges_ns: Vec<Option<i64>>,
        /// Factor of a stretch's range over that without load, for each load but the first.
        growth: Vec<Option<MedianInterval>>,
    },
    /// Under heavy disk load both systems are comparable: here, within a factor of 2.
    ComparableUnderDiskLoad {
        /// The systems' ranges under that load.
        ranges_ns: Vec<Option<i64>>,
        /// Factor of the second system's range of a stretch over the first one's.
        factor: Option<MedianInterval>,
    },
    /// Worst cases are on the order of ten microseconds: from 3.162 to 31.62 us.
    WorstOfTenMicroseconds {
        /// The largest latency of all.
        worst_ns: Option<i64>,
    },
}

impl NistLoads {
    /// Tests the paper's statements on the measurements. `stretches` are the latencies' ranges in equal
    /// stretches of each system's run under each load: a single range of each would not show how it varies.
    pub fn new(systems: Vec<SystemUnderLoads<LatencyRange>>, stretches: &[Vec<Vec<f64>>]) -> Self {
        let mut statements: Vec<Tested<Statement>> = systems
            .iter()
            .zip(stretches)
            .map(|(system, stretches)| {
                let ranges_ns = system.each(LatencyRange::range_ns);
                let growth: Vec<_> = stretches.split_first().map_or_else(Vec::new, |(normal, loaded)| {
                    loaded.iter().map(|loaded| factor(normal, loaded)).collect()
                });
                let grows = each_is_above(1.0, &growth);
                let system = system.system.clone();
                Tested::new(Statement::RangeGrowsWithLoad { system, ranges_ns, growth }, grows)
            })
            .collect();
        let disk = |system: &SystemUnderLoads<LatencyRange>| Some(system.loads.last()?.found?.range_ns());
        let ranges_ns: Vec<Option<i64>> = systems.iter().map(disk).collect();
        let under_disk: Vec<&Vec<f64>> = stretches.iter().filter_map(|loads| loads.last()).collect();
        let factor = match under_disk.as_slice() {
            [first, second, ..] => factor(first, second),
            _ => None,
        };
        let comparable = factor.and_then(|factor| match factor.interval? {
            (low, high) if low >= 0.5 && high <= 2.0 => Some(true),
            (low, high) if high < 0.5 || low > 2.0 => Some(false),
            _ => None,
        });
        statements.push(Tested::new(Statement::ComparableUnderDiskLoad { ranges_ns, factor }, comparable));
        let all = systems.iter().flat_map(|system| &system.loads);
        let worst_ns = all.filter_map(|load| Some(load.found?.max_ns)).max();
        let of_ten = worst_ns.map(|worst| (3_162..31_623).contains(&worst));
        statements.push(Tested::new(Statement::WorstOfTenMicroseconds { worst_ns }, of_ten));
        NistLoads { systems, in_virtual_time: false, ns_per_instruction: None, statements }
    }

    /// The same of kernels in virtual time.
    #[must_use]
    pub fn in_virtual_time(self, ns_per_instruction: Option<u32>) -> Self {
        NistLoads { in_virtual_time: true, ns_per_instruction, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::StatementVerdict::{CannotBeTold, DoesNotHold, Holds};
    use crate::claims::UnderLoad;

    fn under(range_ns: Option<i64>) -> UnderLoad<LatencyRange> {
        UnderLoad {
            condition: "normal".into(),
            load: "none".into(),
            found: range_ns.map(|range_ns| LatencyRange {
                min_ns: 1_000,
                max_ns: 1_000 + range_ns,
                sd_ns: Some(10.0),
                executed: 1,
                missed: 0,
            }),
        }
    }

    #[test]
    fn each_statement_can_hold_fail_and_stay_undecided() {
        let standings = |systems: [[Option<i64>; 3]; 2]| {
            let systems = systems
                .map(|ranges| SystemUnderLoads { system: "a".into(), loads: ranges.map(under).into() });
            // Ten stretches that are all alike, or none if the range is unknown.
            let alike =
                |load: &UnderLoad<LatencyRange>| load.found.map_or(vec![], |f| vec![f.range_ns() as f64; 10]);
            let stretches = systems.each_ref().map(|system| system.loads.iter().map(alike).collect());
            let found = NistLoads::new(systems.into(), &stretches);
            found.statements.iter().map(|tested| tested.standing).collect::<Vec<_>>()
        };
        let known = |ranges: [[i64; 3]; 2]| ranges.map(|ranges| ranges.map(Some));
        assert_eq!(standings(known([[4_000, 9_000, 11_000], [5_000, 7_000, 8_000]])), [Holds; 4]);
        assert_eq!(standings(known([[900, 800, 700], [50, 60, 40]])), [DoesNotHold; 4]);
        assert_eq!(standings([[None; 3]; 2]), [CannotBeTold; 4]);
    }
}
