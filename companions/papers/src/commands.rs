//! The options of `jitterlab reproduce`, and their execution.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_console::{interrupt, mistakes};
use jitterlab_host::facts::{self, Root};
use jitterlab_kernel::KernelChoice;
use jitterlab_model::Error;
use jitterlab_papers::paper::Paper;
use jitterlab_papers::systems::Kernels;
use jitterlab_papers::words;
use jitterlab_papers::words::contents::PaperContents;
use jitterlab_papers::{Workplace, athlon, epos, nist, time_management, twente};

/// Which document, and how.
#[derive(clap::Args)]
pub struct Args {
    /// Which document; with --list all of them where none is named
    #[arg(required_unless_present = "list")]
    document: Option<Document>,
    /// List what the documents show and say, what its last result here gave (in the folder that it is written to), and the
    /// command for it
    #[arg(long, conflicts_with_all = ["duration", "directory", "in_virtual_time"])]
    list: bool,
    /// How long each measurement takes; not for epos, which is simulated [default: 5s, athlon --virtual 100ms]
    #[arg(short, long, value_parser = mistakes::duration, value_name = "TIME")]
    duration: Option<i64>,
    /// Where the run files, figures and the result go; made if it does not exist [default: the document's name]
    #[arg(short = 'o', long = "output", value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Measure on kernel images in QEMU's virtual time instead of this machine
    #[arg(long = "virtual")]
    in_virtual_time: bool,
    /// The ordinary kernel
    #[arg(long, default_value = "debian:generic", requires = "in_virtual_time", value_name = "KERNEL")]
    ordinary: KernelChoice,
    /// The kernel with PREEMPT_RT
    #[arg(long, default_value = "debian:rt", requires = "in_virtual_time", value_name = "KERNEL")]
    preempt_rt: KernelChoice,
    /// A kernel with Xenomai's Cobalt core; libcobalt.so.2 is looked for where the dynamic linker looks, unless --with has it
    #[arg(long, requires = "in_virtual_time", value_name = "KERNEL")]
    cobalt: Option<KernelChoice>,
    /// A kernel with the EVL core (Xenomai 4); libevl.so is looked for where the dynamic linker looks, unless --with has it
    #[arg(long, requires = "in_virtual_time", value_name = "KERNEL")]
    evl: Option<KernelChoice>,
    /// A file that the guest gets besides, with the libraries it needs, such as libcobalt.so.2; may be given several times
    #[arg(long, requires = "in_virtual_time", value_name = "FILE")]
    with: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The documents whose experiments can be repeated.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Document {
    /// "xenomai-user threads (Athlon)", LinuxCNC: both test series and the observations. With --virtual
    /// on four emulated processors with a real-time kernel
    Athlon,
    /// "Temporal Event Management in EPOS": table 1, figures 5 and 7, on a simulated microcontroller. With
    /// --virtual its delay of 15 ms there and on Linux, with and without a tick
    Epos,
    /// "Timing of periodic non-realtime and realtime threads", University of Twente: figures 1 to 12, on every system here
    Twente,
    /// "Real-time Operating System Timing Jitter and its Impact on Motor Control", NIST 2001: table 1 (computed),
    /// figures 1 to 6; with --virtual figure 3 on kernels
    Nist,
}

impl Document {
    fn paper(self) -> Paper {
        match self {
            Document::Athlon => Paper::Athlon,
            Document::Epos => Paper::Epos,
            Document::Nist => Paper::Nist,
            Document::Twente => Paper::Twente,
        }
    }
}

/// Of each measurement, where nothing else is asked for.
const DURATION_NS: i64 = 5_000_000_000;

/// Repeats the document's experiments, and writes figures and `result.json` to the folder of the run files.
pub fn execute(args: &Args) -> Ending {
    let paper = args.document.map(Document::paper);
    let (Some(document), false) = (args.document, args.list) else {
        args.output.show(&PaperContents::for_document(paper).with_results(Path::new(".")))?;
        return Ok(Status::Fine);
    };
    let name = document.to_possible_value().map_or_else(String::new, |value| value.get_name().into());
    let name = if args.in_virtual_time { format!("{name}-virtual") } else { name };
    let directory = args.directory.clone().unwrap_or_else(|| PathBuf::from(name));
    let interrupted = interrupt::requested()?;
    let usual_ns = match (document, args.in_virtual_time) {
        (Document::Athlon, true) => athlon::VIRTUAL_CELL_NS,
        _ => DURATION_NS,
    };
    let mut at = Workplace {
        directory: &directory,
        machine: words::machine(document.paper(), args.in_virtual_time, &facts::read(&Root::system())),
        duration_ns: args.duration.unwrap_or(usual_ns),
        with: &args.with,
        interrupted: &interrupted,
        tell: &mut |step| output::note(&words::step(step)),
    };
    let kernels = Kernels {
        ordinary: args.ordinary.clone(),
        preempt_rt: args.preempt_rt.clone(),
        cobalt: args.cobalt.clone(),
        evl: args.evl.clone(),
    };
    if args.in_virtual_time {
        kernels.check(&args.with)?;
    }
    let found = match (document, args.in_virtual_time) {
        (Document::Athlon, false) => athlon::reproduce(&mut at)?,
        (Document::Athlon, true) => athlon::virtual_time(&mut at, &kernels)?,
        (Document::Epos, _) if args.duration.is_some() => {
            return Err(
                Error::bad_use("epos is simulated until its events have come").remedy("leave --duration out")
            );
        }
        (Document::Epos, true) => time_management::virtual_time(&mut at, &kernels)?,
        (Document::Epos, false) => epos::reproduce(&at, &output::progress(false))?,
        (Document::Nist, false) => nist::host(&mut at)?,
        (Document::Nist, true) => nist::virtual_time(&mut at, &kernels)?,
        (Document::Twente, false) => twente::host(&mut at)?,
        (Document::Twente, true) => twente::virtual_time(&mut at, &kernels)?,
    };
    args.output.show(&at.finish(found)?)?;
    Ok(Status::Fine)
}
