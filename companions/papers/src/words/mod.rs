//! The source documents repeated: the answer of each as a document with its statements, verdicts, tables and figures.

mod athlon;
pub mod contents;
mod epos;
mod nist;
mod nist_figures;
mod twente;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

pub use twente::load_charts as twente_figures;

use crate::loads::{LoadFigures, RANGE, REPETITIONS, STRETCHES};
use crate::paper::{Heading, Paper};
use crate::statement::{Evidence, StatementVerdict, TestedStatement};
use jitterlab_model::{Error, Fitness, SystemFacts};
use jitterlab_report::chart::{Chart, Shape};
use jitterlab_report::conclusion::Conclusion;
use jitterlab_report::document::Present;
use jitterlab_report::machine::machine_line;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::warnings::emulation_sentence;
use jitterlab_report::words::plural;

/// A figure of a document: the name of its file without extension, and its charts.
pub type PaperFigure = (String, Vec<Chart>);

/// Results of repeating a document, here or in virtual time.
pub trait Results: Serialize {
    const PAPER: Paper;

    /// True for a repetition in virtual time that has a heading of its own.
    fn is_virtual(&self) -> bool {
        false
    }

    fn pieces(&self) -> Vec<Piece>;

    /// Figures that need no run file.
    fn figures(&self) -> Vec<PaperFigure> {
        Vec::new()
    }

    /// The next step, if it is not that of the heading.
    fn next(&self) -> Option<String> {
        None
    }
}

/// A source document's experiments, repeated.
#[derive(Debug, Serialize)]
pub struct Reproduction {
    pub directory: PathBuf,
    pub found: DocumentNumbers,
    pub statements: Vec<TestedStatement>,
    /// Verdicts on items of the document, by their names in its list.
    pub verdicts: BTreeMap<String, StatementVerdict>,
    #[serde(skip)]
    section: Section,
    #[serde(skip)]
    next: String,
}

#[derive(Debug, Serialize)]
pub struct DocumentNumbers {
    document: String,
    numbers: Value,
}

impl Reproduction {
    /// Tests the document's statements that there is evidence on: an item holds if all of its statements do.
    pub fn new<R: Results>(directory: &Path, results: &R, evidence: Vec<Evidence>) -> Result<Self, Error> {
        let all = R::PAPER.statements();
        let tested = evidence.into_iter().filter_map(|of| TestedStatement::new(&all, of));
        let statements: Vec<TestedStatement> = tested.collect();
        let mut verdicts: BTreeMap<String, StatementVerdict> = BTreeMap::new();
        for tested in &statements {
            let all = verdicts.entry(tested.item.clone()).or_insert(tested.verdict);
            *all = tested.verdict.min(*all);
        }
        let numbers =
            serde_json::to_value(results).map_err(|cause| Error::defect("no JSON").because(cause))?;
        let document = R::PAPER.folder(results.is_virtual());
        let Heading { title, lead, next } = R::PAPER.heading(&document);
        let mut pieces = vec![statements_table(&statements)];
        pieces.extend(results.pieces());
        let charts = results.figures().into_iter().flat_map(|(_, charts)| charts);
        pieces.extend(charts.map(Piece::Figure));
        pieces.push(Piece::text(format!("Run files and figures: {}", directory.display())));
        let section = Section::new(&document, title, lead, pieces);
        let found = DocumentNumbers { document, numbers };
        let next = results.next().unwrap_or(next);
        Ok(Reproduction { directory: directory.into(), found, statements, verdicts, section, next })
    }
}

impl Present for Reproduction {
    const KIND: &'static str = "reproduction";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(statements_conclusion(&self.statements, self.next.clone()))
    }

    fn sections(&self) -> Vec<Section> {
        vec![self.section.clone()]
    }
}

/// Conclusion on the number of statements that hold, and the first that does not, else the first undecided one.
fn statements_conclusion(all: &[TestedStatement], next: String) -> Conclusion {
    let count = |standing| all.iter().filter(|said| said.verdict == standing).count();
    let [not, open, holds] = StatementVerdict::ALL.map(count);
    let (fitness, word) = match (holds, not) {
        (0, 0) => (Fitness::CannotTell, "CANNOT TELL"),
        (_, 0) if open == 0 => (Fitness::Good, "ALL HOLD"),
        (0, _) => (Fitness::Unfit, "NONE HOLDS"),
        _ => (Fitness::Limited, "SOME HOLD"),
    };
    let decided = all.iter().min_by_key(|said| said.verdict).map_or_else(
        || "Nothing was measured.".into(),
        |said| format!("{}: {} ({}).", said.says, said.verdict.words(), said.numbers),
    );
    let do_not = if not == 1 { "does" } else { "do" };
    Conclusion {
        fitness,
        asked: false,
        verdict: format!(
            "{word}: of {}, {holds} hold{} here, {not} {do_not} not, {open} cannot be told.",
            plural(all.len() as u64, "statement"),
            if holds == 1 { "s" } else { "" },
        ),
        number: decided,
        next,
    }
}

