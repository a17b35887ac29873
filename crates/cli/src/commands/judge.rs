//! `jitterlab judge`: the verdict on a single number.

use jitterlab_model::units::parse_duration_ns;
use jitterlab_motion::judged_number::JudgedNumber;

use crate::exit::{CommandResult, Status};
use crate::output::OutputArgs;
use crate::purpose_args::PurposeArgs;

/// Say what one number is good for: the largest latency or jitter
///
/// Of "max jitter is 90 us": the purposes that this is good, usable or not fit for, and how fast software may
/// step. With --for: exit status 1 when it is not fit, 3 when that cannot be told.
#[derive(clap::Args)]
pub struct Args {
    /// The largest latency, or LinuxCNC's max jitter, such as 90us
    #[arg(value_parser = parse_duration_ns, value_name = "TIME")]
    late: i64,
    #[command(flatten)]
    purpose: PurposeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Judges a largest lateness that is given as a number, without a run, and prints the verdict.
pub fn execute(args: &Args) -> CommandResult {
    let judged = JudgedNumber::new(args.late, args.purpose.purpose)?;
    Ok(Status::from_fitness(args.output.show(&judged)?))
}
