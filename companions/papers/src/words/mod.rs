//! The source documents repeated: tables, statements with their verdicts, and figures.
//!
//! One document is one file in this folder, and one variant of [`Found`].

mod athlon;
pub mod contents;
mod epos;
mod epos_figures;
pub(crate) mod head;
mod nist;
mod nist_figures;
mod nist_jitter;
mod twente;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::claims::athlon::AthlonReproduction;
use crate::claims::epos::EposReproduction;
use crate::claims::nist::{NistJitter, NistLoads};
use crate::claims::stretches::{STRETCHES, TURNS};
use crate::claims::torques::NistTorques;
use crate::claims::twente::TwenteReproduction;
use crate::claims::{StatementVerdict, Tested};
use jitterlab_analysis::compensation_trial::TrialNote;
use jitterlab_analysis::matrix::Proposal;
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_host::Progress;
use serde::Serialize;

pub use twente::figures_of as twente_figures;

use jitterlab_report::chart::Chart;
use jitterlab_report::document::Present;
use jitterlab_report::head::Head;
use jitterlab_report::section::{Piece, Section};

/// A source document's experiments, repeated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reproduction {
    /// Folder of the run files and figures.
    pub directory: PathBuf,
    pub found: Found,
    /// Verdicts on items of the document, by their names in its list.
    pub verdicts: BTreeMap<&'static str, StatementVerdict>,
}

impl Reproduction {
    /// Takes the results with their verdicts on the items of the document: an item holds if all of its
    /// statements do.
    #[must_use]
    pub fn new(directory: PathBuf, found: Found) -> Self {
        let mut verdicts: BTreeMap<&'static str, StatementVerdict> = BTreeMap::new();
        for said in statements(&found) {
            let all = verdicts.entry(said.item).or_insert(said.standing);
            *all = all.with(said.standing);
        }
        Reproduction { directory, found, verdicts }
    }
}

/// Result of repeating a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "document", content = "numbers", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Found {
    /// "xenomai-user threads (Athlon)".
    Athlon(Box<AthlonReproduction>),
    /// "Temporal Event Management in EPOS".
    Epos(EposReproduction),
    /// NIST's report on jitter and motor control.
    Nist(Box<NistReproduction>),
    /// Its figure 3 in virtual time.
    NistVirtual(NistLoads),
    /// The University of Twente's report, on this machine or in virtual time.
    Twente(TwenteReproduction),
}

/// NIST's report, repeated on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistReproduction {
    /// Table 1.
    pub torques: NistTorques,
    /// Figures 1, 2, 4, 5 and 6.
    pub jitter: NistJitter,
    /// Figure 3.
    pub loads: NistLoads,
}

impl Present for Reproduction {
    const KIND: &'static str = "reproduction";

    fn head(&self) -> Option<Head> {
        head::build(self)
    }

    fn sections(&self) -> Vec<Section> {
        sections(self)
    }
}

/// A step of a repetition, as it begins.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// A run file is there from before and is not measured again.
    Kept(PathBuf),
    /// A task is measured on this machine.
    Measuring {
        /// Name of the measurement.
        name: String,
        load: String,
    },
    /// A kernel is booted.
    Booting {
        /// The document's system in whose place it is booted.
        system: String,
        kernel: String,
    },
    /// Not all pairs of CPUs are measured, and which instead.
    Chosen(Proposal),
    /// Something that a boot needs first, in its own words.
    Preparing(String),
    /// A step of an experiment begins.
    Trial(Progress),
    /// Parts of an experiment that could not be measured.
    Lacking(TrialNote),
}

/// A step for people.
#[must_use]
pub fn step(step: &Step) -> String {
    match step {
        Step::Kept(file) => format!("{} is there already and is taken as it is", file.display()),
        Step::Measuring { name, load } => format!("measuring {name}, load {load}"),
        Step::Booting { system, kernel } => format!("booting {system} ({kernel})"),
        Step::Chosen(proposal) => {
            jitterlab_report::matrix::proposal(proposal, "`jitterlab matrix` takes others")
        }
        Step::Preparing(words) => words.clone(),
        Step::Trial(step) => jitterlab_report::progress::left(&step.step, step.left_ns),
        Step::Lacking(note) => jitterlab_report::compensation::note(note),
    }
}

