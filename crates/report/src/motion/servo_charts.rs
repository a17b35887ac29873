//! Figures of a loop: cost of each part of the timing, and responses to references.

use jitterlab_motion::servo::{
    Evaluation, FollowedReference, LoopAssessment, LoopDescription, PlantResult, ResponsePoint, ServoLoops,
    ServoResult, TimingSource,
};

use crate::chart::{Axis, Chart, Layer, Shape, Stroke, time_unit};

pub(super) fn servo_charts(result: &ServoResult) -> Vec<Chart> {
    let LoopDescription { plant, controller, .. } = &result.closed;
    let TimingSource::Run(under) = &result.judged else { return Vec::new() };
    let cost = cost_chart(&format!("{plant} under {controller}"), &under.assessment.evaluation);
    std::iter::once(cost).chain(response_charts(result)).collect()
}

pub(super) fn loop_charts(result: &ServoLoops) -> Vec<Chart> {
    let of = |(plant, under): (&PlantResult, &LoopAssessment)| {
        let responses = plant_response_charts(plant, under);
        std::iter::once(cost_chart(&plant.plant, &under.evaluation)).chain(responses).collect::<Vec<_>>()
    };
    result.assessed_plants().flat_map(of).collect()
}

pub fn loop_response_charts(result: &ServoLoops) -> Vec<Chart> {
    result.assessed_plants().flat_map(|(plant, under)| plant_response_charts(plant, under)).collect()
}

fn plant_response_charts(plant: &PlantResult, under: &LoopAssessment) -> Vec<Chart> {
    under.responses.iter().flat_map(|f| output_charts(&plant.plant, &plant.outputs, f)).collect()
}

pub fn response_charts(result: &ServoResult) -> Vec<Chart> {
    let TimingSource::Run(under) = &result.judged else { return Vec::new() };
    let LoopDescription { plant, controller, outputs, .. } = &result.closed;
    let title = format!("{plant} under {controller}");
    under.assessment.responses.iter().flat_map(|f| output_charts(&title, outputs, f)).collect()
}

fn output_charts(title: &str, outputs: &[String], followed: &FollowedReference) -> Vec<Chart> {
    outputs.iter().enumerate().map(|(i, name)| response_chart(title, (i, name), followed)).collect()
}

/// Cost of each part of the timing, up to the first with which the loop is no longer stable.
fn cost_chart(title: &str, found: &Evaluation) -> Chart {
    let loss = found.loss();
    let parts = [
        ("mean latency and execution", loss.mean_delay),
        ("jitter", loss.jitter),
        ("overruns, at random", loss.missed),
        ("their order", loss.clusters),
    ];
    let stable = parts.iter().zip(0u32..).take_while(|((_, part), _)| part.is_finite());
    let bars = stable.map(|((_, part), i)| [f64::from(i) - 0.35, f64::from(i) + 0.35, 100.0 * part]);
    let end = match parts.iter().find(|(_, part)| !part.is_finite()) {
        Some((what, _)) => {
            format!("With {what} the loop is no longer stable in the mean square: no cost from there on.")
        }
        None => format!("All together: {:+.3} %.", 100.0 * loss.total),
    };
    Chart {
        name: "servo-cost".into(),
        caption: format!(
            "{title}: what each part of the timing adds to the cost, as a share of the cost with punctual activations. {end}"
        ),
        x: Axis::names("", parts.map(|part| part.0)),
        y: Axis::linear("added cost, %"),
        layers: vec![Layer::new("", 0, Shape::Bars(bars.collect()))],
        height: 360,
    }
}

/// Response of an output, given by its number and name, to a reference.
fn response_chart(title: &str, (output, name): (usize, &str), response: &FollowedReference) -> Chart {
    let points = response.ideal_points.iter().chain(&response.recorded_points);
    let (per, unit) = time_unit(points.map(|p| p.time_s).fold(0.0, f64::max) * 1e9);
    let at = |p: &ResponsePoint| p.time_s * 1e9 / per;
    let line = |points: &[ResponsePoint], stroke, of: &dyn Fn(&ResponsePoint) -> Option<f64>| {
        // A loop that ran away leaves all numbers behind.
        let point = |p: &ResponsePoint| of(p).filter(|v| v.is_finite()).map(|v| [at(p), v]);
        Shape::Line { points: points.iter().filter_map(point).collect(), stroke }
    };
    let value = |p: &ResponsePoint| p.outputs.get(output).copied();
    let (ideal, recorded) = (&response.ideal_points, &response.recorded_points);
    Chart {
        name: "step-response".into(),
        caption: format!(
            "{title}, reference {}, through the worst event: {name} with punctual activations and with those there were.",
            response.reference
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
