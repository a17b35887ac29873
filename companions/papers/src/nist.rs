//! NIST's report: table 1, figures 1 to 6, and control; a task of 500 us under load (figure 3), and the code paths behind the
//! clusters of figures 1 and 2, on real-time systems here and in virtual time. Limits in `data/nist.toml` give the verdicts
//! ([`crate::statement`]).

use std::sync::atomic::Ordering;

use serde::Serialize;
use serde_json::json;

use crate::loads::{LoadFigures, LoadResult, MEAN, RANGE, Statistic, SystemResults, latencies, ratio};
use crate::measure::LoadRuns;
use crate::nist_control::NistControl;
use crate::nist_jitter::{NistJitter, PERIOD_NS};
use crate::statement::Evidence;
use crate::systems::{LoadCase, System};
use crate::torques::{self, TorqueRow};
use crate::words::Reproduction;
use crate::{Reproducer, nist_control, nist_jitter};
use jitterlab_analysis::causes::{ClustersWithPaths, ListedEvents};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_model::causes::Step;
use jitterlab_model::{Error, Quantity, TaskSpec};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;
use jitterlab_runs::{Hints, Run};

pub const CONDITIONS: [&str; 3] = ["normal", "network", "disk"];
/// Two more that differ in the cache only: other tasks leave it alone, or rewrite it.
const CACHE: [&str; 2] = ["computing", "cache"];

/// Traced series of samples: the clusters of each, and the paths that make them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ClusterCauses {
    pub system: String,
    pub each: Vec<ClustersWithPaths>,
    /// Median time from the timer interrupt to the first instruction of each, the recording of events included.
    pub to_start_ns: Vec<f64>,
    /// Reason why nothing could be traced.
    pub refused: Option<String>,
}

impl ClusterCauses {
    /// Share of wrong guesses of a sample's cluster that knowing its path avoids, over the series with several.
    pub fn explained_share(&self) -> Option<MedianInterval> {
        MedianInterval::from_values(self.each.iter().filter_map(|series| series.lambda))
    }

    /// The series whose clusters are explained to the median extent; `None` if none has several clusters.
    pub fn median_series(&self) -> Option<&ClustersWithPaths> {
        let with_several = self.each.iter().filter_map(|series| Some((series.lambda?, series)));
        let mut each: Vec<(f64, &ClustersWithPaths)> = with_several.collect();
        each.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        each.get(each.len() / 2).map(|(_, series)| *series)
    }

    /// Evidence on whether the time from interrupt to output is shorter than the processor's time for a wake-up.
    /// Events lengthen the former: only that it is shorter can be told.
    pub fn service_evidence(&self, processor_ns: f64) -> Evidence {
        let to_start = MedianInterval::from_values(self.to_start_ns.iter().copied());
        let latest_ns = to_start.and_then(|of| of.interval).map(|(_, high)| high);
        let is_shorter = latest_ns.is_some_and(|ns| ns < processor_ns);
        let is_shorter = is_shorter.then_some(true);
        let values = json!({ "is_shorter": is_shorter, "interrupt": to_start, "processor": processor_ns });
        Evidence::new("service-time", "is_shorter", values)
    }

    /// Evidence on the paper's statement that code paths make the clusters.
    pub fn paths_evidence(&self) -> Evidence {
        let several = self.each.iter().filter(|series| series.lambda.is_some()).count();
        let values =
            json!({ "explained": self.explained_share(), "series": self.each.len(), "several": several });
        Evidence::new("code-paths", "explained", values)
    }
}

/// A statistic of a system under each of these loads.
fn statistic_under(system: &SystemResults, conditions: &[&str], number: Statistic) -> Vec<Option<f64>> {
    conditions.iter().map(|name| system.find_load(name)?.statistic(number)).collect()
}

fn real_time_systems(found: &LoadFigures) -> impl Iterator<Item = &SystemResults> {
    found.systems.iter().filter(|system| system.system != ORDINARY)
}

