//! Error rates of `predict --require`: broken requirements that pass, and met ones that fail.

use jitterlab_analysis::require::{BreachCounter, Breaches, Evidence, Outcome, Requirement};
use jitterlab_model::Activation;

use super::series::{Noise, PERIOD_NS, Process, alternating_states, autoregressive};
use super::table::{Rate, TableSelection, print_head, print_row, share_text};

/// Requirements that are decided wrongly, either way.
const WRONG: f64 = 0.05;

/// Processes that break a requirement, with the longest burst if it is known.
pub const ROWS: [(Breaking, Option<u64>); 23] = [
    (Breaking::Singly(20.0), None),
    (Breaking::Bursts(50.0, 6.0), None),
    (Breaking::Bursts(50.0, 30.0), None),
    (Breaking::Bursts(200.0, 0.15), None),
    (Breaking::Bursts(200.0, 1.5), None),
    (Breaking::Bursts(200.0, 7.5), None),
    (Breaking::Bursts(200.0, 50.0), None),
    (Breaking::Mixed(100.0, 50.0, 6.0), None),
    (Breaking::Mixed(600.0, 200.0, 5.0), None),
    (Breaking::Regimes, None),
    (Breaking::State, None),
    (Breaking::Wandering(1.0, 0.01), None),
    (Breaking::Wandering(0.01, 0.001), None),
    (Breaking::MovingMaximum(0.01), None),
    (Breaking::Above(Process::White, 0.01), None),
    (Breaking::Above(Process::Fractional(0.85), 0.01), None),
    (Breaking::Above(Process::Fractional(0.95), 0.01), None),
    (Breaking::Above(Process::ParetoRegimes(1.3, 1_500.0, 4_000.0, 1.4), 0.01), None),
    (Breaking::Above(Process::ParetoRegimes(1.1, 800.0, 800.0, 1.4), 0.01), None),
    (Breaking::Singly(3.0), Some(1)),
    (Breaking::Singly(3.0), Some(50)),
    (Breaking::Bursts(50.0, 1.0), Some(150)),
    (Breaking::Bursts(50.0, 3.0), Some(150)),
];

/// Runs of each row in the full table.
const RUNS: usize = 2_000;

/// Prints the selected rows of the table.
pub fn print_table(selection: &TableSelection) {
    print_head(&[
        "breaches in 300 s",
        "known: at most",
        "passed just below the truth",
        "failed just above it",
        "passed at ten times it",
        "failed at a tenth",
        "upper limit / truth, median",
    ]);
    for (seed, (breaking, known)) in (1..).zip(ROWS).filter(|(_, of)| selection.includes(&of.0.name())) {
        let found = judge(breaking, known, RUNS.min(selection.most), seed);
        let share = |count: usize| share_text(count as f64 / found.runs as f64);
        print_row([
            breaking.name(),
            known.map_or("-".into(), |together| together.to_string()),
            found.false_passes().to_string(),
            found.false_fails().to_string(),
            share(found.easy_passes),
            share(found.easy_fails),
            format!("{:.2}", found.ratios[found.ratios.len() / 2]),
        ]);
    }
}

/// Due times of a run: 300 s at 1 kHz.
const RUN: usize = 300_000;

/// A process that breaks a requirement at some of its due times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Breaking {
    /// Independent breaches: their number in a run.
    Singly(f64),
    /// Bursts: their mean length (geometric), and their number in a run.
    Bursts(f64, f64),
    /// Independent breaches and bursts: number of the first, mean length and number of the bursts.
    Mixed(f64, f64, f64),
    /// One regime of 10 s in the mean, 5 % of the time, in which a tenth is broken.
    Regimes,
    /// Two states of 5 s in the mean; 1 % of one of them.
    State,
    /// The largest of a wandering level: correlation time in seconds, share.
    Wandering(f64, f64),
    /// The largest of a moving maximum (ARMAX) of extremal index 0.1, share.
    MovingMaximum(f64),
    /// The largest share of the values of this process, judged with the memory that the values show.
    Above(Process, f64),
}

