//! The commands of `jitterlab fleet`.

mod add;

use clap::Subcommand;
use jitterlab_console::exit::Ending;

/// What is done with a fleet.
#[derive(Subcommand)]
pub enum Action {
    Add(Box<add::Args>),
}

/// Does it.
pub fn execute(action: &Action) -> Ending {
    match action {
        Action::Add(args) => add::execute(args),
    }
}
