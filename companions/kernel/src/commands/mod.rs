//! The commands of `jitterlab kernel`.

mod machine;
mod progress;
mod run;

use clap::Subcommand;
use jitterlab_console::exit::CommandResult;

/// What is done on kernels.
#[derive(Subcommand)]
pub enum Action {
    Run(Box<run::Args>),
}

pub fn execute(action: &Action) -> CommandResult {
    match action {
        Action::Run(args) => run::execute(args),
    }
}
