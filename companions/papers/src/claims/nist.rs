//! F. M. Proctor and W. P. Shackleford, "Real-time Operating System Timing Jitter and its Impact on Motor
//! Control" (NIST, 2001), sections 2 and 3: the jitter of a task of 500 us, the cost of compensating it, and
//! the gain.

use jitterlab_model::ClockFit;
use serde::{Deserialize, Serialize};

use super::loads::{LoadFigures, Stretch, SystemUnderLoads, UnderLoad, factor};
use super::nist_calls::EarlyCalls;
use crate::paper::Paper;
use crate::statement::Evidence;
use jitterlab_analysis::causes::NamedClusters;
use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::compensation::nist::optimum;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime};
use jitterlab_analysis::median_interval::MedianInterval;

/// The paper's period.
pub const PERIOD_NS: i64 = 500_000;

/// The loads of its figure 3.
pub const CONDITIONS: [&str; 3] = ["normal", "network", "disk"];

/// Numbers that the paper prints for its figures 1, 2, 5 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
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
    /// Series whose first samples are compared with their others.
    pub series: usize,
    /// Deviation of the first sample over the median of its series' others.
    pub first_sample: Option<MedianInterval>,
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

impl PrintedJitter {
    /// The numbers in the paper's data.
    pub fn read() -> Self {
        #[derive(Default, Deserialize)]
        struct Printed {
            printed: PrintedJitter,
        }
        Paper::Nist.read::<Printed>().printed
    }
}

impl NistJitter {
    /// Evidence on the paper's statements about its figures 1 to 6.
    pub fn evidence(&self) -> Vec<Evidence> {
        let least = self.load_curve.iter().min_by(|a, b| a.measured.total_cmp(&b.measured));
        let measured = least.map(|point| point.measured);
        let (_, computed) = optimum(self.service.often_ns, self.period_ns as f64);
        let ratios: Vec<_> =
            self.load_curve.iter().map(|point| Some(point.measured / point.equation_1)).collect();
        vec![
            // That no valley is real does not show that there is none.
            Evidence::answered("figure-1b", (self.short_clusters.len() > 1).then_some(true))
                .and("clusters", self.short_clusters.len() as f64),
            Evidence::decided_by("first-sample", "factor", self.first_sample)
                .and("series", self.series as f64),
            Evidence::decided_by("equation-1", "ratio", ratios),
            Evidence::decided_by("equation-3", "ratio", measured.map(|load| load / computed))
                .and("measured", measured)
                .and("computed", computed),
            Evidence::decided_by("factor-40", "factor", self.factor),
            Evidence::decided_by("extra-load", "load", self.extra_load),
        ]
    }
}

/// Traced series of samples: the clusters of each, and the paths that make them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ClusterCauses {
    /// Name of the system.
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

    /// Evidence on the paper's statement about the clusters.
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
    /// Figure 3.
    pub loads: LoadFigures,
}

fn range(stretch: &Stretch) -> f64 {
    stretch.range_ns
}

fn mean(stretch: &Stretch) -> f64 {
    stretch.mean_ns
}

/// Evidence on the paper's statements about figure 3, the latencies of real-time systems under normal, network and disk load (the
/// first two correspond to figures 3a and 3b), and about the cache.
pub fn of_loads(found: &LoadFigures) -> Vec<Evidence> {
    let grows = |system: &SystemUnderLoads| {
        let loads = CONDITIONS.map(|name| system.under(name));
        let growth = |load: Option<&UnderLoad>| factor(&loads[0]?.stretches, &load?.stretches, range);
        Evidence::decided_by("range-grows", "growth", vec![growth(loads[1]), growth(loads[2])])
            .and("ranges", loads.map(ranged).to_vec())
            .of_system(&system.system)
    };
    let dirtied = |system: &SystemUnderLoads| {
        let [clean, dirtied] = ["computing", "cache"].map(|name| system.under(name));
        let (clean, dirtied) = (clean?, dirtied?);
        let later = factor(&clean.stretches, &dirtied.stretches, mean);
        let means = [clean, dirtied].map(|load| Some(load.found?.mean_ns));
        Some(
            Evidence::decided_by("cache-dirtied", "later", later)
                .and("means", means.to_vec())
                .of_system(&system.system),
        )
    };
    let mut all: Vec<Evidence> = found.systems.iter().map(grows).collect();
    let under_disk: Vec<&UnderLoad> =
        found.systems.iter().filter_map(|system| system.under(CONDITIONS[2])).collect();
    let between = match under_disk.as_slice() {
        [first, second, ..] => factor(&first.stretches, &second.stretches, range),
        _ => None,
    };
    let ranges: Vec<_> = under_disk.iter().map(|load| ranged(Some(load))).collect();
    let of_the_paper = |load: &&UnderLoad| CONDITIONS.contains(&load.condition.as_str());
    let loads = found.systems.iter().flat_map(|system| &system.loads).filter(of_the_paper);
    let worst = loads.filter_map(|load| Some(load.found?.max_ns)).max().map(|ns| ns as f64);
    all.push(Evidence::decided_by("comparable", "factor", between).and("ranges", ranges));
    all.push(Evidence::decided_by("worst-ten-us", "worst", worst));
    all.extend(found.systems.iter().filter_map(dirtied));
    all
}

fn ranged(load: Option<&UnderLoad>) -> Option<f64> {
    Some(load?.found?.range_ns() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::loads::under;
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
            let found =
                LoadFigures { systems: systems.into(), in_virtual_time: false, ns_per_instruction: None };
            let verdict = |evidence: &Evidence| {
                let statement = statements.iter().find(|of| of.name == evidence.statement).unwrap();
                statement.verdict(evidence)
            };
            of_loads(&found).iter().map(verdict).collect::<Vec<_>>()
        };
        let known = |ranges: [[f64; 3]; 2]| ranges.map(|ranges| ranges.map(Some));
        let grows = known([[4e3, 9e3, 11e3], [5e3, 7e3, 8e3]]);
        assert_eq!(verdicts(grows, -900_000), [Holds; 4]);
        assert_eq!(verdicts(known([[900.0, 800.0, 700.0], [50.0, 60.0, 40.0]]), -900_000), [DoesNotHold; 4]);
        assert_eq!(verdicts([[None; 3]; 2], 0), [CannotBeTold; 4]);
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
            let found = LoadFigures { systems, in_virtual_time: false, ns_per_instruction: None };
            let evidence = of_loads(&found).pop().unwrap();
            let statements = Paper::Nist.statements();
            statements.iter().find(|of| of.name == evidence.statement).unwrap().verdict(&evidence)
        };
        assert_eq!((verdict(4e3, 5e3), verdict(5e3, 4e3)), (Holds, DoesNotHold));
    }

    #[test]
    fn the_paper_s_numbers_are_read() {
        let printed = PrintedJitter::read();
        assert_eq!((printed.jitter_ns, printed.least_load_every_ns), (3_600.0, 50_000));
    }
}
