//! `jitterlab analyze`: figures and patterns of saved runs, or of the outputs of other tools.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_analysis::task_analysis::AnalysisSection;
use jitterlab_report::document::Extent;
use jitterlab_report::files::{FileAnswer, files_document};
use jitterlab_report::patterns::section_help;

use crate::exit::{CommandResult, Status};
use crate::output::{self, OutputArgs};
use crate::purpose_args::PurposeArgs;
use crate::run_args::RunArgs;

/// Say what saved runs show: figures, patterns, causes
///
/// Reads run files and the outputs of cyclictest, rtla, jitterdebugger, Xenomai's latency, EVL's latmus, LinuxCNC's
/// latency-histogram, rttest, stress-ng and Zephyr.
#[derive(clap::Args)]
pub struct Args {
    /// Run files, or outputs of other tools
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show only these parts, in full
    #[arg(long = "section", value_name = "SECTION", value_delimiter = ',', value_parser = section_parser())]
    sections: Vec<Sections>,
    #[command(flatten)]
    wanted: PurposeArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Number of files from which on a list by verdict ends the answer, or is the brief one.
const FILES_FOR_LIST: usize = 3;

/// The parts that one word asks for.
type Sections = &'static [AnalysisSection];

const ALL: Sections = &AnalysisSection::ALL;

fn section_parser() -> impl TypedValueParser<Value = Sections> {
    let each = ALL.iter().map(|part| PossibleValue::new(part.name()).help(section_help(*part)));
    let words = each.chain([PossibleValue::new("all").help("All of them")]);
    PossibleValuesParser::new(words).map(|word| {
        let named = ALL.chunks(1).find(|part| part.iter().any(|part| part.name() == word));
        named.unwrap_or(ALL)
    })
}

/// Analyses each file and prints the result, of many files a list of their verdicts, too.
pub fn execute(args: &Args) -> CommandResult {
    let mut sections: Vec<AnalysisSection> = Vec::new();
    for part in args.sections.iter().copied().flatten() {
        if !sections.contains(part) {
            sections.push(*part);
        }
    }
    let with_transitions = args.output.is_json() || sections.contains(&AnalysisSection::Clusters);
    let mut statuses = Vec::new();
    let mut answers = Vec::new();
    let is_list = args.files.len() >= FILES_FOR_LIST && !args.output.is_json();
    let is_named = args.files.len() > 1 && !args.output.is_json();
    for (number, path) in args.files.iter().enumerate() {
        let run = args.run.open(path)?;
        let (task, purpose) = (args.run.task.as_deref(), args.wanted.purpose);
        let analysis = run.analysis(task, sections.clone(), with_transitions, purpose)?;
        if let Some(answer) = FileAnswer::new(&path.display().to_string(), &analysis).filter(|_| is_list) {
            statuses.push(Status::from_fitness(answer.requested_fitness()));
            answers.push(answer);
            if args.output.is_brief() {
                continue;
            }
        }
        if is_named {
            let gap = if number > 0 { "\n" } else { "" };
            output::print(&format!("{gap}{}:\n", path.display()))?;
        }
        statuses.push(Status::from_fitness(args.output.show(&analysis)?));
    }
    if !answers.is_empty() {
        let gap = if args.output.is_brief() { "" } else { "\n" };
        let list = files_document(answers).terminal_text(Extent::Answer, args.output.terminal());
        output::print(&format!("{gap}{list}"))?;
    }
    Ok(Status::worst(statuses))
}
