//! The source documents repeated: tables, statements with their verdicts, and figures.
//!
//! One document is one file in this folder, and one variant of [`Found`].

mod athlon;
pub mod contents;
mod epos;
mod epos_figures;
pub(crate) mod head;
mod loads;
mod nist;
mod nist_figures;
mod nist_jitter;
pub mod statements;
mod time_management;
mod twente;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::claims::athlon::AthlonReproduction;
use crate::claims::epos::EposReproduction;
use crate::claims::loads::LoadFigures;
use crate::claims::nist::{ClusterCauses, NistJitter, NistVirtual, of_loads};
use crate::claims::nist_control::NistControl;
use crate::claims::time_management::{self as delays, ManagedDelay};
use crate::claims::torques::NistTorques;
use crate::claims::twente::TwenteReproduction;
use crate::paper::Paper;
use crate::statement::{Evidence, StatementVerdict};
use jitterlab_analysis::compensation_trial::TrialNote;
use jitterlab_analysis::matrix::Proposal;
use jitterlab_host::Progress;
use jitterlab_model::SystemFacts;
use serde::Serialize;

pub use twente::figures_of as twente_figures;

use statements::Tested;

use jitterlab_report::chart::Chart;
use jitterlab_report::document::Present;
use jitterlab_report::head::Head;
use jitterlab_report::machine::machine_line;
use jitterlab_report::section::{Piece, Section};

/// A source document's experiments, repeated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reproduction {
    /// Folder of the run files and figures.
    pub directory: PathBuf,
    pub found: Found,
    /// Statements of the document, tested.
    pub statements: Vec<Tested>,
    /// Verdicts on items of the document, by their names in its list.
    pub verdicts: BTreeMap<String, StatementVerdict>,
}

impl Reproduction {
    /// Takes the results with their verdicts on the items of the document: an item holds if all of its
    /// statements do.
    pub fn new(directory: PathBuf, found: Found) -> Self {
        let statements = statements::tested(found.paper(), found.evidence());
        let mut verdicts: BTreeMap<String, StatementVerdict> = BTreeMap::new();
        for tested in &statements {
            let all = verdicts.entry(tested.item.clone()).or_insert(tested.standing);
            *all = all.with(tested.standing);
        }
        Reproduction { directory, found, statements, verdicts }
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
    /// Its delay of 15 ms, on the microcontroller and on Linux in virtual time.
    EposVirtual(Vec<ManagedDelay>),
    /// NIST's report on jitter and motor control.
    Nist(Box<NistReproduction>),
    /// Its clusters and figure 3 in virtual time.
    NistVirtual(Box<NistVirtual>),
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
    /// Causes of the clusters in figures 1 and 2.
    pub clusters: ClusterCauses,
    /// Figure 3.
    pub loads: LoadFigures,
    /// Control without feedback and with it.
    pub control: NistControl,
}

impl Found {
    pub fn paper(&self) -> Paper {
        match self {
            Found::Athlon(_) => Paper::Athlon,
            Found::Epos(_) | Found::EposVirtual(_) => Paper::Epos,
            Found::Nist(_) | Found::NistVirtual(_) => Paper::Nist,
            Found::Twente(_) => Paper::Twente,
        }
    }

    /// Evidence on the document's statements.
    fn evidence(&self) -> Vec<Evidence> {
        match self {
            Found::Athlon(found) => found.evidence(),
            Found::Epos(found) => found.evidence(),
            Found::EposVirtual(found) => delays::evidence(found),
            Found::Nist(found) => {
                let jitter = found.torques.evidence().into_iter().chain(found.jitter.evidence());
                let clusters = &found.clusters;
                let traced = [clusters.evidence(), clusters.service_time(found.jitter.service.often_ns)];
                jitter.chain(traced).chain(of_loads(&found.loads)).chain(found.control.evidence()).collect()
            }
            Found::NistVirtual(found) => {
                std::iter::once(found.clusters.evidence()).chain(of_loads(&found.loads)).collect()
            }
            Found::Twente(found) => found.evidence(),
        }
    }
}

impl Present for Reproduction {
    const KIND: &'static str = "reproduction";

