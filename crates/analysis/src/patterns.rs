//! Patterns of a task's latency, from one scan: a section for each question.
//!
//! Slow changes of the level (jumps, a drift) are looked for first, and subtracted before everything else. A
//! section that reports "found" is wrong no more often than `docs/evidence/calibration.md` prints, even if
//! latencies wander, burst or change regimes.

use jitterlab_model::Distribution;
use serde::Serialize;

use crate::aliases::{AliasedDisturbance, aliased_disturbances};
use crate::background::{SlowLevel, Stretches, subtract_level};
use crate::bursts::{Bursts, bursts};
use crate::clusters::{LatencyCluster, latency_clusters};
use crate::correlation::{LjungBox, autocorrelation, ljung_box, robust_correlation_test};
use crate::drift::{LevelTrend, Segment, Trend, levels, trend};
use crate::folding::{LockedEffect, locked_effects};
use crate::isolated::{IsolatedLatencies, isolated_latencies};
use crate::periodic::{PeriodicSpikes, is_simple_ratio, periodic_spikes};
use crate::scan::{PEAKS, Part, Peak, Span, TaskScan, WINDOW};
use crate::spectral_lines::{self, Line, normal_scores};
use crate::spectrum::{Spectrum, spectrum};
use crate::stationarity::{Kpss, Runs, kpss, runs};

/// Chance of finding a dependence that does not exist.
pub const LEVEL: f64 = 1e-3;
/// Lags of the autocorrelation that is shown, and of its test.
const LAGS: usize = 100;
const TESTED_LAGS: usize = 20;
/// The largest latencies examined for bursts: enough to find them, few enough to be spikes.
const SPIKES: usize = 1_000;
/// The largest latencies that are listed.
const LISTED: usize = 20;

/// Dependence of latencies on previous ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependence {
    /// Autocorrelation at lags 0, 1, 2, ... activations.
    pub autocorrelation: Vec<f64>,
    /// Their test for independence.
    pub ljung_box: Option<LjungBox>,
    /// True if they depend, at [`LEVEL`].
    pub found: bool,
}

/// The periodic parts of the latency.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpectrumSection {
    /// The spectrum activation by activation, for drawing.
    pub spectrum: Option<Spectrum>,
    /// Lines above the noise, those of the strongest period first; periods are in due times.
    pub lines: Vec<Line>,
    /// Lines of the means of equal parts, for a run too long for one transform; periods are in due times, too.
    pub slow_lines: Vec<Line>,
    /// Disturbances whose true period differs from the lines that they cause.
    pub disturbers: Vec<AliasedDisturbance>,
    /// Activations locked to a period that differ from their neighbours, without those found among the spikes.
    pub locked: Vec<LockedEffect>,
    /// True if there is any of these.
    pub found: bool,
}

/// The largest latencies, with their periods and bursts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spikes {
    /// The largest latencies, with the numbers of their due times.
    pub largest: Vec<Peak>,
    /// Periods among them, the surest first.
    pub periodic: Vec<PeriodicSpikes>,
    /// Bursts of them.
    pub bursts: Option<Bursts>,
    /// A few isolated latencies far above all others, unless they belong to a period.
    pub isolated: Option<IsolatedLatencies>,
    /// True if they are periodic, bursty or isolated.
    pub found: bool,
}

/// Slow change of the latency over the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowChange {
    /// Due times in each part that the fields below refer to.
    pub part_due_times: u64,
    /// Mean latency of each part, spikes cut off.
    pub means_ns: Vec<f64>,
    /// Drift of the means, in ns from part to part.
    pub trend: Option<Trend>,
    /// Stretches between jumps of the means; one if there is none.
    pub levels: Vec<Segment>,
    /// Drift and jumps of the spread of the parts (the range of the middle 80 % of the latencies), by its logarithm.
    pub spread: Option<SpreadChange>,
    /// Test of the means for a constant level.
    pub kpss: Option<Kpss>,
    /// Test of the means for random order.
    pub runs: Option<Runs>,
    /// True if the level drifts, jumps or wanders, or the spread drifts or jumps.
    pub found: bool,
}

/// Change of the spread of latencies over a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpreadChange {
    /// The spread at the beginning, in ns: the range of the middle 80 % of the latencies.
    pub from_ns: f64,
    /// The spread at the end, in ns.
    pub to_ns: f64,
    /// True if it drifts, false if it jumps.
    pub drifts: bool,
}

impl SlowChange {
    /// Finds jumps, drifts and changes of the spread in a scan.
    #[must_use]
    pub fn from_scan(scan: &TaskScan) -> Self {
        slow_change(scan).0
    }

    /// True if the level drifts or jumps; these changes are subtracted before other patterns are looked for.
    pub fn has_changed(&self) -> bool {
        self.levels.len() > 1 || self.trend.is_some_and(|t| t.found)
    }
}

