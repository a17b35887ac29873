//! Long memory and heavy-tailed regimes: runs whose latencies stay alike at every length that the run can show.
//!
//! No interval of such a run holds, since a level that moved once may move further in the next run. Two tests
//! look for them. In the first, the spectrum of a level keeps rising towards the longest waves (Whittle's
//! likelihood against short memory; Beran, Statistics for Long-Memory Processes, 1994). In the second, one
//! gap or one stretch is longer than exponential ones would be (Fisher's g; Proc. Roy. Soc. A 1929). Rates of
//! both errors: `docs/evidence/calibration.md`.

use std::f64::consts::{LN_2, PI, TAU};
use std::sync::OnceLock;

use crate::least_squares::median;
use crate::scan::{Peaks, Span, Spans};
use crate::stationarity::mid_ranks;

/// Waves examined: the longest is as long as the run.
const WAVES: usize = 340;
/// Most blocks of a run, and their mean number; they smooth faster variation.
const MOST_BLOCKS: usize = 1_024;
const BLOCKS: f64 = 850.0;
/// Twice the logarithm of the likelihood ratio above which a level has long memory, and likewise for the
/// share of highest values.
const OF_LEVEL: f64 = 2.0;
const OF_TAIL: f64 = 8.0;
/// Quantile above which maxima of short stretches count as highest.
const TAIL: f64 = 0.9;
/// Neighbours of a wave; its power may exceed their median by 6 / ln 2, and more is a period, not memory.
const NEIGHBOURS: usize = 6;
/// Chance that one of exponential gaps or stretches is as long.
const GAP: f64 = 0.003;
/// Fewest and most gaps compared; gaps shorter than a 20th of the longest lie within bursts.
const GAPS: (usize, usize) = (8, 48);
const WITHIN_BURSTS: u64 = 20;
/// Shortest gap compared; shorter ones are too coarse.
const SHORTEST: u64 = 6;
/// Shares of the latencies whose gaps are examined.
const RARE: [f64; 2] = [0.03, 0.01];

/// True if a run shows long memory or heavy-tailed regimes.
#[must_use]
pub fn has_long_memory(spans: &Spans, peaks: &Peaks, activations: u64) -> bool {
    let rare = |share: &f64| (share * activations as f64) as usize;
    spans_show_memory(spans) || RARE.iter().any(|share| has_long_gap(&peak_gaps(peaks, rare(share))))
}

/// True if levels or maxima over time show long memory.
fn spans_show_memory(spans: &Spans) -> bool {
    let (_, spans) = spans.all();
    let ran = || spans.iter().flatten();
    let means: Vec<f64> = ran().filter_map(Span::mean_ns).collect();
    let maxima: Vec<f64> = ran().map(|span| span.max_ns as f64).collect();
    // Ranks, so that no value has more weight than another.
    let level = block_sums(&mid_ranks(&means));
    let highest = TAIL * maxima.len() as f64;
    let tail: Vec<f64> = mid_ranks(&maxima).iter().map(|rank| f64::from(*rank >= highest)).collect();
    has_rising_spectrum(&level, OF_LEVEL)
        || has_rising_spectrum(&block_sums(&tail), OF_TAIL)
        || run_lengths_about_middle(&level).iter().any(|lengths| has_long_gap(lengths))
}

/// Returns the sums over consecutive blocks, at most 1024 of them.
fn block_sums(series: &[f64]) -> Vec<f64> {
    let together = series.len().div_ceil(MOST_BLOCKS).max(1);
    series.chunks_exact(together).map(|of| of.iter().sum()).collect()
}

/// A candidate spectrum: a power of the frequency below a corner, with its power at each wave.
struct SpectrumShape {
    has_memory: bool,
    at: Vec<f64>,
    /// White noise mixed in, with the sum of the logarithms of the mixture.
    noises: Vec<(f64, f64)>,
}

/// Exponents of the memory, exponents of the decay beyond the corner, and shares of white noise.
const MEMORIES: [f64; 11] = [0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6];
const DECAYS: [f64; 2] = [0.75, 1.0];
const CORNERS: usize = 17;
const NOISES: [f64; 16] =
    [0.0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0];

