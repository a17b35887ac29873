//! Error rates of `predict`: bounds and limits that do not hold, on processes of known truth.

use jitterlab_analysis::predict::predict;

use super::series::{Noise, PERIOD_NS, Process, SECOND, scan_latencies};
use super::table::{Rate, TableSelection, print_head, print_row, share_text};

/// Bound on the share of runs whose bound or limit does not hold.
const WRONG: f64 = 0.05;

/// Due times of a run, and horizon as a multiple of the run.
const RUN: usize = 100 * SECOND;
const AHEAD: usize = 10;

/// Processes that stay the same over all 1100 s.
pub const ROWS: [Process; 21] = [
    Process::White,
    Process::Autoregressive(0.9),
    Process::Wandering(0.01),
    Process::Wandering(1.0),
    Process::Wandering(20.0),
    Process::Regimes(5.0),
    Process::Regimes(20.0),
    Process::Bursts(50.0),
    Process::Bursts(200.0),
    Process::LongBursts,
    Process::HeavyTail(0.3),
    Process::HeavyTail(0.83),
    Process::Ticks(2_000.0),
    Process::Walk,
    Process::SlowWave(37.0),
    Process::LoadInTurns(30.0),
    Process::Restless,
    Process::UnevenSpikes,
    Process::Early,
    Process::TwoKinds(0.0),
    Process::TwoKinds(0.2),
];

/// Limits of quantiles that are examined.
const LIMITS: [f64; 3] = [1e-2, 1e-3, 1e-4];

/// Number of runs of each row, unless given.
const RUNS: usize = 200;

/// Results of the predictions for one process.
#[derive(Debug, Clone, Default)]
pub struct Predictions {
    runs: usize,
    bounded: usize,
    exceeded: usize,
    max_held: usize,
    /// By limit: number given without a condition, and number below the true quantile.
    limits: [(usize, usize); 3],
}

impl Predictions {
    /// Returns the rate of runs whose bound was exceeded afterwards.
    pub fn exceeded_rate(&self) -> Rate {
        Rate { count: self.exceeded, of: self.runs, bound: WRONG }
    }

    /// Returns, for each quantile, the rate of runs whose limit lies below the true one.
    pub fn low_limit_rates(&self) -> [Rate; 3] {
        self.limits.map(|(_, wrong)| Rate { count: wrong, of: self.runs, bound: WRONG })
    }
}

/// Predicts from `runs` runs, and counts the bounds and limits that what follows them breaks.
pub fn predict_runs(process: Process, runs: usize, seed: u64) -> Predictions {
    let mut found = Predictions { runs, ..Predictions::default() };
    let truths = process.has_truth().then(|| LIMITS.map(|above| process.quantile(above)));
    for run in 0..runs as u64 {
        let mut noise = Noise::new(seed * 1_000_000 + run);
        let all = process.latencies(&mut noise, RUN * (1 + AHEAD));
        let (seen, later) = all.split_at(RUN);
        let Some(tail) = scan_latencies(seen).tail() else { continue };
        let said = predict(&tail, (AHEAD * RUN) as f64 * PERIOD_NS as f64, &[]);
        let worst = later.iter().copied().fold(f64::MIN, f64::max);
        found.max_held += usize::from(worst <= said.facts.observed_max_ns as f64);
        if let Some(bound) = said.bound {
            found.bounded += 1;
            found.exceeded += usize::from(worst > bound.bound_ns);
        }
        for ((given, wrong), (n, above)) in found.limits.iter_mut().zip((0..).zip(LIMITS)) {
            let limit = said.facts.quantiles.iter().find(|q| q.share_above == above);
            let Some(limit_ns) = limit.filter(|limit| !limit.if_singly).and_then(|limit| limit.limit_ns)
            else {
                continue;
            };
            *given += 1;
            *wrong += usize::from(truths.is_some_and(|truths| (limit_ns as f64) < truths[n]));
        }
    }
    found
}

/// Prints the selected rows of the table.
pub fn print_table(selection: &TableSelection) {
    let runs = if selection.most == usize::MAX { RUNS } else { selection.most };
    print_head(&["runs of", "bounded", "bound exceeded", "largest not exceeded", "p99", "p99.9", "p99.99"]);
    for (seed, process) in (1..).zip(ROWS).filter(|(_, process)| selection.includes(&process.name())) {
        let found = predict_runs(process, runs, seed);
        let share = |count: usize| share_text(count as f64 / found.runs as f64);
        let limits =
            found.limits.iter().zip(found.low_limit_rates()).map(|((given, _), wrong)| match given {
                0 => "-".to_owned(),
                given if process.has_truth() => format!("{}, {wrong}", share(*given)),
                given => share(*given),
            });
        let first =
            [process.name(), share(found.bounded), found.exceeded_rate().to_string(), share(found.max_held)];
        print_row(first.into_iter().chain(limits));
    }
}
