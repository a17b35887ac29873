//! Latencies whose truth is known, and that are not white: what statistics have to hold on.

use jitterlab_analysis::random::Random;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::Activation;
use statrs::distribution::{ContinuousCDF, Normal};

/// The period of every run here: 1 kHz.
pub const PERIOD_NS: i64 = 1_000_000;
/// Due times in a second.
pub const SECOND: usize = 1_000;

/// Level of the latencies.
pub const LEVEL_NS: f64 = 10_000.0;
/// Standard deviation of their logarithm from one to the next.
const NOISE: f64 = 0.2;
/// Standard deviation of the logarithm of what wanders.
const WANDER: f64 = 0.4;
/// Share of the time that bursts take, and what a latency is multiplied by in one.
const BURST: (f64, f64) = (0.01, 3.0);
/// What a latency is multiplied by in the slower of two regimes.
const REGIME: f64 = 1.5;
/// Shape and scale of the heavy tail.
const PARETO: (f64, f64) = (0.3, 2_000.0);
/// Steps of a coarse clock.
const TICK: f64 = 1_000.0;

/// Random numbers, normal ones two at a time (Marsaglia & Bray 1964).
#[derive(Debug)]
pub struct Noise {
    uniform: Random,
    spare: Option<f64>,
}

impl Noise {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Noise { uniform: Random::new(seed), spare: None }
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform.uniform() - 1.0, 2.0 * self.uniform.uniform() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(factor * y);
                return factor * x;
            }
        }
    }

    /// As [`Random::uniform`].
    pub fn uniform(&mut self) -> f64 {
        self.uniform.uniform()
    }

    /// As [`Random::below`].
    pub fn below(&mut self, limit: usize) -> usize {
        self.uniform.below(limit)
    }
}

/// A process that makes latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Process {
    /// Independent, log-normal.
    White,
    /// A log-normal level that wanders with this correlation time in seconds (Ornstein & Uhlenbeck), and white noise.
    Wandering(f64),
    /// An AR(1) process of the logarithm, with this correlation from one to the next.
    Autoregressive(f64),
    /// Bursts of this mean length (geometric), 1 % of the time.
    Bursts(f64),
    /// Two regimes of so many seconds in the mean.
    Regimes(f64),
    /// So many bursts of so many latencies at any time, three times as slow.
    Spikes(usize, usize),
    /// A generalised Pareto tail.
    HeavyTail,
    /// A clock that counts microseconds, and latencies of so many ns above the level in the mean.
    Ticks(f64),
    /// White, and the level jumps once by so many standard deviations, at any time of the middle of the run.
    Jump(f64),
    /// White, and the level rises over the run by so many standard deviations.
    Drift(f64),
    /// White, by a clock that is so many ppm fast.
    Clock(f64),
    /// The logarithm walks at random.
    Walk,
}

impl Process {
    /// What tables call it.
    pub fn name(self) -> String {
        let seconds = |s: f64| if s < 1.0 { format!("{} ms", s * 1e3) } else { format!("{s} s") };
        match self {
            Process::White => "white".into(),
            Process::Wandering(time) => format!("wandering, {}", seconds(time)),
            Process::Autoregressive(r) => format!("AR(1), {r}"),
            Process::Bursts(length) => format!("bursts of {length}"),
            Process::Regimes(time) => format!("regimes of {}", seconds(time)),
            Process::Spikes(bursts, 1) => format!("{bursts} random spikes"),
            Process::Spikes(bursts, length) => format!("{bursts} random bursts of {length}"),
            Process::HeavyTail => "heavy tail".into(),
            Process::Ticks(mean) => format!("1 us ticks, mean {mean:.0} ns"),
            Process::Jump(by) => format!("jump of {by} sd"),
            Process::Drift(by) => format!("drift of {by} sd"),
            Process::Clock(ppm) => format!("clock {ppm} ppm fast"),
            Process::Walk => "random walk".into(),
        }
    }

