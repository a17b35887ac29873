//! "Timing of periodic non-realtime and realtime threads", University of Twente: the duration of a loop of 1 ms, ordinary
//! and real-time, without load, beside `stress -c 4 -m 2` and beside `stress -c 4 -m 6`.

use jitterlab_model::Policy;
use serde::{Deserialize, Serialize};

use super::{SystemUnderLoads, Tested};
use crate::Summary;

/// The report's period.
pub const PERIOD_NS: i64 = 1_000_000;

/// By how much the standard deviation changed under load in the report's figures 7, 9 and 11, which it calls "not
/// significantly": 0.031 to 0.022 ms.
const NOT_SIGNIFICANT_NS: f64 = 9_000.0;

/// By what factor the mean must rise to have risen as in the report, where it goes from 1.15 to 1.3 ms.
const RISEN: f64 = 1.05;

/// Duration of the loop: from one start to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopTimes {
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// Shortest.
    pub shortest_ns: i64,
    /// Longest.
    pub longest_ns: i64,
    /// Loops that ran.
    pub executed: u64,
    /// Loops that were missed.
    pub missed: u64,
}

impl LoopTimes {
    /// Of a task of that period; `None` where fewer than two starts were measured.
    pub fn of(summary: &Summary) -> Option<Self> {
        let error = &summary.period_error;
        Some(LoopTimes {
            mean_ns: summary.period_ns as f64 + error.mean_ns?,
            sd_ns: error.sd_ns?,
            shortest_ns: summary.period_ns + error.min_ns?,
            longest_ns: summary.period_ns + error.max_ns?,
            executed: summary.executed.exactly()?,
            missed: summary.missed.exactly()?,
        })
    }
}

/// What the report prints of one measurement, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrintedLoop {
    /// Mean.
    pub mean_ms: Option<f64>,
    /// The mean as another place of the report has it.
    pub other_mean_ms: Option<f64>,
    /// Between which durations most loops lie.
    pub mostly_ms: Option<(f64, f64)>,
    /// Standard deviation.
    pub sd_ms: Option<f64>,
    /// The standard deviation as another place of the report has it.
    pub other_sd_ms: Option<f64>,
}

/// The report's measurements in the order of its figures: ordinary and then real-time, from no load to the larger one.
/// From sections 2.1 ("close to 1.2"), 2.2 and 2.2.2 (the other places).
pub const PRINTED: [PrintedLoop; 6] = [
    PrintedLoop {
        mean_ms: Some(1.15),
        other_mean_ms: Some(1.2),
        mostly_ms: None,
        sd_ms: Some(0.022),
        other_sd_ms: None,
    },
    PrintedLoop {
        mean_ms: None,
        other_mean_ms: None,
        mostly_ms: Some((1.05, 1.4)),
        sd_ms: None,
        other_sd_ms: None,
    },
    PrintedLoop {
        mean_ms: Some(1.3),
        other_mean_ms: None,
        mostly_ms: Some((1.1, 1.5)),
        sd_ms: None,
        other_sd_ms: None,
    },
    PrintedLoop {
        mean_ms: Some(1.08),
        other_mean_ms: Some(1.072),
        mostly_ms: None,
        sd_ms: Some(0.031),
        other_sd_ms: Some(0.30),
    },
    PrintedLoop {
        mean_ms: Some(1.072),
        other_mean_ms: None,
        mostly_ms: None,
        sd_ms: Some(0.022),
        other_sd_ms: None,
    },
    PrintedLoop {
        mean_ms: Some(1.072),
        other_mean_ms: None,
        mostly_ms: None,
        sd_ms: Some(0.024),
        other_sd_ms: None,
    },
];

/// One of the report's measurements, repeated on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TwenteCase {
    /// The report's figure with the series; the next one is the histogram.
    pub figure: u32,
    /// The scheduling policy in force.
    pub policy: Policy,
    /// The load beside the task, as `--load` takes it.
    pub load: String,
    /// What the report prints.
    pub printed: PrintedLoop,
    /// What was found; `None` where nothing was measured.
    pub here: Option<LoopTimes>,
}

/// The report's measurements repeated on kernels in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TwenteVirtual {
    /// The ordinary kernel.
    pub ordinary: SystemUnderLoads<LoopTimes>,
    /// The real-time ones.
    pub real_time: Vec<SystemUnderLoads<LoopTimes>>,
    /// Nanoseconds of virtual time for each instruction; `None` where time passed as on the host.
    pub ns_per_instruction: Option<u32>,
    /// What the report concludes, tested.
    pub conclusions: Vec<Tested<Conclusion>>,
}

/// What the report concludes in sections 2.1 to 2.2.2. Standard deviations are those of the loads from none to most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "says", rename_all = "kebab-case")]
pub enum Conclusion {
    /// Ordinary Linux: stress enlarges the jitter.
    StressEnlargesJitter {
        /// Standard deviations.
        sds_ns: Vec<Option<f64>>,
    },
    /// Ordinary Linux: the jitter grows with the stress applied.
    JitterGrowsWithStress {
        /// Standard deviations.
        sds_ns: Vec<Option<f64>>,
    },
    /// Ordinary Linux: the mean rises under stress, from 1.15 to 1.3 ms.
    MeanRisesUnderStress {
        /// Mean without load.
        idle_ns: Option<f64>,
        /// Mean under the larger load.
        stressed_ns: Option<f64>,
        /// Loops missed under the larger load: they lengthen the mean, since the grid is absolute.
        missed: Option<u64>,
    },
    /// A real-time system: stress does not significantly affect the timing.
    StressDoesNotMatter {
        /// The system.
        system: String,
        /// Standard deviations.
        sds_ns: Vec<Option<f64>>,
        /// By how much the report's standard deviation changed.
        not_significant_ns: f64,
    },
    /// A real-time system meets the period more accurately than ordinary Linux.
    MoreAccurate {
        /// The system.
        system: String,
        /// How many times as large the ordinary Linux's standard deviation is.
        factors: Vec<Option<f64>>,
    },
}

