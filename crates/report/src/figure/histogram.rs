//! The histogram: counts on a logarithmic axis, so that a value seen once stands beside one seen a million times.

use jitterlab_model::Distribution;
use plotters::prelude::*;

use super::Quantity;
use super::frame::{Drawn, FONT, drawables, legend_style, sheet, tick, unit};
use crate::page::PageRun;

/// Bars across the figure, at most.
const BARS: f64 = 180.0;

/// Neighbouring bins joined to about `width_ns`: low, high + 1, count. None is lost, none is split.
fn bars(values: &Distribution, width_ns: f64) -> Vec<(i64, i64, u64)> {
    let mut bars: Vec<(i64, i64, u64)> = Vec::new();
    for bin in values.bins() {
        let end = bin.high_ns.saturating_add(1);
        match bars.last_mut() {
            Some((low, high, count)) if (end - *low) as f64 <= width_ns => {
                (*high, *count) = (end, *count + bin.count);
            }
            _ => bars.push((bin.low_ns, end, bin.count)),
        }
    }
    bars
}

/// Draws the histograms of all tasks over each other.
pub fn draw(text: &mut String, quantity: Quantity, runs: &[PageRun]) -> Drawn {
    let drawables = drawables(quantity, runs);
    let all = || drawables.iter().map(|d| quantity.of(d.task));
    let low_ns = all().filter_map(Distribution::min_ns).min().unwrap_or(0);
    let high_ns = all().filter_map(Distribution::max_ns).max().unwrap_or(1).max(low_ns + 1);
    let width_ns = (high_ns - low_ns) as f64 / BARS;
    let (per, name) = unit(high_ns.unsigned_abs().max(low_ns.unsigned_abs()) as f64);
    let bars: Vec<_> = all().map(|values| bars(values, width_ns)).collect();
    let most = bars.iter().flatten().map(|bar| bar.2).max().unwrap_or(1);
    let margin = 2.0 * width_ns;
    let x = (low_ns as f64 - margin) / per..(high_ns as f64 + margin) / per;
    let area = sheet(text, quantity, &drawables)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(74)
        .build_cartesian_2d(x, (0.7..most as f64 * 1.6).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(format!("{quantity}, {name}"))
        .y_desc("count")
        .axis_desc_style((FONT, 17))
        .label_style((FONT, 14))
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|count| format!("{count:.0}"))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    for (d, bars) in drawables.iter().zip(&bars) {
        let shape = bars.iter().map(|(low, high, count)| {
            let (left, right) = (*low as f64 / per, (*high as f64).max(*low as f64 + width_ns / 3.0) / per);
            Rectangle::new([(left, 0.7), (right, *count as f64)], d.colour.mix(0.65).filled())
        });
        let colour = d.colour;
        chart
            .draw_series(shape)?
            .label(d.name.clone())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 18, y + 5)], colour.mix(0.65).filled()));
    }
    if drawables.len() > 1 {
        let (background, border) = legend_style();
        chart
            .configure_series_labels()
            .label_font((FONT, 14))
            .background_style(background)
            .border_style(border)
            .draw()?;
    }
    drop(chart);
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_is_in_a_bar(values in prop::collection::vec(-9_000i64..9_000_000, 1..300), width in 1f64..1e6) {
            let mut distribution = Distribution::new();
            values.iter().for_each(|v| distribution.record(*v));
            let bars = bars(&distribution, width);
            prop_assert_eq!(bars.iter().map(|b| b.2).sum::<u64>(), values.len() as u64);
            prop_assert!(bars.windows(2).all(|w| w[0].1 <= w[1].0));
        }
    }
}
