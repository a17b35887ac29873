//! What pattern a task's latency has, from one scan: a section for each question.
//!
//! Every section that says "found" does so at a level of 0.1 % against independent latencies: a run without any pattern
//! shows one with a probability below 1 %.

use serde::{Deserialize, Serialize};

use crate::bursts::{Bursts, bursts};
use crate::clusters::{LatencyCluster, latency_clusters};
use crate::correlation::{LjungBox, autocorrelation, ljung_box};
use crate::drift::{self, Segment, Trend, levels, trend};
use crate::periodic::{PeriodicSpikes, periodic_spikes};
use crate::scan::{Peak, TaskScan};
use crate::spectrum::{Line, Spectrum, spectrum};
use crate::stationarity::{Kpss, Runs, kpss, runs};

/// Chance of a pattern that is not there, in each section.
pub const LEVEL: f64 = 1e-3;
/// Lags of the autocorrelation that is shown, and of its test.
const LAGS: usize = 100;
const TESTED_LAGS: usize = 20;
/// The largest latencies that are looked at for bursts: enough to see them, few enough to be spikes.
const SPIKES: usize = 1_000;
/// The largest latencies that are listed.
const LISTED: usize = 20;

/// Whether latencies depend on those before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dependence {
    /// Autocorrelation at lags 0, 1, 2, ... activations.
    pub autocorrelation: Vec<f64>,
    /// Their test for independence.
    pub ljung_box: Option<LjungBox>,
    /// Whether they depend, at [`LEVEL`].
    pub found: bool,
}

/// The periodic parts of the latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpectrumSection {
    /// The spectrum activation by activation, for drawing.
    pub spectrum: Option<Spectrum>,
    /// Its lines, the strongest first; periods are in activations.
    pub lines: Vec<Line>,
    /// Lines of the spectrum of means of equal parts of the run, for periods too long for the first; periods are in due
    /// times too.
    pub slow_lines: Vec<Line>,
    /// Whether there is a line.
    pub found: bool,
}

/// The largest latencies and how they come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spikes {
    /// The largest, with their due times' numbers.
    pub largest: Vec<Peak>,
    /// Periods among them, the surest first.
    pub periodic: Vec<PeriodicSpikes>,
    /// Bursts of them.
    pub bursts: Option<Bursts>,
    /// Whether they have a period or come in bursts.
    pub found: bool,
}

/// Slow change of the latency over the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Due times in each part that the figures below are of.
    pub part_due_times: u64,
    /// Median latency of each part.
    pub medians_ns: Vec<f64>,
    /// Trend of the medians, in ns from part to part.
    pub trend: Option<Trend>,
    /// Stretches of one level of the medians; one if it never changed.
    pub levels: Vec<Segment>,
    /// Test of the medians for a constant level.
    pub kpss: Option<Kpss>,
    /// Test of the medians for random order.
    pub runs: Option<Runs>,
    /// Whether the level drifts, changes or wanders.
    pub found: bool,
}

/// All patterns of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Patterns {
    /// Latency modes: one if there is no pattern.
    pub clusters: Vec<LatencyCluster>,
    /// Whether latencies depend on those before.
    pub dependence: Dependence,
    /// Periodic parts.
    pub spectrum: SpectrumSection,
    /// Spikes.
    pub spikes: Spikes,
    /// Slow change.
    pub change: Change,
}

impl Patterns {
    /// The patterns in a scan.
    pub fn of(scan: &TaskScan) -> Self {
        let pieces = scan.windows.pieces();
        Patterns {
            clusters: latency_clusters(&scan.timing.latency),
            dependence: dependence(&pieces),
            spectrum: spectrum_section(scan, &pieces),
            spikes: spikes(scan),
            change: change(scan),
        }
    }

    /// Whether any pattern was found.
    pub fn any(&self) -> bool {
        self.clusters.len() > 1
            || self.dependence.found
            || self.spectrum.found
            || self.spikes.found
            || self.change.found
    }
}

/// The longest piece: correlation over the seams of pieces would mean nothing.
fn dependence(pieces: &[Vec<f64>]) -> Dependence {
    let longest = pieces.iter().max_by_key(|p| p.len()).map_or(&[][..], Vec::as_slice);
    let ljung_box = ljung_box(longest, TESTED_LAGS);
    Dependence {
        autocorrelation: autocorrelation(longest, LAGS.min(longest.len() / 4)),
        found: ljung_box.is_some_and(|t| t.p < LEVEL),
        ljung_box,
    }
}

fn spectrum_section(scan: &TaskScan, pieces: &[Vec<f64>]) -> SpectrumSection {
    let spectrum = spectrum(pieces);
    let lines = spectrum.as_ref().map_or(Vec::new(), Spectrum::lines);
    let (length, spans) = scan.spans.all();
    let means: Vec<f64> = spans.iter().map(|b| b.and_then(|b| b.mean_ns()).unwrap_or(f64::NAN)).collect();
    // Spans of one activation are the first spectrum again; in others, what is slow is what it could not see.
    let seen = spectrum.as_ref().map_or(0.0, |s| s.segment as f64 / 4.0);
    let slow = if length > 1 { crate::spectrum::spectrum(&[means]) } else { None };
    let mut slow_lines = slow.as_ref().map_or(Vec::new(), Spectrum::lines);
    slow_lines.iter_mut().for_each(|line| {
        line.period *= length as f64;
        line.uncertainty *= length as f64;
    });
    slow_lines.retain(|line| line.period > seen);
    SpectrumSection { found: !lines.is_empty() || !slow_lines.is_empty(), spectrum, lines, slow_lines }
}

fn spikes(scan: &TaskScan) -> Spikes {
    let mut largest = scan.peaks.largest();
    let count = scan.timing.executed();
    // No more than 1 % of the run: the rest are no spikes.
    largest.truncate(usize::try_from(count / 100).unwrap_or(usize::MAX).min(SPIKES));
    let length = scan.places().map_or(0, |(first, last)| last - first + 1);
    let bursts = bursts(&largest, length);
    let periodic = periodic_spikes(&largest);
    let found = !periodic.is_empty() || bursts.as_ref().is_some_and(|b| b.bursty);
    let listed = scan.peaks.largest().into_iter().take(LISTED).collect();
    Spikes { largest: listed, periodic, bursts, found }
}

fn change(scan: &TaskScan) -> Change {
    let (part_due_times, _) = scan.parts();
    let medians_ns: Vec<f64> = scan.full_parts().iter().filter_map(|p| p.quantile_ns(0.5)).collect();
    let trend = trend(&medians_ns);
    let levels = levels(&medians_ns);
    let lags = (12.0 * (medians_ns.len() as f64 / 100.0).powf(0.25)) as usize;
    let kpss = kpss(&medians_ns, lags);
    let runs = runs(&medians_ns);
    let enough = medians_ns.len() >= 32;
    let found = trend.is_some_and(|t| t.p < drift::LEVEL)
        || levels.len() > 1
        || enough && (kpss.is_some_and(|t| t.p < LEVEL) || runs.is_some_and(|t| t.p < LEVEL));
    Change { part_due_times, medians_ns, trend, levels, kpss, runs, found }
}
