//! Comparison of runs: whether B is better than A, by how much, and whether the difference is real.
//!
//! Two runs differ if their figures do, as far as the dependence within each run lets them show it
//! (`docs/evidence/calibration.md`). Two *settings* differ only if several runs of either do: [`compare_settings`].

mod causes;
mod code_paths;
mod comparable;
mod figure_intervals;
mod gross_difference;
mod interval_arithmetic;
mod maxima;
mod overflow_bins;
mod runs;
mod settings;
mod tolerance;
mod twente;

pub use causes::{CauseChange, CauseCompared, CauseInRun, CausesCompared};
pub use code_paths::{CodePath, PathChange, PathsCompared, RARE_SHARE, StepMove, USUAL_MOVE_NS};
pub use comparable::{Mismatch, Weight, condition_mismatches};
pub use gross_difference::GrossDifference;
pub use maxima::{LargerRun, Maxima};
pub use overflow_bins::AboveBoth;
pub use runs::{ConditionDifferences, RunWarnings, RunsCompared, TaskCompared};
pub use settings::{FEWEST_RUNS, Power, Setting, SettingDifference, SettingsCompared, compare_settings};
pub use tolerance::{FigureVerdict, ToleranceVerdict};
pub use twente::{BIN_NS, TwenteRun, twente_runs};

use serde::Serialize;

use crate::scan::{Part, TaskScan};
use figure_intervals::{Figure, RunSample};
use interval_arithmetic::ClusteredEvents;

/// Chance that the interval of a figure of one run misses it, and chance that the comparison of two equal
/// runs calls any difference real.
pub const LEVEL: f64 = 0.05;
/// Differences tested in one comparison: the quantiles of [`SHIFTS`], mean, execution time, missed share and maximum.
const TESTED: f64 = 16.0;

/// A figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Mean latency.
    Mean,
    /// Standard deviation of the latency.
    StandardDeviation,
    /// Median execution time, from 1 µs on: below that it is mostly the time to read the clock.
    MedianExecution,
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
    /// Largest latency.
    #[serde(rename = "max")]
    Maximum,
}

impl Statistic {
    /// Every figure, in the order of tables.
    pub const ALL: [Statistic; 10] = [
        Statistic::Mean,
        Statistic::StandardDeviation,
        Statistic::MedianExecution,
        Statistic::P50,
        Statistic::P90,
        Statistic::P99,
        Statistic::P999,
        Statistic::P9999,
        Statistic::MissedShare,
        Statistic::Maximum,
    ];

    /// Returns the name in tables, and the figure of a distribution; `None` for the maximum, which is not one.
    fn name_and_figure(self) -> (&'static str, Option<Figure>) {
        match self {
            Statistic::Mean => ("mean", Some(Figure::Mean)),
            Statistic::StandardDeviation => ("sd", Some(Figure::StandardDeviation)),
            Statistic::MedianExecution => ("median execution time", Some(Figure::MedianExecution)),
            Statistic::P50 => ("p50", Some(Figure::Quantile(0.5))),
            Statistic::P90 => ("p90", Some(Figure::Quantile(0.9))),
            Statistic::P99 => ("p99", Some(Figure::Quantile(0.99))),
            Statistic::P999 => ("p99.9", Some(Figure::Quantile(0.999))),
            Statistic::P9999 => ("p99.99", Some(Figure::Quantile(0.9999))),
            Statistic::MissedShare => ("missed", Some(Figure::MissedShare)),
            Statistic::Maximum => ("max", None),
        }
    }

    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        self.name_and_figure().0
    }

    fn figure(self) -> Option<Figure> {
        self.name_and_figure().1
    }

    /// Returns the value in a run; `None` if the run is too short for it or its source lacks it.
    fn value_in(self, run: &Run) -> Option<f64> {
        match self.figure() {
            Some(Figure::Quantile(p)) => run.quantile(p),
            Some(figure) => run.sample.value(figure),
            None => run.scan.timing.latency.max_ns().map(|ns| ns as f64),
        }
    }
}

/// Basis of the intervals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Basis {
    /// The order of its parts: similarity of neighbouring parts is allowed for.
    Dependence {
        /// Degrees of freedom that this leaves.
        degrees: usize,
        /// Number of independent values that determine the mean as well.
        effective: f64,
        /// Time over which latencies stay alike (integrated correlation time); `None` if it is shorter than a part.
        correlation_ns: Option<f64>,
        /// Length of a part, in ns.
        part_ns: f64,
    },
    /// A histogram without order: intervals hold if latencies are independent of each other.
    IfIndependent,
    /// Latencies stay alike for too large a part of the run: no intervals.
    TooDependent {
        /// Lower bound on that time, in ns.
        correlation_ns: f64,
        /// Length of a run that would have intervals of the mean, if it goes on in the same way.
        needs_ns: f64,
    },
    /// Latencies stay alike at every length that the run can show, or one regime is much longer than the others: the next
    /// run may differ from it by more than it shows.
    LongMemory,
    /// It has too few parts.
    TooShort,
}

