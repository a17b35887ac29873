//! Several runs by their verdicts, the worst first.

use jitterlab_analysis::task_analysis::RunAnalysis;
use jitterlab_analysis::verdict::PurposeVerdict;
use jitterlab_model::Fitness;

use crate::conclusion::{Conclusion, joint_verdict, quoted_purpose};
use crate::document::{Document, Present, SCHEMA_VERSION};
use crate::purpose::{self, measure_cell, measure_name};
use crate::section::{Cell, Piece, Section};

#[derive(Debug)]
pub struct FileAnswer {
    path: String,
    conclusion: Conclusion,
    deciding: Option<PurposeVerdict>,
}

impl FileAnswer {
    /// Answer about a file; `None` where nothing is judged.
    #[must_use]
    pub fn new(path: &str, analysis: &RunAnalysis) -> Option<Self> {
        let deciding = analysis.verdict.as_ref().and_then(quoted_purpose).cloned();
        analysis.conclusion().map(|conclusion| FileAnswer { path: path.into(), conclusion, deciding })
    }

    /// Fitness for the requested purpose; `None` if none was requested.
    #[must_use]
    pub fn requested_fitness(&self) -> Option<Fitness> {
        self.conclusion.asked.then_some(self.conclusion.fitness)
    }

    /// The deciding value in units of the largest one that is usable.
    fn severity(&self) -> f64 {
        let by = self.deciding.as_ref().and_then(|of| of.decided_by.as_ref());
        by.map_or(0.0, |by| by.measured as f64 / by.limit.limited.max(1) as f64)
    }
}

/// Result that lists files by their verdicts, the worst first.
#[must_use]
pub fn files_document(mut files: Vec<FileAnswer>) -> Document {
    const WORST_FIRST: [Fitness; 4] = [Fitness::Unfit, Fitness::CannotTell, Fitness::Limited, Fitness::Good];
    let rank = |of: &FileAnswer| WORST_FIRST.iter().position(|fitness| *fitness == of.conclusion.fitness);
    files.sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.severity().total_cmp(&a.severity())));
    let each: Vec<Fitness> = files.iter().map(|of| of.conclusion.fitness).collect();
    let worst = each.first().copied().unwrap_or(Fitness::CannotTell);
    let conclusion = Conclusion {
        fitness: worst,
        asked: files.iter().any(|of| of.conclusion.asked),
        verdict: joint_verdict(worst, None, &each, "file"),
        number: files
            .first()
            .map_or_else(String::new, |of| format!("Worst {}: {}", of.path, of.conclusion.number)),
        next: next_step(&files, worst),
    };
    let header = ["", "verdict", "for", "decided by", "seen", "usable"];
    let rows = files.iter().map(|of| {
        let by = of.deciding.as_ref().and_then(|of| of.decided_by.as_ref());
        vec![
            Cell::from(of.path.as_str()),
            Cell::Verdict {
                fitness: of.conclusion.fitness,
                text: purpose::fitness_word(of.conclusion.fitness).into(),
            },
            Cell::optional(of.deciding.as_ref().map(|of| of.purpose.as_str()), Cell::from),
            Cell::optional(by.map(|by| measure_name(by.limit.measure)), Cell::from),
            Cell::optional(by, |by| measure_cell(by.limit.measure, by.measured)),
            Cell::optional(by, |by| measure_cell(by.limit.measure, by.limit.limited)),
        ]
    });
    let table = Piece::table("Files, the worst first; times in µs", &header, rows);
    let section =
        Section { id: "files".into(), title: "Files".into(), lead: String::new(), pieces: vec![table] };
    Document {
        schema: SCHEMA_VERSION,
        tool: concat!("jitterlab ", env!("CARGO_PKG_VERSION")).into(),
        kind: "files".into(),
        head: Some(conclusion),
        sections: vec![section],
    }
}

/// Next step that the worst files share, else the way to tell which differ.
fn next_step(files: &[FileAnswer], worst: Fitness) -> String {
    let compare = "jitterlab compare with all of them (which differ), or jitterlab report (a row for each)";
    let mut steps = files.iter().filter(|of| of.conclusion.fitness == worst).map(|of| &of.conclusion.next);
    match steps.next() {
        Some(first) if steps.all(|step| step == first) => format!("{first}; {compare}"),
        _ => compare.into(),
    }
}
