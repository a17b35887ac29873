//! "Timing of periodic non-realtime and realtime threads", University of Twente: the duration of a loop of 1
//! ms, ordinary and real-time, without load, with `stress -c 4 -m 2` and with `stress -c 4 -m 6`; whether it is fit for the control
//! of a robot, whether a thread of priority 99 leaves others their processor, and what the report's listing does.

use std::process::{Command, Stdio};

use serde::Serialize;
use serde_json::json;

use crate::loads::{
    LoadFigures, LoadResult, MEAN, SD, STRETCHES, SystemResults, difference, execution_times, loop_durations,
    ratio,
};
use crate::measure::{LoadRuns, load_result};
use crate::statement::Evidence;
use crate::systems::{DIVIDED, LoadCase, System};
use crate::values::UNBOUNDED;
use crate::words::{Reproduction, twente_figures};
use crate::{Reproducer, open_page_runs, scratch_file};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::summary::{P50, P99};
use jitterlab_host::facts::{self, Root};
use jitterlab_model::{CpuSet, Error, Policy, TaskSpec, Work};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Plant, SingleTaskLoop, Stability};
use jitterlab_report::document::Document;
use jitterlab_report::page::{PageRun, render};
use jitterlab_report::section::Piece;
use jitterlab_runs::{Hints, OneTask, Run};
use jitterlab_trace::atomic_file;

pub const PERIOD_NS: i64 = 1_000_000;

pub const DIVISIONS: [u32; 3] = [1_000, 10_000, 100_000];

/// Duration of a number of divisions; `None` where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WorkTime {
    pub divisions: u32,
    pub median_ns: Option<i64>,
    /// Not exceeded by 99 of 100.
    pub p99_ns: Option<i64>,
    /// The median as a share of the period.
    pub of_period: Option<f64>,
}

impl WorkTime {
    pub fn new(divisions: u32, [median_ns, p99_ns]: [Option<i64>; 2]) -> Self {
        let of_period = median_ns.map(|ns| ns as f64 / PERIOD_NS as f64);
        WorkTime { divisions, median_ns, p99_ns, of_period }
    }

    /// Evidence on a statement about the work: both the median and the 99th percentile have to lie on one side.
    fn evidence(&self, statement: &'static str) -> Evidence {
        let both = self.median_ns.zip(self.p99_ns);
        let took = both.map(|both| json!({"median": both.0, "interval": both}));
        let values = json!({ "took": took, "median": self.median_ns, "p99": self.p99_ns });
        Evidence::new(statement, "took", values)
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TwenteReproduction {
    pub loops: LoadFigures,
    /// Duration of the work for each number of divisions of the report, least first; on a machine only.
    pub work: Vec<WorkTime>,
    /// Execution times of the loop on the ordinary system under each load; on a machine only.
    pub executions: Option<SystemResults>,
    pub listing: Option<ListingRun>,
    /// Each system's loop under the larger load, judged for control.
    pub control: Vec<ControlCost>,
    /// An ordinary thread beside one of priority 99; `None` where it was not measured.
    pub starvation: Option<Starvation>,
}

/// Cost of a system's timing for the control of the report's robot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlCost {
    pub system: String,
    /// Cost of its timing, as a share of the cost with ideal timing; without an interval where the run is too short.
    pub loss: MedianInterval,
}

/// Shares of an ordinary thread's due times that it misses beside a thread that computes on its processor for 80 of 100 ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Starvation {
    pub ordinary: f64,
    pub fifo_99: f64,
    /// Difference of the second from the first, stretch by stretch.
    pub more: Option<MedianInterval>,
}

/// Name of the system whose task and load have two processors each.
pub const DIVIDED_SYSTEM: &str = "two-plus-two";

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