/// All patterns of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Patterns {
    /// Latency modes: one if there is no pattern.
    pub clusters: Vec<LatencyCluster>,
    /// Dependence of latencies on previous ones.
    pub dependence: Dependence,
    /// Periodic parts.
    pub spectrum: SpectrumSection,
    /// Spikes.
    pub spikes: Spikes,
    /// Slow change.
    pub change: SlowChange,
}

impl Patterns {
    /// Finds the patterns in a scan, after subtracting jumps and drifts of its level.
    pub fn from_scan(scan: &TaskScan) -> Self {
        let (change, level_trend) = slow_change(scan);
        let stretches = subtract_level(scan.windows.stretches(), |index| level_trend.level_at(index));
        let stretch_values: Vec<Vec<f64>> = stretches.iter().map(|(_, values)| values.clone()).collect();
        let (lines, slow_lines) = run_lines(scan, &stretch_values, &level_trend);
        let background = SlowLevel::from_scan(scan, &level_trend);
        let mut flat = subtract_level(stretches.clone(), |index| background.level_at(index));
        if scan.windows.cover_whole_run() {
            subtract_lines(&mut flat, &lines);
        }
        let over = if scan.windows.cover_whole_run() {
            [largest_latencies(&flat), largest_latencies(&stretches)]
        } else {
            let (raw, level_trend) = (scan.peaks.largest(), |index| level_trend.level_at(index));
            [
                minus_level(&raw, |index| level_trend(index) + background.level_at(index)),
                minus_level(&raw, level_trend),
            ]
        };
        let [over_all, mut over_course] = over;
        // The place of a jump within its part is unknown, and must not count as a burst.
        over_course.retain(|peak| !level_trend.has_jump_near(peak.index as f64));
        let spikes = find_spikes(scan, [over_all, over_course], &slow_lines);
        let locked = unexplained_locked_effects(&flat, &lines, &spikes.periodic);
        let spectrum = SpectrumSection {
            spectrum: spectrum(&stretch_values),
            found: !(lines.is_empty() && slow_lines.is_empty() && locked.is_empty()),
            disturbers: disturbances_of_late_starts(scan, &lines),
            lines,
            slow_lines,
            locked,
        };
        let seen = || latency_clusters(&scan.timing.latency);
        let clusters = match (change.trend.is_some_and(|t| t.found), level_trend.has_changed()) {
            (_, false) => seen(),
            (true, true) => clusters_about_median(&stretch_values, scan),
            // A level that jumps because something else occurs more often has no modes of its own: the
            // smaller number is right, and of equal ones the measured modes.
            (false, true) => [seen(), clusters_about_median(&stretch_values, scan)]
                .into_iter()
                .min_by_key(Vec::len)
                .unwrap_or_default(),
        };
        Patterns { clusters, dependence: find_dependence(&stretch_values), spectrum, spikes, change }
    }

    /// True if any pattern was found.
    pub fn has_any(&self) -> bool {
        self.clusters.len() > 1
            || self.dependence.found
            || self.spectrum.found
            || self.spikes.found
            || self.change.found
    }
}

/// Tests whether latencies depend on previous ones. By the longest stretch: across stretches it would be meaningless.
fn find_dependence(stretch_values: &[Vec<f64>]) -> Dependence {
    let longest = stretch_values.iter().max_by_key(|p| p.len()).map_or(&[][..], Vec::as_slice);
    let ljung_box = ljung_box(longest, TESTED_LAGS);
    Dependence {
        autocorrelation: autocorrelation(longest, LAGS.min(longest.len() / 4)),
        found: ljung_box.is_some_and(|t| t.p < LEVEL)
            && robust_correlation_test(longest, TESTED_LAGS).is_some_and(|p| p < LEVEL),
        ljung_box,
    }
}

/// Returns the modes of latencies whose moving level was subtracted, shifted to the median of the run.
fn clusters_about_median(stretch_values: &[Vec<f64>], scan: &TaskScan) -> Vec<LatencyCluster> {
    let mut level = Distribution::new();
    stretch_values.iter().flatten().filter(|v| !v.is_nan()).for_each(|v| level.record(v.round() as i64));
    let median = |of: &Distribution| of.quantile_ns(0.5).unwrap_or(0);
    let measured = &scan.timing.latency;
    let shift_ns = median(measured) - median(&level);
    let least_ns = measured.min_ns().unwrap_or(i64::MIN);
    let mut clusters = latency_clusters(&level);
    for cluster in &mut clusters {
        cluster.low_ns = (cluster.low_ns + shift_ns).max(least_ns);
        cluster.high_ns += shift_ns;
        cluster.centre_ns = (cluster.centre_ns + shift_ns as f64).max(least_ns as f64);
    }
    clusters
}

