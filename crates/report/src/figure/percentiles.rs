//! The percentile plot: each step to the right is ten times rarer.

use jitterlab_model::Distribution;
use plotters::prelude::*;

use super::Quantity;
use super::frame::{Drawn, FONT, drawables, legend_style, sheet, tick, unit};
use crate::page::PageRun;

/// Points of the curve: one in `k` values is above the value. The last one is the largest of n, at k = n.
fn curve(values: &Distribution) -> Vec<(f64, i64)> {
    let (n, largest) = (values.count(), values.max_ns().unwrap_or(0));
    let mut below = 0;
    let mut curve: Vec<(f64, i64)> = values.min_ns().map(|min| (1.0, min)).into_iter().collect();
    for bin in values.bins() {
        below += bin.count;
        let above = n - below;
        curve.push((n as f64 / above.max(1) as f64, bin.high_ns.min(largest)));
    }
    curve
}

/// Draws the curves of all tasks.
pub fn draw(text: &mut String, quantity: Quantity, runs: &[PageRun]) -> Drawn {
    let drawables = drawables(quantity, runs);
    let all = || drawables.iter().map(|d| quantity.of(d.task));
    let low_ns = all().filter_map(Distribution::min_ns).min().unwrap_or(0);
    let high_ns = all().filter_map(Distribution::max_ns).max().unwrap_or(1).max(low_ns + 1);
    let n = all().map(Distribution::count).max().unwrap_or(1);
    let (per, name) = unit(high_ns.unsigned_abs().max(low_ns.unsigned_abs()) as f64);
    let margin = 0.04 * (high_ns - low_ns) as f64;
    let y = (low_ns as f64 - margin) / per..(high_ns as f64 + margin) / per;
    let area = sheet(text, quantity, &drawables)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(14)
        .margin_right(34)
        .x_label_area_size(46)
        .y_label_area_size(74)
        .build_cartesian_2d((1.0..(n as f64 * 1.3).max(10.0)).log_scale(), y)?;
    chart
        .configure_mesh()
        .x_desc("share of values that are not above")
        .y_desc(format!("{quantity}, {name}"))
        .axis_desc_style((FONT, 17))
        .label_style((FONT, 14))
        .x_labels(8)
        .x_label_formatter(&|one_in| share(*one_in))
        .y_label_formatter(&|value| tick(*value))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    for d in &drawables {
        let mut steps = Vec::new();
        for (one_in, value_ns) in curve(quantity.of(d.task)) {
            let value = value_ns as f64 / per;
            if let Some((before, _)) = steps.last().copied() {
                steps.push((before, value));
            }
            steps.push((one_in, value));
        }
        let colour = d.colour;
        chart
            .draw_series(LineSeries::new(steps, colour.stroke_width(2)))?
            .label(d.name.clone())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
    }
    if drawables.len() > 1 {
        let (background, border) = legend_style();
        let mut labels = chart.configure_series_labels();
        let labels = labels.position(SeriesLabelPosition::UpperLeft).label_font((FONT, 14));
        labels.background_style(background).border_style(border).draw()?;
    }
    drop(chart);
    area.present()?;
    Ok(())
}

/// The share that is not above when one in `one_in` is: 10 is 90 %, 1000 is 99.9 %.
fn share(one_in: f64) -> String {
    if one_in < 1.5 {
        return "0 %".into();
    }
    let nines = one_in.log10().round() as usize;
    if (one_in.log10() - nines as f64).abs() > 1e-6 {
        return String::new();
    }
    match nines {
        1 => "90 %".into(),
        2 => "99 %".into(),
        more => format!("99.{} %", "9".repeat(more - 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_ends_at_the_largest_of_all() {
        let mut values = Distribution::new();
        (1..=1_000).for_each(|v| values.record(v));
        let curve = curve(&values);
        assert_eq!(curve.last(), Some(&(1_000.0, 1_000)));
        assert!(curve.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1));
        let p90 = curve.iter().find(|(one_in, _)| *one_in >= 10.0 - 1e-9).unwrap();
        assert!((900..=908).contains(&p90.1), "{p90:?}");
    }

    #[test]
    fn shares_are_written_with_their_nines() {
        assert_eq!([1.0, 10.0, 100.0, 1e5].map(share), ["0 %", "90 %", "99 %", "99.999 %"]);
    }
}
