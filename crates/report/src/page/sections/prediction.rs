//! How much worse can it get: the largest latencies seen, the conditions of an extrapolation, and the bound they allow.

use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::verdict::grouped;
use jitterlab_model::units::Human;

use super::super::section::{Block, Section};
use super::super::{PageRun, PageTask};
use super::{Named, tasks};
use crate::chart::{Axis, Chart, Layer, Shape, time_unit};

/// The largest latencies that are shown.
const SHOWN: usize = 300;

/// One figure and its gates for each task.
pub fn section(runs: &[PageRun]) -> Option<Section> {
    let mut blocks = Vec::new();
    for (number, Named { name, task, .. }) in tasks(runs).enumerate() {
        let Some(prediction) = &task.prediction else { continue };
        blocks.push(Block::Text { text: sentence(&name, prediction) });
        blocks.extend(chart(number, &name, task, prediction).map(Block::Figure));
        blocks.push(gates(&name, prediction));
        blocks.extend(prediction.caveats.iter().map(|caveat| Block::Text { text: caveat.clone() }));
    }
    if blocks.is_empty() {
        return None;
    }
    Some(Section {
        id: "prediction".into(),
        title: "How much worse can it get".into(),
        lead: "What this run says about a longer one like it. A bound is given only where every condition (gate) of an extrapolation holds; otherwise only what was counted.".into(),
        blocks,
    })
}

fn sentence(name: &str, prediction: &Prediction) -> String {
    let facts = &prediction.facts;
    let ahead = Human(facts.horizon_ns);
    let observed = Human(facts.observed_max_ns as f64);
    match &prediction.bound {
        Some(bound) => format!(
            "{name}: within the next {ahead} the largest latency stays below {} with 95 % probability, at 95 % confidence; seen so far: {observed}.",
            Human(bound.bound_ns)
        ),
        None => format!(
            "{name}: no bound can be given, since a gate failed. Seen so far: {observed}; that nothing exceeds it within the next {ahead} has a probability of {:.1} %, whatever the distribution.",
            100.0 * facts.p_max_holds
        ),
    }
}

/// The n largest latencies against how often they came, and the bound at the horizon.
fn chart(number: usize, name: &str, task: &PageTask, prediction: &Prediction) -> Option<Chart> {
    let facts = &prediction.facts;
    let peaks = task.scan.as_ref()?.peaks.largest();
    let peaks = peaks.get(..peaks.len().min(SHOWN))?;
    let top = prediction.bound.as_ref().map_or(0.0, |b| b.bound_ns).max(peaks.first()?.latency_ns as f64);
    let (per, unit) = time_unit(top);
    let (seconds, time) = time_unit(facts.horizon_ns);
    let points = peaks
        .iter()
        .zip(1u32..)
        .map(|(peak, rank)| [facts.run_ns / f64::from(rank) / seconds, peak.latency_ns as f64 / per]);
    let mut layers = vec![
        Layer::new("", 4, Shape::Level(facts.observed_max_ns as f64 / per)),
        Layer::new("largest latencies of the run", 0, Shape::Points(points.collect())),
    ];
    let at = facts.horizon_ns / seconds;
    let low = facts.observed_max_ns as f64 / per;
    match &prediction.bound {
        Some(bound) => layers.push(Layer::new(
            "stays below, 95 %",
            1,
            Shape::Intervals(vec![[at, low, bound.bound_ns / per, bound.bound_ns / per]]),
        )),
        None => layers.push(Layer::new("", 1, Shape::Marks(vec![(at, "no bound: a gate failed".into())]))),
    }
    Some(Chart {
        id: format!("prediction-{number}"),
        caption: format!(
            "{name}: the {} largest of {} latencies, each at the time in which one as large came once on average. Dashed: the largest. Looked ahead: {}.",
            peaks.len(),
            grouped(facts.count),
            Human(facts.horizon_ns)
        ),
        x: Axis::log(format!("once in, {time}")),
        y: Axis::linear(format!("{name}: latency, {unit}")),
        layers,
        height: 380,
    })
}

fn gates(name: &str, prediction: &Prediction) -> Block {
    let rows = prediction.gates.iter().map(|gate| {
        let passed = if gate.passed { "passed" } else { "FAILED" };
        vec![gate.id.clone(), passed.into(), gate.text.clone()]
    });
    Block::Table {
        caption: format!("{name}: gates of the extrapolation"),
        header: ["gate", "outcome", "what was found"].map(String::from).to_vec(),
        rows: rows.collect(),
    }
}
