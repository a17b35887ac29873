//! NIST, sections 2 and 3: the jitter of a task of 500 us, the cost of compensating it, and the gain (figures
//! 1, 2, 4, 5 and 6).

use crate::claims::nist::{NistJitter, PERIOD_NS, PrintedJitter};
use crate::early_calls;
use crate::words::Step;
use jitterlab_analysis::Statistics;
use jitterlab_analysis::clusters::latency_clusters;
use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_analysis::expectation::latency_law;
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::recommendation::{DEFAULT_WISH, recommend};
use jitterlab_analysis::summary::P50;
use jitterlab_host::experiment::compensate::{late_ns, load_curve, service};
use jitterlab_host::{Block, DmaLatency, Experiment, Progress, TaskBench};
use jitterlab_model::{Activation, Compensation, Error, ReadClock, TaskSpec};
use jitterlab_trace::Parts;

use crate::Workplace;

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

/// Measures, and writes the run files.
pub fn reproduce(at: &mut Workplace<'_>) -> Result<NistJitter, Error> {
    at.make()?;
    let printed = PrintedJitter::read();
    let duration_ns = at.duration_ns;
    let tell = &mut *at.tell;
    let mut progress = |now: &Progress| {
        if now.begins {
            tell(&Step::Trial(now.clone()));
        }
    };
    let task =
        TaskSpec { name: "nist".into(), period_ns: PERIOD_NS, read: ReadClock::Tsc, ..TaskSpec::default() };
    let block_ns = PERIOD_NS * (SHORT * SERIES_PER_BLOCK) as i64;
    let mut experiment = Experiment::new(Parts::nowhere(), &mut progress, at.interrupted);
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
    let files = [
        (&plain, &long[..], "series"),
        (&plain, &blocks[0], "uncompensated"),
        (&compensated, &blocks[1], "compensated"),
    ];
    for (spec, blocks, name) in files {
        let path = at.directory.join(format!("{name}.parquet"));
        bench.save(spec, blocks, &path).map_err(|error| {
            Error::refused(format!("cannot write {}", path.display()))
                .because(error)
                .remedy("choose another directory with --output")
        })?;
    }
    for note in missing {
        (at.tell)(&Step::Lacking(note));
    }
    Ok(result)
}

/// Error for too few points: no line fits them, and nothing can be recommended from them.
fn too_few() -> Error {
    Error::not_measured("too few activations were measured").remedy("raise --duration")
}