fn statements_table(all: &[TestedStatement]) -> Piece {
    let row = |of: &TestedStatement| vec![of.says.clone(), of.verdict.words().into(), of.numbers.clone()];
    Piece::table(
        "What the document says, and what became of it here",
        &["the document says", "here", "numbers that decide"],
        all.iter().map(row),
    )
}

/// Bars of a histogram: counts of values in bins of this width from `from` on.
fn histogram_bars(values: impl IntoIterator<Item = f64>, from: f64, width: f64) -> Shape {
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    for value in values {
        *counts.entry(((value - from) / width) as u64).or_default() += 1.0;
    }
    let bar = |(bin, count): (u64, f64)| {
        let low = from + bin as f64 * width;
        [low, low + width, count]
    };
    Shape::Bars(counts.into_iter().map(bar).collect())
}

fn loads_table(paper: Paper, found: &LoadFigures) -> Vec<Piece> {
    paper.table("loads", loads_rows(found))
}

fn reached_loads_table(paper: Paper, found: &LoadFigures) -> Vec<Piece> {
    let loaded = loads_rows(found).into_iter().filter(|row| row["done"] != "");
    paper.table("done", loaded.collect::<Vec<_>>())
}

fn loads_rows(found: &LoadFigures) -> Vec<Value> {
    let of = if found.ns_per_instruction.is_some() { " of virtual time" } else { "" };
    let all = found.systems.iter().flat_map(|system| system.loads.iter().map(move |load| (system, load)));
    let row = all.map(|(system, load)| {
        json!({
            "of": of,
            "name": format!("{}, {}", system.system, load.condition),
            "found": load.found,
            "range_ns": load.statistic(RANGE),
            "done": load.done.join("; "),
        })
    });
    row.collect()
}

/// Paragraph on the repetitions behind the numbers, or, in virtual time, on its limits and `more`.
fn repetitions_note(found: &LoadFigures, more: &str) -> Piece {
    Piece::text(match found.ns_per_instruction {
        Some(ns) => format!("{} {more}", emulation_sentence(Some(ns))),
        None => {
            format!(
                "Each measured {REPETITIONS} times in turns; {STRETCHES} stretches of each run give the intervals."
            )
        }
    })
}

/// Kernels with a core of Xenomai, given for the EPOS paper.
pub const WITHOUT_CORES: &str =
    "epos compares the timers of Linux: the kernels of --cobalt and --evl are not measured";

pub fn kept_file_text(file: &Path) -> String {
    format!("{} is there already and is taken as it is", file.display())
}

pub fn second_boot_text(name: &str) -> String {
    format!(
        "{name}: the guest ended without an answer, as can happen on a busy machine; booting it once more"
    )
}

/// Announcement that a kernel is measured without devices of the guest, and why.
pub fn boot_without_devices_text(error: &Error) -> String {
    format!("{error}; booting it again without disk and network cards: loads work memory and the loopback")
}