impl Breaking {
    /// Returns the name in tables.
    pub fn name(self) -> String {
        match self {
            Breaking::Singly(number) => format!("{number} singly"),
            Breaking::Bursts(length, number) => format!("{number} bursts of {length}"),
            Breaking::Mixed(single, length, number) => {
                format!("{single} singly, {number} bursts of {length}")
            }
            Breaking::Regimes => "regimes of 10 s, 5 % of the time".into(),
            Breaking::State => "1 % of a state of 5 s".into(),
            Breaking::Wandering(time, share) => {
                format!("largest {:.1} %, wandering, {} ms", 100.0 * share, 1e3 * time)
            }
            Breaking::MovingMaximum(share) => format!("largest {:.1} %, extremal index 0.1", 100.0 * share),
            Breaking::Above(process, share) => format!("largest {:.1} %, {}", 100.0 * share, process.name()),
        }
    }

    /// Returns the long-run share of breaches.
    pub fn breach_share(self) -> f64 {
        match self {
            Breaking::Singly(number) => number / RUN as f64,
            // For independent bursts of mean length L that begin at a rate r.
            Breaking::Bursts(length, number) => number * length / (RUN as f64 + number * length),
            Breaking::Mixed(single, length, number) => {
                let [single, burst] =
                    [Breaking::Singly(single), Breaking::Bursts(length, number)].map(Breaking::breach_share);
                1.0 - (1.0 - single) * (1.0 - burst)
            }
            Breaking::Regimes => 0.005,
            Breaking::State => 0.005,
            Breaking::Wandering(_, share) | Breaking::MovingMaximum(share) | Breaking::Above(_, share) => {
                share
            }
        }
    }

    /// Returns the breaches counted in one generated run.
    fn breaches(self, noise: &mut Noise) -> Breaches {
        if let Breaking::Above(process, share) = self {
            let limit_ns = process.quantile(share) as i64;
            let required = Requirement { limit_ns, ..sample_requirement() };
            let mut counter = BreachCounter::new(&required, PERIOD_NS);
            for (index, latency_ns) in (0..).zip(process.latencies(noise, RUN)) {
                let due_ns = index as i64 * PERIOD_NS;
                let start_ns = due_ns + latency_ns as i64;
                counter.push(&Activation {
                    index,
                    due_ns,
                    start_ns,
                    end_ns: start_ns,
                    ..Activation::default()
                });
            }
            return counter.breaches();
        }
        let mut breaches = Breaches::default();
        let one = Evidence { values: 0, broke: 1, may_have_broken: 1 };
        breaches.push(0, RUN as u64, &Evidence { values: RUN as u64, ..Evidence::default() });
        self.breach_positions(noise).into_iter().for_each(|at| breaches.push(at, 1, &one));
        breaches
    }

    /// Returns the positions of the breaches in a run.
    fn breach_positions(self, noise: &mut Noise) -> Vec<u64> {
        let mut at = Vec::new();
        let mut take = |from: usize, to: usize| at.extend(from as u64..to.min(RUN) as u64);
        match self {
            Breaking::Singly(_) => for_each_event(noise, self.breach_share(), |k| take(k, k + 1)),
            Breaking::Bursts(length, number) => {
                let mut k = 0;
                let mut burst = noise.uniform() < self.breach_share();
                while k < RUN {
                    let mean = if burst { length } else { RUN as f64 / number };
                    let next = k + 1 + (noise.uniform().ln() / (-1.0 / mean).ln_1p()) as usize;
                    if burst {
                        take(k, next);
                    }
                    (k, burst) = (next, !burst);
                }
            }
            Breaking::Mixed(single, length, number) => {
                at = Breaking::Singly(single).breach_positions(noise);
                at.extend(Breaking::Bursts(length, number).breach_positions(noise));
                at.sort_unstable();
                at.dedup();
            }
            Breaking::Regimes | Breaking::State => {
                let (rest, length, share) =
                    if self == Breaking::Regimes { (190_000.0, 10_000.0, 0.1) } else { (5e3, 5e3, 0.01) };
                let state = alternating_states(noise, RUN, rest, length);
                for_each_event(noise, share, |k| {
                    if state[k] {
                        take(k, k + 1);
                    }
                });
            }
            Breaking::Wandering(time, share) => {
                let level = normal_quantile(share);
                let wander = autoregressive(noise, RUN, (-1.0 / (1e3 * time)).exp());
                wander.iter().enumerate().filter(|(_, w)| **w > level).for_each(|(k, _)| take(k, k + 1));
            }
            Breaking::MovingMaximum(share) => {
                // X = max(0.9 X, 0.1 Z) with unit Frechet Z is unit Frechet.
                let level = -1.0 / (1.0 - share).ln();
                let mut x = -1.0 / noise.uniform().ln();
                for k in 0..RUN {
                    x = (0.9 * x).max(-0.1 / noise.uniform().ln());
                    if x > level {
                        take(k, k + 1);
                    }
                }
            }
            // Found by their values.
            Breaking::Above(..) => {}
        }
        at
    }
}

