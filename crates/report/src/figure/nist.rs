//! Figures 1, 2 and 6 of the NIST paper: deviations of starts from the line through them.

use jitterlab_analysis::clusters::LatencyCluster;
use jitterlab_analysis::deviations::Deviations;
use plotters::coord::Shift;
use plotters::prelude::*;

use super::FigureError;
use super::frame::{COLOURS, Drawn, FONT, SIZE, legend_style, tick};

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Bars of the histogram.
const BARS: usize = 60;

fn sheet(draw: impl FnOnce(&Panel<'_>) -> Drawn) -> Result<String, FigureError> {
    let mut text = String::new();
    let drawn = {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let filled: Drawn = root.fill(&WHITE).map_err(Into::into);
        filled.and_then(|()| draw(&root)).and_then(|()| root.present().map_err(Into::into))
    };
    drawn.map_err(|error| FigureError::Drawing(error.to_string()))?;
    Ok(text)
}

/// The axis of deviations, in microseconds, with a little room.
fn extent(series: &[&Deviations]) -> (f64, f64) {
    let low = series.iter().map(|d| d.residual.min).fold(f64::INFINITY, f64::min) / 1e3;
    let high = series.iter().map(|d| d.residual.max).fold(f64::NEG_INFINITY, f64::max) / 1e3;
    let room = (0.05 * (high - low)).max(1e-3);
    (low - room, high + room)
}

/// The deviations over the samples, connected by lines or not; boxes around the clusters.
fn series(
    panel: &Panel<'_>,
    all: &[(&Deviations, &str)],
    clusters: &[LatencyCluster],
    connected: bool,
) -> Drawn {
    let (low, high) = extent(&all.iter().map(|(d, _)| *d).collect::<Vec<_>>());
    let samples = all.iter().map(|(d, _)| d.each_ns.len()).max().unwrap_or(1) as f64;
    let mut chart = ChartBuilder::on(panel)
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(74)
        .build_cartesian_2d(0.0..samples, low..high)?;
    chart
        .configure_mesh()
        .x_desc("sample")
        .y_desc("deviation, µs")
        .axis_desc_style((FONT, 17))
        .label_style((FONT, 14))
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    let edges = |c: &LatencyCluster| (c.low_ns as f64 / 1e3, c.high_ns as f64 / 1e3);
    chart.draw_series(
        clusters
            .iter()
            .map(edges)
            .map(|(low, high)| Rectangle::new([(0.0, low), (samples, high)], COLOURS[1].stroke_width(1))),
    )?;
    for ((deviations, name), colour) in all.iter().zip(COLOURS) {
        let points = || deviations.each_ns.iter().enumerate().map(|(i, ns)| (i as f64, ns / 1e3));
        if connected {
            chart.draw_series(LineSeries::new(points(), colour.mix(0.4)))?;
        }
        chart
            .draw_series(points().map(|at| Circle::new(at, if connected { 3 } else { 1 }, colour.filled())))?
            .label(*name)
            .legend(move |(x, y)| Circle::new((x + 9, y), 3, colour.filled()));
    }
    if all.len() > 1 {
        let (background, border) = legend_style();
        chart
            .configure_series_labels()
            .label_font((FONT, 14))
            .background_style(background)
            .border_style(border)
            .draw()?;
    }
    Ok(())
}

/// How many deviations lie where: bars along the same axis as the series, boxes around the clusters.
fn histogram(panel: &Panel<'_>, deviations: &Deviations, clusters: &[LatencyCluster]) -> Drawn {
    let (low, high) = extent(&[deviations]);
    let width = (high - low) / BARS as f64;
    let mut bars = [0u32; BARS];
    for ns in &deviations.each_ns {
        bars[(((ns / 1e3 - low) / width) as usize).min(BARS - 1)] += 1;
    }
    let most = f64::from(bars.iter().copied().max().unwrap_or(1)) * 1.1;
    let mut chart = ChartBuilder::on(panel)
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(10)
        .build_cartesian_2d(0.0..most, low..high)?;
    chart
        .configure_mesh()
        .x_desc("samples")
        .axis_desc_style((FONT, 17))
        .label_style((FONT, 14))
        .x_label_formatter(&|value| tick(*value))
        .y_labels(0)
        .disable_mesh()
        .draw()?;
    chart.draw_series(bars.iter().enumerate().map(|(i, count)| {
        let from = low + i as f64 * width;
        Rectangle::new([(0.0, from), (f64::from(*count), from + width)], COLOURS[0].mix(0.65).filled())
    }))?;
    let boxes = clusters.iter().map(|c| {
        let corners = [(0.0, c.low_ns as f64 / 1e3), (most, c.high_ns as f64 / 1e3)];
        Rectangle::new(corners, COLOURS[1].stroke_width(1))
    });
    chart.draw_series(boxes)?;
    Ok(())
}

/// Figure 1: a short series and its histogram, clusters boxed in both.
///
/// # Errors
/// The plotting library's.
pub fn figure_1(deviations: &Deviations, clusters: &[LatencyCluster]) -> Result<String, FigureError> {
    sheet(|root| {
        let (left, right) = root.split_horizontally(SIZE.0 * 7 / 10);
        series(&left, &[(deviations, "")], clusters, true)?;
        histogram(&right, deviations, clusters)
    })
}

/// Figure 2: a long series, points only.
///
/// # Errors
/// The plotting library's.
pub fn figure_2(deviations: &Deviations) -> Result<String, FigureError> {
    sheet(|root| series(root, &[(deviations, "")], &[], false))
}

/// Figure 6: uncompensated and compensated starts.
///
/// # Errors
/// The plotting library's.
pub fn figure_6(uncompensated: &Deviations, compensated: &Deviations) -> Result<String, FigureError> {
    sheet(|root| series(root, &[(uncompensated, "uncompensated"), (compensated, "compensated")], &[], true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::clusters::latency_clusters;
    use jitterlab_model::Activation;

    /// Starts of a 500 us task that take one of two code paths, 2 us apart.
    fn two_paths(samples: u64) -> Deviations {
        let start = |k: u64| {
            let late_ns = (k * 7 % 3 % 2 * 2_000 + k * 37 % 100) as i64;
            Activation { index: k, start_ns: k as i64 * 500_000 + late_ns, ..Activation::default() }
        };
        Deviations::of(&(0..samples).map(start).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_sample_is_drawn_and_every_cluster_is_boxed_twice() {
        let deviations = two_paths(100);
        let clusters = latency_clusters(&deviations.distribution());
        assert_eq!(clusters.len(), 2);
        let svg = figure_1(&deviations, &clusters).unwrap();
        assert_eq!(svg.matches("<circle").count(), 100);
        let boxes = svg.lines().filter(|line| line.contains("<rect") && line.contains("stroke=\"#B34700\""));
        assert_eq!(boxes.count(), 4, "{svg}");
        assert_eq!(figure_2(&deviations).unwrap().matches("<circle").count(), 100);
        let both = figure_6(&deviations, &two_paths(50)).unwrap();
        assert!(both.contains("uncompensated") && both.matches("<circle").count() == 100 + 50 + 2);
    }
}
