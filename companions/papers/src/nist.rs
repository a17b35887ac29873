//! NIST's report: table 1, figures 1 to 6, and control; a task of 500 us under load (figure 3), and the code paths behind the
//! clusters of figures 1 and 2, on real-time systems here and in virtual time.

use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::loads::{LoadFigures, Spread, SystemUnderLoads, UnderLoad, factor, latencies};
use crate::measure::Measured;
use crate::nist_control::NistControl;
use crate::nist_jitter::{NistJitter, PERIOD_NS};
use crate::statement::Evidence;
use crate::systems::{Case, Kernels, System};
use crate::torques::NistTorques;
use crate::words::Reproduction;
use crate::{Workplace, nist_control, nist_jitter};
use jitterlab_analysis::causes::{ListedEvents, NamedClusters};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_model::causes::Step;
use jitterlab_model::{Error, Quantity, TaskSpec};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;
use jitterlab_runs::{Hints, Run};

/// The loads of its figure 3.
pub const CONDITIONS: [&str; 3] = ["normal", "network", "disk"];

/// Traced series of samples: the clusters of each, and the paths that make them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ClusterCauses {
    pub system: String,
    pub each: Vec<NamedClusters>,
    /// Median time from the timer interrupt to the first instruction of each, the recording of events included.
    pub to_start_ns: Vec<f64>,
    /// Reason why nothing could be traced.
    pub refused: Option<String>,
}

impl ClusterCauses {
    /// Share of the errors in guessing a sample's cluster that knowing its path avoids, over the series with several clusters.
    pub fn explained(&self) -> Option<MedianInterval> {
        MedianInterval::from_values(self.each.iter().filter_map(|series| series.lambda))
    }

    /// The series whose clusters are explained to the median extent.
    pub fn typical(&self) -> Option<&NamedClusters> {
        let with_several = self.each.iter().filter_map(|series| Some((series.lambda?, series)));
        let mut each: Vec<(f64, &NamedClusters)> = with_several.collect();
        each.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        each.get(each.len() / 2).map(|(_, series)| *series)
    }

    /// Evidence on the paper's statement about a service time from the timer's interrupt to the task's output, as an oscilloscope
    /// shows it, against the processor's time for a wake-up. Events lengthen the former: only that it is shorter can be told.
    pub fn service_time(&self, processor_ns: f64) -> Evidence {
        let to_start = MedianInterval::from_values(self.to_start_ns.iter().copied());
        let latest_ns = to_start.and_then(|of| of.interval).map(|(_, high)| high);
        let is_shorter = latest_ns.is_some_and(|ns| ns < processor_ns);
        Evidence::answered("service-time", is_shorter.then_some(true))
            .and("interrupt", to_start)
            .and("processor", processor_ns)
    }

    pub fn evidence(&self) -> Evidence {
        let several = self.each.iter().filter(|series| series.lambda.is_some()).count();
        Evidence::decided_by("code-paths", "explained", self.explained())
            .and("series", self.each.len() as f64)
            .and("several", several as f64)
    }
}

/// The report repeated in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistVirtual {
    pub clusters: ClusterCauses,
    pub loads: LoadFigures,
}

impl NistVirtual {
    pub fn evidence(&self) -> Vec<Evidence> {
        let clusters = std::iter::once(self.clusters.evidence());
        // Hard real time: none of the systems of this machine may be.
        let hard = hard(&self.loads).map(|system| {
            Evidence::decided_by("hard-jitter", "ranges", ranges(system)).of_system(&system.system)
        });
        clusters.chain(of_loads(&self.loads)).chain(hard).collect()
    }
}

fn range(of: &Spread) -> f64 {
    of.range_ns() as f64
}

fn mean(of: &Spread) -> f64 {
    of.mean_ns
}

fn known(load: Option<&UnderLoad>, number: fn(&Spread) -> f64) -> Option<f64> {
    load?.found.as_ref().map(number)
}

/// Ranges under the loads of figure 3.
fn ranges(system: &SystemUnderLoads) -> Vec<Option<f64>> {
    CONDITIONS.map(|name| known(system.under(name), range)).to_vec()
}

/// Systems that are meant to be real-time ones.
fn hard(found: &LoadFigures) -> impl Iterator<Item = &SystemUnderLoads> {
    found.systems.iter().filter(|system| system.system != ORDINARY)
}

