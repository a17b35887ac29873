//! `jitterlab monitor status` and `pack`.

use std::path::PathBuf;

use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_console::purpose_args::PurposeArgs;
use jitterlab_fleet::adding::{self, Intake};
use jitterlab_model::Error;
use jitterlab_monitor::{status, words};

use super::place::PlaceArgs;

/// Say in three lines whether the machine serves its purposes, and since when
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: PurposeArgs,
    #[command(flatten)]
    place: PlaceArgs,
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
    place: PlaceArgs,
}

/// Reads the folder and says what it holds.
pub fn execute(args: &Args) -> CommandResult {
    let status = status::read(&args.place.folder(), args.wanted.purpose, status::now_ns())?;
    Ok(Status::from_fitness(args.show.show(&status)?))
}

/// Copies.
pub fn pack(args: &PackArgs) -> CommandResult {
    if !args.target.is_dir() {
        return Err(Error::bad_use(format!("there is no folder {}", args.target.display()))
            .remedy("mount the stick and name its folder"));
    }
    let mut intake = Intake::new(&args.target, None)?;
    intake.add_all(&[args.place.folder().outbox().to_path_buf()])?;
    let packed = intake.finish();
    let (_, damaged) = adding::check(&args.target, false)?;
    let left_out: Vec<_> = packed.left_out.iter().chain(&damaged).collect();
    left_out.iter().for_each(|file| output::print_warning(&jitterlab_fleet::words::left_out(file)));
    output::print(&words::packed(&packed))?;
    Ok(if left_out.is_empty() { Status::Fine } else { Status::RequirementFailed })
}