/// Returns the spectral lines of the run, and slow lines of its parts if it is too long for one transform.
fn run_lines(
    scan: &TaskScan,
    stretch_values: &[Vec<f64>],
    level_trend: &LevelTrend,
) -> (Vec<Line>, Vec<Line>) {
    if scan.windows.cover_whole_run() {
        let longest = stretch_values.iter().max_by_key(|p| p.len()).map(Vec::as_slice);
        return (spectral_lines::lines(longest.as_slice()), Vec::new());
    }
    let stretches: Vec<&[f64]> =
        stretch_values.iter().flat_map(|p| p.chunks_exact(WINDOW as usize)).collect();
    let fast = spectral_lines::lines(&stretches);
    let (length, spans) = scan.spans.all();
    let first = scan.due_time_range().map_or(0, |(first, _)| first / length);
    let mean = |(number, span): (u64, &Option<Span>)| {
        let middle = (number as f64 + 0.5) * length as f64;
        span.and_then(|span| span.mean_ns()).map_or(f64::NAN, |mean| mean - level_trend.level_at(middle))
    };
    let means: Vec<f64> = (first..).zip(&spans).map(mean).collect();
    let mut slow = spectral_lines::lines(&[&means]);
    slow.iter_mut().for_each(|line| {
        line.period *= length as f64;
        line.uncertainty *= length as f64;
        line.fundamental *= length as f64;
    });
    let seen = WINDOW as f64 / spectral_lines::CYCLES;
    slow.retain(|line| line.period > seen);
    (fast, slow)
}

/// Returns the disturbances whose true period differs from these lines, from starts far above the median.
fn disturbances_of_late_starts(scan: &TaskScan, lines: &[Line]) -> Vec<AliasedDisturbance> {
    const FAR: f64 = 8.0;
    let quantile = |p| scan.timing.latency.quantile_ns(p).map(|ns| ns as f64);
    let (Some(low), Some(middle), Some(high)) = (quantile(0.25), quantile(0.5), quantile(0.75)) else {
        return Vec::new();
    };
    let late_ns = middle + FAR * (high - low) / 1.349;
    aliased_disturbances(lines, &scan.peaks.largest(), late_ns, scan.timing.period_ns() as f64)
}

/// Subtracts the waves of these spectral lines from each stretch of latencies.
fn subtract_lines(stretches: &mut Stretches, lines: &[Line]) {
    for (_, values) in stretches {
        for line in lines {
            let frequency = 1.0 / line.period;
            let size = spectral_lines::fit_wave(values, frequency);
            let wave = spectral_lines::wave(frequency, values.len());
            values.iter_mut().zip(wave).for_each(|(v, w)| *v -= (size * w).re);
        }
    }
}

/// Returns the largest values of these stretches as peaks, the largest first.
fn largest_latencies(stretches: &Stretches) -> Vec<Peak> {
    let each = stretches.iter().flat_map(|(first, values)| (*first..).zip(values));
    let there = each.filter(|(_, value)| !value.is_nan());
    let mut all: Vec<Peak> =
        there.map(|(index, value)| Peak { latency_ns: value.round() as i64, index }).collect();
    Peak::largest_first(&mut all, PEAKS);
    all
}

/// Returns the peaks less the level at each, the largest first.
fn minus_level(peaks: &[Peak], level: impl Fn(f64) -> f64) -> Vec<Peak> {
    let over = |peak: &Peak| (peak.latency_ns as f64 - level(peak.index as f64)).round() as i64;
    let mut all: Vec<Peak> = peaks.iter().map(|peak| Peak { latency_ns: over(peak), ..*peak }).collect();
    Peak::largest_first(&mut all, PEAKS);
    all
}

