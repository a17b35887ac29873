//! `jitterlab reproduce`: the experiments of the source documents, measured again on this machine.
//!
//! One document is one file beside this one, and one line in [`Document`].

mod twente;

use std::path::PathBuf;

use jitterlab_model::units::parse_duration_ns;

use crate::exit::Outcome;

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
    /// "Timing of periodic non-realtime and realtime threads", University of Twente: figures 1 to 12
    Twente,
}

/// Repeats the document's experiments.
pub fn execute(args: &Args) -> Outcome {
    match args.document {
        Document::Twente => {
            let directory = args.output.clone().unwrap_or_else(|| PathBuf::from("twente"));
            twente::reproduce(&directory, args.duration)
        }
    }
}
