//! How much worse can it get: the largest latencies seen, the conditions of an extrapolation, and the bound they allow.

use jitterlab_analysis::predict::Prediction;
use jitterlab_model::units::Human;

use super::super::PageRun;
use super::{Named, tasks};
use crate::prediction::chart;
use crate::section::{Block, Section};

/// One figure and its gates for each task.
pub fn section(runs: &[PageRun]) -> Option<Section> {
    let mut blocks = Vec::new();
    for Named { name, task, .. } in tasks(runs) {
        let Some(prediction) = &task.prediction else { continue };
        blocks.push(Block::Text { text: sentence(&name, prediction) });
        let drawn = chart(&name, &task.scan, prediction);
        blocks.extend(drawn.map(Block::Figure));
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
