//! F. M. Proctor and W. P. Shackleford, "Real-time Operating System Timing Jitter and its Impact on Motor
//! Control" (NIST, 2001), sections 2 and 3: the jitter of a task of 500 us, the cost of compensating it, and
//! the gain (figures 1, 2, 4, 5 and 6).

use serde::Serialize;
use serde_json::json;

use crate::early_calls::EarlyCalls;
use crate::statement::Evidence;
use crate::{Reproducer, early_calls};
use jitterlab_analysis::Statistics;
use jitterlab_analysis::clusters::{LatencyCluster, latency_clusters};
use jitterlab_analysis::compensation::nist::optimum;
use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime, latency_distribution};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::nist_deviations::Deviations;
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::recommendation::{DEFAULT_WISH, recommend};
use jitterlab_analysis::summary::P50;
use jitterlab_host::experiment::compensate::{
    lateness_threshold_ns, measure_load_curve, measure_service_time,
};
use jitterlab_host::{Block, DmaLatency, Experiment, TaskMeasurer};
use jitterlab_model::{Activation, ClockFit, Compensation, Error, ReadClock, TaskSpec};
use jitterlab_report::compensation::note_sentence;
use jitterlab_trace::FinishedParts;

pub const PERIOD_NS: i64 = 500_000;

/// Service time that the paper assumes for its figure 5, and the distance of wake-ups with the least load there.
pub const PRINTED_SERVICE_NS: f64 = 5_000.0;
const PRINTED_EVERY_NS: i64 = 50_000;

/// Figures 1, 2, 5 and 6 repeated on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistJitter {
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
    /// Share of A that is polled on average: of that distance, which divides the period, and of one that does not.
    pub polled_shares: [Option<f64>; 2],
    /// Figure 5: the service time S.
    pub service: ServiceTime,
    pub load_curve: Vec<LoadPoint>,
    /// Figure 6: 100 uncompensated samples.
    pub uncompensated: Deviations,
    /// Figure 6: 100 compensated samples.
    pub compensated: Deviations,
    pub margin_ns: i64,
    pub uncompensated_jitter_ns: Option<MedianInterval>,
    pub compensated_jitter_ns: Option<MedianInterval>,
    /// Factor by which the jitter became smaller, series by series.
    pub factor: Option<MedianInterval>,
    pub extra_load: Option<MedianInterval>,
}

impl NistJitter {
    pub fn evidence(&self) -> Vec<Evidence> {
        let least = self.load_curve.iter().min_by(|a, b| a.measured.total_cmp(&b.measured));
        let measured = least.map(|point| point.measured);
        let (_, computed) = optimum(self.service.often_ns, PERIOD_NS as f64);
        // Equation 1 asks for more than the processor where calls come too often: no measurement can agree with that.
        let possible = self.load_curve.iter().filter(|point| point.equation_1 <= 1.0);
        let ratios: Vec<f64> = possible.map(|point| point.measured / point.equation_1).collect();
        let clusters = self.short_clusters.len();
        // That no valley is real does not show that there is none.
        let several = (clusters > 1).then_some(true);
        let first = json!({ "factor": self.first_sample, "series": self.series });
        let [aligned, unaligned] = self.polled_shares;
        let ratio = measured.map(|load| load / computed);
        let least = json!({ "ratio": ratio, "measured": measured, "computed": computed });
        vec![
            Evidence::new("figure-1b", "several", json!({ "several": several, "clusters": clusters })),
            Evidence::new("first-sample", "factor", first),
            Evidence::new("equation-1", "ratio", json!({ "ratio": ratios })),
            Evidence::new("equation-3", "ratio", least),
            Evidence::new("half-polled", "unaligned", json!({ "unaligned": unaligned, "aligned": aligned })),
            Evidence::new("factor-40", "factor", json!({ "factor": self.factor })),
            Evidence::new("extra-load", "load", json!({ "load": self.extra_load })),
        ]
    }
}

/// A distance of calls that meets due times anywhere in its last one.
const UNALIGNED_NS: i64 = 47_000;
/// The paper's number of samples in figures 1 and 6.
const SHORT: usize = 100;
/// Number of pairs of blocks for figure 6, and number of series of samples in each block.
const PAIRS: usize = 10;
const SERIES_PER_BLOCK: usize = 10;

/// Deviations of the first `samples` starts from the line fitted to them.
fn line_deviations(series: &[Activation], samples: usize) -> Result<Deviations, Error> {
    Deviations::from_series(&series[..samples.min(series.len())]).ok_or_else(too_few_activations_error)
}

/// Deviations from their fitted lines of each successive 100 samples in a block.
fn deviations_by_series(block: &Block) -> impl Iterator<Item = Deviations> {
    block.activations.chunks_exact(SHORT).filter_map(Deviations::from_series)
}

/// Median peak-to-peak jitter of the series in a block, since one interrupt spoils one series.
fn median_jitter_ns(block: &Block) -> Option<f64> {
    MedianInterval::from_values(deviations_by_series(block).map(|d| d.residual.peak_to_peak()))
        .map(|m| m.median)
}

/// The series of samples with the median jitter: neither the luckiest nor one that an interrupt spoiled.
fn median_series(blocks: &[Block]) -> Result<Deviations, Error> {
    let mut all: Vec<Deviations> = blocks.iter().flat_map(deviations_by_series).collect();
    all.sort_by(|a, b| a.residual.peak_to_peak().total_cmp(&b.residual.peak_to_peak()));
    let middle = all.len() / 2;
    all.into_iter().nth(middle).ok_or_else(too_few_activations_error)
}

