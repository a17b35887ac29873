//! Periodic parts of a series, such as the tick, a screen's refresh or another task: its power spectrum, and the lines in
//! it that are no noise.

use rustfft::num_complex::Complex;
use serde::{Deserialize, Serialize};
use statrs::function::beta::checked_beta_reg;

use crate::fourier::Fourier;
use crate::line::median;

/// The longest stretch that is transformed at once; longer series are averaged (Welch 1967).
pub const SEGMENT: usize = 16_384;
const SHORTEST: usize = 64;
/// Frequencies on either side that the noise floor is taken from.
const NEIGHBOURS: usize = 50;
/// Lines this many frequencies apart or less are one line: the width of the Hann window's main lobe.
const LOBE: usize = 3;

/// Chance of any line in a whole spectrum of independent values.
pub const LEVEL: f64 = 1e-3;

/// The power spectrum of a series, averaged over segments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spectrum {
    /// Values in a segment.
    pub segment: usize,
    /// Segments averaged.
    pub segments: usize,
    /// Power at frequency j / segment (in cycles per step), j = 1, 2, ...: 1 if all power were spread evenly.
    pub power: Vec<f64>,
    /// Variance of the series.
    pub variance: f64,
}

/// A line of a spectrum: a periodic part of the series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    /// Its period in steps of the series.
    pub period: f64,
    /// Uncertainty of the period (half a frequency step).
    pub uncertainty: f64,
    /// Half of its peak-to-peak, in the unit of the series, were it a sine.
    pub amplitude: f64,
    /// Power over the noise floor around it.
    pub over_floor: f64,
    /// Probability of any such line in the spectrum of noise.
    pub p: f64,
    /// Which harmonic of the strongest fundamental it is, from 1; `None` if of none.
    pub harmonic: Option<u32>,
}

/// The spectrum of equally spaced series with gaps (`NaN` where there is no value). Gaps count as the mean, and the power
/// is scaled by what is there: the periodogram of Lomb & Scargle to the extent that gaps are few (Scargle 1982). `None`
/// if no piece is long enough or nothing varies.
pub fn spectrum(pieces: &[Vec<f64>]) -> Option<Spectrum> {
    let longest = pieces.iter().map(Vec::len).max()?;
    let segment = longest.min(SEGMENT).checked_ilog2().map(|e| 1usize << e)?;
    if segment < SHORTEST {
        return None;
    }
    let all = || pieces.iter().flatten().filter(|v| !v.is_nan());
    let count = all().count() as f64;
    let mean = all().sum::<f64>() / count;
    let variance = all().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
    if variance <= 0.0 || !variance.is_finite() {
        return None;
    }
    let fft = Fourier::new(segment, false);
    let window: Vec<f64> = (0..segment)
        .map(|i| 0.5 - 0.5 * (std::f64::consts::TAU * (i as f64 + 0.5) / segment as f64).cos())
        .collect();
    let mut power = vec![0.0; segment / 2 - 1];
    let mut segments = 0;
    for values in pieces.iter().flat_map(|piece| piece.chunks_exact(segment)) {
        let present: f64 = values.iter().zip(&window).filter(|(v, _)| !v.is_nan()).map(|(_, w)| w * w).sum();
        let level = weighted_mean(values, &window);
        if present < 0.25 * 0.375 * segment as f64 {
            continue;
        }
        let mut buffer: Vec<Complex<f64>> = values
            .iter()
            .zip(&window)
            .map(|(v, w)| Complex::new(if v.is_nan() { 0.0 } else { (v - level) * w }, 0.0))
            .collect();
        fft.process(&mut buffer);
        for (sum, c) in power.iter_mut().zip(&buffer[1..]) {
            *sum += c.norm_sqr() / (present * variance);
        }
        segments += 1;
    }
    power.iter_mut().for_each(|p| *p /= f64::from(segments));
    (segments > 0).then_some(Spectrum { segment, segments: segments as usize, power, variance })
}

fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.0);
    for (v, w) in values.iter().zip(weights).filter(|(v, _)| !v.is_nan()) {
        sum += v * w;
        weight += w;
    }
    if weight > 0.0 { sum / weight } else { 0.0 }
}

impl Spectrum {
    /// The lines that stand out of the noise around them so far that noise would show one with a probability of at most
    /// [`LEVEL`], the strongest first. Noise may be coloured: its floor is the median of the neighbourhood.
    pub fn lines(&self) -> Vec<Line> {
        let segments = self.segments as f64;
        // The mean of m exponential powers is Gamma(m, 1/m); its median, to 1e-3 (Wilson & Hilferty).
        let median_of_noise =
            if self.segments == 1 { std::f64::consts::LN_2 } else { (1.0 - 1.0 / (9.0 * segments)).powi(3) };
        let floor = self.floor();
        let mut ratio: Vec<f64> = self
            .power
            .iter()
            .zip(&floor)
            .map(|(p, (floor, _))| if *floor > 0.0 { p / (floor / median_of_noise) } else { 0.0 })
            .collect();
        let frequencies = self.power.len() as f64;
        let mut lines = Vec::new();
        while let Some((at, &over)) = ratio.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) {
            let p = frequencies * probability_over(over, segments, floor[at].1);
            if p > LEVEL || lines.len() >= 64 {
                break;
            }
            lines.push(self.line(at, over, p));
            let (from, to) = (at.saturating_sub(LOBE), (at + LOBE).min(ratio.len() - 1));
            ratio[from..=to].fill(0.0);
        }
        name_harmonics(&mut lines);
        lines
    }

    /// The noise floor: the median of the neighbours, without the lobe itself, and how many there are.
    fn floor(&self) -> Vec<(f64, usize)> {
        let last = self.power.len() - 1;
        (0..=last)
            .map(|i| {
                let (from, to) = (i.saturating_sub(NEIGHBOURS), (i + NEIGHBOURS).min(last));
                let mut around: Vec<f64> =
                    (from..=to).filter(|j| j.abs_diff(i) > LOBE).map(|j| self.power[j]).collect();
                (median(&mut around).unwrap_or(0.0), around.len())
            })
            .collect()
    }

    fn line(&self, at: usize, over_floor: f64, p: f64) -> Line {
        // The top of a parabola through the logarithms of three powers.
        let log = |i: usize| self.power.get(i).map_or(f64::NAN, |p| p.max(1e-300).ln());
        let (a, b, c) = (if at > 0 { log(at - 1) } else { f64::NAN }, log(at), log(at + 1));
        let shift = (a - c) / (2.0 * (a - 2.0 * b + c));
        let shift = if shift.abs() < 1.0 { shift } else { 0.0 };
        let frequency = (at as f64 + 1.0 + shift) / self.segment as f64;
        let period = 1.0 / frequency;
        // Power of a sine of amplitude A in the Hann window: A^2/4 (sum w)^2 / (sum w^2 variance).
        let gain = self.segment as f64 / 6.0; // (N/2)^2 / (4 * 3N/8)
        let amplitude = (self.power[at] * self.variance / gain).sqrt();
        Line {
            period,
            uncertainty: 0.5 / self.segment as f64 * period * period,
            amplitude,
            over_floor,
            p,
            harmonic: None,
        }
    }
}

/// Probability that the mean of `segments` powers of noise is `over` times the floor or more, where the floor is the median
/// of `neighbours` such means. A floor that happens to be low makes lines of nothing: it counts as a Gamma variable of the
/// median's own variance, so the quotient is F-distributed. That variance is 2.08 / (neighbours segments), from the density of
/// an exponential variable at its median, times 1.94 for neighbours that share the Hann window's lobe (correlation 4/9
/// and 1/36).
fn probability_over(over: f64, segments: f64, neighbours: usize) -> f64 {
    let floor = segments * neighbours as f64 / (2.08 * 1.94);
    checked_beta_reg(floor, segments, floor / (floor + segments * over)).unwrap_or(1.0)
}

