//! Spectral lines: periodic parts of the latency, such as the tick, a screen's refresh or another task.
//!
//! Latencies are ranked first (normal scores), so that no spike makes a spectrum of its own. Wandering makes
//! a floor that falls with frequency: it is fitted piece by piece, as a line of logarithms (Vaughan,
//! Astronomy & Astrophysics 2005). A spectral line must exceed the floor in the whole series and in both its
//! halves. Lines at multiples of one frequency are one period.

use rustfft::num_complex::Complex;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::checked_beta_reg;
use statrs::function::gamma::digamma;

use crate::fourier::Fourier;
use crate::least_squares::least_squares;
use crate::stationarity::mid_ranks;

/// Chance of any line in noise of any colour.
pub const LEVEL: f64 = 1e-3;
/// Fewest cycles in a series: slower periods cannot be separated from wandering.
pub(crate) const CYCLES: f64 = 12.0;
/// Largest absolute score; larger ones are clipped.
const CLIP: f64 = 2.5;
/// Least number of frequencies that the floor is fitted over, and their least share of the frequency.
const FLOOR: (f64, f64) = (40.0, 0.25);
/// Number of powers whose error equals that of the floor.
const FLOOR_POWERS: f64 = 20.0;
/// Standard deviations of the logarithm above the floor beyond which a power is no part of it.
const BEYOND: f64 = 1.7;
/// Chance that noise reaches the threshold for a line in either half.
const HALF: f64 = 0.01;
/// Frequencies on either side that belong to a line: the width of the Hann window's main lobe.
const LOBE: f64 = 3.0;
/// Lines at most.
const MOST: usize = 64;
/// Largest multiple among which a fundamental without a line of its own must have one.
const HIDDEN: u32 = 4;
/// Fewest values of a series.
const SHORTEST: usize = 256;

/// A line of a spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Line {
    /// Period in steps of the series.
    pub period: f64,
    /// Uncertainty of the period (half a frequency step).
    pub uncertainty: f64,
    /// Half of its peak-to-peak, in the unit of the series.
    pub amplitude: f64,
    /// Power over the noise floor around it.
    pub over_floor: f64,
    /// Probability of any such line in the spectrum of noise.
    pub p: f64,
    /// Period of its fundamental, in steps of the series: its own period if it is a fundamental.
    pub fundamental: f64,
    /// Number of the harmonic, from 1.
    pub harmonic: u32,
}

/// Returns the normal scores of values: independent normal values of the same ranks; `NaN` stays, uncounted.
#[must_use]
pub fn normal_scores(values: &[f64]) -> Vec<f64> {
    let present: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    let (law, count) = (Normal::standard(), present.len() as f64);
    // The law is symmetric, so the scores of the upper half are those of the lower one with the other sign. Mid-ranks are
    // multiples of a half.
    let mut of_lower_half = vec![f64::NAN; present.len()];
    let mut scores = mid_ranks(&present).into_iter().map(|rank| {
        let lower = rank.min(count - 1.0 - rank);
        let score = &mut of_lower_half[(2.0 * lower) as usize];
        if score.is_nan() {
            *score = law.inverse_cdf((lower + 0.5) / count);
        }
        if rank == lower { *score } else { -*score }
    });
    values.iter().map(|v| if v.is_nan() { f64::NAN } else { scores.next().unwrap_or(0.0) }).collect()
}

/// Returns the spectral lines of one series in equally long stretches, those of the strongest fundamental first. One
/// stretch if it is known completely; a missing value is `NaN`.
pub fn lines(stretches: &[&[f64]]) -> Vec<Line> {
    let length = stretches.iter().map(|s| s.len()).min().unwrap_or(0);
    if length < SHORTEST {
        return Vec::new();
    }
    let all: Vec<f64> = stretches.iter().flat_map(|s| s[..length].iter().copied()).collect();
    let scores: Vec<f64> = normal_scores(&all)
        .into_iter()
        .map(|score| if score.is_nan() { 0.0 } else { score.clamp(-CLIP, CLIP) })
        .collect();
    let parts: Vec<&[f64]> = scores.chunks(length).collect();
    let whole = Periodogram::from_stretches(&parts);
    let halves = match parts[..] {
        [only] => only
            .chunks(length.div_ceil(2))
            .map(|half| Periodogram::from_stretches(&[half]))
            .collect::<Vec<_>>(),
        _ => parts.chunks(parts.len().div_ceil(2)).map(Periodogram::from_stretches).collect(),
    };
    let mut found = Vec::new();
    for (at, over, p) in whole.outstanding_powers() {
        let frequency = whole.refined_frequency(at);
        let in_both = halves.iter().all(|half| half.probability_near(frequency) <= HALF);
        let apart = found.iter().all(|l: &Line| (1.0 / l.period - frequency).abs() * length as f64 > LOBE);
        if in_both && apart && found.len() < MOST {
            let period = 1.0 / frequency;
            found.push(Line {
                period,
                uncertainty: 0.5 / length as f64 * period * period,
                amplitude: amplitude(stretches, frequency),
                over_floor: over,
                p,
                fundamental: period,
                harmonic: 1,
            });
        }
    }
    assign_fundamentals(&mut found, length as f64);
    found
}