/// Reason why a figure has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Refusal", rename_all = "kebab-case")]
pub enum NoInterval {
    /// Too few independent values lie beyond it: a burst or two decide it.
    FewEvents,
    /// Latencies stay alike for too large a part of the run.
    TooDependent,
    /// Latencies stay alike at every length that the run can show.
    LongMemory,
    /// The run has too few parts.
    TooShort,
    /// The run's source does not have the data for it.
    Unknown,
    /// No method tried is valid for dependent latencies.
    NoMethod,
    /// Latencies were counted in bins, and the difference is no larger than a bin.
    WithinBins,
}

/// A figure of one run with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The figure.
    pub statistic: Statistic,
    /// Its value, in ns (a share for [`Statistic::MissedShare`]).
    pub value: f64,
    /// The 95 % interval of the true figure of runs like this one.
    pub interval: Option<[f64; 2]>,
    /// Reason why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<NoInterval>,
}

/// Difference of a figure between a run and the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The figure.
    pub statistic: Statistic,
    /// Its value here minus its value in the first run: below 0 is better here.
    pub difference: f64,
    /// The interval of the difference; all intervals of one comparison hold together with 95 %.
    pub interval: Option<[f64; 2]>,
    /// Reason why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<NoInterval>,
    /// Its value here over its value in the first run.
    pub ratio: Option<f64>,
    /// True if the interval excludes 0, or the difference is gross; for the maximum, if [`Maxima`] shows it.
    pub real: bool,
}

/// Shift of one quantile against the first run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QuantileShift {
    /// The quantile, 0 to 1.
    pub p: f64,
    /// Value in the first run, in ns.
    pub first_ns: f64,
    /// Value here minus that, in ns.
    pub shift_ns: f64,
    /// The interval of the shift.
    pub interval: Option<[f64; 2]>,
}

/// One run in a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// Its name.
    pub name: String,
    /// Activations that ran.
    pub count: u64,
    /// Basis of its intervals.
    pub basis: Basis,
    /// Largest latency. It has no interval, as it depends on the length of the run as much as on its quality.
    pub max_ns: Option<i64>,
    /// Largest minus smallest latency: release jitter.
    pub jitter_ns: Option<i64>,
    /// Its figures.
    pub estimates: Vec<Estimate>,
}

/// A run against the first one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgainstFirst {
    /// Name of the run.
    pub name: String,
    /// Its figures against the first run's.
    pub differences: Vec<Difference>,
    /// Probability that a latency here is below one of the first run, ties split (0.5 if equal; 1 - Vargha &
    /// Delaney's A).
    pub p_lower: f64,
    /// Difference of the means in standard deviations (Hedges' g).
    pub hedges_g: Option<f64>,
    /// The shift of quantiles.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub shifts: Vec<QuantileShift>,
    /// A difference that every tenth of either run shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gross: Option<GrossDifference>,
    /// Values above both histograms, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub above: Option<AboveBoth>,
    /// Comparison of the largest latencies; `None` if a run is too short or too dependent for it.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub maxima: Option<Maxima>,
}

/// Runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The runs, the one others are compared with first.
    pub runs: Vec<ComparedRun>,
    /// All but the first against it.
    pub against_first: Vec<AgainstFirst>,
}

/// Quantiles of the shift: deciles, and the tail.
const SHIFTS: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999, 0.9999];

/// A run with the sample to compare.
struct Run<'a> {
    name: &'a str,
    scan: &'a TaskScan,
    sample: RunSample,
}

impl<'a> Run<'a> {
    fn from_scan((name, scan): &'a (String, &'a TaskScan)) -> Self {
        Run { name, scan, sample: RunSample::from_scan(scan) }
    }

    /// Returns the quantile of the latency in ns; `None` if fewer than ten values lie beyond it.
    fn quantile(&self, p: f64) -> Option<f64> {
        let beyond = self.sample.whole.count as f64 * (1.0 - p).min(p);
        if beyond < 9.999 { None } else { self.sample.value(Figure::Quantile(p)) }
    }

    fn describe(&self) -> ComparedRun {
        let estimate = |statistic: Statistic| {
            let value = statistic.value_in(self)?;
            let [below, above] = self.bin_uncertainty(statistic.figure());
            let found =
                self.interval(statistic.figure(), LEVEL).map(|[low, high]| [low - below, high + above]);
            Some(Estimate { statistic, value, interval: found.ok(), refusal: found.err() })
        };
        ComparedRun {
            name: self.name.into(),
            count: self.scan.timing.executed(),
            basis: self.sample.basis,
            max_ns: self.scan.timing.latency.max_ns(),
            jitter_ns: self.scan.timing.latency.peak_to_peak_ns(),
            estimates: Statistic::ALL.into_iter().filter_map(estimate).collect(),
        }
    }

    fn interval(&self, figure: Option<Figure>, level: f64) -> Result<[f64; 2], NoInterval> {
        figure.map_or(Err(NoInterval::NoMethod), |figure| self.sample.interval(figure, level))
    }

    /// Returns how far below and above its value a figure may lie because of bins; 0 for the maximum (`None`).
    fn bin_uncertainty(&self, figure: Option<Figure>) -> [f64; 2] {
        figure.map_or([0.0; 2], |figure| self.sample.bin_uncertainty(figure))
    }

    /// Returns the interval of a figure here minus that of the first run, or the reason why there is none.
    fn interval_of_difference(
        &self,
        first: &Run<'_>,
        figure: Option<Figure>,
        values: [f64; 2],
    ) -> Result<[f64; 2], NoInterval> {
        let (of_first, of_here) = (first.bin_uncertainty(figure), self.bin_uncertainty(figure));
        let [below, above] = [of_here[0] + of_first[1], of_here[1] + of_first[0]];
        let difference = values[1] - values[0];
        if below + above > 0.0 && (-above..=below).contains(&difference) {
            return Err(NoInterval::WithinBins);
        }
        let level = LEVEL / TESTED;
        if figure == Some(Figure::MissedShare) && values[0] > 0.0 {
            let ratio = ClusteredEvents::ratio(
                first.sample.missed_events(level)?,
                self.sample.missed_events(level)?,
                level,
            );
            return ratio.map(|both| both.map(|by| values[0] * (by - 1.0))).ok_or(NoInterval::FewEvents);
        }
        let both = [first, self].map(|run| run.interval(figure, level));
        match both {
            [Ok(of_first), Ok(of_here)] => {
                let [low, high] =
                    interval_arithmetic::difference_interval(values[0], of_first, values[1], of_here);
                Ok([low - below, high + above])
            }
            [a, b] => Err(a.err().max(b.err()).unwrap_or(NoInterval::Unknown)),
        }
    }
}

