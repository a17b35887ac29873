//! Is B better than A, by how much, and is the difference real?
//!
//! Figures are given confidence intervals by a block bootstrap (Kunsch, Ann. Stat. 1989, with blocks that do not overlap):
//! whole parts of a run are drawn again, so that neighbours that are alike stay together. Intervals of one comparison hold
//! all at once with 95 % (Bonferroni).

mod bootstrap;
mod comparable;
mod runs;
mod twente;

pub use comparable::{Mismatch, Weight, comparable};
pub use runs::{Differing, RunWarnings, RunsCompared, TaskCompared};
pub use twente::{BIN_NS, TwenteRun, twente};

use serde::{Deserialize, Serialize};

use crate::scan::{Part, TaskScan};
use bootstrap::Sample;

/// Chance that any interval of one comparison of two runs misses its figure.
const LEVEL: f64 = 0.05;
/// Parts a run needs for intervals.
const FEWEST_PARTS: usize = 16;

/// A figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Mean latency.
    Mean,
    /// Standard deviation of the latency.
    StandardDeviation,
    /// Median latency.
    P50,
    /// 90 % quantile.
    P90,
    /// 99 % quantile.
    P99,
    /// 99.9 % quantile.
    #[serde(rename = "p99.9")]
    P999,
    /// 99.99 % quantile.
    #[serde(rename = "p99.99")]
    P9999,
    /// Share of the due times missed (not a time).
    MissedShare,
}

impl Statistic {
    /// Every figure, in the order of tables.
    pub const ALL: [Statistic; 8] = [
        Statistic::Mean,
        Statistic::StandardDeviation,
        Statistic::P50,
        Statistic::P90,
        Statistic::P99,
        Statistic::P999,
        Statistic::P9999,
        Statistic::MissedShare,
    ];

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::StandardDeviation => "sd",
            Statistic::P50 => "p50",
            Statistic::P90 => "p90",
            Statistic::P99 => "p99",
            Statistic::P999 => "p99.9",
            Statistic::P9999 => "p99.99",
            Statistic::MissedShare => "missed",
        }
    }

    /// The quantile it is, with the values it needs: ten above it, for an interval means little with fewer.
    fn quantile(self) -> Option<(f64, u64)> {
        match self {
            Statistic::P50 => Some((0.5, 20)),
            Statistic::P90 => Some((0.9, 100)),
            Statistic::P99 => Some((0.99, 1_000)),
            Statistic::P999 => Some((0.999, 10_000)),
            Statistic::P9999 => Some((0.9999, 100_000)),
            Statistic::Mean | Statistic::StandardDeviation | Statistic::MissedShare => None,
        }
    }
}

/// A figure of one run with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Which figure.
    pub statistic: Statistic,
    /// Its value, in ns (a share for [`Statistic::MissedShare`]).
    pub value: f64,
    /// The interval that holds the true figure of runs like this one; `None` for too short a run.
    pub interval: Option<[f64; 2]>,
}

/// How a figure of one run differs from that of the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Which figure.
    pub statistic: Statistic,
    /// Its value here minus its value in the first run: below 0 is better here.
    pub difference: f64,
    /// The interval of the difference; `None` if either run is too short.
    pub interval: Option<[f64; 2]>,
    /// Its value here over its value in the first run.
    pub ratio: Option<f64>,
    /// Whether the interval excludes 0.
    pub real: bool,
}

/// How far one quantile is shifted against the first run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantileShift {
    /// The quantile, 0 to 1.
    pub p: f64,
    /// Its value in the first run.
    pub first_ns: f64,
    /// Its value here minus that.
    pub shift_ns: f64,
    /// The interval of the shift.
    pub interval: Option<[f64; 2]>,
}

/// One run in a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// What to call it.
    pub name: String,
    /// Activations that ran.
    pub count: u64,
    /// Largest latency. No interval: it says how long the run was as much as how good.
    pub max_ns: Option<i64>,
    /// Largest minus smallest latency: release jitter.
    pub jitter_ns: Option<i64>,
    /// Its figures.
    pub estimates: Vec<Estimate>,
}

/// A run against the first one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgainstFirst {
    /// What the run is called.
    pub name: String,
    /// Its figures against the first run's.
    pub differences: Vec<Difference>,
    /// Probability that a latency here is below one of the first run, ties split (0.5 if alike; 1 - Vargha & Delaney's A).
    pub p_lower: f64,
    /// Difference of the means in standard deviations (Hedges' g).
    pub hedges_g: Option<f64>,
    /// The shift of quantiles.
    pub shifts: Vec<QuantileShift>,
}

/// Runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The runs, the one others are compared with first.
    pub runs: Vec<ComparedRun>,
    /// All but the first against it.
    pub against_first: Vec<AgainstFirst>,
}