/// Evidence on the paper's statements about figure 3, the latencies of real-time systems under normal, network and disk load (the
/// first two correspond to figures 3a and 3b), about the cache, and about an ordinary system.
pub fn of_loads(found: &LoadFigures) -> Vec<Evidence> {
    let grows = |system: &SystemUnderLoads| {
        let loads = CONDITIONS.map(|name| system.under(name));
        let growth = [1, 2].map(|load| factor(loads[0]?, loads[load]?, range));
        Evidence::decided_by("range-grows", "growth", growth.to_vec())
            .and("ranges", ranges(system))
            .of_system(&system.system)
    };
    let dirtied = |system: &SystemUnderLoads| {
        let (clean, dirtied) = (system.under("computing")?, system.under("cache")?);
        let evidence = Evidence::decided_by("cache-dirtied", "later", factor(clean, dirtied, mean))
            .and("means", [clean, dirtied].map(|load| known(Some(load), mean)).to_vec());
        Some(evidence.of_system(&system.system))
    };
    let systems = || hard(found);
    let under_disk: Vec<&UnderLoad> = systems().filter_map(|system| system.under(CONDITIONS[2])).collect();
    let between = |number| match under_disk.as_slice() {
        [first, second, ..] => factor(first, second, number),
        _ => None,
    };
    let apart = between(mean);
    let differs = apart.and_then(|of| of.interval).is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let of_both = |number| under_disk.iter().map(|load| known(Some(load), number)).collect::<Vec<_>>();
    let worst =
        systems().flat_map(|system| CONDITIONS.map(|name| known(system.under(name), |of| of.max_ns as f64)));
    let mut all: Vec<Evidence> = systems().map(grows).collect();
    all.push(Evidence::decided_by("comparable", "factor", between(range)).and("ranges", of_both(range)));
    // Means that are alike do not show that the patterns are.
    let patterns = Evidence::answered("different-patterns", differs.then_some(true));
    all.push(patterns.and("factor", apart).and("means", of_both(mean)));
    all.push(Evidence::decided_by("worst-ten-us", "worst", worst.flatten().reduce(f64::max)));
    all.extend(systems().filter_map(dirtied));
    let soft = found.systems.iter().find(|system| system.system == ORDINARY);
    all.extend(soft.map(|system| Evidence::decided_by("soft-jitter", "ranges", system.each(range))));
    all
}

/// The paper's conditions and the loads used for them, then two that differ in the cache only: other tasks fill the idle
/// time of every processor, and leave the cache alone or rewrite it.
const LOADS: [Case; CONDITIONS.len() + 2] = [
    Case { name: CONDITIONS[0], load: "none" },
    Case { name: CONDITIONS[1], load: "net:2" },
    Case { name: CONDITIONS[2], load: "disk:2" },
    Case { name: "computing", load: "cpu:4@all" },
    Case { name: "cache", load: "cache:4@all" },
];

/// Name of the ordinary system, and its load: tasks that compute and take memory on its processor.
const ORDINARY: &str = "ordinary";
const STRESS: [Case; 1] = [Case { name: "stress", load: "twente@all" }];

/// The paper's conditions in a guest, with the guest's own devices; virtual time has no cache.
const GUEST_LOADS: [Case; CONDITIONS.len()] = [
    Case { name: CONDITIONS[0], load: "none" },
    Case { name: CONDITIONS[1], load: "net:2,10.0.0.2" },
    Case { name: CONDITIONS[2], load: "disk:2,/disk" },
];

/// Steps of a wake-up that an oscilloscope on the timer's interrupt and on the task's pin has between its edges.
const AFTER_INTERRUPT: [Step; 4] = [Step::Interrupt, Step::InterruptEnd, Step::Switch, Step::Return];

/// Number of traced series, and the part of a measurement's length that each takes.
const TRACED: usize = 8;
const TRACED_PART: i64 = 8;

/// NIST's report, repeated on this machine.
#[derive(Debug, Serialize)]
pub struct NistReproduction {
    pub torques: NistTorques,
    /// Figures 1, 2, 4, 5 and 6.
    pub jitter: NistJitter,
    /// Causes of the clusters in figures 1 and 2.
    pub clusters: ClusterCauses,
    /// Figure 3.
    pub loads: LoadFigures,
    /// Control without feedback and with it.
    pub control: NistControl,
}

