//! The percentile plot: each step to the right is ten times rarer.

use jitterlab_model::{Distribution, Quantity};

use super::task::{joint_caption, tasks_with_values};
use crate::chart::{Axis, Chart, Layer, Scale, Shape, Stroke};
use crate::quantity;
use crate::run_view::PageRun;

/// Number of distinguishable positions across.
const POSITIONS: f64 = 1_500.0;

/// Points (k, value) of the curve: one in k values is above the value. The last is the largest of n, at k = n.
fn percentile_curve(values: &Distribution) -> Vec<(f64, i64)> {
    let (n, largest) = (values.count(), values.max_ns().unwrap_or(i64::MAX));
    let mut below = 0;
    let mut curve: Vec<(f64, i64)> = values.min_ns().map(|min| (1.0, min)).into_iter().collect();
    for bin in values.bins() {
        below += bin.count;
        let above = n - below;
        curve.push((n as f64 / above.max(1) as f64, bin.high_ns.min(largest)));
    }
    // Of those above the last bin the largest is known, or nothing.
    let beyond = values.values_beyond_bins().filter(|beyond| beyond.count > 0).and_then(|_| values.max_ns());
    curve.extend(beyond.map(|largest| (n as f64, largest)));
    curve
}

/// Chart of the percentile curves of all tasks; empty if none has any.
pub(super) fn charts(quantity: Quantity, runs: &[PageRun]) -> Vec<Chart> {
    let mut tasks = tasks_with_values(quantity, runs);
    tasks.retain(|(_, values)| values.has_percentiles());
    let named: Vec<_> = tasks.iter().map(|(task, values)| (task.name.as_str(), values)).collect();
    let caption = format!("{} The curve of n values ends at 1−1/n.", joint_caption(quantity, &tasks));
    curves_chart(quantity, &named, caption).into_iter().collect()
}

/// Chart of the percentile curves of these values, each with its name; `None` without values.
pub(super) fn curves_chart(
    quantity: Quantity,
    named: &[(&str, &Distribution)],
    caption: String,
) -> Option<Chart> {
    let low_ns = named.iter().filter_map(|(_, values)| values.min_ns()).min()?;
    let curved: Vec<_> =
        named.iter().map(|(name, values)| (name, values, percentile_curve(values))).collect();
    let high_ns = curved.iter().filter_map(|(.., curve)| Some(curve.last()?.1)).max()?;
    let layers = curved.into_iter().enumerate().map(|(number, (name, values, curve))| {
        // A step is drawn where its value begins to hold: at the rarity of the one before.
        let points =
            curve.iter().enumerate().map(|(i, (_, value))| [curve[i.saturating_sub(1)].0, *value as f64]);
        let end = curve.last().map(|(one_in, value)| [*one_in, *value as f64]);
        let points = thin_curve(points.chain(end), values.count());
        Layer::new(*name, number, Shape::Line { points, stroke: Stroke::Steps })
    });
    let shares = (0..16).map(|nines| (10f64.powi(nines), nines_label(nines)));
    Some(Chart {
        name: "percentiles".into(),
        caption,
        x: Axis::new("share of values that are not above", Scale::NamedLog(shares.collect())),
        y: Axis::time_from(quantity::name(quantity), low_ns, low_ns > 0 && high_ns > 30 * low_ns),
        layers: layers.collect(),
        height: 460,
    })
}

/// Joins steps too close to distinguish: the highest value is kept, at the position of the first.
fn thin_curve(points: impl Iterator<Item = [f64; 2]>, count: u64) -> Vec<[f64; 2]> {
    let apart = (count as f64).log10() / POSITIONS;
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for point in points {
        let length = kept.len();
        match kept.last_mut() {
            Some(last) if length > 1 && (point[0] / last[0]).log10() < apart => last[1] = point[1],
            _ => kept.push(point),
        }
    }
    kept
}

/// The share that is not above when one in 10 to the power of `nines` is: 1 is 90 %, 3 is 99.9 %.
fn nines_label(nines: i32) -> String {
    match nines {
        0 => "0 %".into(),
        1 => "90 %".into(),
        2 => "99 %".into(),
        more => format!("99.{} %", "9".repeat(more as usize - 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_ends_at_the_largest_of_all() {
        let mut values = Distribution::new();
        (1..=1_000).for_each(|v| values.record(v));
        let curve = percentile_curve(&values);
        assert_eq!(curve.last(), Some(&(1_000.0, 1_000)));
        assert!(curve.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1));
        let p90 = curve.iter().find(|(one_in, _)| *one_in >= 10.0 - 1e-9).unwrap();
        assert!((900..=908).contains(&p90.1), "{p90:?}");
    }

    #[test]
    fn a_thinner_curve_reaches_as_high_and_is_nowhere_lower() {
        let mut values = Distribution::new();
        (1..=100_000).for_each(|v| values.record(v * v));
        let whole: Vec<[f64; 2]> = percentile_curve(&values).iter().map(|(x, y)| [*x, *y as f64]).collect();
        let thin = thin_curve(whole.iter().copied(), values.count());
        assert!(thin.len() < whole.len() && thin.last().unwrap()[1] == whole.last().unwrap()[1]);
        let at = |curve: &[[f64; 2]], x: f64| curve.iter().rfind(|p| p[0] <= x).unwrap()[1];
        assert!(whole.iter().all(|p| at(&thin, p[0]) >= p[1]));
    }

    #[test]
    fn shares_are_written_with_their_nines() {
        assert_eq!([0, 1, 2, 5].map(nines_label), ["0 %", "90 %", "99 %", "99.999 %"]);
    }
}
