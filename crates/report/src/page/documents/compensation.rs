//! What compensating the jitter of a task costs and brings: `jitterlab compensate --json`.

use jitterlab_analysis::Statistics;
use jitterlab_analysis::expectation::LoadPoint;
use jitterlab_model::units::{Exact, Human};
use serde::Deserialize;

use crate::chart::{Axis, Chart, Layer, Shape, Stroke, time_unit};
use crate::figure::load;
use crate::section::{Block, Section};

#[derive(Deserialize)]
pub struct Document {
    period_ns: i64,
    service: Service,
    load_curve: Vec<LoadPoint>,
    #[serde(default)]
    margins: Vec<MarginPoint>,
    proof: Option<Proof>,
    #[serde(default)]
    warnings: Vec<String>,
}

/// What a wake-up costs a task that only wakes.
#[derive(Deserialize)]
struct Service {
    often_ns: f64,
}

#[derive(Deserialize)]
struct MarginPoint {
    margin_ns: i64,
    expected_polled: f64,
    measured_polled: f64,
    expected_late: f64,
    measured_late: f64,
}

#[derive(Deserialize)]
struct Proof {
    before: Way,
    after: Way,
}

#[derive(Deserialize)]
struct Way {
    executed: u64,
    deviation: Statistics,
    load: Option<f64>,
}

pub fn section(document: Document) -> Section {
    let mut blocks = Vec::new();
    if let Some(proof) = &document.proof {
        blocks.push(Block::Figure(before_and_after(document.period_ns, proof)));
    }
    if !document.load_curve.is_empty() {
        let (period_ns, service_ns) = (document.period_ns, document.service.often_ns);
        blocks.push(Block::Figure(load::curve(period_ns, service_ns, &document.load_curve, None)));
    }
    blocks.extend(margins(&document).map(Block::Figure));
    blocks.extend(document.warnings.into_iter().map(|text| Block::Text { text }));
    Section {
        id: "compensation".into(),
        title: "Compensation".into(),
        lead: "Waking early and polling to the due time: what it brings, and what it costs of the processor."
            .into(),
        blocks,
    }
}

fn before_and_after(period_ns: i64, proof: &Proof) -> Chart {
    let named =
        |f: &Statistics| f.percentiles().map(|(_, ns)| ns.exactly()).chain([f.max_ns]).collect::<Vec<_>>();
    let most = named(&proof.before.deviation).into_iter().flatten().max().unwrap_or(1);
    let least = named(&proof.after.deviation).into_iter().flatten().filter(|ns| *ns > 0).min().unwrap_or(1);
    let (per, unit) = time_unit((most as f64 * least as f64).sqrt());
    let layer = |name: &str, colour: usize, way: &Way| {
        let points = named(&way.deviation).into_iter().enumerate();
        let points = points.filter_map(|(i, ns)| Some([i as f64, ns? as f64 / per])).collect();
        Layer::new(name, colour, Shape::Line { points, stroke: Stroke::Dotted })
    };
    let load = |way: &Way| way.load.map_or("not known".into(), |load| format!("{:.1} %", 100.0 * load));
    Chart {
        name: "compensation",
        caption: format!(
            "Distance of starts from their due times, |start − due|, period {}: {} activations uncompensated (processor load {}), {} compensated ({}), measured in turns.",
            Exact(period_ns),
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

fn margins(document: &Document) -> Option<Chart> {
    let longest = document.margins.iter().map(|p| p.margin_ns).max()?;
    let (per, unit) = time_unit(longest as f64);
    let curve = |of: fn(&MarginPoint) -> f64| {
        let points = document.margins.iter().map(|p| [p.margin_ns as f64 / per, 100.0 * of(p)]);
        points.collect::<Vec<[f64; 2]>>()
    };
    let line = |points| Shape::Line { points, stroke: Stroke::Dashed };
    Some(Chart {
        name: "margin",
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