/// Finds periods, bursts and isolated values among the largest latencies. Periods are sought above the whole slow
/// level, bursts above its trend alone, since an error of the background would look like a burst.
fn find_spikes(scan: &TaskScan, [over_all, mut over_course]: [Vec<Peak>; 2], slow_lines: &[Line]) -> Spikes {
    let length = scan.due_time_range().map_or(0, |(first, last)| last - first + 1);
    let mut periodic = periodic_spikes(&over_all, length);
    // The crests of a wave are no spikes.
    periodic.retain(|p| !slow_lines.iter().any(|line| is_simple_ratio(p.period / line.fundamental, 1e-3)));
    let mut raw = scan.peaks.largest();
    for found in &mut periodic {
        let seen = raw.iter().find(|peak| peak.index == found.largest.index);
        found.largest.latency_ns = seen.map_or(found.largest.latency_ns, |peak| peak.latency_ns);
    }
    // At most 1 % of the run: further latencies are no spikes.
    let few = usize::try_from(scan.timing.executed() / 100).unwrap_or(usize::MAX).min(SPIKES);
    over_course.truncate(few);
    let bursts = bursts(&over_course, length);
    let median_ns = scan.timing.latency.quantile_ns(0.5).map(|median| median as f64);
    let apart = median_ns.and_then(|median_ns| isolated_latencies(&raw, median_ns));
    let said = |apart: &IsolatedLatencies| {
        let [first, last] = [apart.peaks.first(), apart.peaks.last()].map(|peak| peak.map_or(0, |p| p.index));
        // Isolated latencies that lie on a period found already.
        periodic.iter().any(|p| {
            let turns = (last - first) as f64 / p.period;
            first != last && (turns - turns.round()).abs() < 0.1
        })
    };
    let isolated = apart.filter(|apart| !said(apart));
    let found = !periodic.is_empty() || bursts.as_ref().is_some_and(|b| b.bursty) || isolated.is_some();
    raw.truncate(LISTED);
    Spikes { largest: raw, periodic, bursts, isolated, found }
}

/// Returns the effects locked to the task in latencies without their background, except those found as lines or spikes.
fn unexplained_locked_effects(
    flat: &Stretches,
    lines: &[Line],
    periodic: &[PeriodicSpikes],
) -> Vec<LockedEffect> {
    let all: Vec<f64> = flat.iter().flat_map(|(_, values)| values.iter().copied()).collect();
    let mut scores = normal_scores(&all).into_iter();
    let of_stretch =
        |(first, values): &(u64, Vec<f64>)| (*first, scores.by_ref().take(values.len()).collect());
    let scores: Stretches = flat.iter().map(of_stretch).collect();
    let mut found = locked_effects(&scores, flat);
    let said = |period: f64| {
        periodic.iter().any(|p| is_simple_ratio(p.period / period, p.uncertainty / p.period))
            || lines.iter().any(|line| is_simple_ratio(line.fundamental / period, 1e-3))
    };
    found.retain(|f| !said(f.period as f64));
    found
}

/// Returns the changes of the level over the run, and the level trend to subtract.
fn slow_change(scan: &TaskScan) -> (SlowChange, LevelTrend) {
    let (part_due_times, parts) = scan.full_parts();
    let level = |(number, part): &(u64, Part)| Some((*number, part.level_ns()?));
    let (numbers, means_ns): (Vec<u64>, Vec<f64>) = parts.iter().filter_map(level).unzip();
    let levels = levels(&means_ns);
    let trend = trend(&means_ns, &levels);
    let level_trend = LevelTrend::new(&levels, trend, part_due_times, numbers);
    let lags = (12.0 * (means_ns.len() as f64 / 100.0).powf(0.25)) as usize;
    let spread = spread_change(&parts);
    let kpss = kpss(&means_ns, lags);
    let runs = runs(&means_ns);
    let enough = means_ns.len() >= 32;
    let found = spread.is_some()
        || level_trend.has_changed()
        || enough && (kpss.is_some_and(|t| t.p < LEVEL) || runs.is_some_and(|t| t.p < LEVEL));
    (SlowChange { part_due_times, means_ns, trend, levels, spread, kpss, runs, found }, level_trend)
}

/// Fewest occupied bins that a spread must cover to be known: a clock that ticks, and the wide bins of large latencies, let it
/// jump from one to the next.
const COARSE: usize = 9;

/// Returns the drift or jumps of the spread of the parts; `None` if there are none, or it is unknown in a part.
fn spread_change(parts: &[(u64, Part)]) -> Option<SpreadChange> {
    let of = |(_, part): &(u64, Part)| {
        let (low, high) = (part.quantile_ns(0.1)?, part.quantile_ns(0.9)?);
        let covered = part.bins.iter().filter(|bin| bin.high_ns as f64 >= low && bin.low_ns as f64 <= high);
        (covered.count() >= COARSE).then(|| (high - low).ln())
    };
    // The spread of equal values is unknown.
    let logs: Vec<f64> = parts.iter().filter_map(of).filter(|log| log.is_finite()).collect();
    if logs.len() < parts.len() {
        return None;
    }
    let levels = levels(&logs);
    if levels.len() > 1 {
        let [first, last] = [levels.first()?, levels.last()?].map(|segment| segment.level.exp());
        return Some(SpreadChange { from_ns: first, to_ns: last, drifts: false });
    }
    let trend = trend(&logs, &levels).filter(|trend| trend.found)?;
    let (middle, half) = (levels.first()?.level, 0.5 * trend.slope * logs.len() as f64);
    Some(SpreadChange { from_ns: (middle - half).exp(), to_ns: (middle + half).exp(), drifts: true })
}