impl TwenteReproduction {
    pub fn evidence(&self) -> Vec<Evidence> {
        let Some((ordinary, real_time)) = self.loops.systems.split_first() else { return Vec::new() };
        let mut all = ordinary_evidence(ordinary);
        let (apart, real_time): (Vec<_>, Vec<_>) =
            real_time.iter().partition(|system| system.system == DIVIDED_SYSTEM);
        all.extend(real_time.into_iter().flat_map(|system| real_time_evidence(system, ordinary)));
        all.extend(apart.into_iter().map(|system| {
            let values =
                json!({ "changes": system.compare_with_first(difference, SD), "sds": system.by_load(SD) });
            Evidence::new("two-plus-two", "changes", values)
        }));
        // Sections 2.1.5 and 2.2.3: an ordinary loop is not fit, a real-time one is.
        all.extend(self.control.iter().map(|ControlCost { system, loss }| {
            let is_ordinary = *system == ordinary.system;
            let statement = if is_ordinary { "not-for-control" } else { "for-control" };
            Evidence::new(statement, "loss", json!({ "system": system, "loss": loss }))
        }));
        all.extend(self.starvation.map(|found| Evidence::new("priority-99", "more", json!(found))));
        all.extend(self.executions.as_ref().map(|took| {
            let longer = took.compare_with_first(ratio, MEAN);
            Evidence::new("sleep-smaller", "longer", json!({ "longer": longer, "took": took.by_load(MEAN) }))
        }));
        if let (Some(least), Some(most)) = (self.work.first(), self.work.last()) {
            all.extend([most.evidence("long-work"), least.evidence("little-work")]);
        }
        all.extend(self.listing.as_ref().map(|listing| {
            let mut values = json!(listing);
            values["holds"] = json!(listing.printed == "SCHED_FIFO 99");
            Evidence::new("fifo-99-code", "holds", values)
        }));
        all
    }
}

/// Evidence on sections 2.1 and 2.2, about ordinary Linux.
fn ordinary_evidence(system: &SystemResults) -> Vec<Evidence> {
    let (sds, means) = (system.by_load(SD), system.by_load(MEAN));
    let grown: Vec<_> = system.loads.windows(2).map(|pair| ratio(&pair[0], &pair[1], SD)).collect();
    let risen = json!({
        "growth": system.compare_with_first(ratio, MEAN).pop().flatten(),
        "idle": means.first(),
        "stressed": means.last(),
        "missed": system.loads.last().and_then(|load| Some(load.found?.missed)),
    });
    let enlarged = system.compare_with_first(ratio, SD);
    vec![
        Evidence::new("stress-enlarges", "growth", json!({ "growth": enlarged, "sds": sds })),
        Evidence::new("proportional", "growth", json!({ "growth": grown, "sds": sds })),
        Evidence::new("mean-rises", "growth", risen),
        Evidence::new("mean-1-2", "means", json!({ "means": means[..means.len().min(2)] })),
    ]
}

/// Evidence on sections 2.2 and 2.2.2, about a real-time system.
fn real_time_evidence(system: &SystemResults, ordinary: &SystemResults) -> [Evidence; 5] {
    let sds = system.by_load(SD);
    let pairs = sds.iter().zip(ordinary.by_load(SD));
    let factors: Vec<_> = pairs.map(|(here, there)| Some(there? / (*here)?)).collect();
    let changes = system.compare_with_first(difference, SD);
    let loads = system.loads.iter().zip(&ordinary.loads);
    let of_stretches: Vec<_> = loads.map(|(here, there)| ratio(here, there, SD)).collect();
    let concentrated: Vec<_> = system.loads.iter().map(concentrated_share).collect();
    let (name, means) = (&system.system, system.by_load(MEAN));
    let changes = json!({ "system": name, "changes": changes, "sds": sds });
    let accurate = json!({ "system": name, "of_stretches": of_stretches, "factors": factors });
    [
        Evidence::new("stress-does-not-matter", "changes", changes.clone()),
        Evidence::new("better-under-stress", "changes", changes),
        Evidence::new("more-accurate", "of_stretches", accurate),
        Evidence::new("mean-1-07", "means", json!({ "system": name, "means": means })),
        Evidence::new("jitter-concentrated", "shares", json!({ "system": name, "shares": concentrated })),
    ]
}

/// Distance of each loop's duration from the period in ns, in the first run.
pub fn loop_jitters_ns(load: &LoadResult) -> impl Iterator<Item = f64> {
    load.first.iter().map(|ns| (ns - PERIOD_NS as f64).abs())
}

/// Share of the loops whose jitter is 50 to 150 µs, as the report has it; `None` if nothing was measured.
fn concentrated_share(load: &LoadResult) -> Option<f64> {
    let [from, to] = CONCENTRATED_NS;
    let there = loop_jitters_ns(load).filter(|ns| (from..=to).contains(ns)).count();
    load.found.map(|_| there as f64 / load.first.len().max(1) as f64)
}

