//! `jitterlab reproduce`: the experiments and computations of the source documents, again.
//!
//! One document is one file beside this one (`nist_*` for the parts of NIST's), and one line in [`Document`].

mod athlon;
mod epos;
mod nist_jitter;
mod nist_loads;
mod nist_virtual;
mod systems;
mod twente;
mod twente_virtual;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow};
use clap::ValueEnum as _;
use jitterlab_model::units::{Exact, parse_duration_ns};
use jitterlab_motion::stepper::nist::NistTorques;
use jitterlab_report::document::Content;
use jitterlab_report::figure;
use jitterlab_report::papers::{self, Found, NistReproduction, PaperFigure, Reproduction};

use crate::exit::{Failure, Outcome, Status};
use crate::output::{self, OutputArgs};

/// Repeat the experiments and computations of a source document, beside the document's own figures
#[derive(clap::Args)]
pub struct Args {
    /// Which document
    document: Document,
    /// How long each measurement takes; not for epos, which is simulated [default: 5s]
    #[arg(short, long, value_parser = parse_duration_ns, value_name = "TIME")]
    duration: Option<i64>,
    /// Where the run files, figures and the report go; made if it does not exist [default: the document's name]
    #[arg(short = 'o', long = "output", value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    kernels: systems::Kernels,
    #[command(flatten)]
    output: OutputArgs,
}

/// The documents whose experiments can be repeated.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Document {
    /// "xenomai-user threads (Athlon)", LinuxCNC: both test series and the observations; and NIST's figure 3
    Athlon,
    /// "Temporal Event Management in EPOS": table 1, figures 5 and 7, on a simulated microcontroller
    Epos,
    /// "Timing of periodic non-realtime and realtime threads", University of Twente: figures 1 to 12
    Twente,
    /// "Real-time Operating System Timing Jitter and its Impact on Motor Control", NIST 2001: table 1 (computed),
    /// figures 1, 2, 3, 5 and 6; with --virtual figure 3 for an ordinary and a real-time kernel
    Nist,
}

/// Of each measurement, where nothing else is asked for.
const DURATION_NS: i64 = 5_000_000_000;

/// Repeats the document's experiments, and writes figures and `result.json` beside the run files.
pub fn execute(args: &Args) -> Outcome {
    let name = args.document.to_possible_value().map_or_else(String::new, |value| value.get_name().into());
    let name = if args.kernels.in_virtual_time { format!("{name}-virtual") } else { name };
    let directory = args.directory.clone().unwrap_or_else(|| PathBuf::from(name));
    let duration_ns = args.duration.unwrap_or(DURATION_NS);
    let found = match (args.document, args.kernels.in_virtual_time) {
        (Document::Athlon, false) => athlon::reproduce(&directory, duration_ns)?,
        (Document::Athlon, true) => {
            return Err(Failure::bad_use(anyhow!(
                "the Athlon report is about the processors of one machine, which --virtual cannot stand for: leave it out"
            )));
        }
        (Document::Epos, true) => {
            return Err(Failure::bad_use(anyhow!(
                "epos runs on a simulated microcontroller in any case: leave --virtual out"
            )));
        }
        (Document::Epos, false) if args.duration.is_some() => {
            return Err(Failure::bad_use(anyhow!(
                "epos is simulated until its events have come: leave --duration out"
            )));
        }
        (Document::Epos, false) => epos::reproduce(&directory)?,
        (Document::Nist, false) => Found::Nist(Box::new(NistReproduction {
            torques: NistTorques::compute(),
            jitter: nist_jitter::reproduce(&directory, duration_ns)?,
            loads: nist_loads::reproduce(&directory, "figure-3", duration_ns)?,
        })),
        (Document::Nist, true) => nist_virtual::reproduce(&directory, duration_ns, &args.kernels)?,
        (Document::Twente, false) => twente::reproduce(&directory, duration_ns)?,
        (Document::Twente, true) => twente_virtual::reproduce(&directory, duration_ns, &args.kernels)?,
    };
    draw(&directory, &papers::figures(&found))?;
    let content = Content::Reproduction(Box::new(Reproduction { directory: directory.clone(), found }));
    let json = jitterlab_report::document::Document::new(content.clone()).json()?;
    output::write_file(&directory.join("result.json"), json.as_bytes())?;
    args.output.show(content)?;
    Ok(Status::Fine)
}

/// Writes figures as SVG and PNG.
fn draw(directory: &Path, figures: &[PaperFigure]) -> Result<()> {
    for (name, charts) in figures.iter().filter(|(_, charts)| !charts.is_empty()) {
        let svg = figure::svg(charts)?;
        for extension in ["svg", "png"] {
            output::write_figure(&directory.join(format!("{name}.{extension}")), &svg)?;
        }
    }
    Ok(())
}

/// Measures one case as a person would, with `jitterlab run` and these arguments, into `<directory>/<name>.parquet`. A
/// file that is there from before is kept, so that an interrupted reproduction goes on where it was.
fn measure(directory: &Path, name: &str, duration_ns: i64, arguments: &[&str]) -> Result<PathBuf> {
    let file = directory.join(format!("{name}.parquet"));
    if file.exists() {
        output::note(&format!("{} is there already and is taken as it is", file.display()));
        return Ok(file);
    }
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let mut command = Command::new(program);
    command.args(["run", "--quiet", "--json"]).args(arguments);
    command.args(["--duration", &Exact(duration_ns).to_string(), "--output"]).arg(&file);
    let measured = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !measured.status.success() {
        let said = String::from_utf8_lossy(&measured.stderr);
        return Err(anyhow!("{name} could not be measured: {}", said.trim()));
    }
    Ok(file)
}
