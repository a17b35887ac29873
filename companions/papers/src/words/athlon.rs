//! The Athlon report: largest period error for all pairs of CPUs, its tables and today's, and its
//! observations.

use serde_json::json;

use crate::athlon::{AthlonReproduction, OutlierCpus, REPETITIONS};
use crate::paper::Paper::{self, Athlon};

use super::{PaperFigure, Results};
use jitterlab_analysis::matrix::CellStatistic;
use jitterlab_report::machine::machine_line;
use jitterlab_report::matrix::{caption, charts, remaining_cells_text, tables};
use jitterlab_report::section::Piece;
use jitterlab_report::words::{list, plural};

impl Results for AthlonReproduction {
    const PAPER: Paper = Athlon;

    fn pieces(&self) -> Vec<Piece> {
        let standing_out =
            [outliers_text("report", &self.printed_exceptions), outliers_text("today", &self.exceptions)];
        let paragraphs = [machine_text(self), Athlon.paragraph("report", ())].into_iter().chain(standing_out);
        let paragraphs = paragraphs.chain((self.left > 0).then(|| remaining_cells_text(self.left)));
        let mut pieces: Vec<Piece> = paragraphs.map(Piece::text).collect();
        // LinuxCNC's latency test calls this max jitter.
        let max_jitter = |of: &str| format!("largest period error (max jitter) {of}");
        pieces.extend(tables(&self.today, &max_jitter("on this machine"), CellStatistic::PeriodError));
        pieces.extend(tables(&self.printed, &max_jitter("in the report"), CellStatistic::PeriodError));
        pieces
    }

    fn figures(&self) -> Vec<PaperFigure> {
        let caption = caption(&self.tasks, self.duration_ns, &self.today);
        vec![("matrix".into(), charts(&self.today, CellStatistic::PeriodError, &caption))]
    }

    fn next(&self) -> Option<String> {
        let left = (self.left > 0).then_some(self.left as u64)?;
        Some(format!("the same again, for the {} left", plural(left, "cell")))
    }
}

fn machine_text(found: &AthlonReproduction) -> String {
    let isolated = found.machine.isolation.isolated.as_ref().filter(|cpus| !cpus.is_empty());
    let isolated = isolated.map_or_else(|| "none is".into(), |isolated| format!("CPU {isolated} is"));
    let turns = found.turn_ns.map(|_| Athlon.paragraph("turns", found));
    let values = json!({
        "machine": machine_line(&found.machine),
        "repetitions": plural(REPETITIONS.into(), "repetition"),
        "isolated": isolated,
        "turns": turns.unwrap_or_default(),
    });
    Athlon.paragraph("here", values)
}

/// Sentence on the CPUs that are an exception to "best on one CPU".
fn outliers_text(whose: &str, exceptions: &OutlierCpus) -> String {
    let found = exceptions.as_deref().map(|found| {
        let each = found.iter().map(|(cpu, by)| format!("CPU {cpu} is {by:.1} times as bad as the others"));
        if found.is_empty() { "none stands out".into() } else { list(&each.collect::<Vec<_>>()) }
    });
    let words = if found.is_some() { "exceptions" } else { "too-few" };
    Athlon.paragraph(words, json!({"whose": whose, "found": found}))
}

#[cfg(test)]
mod tests {
    use super::super::Reproduction;
    use super::super::tests::words;
    use super::*;
    use crate::athlon::printed_matrix;
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_model::{SystemFacts, TaskSpec};
    use jitterlab_report::document::Present;

    #[test]
    fn the_report_s_tables_and_observations_stand_beside_today_s() {
        let task = |name: &str| TaskSpec { name: name.into(), ..TaskSpec::default() };
        let of = |today, left, turn_ns| AthlonReproduction {
            tasks: ["servo", "base"].map(task).into(),
            duration_ns: 5_000_000_000,
            left,
            ..AthlonReproduction::new(SystemFacts::default(), today, turn_ns)
        };
        let words = |found: &AthlonReproduction| {
            words(Reproduction::new("here".as_ref(), found, found.evidence()).unwrap().sections())
        };
        let found = of(printed_matrix(), 0, None);
        let text = words(&found);
        for part in [
            "8.8/5.8",
            "largest of 3 repetitions",
            "in the report: yes, but little",
            "CPU 0 is 1.9 times as bad as the others",
            "CPU hogs help holds here: yes, but little: hog@0-1 instead of none changes the values by -1.1 µs at the median",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let turns = words(&of(printed_matrix(), 0, Some(7_000)));
        for part in ["take turns of up to 7 µs", "both threads do better on one CPU, idle cannot be told"] {
            assert!(turns.contains(part), "{part} is not in\n{turns}");
        }
        let caption = caption(&found.tasks, found.duration_ns, &found.today);
        assert!(caption.contains("32 cells of 5 s, 0 activations, 0 missed"), "{caption}");
        let nothing = words(&of(Matrix::default(), 36, None));
        assert!(
            nothing.contains("36 cells are left") && nothing.contains("nothing was measured"),
            "{nothing}"
        );
    }
}