fn spectrum_shapes() -> &'static [SpectrumShape] {
    static SHAPES: OnceLock<Vec<SpectrumShape>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let corner = |k: usize| 2.0 * (WAVES as f64 / 2.0).powf(k as f64 / (CORNERS - 1) as f64);
        let decaying = |memory: f64| {
            DECAYS.into_iter().flat_map(move |decay| {
                (0..CORNERS).map(move |k| {
                    SpectrumShape::new(memory, |j| (1.0 + (j / corner(k)).powi(2)).powf(memory - decay))
                })
            })
        };
        let all = MEMORIES.into_iter().flat_map(|memory| {
            let endless = std::iter::once_with(move || SpectrumShape::new(memory, |_| 1.0));
            endless.chain(decaying(memory))
        });
        all.collect()
    })
}

impl SpectrumShape {
    fn new(memory: f64, decay: impl Fn(f64) -> f64) -> Self {
        let at = |j: usize| {
            let j = j as f64;
            let smoothed = (PI * j / BLOCKS).sin() / (PI * j / BLOCKS);
            j.powf(-2.0 * memory) * decay(j) * smoothed * smoothed
        };
        let mut at: Vec<f64> = (1..=WAVES).map(at).collect();
        let mean = at.iter().sum::<f64>() / WAVES as f64;
        at.iter_mut().for_each(|power| *power /= mean);
        // The logarithm of a product of a few powers replaces that of each, which is faster.
        let of_few = |few: &[f64], noise: f64| {
            few.iter().map(|power| noise + (1.0 - noise) * power).product::<f64>().ln()
        };
        let logarithms = |noise: f64| at.chunks(16).map(|few| of_few(few, noise)).sum();
        let noises = NOISES.map(|noise| (noise, logarithms(noise))).to_vec();
        SpectrumShape { has_memory: memory > 0.0, at, noises }
    }

    /// Returns twice the negative log-likelihood of these powers under this shape, with the best scale and noise.
    fn misfit(&self, powers: &[f64]) -> f64 {
        let of = |(noise, logarithms): &(f64, f64)| {
            let ratios = powers.iter().zip(&self.at).map(|(i, power)| i / (noise + (1.0 - noise) * power));
            2.0 * (WAVES as f64 * (ratios.sum::<f64>() / WAVES as f64).ln() + logarithms)
        };
        self.noises.iter().map(of).fold(f64::INFINITY, f64::min)
    }
}

/// True if the spectrum rises to the longest waves: memory beats short memory by a log-likelihood ratio of `least`.
fn has_rising_spectrum(series: &[f64], least: f64) -> bool {
    let Some(powers) = powers(series) else { return false };
    let (mut short, mut long) = (f64::INFINITY, f64::INFINITY);
    for shape in spectrum_shapes() {
        let best = if shape.has_memory { &mut long } else { &mut short };
        *best = best.min(shape.misfit(&powers));
    }
    short - long > least
}

/// Returns the power of each of 340 waves, outstanding ones capped; `None` if the series is too short, or constant.
fn powers(series: &[f64]) -> Option<Vec<f64>> {
    let n = series.len();
    if n < 2 * WAVES {
        return None;
    }
    let mean = series.iter().sum::<f64>() / n as f64;
    let power = |wave: usize| {
        let (turn_sin, turn_cos) = (TAU * wave as f64 / n as f64).sin_cos();
        let (mut sin, mut cos, mut of_sin, mut of_cos) = (0.0, 1.0, 0.0, 0.0);
        for value in series {
            of_sin += (value - mean) * sin;
            of_cos += (value - mean) * cos;
            (sin, cos) = (sin * turn_cos + cos * turn_sin, cos * turn_cos - sin * turn_sin);
        }
        of_sin * of_sin + of_cos * of_cos
    };
    let raw: Vec<f64> = (1..=WAVES).map(power).collect();
    let capped = |at: usize| {
        let mirrored = |k: isize| {
            let k = k.abs();
            let last = WAVES as isize - 1;
            raw[(if k > last { 2 * last - k } else { k }) as usize]
        };
        let reach = NEIGHBOURS as isize;
        let near = (-reach..=reach).filter(|by| *by != 0).map(|by| mirrored(at as isize + by));
        let middle = median(&mut near.collect::<Vec<f64>>()).unwrap_or(0.0);
        raw[at].min(6.0 / LN_2 * middle)
    };
    let powers: Vec<f64> = (0..WAVES).map(capped).collect();
    powers.iter().all(|power| *power > 0.0).then_some(powers)
}

