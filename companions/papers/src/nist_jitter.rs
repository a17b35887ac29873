//! F. M. Proctor and W. P. Shackleford, "Real-time Operating System Timing Jitter and its Impact on Motor
//! Control" (NIST, 2001), sections 2 and 3: the jitter of a task of 500 us, the cost of compensating it, and
//! the gain (figures 1, 2, 4, 5 and 6).

use serde::{Deserialize, Serialize};

use crate::early_calls::EarlyCalls;
use crate::paper::Paper;
use crate::statement::Evidence;
use crate::{Workplace, early_calls};
use jitterlab_analysis::Statistics;
use jitterlab_analysis::clusters::{LatencyCluster, latency_clusters};
use jitterlab_analysis::compensation::nist::optimum;
use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_analysis::expectation::{LoadPoint, ServiceTime, latency_law};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::recommendation::{DEFAULT_WISH, recommend};
use jitterlab_analysis::summary::P50;
use jitterlab_host::experiment::compensate::{late_ns, load_curve, service};
use jitterlab_host::{Block, DmaLatency, Experiment, TaskBench};
use jitterlab_model::{Activation, ClockFit, Compensation, Error, ReadClock, TaskSpec};
use jitterlab_report::compensation::note;
use jitterlab_trace::Parts;

/// The paper's period.
pub const PERIOD_NS: i64 = 500_000;

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
    pub least_load: f64,
    /// The distance of wake-ups with that load.
    pub least_load_every_ns: i64,
}

/// Figures 1, 2, 5 and 6 repeated on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistJitter {
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

impl PrintedJitter {
    pub fn read() -> Self {
        Paper::Nist.part("printed")
    }
}