/// Quantiles of the shift: deciles, and the tail.
const SHIFTS: [(f64, u64); 12] = [
    (0.1, 100),
    (0.2, 50),
    (0.3, 30),
    (0.4, 20),
    (0.5, 20),
    (0.6, 20),
    (0.7, 30),
    (0.8, 50),
    (0.9, 100),
    (0.99, 1_000),
    (0.999, 10_000),
    (0.9999, 100_000),
];

/// Compares runs by name; the first is what the others are compared with.
pub fn compare(runs: &[(String, &TaskScan)]) -> Comparison {
    let samples: Vec<Sample> = runs
        .iter()
        .enumerate()
        .map(|(number, (_, scan))| {
            Sample::draw(&scan.full_parts(), &all_parts(scan), unknown(scan), number as u64)
        })
        .collect();
    let compared = runs.iter().zip(&samples).map(|((name, scan), sample)| ComparedRun {
        name: name.clone(),
        count: scan.timing.executed(),
        max_ns: scan.timing.latency.max_ns(),
        jitter_ns: scan.timing.latency.peak_to_peak_ns(),
        estimates: Statistic::ALL.into_iter().filter_map(|s| sample.estimate(s)).collect(),
    });
    let against_first =
        runs.iter().zip(&samples).skip(1).map(|((name, _), sample)| against(name, &samples[0], sample));
    Comparison { runs: compared.collect(), against_first: against_first.collect() }
}

/// What the source of a run does not tell.
fn unknown(scan: &TaskScan) -> Vec<Statistic> {
    let latency = &scan.timing.latency;
    let lacking = [
        (Statistic::Mean, latency.mean_ns().is_none()),
        (Statistic::StandardDeviation, latency.standard_deviation_ns().is_none()),
        (Statistic::MissedShare, scan.timing.missed().exactly().is_none()),
    ];
    lacking.into_iter().filter(|(_, lacks)| *lacks).map(|(statistic, _)| statistic).collect()
}

fn all_parts(scan: &TaskScan) -> Part {
    let mut all = Part::default();
    scan.parts().1.iter().for_each(|(_, part)| all.merge(part));
    all
}

fn against(name: &str, first: &Sample, here: &Sample) -> AgainstFirst {
    let differences = Statistic::ALL.into_iter().filter_map(|statistic| {
        let (a, b) = (first.value(statistic)?, here.value(statistic)?);
        let interval = bootstrap::difference(first.drawn(statistic), here.drawn(statistic), LEVEL / 8.0);
        Some(Difference {
            statistic,
            difference: b - a,
            interval,
            ratio: (a != 0.0).then(|| b / a),
            real: interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0),
        })
    });
    let shifts = SHIFTS.iter().enumerate().filter_map(|(i, (p, needs))| {
        let supported = first.count().min(here.count()) >= *needs;
        let (a, b) = (first.whole.quantile_ns(*p)?, here.whole.quantile_ns(*p)?);
        supported.then(|| QuantileShift {
            p: *p,
            first_ns: a,
            shift_ns: b - a,
            interval: bootstrap::difference(first.shifts(i), here.shifts(i), LEVEL / SHIFTS.len() as f64),
        })
    });
    AgainstFirst {
        name: name.into(),
        differences: differences.collect(),
        p_lower: p_lower(&first.whole, &here.whole),
        hedges_g: hedges_g(&first.whole, &here.whole),
        shifts: shifts.collect(),
    }
}

/// P(a latency here < one of the first) + half of P(equal), from the bins.
fn p_lower(first: &Part, here: &Part) -> f64 {
    let mut above = first.count as f64;
    let mut sum = 0.0;
    let mut bins = first.bins.iter().peekable();
    for bin in &here.bins {
        while let Some(f) = bins.peek().filter(|f| f.low_ns < bin.low_ns) {
            above -= f.count as f64;
            bins.next();
        }
        let equal = bins.peek().filter(|f| f.low_ns == bin.low_ns).map_or(0.0, |f| f.count as f64);
        sum += bin.count as f64 * (above - equal / 2.0);
    }
    let pairs = first.count as f64 * here.count as f64;
    if pairs > 0.0 { sum / pairs } else { 0.5 }
}

fn hedges_g(first: &Part, here: &Part) -> Option<f64> {
    let (n, m) = (first.count as f64, here.count as f64);
    let pooled = ((n * first.variance()? + m * here.variance()?) / (n + m - 2.0)).sqrt();
    let small = 1.0 - 3.0 / (4.0 * (n + m) - 9.0);
    (pooled > 0.0).then(|| (here.mean_ns().unwrap_or(0.0) - first.mean_ns().unwrap_or(0.0)) / pooled * small)
}

#[cfg(test)]
mod tests;
