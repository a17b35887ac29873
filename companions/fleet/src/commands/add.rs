//! Taking in slices and runs.

use std::path::PathBuf;

use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::output;
use jitterlab_fleet::adding::Intake;
use jitterlab_fleet::words;

/// Take in run files, other tools' outputs and delivered slices, in any order and any number of times
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the fleet; it is made where it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Files and folders to take in
    #[arg(required = true, value_name = "FROM")]
    from: Vec<PathBuf>,
    /// Name of the machine that runs are of [default: the host in the file, else the file's name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

/// Takes all of it in; what cannot be is named, and the rest is taken in.
pub fn execute(args: &Args) -> Ending {
    let mut intake = Intake::new(&args.folder, args.machine.as_deref())?;
    for from in &args.from {
        intake.add(from)?;
    }
    intake.settle()?;
    let added = intake.finish();
    added.left_out.iter().for_each(|file| output::warn(&words::left_out(file)));
    output::print(&format!("{}\n", words::added(&added)))?;
    Ok(if added.left_out.is_empty() { Status::Fine } else { Status::RequirementFailed })
}