pub fn machine_text(paper: Paper, in_virtual_time: bool, facts: &SystemFacts) -> String {
    match (paper, in_virtual_time) {
        (Paper::Epos, false) => "a simulated microcontroller".into(),
        (_, true) => "emulated processors, in virtual time".into(),
        (_, false) => machine_line(facts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::athlon::{AthlonReproduction, printed_matrix};
    use crate::epos::EposReproduction;
    use crate::loads::{SystemResults, example_load};
    use crate::nist::{ClusterCauses, NistReproduction};
    use crate::twente::TwenteReproduction;
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_report::chart::Terminal;
    use jitterlab_report::document::{self, Document, Extent};

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: false, colour: false };

    /// All texts of pieces in their order, each cell behind the one before.
    pub(in super::super) fn words(pieces: impl Serialize) -> String {
        fn texts(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::String(text) => found.push(text.clone()),
                Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
                Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        texts(&serde_json::to_value(pieces).unwrap(), &mut found);
        found.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Shows a result, and reads back what was written of it.
    fn show(results: &impl Results, evidence: Vec<Evidence>, statements: usize) {
        let reproduction = Reproduction::new("here".as_ref(), results, evidence).unwrap();
        assert_eq!(reproduction.statements.len(), statements, "{:?}", reproduction.verdicts);
        let listed = contents::PaperContents::for_document(None).items;
        for item in reproduction.verdicts.keys() {
            assert!(listed.iter().any(|of| of.id.ends_with(&format!("/{item}"))), "{item}");
        }
        let text = document::terminal_text(&reproduction, Extent::Details, TERMINAL);
        assert!(text.contains("Run files and figures: here\n"), "{text}");
        let read = Document::read(&document::to_json(&reproduction).unwrap()).unwrap();
        let texts =
            [read.clone(), Document::new(&reproduction)].map(|d| d.terminal_text(Extent::Details, TERMINAL));
        assert_eq!(texts[0], texts[1]);
        assert!(read.sections.len() == 1 && !read.sections[0].lead.is_empty());
        assert!(!read.head.unwrap().next.is_empty());
    }

    #[test]
    fn every_result_is_written_read_back_and_shown() {
        let loads = |sds: Vec<Option<f64>>| LoadFigures {
            systems: ["ordinary", "fifo"]
                .map(|system| SystemResults {
                    system: system.into(),
                    loads: sds.iter().map(|sd| example_load("idle", *sd)).collect(),
                })
                .into(),
            ..LoadFigures::default()
        };
        let athlon = |today| AthlonReproduction::new(SystemFacts::default(), today, None);
        for (today, statements) in [(printed_matrix(), 6), (Matrix::default(), 4)] {
            let of = athlon(today);
            show(&of, of.evidence(), statements);
        }
        let epos = EposReproduction::default();
        show(&epos, epos.evidence(), 12);
        let loads_of_nist = loads(vec![Some(9.0), None]);
        let nist =
            NistReproduction { machine: None, clusters: ClusterCauses::default(), loads: loads_of_nist };
        show(&nist, nist.evidence(), 7);
        let loops = loads(vec![Some(500.0)]);
        let twente = TwenteReproduction { loops, ..TwenteReproduction::default() };
        show(&twente, twente.evidence(), 9);
    }

    fn conclusion_of(found: &AthlonReproduction) -> Conclusion {
        Reproduction::new("athlon".as_ref(), found, found.evidence()).unwrap().conclusion().unwrap()
    }

    fn athlon(left: usize, today: Matrix) -> Conclusion {
        conclusion_of(&AthlonReproduction {
            left,
            ..AthlonReproduction::new(SystemFacts::default(), today, None)
        })
    }

    #[test]
    fn statements_are_counted_and_what_does_not_hold_decides() {
        let said = |standing| TestedStatement {
            item: "so".into(),
            says: "it is so".into(),
            verdict: standing,
            numbers: "1 of 2".into(),
            values: Default::default(),
        };
        let of = |standings: &[StatementVerdict]| {
            let all: Vec<TestedStatement> = standings.iter().map(|standing| said(*standing)).collect();
            let conclusion = statements_conclusion(&all, "sleep".into());
            (conclusion.fitness, conclusion.verdict + "\n" + &conclusion.number)
        };
        let (yes, no, open) =
            (StatementVerdict::Holds, StatementVerdict::DoesNotHold, StatementVerdict::CannotBeTold);
        assert_eq!(
            of(&[yes, no, open, yes]),
            (
                Fitness::Limited,
                "SOME HOLD: of 4 statements, 2 hold here, 1 does not, 1 cannot be told.\nit is so: DOES NOT HOLD (1 of 2)."
                    .into()
            )
        );
        assert_eq!(of(&[yes, yes]).0, Fitness::Good);
        assert!(
            of(&[yes, open]).1.starts_with("SOME HOLD: of 2 statements, 1 holds here, 0 do not, 1 cannot")
        );
        assert!(of(&[no, open]).1.starts_with("NONE HOLDS"));
        assert_eq!(of(&[open]).0, Fitness::CannotTell);
        assert!(of(&[]).1.ends_with("Nothing was measured."));
    }

    #[test]
    fn the_athlon_report_holds_on_its_own_numbers_as_far_as_it_gives_any() {
        let whole = athlon(0, printed_matrix());
        assert_eq!(whole.verdict, "SOME HOLD: of 6 statements, 4 hold here, 1 does not, 1 cannot be told.");
        let decides = "but for CPU 0, the same-CPU cells are as good as RTAI's or better: DOES NOT HOLD (servo thread at most 4.20 µs";
        assert!(whole.number.starts_with(decides), "{}", whole.number);
        let found = AthlonReproduction::new(SystemFacts::default(), printed_matrix(), Some(7_000));
        let turns = conclusion_of(&found);
        assert_eq!(turns.verdict, "SOME HOLD: of 6 statements, 2 hold here, 1 does not, 3 cannot be told.");
        assert!(athlon(3, Matrix::default()).next.starts_with("the same again, for the 3 cells left"));
        assert_eq!(athlon(3, Matrix::default()).fitness, Fitness::CannotTell);
    }
}