/// Evidence on the statements about figure 3 (latencies under load), the cache and an ordinary system.
/// The first two systems correspond to figures 3a and 3b.
pub fn load_evidence(found: &LoadFigures) -> Vec<Evidence> {
    let against = |system: &SystemResults, from: &str, to: &str, number| {
        ratio(system.find_load(from)?, system.find_load(to)?, number)
    };
    let [normal, network, disk] = CONDITIONS;
    let grows = |system: &SystemResults| {
        let growth = [network, disk].map(|load| against(system, normal, load, RANGE));
        let ranges = statistic_under(system, &CONDITIONS, RANGE);
        let values = json!({ "system": system.system, "growth": growth, "ranges": ranges });
        Evidence::new("range-grows", "growth", values)
    };
    let dirtied = |system: &SystemResults| {
        let [computing, cache] = CACHE;
        system.find_load(cache)?;
        let (later, means) = (against(system, computing, cache, MEAN), statistic_under(system, &CACHE, MEAN));
        let values = json!({ "system": system.system, "later": later, "means": means });
        Some(Evidence::new("cache-dirtied", "later", values))
    };
    let systems = || real_time_systems(found);
    let under_disk: Vec<&LoadResult> = systems().filter_map(|system| system.find_load(disk)).collect();
    let between = |number| match under_disk[..] {
        [first, second, ..] => ratio(first, second, number),
        _ => None,
    };
    let of_both = |number| under_disk.iter().map(|load| load.statistic(number)).collect::<Vec<_>>();
    let apart = between(MEAN);
    let differs = apart.and_then(|of| of.interval).is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    // Means that are alike do not show that the patterns are.
    let differs = differs.then_some(true);
    let patterns = json!({ "differs": differs, "factor": apart, "means": of_both(MEAN) });
    let comparable = json!({ "factor": between(RANGE), "ranges": of_both(RANGE) });
    let worst = systems().flat_map(|system| statistic_under(system, &CONDITIONS, |of| of.max_ns as f64));
    let mut all: Vec<Evidence> = systems().map(grows).collect();
    all.push(Evidence::new("comparable", "factor", comparable));
    all.push(Evidence::new("different-patterns", "differs", patterns));
    let worst = worst.flatten().reduce(f64::max);
    all.push(Evidence::new("worst-ten-us", "worst", json!({ "worst": worst })));
    all.extend(systems().filter_map(dirtied));
    let soft = found.systems.iter().find(|system| system.system == ORDINARY);
    let soft = soft.map(|system| json!({ "ranges": system.by_load(RANGE) }));
    all.extend(soft.map(|soft| Evidence::new("soft-jitter", "ranges", soft)));
    all
}

/// Loads used for each; for the cache, tasks fill the idle time of every processor.
const LOADS: [LoadCase; 5] = [
    LoadCase { name: CONDITIONS[0], load: "none" },
    LoadCase { name: CONDITIONS[1], load: "net:2" },
    LoadCase { name: CONDITIONS[2], load: "disk:2" },
    LoadCase { name: CACHE[0], load: "cpu:4@all" },
    LoadCase { name: CACHE[1], load: "cache:4@all" },
];

/// Name of the ordinary system, and its load: tasks that compute and take memory on its processor.
const ORDINARY: &str = "ordinary";
const STRESS: [LoadCase; 1] = [LoadCase { name: "stress", load: "twente@all" }];

/// The paper's conditions in a guest, with the guest's own devices; virtual time has no cache.
const GUEST_LOADS: [LoadCase; 3] = [
    LoadCase { name: CONDITIONS[0], load: "none" },
    LoadCase { name: CONDITIONS[1], load: "net:2,10.0.0.2" },
    LoadCase { name: CONDITIONS[2], load: "disk:2,/disk" },
];

/// Steps of a wake-up that an oscilloscope on the timer's interrupt and on the task's pin has between its edges.
const AFTER_INTERRUPT: [Step; 4] = [Step::Interrupt, Step::InterruptEnd, Step::Switch, Step::Return];

/// Number of traced series, and the part of a measurement's length that each takes.
const TRACED: usize = 8;
const TRACED_PART: i64 = 8;

#[derive(Debug, Serialize)]
pub struct NistReproduction {
    /// Parts that virtual time has nothing to say about; `None` there.
    #[serde(flatten)]
    pub machine: Option<MachineResults>,
    pub clusters: ClusterCauses,
    pub loads: LoadFigures,
}

#[derive(Debug, Serialize)]
pub struct MachineResults {
    pub torques: Vec<TorqueRow>,
    pub jitter: NistJitter,
    pub control: NistControl,
}

impl NistReproduction {
    pub fn evidence(&self) -> Vec<Evidence> {
        let Some(MachineResults { jitter, control, .. }) = &self.machine else {
            // Hard real time: none of the systems of a machine may be.
            let hard = real_time_systems(&self.loads).map(|system| {
                let ranges = statistic_under(system, &CONDITIONS, RANGE);
                let values = json!({ "system": system.system, "ranges": ranges });
                Evidence::new("hard-jitter", "ranges", values)
            });
            let clusters = std::iter::once(self.clusters.paths_evidence());
            return clusters.chain(load_evidence(&self.loads)).chain(hard).collect();
        };
        let mut all: Vec<Evidence> = torques::evidence().collect();
        all.extend(jitter.evidence());
        all.extend([self.clusters.paths_evidence(), self.clusters.service_evidence(jitter.service.often_ns)]);
        all.extend(load_evidence(&self.loads));
        all.extend(control.evidence());
        all
    }
}

