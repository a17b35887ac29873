//! Power spectrum of a series, for drawing. Its significant lines are in [`lines`](crate::spectral_lines::lines).

use rustfft::num_complex::Complex;
use serde::Serialize;

use crate::fourier::Fourier;

/// The longest stretch transformed at once; longer series are averaged (Welch 1967).
pub const SEGMENT: usize = 16_384;
const SHORTEST: usize = 64;

/// The power spectrum of a series, averaged over segments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spectrum {
    /// Values in a segment.
    pub segment: usize,
    /// Segments averaged.
    pub segments: usize,
    /// Power at frequency j / segment (in cycles per step), j = 1, 2, ...: 1 everywhere for an even spectrum.
    pub power: Vec<f64>,
    /// Variance of the series.
    pub variance: f64,
}

/// Returns the power spectrum averaged over segments; `None` if no piece is long enough or nothing varies. Gaps (`NaN`)
/// count as the mean, and the power is scaled by the available values: the periodogram of Lomb & Scargle as far as gaps
/// are few (Scargle 1982).
pub fn spectrum(stretch_values: &[Vec<f64>]) -> Option<Spectrum> {
    let longest = stretch_values.iter().map(Vec::len).max()?;
    let segment = longest.min(SEGMENT).checked_ilog2().map(|e| 1usize << e)?;
    if segment < SHORTEST {
        return None;
    }
    let all = || stretch_values.iter().flatten().filter(|v| !v.is_nan());
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
    for values in stretch_values.iter().flat_map(|piece| piece.chunks_exact(segment)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_sine_is_a_line_in_it() {
        let sine = |k: u32| (f64::from(k) * std::f64::consts::TAU / 16.0).sin();
        let mut random = Random::new(1);
        let x: Vec<f64> = (0..20_000).map(|k| sine(k) + random.exponential(1.0)).collect();
        let found = spectrum(&[x]).unwrap();
        let largest =
            (0..found.power.len()).max_by(|a, b| found.power[*a].total_cmp(&found.power[*b])).unwrap();
        assert_eq!((largest + 1) * 16, found.segment);
        assert!((found.power.iter().sum::<f64>() / found.power.len() as f64 - 1.0).abs() < 0.1);
    }

    #[test]
    fn nothing_to_transform_is_none() {
        assert_eq!(spectrum(&[]), None);
        assert_eq!(spectrum(&[vec![1.0; 500]]), None);
        assert_eq!(spectrum(&[vec![f64::NAN; 500]]), None);
    }
}
