//! `jitterlab monitor status` and `pack`.

use std::path::PathBuf;

use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_console::purpose_args::PurposeArgs;
use jitterlab_fleet::intake::{self, Intake};
use jitterlab_model::Error;
use jitterlab_monitor::{status, words};

use super::folder_args::FolderArgs;

/// Say in three lines whether the machine serves its purposes, and since when
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: PurposeArgs,
    #[command(flatten)]
    folder_args: FolderArgs,
    #[command(flatten)]
    show: OutputArgs,
}

/// Copy the outbox to a stick and read it back
#[derive(clap::Args)]
pub struct PackArgs {
    /// The stick's folder
    #[arg(value_name = "DIR")]
    target: PathBuf,
    #[command(flatten)]
    folder_args: FolderArgs,
}

/// Shows the counts in the folder and their verdict.
pub fn execute(args: &Args) -> CommandResult {
    let status = status::read_status(&args.folder_args.folder(), args.wanted.purpose, status::unix_now_ns())?;
    Ok(Status::from_fitness(args.show.show(&status)?))
}

/// Copies the outbox to a stick and checks the copies.
pub fn pack(args: &PackArgs) -> CommandResult {
    if !args.target.is_dir() {
        return Err(Error::bad_use(format!("there is no folder {}", args.target.display()))
            .remedy("mount the stick and name its folder"));
    }
    let mut intake = Intake::new(&args.target, None)?;
    intake.add_all(&[args.folder_args.folder().outbox().to_path_buf()])?;
    let packed = intake.into_result();
    let (_, damaged) = intake::check_files(&args.target, false)?;
    let left_out: Vec<_> = packed.left_out.iter().chain(&damaged).collect();
    left_out.iter().for_each(|file| output::print_warning(&jitterlab_fleet::words::left_out_text(file)));
    output::print(&words::packed_text(&packed))?;
    Ok(if left_out.is_empty() { Status::Fine } else { Status::RequirementFailed })
}