/// A figure of a document: the name of its file without extension, and its charts.
pub type PaperFigure = (String, Vec<Chart>);

#[must_use]
/// Words, tables and the figures that need no run file.
fn sections(reproduction: &Reproduction) -> Vec<Section> {
    let found = &reproduction.found;
    let mut section = match found {
        Found::Athlon(found) => athlon::section(found),
        Found::Epos(found) => epos::section(found),
        Found::Nist(found) => nist::section(found),
        Found::NistVirtual(found) => nist::virtual_section(found),
        Found::Twente(found) => twente::section(found),
    };
    let charts = figures(found).into_iter().flat_map(|(_, charts)| charts);
    section.pieces.extend(charts.map(Piece::Figure));
    section.pieces.push(Piece::text(format!("Run files and figures: {}", reproduction.directory.display())));
    vec![section]
}

/// The figures that the result alone holds.
#[must_use]
pub fn figures(found: &Found) -> Vec<PaperFigure> {
    match found {
        Found::Athlon(found) => athlon::figures(found),
        Found::Epos(found) => epos_figures::figures(found),
        Found::Nist(found) => nist_jitter::figures(&found.jitter),
        Found::NistVirtual(_) | Found::Twente(_) => Vec::new(),
    }
}

/// Statements of a document, tested on the measurements.
fn statements(found: &Found) -> Vec<StatementWords> {
    match found {
        Found::Athlon(found) => athlon::statements(found),
        // Its table is held against the measured one cell by cell.
        Found::Epos(_) => Vec::new(),
        Found::Nist(found) => {
            let of_loads = nist::statements(&found.loads);
            nist::torque_claims(&found.torques).into_iter().chain(of_loads).collect()
        }
        Found::NistVirtual(found) => nist::statements(found),
        Found::Twente(found) => twente::statements(found),
    }
}

/// A statement in words.
struct StatementWords {
    /// The item of the document with the statement.
    item: &'static str,
    statement: String,
    standing: StatementVerdict,
    /// The numbers that decide.
    numbers: String,
}

/// Statements in words; `words` gives the document's item, the statement and the numbers.
fn claims<S>(
    tested: &[Tested<S>],
    words: impl Fn(&S) -> (&'static str, String, String),
) -> Vec<StatementWords> {
    let each = tested.iter().map(|tested| {
        let (item, statement, numbers) = words(&tested.statement);
        StatementWords { item, statement, standing: tested.standing, numbers }
    });
    each.collect()
}

/// Note on the repetitions of measurements on this machine.
fn in_turns() -> String {
    format!("Each measured {TURNS} times in turns; {STRETCHES} stretches of each run give the intervals.")
}

fn standing(standing: StatementVerdict) -> &'static str {
    match standing {
        StatementVerdict::Holds => "holds",
        StatementVerdict::DoesNotHold => "DOES NOT HOLD",
        StatementVerdict::CannotBeTold => "cannot be told",
    }
}

fn outcome(StatementWords { statement, standing: became, numbers, .. }: &StatementWords) -> String {
    format!("{statement}: {} ({numbers})", standing(*became))
}

/// Statements as a table.
fn table(caption: &str, claims: Vec<StatementWords>) -> Piece {
    Piece::table(
        caption,
        &["the document says", "here", "numbers that decide"],
        claims.into_iter().map(|said| vec![said.statement, standing(said.standing).into(), said.numbers]),
    )
}

/// A section of these pieces.
pub(crate) fn section(id: &str, title: &str, lead: &str, pieces: Vec<Piece>) -> Section {
    Section { id: id.into(), title: title.into(), lead: lead.into(), pieces }
}

