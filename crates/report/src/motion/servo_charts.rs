//! Figures of a loop: what each part of the timing costs, and how references are followed.

use jitterlab_motion::servo::{
    Evaluation, FollowedReference, Judged, LoopDescription, Point, ServoResult, Stationary,
};

use crate::chart::{Axis, Chart, Layer, Shape, Stroke, time_unit};

/// How each output follows each reference.
pub fn responses(result: &ServoResult) -> Vec<Chart> {
    let Judged::Run(under) = &result.judged else { return Vec::new() };
    let followed = under.assessment.responses.iter();
    followed.flat_map(|f| (0..result.closed.outputs.len()).map(move |o| response(result, o, f))).collect()
}

/// What each part of the timing adds to the cost.
pub(super) fn cost(closed: &LoopDescription, found: &Evaluation) -> Chart {
    let steps = [
        ("mean latency and execution", &found.mean_delay, &found.ideal),
        ("jitter", &found.jitter, &found.mean_delay),
        ("missed, at random", &found.independent, &found.jitter),
        ("their bursts", &found.clustered, &found.independent),
    ];
    let ideal = found.ideal.cost;
    let part = |now: &Stationary, before: &Stationary| {
        Some(100.0 * (now.cost - before.cost) / ideal).filter(|part| part.is_finite())
    };
    let bars = steps.iter().zip(0u32..).filter_map(|((_, now, before), i)| {
        Some([f64::from(i) - 0.35, f64::from(i) + 0.35, part(now, before)?])
    });
    let end = match steps.iter().find(|(_, now, _)| !now.is_stable()) {
        Some((what, ..)) => {
            format!("With {what} the loop is no longer stable in the mean square: no cost from there on.")
        }
        None => format!("All together: {:+.3} %.", 100.0 * (found.clustered.cost / ideal - 1.0)),
    };
    Chart {
        name: "servo-cost",
        caption: format!(
            "{} under {}: what each part of the timing adds to the cost, as a share of the cost with punctual activations. {end}",
            closed.plant, closed.controller
        ),
        x: Axis::names("", steps.map(|step| step.0)),
        y: Axis::linear("added cost, %"),
        layers: vec![Layer::new("", 0, Shape::Bars(bars.collect()))],
        height: 360,
    }
}

fn response(result: &ServoResult, output: usize, response: &FollowedReference) -> Chart {
    let name = result.closed.outputs.get(output).map_or("output", String::as_str);
    let points = response.ideal_points.iter().chain(&response.recorded_points);
    let (per, unit) = time_unit(points.map(|p| p.time_s).fold(0.0, f64::max) * 1e9);
    let at = |p: &Point| p.time_s * 1e9 / per;
    let line = |points: &[Point], stroke, of: &dyn Fn(&Point) -> Option<f64>| {
        // A loop that ran away leaves all numbers behind.
        let point = |p: &Point| of(p).filter(|v| v.is_finite()).map(|v| [at(p), v]);
        Shape::Line { points: points.iter().filter_map(point).collect(), stroke }
    };
    let value = |p: &Point| p.outputs.get(output).copied();
    let (ideal, recorded) = (&response.ideal_points, &response.recorded_points);
    Chart {
        name: "step-response",
        caption: format!(
            "{} under {}, reference {}: {name} with punctual activations and with those of the run.",
            result.closed.plant, result.closed.controller, response.reference
        ),
        x: Axis::linear(format!("time, {unit}")),
        y: Axis::linear(name),
        layers: vec![
            Layer::new("reference", 4, line(ideal, Stroke::Dashed, &|p| Some(p.reference))),
            Layer::new("punctual", 0, line(ideal, Stroke::Solid, &value)),
            Layer::new("as recorded", 1, line(recorded, Stroke::Solid, &value)),
        ],
        height: 380,
    }
}