/// Calls `at` with the position of each independent event of this probability in a run.
fn for_each_event(noise: &mut Noise, share: f64, mut at: impl FnMut(usize)) {
    let next = |noise: &mut Noise| (noise.uniform().ln() / (-share).ln_1p()) as usize;
    let mut k = next(noise);
    while k < RUN {
        at(k);
        k += 1 + next(noise);
    }
}

fn normal_quantile(above: f64) -> f64 {
    use statrs::distribution::{ContinuousCDF, Normal};
    Normal::standard().inverse_cdf(1.0 - above)
}

/// Results of judging requirements on runs.
#[derive(Debug, Clone, Default)]
pub struct Decisions {
    /// Runs.
    pub runs: usize,
    /// Requirements just below the true share that passed.
    passed: usize,
    /// Requirements just above it that failed.
    failed: usize,
    /// Of a requirement of ten times the true share: passed.
    pub easy_passes: usize,
    /// Of a requirement of a tenth of it: failed.
    pub easy_fails: usize,
    /// Upper limits over the true share.
    pub ratios: Vec<f64>,
}

impl Decisions {
    /// Returns the rate of requirements just below the true share that passed.
    pub fn false_passes(&self) -> Rate {
        Rate { count: self.passed, of: self.runs, bound: WRONG }
    }

    /// Returns the rate of requirements just above it that failed.
    pub fn false_fails(&self) -> Rate {
        Rate { count: self.failed, of: self.runs, bound: WRONG }
    }
}

/// Judges `runs` runs by 0.1 to 10 times the true share; `burst_at_most` is the longest burst, if it is known.
pub fn judge(breaking: Breaking, burst_at_most: Option<u64>, runs: usize, seed: u64) -> Decisions {
    let mut found = Decisions { runs, ..Decisions::default() };
    let share = breaking.breach_share();
    let decide = |breaches: &Breaches, factor: f64| {
        let requirement = Requirement { share: share * factor, ..sample_requirement() };
        requirement.judge(breaches, burst_at_most)
    };
    for run in 0..runs as u64 {
        let mut noise = Noise::new(seed * 1_000_000 + run);
        let breaches = breaking.breaches(&mut noise);
        found.passed += usize::from(decide(&breaches, 0.999).outcome == Outcome::Pass);
        found.failed += usize::from(decide(&breaches, 1.001).outcome == Outcome::Fail);
        found.easy_passes += usize::from(decide(&breaches, 10.0).outcome == Outcome::Pass);
        found.easy_fails += usize::from(decide(&breaches, 0.1).outcome == Outcome::Fail);
        found.ratios.push(decide(&breaches, 1.0).share_limits[1] / share);
    }
    found.ratios.sort_by(f64::total_cmp);
    found
}

#[expect(clippy::unwrap_used, reason = "the text is written here")]
fn sample_requirement() -> Requirement {
    "p99 < 80us".parse().unwrap()
}