/// Repeats the report on this machine, or the parts of it that are possible on kernels in virtual time.
pub fn reproduce(at: &mut Reproducer<'_>) -> Result<Reproduction, Error> {
    let on_machine = at.kernels.is_none();
    if on_machine {
        at.remove_old_runs(&nist_jitter::RUN_FILES.map(String::from))?;
    }
    let mut systems = at.systems();
    systems.retain(|system| !system.is_ordinary());
    // First the loads: a core that does not run is found at once.
    let mut loads = run_loads(at, &systems, if on_machine { &LOADS } else { &GUEST_LOADS })?;
    let clusters = measure_clusters(at, &systems)?;
    let mut machine = None;
    if on_machine {
        let control = nist_control::measure(at, &loads, CONDITIONS[2])?;
        loads.systems.extend(measure_ordinary(at)?);
        // At last, since it begins anew where the others go on after an interruption.
        let jitter = nist_jitter::measure(at)?;
        machine = Some(MachineResults { torques: torques::recompute_table(), jitter, control });
    }
    if !on_machine {
        loads.systems.extend(measure_ordinary(at)?);
    }
    let found = NistReproduction { machine, clusters, loads };
    at.write_results(&found, found.evidence())
}

/// Measures the task on the ordinary system, under stress.
fn measure_ordinary(at: &mut Reproducer<'_>) -> Result<Vec<SystemResults>, Error> {
    let mut systems = at.systems();
    systems.retain(System::is_ordinary);
    Ok(at.measure_loads(&systems, &STRESS, &nist_task(), latencies)?.figures.systems)
}

fn nist_task() -> TaskSpec {
    TaskSpec { period_ns: PERIOD_NS, ..TaskSpec::default() }
}

/// Traces series of samples on the first system; finds their clusters and the paths that make them.
/// Events of Linux say nothing about tasks on a core next to it, and the first system has none.
fn measure_clusters(at: &mut Reproducer<'_>, systems: &[System]) -> Result<ClusterCauses, Error> {
    let Some(system) = systems.first() else { return Ok(ClusterCauses::default()) };
    let mut found = ClusterCauses { system: system.name.into(), ..ClusterCauses::default() };
    let names = (1..=TRACED).map(|number| format!("{}-traced-{number}", system.name)).collect();
    let files = match at.measure_traced(system, &nist_task(), names, at.duration_ns / TRACED_PART) {
        Err(error) if !at.interrupted.load(Ordering::Relaxed) => {
            return Ok(ClusterCauses { refused: Some(error.to_string()), ..ClusterCauses::default() });
        }
        files => files?,
    };
    for file in files {
        let why = Run::open(&file, &Hints::default())?.why(None, ListedEvents::Worst(0))?;
        for task in why.tasks {
            let steps = task.typical_steps.iter().filter(|of| AFTER_INTERRUPT.contains(&of.step));
            let to_start: i64 = steps.map(|of| of.median_ns).sum();
            found.to_start_ns.extend((to_start > 0).then_some(to_start as f64));
            found.each.extend(Some(task.clusters).filter(|series| !series.clusters.is_empty()));
        }
    }
    Ok(found)
}

/// Measures these systems under all loads and draws their histograms; the first two are figures 3a and 3b.
fn run_loads(at: &mut Reproducer<'_>, systems: &[System], loads: &[LoadCase]) -> Result<LoadFigures, Error> {
    let LoadRuns { figures, mut runs } = at.measure_loads(systems, loads, &nist_task(), latencies)?;
    runs.iter_mut().for_each(|runs| runs.truncate(CONDITIONS.len()));
    for ((number, system), runs) in systems.iter().enumerate().zip(&runs) {
        let figure = match number {
            0 => "figure-3a".into(),
            1 => "figure-3b".into(),
            _ => format!("figure-3-{}", system.name),
        };
        write_histogram(at, &figure, runs)?;
    }
    let disk: Vec<PageRun> = runs.into_iter().filter_map(|mut runs| runs.pop()).collect();
    write_histogram(at, "figure-3c", &disk)?;
    Ok(figures)
}

