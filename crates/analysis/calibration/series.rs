//! Processes of latencies that are not white, with known truth, for testing the statistics.

use std::f64::consts::TAU;

use jitterlab_analysis::extremes::gpd::Gpd;
use jitterlab_analysis::random::Random;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::Activation;
use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};
use statrs::distribution::{ContinuousCDF, Normal};

/// The period of every run here: 1 kHz.
pub const PERIOD_NS: i64 = 1_000_000;
/// Due times in a second.
pub const SECOND: usize = 1_000;

/// Level of the latencies.
pub const LEVEL_NS: f64 = 10_000.0;
/// Standard deviation of their logarithm from one to the next.
const NOISE: f64 = 0.2;
/// Standard deviation of the logarithm of a wandering level.
const WANDER: f64 = 0.4;
/// Share of the time in bursts, and the factor on the latency in a burst.
const BURST: (f64, f64) = (0.01, 3.0);
/// Factor on the latency in the slower of two regimes.
const REGIME: f64 = 1.5;
/// Scale of the heavy tails.
const PARETO_SCALE: f64 = 2_000.0;
/// Share of the rarer of two kinds, and its scale.
const RARE: (f64, f64) = (3e-4, 4.0 * PARETO_SCALE);
/// Steps of a coarse clock.
const TICK: f64 = 1_000.0;

/// Random numbers, normal ones two at a time (Marsaglia & Bray 1964).
#[derive(Debug)]
pub struct Noise {
    uniform: Random,
    spare: Option<f64>,
}

impl Noise {
    /// Creates the sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Noise { uniform: Random::new(seed), spare: None }
    }

    /// Returns a standard normal number.
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

/// A process that generates latencies.
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
    /// Two regimes, of this mean length in seconds.
    Regimes(f64),
    /// Bursts at random times, three times as slow: their number, and latencies in each.
    Spikes(usize, usize),
    /// A generalised Pareto tail of this shape.
    HeavyTail(f64),
    /// A clock that counts microseconds; mean of the latencies above the level, in ns.
    Ticks(f64),
    /// White, with one jump of the level by this many standard deviations, at a random time in the middle of the run.
    Jump(f64),
    /// White, with a level that rises over the run by this many standard deviations.
    Drift(f64),
    /// White, measured by a clock that is fast by this many ppm.
    Clock(f64),
    /// The logarithm walks at random.
    Walk,
    /// White, with a sine of this period in seconds on the level; its amplitude is 0.75 standard deviations.
    SlowWave(f64),
    /// White, and slower by half in one third of every period of this length in seconds: a load that comes and goes.
    LoadInTurns(f64),
    /// Bursts as [`Process::Bursts`] has, but of lengths without a mean to rely on: Pareto, shape 1 / 1.3.
    LongBursts,
    /// Quiet and restless times (GARCH).
    Restless,
    /// Spikes at gaps of one second in the mean that are not even: gamma of shape 4.
    UnevenSpikes,
    /// White, around 0: the task may begin before it is due.
    Early,
    /// The logarithm is fractional Gaussian noise with this exponent (Hurst).
    Fractional(f64),
    /// A weaker period in exponential noise.
    FractionalInNoise(f64),
    /// The scale of exponential latencies is fractional Gaussian noise.
    FractionalScale,
    /// Two regimes with Pareto tails of their lengths: the index, the mean lengths of the slower and the
    /// other one in ms, and the factor by which the first is slower.
    ParetoRegimes(f64, f64, f64, f64),
    /// Each the largest of a value and half of the previous one: extremes come in clusters.
    MovingMaximum,
    /// White, with a spread that grows by half over the run.
    SpreadDrift,
    /// All equal.
    Constant,
    /// Exponential above the level, and three in ten thousand of a rarer kind of four times the scale, whose tail has this
    /// shape.
    TwoKinds(f64),
}

