//! The EPOS paper's figures, drawn from what is measured here.

use jitterlab_model::mcu::Strategy;
use plotters::prelude::*;

use super::Row;
use crate::figure::FigureError;
use crate::figure::frame::{Area, COLOURS, Drawn, FONT};

const PERIODIC: RGBColor = COLOURS[0];
const SINGLE_SHOT: RGBColor = COLOURS[1];
const ANCHORED: RGBColor = COLOURS[2];

/// The columns of [`Row::errors_us`]: name, colour, and whether it is a line (the paper's, and what is measured with the
/// compare register rightly programmed) or points (measured with it programmed as the paper did).
const CURVES: [(&str, RGBColor, Look); 7] = [
    ("periodic, paper", PERIODIC, Look::Thin),
    ("periodic, programmed as in the paper", PERIODIC, Look::Points),
    ("periodic", PERIODIC, Look::Thick),
    ("single shot, paper", SINGLE_SHOT, Look::Thin),
    ("single shot, programmed as in the paper", SINGLE_SHOT, Look::Points),
    ("single shot", SINGLE_SHOT, Look::Thick),
    ("anchored", ANCHORED, Look::Thick),
];

#[derive(Clone, Copy, PartialEq)]
enum Look {
    Thin,
    Points,
    Thick,
}

/// Percent: what is exact lies at the foot of a logarithmic axis.
const LEAST_PERCENT: f64 = 1e-7;

/// Figure 5: the size of the mean error in percent of the period, a panel for each timer clock.
///
/// # Errors
/// The plotting library gave up.
pub fn figure_5_svg(rows: &[Row]) -> Result<String, FigureError> {
    let mut text = String::new();
    draw_figure_5(&mut text, rows).map_err(|e| FigureError::Drawing(e.to_string()))?;
    Ok(text)
}

fn draw_figure_5(text: &mut String, rows: &[Row]) -> Drawn {
    let blocks: Vec<&[Row]> = rows.chunk_by(|a, b| a.timer_hz == b.timer_hz).collect();
    let root = SVGBackend::with_string(text, (360 * blocks.len().max(1) as u32, 560)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(450);
    for (block, area) in blocks.iter().zip(upper.split_evenly((1, blocks.len().max(1)))) {
        draw_errors(&area, block)?;
    }
    for (i, (name, colour, look)) in CURVES.iter().enumerate() {
        let (x, y) = (40 + 340 * (i as i32 / 3), 8 + 22 * (i as i32 % 3));
        match look {
            Look::Points => lower.draw(&Circle::new((x + 12, y + 7), 4, *colour))?,
            Look::Thin => lower.draw(&PathElement::new([(x, y + 7), (x + 24, y + 7)], *colour))?,
            Look::Thick => {
                lower.draw(&PathElement::new([(x, y + 7), (x + 24, y + 7)], colour.stroke_width(3)))?;
            }
        }
        lower.draw(&Text::new(*name, (x + 32, y), (FONT, 14)))?;
    }
    let foot = "Size of the mean error against the period. No error at all is drawn at the foot of the axis.";
    lower.draw(&Text::new(foot, (40, 82), (FONT, 13)))?;
    root.present()?;
    Ok(())
}

fn draw_errors(area: &Area<'_>, block: &[Row]) -> Drawn {
    let title = format!("timer clock {:.0} Hz", block.first().map_or(0.0, |row| row.timer_hz));
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 16))
        .margin(10)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((80.0..12e6).log_scale(), (LEAST_PERCENT..1e3).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("period")
        .y_desc("error, %")
        .axis_desc_style((FONT, 14))
        .label_style((FONT, 12))
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|us: &f64| super::period(us.round() as u32))
        .y_label_formatter(&|percent: &f64| format!("{percent:.0e}"))
        .light_line_style(RGBColor(245, 245, 245))
        .bold_line_style(RGBColor(220, 220, 220))
        .draw()?;
    for (i, (_, colour, look)) in CURVES.iter().enumerate() {
        let points = block.iter().filter_map(|row| {
            let period_us = f64::from(row.period_us);
            row.errors_us[i].map(|us| (period_us, (us.abs() / period_us * 100.0).max(LEAST_PERCENT)))
        });
        match look {
            Look::Points => {
                chart.draw_series(points.map(|point| Circle::new(point, 4, *colour)))?;
            }
            Look::Thin => {
                chart.draw_series(LineSeries::new(points, *colour))?;
            }
            Look::Thick => {
                chart.draw_series(LineSeries::new(points, colour.stroke_width(3)))?;
            }
        }
    }
    Ok(())
}

