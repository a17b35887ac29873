//! Processor load against the period A of early wake-ups: measured, and by equation 1 of the NIST paper.

use crate::words::{exact_time, share};
use jitterlab_analysis::compensation::nist;
use jitterlab_analysis::expectation::LoadPoint;
use jitterlab_model::units::Human;

use crate::chart::{Axis, Chart, Layer, Shape, Stroke};

/// Points of a curve.
const STEPS: i32 = 200;

/// Chart of the extra load of NIST's compensation over its wake-up interval A, by equations and measured. For a task of
/// period T (`period_ns`) whose wake-ups cost S (`service_ns`): both axes logarithmic, A from a hundredth of T to T.
/// `beside` is another S with its name, drawn for comparison.
pub fn extra_load_curve(
    period_ns: i64,
    service_ns: f64,
    measured: &[LoadPoint],
    beside: Option<(f64, &str)>,
) -> Chart {
    let (t, s) = (period_ns as f64, service_ns);
    let line = |load: &dyn Fn(f64) -> f64, stroke| {
        let at = |i: i32| t * 100f64.powf(f64::from(i) / f64::from(STEPS) - 1.0);
        let points = (0..=STEPS).map(at).map(|a| [a, 100.0 * load(a)]);
        Shape::Line { points: points.collect(), stroke }
    };
    let (best_ns, least) = nist::optimum(s, t);
    let mut layers = vec![
        Layer::new(format!("equation 1, S = {}", Human(s)), 0, line(&|a| nist::load(a, s, t), Stroke::Solid)),
        Layer::new("half of the last A polled", 2, line(&|a| nist::mean_poll_load(a, s, t), Stroke::Dashed)),
    ];
    if let Some((other, name)) = beside {
        layers.push(Layer::new(name, 4, line(&|a| nist::load(a, other, t), Stroke::Dashed)));
    }
    let points = measured.iter().map(|p| [p.every_ns as f64, 100.0 * p.measured]);
    layers.push(Layer::new("measured", 1, Shape::Points(points.collect())));
    let best = Shape::Points(vec![[best_ns, 100.0 * least]]);
    layers.push(Layer::new("least by equations 2 and 3", 3, best));
    let hidden = measured.iter().filter(|p| p.measured <= 0.0).count();
    let hidden = match hidden {
        0 => String::new(),
        n => format!(" {n} measured loads are not above zero and have no place on this axis."),
    };
    Chart {
        name: "load-curve".into(),
        caption: format!(
            "Waking every A and polling in the last A before the due time, the NIST paper's way, period {}: processor load beyond that of the uncompensated task. Equation 1 polls the last A in full. Least by equations 2 and 3: {} at A = {}.{hidden}",
            exact_time(period_ns),
            share(least),
            Human(best_ns)
        ),
        x: Axis::log("A").time(),
        y: Axis::log("extra processor load, %"),
        layers,
        height: 420,
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
        let measured = [point(50_000, 0.171), point(100_000, 0.2), point(250_000, -0.004)];
        let chart = extra_load_curve(500_000, 5_000.0, &measured, Some((9_000.0, "the paper")));
        assert!(chart.caption.contains("19 % at A = 50 µs"), "{}", chart.caption);
        assert!(chart.caption.contains("1 measured loads are not above zero"), "{}", chart.caption);
        let names: Vec<&str> = chart.layers.iter().map(|layer| layer.name.as_str()).collect();
        assert!(names[0].contains("S = 5 µs") && names.contains(&"the paper"), "{names:?}");
        let drawn = chart.layers.iter().find(|layer| layer.name == "measured").unwrap();
        assert_eq!(drawn.shape, Shape::Points(vec![[50e3, 17.1], [100e3, 20.0], [250e3, -0.4]]));
    }
}
