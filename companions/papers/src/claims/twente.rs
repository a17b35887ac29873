//! "Timing of periodic non-realtime and realtime threads", University of Twente: the duration of a loop of 1
//! ms, ordinary and real-time, without load, with `stress -c 4 -m 2` and with `stress -c 4 -m 6`.

use serde::Serialize;

use super::stretches::{STRETCHES, change, each_is_above, each_is_within, factor};
use super::{SystemUnderLoads, Tested};
use jitterlab_analysis::Summary;
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::summary::{P50, P99};

/// The report's period.
pub const PERIOD_NS: i64 = 1_000_000;

/// Change of the standard deviation under load in the report's figures 7, 9 and 11, which it calls "not
/// significantly": 0.031 to 0.022 ms.
const NOT_SIGNIFICANT_NS: f64 = 9_000.0;

/// Factor by which the mean must rise to count as risen; in the report it goes from 1.15 to 1.3 ms.
const RISEN: f64 = 1.05;

/// Duration of the loop: from one start to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoopTimes {
    pub mean_ns: f64,
    pub sd_ns: f64,
    pub shortest_ns: i64,
    pub longest_ns: i64,
    /// Loops that ran.
    pub executed: u64,
    /// Loops that were missed.
    pub missed: u64,
}

impl LoopTimes {
    /// Of a task of that period; `None` where fewer than two starts were measured.
    pub fn from_summary(summary: &Summary) -> Option<Self> {
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

    /// The figures of both runs together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let all = (self.executed + other.executed) as f64;
        let [here, there] = [self, other].map(|of| of.executed as f64 / all);
        let mean_ns = here * self.mean_ns + there * other.mean_ns;
        let square = |of: Self| of.sd_ns.powi(2) + (of.mean_ns - mean_ns).powi(2);
        LoopTimes {
            mean_ns,
            sd_ns: (here * square(self) + there * square(other)).sqrt(),
            shortest_ns: self.shortest_ns.min(other.shortest_ns),
            longest_ns: self.longest_ns.max(other.longest_ns),
            executed: self.executed + other.executed,
            missed: self.missed + other.missed,
        }
    }
}

/// Durations of the loop in equal stretches of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoopStretches {
    pub means_ns: Vec<f64>,
    /// Standard deviation of each stretch.
    pub sds_ns: Vec<f64>,
}

impl LoopStretches {
    /// Adds those of a run with these starts, in order.
    pub fn add(&mut self, starts_ns: &[i64]) {
        let loops: Vec<f64> = starts_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        for stretch in loops.chunks_exact((loops.len() / STRETCHES).max(2)).take(STRETCHES) {
            let n = stretch.len() as f64;
            let mean_ns = stretch.iter().sum::<f64>() / n;
            let squares: f64 = stretch.iter().map(|ns| (ns - mean_ns).powi(2)).sum();
            self.means_ns.push(mean_ns);
            self.sds_ns.push((squares / (n - 1.0)).sqrt());
        }
    }
}

/// A system under the report's loads, with the stretches of each run.
#[derive(Debug, Clone, PartialEq)]
pub struct TwenteSystem {
    /// Results of each run as a whole.
    pub found: SystemUnderLoads<LoopTimes>,
    /// The stretches of each run.
    pub stretches: Vec<LoopStretches>,
}

/// Numbers that the report prints for one measurement, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct PrintedLoop {
    pub mean_ms: Option<f64>,
    /// The mean as another place of the report has it.
    pub other_mean_ms: Option<f64>,
    /// Between which durations most loops lie.
    pub mostly_ms: Option<(f64, f64)>,
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

/// Duration of a number of divisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WorkTime {
    /// k, the number of divisions.
    pub divisions: u32,
    /// The median; `None` where it is not known.
    pub median_ns: Option<i64>,
    /// Not exceeded by 99 of 100.
    pub p99_ns: Option<i64>,
}