    fn head(&self) -> Option<Head> {
        Some(head::build(self))
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

/// Words, tables and the figures that need no run file.
fn sections(reproduction: &Reproduction) -> Vec<Section> {
    let found = &reproduction.found;
    let mut section = match found {
        Found::Athlon(found) => athlon::section(found),
        Found::Epos(found) => epos::section(found),
        Found::EposVirtual(found) => time_management::section(found),
        Found::Nist(found) => nist::section(found),
        Found::NistVirtual(found) => nist::virtual_section(found),
        Found::Twente(found) => twente::section(found),
    };
    let tested: Vec<&Tested> = reproduction.statements.iter().collect();
    section
        .pieces
        .insert(0, statements::table("What the document says, and what became of it here", &tested));
    let charts = figures(found).into_iter().flat_map(|(_, charts)| charts);
    section.pieces.extend(charts.map(Piece::Figure));
    section.pieces.push(Piece::text(format!("Run files and figures: {}", reproduction.directory.display())));
    vec![section]
}

/// The figures that the result alone holds.
pub fn figures(found: &Found) -> Vec<PaperFigure> {
    match found {
        Found::Athlon(found) => athlon::figures(found),
        Found::Epos(found) => epos_figures::figures(found),
        Found::Nist(found) => nist_jitter::figures(&found.jitter),
        Found::EposVirtual(_) | Found::NistVirtual(_) | Found::Twente(_) => Vec::new(),
    }
}

/// Adds to a figure's caption where it was measured.
pub fn add_machine(chart: &mut Chart, machine: &str) {
    chart.caption.push_str(&format!(" Measured on {machine}."));
}

/// Machine of a repetition, in words.
pub fn machine(paper: Paper, in_virtual_time: bool, facts: &SystemFacts) -> String {
    match (paper, in_virtual_time) {
        (Paper::Epos, false) => "a simulated microcontroller".into(),
        (_, true) => "emulated processors, in virtual time".into(),
        (_, false) => machine_line(facts),
    }
}

/// Text as a piece of the page that keeps its columns.
fn details(summary: &str, text: String) -> Piece {
    Piece::details(summary, vec![Piece::Verbatim { heading: String::new(), text }])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::claims::athlon::matrix;
    use crate::claims::loads::{SystemUnderLoads, under};
    use jitterlab_analysis::matrix::Matrix;
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

    #[test]
    fn every_result_is_written_read_back_and_shown() {
        let loads = |sds: Vec<Option<f64>>| LoadFigures {
            systems: ["ordinary", "fifo"]
                .map(|system| SystemUnderLoads {
                    system: system.into(),
                    loads: sds.iter().map(|sd| under("idle", *sd)).collect(),
                })
                .into(),
            in_virtual_time: false,
            ns_per_instruction: None,
        };
        let athlon = |today| AthlonReproduction::new(SystemFacts::default(), Vec::new(), 1, 3, 0, today);
        let all = [
            (Found::Athlon(Box::new(athlon(matrix()))), 4),
            (Found::Athlon(Box::new(athlon(Matrix::default()))), 4),
            (Found::Epos(EposReproduction::default()), 9),
            (
                Found::NistVirtual(Box::new(NistVirtual {
                    clusters: ClusterCauses::default(),
                    loads: loads(vec![Some(9.0), None]),
                })),
                5,
            ),
            (
                Found::Twente(TwenteReproduction {
                    loops: loads(vec![Some(500.0)]),
                    ..TwenteReproduction::default()
                }),
                9,
            ),
        ];
        for (found, statements) in all {
            let reproduction = Reproduction::new("here".into(), found);
            assert_eq!(reproduction.statements.len(), statements, "{:?}", reproduction.verdicts);
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