impl NistReproduction {
    fn evidence(&self) -> Vec<Evidence> {
        let mut all = self.torques.evidence().to_vec();
        all.extend(self.jitter.evidence());
        all.push(self.clusters.evidence());
        all.push(self.clusters.service_time(self.jitter.service.often_ns));
        all.extend(of_loads(&self.loads));
        all.extend(self.control.evidence());
        all
    }
}

/// The whole report on this machine.
pub fn host(at: &mut Workplace<'_>) -> Result<Reproduction, Error> {
    at.replace(&nist_jitter::RUN_FILES.map(String::from))?;
    let systems = real_time(System::of_this_machine());
    let clusters = clusters(at, &systems)?;
    let mut loads = measured(at, &systems, &LOADS)?;
    let control = nist_control::measure(at, &loads, CONDITIONS[2])?;
    loads.systems.extend(ordinary(at, System::of_this_machine())?);
    // At last, since it begins anew where the others go on after an interruption.
    let jitter = nist_jitter::measure(at)?;
    let torques = NistTorques::compute();
    let found = NistReproduction { torques, jitter, clusters, loads, control };
    at.finish(&found, found.evidence())
}

/// The clusters of figures 1 and 2, with the paths that make them. Events of Linux say nothing about tasks on a core beside it, and
/// the first system has none.
fn clusters(at: &mut Workplace<'_>, systems: &[System]) -> Result<ClusterCauses, Error> {
    let Some(system) = systems.first() else { return Ok(ClusterCauses::default()) };
    match clusters_on(at, system) {
        Err(error) if !at.interrupted.load(Ordering::Relaxed) => {
            Ok(ClusterCauses { refused: Some(error.to_string()), ..ClusterCauses::default() })
        }
        found => found,
    }
}

/// The same on kernels in virtual time.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Reproduction, Error> {
    let systems = real_time(kernels.systems());
    // First the loads: a core that does not run is found at once.
    let mut loads = measured(at, &systems, &GUEST_LOADS)?;
    loads.systems.extend(ordinary(at, kernels.systems())?);
    let clusters = clusters(at, &systems)?;
    let found = NistVirtual { clusters, loads };
    at.finish(&found, found.evidence())
}

fn real_time(mut systems: Vec<System>) -> Vec<System> {
    systems.retain(|system| !system.is_ordinary());
    systems
}

/// The task as an ordinary one, which is no real-time system.
fn ordinary(at: &mut Workplace<'_>, mut systems: Vec<System>) -> Result<Vec<SystemUnderLoads>, Error> {
    systems.retain(System::is_ordinary);
    Ok(at.under_loads(&systems, &STRESS, &task(), latencies)?.figures.systems)
}

fn task() -> TaskSpec {
    TaskSpec { period_ns: PERIOD_NS, ..TaskSpec::default() }
}

fn clusters_on(at: &mut Workplace<'_>, system: &System) -> Result<ClusterCauses, Error> {
    let names = (1..=TRACED).map(|number| format!("{}-traced-{number}", system.name)).collect();
    let mut found = ClusterCauses { system: system.name.into(), ..ClusterCauses::default() };
    for file in at.traced(system, &task(), names, at.duration_ns / TRACED_PART)? {
        let why = Run::open(&file, &Hints::default())?.why(None, ListedEvents::Latest(0))?;
        for task in why.tasks {
            let steps = task.usual.iter().filter(|of| AFTER_INTERRUPT.contains(&of.step));
            let to_start: i64 = steps.map(|of| of.median_ns).sum();
            found.to_start_ns.extend((to_start > 0).then_some(to_start as f64));
            found.each.extend(Some(task.clusters).filter(|series| !series.clusters.is_empty()));
        }
    }
    Ok(found)
}