impl WorkTime {
    /// Takes the durations of a run with this number of divisions.
    #[must_use]
    pub fn new(divisions: u32, summary: &Summary) -> Self {
        let at = |percentile| summary.execution.at(percentile).exactly();
        WorkTime { divisions, median_ns: at(P50), p99_ns: at(P99) }
    }
}

/// Statement of the report about the number of divisions k (its section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "says", rename_all = "kebab-case")]
pub enum Choice {
    /// More than 10^5 take longer than the period.
    LongerThanPeriod {
        /// Duration of 10^5 divisions.
        work: WorkTime,
    },
    /// Fewer than 10^3 are too little to matter: here, less than the loop's own standard deviation in the report.
    TooLittle {
        /// Duration of 10^3 divisions.
        work: WorkTime,
        /// The loop's standard deviation.
        sd_ns: i64,
    },
}

/// The standard deviation of the report's loop without load, in its figures 1 and 2.
const LOOP_SD_NS: i64 = 22_000;

/// The numbers of divisions that the report weighs, least first.
pub const DIVISIONS: [u32; 3] = [1_000, 10_000, 100_000];

/// The report's measurements repeated on the systems of a machine, or on kernels in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TwenteReproduction {
    /// The ordinary system.
    pub ordinary: SystemUnderLoads<LoopTimes>,
    /// The real-time systems.
    pub real_time: Vec<SystemUnderLoads<LoopTimes>>,
    /// True for virtual time; `ns_per_instruction` is then the time of an instruction.
    pub in_virtual_time: bool,
    pub ns_per_instruction: Option<u32>,
    /// Conclusions of the report, tested.
    pub conclusions: Vec<Tested<Conclusion>>,
    /// Duration of the work for each number of divisions that the report considers, least first; on a machine
    /// only.
    pub work: Vec<WorkTime>,
    /// Statements of the report on these numbers, tested.
    pub choice: Vec<Tested<Choice>>,
}

/// Tests the report's statements about k.
fn of_choice(work: &[WorkTime]) -> Vec<Tested<Choice>> {
    let (Some(least), Some(most)) = (work.first(), work.last()) else { return Vec::new() };
    // Both the median and the 99th percentile on one side, so that neither luck nor an interruption decides.
    let beyond = |of: &WorkTime, limit_ns| match (of.median_ns? > limit_ns, of.p99_ns? > limit_ns) {
        (true, true) => Some(true),
        (false, false) => Some(false),
        _ => None,
    };
    let little = beyond(least, LOOP_SD_NS).map(|beyond| !beyond);
    vec![
        Tested::new(Choice::LongerThanPeriod { work: *most }, beyond(most, PERIOD_NS)),
        Tested::new(Choice::TooLittle { work: *least, sd_ns: LOOP_SD_NS }, little),
    ]
}

/// Conclusion of the report in its sections 2.1 to 2.2.2. Standard deviations are those of the loads from
/// none to most; factors and changes are those of a stretch, with intervals, which decide.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "says", rename_all = "kebab-case")]
pub enum Conclusion {
    /// Ordinary Linux: stress enlarges the jitter.
    StressEnlargesJitter {
        sds_ns: Vec<Option<f64>>,
        /// Factor over that without load, for each load.
        growth: Vec<Option<MedianInterval>>,
    },
    /// Ordinary Linux: the jitter grows with the stress applied.
    JitterGrowsWithStress {
        sds_ns: Vec<Option<f64>>,
        /// Factor over that under the load before, for each load.
        growth: Vec<Option<MedianInterval>>,
    },
    /// Ordinary Linux: the mean rises under stress, from 1.15 to 1.3 ms.
    MeanRisesUnderStress {
        idle_ns: Option<f64>,
        /// Mean under the larger load.
        stressed_ns: Option<f64>,
        /// Factor of the mean under the larger load over that without load.
        growth: Option<MedianInterval>,
        /// Loops missed under the larger load: they lengthen the mean, since the grid is absolute.
        missed: Option<u64>,
    },
    /// A real-time system: stress does not significantly affect the timing.
    StressDoesNotMatter {
        system: String,
        sds_ns: Vec<Option<f64>>,
        /// Change of the standard deviation, for each load.
        changes_ns: Vec<Option<MedianInterval>>,
        /// Change of the report's standard deviation.
        not_significant_ns: f64,
    },
    /// A real-time system meets the period more accurately than ordinary Linux.
    MoreAccurate {
        system: String,
        /// Factor of the ordinary Linux's standard deviation over the system's, of whole runs.
        factors: Vec<Option<f64>>,
        /// The same of stretches.
        of_stretches: Vec<Option<MedianInterval>>,
    },
}

