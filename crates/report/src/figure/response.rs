//! Step and tracking responses of a servo loop: the reference, ideal timing, recorded timing.

use jitterlab_motion::servo::{Point, Response};
use plotters::prelude::*;

use super::FigureError;
use super::frame::{COLOURS, Drawn, FONT, SIZE, legend_style, tick};

/// The responses as SVG, one panel for each and each output. `caption` says whose they are.
///
/// # Errors
/// There is nothing to draw.
pub fn responses(outputs: &[String], responses: &[Response], caption: &str) -> Result<String, FigureError> {
    let panels: Vec<(&Response, usize, String)> = responses
        .iter()
        .flat_map(|r| {
            outputs.iter().enumerate().map(move |(n, name)| (r, n, format!("{name}, {}", r.reference)))
        })
        .collect();
    let mut text = String::new();
    draw(&mut text, &panels, caption).map_err(|error| FigureError::Drawing(error.to_string()))?;
    Ok(text)
}

/// Height of the caption's strip.
const FOOT: u32 = 34;

fn draw(text: &mut String, panels: &[(&Response, usize, String)], caption: &str) -> Drawn {
    let height = SIZE.1 / 2 * (panels.len() as u32).max(1);
    let root = SVGBackend::with_string(text, (SIZE.0, height + FOOT)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(height);
    let style = (FONT, 13).into_font().color(&RGBColor(60, 60, 60));
    lower.draw(&Text::new(caption.to_owned(), (20, 8), style))?;
    for ((response, output, title), area) in panels.iter().zip(upper.split_evenly((panels.len().max(1), 1))) {
        let value = |p: &Point| p.outputs.get(*output).copied().filter(|v| v.is_finite());
        let curve = |points: &[Point], of: &dyn Fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
            points.iter().filter_map(|p| Some((p.time_s, of(p)?))).collect()
        };
        let curves = [
            ("reference", curve(&response.ideal_points, &|p| Some(p.reference)), RGBColor(120, 120, 120)),
            ("ideal timing", curve(&response.ideal_points, &value), COLOURS[0]),
            ("recorded timing", curve(&response.recorded_points, &value), COLOURS[1]),
        ];
        let all = || curves.iter().flat_map(|c| &c.1);
        let end = all().map(|p| p.0).fold(f64::MIN_POSITIVE, f64::max);
        let low = all().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let high = all().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            continue;
        }
        let margin = 0.05 * (high - low).max(f64::MIN_POSITIVE);
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(74)
            .build_cartesian_2d(0.0..end, low - margin..high + margin)?;
        chart
            .configure_mesh()
            .x_desc("time, s")
            .y_desc(title.as_str())
            .axis_desc_style((FONT, 14))
            .label_style((FONT, 13))
            .x_label_formatter(&|v| tick(*v))
            .y_label_formatter(&|v| tick(*v))
            .light_line_style(RGBColor(240, 240, 240))
            .bold_line_style(RGBColor(215, 215, 215))
            .draw()?;
        for (name, points, colour) in curves {
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        let (background, border) = legend_style();
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(background)
            .border_style(border)
            .label_font((FONT, 13))
            .draw()?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::servo::tracking;

    #[test]
    fn every_output_of_every_response_has_its_panel_with_three_curves() {
        let points: Vec<Point> = (0..100)
            .map(|k| Point {
                time_s: f64::from(k) * 0.01,
                reference: 1.0,
                outputs: vec![f64::from(k) * 0.01, f64::NAN],
                inputs: vec![0.0, 0.0],
            })
            .collect();
        let response = Response {
            reference: "step:1".into(),
            ideal: tracking(&points),
            recorded: tracking(&points),
            ideal_points: points.clone(),
            recorded_points: points,
        };
        let svg = responses(&["pan".into(), "tilt".into()], &[response], "Jiwy under pd").unwrap();
        for text in ["pan, step:1", "tilt, step:1", "ideal timing", "recorded timing", "Jiwy under pd"] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
