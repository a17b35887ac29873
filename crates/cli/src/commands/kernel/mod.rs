//! `jitterlab kernel`: measure on kernel images, in QEMU's virtual time.

mod bare;
mod diff;
mod guest;
mod guests;
mod machine;
mod peers;
mod progress;
mod run;

use clap::Subcommand;

use crate::exit::Ending;

/// Measure on any kernel image in a virtual machine whose time counts instructions
///
/// The same kernel and the same options give the same figures to the nanosecond, on any machine. Virtual time counts
/// code paths, not caches or hardware: it compares kernels, it does not predict a machine's latency.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Diff(Box<diff::Args>),
    Peers(Box<peers::Args>),
    #[command(hide = true)]
    Guest,
    #[command(hide = true)]
    Bare(bare::Args),
}

/// Does what was asked of a kernel.
pub fn execute(args: &Args) -> Ending {
    match &args.command {
        Command::Run(args) => run::execute(args),
        Command::Diff(args) => diff::execute(args),
        Command::Peers(args) => peers::execute(args),
        Command::Guest => guest::execute(),
        Command::Bare(args) => bare::execute(args),
    }
}
