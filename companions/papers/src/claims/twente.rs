//! "Timing of periodic non-realtime and realtime threads", University of Twente: the duration of a loop of 1
//! ms, ordinary and real-time, without load, with `stress -c 4 -m 2` and with `stress -c 4 -m 6`.

use serde::{Deserialize, Serialize};

use super::loads::{LoadFigures, Stretch, SystemUnderLoads, UnderLoad, change, factor};
use crate::paper::Paper;
use crate::statement::{Evidence, Values};
use jitterlab_analysis::Summary;
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::summary::{P50, P99};

/// The report's period.
pub const PERIOD_NS: i64 = 1_000_000;

/// The numbers of divisions that the report weighs, least first.
pub const DIVISIONS: [u32; 3] = [1_000, 10_000, 100_000];

/// One measurement as the report prints it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PrintedLoop {
    /// Numbers of its figures: the series and the histogram.
    pub figures: [usize; 2],
    pub system: String,
    pub mean_ms: Option<f64>,
    pub sd_ms: Option<f64>,
    /// The loop's duration in words.
    #[serde(rename = "loop")]
    pub duration: String,
}

/// The report's measurements in the order of its figures: ordinary and then real-time, from no load to the larger one.
pub fn printed() -> Vec<PrintedLoop> {
    #[derive(Default, Deserialize)]
    struct Printed {
        printed: Vec<PrintedLoop>,
    }
    Paper::Twente.read::<Printed>().printed
}

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
    pub fn new(divisions: u32, summary: &Summary) -> Self {
        let at = |percentile| summary.execution.at(percentile).exactly();
        WorkTime { divisions, median_ns: at(P50), p99_ns: at(P99) }
    }

    /// Decides a statement about the work: both the median and the 99th percentile have to lie on one side.
    fn decides(&self, statement: &'static str) -> Evidence {
        let [median, p99] = [self.median_ns, self.p99_ns].map(|ns| ns.map(|ns| ns as f64));
        let both = median.zip(p99);
        let took = both.map(|both| MedianInterval { median: both.0, interval: Some(both) });
        Evidence::decided_by(statement, "took", took).and("median", median).and("p99", p99)
    }
}

/// The report's measurements repeated on the systems of a machine, or on kernels in virtual time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TwenteReproduction {
    /// The ordinary system, and behind it the real-time ones.
    pub loops: LoadFigures,
    /// Duration of the work for each number of divisions that the report considers, least first; on a machine
    /// only.
    pub work: Vec<WorkTime>,
    /// The report's listing; `None` where it was not run.
    pub listing: Option<ListingRun>,
    /// Each system's loop under the larger load, judged for control.
    pub control: Vec<ControlFit>,
    /// An ordinary thread beside one of priority 99; `None` where it was not measured.
    pub starvation: Option<Starvation>,
}

/// A loop judged for the control of the report's robot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlFit {
    pub system: String,
    /// Cost of its timing, as a share of the cost with ideal timing; without an interval where the run is too short.
    pub loss: MedianInterval,
}

/// Shares of an ordinary thread's due times that it misses beside a thread that computes on its processor for 80 of 100 ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Starvation {
    /// Beside one with the ordinary policy.
    pub ordinary: f64,
    /// Beside one with SCHED_FIFO and priority 99.
    pub fifo_99: f64,
}

/// Name of the system whose task and load have two processors each.
pub const APART: &str = "two-plus-two";

/// Jitters, in ns, that the report's histograms under Xenomai lie between.
const CONCENTRATED_NS: [f64; 2] = [5e4, 1.5e5];

/// Policy and priority of the thread that the report's listing makes, in the program's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListingRun {
    /// With the attributes as they are listed.
    pub printed: String,
    /// With the one that is missing.
    pub mended: String,
}

fn sd(stretch: &Stretch) -> f64 {
    stretch.sd_ns
}

fn mean(stretch: &Stretch) -> f64 {
    stretch.mean_ns
}

