//! Taking in slices and runs.

use std::path::PathBuf;

use jitterlab_console::exit::{Ending, Status};
use jitterlab_fleet::{Delivery, cut};
use jitterlab_runs::{Hints, Run};

/// Take in run files, other tools' outputs and delivered slices
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the fleet; it is made where it is not there
    folder: PathBuf,
    /// Files and folders to take in
    #[arg(required = true)]
    from: Vec<PathBuf>,
    /// Name of the machine that runs are of [default: the host in the file, else the file's name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

/// Takes all of it in.
pub fn execute(args: &Args) -> Ending {
    for path in &args.from {
        let run = Run::open(path, &Hints::default())?;
        let tables = cut::cut(&run, args.machine.as_deref())?;
        for delivery in Delivery::split(tables) {
            delivery.write(&args.folder.join("in"))?;
        }
    }
    Ok(Status::Fine)
}