/// Returns the lengths of runs above, and below, the middle between the 5 % and 95 % quantiles of a level.
fn run_lengths_about_middle(level: &[f64]) -> [Vec<u64>; 2] {
    let mut sorted = level.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |p: f64| sorted.get((p * sorted.len() as f64) as usize).copied().unwrap_or(0.0);
    let middle = (at(0.05) + at(0.95)) / 2.0;
    let runs = || level.chunk_by(|a, b| (*a > middle) == (*b > middle));
    [true, false].map(|above| {
        let of = runs().filter(|run| (run[0] > middle) == above);
        of.map(|run| run.len() as u64).collect()
    })
}

/// Returns the gaps in due times between the `wanted` largest latencies kept, without neighbours.
fn peak_gaps(peaks: &Peaks, wanted: usize) -> Vec<u64> {
    let peaks = peaks.largest();
    let Some(least) = peaks.get(wanted.min(peaks.len().saturating_sub(1))) else { return Vec::new() };
    let mut places: Vec<u64> =
        peaks.iter().filter(|peak| peak.latency_ns > least.latency_ns).map(|peak| peak.index).collect();
    places.sort_unstable();
    places.windows(2).map(|both| both[1] - both[0]).filter(|gap| *gap > 1).collect()
}

/// True if the longest of these lengths is longer than an exponential law explains; false for too few.
fn has_long_gap(lengths: &[u64]) -> bool {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let Some(&longest) = sorted.first() else { return false };
    let alike = sorted[1..].iter().filter(|length| WITHIN_BURSTS * **length > longest).count();
    let compared = GAPS.1.min(sorted.len() - 1).min(alike);
    if compared < GAPS.0 || sorted[compared] < SHORTEST {
        return false;
    }
    let beyond = sorted[..compared].iter().map(|length| (length - sorted[compared]) as f64);
    let (sum, number) = (beyond.sum::<f64>(), compared as f64);
    let share = (longest - sorted[compared]) as f64 / sum.max(1.0);
    number * (1.0 - share).powf(number - 1.0) < GAP
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Spans of values, one for each due time.
    fn spans(values: impl Iterator<Item = f64>) -> Spans {
        let mut spans = Spans::new(4_096);
        (0..).zip(values).for_each(|(index, value)| spans.push(index, value as i64, 0));
        spans
    }

    /// Returns spans of a sum of levels that wander more and more slowly: alike at every length.
    fn remembering(seed: u64) -> Spans {
        let mut random = Random::new(seed);
        let mut levels = [0.0; 14];
        spans((0..60_000).map(move |_| {
            for (number, level) in levels.iter_mut().enumerate() {
                let stays = (-(0.5f64.powi(number as i32))).exp();
                *level = stays * *level + (1.0 - stays * stays).sqrt() * random.normal();
            }
            10_000.0 + 300.0 * levels.iter().sum::<f64>()
        }))
    }

    fn wandering(seed: u64, stays: f64) -> Spans {
        let mut random = Random::new(seed);
        let mut level = 0.0;
        spans((0..60_000).map(move |_| {
            level = stays * level + (1.0 - stays * stays).sqrt() * random.normal();
            10_000.0 + 1_000.0 * level + 500.0 * random.normal()
        }))
    }

    #[test]
    fn memory_at_every_length_is_seen_and_a_short_one_is_not_taken_for_it() {
        assert!((0..10).filter(|seed| spans_show_memory(&remembering(*seed))).count() >= 7);
        for stays in [0.0, 0.9, 0.995] {
            let shown = (0..10).filter(|seed| spans_show_memory(&wandering(100 + seed, stays))).count();
            assert!(shown <= 3, "{stays}: {shown} of 10");
        }
    }

    #[test]
    fn what_does_not_vary_has_no_memory() {
        assert!(
            !spans_show_memory(&spans((0..60_000).map(|_| 5.0)))
                && !spans_show_memory(&spans(std::iter::empty()))
        );
    }

    #[test]
    fn one_gap_that_is_much_longer_than_the_others_is_seen() {
        let mut random = Random::new(1);
        let mut gaps: Vec<u64> = (0..200).map(|_| 20 + random.exponential(300.0) as u64).collect();
        assert!(!has_long_gap(&gaps));
        gaps[77] = 6_000;
        assert!(has_long_gap(&gaps) && !has_long_gap(&gaps[..5]));
    }
}