/// The rounds of a thread under one strategy.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// The strategy.
    pub strategy: Strategy,
    /// Each round's beginning in ms and its length in us.
    pub rounds: Vec<(f64, f64)>,
}

/// Figure 7: the period of the led thread along time, a panel for each strategy.
///
/// # Errors
/// The plotting library gave up.
pub fn figure_7_svg(threads: &[Rounds]) -> Result<String, FigureError> {
    let mut text = String::new();
    draw_figure_7(&mut text, threads).map_err(|e| FigureError::Drawing(e.to_string()))?;
    Ok(text)
}

fn draw_figure_7(text: &mut String, threads: &[Rounds]) -> Drawn {
    let root = SVGBackend::with_string(text, (900, 200 * threads.len().max(1) as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let all = || threads.iter().flat_map(|t| &t.rounds);
    let end = all().map(|(at, _)| *at).fold(0.0, f64::max).max(1e-3);
    let longest = all().map(|(_, length)| *length).fold(0.0, f64::max).max(1e-3);
    for (thread, area) in threads.iter().zip(root.split_evenly((threads.len().max(1), 1))) {
        let mut chart = ChartBuilder::on(&area)
            .caption(thread.strategy.name(), (FONT, 15))
            .margin(8)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..end, 0.0..longest * 1.1)?;
        chart
            .configure_mesh()
            .x_desc("time, ms")
            .y_desc("period, us")
            .axis_desc_style((FONT, 13))
            .label_style((FONT, 12))
            .y_labels(5)
            .light_line_style(RGBColor(245, 245, 245))
            .bold_line_style(RGBColor(220, 220, 220))
            .draw()?;
        let colour = match thread.strategy {
            Strategy::Periodic => PERIODIC,
            Strategy::SingleShot => SINGLE_SHOT,
            Strategy::Anchored => ANCHORED,
        };
        chart.draw_series(LineSeries::new(thread.rounds.iter().copied(), colour.stroke_width(1)))?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_of_figure_5_is_drawn_and_named() {
        let errors =
            [Some(173.0), Some(173.6), Some(0.0), Some(921_704.0), Some(8_681.0), Some(0.1), Some(-0.9)];
        let row = |period_us, timer_hz| Row { period_us, timer_hz, errors_us: errors };
        let rows = [row(100, 7_200.0), row(1_000, 7_200.0), row(100, 115_200.0), row(10_000_000, 115_200.0)];
        let svg = figure_5_svg(&rows).unwrap();
        for (name, ..) in CURVES {
            assert!(svg.contains(name), "{name}");
        }
        assert!(svg.contains("timer clock 7200 Hz") && svg.contains("timer clock 115200 Hz"));
        assert_eq!(svg.matches("<circle").count(), 2 * 4 + 2, "points of two curves, and the legend's");
        let empty = Row { period_us: 100, timer_hz: 7_200.0, errors_us: [None; 7] };
        assert!(figure_5_svg(&[empty]).is_ok() && figure_5_svg(&[]).is_ok());
    }

    #[test]
    fn figure_7_has_a_panel_for_each_strategy() {
        let rounds = vec![(0.0, 20.4), (0.02, 26.2), (0.05, 20.4)];
        let threads = Strategy::ALL.map(|strategy| Rounds { strategy, rounds: rounds.clone() });
        let svg = figure_7_svg(&threads).unwrap();
        assert!(Strategy::ALL.iter().all(|s| svg.contains(s.name())));
        assert_eq!(svg.matches("time, ms").count(), 3);
        assert!(figure_7_svg(&[]).is_ok());
    }
}