fn write_histogram(at: &Reproducer<'_>, name: &str, runs: &[PageRun]) -> Result<(), Error> {
    let charts = Figure::HISTOGRAM.charts(Quantity::Latency, runs, &[])?;
    at.write_figures(&[(name.into(), charts)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::example_load;
    use crate::paper::Paper;
    use crate::statement::StatementVerdict::{CannotBeTold, DoesNotHold, Holds};

    #[test]
    fn each_statement_of_figure_3_can_hold_fail_and_stay_undecided() {
        let statements = Paper::Nist.statements();
        let verdicts = |systems: [[Option<f64>; 3]; 2], more_ns: i64| {
            let loads = |[normal, network, disk]: [Option<f64>; 3]| {
                let mut loads = vec![
                    example_load("normal", normal),
                    example_load("network", network),
                    example_load("disk", disk),
                ];
                loads.iter_mut().filter_map(|load| load.found.as_mut()).for_each(|of| of.max_ns += more_ns);
                loads
            };
            let systems = systems.map(|ranges| SystemResults { system: "a".into(), loads: loads(ranges) });
            let found = LoadFigures { systems: systems.into(), ..LoadFigures::default() };
            let verdict = |evidence: &Evidence| {
                let statement = statements.iter().find(|of| of.name == evidence.statement).unwrap();
                statement.verdict(evidence)
            };
            load_evidence(&found).iter().map(verdict).collect::<Vec<_>>()
        };
        let known = |ranges: [[f64; 3]; 2]| ranges.map(|ranges| ranges.map(Some));
        let grows = known([[4e3, 9e3, 11e3], [5e3, 7e3, 8e3]]);
        assert_eq!(verdicts(grows, -900_000), [Holds, Holds, Holds, CannotBeTold, Holds]);
        let narrows = known([[900.0, 800.0, 700.0], [50.0, 60.0, 40.0]]);
        assert_eq!(
            verdicts(narrows, -900_000),
            [DoesNotHold, DoesNotHold, DoesNotHold, CannotBeTold, DoesNotHold]
        );
        assert_eq!(verdicts([[None; 3]; 2], 0), [CannotBeTold; 5]);
    }

    #[test]
    fn an_ordinary_system_takes_milliseconds_or_does_not() {
        let statements = Paper::Nist.statements();
        let verdict = |range_ns| {
            let loads = vec![example_load("stress", Some(range_ns))];
            let systems = vec![SystemResults { system: ORDINARY.into(), loads }];
            let evidence = load_evidence(&LoadFigures { systems, ..LoadFigures::default() }).pop().unwrap();
            statements.iter().find(|of| of.name == evidence.statement).unwrap().verdict(&evidence)
        };
        assert_eq!([5e6, 5e3].map(verdict), [Holds, DoesNotHold]);
    }

    #[test]
    fn paths_explain_clusters_where_they_tell_most_of_them() {
        let series = |lambda| ClustersWithPaths { lambda, ..ClustersWithPaths::default() };
        let verdict = |lambdas: &[Option<f64>]| {
            let each = lambdas.iter().map(|lambda| series(*lambda)).collect();
            let found = ClusterCauses { each, ..ClusterCauses::default() };
            let statements = Paper::Nist.statements();
            let statement = statements.iter().find(|of| of.name == "code-paths").unwrap();
            assert_eq!(found.service_evidence(5e3).values["processor"], 5e3);
            (
                statement.verdict(&found.paths_evidence()),
                found.median_series().and_then(|series| series.lambda),
            )
        };
        assert_eq!(verdict(&[Some(0.9); 8]), (Holds, Some(0.9)));
        assert_eq!(verdict(&[Some(0.1); 8]), (DoesNotHold, Some(0.1)));
        assert_eq!(verdict(&[None; 8]), (CannotBeTold, None));
    }

    #[test]
    fn a_cache_that_others_rewrite_makes_the_start_later_or_not() {
        let verdict = |clean_ns: f64, dirtied_ns: f64| {
            let mut loads = vec![example_load("computing", Some(100.0)), example_load("cache", Some(100.0))];
            for (load, ns) in loads.iter_mut().zip([clean_ns, dirtied_ns]) {
                load.stretches.iter_mut().for_each(|stretch| stretch.mean_ns = ns);
            }
            let systems = vec![SystemResults { system: "fifo".into(), loads }];
            let found = LoadFigures { systems, ..LoadFigures::default() };
            let evidence = load_evidence(&found).pop().unwrap();
            let statements = Paper::Nist.statements();
            statements.iter().find(|of| of.name == evidence.statement).unwrap().verdict(&evidence)
        };
        assert_eq!((verdict(4e3, 5e3), verdict(5e3, 4e3)), (Holds, DoesNotHold));
    }
}