/// Names the lines whose frequency is a multiple of the longest strong period that explains the strongest line.
fn name_harmonics(lines: &mut [Line]) {
    let Some(strongest) = lines.first().copied() else { return };
    let is_multiple = |line: &Line, fundamental: f64| {
        let times = (fundamental / line.period).round();
        let off = (fundamental / line.period - times).abs() * line.period;
        (times >= 1.0 && off <= 3.0 * line.uncertainty * times.max(1.0)).then_some(times as u32)
    };
    let explains = |period: f64| lines.iter().filter(|l| is_multiple(l, period).is_some()).count();
    let fundamental = lines
        .iter()
        .filter(|l| is_multiple(&strongest, l.period).is_some())
        .max_by(|a, b| explains(a.period).cmp(&explains(b.period)).then(b.period.total_cmp(&a.period)))
        .map_or(strongest.period, |l| l.period);
    lines.iter_mut().for_each(|line| line.harmonic = is_multiple(line, fundamental));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn white(seed: u64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.exponential(1.0)).collect()
    }

    #[test]
    fn a_sine_below_the_noise_is_found_with_its_period_and_amplitude() {
        let mut x = white(1, 20_000);
        x.iter_mut()
            .enumerate()
            .for_each(|(k, v)| *v += 0.2 * (k as f64 * std::f64::consts::TAU / 17.3).sin());
        let lines = spectrum(&[x]).unwrap().lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!((lines[0].period / 17.3 - 1.0).abs() < 1e-3, "{lines:?}");
        assert!((lines[0].amplitude / 0.2 - 1.0).abs() < 0.2, "{lines:?}");
    }

    #[test]
    fn a_spike_every_40_is_a_comb_with_that_fundamental() {
        let mut x = white(2, 60_000);
        x.iter_mut().step_by(40).for_each(|v| *v += 4.0);
        let lines = spectrum(&[x]).unwrap().lines();
        let fundamental = lines.iter().find(|l| l.harmonic == Some(1)).unwrap();
        assert!((fundamental.period / 40.0 - 1.0).abs() < 1e-3, "{lines:?}");
        assert!(lines.iter().filter(|l| l.harmonic.is_some()).count() >= 15, "{lines:?}");
    }

    #[test]
    fn gaps_neither_hide_nor_make_a_line() {
        let holes = |mut x: Vec<f64>| {
            let mut random = Random::new(9);
            x.iter_mut().filter(|_| random.uniform() < 0.1).for_each(|v| *v = f64::NAN);
            x
        };
        assert!(spectrum(&[holes(white(3, 10_000))]).unwrap().lines().is_empty());
        let mut x = white(3, 10_000);
        x.iter_mut().enumerate().for_each(|(k, v)| *v += (k as f64 * 0.5).sin());
        assert_eq!(spectrum(&[holes(x)]).unwrap().lines().len(), 1);
    }

    #[test]
    fn white_noise_shows_lines_no_oftener_than_stated() {
        let with_lines =
            (0..500).filter(|seed| !spectrum(&[white(1_000 + seed, 2_048)]).unwrap().lines().is_empty());
        let count = with_lines.count();
        assert!(count <= 3, "{count} of 500 at a level of {LEVEL}");
    }

    #[test]
    fn coloured_noise_is_noise() {
        let mut random = Random::new(5);
        let mut level = 0.0;
        let x: Vec<f64> = (0..50_000)
            .map(|_| {
                level = 0.9 * level + random.normal();
                level
            })
            .collect();
        assert!(spectrum(&[x]).unwrap().lines().is_empty());
    }

    #[test]
    fn nothing_to_transform_is_none() {
        assert_eq!(spectrum(&[]), None);
        assert_eq!(spectrum(&[vec![1.0; 500]]), None);
        assert_eq!(spectrum(&[vec![f64::NAN; 500]]), None);
    }
}
