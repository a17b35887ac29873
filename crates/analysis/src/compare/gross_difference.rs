//! Gross differences of two runs: every tenth of one is worse than every tenth of the other, by a multiple of
//! the range of either.
//!
//! Ranks of whole tenths are valid for latencies that wander within a run, whatever their distribution, and
//! only one figure is tested. A machine that is in another state for the whole of one run looks the same
//! (`docs/evidence/calibration.md`).

use serde::Serialize;

use super::{Figure, Run, Statistic};
use crate::correlation::autocorrelation;
use crate::scan::Part;

/// Equal blocks of a run.
const BLOCKS: usize = 10;
/// Fewest latencies in a block for a 99 % quantile.
const FEWEST_IN_BLOCK: u64 = 100;
/// Missed due times in either run from which on these are compared first.
const MISSED: u64 = 20;
/// Correlation of neighbouring blocks above which they wander, multiples of the range needed then, and the
/// least of these.
const WANDERS: (f64, f64, f64) = (0.3, 3.0, 0.5);
/// Factor between the figures of whole runs, and the multiple of the range that must separate the blocks.
type Rule = [(f64, f64); 4];
const P99_RULE: Rule = [(1.5, 2.0), (2.0, 1.0), (3.0, 0.5), (6.0, 0.0)];
const MISSED_RULE: Rule = [(1.5, 2.0), (2.0, 1.0), (4.0, 0.5), (20.0, 0.25)];
/// Largest factor searched for.
const MOST: f64 = 1e6;

/// A gross difference of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Gross")]
pub struct GrossDifference {
    /// The figure that decides.
    pub statistic: Statistic,
    /// True if it is lower here than in the first run.
    pub is_lower: bool,
    /// Largest factor by which the higher run's figures could all be lower and the rule would still decide;
    /// at most a million.
    pub factor: f64,
}

impl GrossDifference {
    /// Compares a run with the first; `None` if the rule does not decide.
    pub(super) fn new(first: &Run<'_>, here: &Run<'_>) -> Option<Self> {
        let both = [first, here];
        let missed = both.iter().any(|run| run.sample.whole.missed >= MISSED).then(|| {
            let of = |rate: fn(u64, u64) -> f64| both.map(|run| FigureOfBlocks::from_missed(run, rate));
            let smoothed = |missed: u64, due: u64| (missed as f64 + 0.5) / (due as f64 + 1.0);
            let by_logarithm = gross_difference(Statistic::MissedShare, of(smoothed), f64::ln, &MISSED_RULE);
            let by_root = || {
                let sides = of(|missed, due| missed as f64 / due.max(1) as f64);
                gross_difference(Statistic::MissedShare, sides, f64::sqrt, &MISSED_RULE)
            };
            by_logarithm.or_else(by_root)
        });
        missed.flatten().or_else(|| {
            gross_difference(Statistic::P99, both.map(FigureOfBlocks::from_p99), f64::ln, &P99_RULE)
        })
    }
}

/// The figure of a run and of its blocks.
struct FigureOfBlocks {
    whole: f64,
    blocks: Vec<f64>,
    /// Resolution of the run's clock or histogram: the lower figure may be higher by this much.
    resolution: f64,
}

impl FigureOfBlocks {
    fn from_missed(run: &Run<'_>, rate: fn(u64, u64) -> f64) -> Option<Self> {
        run.sample.value(Figure::MissedShare)?;
        let of = |part: &Part| rate(part.missed, part.count + part.missed);
        let whole = &run.sample.whole;
        let whole = (whole.missed as f64 + 0.5) / (whole.count + whole.missed) as f64;
        Some(FigureOfBlocks {
            whole,
            blocks: run.sample.equal_blocks(BLOCKS)?.iter().map(of).collect(),
            resolution: 0.0,
        })
    }

    fn from_p99(run: &Run<'_>) -> Option<Self> {
        let blocks = run.sample.equal_blocks(BLOCKS)?;
        let of = |part: &Part| part.quantile_ns(0.99).filter(|_| part.count >= FEWEST_IN_BLOCK);
        let blocks = blocks.iter().map(of).collect::<Option<Vec<f64>>>()?;
        let whole = run.sample.value(Figure::Quantile(0.99))?;
        let is_positive = whole > 0.0 && blocks.iter().all(|ns| *ns > 0.0);
        is_positive.then(|| FigureOfBlocks { whole, blocks, resolution: run.sample.resolution_ns() })
    }
}

/// Returns a gross difference with the largest factor at which the rule still finds it; `None` if it finds none.
fn gross_difference(
    statistic: Statistic,
    sides: [Option<FigureOfBlocks>; 2],
    scale: fn(f64) -> f64,
    rule: &Rule,
) -> Option<GrossDifference> {
    let [Some(first), Some(here)] = sides else { return None };
    let is_lower = here.whole < first.whole;
    let (low, high) = if is_lower { (&here, &first) } else { (&first, &here) };
    let decides = |factor: f64| still_differ(low, high, factor, scale, rule);
    if !decides(1.0) {
        return None;
    }
    let (mut least, mut most) = (1.0, MOST);
    while most / least > 1.001 {
        let middle = f64::sqrt(least * most);
        if decides(middle) { least = middle } else { most = middle }
    }
    Some(GrossDifference { statistic, is_lower, factor: least })
}

/// True if the rule still finds the higher side higher after dividing it by `factor`.
fn still_differ(
    low: &FigureOfBlocks,
    high: &FigureOfBlocks,
    factor: f64,
    scale: fn(f64) -> f64,
    rule: &Rule,
) -> bool {
    let lower: Vec<f64> = low.blocks.iter().map(|value| scale(value + low.resolution)).collect();
    let higher: Vec<f64> = high.blocks.iter().map(|value| scale(value / factor)).collect();
    let extremes = |of: &[f64]| {
        of.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], z| [low.min(*z), high.max(*z)])
    };
    let ([low_from, low_to], [high_from, high_to]) = (extremes(&lower), extremes(&higher));
    let (apart, range) = (high_from - low_to, (high_to - high_from).max(low_to - low_from));
    let (correlation, times, least) = WANDERS;
    let wanders = [&lower, &higher]
        .into_iter()
        .any(|z| autocorrelation(z, 1).get(1).is_some_and(|neighbours| *neighbours > correlation));
    let ratio = high.whole / factor / (low.whole + low.resolution);
    apart > 0.0
        && rule.iter().any(|&(by, ranges)| {
            let ranges = if wanders { f64::max(times * ranges, least) } else { ranges };
            ratio >= by && apart >= ranges * range
        })
}