impl Process {
    /// Returns the name in tables.
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
            Process::HeavyTail(shape) => format!("heavy tail, {shape}"),
            Process::Ticks(mean) => format!("1 us ticks, mean {mean:.0} ns"),
            Process::Jump(by) => format!("jump of {by} sd"),
            Process::Drift(by) => format!("drift of {by} sd"),
            Process::Clock(ppm) => format!("clock {ppm} ppm fast"),
            Process::Walk => "random walk".into(),
            Process::SlowWave(time) => format!("wave of {}", seconds(time)),
            Process::LoadInTurns(time) => format!("load in a third of every {}", seconds(time)),
            Process::LongBursts => "bursts of heavy-tailed length".into(),
            Process::Restless => "restless at times".into(),
            Process::UnevenSpikes => "spikes at uneven gaps".into(),
            Process::Early => "early and late".into(),
            Process::Fractional(h) => format!("fractional noise, {h}"),
            Process::FractionalInNoise(h) => format!("fractional noise, {h}, in noise"),
            Process::FractionalScale => "fractional scale".into(),
            Process::ParetoRegimes(index, slow, fast, _) => {
                format!("Pareto regimes, {index}, {slow} ms in {fast} ms")
            }
            Process::MovingMaximum => "moving maximum".into(),
            Process::SpreadDrift => "drift of spread".into(),
            Process::Constant => "constant".into(),
            Process::TwoKinds(0.0) => "two kinds".into(),
            Process::TwoKinds(shape) => format!("two kinds, the rarer heavy, {shape}"),
        }
    }

    /// Returns `count` latencies of it, in ns.
    pub fn latencies(self, random: &mut Noise, count: usize) -> Vec<f64> {
        let noise = |random: &mut Noise| LEVEL_NS * (NOISE * random.normal()).exp();
        let sd = LEVEL_NS * NOISE;
        match self {
            Process::White => (0..count).map(|_| noise(random)).collect(),
            Process::Wandering(time) => {
                let wander = autoregressive(random, count, (-1.0 / (time * SECOND as f64)).exp());
                wander.into_iter().map(|w| noise(random) * (WANDER * w).exp()).collect()
            }
            Process::Autoregressive(r) => {
                autoregressive(random, count, r).into_iter().map(|w| LEVEL_NS * (NOISE * w).exp()).collect()
            }
            Process::Bursts(length) => {
                let slow = alternating_states(random, count, length * (1.0 - BURST.0) / BURST.0, length);
                slow.into_iter().map(|s| noise(random) * if s { BURST.1 } else { 1.0 }).collect()
            }
            Process::Regimes(time) => {
                let mean = time * SECOND as f64;
                let slow = alternating_states(random, count, mean, mean);
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
            Process::HeavyTail(shape) => {
                let excess = |u: f64| PARETO_SCALE / shape * (u.powf(-shape) - 1.0);
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
            Process::SlowWave(time) => {
                let start = random.uniform();
                let at = |k: usize| TAU * (start + k as f64 / (time * SECOND as f64));
                (0..count).map(|k| noise(random) + 0.75 * sd * at(k).sin()).collect()
            }
            Process::LoadInTurns(time) => {
                let (start, every) = (random.uniform(), time * SECOND as f64);
                let loaded = |k: usize| (start + k as f64 / every).fract() < 1.0 / 3.0;
                (0..count).map(|k| noise(random) * if loaded(k) { REGIME } else { 1.0 }).collect()
            }
            Process::LongBursts => {
                let mut all: Vec<f64> = (0..count).map(|_| noise(random)).collect();
                let mut at = 0;
                loop {
                    at += (-5_000.0 * random.uniform().ln()) as usize;
                    let length = (10.0 * random.uniform().powf(-1.0 / 1.3)) as usize;
                    let Some(burst) = all.get_mut(at..count.min(at.saturating_add(length))) else { break };
                    burst.iter_mut().for_each(|v| *v *= BURST.1);
                    at += length + 1;
                }
                all
            }
            Process::Restless => {
                let (mut variance, mut last) = (1.0f64, 0.0f64);
                (0..count)
                    .map(|_| {
                        variance = 0.02 + 0.1 * last * last + 0.88 * variance;
                        last = variance.sqrt() * random.normal();
                        LEVEL_NS + sd / 2.0 * last
                    })
                    .collect()
            }
            Process::UnevenSpikes => {
                let mut all: Vec<f64> = (0..count).map(|_| noise(random)).collect();
                let mut at = 0.0;
                loop {
                    at -= (0..4).map(|_| random.uniform().ln()).sum::<f64>() * SECOND as f64 / 4.0;
                    let Some(spike) = all.get_mut(at as usize) else { break };
                    *spike += 3.0 * LEVEL_NS;
                }
                all
            }
            Process::Early => (0..count).map(|_| sd / 2.0 * random.normal()).collect(),
            Process::Fractional(h) => {
                fractional_noise(random, count, h).into_iter().map(|w| LEVEL_NS * (0.3 * w).exp()).collect()
            }
            Process::FractionalInNoise(h) => {
                let wander = fractional_noise(random, count, h);
                let exponential = |random: &mut Noise| -0.15 * LEVEL_NS * random.uniform().ln();
                wander.into_iter().map(|w| LEVEL_NS * (0.15 * w).exp() + exponential(random)).collect()
            }
            Process::FractionalScale => {
                let scale = fractional_noise(random, count, 0.9);
                scale.into_iter().map(|w| LEVEL_NS - sd * (0.6 * w).exp() * random.uniform().ln()).collect()
            }
            Process::ParetoRegimes(index, slow, fast, by) => {
                let states = pareto_states(random, count, index, [fast, slow]);
                states.into_iter().map(|s| noise(random) * if s { by } else { 1.0 }).collect()
            }
            Process::MovingMaximum => {
                let mut largest = 1.0f64;
                (0..count)
                    .map(|_| {
                        largest = (largest / 2.0).max(-0.5 / random.uniform().ln());
                        LEVEL_NS + sd / 2.0 * largest.ln()
                    })
                    .collect()
            }
            Process::SpreadDrift => {
                let spread = |k: usize| NOISE * (1.0 + 0.5 * k as f64 / count as f64);
                (0..count).map(|k| LEVEL_NS * (spread(k) * random.normal()).exp()).collect()
            }
            Process::Constant => vec![LEVEL_NS; count],
            Process::TwoKinds(shape) => (0..count)
                .map(|_| {
                    let is_rare = random.uniform() < RARE.0;
                    let (scale, shape) = if is_rare { (RARE.1, shape) } else { (PARETO_SCALE, 0.0) };
                    LEVEL_NS + Gpd { scale, shape }.excess_exceeded_with(random.uniform())
                })
                .collect(),
        }
    }

    /// True if its statistics do not change over the run and are known.
    pub fn has_truth(self) -> bool {
        !matches!(
            self,
            Process::Jump(_)
                | Process::Drift(_)
                | Process::Clock(_)
                | Process::Walk
                | Process::Spikes(..)
                | Process::LongBursts
                | Process::Restless
                | Process::UnevenSpikes
                | Process::SlowWave(_)
                | Process::Fractional(_)
                | Process::FractionalInNoise(_)
                | Process::FractionalScale
                | Process::ParetoRegimes(..)
                | Process::MovingMaximum
                | Process::SpreadDrift
                | Process::Constant
        )
    }

    /// Returns the share of latencies above a value, for a process that does not change.
    pub fn survival(self, ns: f64) -> f64 {
        let log_normal = |sd: f64, level: f64| Normal::standard().sf((ns / level).max(1e-300).ln() / sd);
        match self {
            Process::Wandering(_) => log_normal(NOISE.hypot(WANDER), LEVEL_NS),
            Process::Bursts(_) => {
                BURST.0 * log_normal(NOISE, BURST.1 * LEVEL_NS)
                    + (1.0 - BURST.0) * log_normal(NOISE, LEVEL_NS)
            }
            Process::Regimes(_) => 0.5 * (log_normal(NOISE, REGIME * LEVEL_NS) + log_normal(NOISE, LEVEL_NS)),
            Process::LoadInTurns(_) => {
                (log_normal(NOISE, REGIME * LEVEL_NS) + 2.0 * log_normal(NOISE, LEVEL_NS)) / 3.0
            }
            Process::HeavyTail(shape) => {
                (1.0 + shape * (ns - LEVEL_NS).max(0.0) / PARETO_SCALE).powf(-1.0 / shape)
            }
            Process::Early => Normal::standard().sf(ns / (LEVEL_NS * NOISE / 2.0)),
            Process::TwoKinds(shape) => {
                let above = |scale, shape| Gpd { scale, shape }.survival(ns - LEVEL_NS);
                (1.0 - RARE.0) * above(PARETO_SCALE, 0.0) + RARE.0 * above(RARE.1, shape)
            }
            Process::Fractional(_) => log_normal(0.3, LEVEL_NS),
            Process::ParetoRegimes(_, slow, fast, by) => {
                (slow * log_normal(NOISE, by * LEVEL_NS) + fast * log_normal(NOISE, LEVEL_NS)) / (slow + fast)
            }
            Process::Ticks(mean) => (-((ns / TICK).floor() * TICK + TICK - LEVEL_NS).max(0.0) / mean).exp(),
            _ => log_normal(NOISE, LEVEL_NS),
        }
    }

    /// Returns the quantile with this share above it.
    pub fn quantile(self, above: f64) -> f64 {
        let (mut low, mut high) = (-1e6, 1e12);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if self.survival(middle) > above { low = middle } else { high = middle }
        }
        high
    }

    /// Returns the mean.
    pub fn mean(self) -> f64 {
        let log_normal = |sd: f64| LEVEL_NS * (sd * sd / 2.0).exp();
        match self {
            Process::Wandering(_) => log_normal(NOISE.hypot(WANDER)),
            Process::Bursts(_) => log_normal(NOISE) * (1.0 + BURST.0 * (BURST.1 - 1.0)),
            Process::Regimes(_) => log_normal(NOISE) * (1.0 + REGIME) / 2.0,
            Process::HeavyTail(shape) => LEVEL_NS + PARETO_SCALE / (1.0 - shape),
            Process::LoadInTurns(_) => log_normal(NOISE) * (2.0 + REGIME) / 3.0,
            Process::Early => 0.0,
            Process::TwoKinds(shape) => {
                LEVEL_NS + (1.0 - RARE.0) * PARETO_SCALE + RARE.0 * RARE.1 / (1.0 - shape)
            }
            Process::Ticks(mean) => LEVEL_NS + TICK / ((TICK / mean).exp() - 1.0),
            _ => log_normal(NOISE),
        }
    }
}