impl TwenteReproduction {
    /// Tests the conclusions on measurements on a machine.
    #[must_use]
    pub fn new(ordinary: TwenteSystem, real_time: Vec<TwenteSystem>, work: Vec<WorkTime>) -> Self {
        let mut conclusions = of_ordinary(&ordinary);
        conclusions.extend(real_time.iter().flat_map(|system| of_real_time(system, &ordinary)));
        TwenteReproduction {
            ordinary: ordinary.found,
            real_time: real_time.into_iter().map(|system| system.found).collect(),
            in_virtual_time: false,
            ns_per_instruction: None,
            conclusions,
            choice: of_choice(&work),
            work,
        }
    }

    /// The same of kernels in virtual time.
    #[must_use]
    pub fn in_virtual_time(self, ns_per_instruction: Option<u32>) -> Self {
        TwenteReproduction { in_virtual_time: true, ns_per_instruction, ..self }
    }
}

fn sds(system: &TwenteSystem) -> Vec<Option<f64>> {
    system.found.each(|loops| loops.sd_ns)
}

fn of_ordinary(system: &TwenteSystem) -> Vec<Tested<Conclusion>> {
    let (sds_ns, runs) = (sds(system), &system.stretches);
    let growth = |from: &LoopStretches, to: &LoopStretches| factor(&from.sds_ns, &to.sds_ns);
    let idle = runs.first();
    let enlarged: Vec<_> =
        runs.iter().skip(1).map(|loaded| idle.and_then(|idle| growth(idle, loaded))).collect();
    let grown: Vec<_> = runs.windows(2).map(|pair| growth(&pair[0], &pair[1])).collect();
    let means = system.found.each(|loops| loops.mean_ns);
    let risen = idle.zip(runs.last()).and_then(|(idle, most)| factor(&idle.means_ns, &most.means_ns));
    let (enlarges, grows, rises) =
        (each_is_above(1.0, &enlarged), each_is_above(1.0, &grown), each_is_above(RISEN, &[risen]));
    vec![
        Tested::new(Conclusion::StressEnlargesJitter { sds_ns: sds_ns.clone(), growth: enlarged }, enlarges),
        Tested::new(Conclusion::JitterGrowsWithStress { sds_ns, growth: grown }, grows),
        Tested::new(
            Conclusion::MeanRisesUnderStress {
                idle_ns: means.first().copied().flatten(),
                stressed_ns: means.last().copied().flatten(),
                growth: risen,
                missed: system.found.loads.last().and_then(|load| Some(load.found?.missed)),
            },
            rises,
        ),
    ]
}