impl NistJitter {
    /// Evidence on the paper's statements about its figures 1 to 6.
    pub fn evidence(&self) -> Vec<Evidence> {
        let least = self.load_curve.iter().min_by(|a, b| a.measured.total_cmp(&b.measured));
        let measured = least.map(|point| point.measured);
        let (_, computed) = optimum(self.service.often_ns, self.period_ns as f64);
        // Equation 1 asks for more than the processor where calls come too often: no measurement can agree with that.
        let possible = self.load_curve.iter().filter(|point| point.equation_1 <= 1.0);
        let ratios: Vec<_> = possible.map(|point| Some(point.measured / point.equation_1)).collect();
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
            Evidence::decided_by("half-polled", "unaligned", self.polled_shares[1])
                .and("aligned", self.polled_shares[0]),
            Evidence::decided_by("factor-40", "factor", self.factor),
            Evidence::decided_by("extra-load", "load", self.extra_load),
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

/// The line through the first samples.
fn deviations(series: &[Activation], samples: usize) -> Result<Deviations, Error> {
    Deviations::from_series(&series[..samples.min(series.len())]).ok_or_else(too_few)
}

/// Jitter of every series of samples in a block: the median, since one interrupt spoils one series.
fn jitter_ns(block: &Block) -> Option<f64> {
    let series = block.activations.chunks_exact(SHORT).filter_map(Deviations::from_series);
    MedianInterval::from_values(series.map(|d| d.residual.peak_to_peak())).map(|m| m.median)
}

/// Of all series of samples the one with the median jitter: neither the luckiest nor one that an interrupt spoiled.
fn typical(blocks: &[Block]) -> Result<Deviations, Error> {
    let series =
        blocks.iter().flat_map(|b| b.activations.chunks_exact(SHORT)).filter_map(Deviations::from_series);
    let mut series: Vec<Deviations> = series.collect();
    series.sort_by(|a, b| a.residual.peak_to_peak().total_cmp(&b.residual.peak_to_peak()));
    let middle = series.len() / 2;
    series.into_iter().nth(middle).ok_or_else(too_few)
}

/// Size of the first deviation of a block, whose thread has just begun, over the median size of the others in its first series.
fn first_sample(block: &Block) -> Option<f64> {
    let series = Deviations::from_series(block.activations.get(..SHORT)?)?;
    let (first, others) = series.each_ns.split_first()?;
    let others = MedianInterval::from_values(others.iter().map(|ns| ns.abs()))?;
    Some(first.abs() / others.median.max(1.0))
}

/// Run files of figures 2 and 6.
pub const RUN_FILES: [&str; 3] = ["series", "uncompensated", "compensated"];

/// Measures, and writes the run files.
pub fn measure(at: &mut Workplace<'_>) -> Result<NistJitter, Error> {
    let printed = PrintedJitter::read();
    let (duration_ns, interrupted) = (at.duration_ns, at.interrupted);
    let files = RUN_FILES.map(|name| at.run_file(name));
    let mut progress = at.progress();
    let task =
        TaskSpec { name: "nist".into(), period_ns: PERIOD_NS, read: ReadClock::Tsc, ..TaskSpec::default() };
    let block_ns = PERIOD_NS * (SHORT * SERIES_PER_BLOCK) as i64;
    let mut experiment = Experiment::new(Parts::nowhere(), &mut progress, interrupted);
    let mut bench = TaskBench::prepare(task, DmaLatency::default(), &mut experiment)?;
    let plain = bench.spec.clone();
    let clock_floor = Statistics::from_values(&bench.clock_floor()?);
    let floor_ns = clock_floor.at(P50).exactly().unwrap_or(1).max(1);

    bench.begin(TrialStep::NistSeries);
    let short = bench.block(&plain, PERIOD_NS * SHORT as i64)?;
    let long = [bench.block(&plain, duration_ns.max(3 * PERIOD_NS))?];
    let (first, second) =
        (deviations(&short.activations, SHORT)?, deviations(&long[0].activations, usize::MAX)?);

    bench.begin(TrialStep::NistCalls);
    let early_calls = early_calls::measure(&plain, printed.least_load_every_ns)?;
    let unaligned = early_calls::measure(&plain, UNALIGNED_NS)?;
    let polled_shares = [&early_calls, &unaligned].map(|calls| calls.as_ref().map(EarlyCalls::polled_share));

    bench.begin(TrialStep::NistLoad);
    let service = service(&mut bench, &long)?;
    let (load_curve, missing) = load_curve(&mut bench, &service, &long)?;

    bench.begin(TrialStep::NistTurns);
    let recommendation =
        recommend(&latency_law(&Block::views(PERIOD_NS, &long)), PERIOD_NS, DEFAULT_WISH, service.often_ns)
            .ok_or_else(too_few)?;
    let margin_ns = recommendation.margin_ns;
    let compensated = bench.compensated(Compensation::Margin { margin_ns });
    let blocks = bench.whole_turns(&[plain.clone(), compensated.clone()], PAIRS, block_ns)?;
    let proof = Proof::new(
        &Block::views(PERIOD_NS, &blocks[0]),
        &Block::views(PERIOD_NS, &blocks[1]),
        late_ns(&clock_floor),
    );
    let series: Vec<&Block> = std::iter::once(&short).chain(&long).chain(&blocks[0]).collect();
    let (shown_plain, shown_compensated) = (typical(&blocks[0])?, typical(&blocks[1])?);
    let jitters: Vec<(f64, f64)> =
        blocks[0].iter().zip(&blocks[1]).filter_map(|(a, b)| Some((jitter_ns(a)?, jitter_ns(b)?))).collect();

    let result = NistJitter {
        printed,
        period_ns: PERIOD_NS,
        clock_fit: long[0].result.clock_fit,
        floor_ns,
        short_clusters: latency_clusters(&first.distribution()),
        long_clusters: latency_clusters(&second.distribution()),
        series: series.len(),
        first_sample: MedianInterval::from_values(series.iter().filter_map(|block| first_sample(block))),
        short: first,
        long: second,
        early_calls,
        polled_shares,
        service,
        load_curve,
        uncompensated: shown_plain,
        compensated: shown_compensated,
        margin_ns,
        uncompensated_jitter_ns: MedianInterval::from_values(jitters.iter().map(|j| j.0)),
        compensated_jitter_ns: MedianInterval::from_values(jitters.iter().map(|j| j.1)),
        factor: MedianInterval::from_values(
            jitters.iter().map(|(plain, compensated)| plain / compensated.max(1.0)),
        ),
        extra_load: proof.extra_load,
    };
    let saved = [(&plain, &long[..]), (&plain, &blocks[0]), (&compensated, &blocks[1])];
    for ((spec, blocks), file) in saved.into_iter().zip(&files) {
        bench.save(spec, blocks, file)?;
    }
    drop(progress);
    missing.iter().for_each(|part| (at.tell)(&note(part)));
    Ok(result)
}

/// Error for too few points: no line fits them, and nothing can be recommended from them.
fn too_few() -> Error {
    Error::not_measured("too few activations were measured").remedy("raise --duration")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_numbers_are_read() {
        let printed = PrintedJitter::read();
        assert_eq!((printed.jitter_ns, printed.least_load_every_ns), (3_600.0, 50_000));
    }
}