const LOADS: [LoadCase; 3] = [
    LoadCase { name: "idle", load: "none" },
    LoadCase { name: "stress-4-2", load: "stress -c 4 -m 2" },
    LoadCase { name: "stress-4-6", load: "stress -c 4 -m 6" },
];

/// The report's robot, a head with two axes.
const PLANT: &str = "jiwy";
/// Length of a run from which the control of that robot can be judged.
const CONTROL_NS: i64 = 15_000_000_000;

const LISTING: &str = include_str!("../data/twente-listing.c");

fn loop_task() -> TaskSpec {
    TaskSpec { period_ns: PERIOD_NS, work: Work::Twente { divisions: 10_000 }, ..TaskSpec::default() }
}

/// Measures figures 1 to 12 on every system, tests the report's conclusions, and writes a page of all. On this machine also
/// measures the report's work, which in virtual time takes the time of its instructions, and its two further questions.
pub fn reproduce(at: &mut Reproducer<'_>) -> Result<Reproduction, Error> {
    let on_machine = at.kernels.is_none();
    let mut judged = at.systems();
    judged.retain(|system| on_machine || !matches!(system.policy, Policy::Deadline { .. }));
    let mut systems = judged.clone();
    let usable = facts::read(&Root::system()).usable_cpus();
    if !on_machine || (0..DIVIDED.0).all(|cpu| usable.contains(cpu)) {
        systems.extend(
            System::nearest_to_xenomai(&judged).map(|system| system.with_own_processors(DIVIDED_SYSTEM)),
        );
    }
    let LoadRuns { figures: loops, runs } =
        at.measure_loads(&systems, &LOADS, &loop_task(), loop_durations)?;
    let mut figures = Vec::new();
    for (system, found) in systems.iter().zip(&loops.systems) {
        let each = found.loads.iter().zip(0..);
        figures.extend(each.flat_map(|(load, number)| twente_figures(system, load, number)));
    }
    at.write_figures(&figures)?;
    let control = judged.iter().map(|system| judge_control(at, system)).collect::<Result<_, _>>()?;
    let mut found = TwenteReproduction { loops, control, ..TwenteReproduction::default() };
    if on_machine {
        found.starvation = measure_starvation(at, &usable)?;
        let ordinary = judged[0].name;
        let took =
            |case| load_result(case, &[at.run_file(&format!("{ordinary}-{}", case.name))], execution_times);
        let loads = LOADS.iter().map(took).collect::<Result<_, _>>()?;
        found.executions = Some(SystemResults { system: ordinary.into(), loads });
        found.work = measure_work(at)?;
        found.listing = run_listing()?;
    }
    let reproduction = at.write_results(&found, found.evidence())?;
    let mut document = Document::new(&reproduction);
    if let Some(section) = document.sections.first_mut() {
        section.pieces.extend(figures.into_iter().flat_map(|(_, charts)| charts).map(Piece::Figure));
    }
    let runs: Vec<PageRun> = runs.into_iter().flatten().collect();
    let page = render(&runs, &[document])?;
    atomic_file::write(at.directory.join("report.html"), page.as_bytes(), false)?;
    Ok(reproduction)
}

/// Measures how long each of the report's numbers of divisions takes, with the ordinary policy.
/// The largest may take longer than the period.
fn measure_work(at: &mut Reproducer<'_>) -> Result<Vec<WorkTime>, Error> {
    let mut files = Vec::new();
    for divisions in DIVISIONS {
        let task = TaskSpec { policy: Some(Policy::Other), work: Work::Twente { divisions }, ..loop_task() };
        files.push(at.measure(&format!("work-{divisions}"), vec![task], "none", at.duration_ns)?);
    }
    let runs = open_page_runs(&files)?;
    let summaries = runs.iter().filter_map(|run| run.tasks.first()).map(|task| &task.measured.summary);
    let times = summaries.map(|summary| [P50, P99].map(|at| summary.execution.at(at).exactly()));
    Ok(DIVISIONS.into_iter().zip(times).map(|(divisions, times)| WorkTime::new(divisions, times)).collect())
}

