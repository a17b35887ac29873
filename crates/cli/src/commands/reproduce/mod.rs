//! `jitterlab reproduce`: the experiments of the source documents, measured again on this machine.
//!
//! One document is one file beside this one, and one line in [`Document`].

mod athlon;
mod nist_loads;
mod twente;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow};
use jitterlab_model::units::{Exact, parse_duration_ns};

use crate::exit::Outcome;
use crate::output;

/// Repeat the experiments of a source document on this machine, beside the document's own figures
#[derive(clap::Args)]
pub struct Args {
    /// Which document
    document: Document,
    /// How long each measurement takes
    #[arg(short, long, value_parser = parse_duration_ns, default_value = "5s", value_name = "TIME")]
    duration: i64,
    /// Where the run files, figures and the report go; made if it does not exist [default: the document's name]
    #[arg(short, long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
}

/// The documents whose experiments can be repeated.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Document {
    /// "xenomai-user threads (Athlon)", LinuxCNC: both test series and the observations; and NIST's figure 3
    Athlon,
    /// "Timing of periodic non-realtime and realtime threads", University of Twente: figures 1 to 12
    Twente,
}

/// Repeats the document's experiments.
pub fn execute(args: &Args) -> Outcome {
    match args.document {
        Document::Athlon => {
            let directory = args.output.clone().unwrap_or_else(|| PathBuf::from("athlon"));
            athlon::reproduce(&directory, args.duration)
        }
        Document::Twente => {
            let directory = args.output.clone().unwrap_or_else(|| PathBuf::from("twente"));
            twente::reproduce(&directory, args.duration)
        }
    }
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
