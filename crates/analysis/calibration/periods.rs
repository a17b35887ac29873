//! Error rates of `analyze`: periods, jumps and drifts that it reports without reason, or misses.

use jitterlab_analysis::patterns::Patterns;

use super::series::{LEVEL_NS, Noise, Process, SECOND, scan_latencies};
use super::table::{Rate, TableSelection, print_head, print_row};

/// Runs without a period that show any.
const FALSE: f64 = 0.01;
/// Runs of a steady spread that show another.
const SPREAD: f64 = 0.05;
/// Bound on the share of runs whose period is not found, or is named wrongly.
const MISSED: f64 = 0.05;

/// Processes without a period, with the length of their runs in seconds.
pub const NULLS: [(Process, usize); 37] = [
    (Process::White, 100),
    (Process::Autoregressive(0.9), 100),
    (Process::Wandering(0.01), 100),
    (Process::Wandering(1.0), 100),
    (Process::Wandering(5.0), 100),
    (Process::Wandering(20.0), 100),
    (Process::Walk, 100),
    (Process::Regimes(5.0), 100),
    (Process::Regimes(20.0), 100),
    (Process::Bursts(50.0), 100),
    (Process::Bursts(200.0), 100),
    (Process::Spikes(100, 1), 100),
    (Process::Spikes(60, 10), 100),
    (Process::HeavyTail(0.3), 100),
    (Process::Ticks(2_000.0), 100),
    (Process::Ticks(1_443.0), 100),
    (Process::HeavyTail(0.83), 100),
    (Process::LongBursts, 100),
    (Process::Restless, 100),
    (Process::UnevenSpikes, 100),
    (Process::SlowWave(37.0), 100),
    (Process::Jump(1.0), 100),
    (Process::Jump(20.0), 100),
    (Process::Drift(3.0), 100),
    (Process::Clock(5.0), 100),
    (Process::Clock(20.0), 100),
    (Process::Clock(50.0), 100),
    (Process::Constant, 100),
    (Process::SpreadDrift, 100),
    (Process::MovingMaximum, 100),
    (Process::Fractional(0.85), 100),
    (Process::FractionalScale, 100),
    (Process::Wandering(1.0), 400),
    (Process::Bursts(200.0), 400),
    (Process::HeavyTail(0.3), 400),
    (Process::Jump(20.0), 400),
    (Process::Clock(20.0), 400),
];

/// Processes with a period, in due times.
pub const PERIODS: [Periodic; 12] = [
    Periodic::Comb { period: 733.0, jitter: 0.02, missing: 0.25 },
    Periodic::Comb { period: 1_000.0, jitter: 0.02, missing: 0.25 },
    Periodic::Comb { period: 1_617.0, jitter: 0.02, missing: 0.25 },
    Periodic::Comb { period: 1_000.0, jitter: 0.02, missing: 0.0 },
    Periodic::Comb { period: 2_500.0, jitter: 0.02, missing: 0.0 },
    Periodic::Comb { period: 5_000.0, jitter: 0.02, missing: 0.0 },
    Periodic::Comb { period: 733.0, jitter: 0.0, missing: 0.0 },
    Periodic::Comb { period: 1_000.0, jitter: 0.0, missing: 0.0 },
    Periodic::Comb { period: 40.0, jitter: 0.0, missing: 0.0 },
    Periodic::EachOf { period: 1_000, by: 0.1 },
    Periodic::EachOf { period: 250, by: 0.1 },
    Periodic::Wave { period: 333.3, by: 0.1 },
];

/// Something with a period, in white noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Periodic {
    /// Spikes twice the level high, each off its place by a share of the period (sd), a share of them missing.
    Comb { period: f64, jitter: f64, missing: f64 },
    /// One activation in every `period` is slower by the share `by`, in noise of 10 %.
    EachOf { period: u64, by: f64 },
    /// A wave whose amplitude is `by` standard deviations of the noise.
    Wave { period: f64, by: f64 },
}

impl Periodic {
    /// Returns the name in tables.
    pub fn name(self) -> String {
        match self {
            Periodic::Comb { period, jitter, missing } => {
                let jitter = if jitter > 0.0 { format!(", +-{} %", 100.0 * jitter) } else { String::new() };
                let missing =
                    if missing > 0.0 { format!(", {} % missing", 100.0 * missing) } else { String::new() };
                format!("spikes every {period} ms{jitter}{missing}")
            }
            Periodic::EachOf { period, by } => format!("+{} % on each {period}th, in 10 % noise", 100.0 * by),
            Periodic::Wave { period, by } => format!("wave of {by} sd, {period} ms"),
        }
    }

    fn period(self) -> f64 {
        match self {
            Periodic::Comb { period, .. } | Periodic::Wave { period, .. } => period,
            Periodic::EachOf { period, .. } => period as f64,
        }
    }

    fn latencies(self, noise: &mut Noise, count: usize) -> Vec<f64> {
        let sd = if matches!(self, Periodic::EachOf { .. }) { 0.1 } else { 0.2 };
        let mut all: Vec<f64> = (0..count).map(|_| LEVEL_NS * (1.0 + sd * noise.normal())).collect();
        let start = noise.uniform();
        match self {
            Periodic::Comb { period, jitter, missing } => {
                let mut due = start * period;
                while due < count as f64 {
                    let at = due + jitter * period * noise.normal();
                    if noise.uniform() >= missing && at >= 0.0 && (at as usize) < count {
                        all[at as usize] += 2.0 * LEVEL_NS;
                    }
                    due += period;
                }
            }
            Periodic::EachOf { period, by } => {
                let first = (start * period as f64) as usize;
                all.iter_mut().skip(first).step_by(period as usize).for_each(|v| *v += by * LEVEL_NS);
            }
            Periodic::Wave { period, by } => {
                let at = |k: usize| (std::f64::consts::TAU * (start + k as f64 / period)).sin();
                all.iter_mut().enumerate().for_each(|(k, v)| *v += by * sd * LEVEL_NS * at(k));
            }
        }
        all
    }
}