/// Cost of a system's timing under the larger load to the control of the robot.
/// On this machine a run that is long enough is measured for it.
fn judge_control(at: &mut Reproducer<'_>, system: &System) -> Result<ControlCost, Error> {
    let (name, [.., most]) = (system.name, &LOADS);
    let file = match system.kernel {
        Some(_) => at.run_file(&format!("{name}-{}", most.name)),
        None => {
            let (tasks, duration_ns) =
                (vec![system.adapt_task(&loop_task())], at.duration_ns.max(CONTROL_NS));
            at.measure(&format!("control-{name}"), tasks, most.load, duration_ns)?
        }
    };
    let run = OneTask::new(Run::open(&file, &Hints::default())?, None, |_| 0)?;
    let plant: Plant = catalog::known_device(PLANT)?;
    let question = SingleTaskLoop::new(plant, run.stats.period_ns());
    let question = SingleTaskLoop { overrun: run.spec().overrun.into(), ..question };
    let evaluation = question.evaluate(&run)?;
    let loss = match (&evaluation.stability, evaluation.loss_with_interval()) {
        (Stability::Unstable, _) => {
            MedianInterval { median: UNBOUNDED, interval: Some((UNBOUNDED, UNBOUNDED)) }
        }
        (Stability::CannotTell { .. }, (median, _)) => MedianInterval { median, interval: None },
        (Stability::Stable, (median, interval)) => {
            MedianInterval { median, interval: interval.map(|of| (of.low, of.high)) }
        }
    };
    Ok(ControlCost { system: name.into(), loss })
}

/// Time that the thread of priority 99 computes, below the kernel's limit for such threads: the machine stays usable.
const WORK_NS: i64 = 80_000_000;
const WORK_PERIOD_NS: i64 = 100_000_000;

/// Shares of due times that an ordinary thread misses beside one of its policy and one of priority 99.
/// `None` where that is not permitted, or where no processor is left for everything else.
fn measure_starvation(at: &mut Reproducer<'_>, usable: &CpuSet) -> Result<Option<Starvation>, Error> {
    let (Some(cpu), true) = (usable.iter().last(), usable.len() > 1) else { return Ok(None) };
    let ordinary = measure_missed_share(at, cpu, "beside-ordinary", Policy::Other)?;
    let fifo_99 = measure_missed_share(at, cpu, "beside-fifo-99", Policy::Fifo(99))?;
    Ok(ordinary.zip(fifo_99).map(|((ordinary, each), (fifo_99, each_of_99))| {
        let more = each.iter().zip(each_of_99).map(|(ordinary, fifo_99)| fifo_99 - ordinary);
        Starvation { ordinary, fifo_99, more: MedianInterval::from_values(more) }
    }))
}

/// Share of due times that an ordinary thread misses next to a computing one of this policy, and by stretches.
/// `None` if the policy is refused.
fn measure_missed_share(
    at: &mut Reproducer<'_>,
    cpu: u16,
    name: &str,
    policy: Policy,
) -> Result<Option<(f64, [f64; STRETCHES])>, Error> {
    let task = |name: &str, period_ns, work, policy| TaskSpec {
        name: name.into(),
        period_ns,
        work,
        cpu: Some(cpu),
        policy: Some(policy),
        ..TaskSpec::default()
    };
    let ordinary = task("ordinary", 1_000_000, Work::None, Policy::Other);
    let computing = task("computing", WORK_PERIOD_NS, Work::Spin { time_ns: WORK_NS }, policy);
    let file = at.measure(name, vec![ordinary, computing], "none", at.duration_ns)?;
    let run = Run::open(&file, &Hints::default())?;
    let [ordinary, computing] = run.info().tasks.as_slice() else { return Ok(None) };
    let is_granted = computing.granted.as_ref().is_some_and(|granted| granted.policy == policy);
    let Some(result) = ordinary.result.as_ref().filter(|_| is_granted) else { return Ok(None) };
    let all = (result.executed + result.missed).max(1);
    let length = (all / STRETCHES as u64).max(1);
    let mut served = [0u64; STRETCHES];
    for row in run.activations(0, 0..u64::MAX)? {
        if let Some(stretch) = served.get_mut((row.index / length) as usize) {
            *stretch += 1;
        }
    }
    let of_stretches = served.map(|served| 1.0 - served as f64 / length as f64);
    Ok(Some((result.missed as f64 / all as f64, of_stretches)))
}