/// Powers of a series at all frequencies, with the noise floor.
struct Periodogram {
    /// Values in a transform.
    size: f64,
    stretches: f64,
    /// The first frequency examined.
    first: usize,
    power: Vec<f64>,
    floor: Vec<f64>,
}

impl Periodogram {
    /// Averages the periodograms of stretches of one length.
    fn from_stretches(stretches: &[&[f64]]) -> Self {
        let length = stretches.iter().map(|s| s.len()).min().unwrap_or(0);
        let size = length.next_power_of_two();
        let fourier = Fourier::new(size, false);
        let turn = std::f64::consts::TAU / length as f64;
        let window: Vec<f64> = (0..length).map(|i| 0.5 - 0.5 * ((i as f64 + 0.5) * turn).cos()).collect();
        let mut power = vec![0.0; size / 2];
        for values in stretches {
            let mean = values[..length].iter().sum::<f64>() / length as f64;
            let windowed = values.iter().zip(&window).map(|(v, w)| Complex::new((v - mean) * w, 0.0));
            let mut buffer: Vec<Complex<f64>> = windowed.collect();
            buffer.resize(size, Complex::default());
            fourier.process(&mut buffer);
            power.iter_mut().zip(&buffer).for_each(|(sum, c)| *sum += c.norm_sqr());
        }
        let stretches = stretches.len() as f64;
        power.iter_mut().for_each(|p| *p /= stretches);
        let (length, size) = (length as f64, size as f64);
        let first = (CYCLES * size / length).ceil() as usize;
        let floor = noise_floor(&power, first, FLOOR.0 * size / length, stretches);
        Periodogram { size, stretches, first, power, floor }
    }

    fn over_floor_at(&self, at: usize) -> f64 {
        if self.floor[at] > 0.0 { self.power[at] / self.floor[at] } else { 0.0 }
    }

    /// Returns the probability in noise of a power `over` times its floor, allowing for the error of the floor.
    fn probability(&self, over: f64) -> f64 {
        let share = FLOOR_POWERS / (FLOOR_POWERS + self.stretches * over);
        checked_beta_reg(FLOOR_POWERS, self.stretches, share).unwrap_or(1.0)
    }

    /// Returns significant powers, the strongest first: frequency index, ratio to the floor, probability in noise.
    fn outstanding_powers(&self) -> Vec<(usize, f64, f64)> {
        let tried = self.size / 2.0;
        let all = (self.first..self.power.len()).map(|at| (at, self.over_floor_at(at)));
        let mut found: Vec<(usize, f64, f64)> = all
            .map(|(at, over)| (at, over, tried * self.probability(over)))
            .filter(|(_, _, p)| *p <= LEVEL)
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }

    /// Returns the frequency of a line in cycles per step: the top of a parabola through three log powers.
    fn refined_frequency(&self, at: usize) -> f64 {
        let log = |i: usize| self.power.get(i).map_or(f64::NAN, |p| p.max(1e-300).ln());
        let (a, b, c) = (log(at.wrapping_sub(1)), log(at), log(at + 1));
        let shift = (a - c) / (2.0 * (a - 2.0 * b + c));
        (at as f64 + if shift.abs() < 1.0 { shift } else { 0.0 }) / self.size
    }

    /// Returns the least probability in noise of the powers next to a frequency.
    fn probability_near(&self, frequency: f64) -> f64 {
        let at = frequency * self.size;
        let near = at.floor() as usize..=at.ceil() as usize;
        let near = near.filter(|at| (self.first.min(2)..self.power.len()).contains(at));
        near.map(|at| self.probability(self.over_floor_at(at))).fold(1.0, f64::min)
    }
}