impl TwenteReproduction {
    /// Evidence on the report's statements.
    pub fn evidence(&self) -> Vec<Evidence> {
        let Some((ordinary, real_time)) = self.loops.systems.split_first() else { return Vec::new() };
        let mut all = of_ordinary(ordinary);
        let (apart, real_time): (Vec<_>, Vec<_>) =
            real_time.iter().partition(|system| system.system == APART);
        all.extend(real_time.into_iter().flat_map(|system| of_real_time(system, ordinary)));
        all.extend(apart.into_iter().map(|system| {
            Evidence::decided_by("two-plus-two", "changes", system.against_first(change, sd))
                .and("sds", system.each(|of| of.sd_ns))
        }));
        all.extend(self.control.iter().map(|of| of.evidence(of.system == ordinary.system)));
        all.extend(self.starvation.map(|Starvation { ordinary, fifo_99 }| {
            Evidence::decided_by("priority-99", "more", fifo_99 - ordinary)
                .and("ordinary", ordinary)
                .and("fifo_99", fifo_99)
        }));
        if let (Some(least), Some(most)) = (self.work.first(), self.work.last()) {
            all.extend([most.decides("long-work"), least.decides("little-work")]);
        }
        all.extend(self.listing.as_ref().map(|listing| {
            Evidence::answered("fifo-99-code", Some(listing.printed == "SCHED_FIFO 99"))
                .and("printed", Values::Text(listing.printed.clone()))
                .and("mended", Values::Text(listing.mended.clone()))
        }));
        all
    }
}

impl ControlFit {
    /// Sections 2.1.5 and 2.2.3: an ordinary loop is not fit, a real-time one is.
    fn evidence(&self, is_ordinary: bool) -> Evidence {
        let statement = if is_ordinary { "not-for-control" } else { "for-control" };
        Evidence::decided_by(statement, "loss", Some(self.loss)).of_system(&self.system)
    }
}

/// Sections 2.1 and 2.2 on ordinary Linux.
fn of_ordinary(system: &SystemUnderLoads) -> Vec<Evidence> {
    let (sds, means) = (system.each(|of| of.sd_ns), system.each(|of| of.mean_ns));
    let pairs = system.loads.windows(2);
    let grown: Vec<_> = pairs.map(|pair| factor(&pair[0].stretches, &pair[1].stretches, sd)).collect();
    let missed = system.loads.last().and_then(|load| Some(load.found?.missed as f64));
    let end = |of: Option<&Option<f64>>| of.copied().flatten();
    let risen = system.against_first(factor, mean).pop().flatten();
    vec![
        Evidence::decided_by("stress-enlarges", "growth", system.against_first(factor, sd))
            .and("sds", sds.clone()),
        Evidence::decided_by("proportional", "growth", grown).and("sds", sds),
        Evidence::decided_by("mean-rises", "growth", risen)
            .and("idle", end(means.first()))
            .and("stressed", end(means.last()))
            .and("missed", missed),
        Evidence::decided_by("mean-1-2", "means", means[..means.len().min(2)].to_vec()),
    ]
}

/// Sections 2.2 and 2.2.2 on a real-time system.
fn of_real_time(system: &SystemUnderLoads, ordinary: &SystemUnderLoads) -> [Evidence; 5] {
    let sds = system.each(|of| of.sd_ns);
    let pairs = sds.iter().zip(ordinary.each(|of| of.sd_ns));
    let factors: Vec<_> = pairs.map(|(here, there)| Some(there? / (*here)?)).collect();
    let changes = system.against_first(change, sd);
    let loads = system.loads.iter().zip(&ordinary.loads);
    let of_stretches: Vec<_> =
        loads.map(|(here, there)| factor(&here.stretches, &there.stretches, sd)).collect();
    let all = [
        Evidence::decided_by("stress-does-not-matter", "changes", changes.clone()).and("sds", sds),
        Evidence::decided_by("better-under-stress", "changes", changes),
        Evidence::decided_by("more-accurate", "of_stretches", of_stretches).and("factors", factors),
        Evidence::decided_by("mean-1-07", "means", system.each(|of| of.mean_ns)),
        Evidence::decided_by(
            "jitter-concentrated",
            "shares",
            system.loads.iter().map(concentrated).collect::<Vec<_>>(),
        ),
    ];
    all.map(|evidence| evidence.of_system(&system.system))
}

/// How far the duration of each loop of the first run is from the period.
pub fn jitters(load: &UnderLoad) -> impl Iterator<Item = f64> {
    load.first.iter().map(|ns| (ns - PERIOD_NS as f64).abs())
}

