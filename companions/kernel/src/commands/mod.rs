//! The commands of `jitterlab kernel`.

mod bare;
mod diff;
mod guests;
mod machine;
mod peers;
mod progress;
mod run;

use clap::Subcommand;
use jitterlab_console::exit::Ending;

/// What is done on kernels.
#[derive(Subcommand)]
pub enum Action {
    Run(Box<run::Args>),
    Diff(Box<diff::Args>),
    Peers(Box<peers::Args>),
    #[command(hide = true)]
    Bare(bare::Args),
}

/// Does it.
pub fn execute(action: &Action) -> Ending {
    match action {
        Action::Run(args) => run::execute(args),
        Action::Diff(args) => diff::execute(args),
        Action::Peers(args) => peers::execute(args),
        Action::Bare(args) => bare::execute(args),
    }
}
