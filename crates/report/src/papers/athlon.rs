//! The Athlon report: largest jitter for all pairs of CPUs, its tables beside today's, and its observations.

use jitterlab_analysis::matrix::Quantity;
use jitterlab_analysis::papers::athlon::{AthlonReproduction, READING_NS};
use jitterlab_model::TaskSpec;

use super::{PaperFigure, details, nist};
use crate::chart::Terminal;
use crate::machine::machine_line;
use crate::matrix::{charts, tables};
use crate::section::{Block, Section};
use crate::summary::wrap;
use crate::words::{count, list, plural, time};

/// What LinuxCNC's latency test calls max jitter.
const JITTER: [(&str, Quantity); 1] = [("largest period error (max jitter)", Quantity::Jitter)];

const REPORT: &str = "The report: Athlon II X4 640, 3 GHz, Linux 3.2.21 with Xenomai, one measurement of two minutes for each cell.";

pub(super) fn text(found: &AthlonReproduction, terminal: Terminal) -> String {
    let mut text = wrap(&here(found));
    text.push_str(&tables(&found.today, &JITTER, terminal.colour));
    text.push('\n');
    text.push_str(&wrap(REPORT));
    text.push_str(&tables(&found.printed, &JITTER, terminal.colour));
    text.push_str("\nThe report's observations, tested on its numbers and on today's\n");
    sentences(found).iter().for_each(|sentence| text.push_str(&wrap(sentence)));
    if found.left > 0 {
        text.push_str(&wrap(&left(found)));
    }
    if let Some(loads) = &found.nist_figure_3 {
        text.push('\n');
        text.push_str(&nist::loads(loads));
    }
    text
}

pub(super) fn section(found: &AthlonReproduction) -> Section {
    let paragraphs = [here(found), REPORT.into()].into_iter().chain(sentences(found));
    let paragraphs = paragraphs.chain((found.left > 0).then(|| left(found)));
    let mut blocks: Vec<Block> = paragraphs.map(|text| Block::Text { text }).collect();
    blocks.push(details("Tables of this machine", tables(&found.today, &JITTER, false)));
    blocks.push(details("Tables of the report", tables(&found.printed, &JITTER, false)));
    blocks.extend(found.nist_figure_3.iter().flat_map(nist::loads_blocks));
    super::section(
        "athlon",
        "The Athlon report",
        "A servo and a base thread on every pair of CPUs, idle and beside CPU hogs, as in the report and on this machine.",
        blocks,
    )
}

/// The table of today as a picture.
pub(super) fn figures(found: &AthlonReproduction) -> Vec<PaperFigure> {
    vec![("matrix".into(), charts(&found.today, &caption(found)))]
}

/// What the picture rests on.
fn caption(found: &AthlonReproduction) -> String {
    let task = |task: &TaskSpec| {
        let policy = task.policy.map_or_else(|| "the default policy".into(), |policy| policy.to_string());
        let (name, wake, overrun) = (&task.name, task.wake, task.overrun);
        let period = time(task.period_ns as f64);
        format!("{name} every {period} under {policy}, wake {wake}, overrun {overrun}")
    };
    let tasks: Vec<String> = found.tasks.iter().map(task).collect();
    let all = || found.today.measurements.iter().flat_map(|cell| &cell.tasks);
    format!(
        "{}. {} of {}, {} activations, {} missed. Each field is the largest of its repetitions.",
        tasks.join("; "),
        plural(found.today.measurements.len() as u64, "cell"),
        time(found.duration_ns as f64),
        count(all().map(|task| task.activations).sum()),
        count(all().map(|task| task.missed).sum())
    )
}

fn here(found: &AthlonReproduction) -> String {
    format!(
        "This machine, {}: largest of {}; the report's CPUs 2 and 3 were isolated, here {}.",
        machine_line(&found.machine),
        plural(found.repetitions.into(), "repetition"),
        found.isolated().map_or_else(|| "none is".into(), |isolated| format!("CPU {isolated} is"))
    )
}

fn left(found: &AthlonReproduction) -> String {
    format!("{} left: repeat the command to go on.", plural(found.left as u64, "cell"))
}

fn sentences(found: &AthlonReproduction) -> Vec<String> {
    let mut sentences = Vec::new();
    for compared in &found.observations {
        if let Some(printed) = &compared.printed {
            sentences.push(format!("report: {}.", printed.sentence));
        }
        sentences.push(match &compared.today {
            Some(today) => format!("today: {}.", today.sentence),
            None => "today: cannot tell: nothing was measured.".into(),
        });
    }
    let (from, to) = READING_NS;
    sentences.push(format!(
        "The report says of reading /proc/xenomai/stat that the base thread's jitter \"typically jumps to\" {} to {} us, from \
         below 10; it gives no table.",
        from / 1_000,
        to / 1_000
    ));
    sentences.push(standing_out("report", found.exceptions.printed.as_deref()));
    sentences.push(standing_out("today", found.exceptions.today.as_deref()));
    sentences
}

/// Which CPUs are an exception to "best on one CPU", as CPU 0 was in the report.
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
    use super::*;
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_analysis::papers::athlon::matrix;
    use jitterlab_model::SystemFacts;

    #[test]
    fn the_report_s_tables_and_observations_stand_beside_today_s() {
        let task = |name: &str| TaskSpec { name: name.into(), ..TaskSpec::default() };
        let of = |today, left| {
            let tasks = vec![task("servo"), task("base")];
            AthlonReproduction::of(SystemFacts::default(), tasks, 5_000_000_000, 3, left, today)
        };
        let terminal = Terminal { columns: 80, ascii: false, colour: false };
        let found = of(matrix(), 0);
        let text = text(&found, terminal).split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "8.8/5.8",
            "largest of 3 repetitions",
            "report: Do CPU hogs help? yes, but little",
            "CPU 0 is 1.9 times as bad as the others",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(caption(&found).contains("32 cells of 5 s, 0 activations, 0 missed"), "{}", caption(&found));
        let nothing = super::text(&of(Matrix::default(), 36), terminal);
        let nothing = nothing.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(nothing.contains("36 cells left") && nothing.contains("nothing was measured"), "{nothing}");
    }
}