/// Returns a standard normal AR(1) process.
pub fn autoregressive(random: &mut Noise, count: usize, r: f64) -> Vec<f64> {
    let (mut level, step) = (random.normal(), (1.0 - r * r).sqrt());
    (0..count)
        .map(|_| {
            level = r * level + step * random.normal();
            level
        })
        .collect()
}

/// Returns alternating states of geometric lengths: false of mean length `first`, true of `second`. It starts
/// stationary.
pub fn alternating_states(random: &mut Noise, count: usize, first: f64, second: f64) -> Vec<bool> {
    let mut state = random.uniform() < second / (first + second);
    (0..count)
        .map(|_| {
            state ^= random.uniform() < 1.0 / if state { second } else { first };
            state
        })
        .collect()
}

/// Returns standard fractional Gaussian noise with this exponent, by its spectrum (Davies & Harte 1987).
fn fractional_noise(random: &mut Noise, count: usize, h: f64) -> Vec<f64> {
    let half = count.next_power_of_two();
    let fourier = Radix4::new(2 * half, FftDirection::Forward);
    let covariance = |lag: usize| {
        let lag = lag.min(2 * half - lag) as f64;
        let power = |x: f64| x.abs().powf(2.0 * h);
        (power(lag + 1.0) - 2.0 * power(lag) + power(lag - 1.0)) / 2.0
    };
    let mut spectrum: Vec<Complex<f64>> =
        (0..2 * half).map(|lag| Complex::new(covariance(lag), 0.0)).collect();
    fourier.process(&mut spectrum);
    for power in &mut spectrum {
        let scale = (power.re.max(0.0) / (2 * half) as f64).sqrt();
        *power = Complex::new(scale * random.normal(), scale * random.normal());
    }
    fourier.process(&mut spectrum);
    spectrum.iter().take(count).map(|of| of.re).collect()
}

