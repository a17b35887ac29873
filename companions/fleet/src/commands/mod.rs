//! The commands of `jitterlab fleet`.

pub mod ask;
mod folder;

use clap::Subcommand;
use jitterlab_console::exit::CommandResult;
use jitterlab_fleet::results::{CauseList, DayList, KernelList};

/// Commands on a fleet.
#[derive(Subcommand)]
pub enum Action {
    Add(folder::AddArgs),
    Worst(ask::WorstArgs),
    /// Show what changes of the kernel did to classes of machines, and to single ones
    Kernels(ask::Args),
    /// List the causes of late starts on all machines
    Causes(ask::Args),
    /// Show the days of all machines, and which machines changed without an update
    Days(ask::Args),
    Machine(ask::MachineArgs),
    Check(folder::CheckArgs),
    Pack(folder::PackArgs),
    Sql(ask::SqlArgs),
}

/// Executes a command; answers about the whole fleet without one.
pub fn execute(action: Option<&Action>, answer: &ask::AnswerArgs) -> CommandResult {
    match action {
        Some(Action::Add(args)) => folder::add(args),
        Some(Action::Worst(args)) => ask::worst(args),
        Some(Action::Kernels(args)) => ask::list::<KernelList>(args),
        Some(Action::Causes(args)) => ask::list::<CauseList>(args),
        Some(Action::Days(args)) => ask::list::<DayList>(args),
        Some(Action::Machine(args)) => ask::machine(args),
        Some(Action::Check(args)) => folder::check(args),
        Some(Action::Pack(args)) => folder::pack(args),
        Some(Action::Sql(args)) => ask::sql(args),
        None => ask::answer(answer),
    }
}
