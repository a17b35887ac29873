//! Figures of a compensation: before and after, the margins.

use crate::words::{exact_time, share};
use jitterlab_analysis::Statistics;
use jitterlab_analysis::compensation_trial::CompensationTrial;
use jitterlab_analysis::expectation::MarginPoint;
use jitterlab_analysis::proof::Proof;
use jitterlab_analysis::wakeup::WayFigures;
use jitterlab_model::units::Human;

use crate::chart::{Axis, Chart, Layer, Shape, Stroke, time_unit};

/// Distances of starts from their due times, before and after.
pub(super) fn before_and_after_chart(period_ns: i64, proof: &Proof) -> Chart {
    let named =
        |f: &Statistics| f.percentiles().map(|(_, ns)| ns.exactly()).chain([f.max_ns]).collect::<Vec<_>>();
    let most = named(&proof.before.deviation).into_iter().flatten().max().unwrap_or(1);
    let least = named(&proof.after.deviation).into_iter().flatten().filter(|ns| *ns > 0).min().unwrap_or(1);
    let (per, unit) = time_unit((most as f64 * least as f64).sqrt());
    let layer = |name: &str, colour: usize, way: &WayFigures| {
        let points = named(&way.deviation).into_iter().enumerate();
        let points = points.filter_map(|(i, ns)| Some([i as f64, ns? as f64 / per])).collect();
        Layer::new(name, colour, Shape::Line { points, stroke: Stroke::Dotted })
    };
    let load = |way: &WayFigures| way.load.map_or("not known".into(), share);
    Chart {
        name: "compensation".into(),
        caption: format!(
            "Distance of starts from their due times, |start − due|, period {}: {} activations uncompensated (processor load {}), {} compensated ({}), measured in turns.",
            exact_time(period_ns),
            proof.before.executed,
            load(&proof.before),
            proof.after.executed,
            load(&proof.after)
        ),
        x: Axis::names(
            "share of starts that are not further away",
            ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "all"],
        ),
        y: Axis::log(format!("|start − due|, {unit}")),
        layers: vec![layer("uncompensated", 1, &proof.before), layer("compensated", 0, &proof.after)],
        height: 400,
    }
}

/// Polling and late starts by margin, expected and measured; `None` where no margin was measured.
pub(super) fn margins_chart(trial: &CompensationTrial) -> Option<Chart> {
    let longest = trial.margins.iter().map(|p| p.margin_ns).max()?;
    let (per, unit) = time_unit(longest as f64);
    let curve = |of: fn(&MarginPoint) -> f64| {
        let points = trial.margins.iter().map(|p| [p.margin_ns as f64 / per, 100.0 * of(p)]);
        points.collect::<Vec<[f64; 2]>>()
    };
    let line = |points| Shape::Line { points, stroke: Stroke::Dashed };
    Some(Chart {
        name: "margin".into(),
        caption: format!(
            "One early sleep, then polling, with margins up to {}: share of the time polled, and of starts that are late all the same. Lines: expected from the latencies; dots: measured.",
            Human(longest as f64)
        ),
        x: Axis::linear(format!("margin, {unit}")),
        y: Axis::log("share, %"),
        layers: vec![
            Layer::new("polled, expected", 0, line(curve(|p| p.expected_polled))),
            Layer::new("polled, measured", 0, Shape::Points(curve(|p| p.measured_polled))),
            Layer::new("late, expected", 1, line(curve(|p| p.expected_late))),
            Layer::new("late, measured", 1, Shape::Points(curve(|p| p.measured_late))),
        ],
        height: 380,
    })
}