/// Fits the noise floor at each frequency over neighbourhoods of at least `least` frequencies.
fn noise_floor(power: &[f64], first: usize, least: f64, stretches: f64) -> Vec<f64> {
    // Of m powers: the mean of their logarithm, and its standard deviation (trigamma).
    let below = digamma(stretches) - stretches.ln();
    let spread = (1.0 / stretches + 0.5 / stretches.powi(2) + 1.0 / (6.0 * stretches.powi(3))).sqrt();
    let mut floor = vec![0.0; power.len()];
    let mut from = first.clamp(1, 2);
    while from < power.len() {
        let mut to = from + least.max(FLOOR.1 * from as f64).ceil() as usize;
        // An incomplete neighbourhood at the end belongs to the one before.
        if to as f64 + least > power.len() as f64 {
            to = power.len();
        }
        let points: Vec<(f64, f64)> =
            (from..to).filter(|j| power[*j] > 0.0).map(|j| ((j as f64).ln(), power[j].ln())).collect();
        let mut fitted = least_squares(&points).map(|fit| fit.line);
        for _ in 0..2 {
            let Some(line) = fitted else { break };
            // The fit goes through the mean of logarithms.
            let calm = points.iter().copied().filter(|(x, y)| y - line.at(*x) + below <= BEYOND * spread);
            fitted = least_squares(&calm.collect::<Vec<_>>()).map(|fit| fit.line);
        }
        if let Some(line) = fitted {
            (from..to).for_each(|j| floor[j] = (line.at((j as f64).ln()) - below).exp());
        }
        from = to;
    }
    floor
}

/// Returns cosine and sine of a frequency at every step of a stretch.
pub(crate) fn wave(frequency: f64, length: usize) -> impl Iterator<Item = Complex<f64>> {
    let turn = Complex::from_polar(1.0, std::f64::consts::TAU * frequency);
    (0..length).scan(Complex::new(1.0, 0.0), move |state, _| {
        let now = *state;
        *state *= turn;
        Some(now)
    })
}

/// Returns the complex amplitude of a frequency in a stretch, by least squares over the available values.
pub(crate) fn fit_wave(values: &[f64], frequency: f64) -> Complex<f64> {
    let (mut sum, mut count, mut of_values) = (Complex::<f64>::default(), 0.0, 0.0);
    let mut waves = Complex::<f64>::default();
    for (v, w) in values.iter().zip(wave(frequency, values.len())).filter(|(v, _)| !v.is_nan()) {
        sum += w.conj() * *v;
        waves += w.conj();
        of_values += v;
        count += 1.0;
    }
    if count > 0.0 { (sum - waves * (of_values / count)) * (2.0 / count) } else { Complex::default() }
}

fn amplitude(stretches: &[&[f64]], frequency: f64) -> f64 {
    let squares = stretches.iter().map(|values| fit_wave(values, frequency).norm_sqr());
    (squares.sum::<f64>() / stretches.len().max(1) as f64).sqrt()
}

/// Sets the fundamental and harmonic of each line, and sorts lines of one period together. The period that explains
/// most lines with the fewest missing harmonics comes first.
fn assign_fundamentals(lines: &mut Vec<Line>, length: f64) {
    let mut left: Vec<Line> = std::mem::take(lines);
    left.sort_by(|a, b| b.period.total_cmp(&a.period));
    while !left.is_empty() {
        let frequencies: Vec<f64> = left.iter().map(|l| 1.0 / l.period).collect();
        let own = frequencies.iter().flat_map(|f| (1..=HIDDEN).map(move |divisor| f / f64::from(divisor)));
        let between = frequencies.windows(2).map(|w| w[1] - w[0]);
        let candidates = own.chain(between).filter(|f| f * length >= 1.0);
        let explained = candidates.map(|f| Comb::new(f, &frequencies, length));
        let best = explained
            .max_by(|a, b| a.score().total_cmp(&b.score()).then(a.frequency.total_cmp(&b.frequency)));
        let Some(best) = best.filter(|comb| !comb.harmonics.is_empty()) else { break };
        let (mut of_it, mut others) = (Vec::new(), Vec::new());
        for (number, line) in left.into_iter().enumerate() {
            match best.harmonics.iter().find(|h| h.0 == number) {
                Some((_, harmonic)) => {
                    of_it.push(Line { fundamental: 1.0 / best.frequency, harmonic: *harmonic, ..line });
                }
                None => others.push(line),
            }
        }
        lines.extend(of_it);
        left = others;
    }
    lines.extend(left);
}

/// A frequency and the lines at its multiples, by their number.
struct Comb {
    frequency: f64,
    harmonics: Vec<(usize, u32)>,
}