/// Each of these systems under all loads; the first two are those of figures 3a and 3b.
fn measured(at: &mut Workplace<'_>, systems: &[System], loads: &[Case]) -> Result<LoadFigures, Error> {
    let Measured { figures, mut runs } = at.under_loads(systems, loads, &task(), latencies)?;
    runs.iter_mut().for_each(|runs| runs.truncate(CONDITIONS.len()));
    for ((number, system), runs) in systems.iter().enumerate().zip(&runs) {
        let figure = match number {
            0 => "figure-3a".into(),
            1 => "figure-3b".into(),
            _ => format!("figure-3-{}", system.name),
        };
        draw(at, &figure, runs)?;
    }
    let disk: Vec<PageRun> = runs.into_iter().filter_map(|mut runs| runs.pop()).collect();
    draw(at, "figure-3c", &disk)?;
    Ok(figures)
}

fn draw(at: &Workplace<'_>, name: &str, runs: &[PageRun]) -> Result<(), Error> {
    let charts = Figure::HISTOGRAM.charts(Quantity::Latency, runs, &[])?;
    at.draw(&[(name.into(), charts)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::under;
    use crate::paper::Paper;
    use crate::statement::StatementVerdict::{CannotBeTold, DoesNotHold, Holds};

    #[test]
    fn each_statement_of_figure_3_can_hold_fail_and_stay_undecided() {
        let statements = Paper::Nist.statements();
        let verdicts = |systems: [[Option<f64>; 3]; 2], more_ns: i64| {
            let loads = |[normal, network, disk]: [Option<f64>; 3]| {
                let mut loads = vec![under("normal", normal), under("network", network), under("disk", disk)];
                loads.iter_mut().filter_map(|load| load.found.as_mut()).for_each(|of| of.max_ns += more_ns);
                loads
            };
            let systems = systems.map(|ranges| SystemUnderLoads { system: "a".into(), loads: loads(ranges) });
            let found = LoadFigures { systems: systems.into(), ..LoadFigures::default() };
            let verdict = |evidence: &Evidence| {
                let statement = statements.iter().find(|of| of.name == evidence.statement).unwrap();
                statement.verdict(evidence)
            };
            of_loads(&found).iter().map(verdict).collect::<Vec<_>>()
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
            let loads = vec![under("stress", Some(range_ns))];
            let systems = vec![SystemUnderLoads { system: ORDINARY.into(), loads }];
            let evidence = of_loads(&LoadFigures { systems, ..LoadFigures::default() }).pop().unwrap();
            statements.iter().find(|of| of.name == evidence.statement).unwrap().verdict(&evidence)
        };
        assert_eq!([5e6, 5e3].map(verdict), [Holds, DoesNotHold]);
    }

    #[test]
    fn paths_explain_clusters_where_they_tell_most_of_them() {
        let series = |lambda| NamedClusters { lambda, ..NamedClusters::default() };
        let verdict = |lambdas: &[Option<f64>]| {
            let each = lambdas.iter().map(|lambda| series(*lambda)).collect();
            let found = ClusterCauses { each, ..ClusterCauses::default() };
            let statements = Paper::Nist.statements();
            let statement = statements.iter().find(|of| of.name == "code-paths").unwrap();
            assert_eq!(found.service_time(5e3).values["processor"], 5e3.into());
            (statement.verdict(&found.evidence()), found.typical().and_then(|series| series.lambda))
        };
        assert_eq!(verdict(&[Some(0.9); 8]), (Holds, Some(0.9)));
        assert_eq!(verdict(&[Some(0.1); 8]), (DoesNotHold, Some(0.1)));
        assert_eq!(verdict(&[None; 8]), (CannotBeTold, None));
    }

    #[test]
    fn a_cache_that_others_rewrite_makes_the_start_later_or_not() {
        let verdict = |clean_ns: f64, dirtied_ns: f64| {
            let mut loads = vec![under("computing", Some(100.0)), under("cache", Some(100.0))];
            for (load, ns) in loads.iter_mut().zip([clean_ns, dirtied_ns]) {
                load.stretches.iter_mut().for_each(|stretch| stretch.mean_ns = ns);
            }
            let systems = vec![SystemUnderLoads { system: "fifo".into(), loads }];
            let found = LoadFigures { systems, ..LoadFigures::default() };
            let evidence = of_loads(&found).pop().unwrap();
            let statements = Paper::Nist.statements();
            statements.iter().find(|of| of.name == evidence.statement).unwrap().verdict(&evidence)
        };
        assert_eq!((verdict(4e3, 5e3), verdict(5e3, 4e3)), (Holds, DoesNotHold));
    }
}