    /// So many latencies of it, in ns.
    pub fn latencies(self, random: &mut Noise, count: usize) -> Vec<f64> {
        let noise = |random: &mut Noise| LEVEL_NS * (NOISE * random.normal()).exp();
        let sd = LEVEL_NS * NOISE;
        match self {
            Process::White => (0..count).map(|_| noise(random)).collect(),
            Process::Wandering(time) => {
                let wander = correlated(random, count, (-1.0 / (time * SECOND as f64)).exp());
                wander.into_iter().map(|w| noise(random) * (WANDER * w).exp()).collect()
            }
            Process::Autoregressive(r) => {
                correlated(random, count, r).into_iter().map(|w| LEVEL_NS * (NOISE * w).exp()).collect()
            }
            Process::Bursts(length) => {
                let slow = states(random, count, length * (1.0 - BURST.0) / BURST.0, length);
                slow.into_iter().map(|s| noise(random) * if s { BURST.1 } else { 1.0 }).collect()
            }
            Process::Regimes(time) => {
                let mean = time * SECOND as f64;
                let slow = states(random, count, mean, mean);
                slow.into_iter().map(|s| noise(random) * if s { REGIME } else { 1.0 }).collect()
            }
            Process::Spikes(bursts, length) => {
                let mut all: Vec<f64> = (0..count).map(|_| noise(random)).collect();
                for _ in 0..bursts {
                    let at = random.below(count - length);
                    all[at..at + length].iter_mut().for_each(|v| *v *= BURST.1);
                }
                all
            }
            Process::HeavyTail => {
                let excess = |u: f64| PARETO.1 / PARETO.0 * (u.powf(-PARETO.0) - 1.0);
                (0..count).map(|_| LEVEL_NS + excess(random.uniform())).collect()
            }
            Process::Ticks(mean) => {
                let exact = |random: &mut Noise| LEVEL_NS - mean * random.uniform().ln();
                (0..count).map(|_| (exact(random) / TICK).floor() * TICK).collect()
            }
            Process::Jump(by) => {
                let at = count / 5 + random.below(count * 3 / 5);
                (0..count).map(|k| noise(random) + if k >= at { by * sd } else { 0.0 }).collect()
            }
            Process::Drift(by) => {
                (0..count).map(|k| noise(random) + by * sd * k as f64 / count as f64).collect()
            }
            Process::Clock(ppm) => {
                let rise = ppm * 1e-6 * PERIOD_NS as f64;
                (0..count).map(|k| noise(random) + rise * k as f64).collect()
            }
            Process::Walk => {
                let mut level = 0.0;
                let step = WANDER / (10.0 * SECOND as f64).sqrt();
                (0..count)
                    .map(|_| {
                        level += step * random.normal();
                        LEVEL_NS * (NOISE * random.normal() + level).exp()
                    })
                    .collect()
            }
        }
    }

    /// The share of latencies above a value, of a process that stays what it is.
    pub fn survival(self, ns: f64) -> f64 {
        let log_normal = |sd: f64, level: f64| Normal::standard().sf((ns / level).max(1e-300).ln() / sd);
        match self {
            Process::Wandering(_) => log_normal(NOISE.hypot(WANDER), LEVEL_NS),
            Process::Bursts(_) => {
                BURST.0 * log_normal(NOISE, BURST.1 * LEVEL_NS)
                    + (1.0 - BURST.0) * log_normal(NOISE, LEVEL_NS)
            }
            Process::Regimes(_) => 0.5 * (log_normal(NOISE, REGIME * LEVEL_NS) + log_normal(NOISE, LEVEL_NS)),
            Process::HeavyTail => {
                (1.0 + PARETO.0 * (ns - LEVEL_NS).max(0.0) / PARETO.1).powf(-1.0 / PARETO.0)
            }
            Process::Ticks(mean) => (-((ns / TICK).floor() * TICK + TICK - LEVEL_NS).max(0.0) / mean).exp(),
            _ => log_normal(NOISE, LEVEL_NS),
        }
    }

    /// Its quantile that this share lies above.
    pub fn quantile(self, above: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1e12);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if self.survival(middle) > above { low = middle } else { high = middle }
        }
        high
    }

    /// Its mean.
    pub fn mean(self) -> f64 {
        let log_normal = |sd: f64| LEVEL_NS * (sd * sd / 2.0).exp();
        match self {
            Process::Wandering(_) => log_normal(NOISE.hypot(WANDER)),
            Process::Bursts(_) => log_normal(NOISE) * (1.0 + BURST.0 * (BURST.1 - 1.0)),
            Process::Regimes(_) => log_normal(NOISE) * (1.0 + REGIME) / 2.0,
            Process::HeavyTail => LEVEL_NS + PARETO.1 / (1.0 - PARETO.0),
            Process::Ticks(mean) => LEVEL_NS + TICK / ((TICK / mean).exp() - 1.0),
            _ => log_normal(NOISE),
        }
    }
}

/// A standard normal AR(1) process.
pub fn correlated(random: &mut Noise, count: usize, r: f64) -> Vec<f64> {
    let (mut level, step) = (random.normal(), (1.0 - r * r).sqrt());
    (0..count)
        .map(|_| {
            level = r * level + step * random.normal();
            level
        })
        .collect()
}

/// Two states that take turns, each of a geometric length of this mean; begun as in the long run.
pub fn states(random: &mut Noise, count: usize, first: f64, second: f64) -> Vec<bool> {
    let mut state = random.uniform() < second / (first + second);
    (0..count)
        .map(|_| {
            state ^= random.uniform() < 1.0 / if state { second } else { first };
            state
        })
        .collect()
}

/// The scan of a run with these latencies.
pub fn scan(latencies_ns: &[f64]) -> TaskScan {
    let mut scan = TaskScan::new(PERIOD_NS, latencies_ns.len() as u64);
    let mut rows = Vec::with_capacity(4_096);
    for (number, chunk) in latencies_ns.chunks(4_096).enumerate() {
        rows.clear();
        rows.extend((number as u64 * 4_096..).zip(chunk).map(|(index, ns)| {
            let due_ns = index as i64 * PERIOD_NS;
            let start_ns = due_ns + ns.round() as i64;
            Activation { index, due_ns, start_ns, end_ns: start_ns + 1_000, ..Activation::default() }
        }));
        scan.push_all(&rows);
    }
    scan
}