/// Text as a piece of the page that keeps its columns.
fn details(summary: &str, text: String) -> Piece {
    Piece::details(summary, vec![Piece::Verbatim { heading: String::new(), text }])
}

/// The same number of each measurement, for a sentence: `1 us, unknown, 3 us`.
fn each<N: Copy>(numbers: &[Option<N>], show: impl Fn(N) -> String) -> String {
    let shown = numbers.iter().map(|number| number.map_or_else(|| "unknown".into(), &show));
    shown.collect::<Vec<_>>().join(", ")
}

fn intervals(all: &[Option<MedianInterval>], show: impl Fn(f64) -> String) -> String {
    let one = |median: &Option<MedianInterval>| match median {
        Some(MedianInterval { median, interval: Some((low, high)) }) => {
            format!("{} ({} to {})", show(*median), show(*low), show(*high))
        }
        Some(MedianInterval { median, interval: None }) => format!("{} (no interval)", show(*median)),
        None => "unknown".into(),
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::claims::UnderLoad;
    use crate::claims::athlon::matrix;
    use crate::claims::twente::{LoopStretches, LoopTimes, TwenteSystem};
    use crate::claims::{SystemUnderLoads, nist::LatencyRange};
    use jitterlab_analysis::matrix::Matrix;
    use jitterlab_model::SystemFacts;
    use jitterlab_report::chart::Terminal;
    use jitterlab_report::document::{self, Document, Extent};

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: false, colour: false };

    /// All texts of a section in their order, each cell behind the one before.
    pub(in super::super) fn words(section: &Section) -> String {
        fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
            match value {
                serde_json::Value::String(text) => found.push(text.clone()),
                serde_json::Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
                serde_json::Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        texts(&serde_json::to_value(section).unwrap(), &mut found);
        found.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn system<T>(found: Vec<Option<T>>) -> SystemUnderLoads<T> {
        let load = |found| UnderLoad { condition: "idle".into(), load: "none".into(), found };
        SystemUnderLoads { system: "ordinary".into(), loads: found.into_iter().map(load).collect() }
    }

    fn twente(found: Option<LoopTimes>) -> TwenteSystem {
        TwenteSystem { found: system(vec![found]), stretches: vec![LoopStretches::default()] }
    }

    #[test]
    fn every_result_is_written_read_back_and_shown() {
        let times =
            LoopTimes { mean_ns: 1e6, sd_ns: 500.0, shortest_ns: 1, longest_ns: 2, executed: 3, missed: 0 };
        let range = LatencyRange { min_ns: 1, max_ns: 9_000, sd_ns: None, executed: 3, missed: 0 };
        let athlon = |today| AthlonReproduction::new(SystemFacts::default(), Vec::new(), 1, 3, 0, today);
        let all = [
            Found::Athlon(Box::new(athlon(matrix()))),
            Found::Athlon(Box::new(athlon(Matrix::default()))),
            Found::Epos(EposReproduction::new(Vec::new(), Vec::new(), Vec::new(), None)),
            Found::NistVirtual(NistLoads::new(
                vec![system(vec![Some(range), None])],
                &[vec![vec![9.0; 8], vec![]]],
            )),
            Found::Twente(TwenteReproduction::new(twente(Some(times)), vec![twente(None)], Vec::new())),
        ];
        for found in all {
            let reproduction = Reproduction::new("here".into(), found);
            let listed = contents::PaperContents::for_document(None).items;
            for item in reproduction.verdicts.keys() {
                assert!(listed.iter().any(|of| of.id.ends_with(&format!("/{item}"))), "{item}");
            }
            let text = document::text(&reproduction, Extent::Details, TERMINAL);
            assert!(text.contains("Run files and figures: here\n"), "{text}");
            let read = Document::read(&document::json(&reproduction).unwrap()).unwrap();
            let texts =
                [read.clone(), Document::new(&reproduction)].map(|d| d.text(Extent::Details, TERMINAL));
            assert_eq!(texts[0], texts[1]);
            assert_eq!(read.sections.len(), 1);
        }
    }
}
