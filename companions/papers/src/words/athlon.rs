//! The Athlon report: largest period error for all pairs of CPUs, its tables and today's, and its
//! observations.

use crate::athlon::AthlonReproduction;
use crate::paper::Paper;

use super::{PaperFigure, Results};
use jitterlab_analysis::matrix::CellStatistic;
use jitterlab_report::machine::machine_line;
use jitterlab_report::matrix::{caption, charts, left, tables};
use jitterlab_report::section::Piece;
use jitterlab_report::words::{list, plural, time};

impl Results for AthlonReproduction {
    const PAPER: Paper = Paper::Athlon;
    const NAME: &'static str = "athlon";

    fn pieces(&self) -> Vec<Piece> {
        let standing_out = [
            standing_out("report", self.exceptions.printed.as_deref()),
            standing_out("today", self.exceptions.today.as_deref()),
        ];
        let paragraphs = [here(self), Paper::Athlon.words("report")].into_iter().chain(standing_out);
        let paragraphs = paragraphs.chain((self.left > 0).then(|| left(self.left)));
        let mut pieces: Vec<Piece> = paragraphs.map(Piece::text).collect();
        // LinuxCNC's latency test calls this max jitter.
        let max_jitter = |of: &str| format!("largest period error (max jitter) {of}");
        pieces.extend(tables(&self.today, &max_jitter("on this machine"), CellStatistic::PeriodError));
        pieces.extend(tables(&self.printed, &max_jitter("in the report"), CellStatistic::PeriodError));
        pieces
    }

    /// The table of today as a picture.
    fn figures(&self) -> Vec<PaperFigure> {
        let caption = caption(&self.tasks, self.duration_ns, &self.today);
        vec![("matrix".into(), charts(&self.today, CellStatistic::PeriodError, &caption))]
    }

    fn next(&self) -> Option<String> {
        let left = (self.left > 0).then_some(self.left as u64)?;
        Some(format!("the same again, for the {} left", plural(left, "cell")))
    }
}

fn here(found: &AthlonReproduction) -> String {
    let turns = found.turn_ns.map_or_else(String::new, |turn_ns| {
        format!(
            " Its processors are emulated: an instruction takes a nanosecond, and those that have work take turns of up to {}. \
             That a task elsewhere or a load makes another wait for turns is not a property of any machine: an observation \
             that turns alone would give cannot be told.",
            time(turn_ns as f64)
        )
    });
    let isolated = found.machine.isolation.isolated.as_ref().filter(|cpus| !cpus.is_empty());
    format!(
        "This machine, {}: largest of {}; the report's CPUs 2 and 3 were isolated, here {}.{turns}",
        machine_line(&found.machine),
        plural(found.repetitions.into(), "repetition"),
        isolated.map_or_else(|| "none is".into(), |isolated| format!("CPU {isolated} is"))
    )
}

/// CPUs that are an exception to "best on one CPU", as CPU 0 was in the report.
fn standing_out(whose: &str, exceptions: Option<&[(u16, f64)]>) -> String {
    let found = match exceptions {
        None => {
            return format!(
                "{whose}: with fewer than three CPUs no CPU can be an exception among the same-CPU cells."
            );
        }
        Some([]) => "none stands out".into(),
        Some(found) => {
            let each = found
                .iter()
                .map(|(cpu, factor)| format!("CPU {cpu} is {factor:.1} times as bad as the others"));
            list(&each.collect::<Vec<_>>())
        }
    };
    format!("{whose}: among the same-CPU cells without load, {found}.")
}

#[cfg(test)]
mod tests {
    use super::super::Reproduction;
    use super::super::tests::words;
    use super::*;
    use crate::athlon::matrix;
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_model::{SystemFacts, TaskSpec};
    use jitterlab_report::document::Present;

    #[test]
    fn the_report_s_tables_and_observations_stand_beside_today_s() {
        let task = |name: &str| TaskSpec { name: name.into(), ..TaskSpec::default() };
        let of = |today, left| AthlonReproduction {
            tasks: ["servo", "base"].map(task).into(),
            duration_ns: 5_000_000_000,
            left,
            ..AthlonReproduction::new(SystemFacts::default(), today)
        };
        let words = |found: &AthlonReproduction| {
            words(Reproduction::new("here".as_ref(), found, found.evidence()).unwrap().sections())
        };
        let found = of(matrix(), 0);
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
        let turns = words(&of(matrix(), 0).in_turns(7_000));
        for part in ["take turns of up to 7 µs", "both threads do better on one CPU, idle cannot be told"] {
            assert!(turns.contains(part), "{part} is not in\n{turns}");
        }
        let caption = caption(&found.tasks, found.duration_ns, &found.today);
        assert!(caption.contains("32 cells of 5 s, 0 activations, 0 missed"), "{caption}");
        let nothing = words(&of(Matrix::default(), 36));
        assert!(
            nothing.contains("36 cells are left") && nothing.contains("nothing was measured"),
            "{nothing}"
        );
    }
}