/// Size of a block's first deviation over the median size of the others in its first series.
/// The block's thread has just begun then.
fn first_sample_factor(block: &Block) -> Option<f64> {
    let series = Deviations::from_series(block.activations.get(..SHORT)?)?;
    let (first, others) = series.each_ns.split_first()?;
    let others = MedianInterval::from_values(others.iter().map(|ns| ns.abs()))?;
    Some(first.abs() / others.median.max(1.0))
}

pub const RUN_FILES: [&str; 3] = ["series", "uncompensated", "compensated"];

/// Measures figures 1, 2 and 4 to 6; writes the run files.
pub fn measure(at: &mut Reproducer<'_>) -> Result<NistJitter, Error> {
    let (duration_ns, interrupted) = (at.duration_ns, at.interrupted);
    let files = RUN_FILES.map(|name| at.run_file(name));
    let mut progress = at.step_announcer();
    let task =
        TaskSpec { name: "nist".into(), period_ns: PERIOD_NS, read: ReadClock::Tsc, ..TaskSpec::default() };
    let block_ns = PERIOD_NS * (SHORT * SERIES_PER_BLOCK) as i64;
    let mut experiment = Experiment::new(FinishedParts::without_file(), &mut progress, interrupted);
    let mut bench = TaskMeasurer::prepare(task, DmaLatency::default(), &mut experiment)?;
    let plain = bench.spec.clone();
    let clock_floor = Statistics::from_values(&bench.measure_clock_floor()?);
    let floor_ns = clock_floor.at(P50).exactly().unwrap_or(1).max(1);

    bench.begin_step(TrialStep::NistSeries);
    let short = bench.measure_whole_block(&plain, PERIOD_NS * SHORT as i64)?;
    let long = [bench.measure_whole_block(&plain, duration_ns.max(3 * PERIOD_NS))?];
    let (first, second) =
        (line_deviations(&short.activations, SHORT)?, line_deviations(&long[0].activations, usize::MAX)?);

    bench.begin_step(TrialStep::NistCalls);
    let early_calls = early_calls::measure_early_calls(&plain, PRINTED_EVERY_NS)?;
    let unaligned = early_calls::measure_early_calls(&plain, UNALIGNED_NS)?;
    let polled_shares = [&early_calls, &unaligned].map(|calls| calls.as_ref().map(EarlyCalls::polled_share));

    bench.begin_step(TrialStep::NistLoad);
    let service = measure_service_time(&mut bench, &long)?;
    let (load_curve, missing) = measure_load_curve(&mut bench, &service, &long)?;

    bench.begin_step(TrialStep::NistTurns);
    let recommendation = recommend(
        &latency_distribution(&Block::views(PERIOD_NS, &long)),
        PERIOD_NS,
        DEFAULT_WISH,
        service.often_ns,
    )
    .ok_or_else(too_few_activations_error)?;
    let margin_ns = recommendation.margin_ns;
    let compensated = bench.spec_with_compensation(Compensation::Margin { margin_ns });
    let blocks = bench.measure_all_in_turns(&[plain.clone(), compensated.clone()], PAIRS, block_ns)?;
    let proof = Proof::new(
        &Block::views(PERIOD_NS, &blocks[0]),
        &Block::views(PERIOD_NS, &blocks[1]),
        lateness_threshold_ns(&clock_floor),
    );
    let first_samples: Vec<&Block> = std::iter::once(&short).chain(&long).chain(&blocks[0]).collect();
    let jitters = blocks[0].iter().zip(&blocks[1]);
    let jitters: Vec<_> =
        jitters.filter_map(|(a, b)| Some((median_jitter_ns(a)?, median_jitter_ns(b)?))).collect();
    let median = |value: fn(&(f64, f64)) -> f64| MedianInterval::from_values(jitters.iter().map(value));
    let result = NistJitter {
        clock_fit: long[0].result.clock_fit,
        floor_ns,
        short_clusters: latency_clusters(&first.distribution()),
        long_clusters: latency_clusters(&second.distribution()),
        series: first_samples.len(),
        first_sample: MedianInterval::from_values(first_samples.into_iter().filter_map(first_sample_factor)),
        short: first,
        long: second,
        early_calls,
        polled_shares,
        service,
        load_curve,
        uncompensated: median_series(&blocks[0])?,
        compensated: median_series(&blocks[1])?,
        margin_ns,
        uncompensated_jitter_ns: median(|jitters| jitters.0),
        compensated_jitter_ns: median(|jitters| jitters.1),
        factor: median(|(plain, compensated)| plain / compensated.max(1.0)),
        extra_load: proof.extra_load,
    };
    let saved = [(&plain, &long[..]), (&plain, &blocks[0]), (&compensated, &blocks[1])];
    for ((spec, blocks), file) in saved.into_iter().zip(&files) {
        bench.save_blocks(spec, blocks, file)?;
    }
    drop(progress);
    missing.iter().for_each(|part| (at.announce)(&note_sentence(part)));
    Ok(result)
}

/// Error for too few activations to fit a line or to recommend from.
fn too_few_activations_error() -> Error {
    Error::not_measured("too few activations were measured").remedy("raise --duration")
}