impl Comb {
    /// Finds the comb of about this frequency: each harmonic in turn makes the frequency more precise.
    fn new(frequency: f64, lines: &[f64], length: f64) -> Comb {
        let mut comb = Comb { frequency, harmonics: Vec::new() };
        let (mut squares, mut sum, mut error) = (0.0, 0.0, 0.3);
        for (number, line) in lines.iter().enumerate() {
            let times = (line / comb.frequency).round();
            let off = (line - times * comb.frequency).abs() * length;
            if times >= 1.0 && off <= 1.0 + error * times {
                comb.harmonics.push((number, times as u32));
                squares += times * times;
                sum += times * line;
                comb.frequency = sum / squares;
                error = 0.5 / times;
            }
        }
        comb
    }

    /// Returns the score of the comb: high if it explains many lines, lower if many of its harmonics are missing.
    fn score(&self) -> f64 {
        let highest = self.harmonics.iter().map(|h| h.1).max().unwrap_or(1);
        (self.harmonics.len() as f64).powi(2) / f64::from(highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn white(seed: u64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.exponential(1.0)).collect()
    }

    fn combs_in(x: &[f64]) -> Vec<Line> {
        lines(&[x])
    }

    #[test]
    fn a_sine_below_the_noise_is_found_with_its_period_and_amplitude() {
        let mut x = white(1, 20_000);
        x.iter_mut()
            .enumerate()
            .for_each(|(k, v)| *v += 0.2 * (k as f64 * std::f64::consts::TAU / 17.3).sin());
        let found = combs_in(&x);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].period / 17.3 - 1.0).abs() < 1e-4, "{found:?}");
        assert!((found[0].amplitude / 0.2 - 1.0).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn a_spike_every_40_is_one_period() {
        let mut x = white(2, 60_000);
        x.iter_mut().step_by(40).for_each(|v| *v += 4.0);
        let found = combs_in(&x);
        assert!(found.len() >= 15, "{found:?}");
        for line in &found {
            assert!((line.fundamental / 40.0 - 1.0).abs() < 1e-4, "{found:?}");
        }
    }

    #[test]
    fn two_periods_are_two() {
        let mut x = white(8, 60_000);
        x.iter_mut().step_by(40).for_each(|v| *v += 4.0);
        x.iter_mut()
            .enumerate()
            .for_each(|(k, v)| *v += 0.3 * (k as f64 * std::f64::consts::TAU / 333.0).sin());
        let mut fundamentals: Vec<f64> = combs_in(&x).iter().map(|l| l.fundamental.round()).collect();
        fundamentals.dedup();
        fundamentals.sort_by(f64::total_cmp);
        assert_eq!(fundamentals, [40.0, 333.0]);
    }

    #[test]
    fn gaps_neither_hide_nor_make_a_line() {
        let holes = |mut x: Vec<f64>| {
            let mut random = Random::new(9);
            x.iter_mut().filter(|_| random.uniform() < 0.1).for_each(|v| *v = f64::NAN);
            x
        };
        assert!(combs_in(&holes(white(3, 10_000))).is_empty());
        let mut x = white(3, 10_000);
        x.iter_mut().enumerate().for_each(|(k, v)| *v += (k as f64 * 0.5).sin());
        assert_eq!(combs_in(&holes(x)).len(), 1);
    }

    #[test]
    fn noise_of_any_colour_shows_no_line() {
        for correlation in [0.0, 0.9, 0.999] {
            let with_lines = (0..100).filter(|seed| {
                let (mut random, mut level) = (Random::new(1_000 + seed), 0.0);
                let x: Vec<f64> = (0..8_192)
                    .map(|_| {
                        level = correlation * level + random.normal();
                        level
                    })
                    .collect();
                !combs_in(&x).is_empty()
            });
            let count = with_lines.count();
            assert!(count <= 3, "{correlation}: {count} of 100 at a level of {LEVEL}");
        }
    }

    #[test]
    fn stretches_of_a_long_series_show_what_one_does_not() {
        let wave = |k: usize| 0.06 * (k as f64 * std::f64::consts::TAU / 9.7).sin();
        let stretch = |seed: u64| -> Vec<f64> {
            white(seed, 4_096)
                .iter()
                .enumerate()
                .map(|(k, v)| v + wave(k + 100_000 * seed as usize))
                .collect()
        };
        let all: Vec<Vec<f64>> = (0..40).map(stretch).collect();
        let all: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
        let found = lines(&all);
        assert!(found.len() == 1 && (found[0].period / 9.7 - 1.0).abs() < 1e-2, "{found:?}");
    }

    #[test]
    fn nothing_to_transform_has_no_line() {
        assert!(
            lines(&[]).is_empty()
                && combs_in(&[1.0; 500]).is_empty()
                && combs_in(&[f64::NAN; 500]).is_empty()
        );
    }
}
