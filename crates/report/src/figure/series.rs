//! The series: smallest, mean and largest value over time. No more columns than the figure has pixels, and no
//! extreme is lost.

use plotters::prelude::*;

use super::Quantity;
use super::frame::{Drawable, Drawn, FONT, drawables, sheet, tick, unit};
use crate::page::PageRun;
use crate::page::series::{Extent, Series};

/// One column of a series: from when, and what the quantity was.
pub struct Bucket {
    /// Due time of its first activation.
    pub due_ns: i64,
    /// The quantity in it.
    pub extent: Extent,
}

/// The series in at most `most` columns.
pub fn columns(series: &Series, quantity: usize, most: usize) -> Vec<Bucket> {
    let single = |value: Option<i64>| {
        value.map_or(Extent::default(), |v| Extent { count: 1, min_ns: v, max_ns: v, sum_ns: v.into() })
    };
    let all: Vec<Bucket> = if series.complete {
        series
            .exact
            .iter()
            .map(|e| Bucket { due_ns: e.due_ns, extent: single(e.values_ns[quantity]) })
            .collect()
    } else {
        series.steps.iter().map(|s| Bucket { due_ns: s.due_ns, extent: s.extents[quantity] }).collect()
    };
    let joined = all.chunks(all.len().div_ceil(most.max(1)).max(1)).filter_map(|part| {
        let mut extent = Extent::default();
        part.iter().for_each(|bucket| extent.merge(&bucket.extent));
        (extent.count > 0).then_some(Bucket { due_ns: part.first()?.due_ns, extent })
    });
    joined.collect()
}

/// Draws one panel for each task, all with their own axis.
pub fn draw(text: &mut String, quantity: Quantity, runs: &[PageRun]) -> Drawn {
    let drawables = drawables(quantity, runs);
    let area = sheet(text, quantity, &drawables)?;
    for (d, panel) in drawables.iter().zip(area.split_evenly((drawables.len(), 1))) {
        draw_panel(&panel, quantity, d, drawables.len())?;
    }
    area.present()?;
    Ok(())
}

/// One task over time, with the mean and standard deviation of the whole run.
fn draw_panel(panel: &super::frame::Area<'_>, quantity: Quantity, d: &Drawable<'_>, panels: usize) -> Drawn {
    let number = Quantity::ALL.iter().position(|q| *q == quantity).unwrap_or(0);
    let columns = columns(&d.task.series, number, 1_200);
    let origin_ns = columns.first().map_or(0, |c| c.due_ns);
    let low_ns = columns.iter().map(|c| c.extent.min_ns).min().unwrap_or(0);
    let high_ns = columns.iter().map(|c| c.extent.max_ns).max().unwrap_or(1).max(low_ns + 1);
    let margin = 0.04 * (high_ns - low_ns) as f64;
    let (per, name) = unit(high_ns.unsigned_abs().max(low_ns.unsigned_abs()) as f64);
    let length_ns = columns.last().map_or(1, |c| c.due_ns - origin_ns).max(1) as f64;
    let (seconds, time_unit) = unit(length_ns);
    let mut chart =
        ChartBuilder::on(panel).margin(14).x_label_area_size(46).y_label_area_size(74).build_cartesian_2d(
            0.0..length_ns / seconds,
            (low_ns as f64 - margin) / per..(high_ns as f64 + margin) / per,
        )?;
    chart
        .configure_mesh()
        .x_desc(format!("time, {time_unit}"))
        .y_desc(if panels == 1 { format!("{quantity}, {name}") } else { format!("{}, {name}", d.name) })
        .axis_desc_style((FONT, if panels > 2 { 14 } else { 17 }))
        .label_style((FONT, 14))
        .y_labels(8usize.div_ceil(panels) + 2)
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    let values = quantity.of(d.task);
    if let (Some(mean), Some(sd)) = (values.mean_ns(), values.standard_deviation_ns()) {
        let (low, high) = ((mean - sd).max(low_ns as f64) / per, (mean + sd).min(high_ns as f64) / per);
        let band = Rectangle::new([(0.0, low), (length_ns / seconds, high)], BLACK.mix(0.12).filled());
        chart.draw_series([band])?;
        chart.draw_series([PathElement::new(
            [(0.0, mean / per), (length_ns / seconds, mean / per)],
            BLACK.mix(0.6),
        )])?;
    }
    let at = |due_ns: i64| (due_ns - origin_ns) as f64 / seconds;
    let upper = columns.iter().map(|c| (at(c.due_ns), c.extent.max_ns as f64 / per));
    let lower = columns.iter().rev().map(|c| (at(c.due_ns), c.extent.min_ns as f64 / per));
    let outline: Vec<_> = upper.clone().chain(lower.clone()).collect();
    chart.draw_series([Polygon::new(outline, d.colour.mix(0.3).filled())])?;
    for edge in [upper.collect::<Vec<_>>(), lower.collect()] {
        chart.draw_series(LineSeries::new(edge, d.colour.stroke_width(1)))?;
    }
    Ok(())
}
