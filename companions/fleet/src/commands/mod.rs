//! The commands of `jitterlab fleet`.

mod add;
pub mod ask;
mod keep;
mod sql;

use clap::Subcommand;
use jitterlab_console::exit::Ending;

/// What is done with a fleet.
#[derive(Subcommand)]
pub enum Action {
    Add(add::Args),
    /// List all machines, the worst first
    Worst(ask::Args),
    /// Show what changes of the kernel did to classes of machines, and to single ones
    Kernels(ask::Args),
    /// List the causes of late starts on all machines
    Causes(ask::Args),
    /// Show the days of all machines, and which machines changed without an update
    Days(ask::Args),
    Machine(ask::MachineArgs),
    Check(keep::CheckArgs),
    Pack(keep::PackArgs),
    Sql(sql::Args),
}

/// Does it; without a command it answers about the fleet.
pub fn execute(action: Option<&Action>, answer: &ask::AnswerArgs) -> Ending {
    match action {
        Some(Action::Add(args)) => add::execute(args),
        Some(Action::Worst(args)) => ask::worst(args),
        Some(Action::Kernels(args)) => ask::kernels(args),
        Some(Action::Causes(args)) => ask::causes(args),
        Some(Action::Days(args)) => ask::days(args),
        Some(Action::Machine(args)) => ask::machine(args),
        Some(Action::Check(args)) => keep::check(args),
        Some(Action::Pack(args)) => keep::pack(args),
        Some(Action::Sql(args)) => sql::execute(args),
        None => ask::answer(answer),
    }
}