fn of_real_time(system: &TwenteSystem, ordinary: &TwenteSystem) -> [Tested<Conclusion>; 2] {
    let sds_ns = sds(system);
    let factors = sds_ns.iter().zip(sds(ordinary)).map(|(here, there)| Some(there? / (*here)?)).collect();
    let changes_ns: Vec<_> = system.stretches.split_first().map_or_else(Vec::new, |(idle, loaded)| {
        loaded.iter().map(|loaded| change(&idle.sds_ns, &loaded.sds_ns)).collect()
    });
    let pairs = system.stretches.iter().zip(&ordinary.stretches);
    let of_stretches: Vec<_> = pairs.map(|(here, there)| factor(&here.sds_ns, &there.sds_ns)).collect();
    let unmoved = each_is_within(NOT_SIGNIFICANT_NS, &changes_ns);
    let better = each_is_above(1.0, &of_stretches);
    let name = &system.found.system;
    [
        Tested::new(
            Conclusion::StressDoesNotMatter {
                system: name.clone(),
                sds_ns,
                changes_ns,
                not_significant_ns: NOT_SIGNIFICANT_NS,
            },
            unmoved,
        ),
        Tested::new(Conclusion::MoreAccurate { system: name.clone(), factors, of_stretches }, better),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::StatementVerdict::{self, CannotBeTold, DoesNotHold, Holds};
    use crate::claims::UnderLoad;

    fn system(name: &str, sds_ns: [Option<f64>; 3]) -> TwenteSystem {
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
        let stretches = sds_ns.map(|sd| LoopStretches {
            means_ns: sd.map_or(vec![], |_| vec![1e6; 10]),
            sds_ns: sd.map_or(vec![], |sd| vec![sd; 10]),
        });
        TwenteSystem {
            found: SystemUnderLoads { system: name.into(), loads: sds_ns.map(of).into() },
            stretches: stretches.into(),
        }
    }

    fn standings(ordinary: [Option<f64>; 3], real_time: [Option<f64>; 3]) -> Vec<StatementVerdict> {
        let found =
            TwenteReproduction::new(system("ordinary", ordinary), vec![system("cobalt", real_time)], vec![]);
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
        // The one mean of two is not enough, nor is the one deviation that there is to compare with.
        assert_eq!(standings(some, some)[..4], [CannotBeTold; 4]);
        assert_eq!(standings([None; 3], [None; 3]), [CannotBeTold; 5]);
    }

    #[test]
    fn the_choice_of_k_holds_fails_and_stays_open() {
        let standings = |least: [i64; 2], most: [i64; 2]| {
            let work = |divisions, [median, p99]: [i64; 2]| WorkTime {
                divisions,
                median_ns: Some(median),
                p99_ns: Some(p99),
            };
            let all = vec![work(1_000, least), work(100_000, most)];
            of_choice(&all).iter().map(|tested| tested.standing).collect::<Vec<_>>()
        };
        assert_eq!(standings([9_000, 12_000], [1_100_000, 1_400_000]), [Holds; 2]);
        assert_eq!(standings([30_000, 31_000], [400_000, 500_000]), [DoesNotHold; 2]);
        assert_eq!(standings([9_000, 50_000], [900_000, 1_400_000]), [CannotBeTold; 2]);
        assert!(of_choice(&[]).is_empty());
    }

    #[test]
    fn stretches_are_equal_and_of_successive_starts() {
        let starts: Vec<i64> = (0..=400).map(|k| k * 1_000_000 + k % 2 * 10).collect();
        let mut stretches = LoopStretches::default();
        stretches.add(&[0, 1]);
        assert_eq!(stretches, LoopStretches::default());
        stretches.add(&starts);
        assert_eq!(stretches.sds_ns.len(), STRETCHES);
        assert!(stretches.means_ns.iter().all(|mean| (mean - 1e6).abs() < 1e-6));
        assert!(stretches.sds_ns.iter().all(|sd| (sd - 10.0 * (20f64 / 19.0).sqrt()).abs() < 1e-6));
    }

    #[test]
    fn two_runs_together_have_the_deviation_of_all_their_loops() {
        let times = |mean_ns, sd_ns| LoopTimes {
            mean_ns,
            sd_ns,
            shortest_ns: mean_ns as i64 - 5,
            longest_ns: mean_ns as i64 + 5,
            executed: 100,
            missed: 1,
        };
        let both = times(10.0, 3.0).with(times(20.0, 4.0));
        assert_eq!((both.mean_ns, both.shortest_ns, both.longest_ns), (15.0, 5, 25));
        assert!((both.sd_ns - 37.5f64.sqrt()).abs() < 1e-9 && both.executed == 200 && both.missed == 2);
    }
}
