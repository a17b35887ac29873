//! Error rates of `compare`: runs of one process called different, and intervals that miss the truth.

use std::collections::BTreeMap;

use jitterlab_analysis::compare::{Basis, ComparedRun, Statistic, compare};
use jitterlab_analysis::scan::TaskScan;

use super::series::{Noise, Process, SECOND, WORK_NS, scan_latencies};
use super::table::{Rate, TableSelection, print_head, print_row, share_text};

/// Differences between runs that are alike, of all comparisons.
const DIFFERENT: f64 = 0.05;
/// Bound on the share of runs whose shown interval misses the true value.
const WRONG: f64 = 0.065;

/// Pairs of runs of the same process: the process, the length in seconds, and the number of pairs in the full table.
pub const ROWS: [(Process, usize, usize); 36] = [
    (Process::White, 100, 400),
    (Process::Autoregressive(0.9), 100, 400),
    (Process::Wandering(0.01), 100, 400),
    (Process::Wandering(1.0), 100, 400),
    (Process::Wandering(5.0), 100, 400),
    (Process::Wandering(20.0), 100, 400),
    (Process::Regimes(5.0), 100, 400),
    (Process::Bursts(50.0), 100, 400),
    (Process::Bursts(200.0), 100, 400),
    (Process::HeavyTail(0.3), 100, 400),
    (Process::Ticks(2_000.0), 100, 400),
    (Process::HeavyTail(0.83), 100, 400),
    (Process::LongBursts, 100, 400),
    (Process::Restless, 100, 400),
    (Process::LoadInTurns(30.0), 100, 400),
    (Process::SlowWave(37.0), 100, 400),
    (Process::Jump(1.0), 100, 200),
    (Process::Drift(3.0), 100, 200),
    (Process::MovingMaximum, 100, 100),
    (Process::SpreadDrift, 100, 100),
    (Process::Constant, 100, 20),
    (Process::Fractional(0.7), 100, 100),
    (Process::Fractional(0.85), 100, 100),
    (Process::Fractional(0.95), 100, 100),
    (Process::FractionalInNoise(0.7), 100, 100),
    (Process::FractionalInNoise(0.85), 100, 100),
    (Process::FractionalInNoise(0.95), 100, 100),
    (Process::FractionalScale, 100, 100),
    (Process::ParetoRegimes(1.1, 300.0, 2_000.0, 1.6), 100, 100),
    (Process::ParetoRegimes(1.3, 1_500.0, 4_000.0, 1.4), 100, 100),
    (Process::ParetoRegimes(1.3, 800.0, 800.0, 1.4), 100, 100),
    (Process::ParetoRegimes(1.5, 30.0, 300.0, 2.0), 100, 100),
    (Process::Wandering(1.0), 1_000, 100),
    (Process::Wandering(20.0), 1_000, 100),
    (Process::Regimes(5.0), 1_000, 400),
    (Process::Bursts(200.0), 1_000, 100),
];

const FIGURES: [&str; 6] = ["mean", "p50", "p90", "p99", "p99.9", "median execution time"];

/// Prints the selected rows of the table.
pub fn print_table(selection: &TableSelection) {
    print_head(&[
        "runs of",
        "length",
        "pairs",
        "called different",
        "by the gross rule",
        "runs refused",
        "mean",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "execution p50",
    ]);
    for (seed, (process, seconds, pairs)) in
        (1..).zip(ROWS).filter(|(_, (process, ..))| selection.includes(&process.name()))
    {
        let pairs = pairs.min(selection.most);
        let found = compare_alike_runs(process, seconds, pairs, seed);
        let [name, length, pairs] = [process.name(), format!("{seconds} s"), pairs.to_string()];
        let refused = share_text(found.refused as f64 / (2 * found.pairs) as f64);
        let gross = share_text(found.gross as f64 / found.pairs as f64);
        let first = [name, length, pairs, found.difference_rate().to_string(), gross, refused];
        print_row(first.into_iter().chain(FIGURES.map(|figure| found.interval_shares_text(figure))));
    }
}

/// Results of comparing pairs of runs of one process.
#[derive(Debug, Clone, Default)]
pub struct Comparisons {
    /// Pairs.
    pub pairs: usize,
    /// Pairs with any difference called real.
    pub different: usize,
    /// Pairs that the gross rule calls so.
    pub gross: usize,
    /// Runs without intervals, since they depend on too much of themselves or show long memory.
    pub refused: usize,
    /// By statistic: number of intervals shown, and number of these that contain the true value.
    pub intervals: BTreeMap<&'static str, (usize, usize)>,
}

impl Comparisons {
    /// Returns the rate of pairs called different.
    pub fn difference_rate(&self) -> Rate {
        Rate { count: self.different, of: self.pairs, bound: DIFFERENT }
    }

    /// Returns, for each statistic, the rate of runs in which its interval is shown and wrong.
    pub fn wrong_interval_rates(&self) -> Vec<(&'static str, Rate)> {
        let rate =
            |(shown, held): &(usize, usize)| Rate { count: shown - held, of: 2 * self.pairs, bound: WRONG };
        self.intervals.iter().map(|(figure, counts)| (*figure, rate(counts))).collect()
    }

