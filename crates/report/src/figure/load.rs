//! Processor load against the period A of early wake-ups: measured, and by equation 1 of the NIST paper.

use jitterlab_analysis::compensation::nist;
use jitterlab_analysis::expectation::LoadPoint;
use jitterlab_model::units::{Exact, Human};
use plotters::prelude::*;

use super::FigureError;
use super::frame::{COLOURS, Drawn, FONT, SIZE, legend_style, tick};

/// What a load curve shows.
pub struct LoadCurve<'a> {
    /// T.
    pub period_ns: i64,
    /// S for equation 1.
    pub service_ns: f64,
    /// Measured points.
    pub points: &'a [LoadPoint],
    /// Another S whose curve is drawn beside, with its name.
    pub beside: Option<(f64, &'a str)>,
}

impl LoadCurve<'_> {
    /// The figure as SVG, both axes logarithmic.
    ///
    /// # Errors
    /// There is nothing to draw.
    pub fn svg(&self) -> Result<String, FigureError> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| FigureError::Drawing(error.to_string()))?;
        Ok(text)
    }

    /// The period from a hundredth of T to T, in microseconds, and the load of each.
    fn curve(&self, load: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        const STEPS: i32 = 200;
        let t = self.period_ns as f64;
        let at = |i: i32| t * 100f64.powf(f64::from(i) / f64::from(STEPS) - 1.0);
        (0..=STEPS).map(at).map(|a| (a / 1e3, 100.0 * load(a))).collect()
    }

    fn draw(&self, text: &mut String) -> Drawn {
        let (t, s) = (self.period_ns as f64, self.service_ns);
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(74)
            .build_cartesian_2d((t / 1e5..t / 1e3).log_scale(), (1.0..200.0).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(format!("A, µs (period {})", Exact(self.period_ns)))
            .y_desc("extra processor load, %")
            .axis_desc_style((FONT, 17))
            .label_style((FONT, 14))
            .x_label_formatter(&|value| tick(*value))
            .y_label_formatter(&|value| tick(*value))
            .light_line_style(RGBColor(240, 240, 240))
            .bold_line_style(RGBColor(215, 215, 215))
            .draw()?;
        let mut curves = vec![
            (format!("equation 1, S = {}", Human(s)), self.curve(|a| nist::load(a, s, t))),
            ("with half of the last A polled".into(), self.curve(|a| nist::mean_poll_load(a, s, t))),
        ];
        if let Some((other, name)) = self.beside {
            curves.push((name.into(), self.curve(|a| nist::load(a, other, t))));
        }
        for ((name, curve), colour) in curves.into_iter().zip(COLOURS) {
            chart
                .draw_series(LineSeries::new(curve, colour.stroke_width(2)))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        let (best_ns, least) = nist::optimum(s, t);
        let minimum = format!("least by equations 2 and 3: {:.1} % at {}", 100.0 * least, Human(best_ns));
        chart
            .draw_series([TriangleMarker::new((best_ns / 1e3, 100.0 * least), 9, COLOURS[0].filled())])?
            .label(minimum)
            .legend(|(x, y)| TriangleMarker::new((x + 9, y), 7, COLOURS[0].filled()));
        let measured = self.points.iter().map(|p| (p.every_ns as f64 / 1e3, 100.0 * p.measured.max(0.01)));
        chart
            .draw_series(measured.map(|at| Circle::new(at, 5, BLACK.filled())))?
            .label("measured")
            .legend(|(x, y)| Circle::new((x + 9, y), 5, BLACK.filled()));
        let (background, border) = legend_style();
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperMiddle)
            .label_font((FONT, 14))
            .background_style(background)
            .border_style(border)
            .draw()?;
        drop(chart);
        root.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_has_its_curves_its_minimum_and_every_measured_point() {
        let point = |every_ns, measured| LoadPoint {
            every_ns,
            measured,
            polled: 0.0,
            equation_1: 0.19,
            mean_poll: 0.14,
        };
        let points = [point(50_000, 0.171), point(100_000, 0.2), point(250_000, 0.4)];
        let svg = LoadCurve {
            period_ns: 500_000,
            service_ns: 5_000.0,
            points: &points,
            beside: Some((9_000.0, "the paper")),
        }
        .svg()
        .unwrap();
        assert!(
            svg.contains("least by equations 2 and 3: 19.0 % at 50 us") && svg.contains("the paper"),
            "{svg}"
        );
        // The points and the legend's.
        assert_eq!(svg.matches("<circle").count(), points.len() + 1);
        assert!(svg.matches("<polyline").count() >= 3, "{svg}");
    }
}