impl TwenteVirtual {
    /// Tests the conclusions on what was measured.
    pub fn of(
        ordinary: SystemUnderLoads<LoopTimes>,
        real_time: Vec<SystemUnderLoads<LoopTimes>>,
        ns_per_instruction: Option<u32>,
    ) -> Self {
        let mut conclusions = of_ordinary(&ordinary);
        conclusions.extend(real_time.iter().flat_map(|system| of_real_time(system, &ordinary)));
        TwenteVirtual { ordinary, real_time, ns_per_instruction, conclusions }
    }
}

fn sds(system: &SystemUnderLoads<LoopTimes>) -> Vec<Option<f64>> {
    system.each(|loops| loops.sd_ns)
}

fn of_ordinary(system: &SystemUnderLoads<LoopTimes>) -> Vec<Tested<Conclusion>> {
    let sds_ns = sds(system);
    let known = || match sds_ns.as_slice() {
        [idle, some, most] => Some((*idle, *some, *most)),
        _ => None,
    };
    let test = |holds: fn(f64, f64, f64) -> bool| {
        let (idle, some, most) = known()?;
        Some(holds(idle?, some?, most?))
    };
    let means = system.each(|loops| loops.mean_ns);
    let (idle_ns, stressed_ns) = (means.first().copied().flatten(), means.last().copied().flatten());
    let missed = system.loads.last().and_then(|load| Some(load.found?.missed));
    let risen = idle_ns.zip(stressed_ns).map(|(idle, stressed)| stressed > RISEN * idle);
    vec![
        Tested::new(
            Conclusion::StressEnlargesJitter { sds_ns: sds_ns.clone() },
            test(|idle, some, most| some > idle && most > idle),
        ),
        Tested::new(
            Conclusion::JitterGrowsWithStress { sds_ns: sds_ns.clone() },
            test(|idle, some, most| some > idle && most > some),
        ),
        Tested::new(Conclusion::MeanRisesUnderStress { idle_ns, stressed_ns, missed }, risen),
    ]
}

fn of_real_time(
    system: &SystemUnderLoads<LoopTimes>,
    ordinary: &SystemUnderLoads<LoopTimes>,
) -> [Tested<Conclusion>; 2] {
    let sds_ns = sds(system);
    let known: Option<Vec<f64>> = sds_ns.iter().copied().collect();
    let unmoved = known.as_deref().and_then(|sds| {
        let (idle, loaded) = sds.split_first()?;
        Some(loaded.iter().all(|sd| (sd - idle).abs() <= NOT_SIGNIFICANT_NS))
    });
    let pairs: Vec<_> = sds_ns.iter().zip(sds(ordinary)).map(|(here, there)| (*here).zip(there)).collect();
    let better: Option<Vec<bool>> = pairs.iter().map(|pair| pair.map(|(here, there)| here < there)).collect();
    let factors = pairs.iter().map(|pair| pair.map(|(here, there)| there / here)).collect();
    let name = &system.system;
    [
        Tested::new(
            Conclusion::StressDoesNotMatter {
                system: name.clone(),
                sds_ns: sds_ns.clone(),
                not_significant_ns: NOT_SIGNIFICANT_NS,
            },
            unmoved,
        ),
        Tested::new(
            Conclusion::MoreAccurate { system: name.clone(), factors },
            better.map(|better| better.into_iter().all(|better| better)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::Standing::{self, CannotBeTold, DoesNotHold, Holds};
    use crate::papers::UnderLoad;

    fn system(name: &str, sds_ns: [Option<f64>; 3]) -> SystemUnderLoads<LoopTimes> {
        let of = |sd_ns: Option<f64>| UnderLoad {
            condition: "idle".into(),
            load: "none".into(),
            found: sd_ns.map(|sd_ns| LoopTimes {
                mean_ns: 1e6,
                sd_ns,
                shortest_ns: 900_000,
                longest_ns: 1_100_000,
                executed: 5_000,
                missed: 0,
            }),
        };
        SystemUnderLoads { system: name.into(), loads: sds_ns.map(of).into() }
    }

    fn standings(ordinary: [Option<f64>; 3], real_time: [Option<f64>; 3]) -> Vec<Standing> {
        let found =
            TwenteVirtual::of(system("ordinary", ordinary), vec![system("cobalt", real_time)], Some(1));
        found.conclusions.iter().map(|tested| tested.standing).collect()
    }

    #[test]
    fn each_conclusion_can_hold_fail_and_stay_undecided() {
        let known = |sds: [f64; 3]| sds.map(Some);
        assert_eq!(
            standings(known([22e3, 80e3, 120e3]), known([21e3, 22e3, 24e3])),
            [Holds, Holds, DoesNotHold, Holds, Holds]
        );
        assert_eq!(standings(known([22e3, 21e3, 20e3]), known([20e3, 50e3, 24e3])), [DoesNotHold; 5]);
        let some = [None, Some(22e3), None];
        assert_eq!(standings(some, some), [CannotBeTold; 5]);
    }
}
