//! NIST, sections 2 and 3: the jitter of a task of 500 us, what compensating it costs, and what it brings (figures
//! 1, 2, 5 and 6).

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use jitterlab_analysis::clusters::latency_clusters;
use jitterlab_analysis::deviations::Deviations;
use jitterlab_analysis::expectation::latency_law;
use jitterlab_analysis::papers::nist::{NistJitter, PERIOD_NS, PRINTED};
use jitterlab_analysis::proof::{MedianInterval, Proof};
use jitterlab_analysis::recommendation::{DEFAULT_WISH, recommend};
use jitterlab_bench::host::{self, DmaLatency};
use jitterlab_model::{Activation, Compensation, ReadClock, TaskSpec};

use jitterlab_papers::Workplace;

use crate::exit::Failure;
use crate::output;
use crate::session::{Session, views};

/// The paper's number of samples in figures 1 and 6.
const SHORT: usize = 100;
/// Pairs of blocks for figure 6, and how many series of samples each block has.
const PAIRS: usize = 10;
const SERIES_PER_BLOCK: usize = 10;

/// The line through the first samples.
fn deviations(series: &[Activation], samples: usize) -> Result<Deviations, Failure> {
    Deviations::of(&series[..samples.min(series.len())])
        .ok_or_else(|| anyhow!("too few activations were measured: raise --duration").into())
}

/// Jitter of every series of samples in a block: the median, since one interrupt spoils one series.
fn jitter_ns(block: &host::Block) -> Option<f64> {
    let series = block.activations.chunks_exact(SHORT).filter_map(Deviations::of);
    MedianInterval::of(series.map(|d| d.residual.peak_to_peak())).map(|m| m.median)
}

/// Of all series of samples the one with the median jitter: neither the luckiest nor one that an interrupt spoiled.
fn typical(blocks: &[host::Block]) -> Result<Deviations, Failure> {
    let series = blocks.iter().flat_map(|b| b.activations.chunks_exact(SHORT)).filter_map(Deviations::of);
    let mut series: Vec<Deviations> = series.collect();
    series.sort_by(|a, b| a.residual.peak_to_peak().total_cmp(&b.residual.peak_to_peak()));
    let middle = series.len() / 2;
    series.into_iter().nth(middle).ok_or_else(|| anyhow!("too few activations were measured").into())
}

/// Measures, and writes the run files.
pub fn reproduce(at: &Workplace<'_>) -> Result<NistJitter, Failure> {
    at.make().map_err(super::sort)?;
    let Workplace { directory, duration_ns, .. } = *at;
    let task =
        TaskSpec { name: "nist".into(), period_ns: PERIOD_NS, read: ReadClock::Tsc, ..TaskSpec::default() };
    let block_ns = PERIOD_NS * (SHORT * SERIES_PER_BLOCK) as i64;
    let planned_ns = duration_ns + Session::curve_ns(PERIOD_NS) + 2 * PAIRS as i64 * block_ns;
    let mut session = Session::prepare(task, DmaLatency::default(), planned_ns, false)?;
    let plain = session.spec.clone();

    session.progress.step("figures 1 and 2: series of the time stamp counter");
    let short = session.measure(&plain, PERIOD_NS * SHORT as i64)?;
    let long = [session.measure(&plain, duration_ns.max(3 * PERIOD_NS))?];
    let (first, second) =
        (deviations(&short.activations, SHORT)?, deviations(&long[0].activations, usize::MAX)?);

    session.progress.step("figure 5: the load of repeated early wake-ups");
    let service = session.service(&long)?;
    let load_curve = session.load_curve(&service, &long)?;

    session.progress.step("figure 6: uncompensated and compensated in turns");
    let recommendation =
        recommend(&latency_law(&views(PERIOD_NS, &long)), PERIOD_NS, DEFAULT_WISH, service.often_ns)
            .ok_or_else(|| anyhow!("no latency was measured: raise --duration"))?;
    let margin_ns = recommendation.margin_ns;
    let compensated = session.compensated(Compensation::Margin { margin_ns });
    let blocks = session.turns(&[plain.clone(), compensated.clone()], PAIRS, block_ns)?;
    let proof = Proof::of(&views(PERIOD_NS, &blocks[0]), &views(PERIOD_NS, &blocks[1]), 3 * session.floor_ns);
    let (shown_plain, shown_compensated) = (typical(&blocks[0])?, typical(&blocks[1])?);
    let jitters: Vec<(f64, f64)> =
        blocks[0].iter().zip(&blocks[1]).filter_map(|(a, b)| Some((jitter_ns(a)?, jitter_ns(b)?))).collect();

    let result = NistJitter {
        printed: PRINTED,
        period_ns: PERIOD_NS,
        clock_fit: long[0].result.clock_fit,
        floor_ns: session.floor_ns,
        short_clusters: latency_clusters(&first.distribution()),
        long_clusters: latency_clusters(&second.distribution()),
        short: first,
        long: second,
        service,
        load_curve,
        uncompensated: shown_plain,
        compensated: shown_compensated,
        margin_ns,
        uncompensated_jitter_ns: MedianInterval::of(jitters.iter().map(|j| j.0)),
        compensated_jitter_ns: MedianInterval::of(jitters.iter().map(|j| j.1)),
        factor: MedianInterval::of(jitters.iter().map(|(plain, compensated)| plain / compensated.max(1.0))),
        extra_load: proof.extra_load,
    };
    save(&session, directory, [(&plain, &long[..], "series")])?;
    save(
        &session,
        directory,
        [(&plain, &blocks[0][..], "uncompensated"), (&compensated, &blocks[1][..], "compensated")],
    )?;
    for note in &session.notes {
        output::note(&jitterlab_report::compensation::note(note));
    }
    Ok(result)
}

/// Writes run files.
fn save<'a>(
    session: &Session,
    directory: &Path,
    runs: impl IntoIterator<Item = (&'a TaskSpec, &'a [host::Block], &'a str)>,
) -> Result<Vec<PathBuf>> {
    let save = |(spec, blocks, name): (&TaskSpec, &[host::Block], &str)| {
        let path = directory.join(format!("{name}.parquet"));
        session.save(spec, blocks, &path).with_context(|| {
            format!("cannot write {}: choose another directory with --output", path.display())
        })
    };
    runs.into_iter().map(save).collect()
}