/// Compares each run with the first: figures with their intervals, and differences.
pub fn compare(runs: &[(String, &TaskScan)]) -> Comparison {
    let runs: Vec<Run<'_>> = runs.iter().map(Run::from_scan).collect();
    Comparison {
        runs: runs.iter().map(Run::describe).collect(),
        against_first: runs.iter().skip(1).map(|here| compare_with_first(&runs[0], here)).collect(),
    }
}

fn compare_with_first(first: &Run<'_>, here: &Run<'_>) -> AgainstFirst {
    let excludes_0 = |[low, high]: [f64; 2]| low > 0.0 || high < 0.0;
    let maxima =
        Maxima::new([first.scan, here.scan], [first.sample.basis, here.sample.basis], LEVEL / TESTED);
    let gross = GrossDifference::new(first, here);
    let difference = |statistic: Statistic| {
        let (a, b) = (statistic.value_in(first)?, statistic.value_in(here)?);
        let found = here.interval_of_difference(first, statistic.figure(), [a, b]);
        let real = match statistic {
            Statistic::Maximum => maxima.is_some_and(|maxima| maxima.larger.is_some()),
            _ => found.is_ok_and(excludes_0),
        };
        let real = real || gross.is_some_and(|gross| gross.statistic == statistic);
        let ratio = (a != 0.0).then(|| b / a);
        Some(Difference {
            statistic,
            difference: b - a,
            interval: found.ok(),
            refusal: found.err(),
            ratio,
            real,
        })
    };
    let shift = |p: f64| {
        let (a, b) = (first.quantile(p)?, here.quantile(p)?);
        let interval = here.interval_of_difference(first, Some(Figure::Quantile(p)), [a, b]).ok();
        Some(QuantileShift { p, first_ns: a, shift_ns: b - a, interval })
    };
    let bins = [first, here].map(|run| run.scan.timing.latency.bin_width_ns());
    let ties_ns = bins.into_iter().max().unwrap_or(0);
    let is_within_bins =
        difference(Statistic::Mean).is_some_and(|of| of.refusal == Some(NoInterval::WithinBins));
    AgainstFirst {
        name: here.name.into(),
        differences: Statistic::ALL.into_iter().filter_map(difference).collect(),
        p_lower: p_lower(&first.sample.whole, &here.sample.whole, ties_ns),
        hedges_g: hedges_g(&first.sample.whole, &here.sample.whole).filter(|_| !is_within_bins),
        shifts: SHIFTS.into_iter().filter_map(shift).collect(),
        gross,
        above: AboveBoth::new(first, here),
        maxima,
    }
}

/// Returns P(a latency here < one of the first) + P(equal) / 2; bins up to `ties_ns` apart count as equal.
fn p_lower(first: &Part, here: &Part, ties_ns: i64) -> f64 {
    let mut sum = 0.0;
    // Numbers of values of the first run below this bin, and equal to it.
    let (mut lower, mut equal) = (0.0, 0.0);
    let (mut begin, mut end) = (first.bins.iter().peekable(), first.bins.iter().peekable());
    for bin in &here.bins {
        while let Some(f) = end.next_if(|f| f.low_ns <= bin.low_ns.saturating_add(ties_ns)) {
            equal += f.count as f64;
        }
        while let Some(f) = begin.next_if(|f| f.low_ns < bin.low_ns.saturating_sub(ties_ns)) {
            lower += f.count as f64;
            equal -= f.count as f64;
        }
        let above = first.count as f64 - lower - equal;
        sum += bin.count as f64 * (above + equal / 2.0);
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
