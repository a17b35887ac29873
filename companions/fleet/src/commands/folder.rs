//! Keeping a fleet's folder: taking in, checking, and packing for another.

use std::fs;
use std::path::PathBuf;

use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::output;
use jitterlab_fleet::engine::Engine;
use jitterlab_fleet::folder::{DAYS, IN, LeftOut};
use jitterlab_fleet::intake::{self, Intake, IntakeResult};
use jitterlab_fleet::words;
use jitterlab_model::Error;

/// Take in run files, other tools' outputs and delivered slices, in any order and any number of times
#[derive(clap::Args)]
pub struct AddArgs {
    /// Folder of the fleet; it is made where it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Files and folders to take in
    #[arg(required = true, value_name = "FROM")]
    from: Vec<PathBuf>,
    /// Name of the machine that runs are of; in it {host}, {file} and {folder} stand for a run's own [default: {host}, else
    /// {file}; refused where files of one host are of several machines]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

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

/// Takes in files and folders; warns of those that cannot be taken in.
pub fn add(args: &AddArgs) -> CommandResult {
    let mut intake = Intake::new(&args.folder, args.machine.as_deref())?;
    let hosts = intake.add_all(&args.from)?;
    intake.date_and_compact()?;
    let ending = print_added(&intake.into_result());
    if let Some((host, runs)) = hosts.single_host() {
        output::print_note(&words::one_host_text(host, runs));
    }
    if let Err(missing) = Engine::find(None) {
        output::print_warning(&missing.to_string());
    }
    ending
}

/// Checks all files of a fleet, and prints how many are whole.
pub fn check(args: &CheckArgs) -> CommandResult {
    let (whole, left_out) = intake::check_files(&args.folder, args.repair)?;
    print_with_left_out(&left_out, &words::check_text(whole, left_out.len()))
}

/// Copies what another folder has not yet, and syncs it to the disk.
pub fn pack(args: &PackArgs) -> CommandResult {
    let inbox = args.folder.join(IN);
    if !inbox.is_dir() {
        return Err(Error::bad_use(format!("{} is no folder of a fleet", args.folder.display())));
    }
    let mut intake = Intake::new(&args.to, None)?;
    let days = args.folder.join(DAYS);
    let parts = [days, inbox].map(|part| part.is_dir().then_some(part));
    intake.add_all(&parts.into_iter().flatten().collect::<Vec<_>>())?;
    fs::File::open(&args.to).and_then(|folder| folder.sync_all()).map_err(Error::file("sync", &args.to))?;
    print_added(&intake.into_result())
}

fn print_added(added: &IntakeResult) -> CommandResult {
    print_with_left_out(&added.left_out, &words::added_text(added))
}

fn print_with_left_out(left_out: &[LeftOut], words: &str) -> CommandResult {
    left_out.iter().for_each(|file| output::print_warning(&words::left_out_text(file)));
    output::print(&format!("{words}\n"))?;
    Ok(status(left_out))
}

/// Exit status of a command that left out these files.
pub fn status(left_out: &[LeftOut]) -> Status {
    if left_out.is_empty() { Status::Fine } else { Status::RequirementFailed }
}