/// Compiles and runs the listing; `None` without a C compiler.
fn run_listing() -> Result<Option<ListingRun>, Error> {
    let (scratch, source) = scratch_file("listing.c", LISTING)?;
    let program = scratch.path().join("listing");
    let mut compiler = Command::new("cc");
    compiler.arg("-pthread").arg(&source).arg("-o").arg(&program).stderr(Stdio::null());
    if !compiler.status().is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    let said = |words: &[&str]| {
        let output = Command::new(&program).args(words).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    Ok(said(&[]).zip(said(&["explicit"])).map(|(printed, mended)| ListingRun { printed, mended }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::example_load;
    use crate::paper::Paper;
    use crate::statement::StatementVerdict::{self, CannotBeTold, DoesNotHold, Holds};

    fn system(name: &str, sds_ns: [Option<f64>; 3]) -> SystemResults {
        SystemResults { system: name.into(), loads: sds_ns.map(|sd_ns| example_load("idle", sd_ns)).into() }
    }

    fn verdicts(systems: Vec<SystemResults>, work: Vec<WorkTime>) -> Vec<StatementVerdict> {
        let loops = LoadFigures { systems, ..LoadFigures::default() };
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
        let judged = |system: &str, interval| ControlCost {
            system: system.into(),
            loss: MedianInterval { median: 0.1, interval },
        };
        let of = |interval, fifo_99: f64| {
            let control = vec![judged("ordinary", interval), judged("cobalt", interval)];
            let starvation = Some(Starvation {
                ordinary: 0.01,
                fifo_99,
                more: MedianInterval::from_values([fifo_99 - 0.01; 10]),
            });
            let loops = LoadFigures { systems: vec![idle.clone()], ..LoadFigures::default() };
            let statements = Paper::Twente.statements();
            let all =
                TwenteReproduction { loops, control, starvation, ..TwenteReproduction::default() }.evidence();
            let verdict =
                |of: &Evidence| statements.iter().find(|one| one.name == of.statement).unwrap().verdict(of);
            all[4..].iter().map(verdict).collect::<Vec<_>>()
        };
        assert_eq!(of(Some((0.0, 0.2)), 0.8), [DoesNotHold, Holds, Holds]);
        assert_eq!(of(Some((4.0, 9.0)), 0.01), [Holds, DoesNotHold, DoesNotHold]);
        assert_eq!(of(None, 0.8), [CannotBeTold, CannotBeTold, Holds]);
    }

    #[test]
    fn the_choice_of_k_holds_fails_and_stays_open() {
        let of = |least: [i64; 2], most: [i64; 2]| {
            let work = |divisions, both: [i64; 2]| WorkTime::new(divisions, both.map(Some));
            let idle = system("ordinary", [None; 3]);
            verdicts(vec![idle], vec![work(1_000, least), work(100_000, most)])[4..].to_vec()
        };
        assert_eq!(of([9_000, 12_000], [1_100_000, 1_400_000]), [Holds; 2]);
        assert_eq!(of([30_000, 31_000], [400_000, 500_000]), [DoesNotHold; 2]);
        assert_eq!(of([9_000, 50_000], [900_000, 1_400_000]), [CannotBeTold; 2]);
    }

    #[test]
    fn work_takes_longer_under_stress_or_does_not() {
        let verdict = |means_ns: [f64; 3]| {
            let mut took = system("ordinary", [Some(1.0); 3]);
            for (load, mean_ns) in took.loads.iter_mut().zip(means_ns) {
                load.stretches.iter_mut().for_each(|stretch| stretch.mean_ns = mean_ns);
            }
            let systems = vec![system("ordinary", [None; 3])];
            let loops = LoadFigures { systems, ..LoadFigures::default() };
            let executions = Some(took);
            let all = TwenteReproduction { loops, executions, ..TwenteReproduction::default() }.evidence();
            let statements = Paper::Twente.statements();
            let of = all.iter().find(|of| of.statement == "sleep-smaller").unwrap();
            statements.iter().find(|one| one.name == of.statement).unwrap().verdict(of)
        };
        assert_eq!(verdict([13e3, 15e3, 17e3]), Holds);
        assert_eq!(verdict([13e3, 12e3, 17e3]), DoesNotHold);
    }

    #[test]
    fn the_listing_s_thread_keeps_its_creator_s_policy() {
        let Some(found) = run_listing().unwrap() else {
            assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "no C compiler");
            return;
        };
        assert_eq!(found.printed, "SCHED_OTHER 0");
        assert!(["SCHED_FIFO 99", "not permitted"].contains(&found.mended.as_str()), "{found:?}");
    }
}