    /// Formats the shares of runs in which a statistic's interval is shown, and in which it is shown but wrong.
    fn interval_shares_text(&self, figure: &str) -> String {
        let Some((shown_in, _)) = self.intervals.get(figure) else { return "-".into() };
        let wrong =
            self.wrong_interval_rates().into_iter().find(|(name, _)| *name == figure).map(|(_, rate)| rate);
        let share = share_text(*shown_in as f64 / (2 * self.pairs) as f64);
        wrong.map_or(share.clone(), |wrong| format!("{share}, {wrong}"))
    }

    /// Compares two runs that are alike, and counts differences called real and intervals that miss `truth`.
    pub fn add(&mut self, runs: [TaskScan; 2], truth: impl Fn(Statistic) -> Option<f64>) {
        let [first, other] = runs;
        let found = compare(&[("first".into(), &first), ("other".into(), &other)]);
        self.pairs += 1;
        let real = found.against_first[0].differences.iter().any(|d| d.real);
        // A shift whose interval excludes 0 also counts as a difference.
        let shifted = found.against_first[0]
            .shifts
            .iter()
            .any(|s| s.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0));
        self.different += usize::from(real || shifted);
        self.gross += usize::from(found.against_first[0].gross.is_some());
        let refused = |run: &&ComparedRun| !matches!(run.basis, Basis::Dependence { .. });
        self.refused += found.runs.iter().filter(refused).count();
        for estimate in found.runs.iter().flat_map(|run| &run.estimates) {
            let Some(truth) = truth(estimate.statistic) else { continue };
            if let Some([low, high]) = estimate.interval {
                let (shown, held) = self.intervals.entry(estimate.statistic.name()).or_default();
                *shown += 1;
                *held += usize::from(low <= truth && truth <= high);
            }
        }
    }
}

/// Compares `pairs` pairs of runs of one process, of this length, and counts what is found.
pub fn compare_alike_runs(process: Process, seconds: usize, pairs: usize, seed: u64) -> Comparisons {
    let mut found = Comparisons::default();
    for pair in 0..pairs as u64 {
        let run = |number: u64| {
            let mut noise = Noise::new(seed * 1_000_000 + 2 * pair + number);
            scan_latencies(&process.latencies(&mut noise, seconds * SECOND))
        };
        let truths = |statistic| true_figure(process, statistic);
        found.add([run(0), run(1)], truths);
    }
    found
}

/// Processes whose runs of 10 s are compared with slower ones.
const POWER: [(Process, usize); 6] = [
    (Process::White, 133),
    (Process::HeavyTail(0.3), 133),
    (Process::Wandering(0.2), 133),
    (Process::Bursts(50.0), 133),
    (Process::Fractional(0.85), 133),
    (Process::ParetoRegimes(1.3, 1_500.0, 4_000.0, 1.4), 133),
];
/// Factors by which the second run is slower.
const SLOWER: [f64; 5] = [1.1, 1.2, 2.0, 3.0, 10.0];

/// Prints how often the gross rule finds a run of 10 s that is slower.
pub fn print_power(selection: &TableSelection) {
    let columns = SLOWER.map(|by| format!("x{by}"));
    let columns: Vec<&str> =
        ["runs of 10 s", "pairs"].into_iter().chain(columns.iter().map(String::as_str)).collect();
    print_head(&columns);
    for (seed, (process, pairs)) in (1..).zip(POWER).filter(|(_, of)| selection.includes(&of.0.name())) {
        let pairs = pairs.min(selection.most);
        let cells =
            SLOWER.map(|by| share_text(count_found_slower(process, by, pairs, seed) as f64 / pairs as f64));
        print_row([process.name(), pairs.to_string()].into_iter().chain(cells));
    }
}

/// Counts the pairs in which the gross rule finds the run that is slower by a factor.
pub fn count_found_slower(process: Process, by: f64, pairs: usize, seed: u64) -> usize {
    let found = |pair: &u64| {
        let run = |number: u64, by: f64| {
            let mut noise = Noise::new(500_000_000 + seed * 1_000_000 + 2 * pair + number);
            let mut latencies = process.latencies(&mut noise, 10 * SECOND);
            latencies.iter_mut().for_each(|ns| *ns *= by);
            scan_latencies(&latencies)
        };
        let (first, other) = (run(0, 1.0), run(1, by));
        let compared = compare(&[("first".into(), &first), ("other".into(), &other)]);
        compared.against_first[0].gross.is_some_and(|gross| !gross.is_lower)
    };
    (0..pairs as u64).filter(found).count()
}

/// Returns the true value of a statistic of a process; `None` if it is unknown or changes.
fn true_figure(process: Process, statistic: Statistic) -> Option<f64> {
    if !process.has_truth() {
        return None;
    }
    let quantile = |above: f64| Some(process.quantile(above));
    match statistic {
        Statistic::Mean => Some(process.mean()),
        Statistic::P50 => quantile(0.5),
        Statistic::MedianExecution => quantile(0.5).map(|ns| WORK_NS + ns),
        Statistic::P90 => quantile(0.1),
        Statistic::P99 => quantile(0.01),
        Statistic::P999 => quantile(0.001),
        Statistic::P9999 => quantile(0.0001),
        _ => None,
    }
}
