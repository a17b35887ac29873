//! The options of `jitterlab reproduce`, and their execution.

use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_console::{interrupt, mistakes};
use jitterlab_host::facts::{self, Root};
use jitterlab_model::Error;
use jitterlab_papers::paper::Paper;
use jitterlab_papers::systems::Kernels;
use jitterlab_papers::words;
use jitterlab_papers::words::contents::PaperContents;
use jitterlab_papers::{Reproducer, athlon, epos, nist, time_management, twente};

/// Which document, and how.
#[derive(clap::Args)]
pub struct Args {
    /// Which document; with --list all of them where none is named
    #[arg(required_unless_present = "list")]
    document: Option<Paper>,
    /// List what the documents show and say, what its last result here gave (in the folder that it is written to), and the
    /// command for it
    #[arg(long, conflicts_with_all = ["duration", "directory", "in_virtual_time"])]
    list: bool,
    /// How long each measurement takes; not for epos, which is simulated [default: 5s, athlon --virtual 100ms]
    #[arg(short, long, value_parser = mistakes::parse_duration, value_name = "TIME")]
    duration: Option<i64>,
    /// Where the run files, figures and the result go; made if it does not exist [default: the document's name]
    #[arg(short = 'o', long = "output", value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Measure on kernel images in QEMU's virtual time instead of this machine
    #[arg(long = "virtual")]
    in_virtual_time: bool,
    #[command(flatten)]
    kernels: Kernels,
    #[command(flatten)]
    output: OutputArgs,
}

/// Length of each measurement where no other is given.
const DURATION_NS: i64 = 5_000_000_000;

/// Repeats the document's experiments, and writes figures and `result.json` to the folder of the run files.
pub fn execute(args: &Args) -> CommandResult {
    let (Some(paper), false) = (args.document, args.list) else {
        args.output.show(&PaperContents::for_document(args.document).with_results(Path::new(".")))?;
        return Ok(Status::Fine);
    };
    if paper == Paper::Epos && args.duration.is_some() {
        let error = Error::bad_use("epos is simulated until its events have come");
        return Err(error.remedy("leave --duration out"));
    }
    let usual = || paper.folder(args.in_virtual_time).into();
    let directory = args.directory.clone().unwrap_or_else(usual);
    let interrupted = interrupt::listen_for_interrupt()?;
    let usual_ns = match (paper, args.in_virtual_time) {
        (Paper::Athlon, true) => athlon::VIRTUAL_CELL_NS,
        _ => DURATION_NS,
    };
    let kernels = args.in_virtual_time.then_some(&args.kernels);
    kernels.map_or(Ok(()), Kernels::check_images)?;
    let mut at = Reproducer {
        directory: &directory,
        machine: words::machine_text(paper, args.in_virtual_time, &facts::read(&Root::system())),
        kernels,
        duration_ns: args.duration.unwrap_or(usual_ns),
        interrupted: &interrupted,
        announce: &mut |words| output::print_note(words),
    };
    fs::create_dir_all(&directory).map_err(Error::file("make", &directory))?;
    let reproduction = match (paper, kernels) {
        (Paper::Athlon, None) => athlon::reproduce(&mut at),
        (Paper::Athlon, Some(kernels)) => athlon::reproduce_in_virtual_time(&mut at, kernels),
        (Paper::Epos, None) => epos::reproduce(&at, &output::progress_line(false)),
        (Paper::Epos, Some(kernels)) => time_management::reproduce_in_virtual_time(&mut at, kernels),
        (Paper::Nist, _) => nist::reproduce(&mut at),
        (Paper::Twente, _) => twente::reproduce(&mut at),
    };
    args.output.show(&reproduction?)?;
    Ok(Status::Fine)
}
