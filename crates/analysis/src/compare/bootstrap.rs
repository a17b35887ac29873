//! Drawing parts of a run again.

use super::{Estimate, FEWEST_PARTS, LEVEL, SHIFTS, Statistic};
use crate::random::Random;
use crate::scan::Part;

/// How often a run is drawn again: the outermost intervals leave six draws on either side.
const DRAWS: usize = 2_000;

/// A run, and its figures in runs drawn from its parts.
pub(super) struct Sample {
    /// All of the run.
    pub whole: Part,
    /// By figure of [`Statistic::ALL`], then by draw, sorted; empty for too few parts.
    drawn: Vec<Vec<f64>>,
    /// By quantile of [`SHIFTS`].
    shifts: Vec<Vec<f64>>,
    /// What the run's source does not tell.
    unknown: Vec<Statistic>,
}

impl Sample {
    pub fn draw(parts: &[Part], whole: &Part, unknown: Vec<Statistic>, seed: u64) -> Self {
        let mut sample = Sample {
            whole: whole.clone(),
            drawn: vec![Vec::new(); Statistic::ALL.len()],
            shifts: vec![Vec::new(); SHIFTS.len()],
            unknown,
        };
        if parts.len() < FEWEST_PARTS {
            return sample;
        }
        let mut random = Random::new(seed);
        let places = Places::of(whole, parts);
        let mut drawn = whole.clone();
        for _ in 0..DRAWS {
            places.draw(parts, &mut random, &mut drawn);
            for (values, statistic) in sample.drawn.iter_mut().zip(Statistic::ALL) {
                values.extend(statistic.of(&drawn));
            }
            for (values, (p, _)) in sample.shifts.iter_mut().zip(SHIFTS) {
                values.extend(drawn.quantile_ns(p));
            }
        }
        sample
    }

    pub fn count(&self) -> u64 {
        self.whole.count
    }

    /// The figure of the run, where it has enough values for it.
    pub fn value(&self, statistic: Statistic) -> Option<f64> {
        let needs = statistic.quantile().map_or(1, |q| q.1);
        (self.whole.count >= needs && !self.unknown.contains(&statistic))
            .then(|| statistic.of(&self.whole))
            .flatten()
    }

    pub fn drawn(&self, statistic: Statistic) -> &[f64] {
        let at = Statistic::ALL.iter().position(|s| *s == statistic).unwrap_or(0);
        &self.drawn[at]
    }

    pub fn shifts(&self, at: usize) -> &[f64] {
        &self.shifts[at]
    }

    pub fn estimate(&self, statistic: Statistic) -> Option<Estimate> {
        let value = self.value(statistic)?;
        let interval = interval(self.drawn(statistic).to_vec(), LEVEL);
        Some(Estimate { statistic, value, interval })
    }
}

/// Where each part's bins are among those of the whole run.
struct Places(Vec<Vec<(usize, u64)>>);

impl Places {
    fn of(whole: &Part, parts: &[Part]) -> Self {
        let place = |low_ns: i64| whole.bins.partition_point(|b| b.low_ns < low_ns);
        Places(parts.iter().map(|p| p.bins.iter().map(|b| (place(b.low_ns), b.count)).collect()).collect())
    }

    /// As many parts as there are, drawn with replacement, added up in `sum`, which has the bins of the whole run.
    fn draw(&self, parts: &[Part], random: &mut Random, sum: &mut Part) {
        sum.bins.iter_mut().for_each(|b| b.count = 0);
        (sum.count, sum.missed, sum.sum_ns, sum.sum_of_squares) = (0, 0, 0, 0);
        for _ in 0..parts.len() {
            let drawn = random.below(parts.len());
            for (place, count) in &self.0[drawn] {
                if let Some(bin) = sum.bins.get_mut(*place) {
                    bin.count += count;
                }
            }
            let part = &parts[drawn];
            sum.count += part.count;
            sum.missed += part.missed;
            sum.sum_ns += part.sum_ns;
            sum.sum_of_squares = sum.sum_of_squares.saturating_add(part.sum_of_squares);
        }
    }
}

impl Statistic {
    fn of(self, part: &Part) -> Option<f64> {
        match self {
            Statistic::Mean => part.mean_ns(),
            Statistic::StandardDeviation => part.variance().map(f64::sqrt),
            Statistic::MissedShare => {
                let due = part.count + part.missed;
                (due > 0).then(|| part.missed as f64 / due as f64)
            }
            quantile => part.quantile_ns(quantile.quantile()?.0),
        }
    }
}

/// The interval between the percentiles that leave out `level` in all.
fn interval(mut values: Vec<f64>, level: f64) -> Option<[f64; 2]> {
    if values.len() < DRAWS / 2 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let out = ((level / 2.0 * values.len() as f64) as usize).min(values.len() / 2);
    Some([values[out], values[values.len() - 1 - out]])
}

/// The interval of the difference of two figures drawn independently of each other.
pub(super) fn difference(first: &[f64], here: &[f64], level: f64) -> Option<[f64; 2]> {
    if first.len() != here.len() {
        return None;
    }
    interval(first.iter().zip(here).map(|(a, b)| b - a).collect(), level)
}
