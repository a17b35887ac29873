//! What a run's timing costs a control loop: `jitterlab servo --json`.

use serde::Deserialize;

use super::caveats;
use crate::chart::{Axis, Chart, Layer, Shape, Stroke, time_unit};
use crate::section::{Block, Section};

#[derive(Deserialize)]
pub struct Document {
    answer: String,
    plant: String,
    controller: String,
    /// Names of the outputs.
    #[serde(default)]
    outputs: Vec<String>,
    assessment: Option<Assessment>,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Assessment {
    evaluation: Evaluation,
    #[serde(default)]
    responses: Vec<Response>,
}

#[derive(Deserialize)]
struct Evaluation {
    ideal: Cost,
    mean_delay: Cost,
    jitter: Cost,
    independent: Cost,
    clustered: Cost,
}

/// `None`: the loop is unstable.
#[derive(Deserialize)]
struct Cost {
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct Response {
    reference: String,
    ideal_points: Vec<Point>,
    recorded_points: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    time_s: f64,
    reference: Option<f64>,
    outputs: Vec<Option<f64>>,
}

pub fn section(document: &Document) -> Section {
    let mut blocks = vec![
        Block::Text { text: document.answer.clone() },
        Block::Text { text: format!("{} under {}.", document.plant, document.controller) },
    ];
    if let Some(found) = &document.assessment {
        blocks.push(Block::Figure(cost(document, &found.evaluation)));
        let outputs = document.outputs.len().max(1);
        for found in &found.responses {
            let charts = (0..outputs).map(|output| response(document, output, found));
            blocks.extend(charts.map(Block::Figure));
        }
    }
    blocks.extend(caveats(&document.caveats));
    Section {
        id: "servo".into(),
        title: "What it does to the control loop".into(),
        lead: "The mean quadratic cost of the loop under this run's timing against punctual activations, and which part of the timing costs how much.".into(),
        blocks,
    }
}

fn cost(document: &Document, found: &Evaluation) -> Chart {
    let steps = [
        ("mean latency and execution", &found.mean_delay, &found.ideal),
        ("jitter", &found.jitter, &found.mean_delay),
        ("missed, at random", &found.independent, &found.jitter),
        ("their bursts", &found.clustered, &found.independent),
    ];
    let ideal = found.ideal.cost;
    let part = |now: &Cost, before: &Cost| Some(100.0 * (now.cost? - before.cost?) / ideal?);
    let bars = steps.iter().zip(0u32..).filter_map(|((_, now, before), i)| {
        Some([f64::from(i) - 0.35, f64::from(i) + 0.35, part(now, before)?])
    });
    let unstable = steps.iter().find(|(_, now, _)| now.cost.is_none());
    let end = match (unstable, found.clustered.cost.zip(ideal)) {
        (Some((what, ..)), _) => {
            format!(" With {what} the loop is no longer stable in the mean square: no cost from there on.")
        }
        (None, Some((all, ideal))) => format!(" All together: {:+.3} %.", 100.0 * (all / ideal - 1.0)),
        (None, None) => String::new(),
    };
    Chart {
        name: "servo-cost",
        caption: format!(
            "{} under {}: what each part of the timing adds to the cost, as a share of the cost with punctual activations.{end}",
            document.plant, document.controller
        ),
        x: Axis::names("", steps.map(|step| step.0)),
        y: Axis::linear("added cost, %"),
        layers: vec![Layer::new("", 0, Shape::Bars(bars.collect()))],
        height: 360,
    }
}

fn response(document: &Document, output: usize, response: &Response) -> Chart {
    let name = document.outputs.get(output).map_or("output", String::as_str);
    let last =
        response.ideal_points.iter().chain(&response.recorded_points).map(|p| p.time_s).fold(0.0, f64::max);
    let (per, unit) = time_unit(last * 1e9);
    let at = |p: &Point| p.time_s * 1e9 / per;
    let curve = |points: &[Point], of: &dyn Fn(&Point) -> Option<f64>| {
        points.iter().filter_map(|p| Some([at(p), of(p)?])).collect::<Vec<[f64; 2]>>()
    };
    let value = |p: &Point| *p.outputs.get(output)?;
    let line = |points, stroke| Shape::Line { points, stroke };
    Chart {
        name: "step-response",
        caption: format!(
            "{} under {}, reference {}: {name} with punctual activations and with those of the run.",
            document.plant, document.controller, response.reference
        ),
        x: Axis::linear(format!("time, {unit}")),
        y: Axis::linear(name),
        layers: vec![
            Layer::new("reference", 4, line(curve(&response.ideal_points, &|p| p.reference), Stroke::Dashed)),
            Layer::new("punctual", 0, line(curve(&response.ideal_points, &value), Stroke::Solid)),
            Layer::new("as recorded", 1, line(curve(&response.recorded_points, &value), Stroke::Solid)),
        ],
        height: 380,
    }
}
