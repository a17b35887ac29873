//! A machine's figure over days: when it changed where no change is known.

use std::collections::BTreeMap;

use jitterlab_analysis::least_squares;

/// Drift that a sum forgives each day, and the sum that is an alarm, in standard deviations: a steady machine is accused
/// once in some hundred years.
const FORGIVEN: f64 = 0.5;
const ALARM: f64 = 9.0;
/// Standard deviations that a day counts as at most: a single late day is no change.
const DAY: f64 = 2.5;
/// Days of a machine before which nothing is said.
const SETTLED: usize = 7;
/// Turns a median of absolute deviations of a normal law into its standard deviation.
const NORMAL: f64 = 1.4826;

/// Logarithm of a figure of a machine by number of day, in order.
pub type DailySeries = Vec<(i64, f64)>;

/// First-order autoregression that all machines' daily series share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DailyModel {
    /// Correlation of a day with the next.
    pub rho: f64,
    /// Standard deviation of the innovation of a day.
    pub sd: f64,
    /// Contribution of each weekday, from the day with number 0 on.
    weekdays: [f64; 7],
}

impl DailyModel {
    /// Fits the model to daily series; `None` for fewer than 60 pairs of successive days.
    pub fn new(all_series: &[DailySeries]) -> Option<Self> {
        let levels: Vec<f64> =
            all_series.iter().map(|series| median(series.iter().map(|day| day.1))).collect();
        let mut by_weekday: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (series, level) in all_series.iter().zip(&levels) {
            for (day, value) in series {
                by_weekday.entry(day.rem_euclid(7)).or_default().push(value - level);
            }
        }
        let weekdays = [0, 1, 2, 3, 4, 5, 6]
            .map(|weekday| by_weekday.get(&weekday).map_or(0.0, |values| median(values.iter().copied())));
        let mut model = DailyModel { rho: 0.0, sd: 0.0, weekdays };
        // Levels of short stretches: a step far away leaves them as they are.
        let mut pairs = Vec::new();
        for series in all_series {
            for stretch in series.chunks(28).filter(|stretch| stretch.len() >= 14) {
                let plain: Vec<(i64, f64)> =
                    stretch.iter().map(|day| (day.0, model.residual(*day))).collect();
                let level = median(plain.iter().map(|day| day.1));
                let next = plain.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1);
                pairs.extend(next.map(|pair| (pair[0].1 - level, pair[1].1 - level)));
            }
        }
        if pairs.len() < 60 {
            return None;
        }
        let limit = 4.0 * NORMAL * median(pairs.iter().map(|pair| pair.0.abs())) + f64::EPSILON;
        let kept = || pairs.iter().filter(|pair| pair.0.abs() <= limit && pair.1.abs() <= limit);
        let squares: f64 = kept().map(|pair| pair.0 * pair.0).sum();
        let products: f64 = kept().map(|pair| pair.0 * pair.1).sum();
        // A level that is taken from the same days makes them seem less alike than they are (Kendall 1954).
        let seen = if squares > 0.0 { products / squares } else { 0.0 };
        model.rho = (seen + (1.0 + 3.0 * seen) / 28.0).clamp(0.0, 0.95);
        model.sd = NORMAL * median(pairs.iter().map(|pair| (pair.1 - model.rho * pair.0).abs()));
        Some(model)
    }

    /// Value of a day less the contribution of its weekday.
    fn residual(&self, (day, value): (i64, f64)) -> f64 {
        value - self.weekdays[day.rem_euclid(7) as usize]
    }
}

/// First day of a machine's change, and whether it got worse, by a self-starting CUSUM; `None` if there is none. Of
/// what days add (Hawkins 1987); the machine's own beginning is no reference by itself.
pub fn first_alarm(series: &DailySeries, model: &DailyModel) -> Option<(i64, bool)> {
    let (mut seen, mut mean) = (0.0f64, 0.0f64);
    let (mut up, mut down) = ((0.0, 0), (0.0, 0));
    for pair in series.windows(2) {
        let apart = (pair[1].0 - pair[0].0).max(1);
        let kept = model.rho.powi(i32::try_from(apart).unwrap_or(i32::MAX));
        let added = model.residual(pair[1]) - kept * model.residual(pair[0]);
        // Of a constant level L a day adds (1 - rho) L.
        let level = added / (1.0 - kept);
        let sd = model.sd * ((1.0 - kept * kept) / (1.0 - model.rho * model.rho)).sqrt() / (1.0 - kept);
        seen += 1.0;
        if seen > 1.0 && sd > 0.0 {
            let z = ((level - mean) / sd * ((seen - 1.0) / seen).sqrt()).clamp(-DAY, DAY);
            let sum = |(sum, since): (f64, i64), z: f64| match sum + z - FORGIVEN {
                next if next > 0.0 => (next, if sum > 0.0 { since } else { pair[1].0 }),
                _ => (0.0, 0),
            };
            (up, down) = (sum(up, z), sum(down, -z));
            if seen as usize > SETTLED && (up.0 > ALARM || down.0 > ALARM) {
                return Some(if up.0 > ALARM { (up.1, true) } else { (down.1, false) });
            }
        }
        mean += (level - mean) / seen;
    }
    None
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    least_squares::median(&mut values.collect::<Vec<f64>>()).unwrap_or_default()
}
