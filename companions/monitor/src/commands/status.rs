//! `jitterlab monitor status` and `pack`.

use std::path::PathBuf;

use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_console::purpose_args::PurposeArgs;
use jitterlab_monitor::{pack as packing, status, words};

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
pub fn execute(args: &Args) -> Ending {
    let status = status::read(&args.place.folder(), args.wanted.purpose, status::now_ns())?;
    Ok(Status::from_fitness(args.show.show(&status)?))
}

/// Copies.
pub fn pack(args: &PackArgs) -> Ending {
    let packed = packing::pack(&args.place.folder(), &args.target)?;
    output::print(&words::packed(&packed))?;
    Ok(if packed.others.is_empty() { Status::Fine } else { Status::RequirementFailed })
}