/// Share of the loops whose jitter lies where the report has it; `None` if nothing was measured.
fn concentrated(load: &UnderLoad) -> Option<f64> {
    let [from, to] = CONCENTRATED_NS;
    let there = jitters(load).filter(|ns| (from..=to).contains(ns)).count();
    load.found.map(|_| there as f64 / load.first.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::loads::under;
    use crate::statement::StatementVerdict::{self, CannotBeTold, DoesNotHold, Holds};

    fn system(name: &str, sds_ns: [Option<f64>; 3]) -> SystemUnderLoads {
        SystemUnderLoads { system: name.into(), loads: sds_ns.map(|sd_ns| under("idle", sd_ns)).into() }
    }

    fn verdicts(systems: Vec<SystemUnderLoads>, work: Vec<WorkTime>) -> Vec<StatementVerdict> {
        let loops = LoadFigures { systems, in_virtual_time: false, ns_per_instruction: None };
        let statements = Paper::Twente.statements();
        let verdict = |evidence: &Evidence| {
            let statement = statements.iter().find(|of| of.name == evidence.statement).unwrap();
            statement.verdict(evidence)
        };
        TwenteReproduction { loops, work, ..TwenteReproduction::default() }
            .evidence()
            .iter()
            .map(verdict)
            .collect()
    }

    #[test]
    fn each_conclusion_can_hold_fail_and_stay_undecided() {
        let of = |ordinary, real_time| {
            verdicts(vec![system("ordinary", ordinary), system("cobalt", real_time)], Vec::new())
        };
        let known = |sds: [f64; 3]| sds.map(Some);
        assert_eq!(
            of(known([22e3, 80e3, 120e3]), known([21e3, 22e3, 24e3])),
            [Holds, Holds, DoesNotHold, DoesNotHold, Holds, DoesNotHold, Holds, DoesNotHold, DoesNotHold]
        );
        assert_eq!(of(known([22e3, 21e3, 20e3]), known([20e3, 50e3, 24e3])), [DoesNotHold; 9]);
        let some = [None, Some(22e3), None];
        // The one deviation that there is to compare with is not enough, nor is the one mean of two.
        let open = of(some, some);
        assert_eq!((&open[..3], &open[4..6]), (&[CannotBeTold; 3][..], &[CannotBeTold; 2][..]));
        assert_eq!(of([None; 3], [None; 3]), [CannotBeTold; 9]);
    }

    #[test]
    fn a_loop_is_fit_or_not_and_priority_99_starves_or_not() {
        let idle = system("ordinary", [None; 3]);
        let judged = |system: &str, interval| ControlFit {
            system: system.into(),
            loss: MedianInterval { median: 0.1, interval },
        };
        let of = |interval, fifo_99| {
            let control = vec![judged("ordinary", interval), judged("cobalt", interval)];
            let starvation = Some(Starvation { ordinary: 0.01, fifo_99 });
            let loops = LoadFigures { systems: vec![idle.clone()], ..LoadFigures::default() };
            let statements = Paper::Twente.statements();
            let all =
                TwenteReproduction { loops, control, starvation, ..TwenteReproduction::default() }.evidence();
            let verdict =
                |of: &Evidence| statements.iter().find(|one| one.name == of.statement).unwrap().verdict(of);
            all[4..].iter().map(verdict).collect::<Vec<_>>()
        };
        assert_eq!(of(Some((0.0, 0.2)), 0.8), [DoesNotHold, Holds, Holds]);
        assert_eq!(of(Some((4.0, 9.0)), 0.1), [Holds, DoesNotHold, DoesNotHold]);
        assert_eq!(of(None, 0.8), [CannotBeTold, CannotBeTold, Holds]);
    }

    #[test]
    fn the_choice_of_k_holds_fails_and_stays_open() {
        let of = |least: [i64; 2], most: [i64; 2]| {
            let work = |divisions, [median, p99]: [i64; 2]| WorkTime {
                divisions,
                median_ns: Some(median),
                p99_ns: Some(p99),
            };
            let idle = system("ordinary", [None; 3]);
            verdicts(vec![idle], vec![work(1_000, least), work(100_000, most)])[4..].to_vec()
        };
        assert_eq!(of([9_000, 12_000], [1_100_000, 1_400_000]), [Holds; 2]);
        assert_eq!(of([30_000, 31_000], [400_000, 500_000]), [DoesNotHold; 2]);
        assert_eq!(of([9_000, 50_000], [900_000, 1_400_000]), [CannotBeTold; 2]);
    }

    #[test]
    fn the_report_s_numbers_are_those_of_its_figures() {
        let all = printed();
        assert_eq!(all.iter().flat_map(|of| of.figures).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
        assert_eq!((all[0].mean_ms, all[3].sd_ms), (Some(1.15), Some(0.031)));
    }
}