/// Counts of what was found in the runs of one process.
#[derive(Debug, Clone, Default)]
pub struct PatternCounts {
    runs: usize,
    lines: usize,
    spikes: usize,
    locked: usize,
    any: usize,
    jumps: usize,
    drifts: usize,
    apart: usize,
    even: usize,
    spread: usize,
    right: usize,
    more: usize,
}

impl PatternCounts {
    /// Returns the rate of runs in which a period was found.
    pub fn false_period_rate(&self) -> Rate {
        Rate { count: self.any, of: self.runs, bound: FALSE }
    }

    /// Returns the rate of runs in which a few latencies have an even spacing.
    pub fn even_spacing_rate(&self) -> Rate {
        Rate { count: self.even, of: self.runs, bound: FALSE }
    }

    /// Returns the rate of runs whose spread drifts or jumps.
    pub fn spread_change_rate(&self) -> Rate {
        Rate { count: self.spread, of: self.runs, bound: SPREAD }
    }

    /// Returns the rate of runs whose period was not found, or that also show another one.
    pub fn missed_period_rate(&self) -> Rate {
        Rate { count: self.runs - self.right, of: self.runs, bound: MISSED }
    }

    /// Counts the patterns found in a run, and whether its period is right; `truth` is the true period, if any.
    fn add(&mut self, patterns: &Patterns, truth: Option<f64>) {
        let (spectrum, spikes) = (&patterns.spectrum, &patterns.spikes.periodic);
        let lines = spectrum.lines.iter().chain(&spectrum.slow_lines).map(|l| l.fundamental);
        let lines: Vec<f64> = lines.collect();
        let said: Vec<f64> = lines
            .iter()
            .copied()
            .chain(spikes.iter().map(|s| s.period))
            .chain(spectrum.locked.iter().map(|l| l.period as f64))
            .collect();
        let is_true = |period: &f64| truth.is_some_and(|truth| (period / truth - 1.0).abs() < 0.005);
        self.runs += 1;
        self.lines += usize::from(!lines.is_empty());
        self.spikes += usize::from(!spikes.is_empty());
        self.locked += usize::from(!spectrum.locked.is_empty());
        self.any += usize::from(!said.is_empty());
        self.jumps += usize::from(patterns.change.levels.len() > 1);
        self.drifts += usize::from(patterns.change.trend.is_some_and(|t| t.found));
        let isolated = patterns.spikes.isolated.as_ref();
        self.apart += usize::from(isolated.is_some());
        self.even += usize::from(isolated.is_some_and(|i| i.spacing.is_some()));
        self.spread += usize::from(patterns.change.spread.is_some());
        self.right += usize::from(said.iter().any(is_true));
        self.more += usize::from(!said.iter().all(is_true));
    }
}

/// Counts the patterns found in `runs` runs of a process without a period.
pub fn analyze_without_period(process: Process, seconds: usize, runs: usize, seed: u64) -> PatternCounts {
    count_patterns(runs, seed, None, |noise| process.latencies(noise, seconds * SECOND))
}

/// Counts the patterns found in `runs` runs of 100 s with a period.
pub fn analyze_with_period(periodic: Periodic, runs: usize, seed: u64) -> PatternCounts {
    count_patterns(runs, seed, Some(periodic.period()), |noise| periodic.latencies(noise, 100 * SECOND))
}

fn count_patterns(
    runs: usize,
    seed: u64,
    truth: Option<f64>,
    of: impl Fn(&mut Noise) -> Vec<f64>,
) -> PatternCounts {
    let mut found = PatternCounts::default();
    for run in 0..runs as u64 {
        let mut noise = Noise::new(seed * 1_000_000 + run);
        found.add(&Patterns::from_scan(&scan_latencies(&of(&mut noise))), truth);
    }
    found
}

/// Runs of each row in the full tables.
const RUNS: usize = 200;

/// Prints the selected rows of the tables.
pub fn print_table(selection: &TableSelection) {
    let runs = RUNS.min(selection.most);
    print_head(&[
        "no period",
        "length",
        "runs",
        "any period",
        "line",
        "spikes",
        "locked",
        "jump",
        "drift",
        "apart",
        "even",
        "spread",
    ]);
    for (seed, (process, seconds)) in (1..).zip(NULLS).filter(|(_, of)| selection.includes(&of.0.name())) {
        let found = analyze_without_period(process, seconds, runs, seed);
        let counts = [
            found.lines,
            found.spikes,
            found.locked,
            found.jumps,
            found.drifts,
            found.apart,
            found.even,
            found.spread,
        ];
        print_row(
            [
                process.name(),
                format!("{seconds} s"),
                runs.to_string(),
                found.false_period_rate().count_text(),
            ]
            .into_iter()
            .chain(counts.map(|count| count.to_string())),
        );
    }
    print_head(&["a period, 100 s", "runs", "right one not found", "another one, too"]);
    for (seed, periodic) in (101..).zip(PERIODS).filter(|(_, of)| selection.includes(&of.name())) {
        let found = analyze_with_period(periodic, runs, seed);
        print_row([
            periodic.name(),
            runs.to_string(),
            found.missed_period_rate().count_text(),
            found.more.to_string(),
        ]);
    }
}
