//! The Athlon report: largest period error for all pairs of CPUs, its tables and today's, and its
//! observations.

use crate::claims::athlon::{Asked, AthlonReproduction, HOGS, NO_LOAD, READING_NS};
use jitterlab_analysis::matrix::CellStatistic;

use super::PaperFigure;
use jitterlab_report::machine::machine_line;
use jitterlab_report::matrix::{caption, charts, left, observation, tables};
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::words::{list, plural, time};

const REPORT: &str = "The report: Athlon II X4 640, 3 GHz, Linux 3.2.21 with Xenomai, one measurement of two minutes for each cell.";

pub(super) fn section(found: &AthlonReproduction) -> Section {
    let paragraphs = [here(found), REPORT.into()].into_iter().chain(sentences(found));
    let paragraphs = paragraphs.chain((found.left > 0).then(|| left(found.left)));
    let mut pieces: Vec<Piece> = paragraphs.map(|text| Piece::Text { text }).collect();
    // LinuxCNC's latency test calls this max jitter.
    let max_jitter = |of: &str| format!("largest period error (max jitter) {of}");
    pieces.extend(tables(&found.today, &max_jitter("on this machine"), CellStatistic::PeriodError));
    pieces.extend(tables(&found.printed, &max_jitter("in the report"), CellStatistic::PeriodError));
    Section::new(
        "athlon",
        "The Athlon report",
        "A servo and a base thread on every pair of CPUs, idle and beside CPU hogs, as in the report and on this machine.",
        pieces,
    )
}

/// The table of today as a picture.
pub(super) fn figures(found: &AthlonReproduction) -> Vec<PaperFigure> {
    vec![(
        "matrix".into(),
        charts(
            &found.today,
            CellStatistic::PeriodError,
            &caption(&found.tasks, found.duration_ns, &found.today),
        ),
    )]
}

fn here(found: &AthlonReproduction) -> String {
    let turns = found.turn_ns.map_or_else(String::new, |turn_ns| {
        format!(
            " Its processors are emulated: an instruction takes a nanosecond, and those that have work take turns of up to {}. \
             That a task elsewhere or a load makes another wait for turns is not a property of any machine.",
            time(turn_ns as f64)
        )
    });
    format!(
        "This machine, {}: largest of {}; the report's CPUs 2 and 3 were isolated, here {}.{turns}",
        machine_line(&found.machine),
        plural(found.repetitions.into(), "repetition"),
        found.isolated().map_or_else(|| "none is".into(), |isolated| format!("CPU {isolated} is"))
    )
}

/// Observation of the report, as a question.
fn question(asked: Asked) -> String {
    match asked {
        Asked::SameCpu => format!("Better on the same CPU ({NO_LOAD})?"),
        Asked::SameCpuWithHogs => format!("Better on the same CPU ({HOGS})?"),
        Asked::Hogs => "Do CPU hogs help?".into(),
        Asked::ReadingProc => "Does reading /proc during the run harm the base thread?".into(),
    }
}

fn sentences(found: &AthlonReproduction) -> Vec<String> {
    let mut sentences = Vec::new();
    for compared in &found.observations {
        let question = question(compared.asked);
        if let Some(printed) = &compared.printed {
            sentences.push(format!("report: {}.", observation(&question, printed)));
        }
        sentences.push(match &compared.today {
            Some(today) if compared.turns_decide => format!(
                "today: {question} cannot tell, because it is what turns do by themselves. By the numbers: {}.",
                observation("", today).trim_start()
            ),
            Some(today) => format!("today: {}.", observation(&question, today)),
            None => format!("today: {question} cannot tell: nothing was measured."),
        });
    }
    let (from, to) = READING_NS;
    sentences.push(format!(
        "The report says of reading /proc/xenomai/stat that the base thread's jitter \"typically jumps to\" {} to {} µs, from \
         below 10; it gives no table.",
        from / 1_000,
        to / 1_000
    ));
    sentences.push(standing_out("report", found.exceptions.printed.as_deref()));
    sentences.push(standing_out("today", found.exceptions.today.as_deref()));
    sentences
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
    use super::super::tests::words;
    use super::*;
    use crate::claims::athlon::matrix;
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_model::{SystemFacts, TaskSpec};

    #[test]
    fn the_report_s_tables_and_observations_stand_beside_today_s() {
        let task = |name: &str| TaskSpec { name: name.into(), ..TaskSpec::default() };
        let of = |today, left| {
            let tasks = vec![task("servo"), task("base")];
            AthlonReproduction::new(SystemFacts::default(), tasks, 5_000_000_000, 3, left, today)
        };
        let words = |found: &AthlonReproduction| words(&section(found));
        let found = of(matrix(), 0);
        let text = words(&found);
        for part in [
            "8.8/5.8",
            "largest of 3 repetitions",
            "report: Do CPU hogs help? yes, but little",
            "CPU 0 is 1.9 times as bad as the others",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let turns = words(&of(matrix(), 0).in_turns(7_000));
        for part in ["take turns of up to 7 µs", "today: Better on the same CPU (none)? cannot tell, because"]
        {
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

    #[test]
    fn an_observation_says_what_it_rests_on() {
        let found = AthlonReproduction::new(SystemFacts::default(), vec![], 1, 1, 0, matrix());
        let said: Vec<String> =
            found.observations.iter().flat_map(|o| &o.printed).map(|o| observation("?", o)).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        ? yes: the same CPU changes the values by a factor of 0.44 (95 % interval 0.36 to 0.75, p below 0.005, 16 values)
        ? yes: the same CPU changes the values by a factor of 0.49 (95 % interval 0.40 to 0.80, p below 0.005, 16 values)
        ? yes, but little: hog@0-1 instead of none changes the values by -1.1 µs at the median, by a factor of 0.86 (95 % interval 0.79 to 0.91, p below 0.005, 32 values)
        ");
    }
}
