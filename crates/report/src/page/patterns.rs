//! What patterns were found, in sentences, and the clusters that the histogram has boxes around.

use crate::patterns::sentences;
use crate::words::{count, share};
use jitterlab_analysis::patterns::Patterns;
use jitterlab_model::units::Human;

use super::PageRun;
use crate::figure::task::tasks;
use crate::section::{Piece, Section};

/// For each task what was found, or that nothing was.
pub fn section(runs: &[PageRun]) -> Option<Section> {
    let mut pieces = Vec::new();
    for named in tasks(runs) {
        let patterns = &named.task.patterns;
        let sentences = sentences(patterns, named.task.measured.summary.period_ns);
        let text = if sentences.is_empty() { "no pattern was found.".into() } else { sentences.join(" ") };
        pieces.push(Piece::Text { text: format!("{}: {text}", named.name) });
        pieces.extend(clusters(&named.name, patterns));
    }
    (!pieces.is_empty()).then(|| Section {
        id: "patterns".into(),
        title: "Patterns".into(),
        lead: "What is regular about the irregularity. Each kind of pattern is tested at a level of 0.1 %: of a hundred runs without any, fewer than one shows one.".into(),
        pieces,
    })
}

fn clusters(name: &str, patterns: &Patterns) -> Option<Piece> {
    let row = |(number, c): (usize, &jitterlab_analysis::clusters::LatencyCluster)| {
        vec![
            (number + 1).to_string(),
            count(c.count),
            share(c.weight),
            Human(c.centre_ns).to_string(),
            Human(c.sd_ns).to_string(),
            format!("{} to {}", Human(c.low_ns as f64), Human(c.high_ns as f64)),
        ]
    };
    let header = ["cluster", "latencies", "share", "mean", "standard deviation", "from, to"];
    (patterns.clusters.len() > 1).then(|| {
        Piece::table(
            format!("{name}: clusters of latencies, boxed in the histogram"),
            &header,
            patterns.clusters.iter().enumerate().map(row),
        )
    })
}