/// Returns alternating states, of lengths with Pareto tails and these means in ms.
fn pareto_states(random: &mut Noise, count: usize, index: f64, means: [f64; 2]) -> Vec<bool> {
    let mut state = random.uniform() < means[1] / (means[0] + means[1]);
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let shortest = means[usize::from(state)] * (index - 1.0) / index;
        let length = (shortest * random.uniform().powf(-1.0 / index)).max(1.0) as usize;
        all.extend(std::iter::repeat_n(state, length.min(count - all.len())));
        state = !state;
    }
    all
}

/// Execution time of an activation beyond its latency, in ns.
pub const WORK_NS: f64 = 2_000.0;

/// Returns the scan of a run with these latencies. Each execution time is the latency plus [`WORK_NS`].
pub fn scan_latencies(latencies_ns: &[f64]) -> TaskScan {
    let mut scan = TaskScan::new(PERIOD_NS, latencies_ns.len() as u64);
    let mut rows = Vec::with_capacity(4_096);
    for (number, chunk) in latencies_ns.chunks(4_096).enumerate() {
        rows.clear();
        rows.extend((number as u64 * 4_096..).zip(chunk).map(|(index, ns)| {
            let due_ns = index as i64 * PERIOD_NS;
            let start_ns = due_ns + ns.round() as i64;
            let end_ns = start_ns + (WORK_NS + ns).round() as i64;
            Activation { index, due_ns, start_ns, end_ns, ..Activation::default() }
        }));
        scan.push_all(&rows);
    }
    scan
}
