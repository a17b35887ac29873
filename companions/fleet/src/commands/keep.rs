//! Keeping a fleet's folder: checking it, and packing it for another.

use std::fs;
use std::path::PathBuf;

use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::output;
use jitterlab_fleet::adding::{Intake, check as check_files};
use jitterlab_fleet::folder::{DAYS, IN};
use jitterlab_fleet::words;
use jitterlab_model::Error;

/// Read every file of a fleet and compare it with its hash
#[derive(clap::Args)]
pub struct CheckArgs {
    /// Folder of the fleet
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Put aside files that repeat slices of others
    #[arg(long)]
    repair: bool,
}

/// Copy what another folder, such as one on a stick, has not yet
#[derive(clap::Args)]
pub struct PackArgs {
    /// Folder of the fleet
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Folder to copy to; it is made where it is not there
    #[arg(value_name = "TO")]
    to: PathBuf,
}

/// Checks all files.
pub fn check(args: &CheckArgs) -> Ending {
    let (whole, left_out) = check_files(&args.folder, args.repair)?;
    left_out.iter().for_each(|file| output::warn(&words::left_out(file)));
    output::print(&format!("{}\n", words::checked(whole, left_out.len())))?;
    Ok(if left_out.is_empty() { Status::Fine } else { Status::RequirementFailed })
}

/// Copies, compares with the hashes, and gets it to the disk.
pub fn pack(args: &PackArgs) -> Ending {
    let inbox = args.folder.join(IN);
    if !inbox.is_dir() {
        return Err(Error::bad_use(format!("{} is no folder of a fleet", args.folder.display())));
    }
    let mut intake = Intake::new(&args.to, None)?;
    let days = args.folder.join(DAYS);
    if days.is_dir() {
        intake.add(&days)?;
    }
    intake.add(&inbox)?;
    let packed = intake.finish();
    fs::File::open(&args.to).and_then(|folder| folder.sync_all()).map_err(Error::file("sync", &args.to))?;
    packed.left_out.iter().for_each(|file| output::warn(&words::left_out(file)));
    output::print(&format!("{}\n", words::added(&packed)))?;
    Ok(if packed.left_out.is_empty() { Status::Fine } else { Status::RequirementFailed })
}
