//! `jitterlab-monitor`, which is `jitterlab monitor`.

mod commands;

use std::process::ExitCode;

use clap::Parser;
use jitterlab_console::{BUILT, companion};

/// Watch one machine for months: hours that add up, alarms with a cause
///
/// Without a command it measures until it is ended: a task of its own, or the threads of a unit, process or name. Each hour
/// becomes figures that a fleet adds up, each day a run file that every command opens.
#[derive(Parser)]
#[command(name = "jitterlab-monitor", bin_name = "jitterlab monitor", version, long_version = BUILT, max_term_width = 100, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    action: Option<commands::Action>,
    #[command(flatten)]
    watch: commands::watch::Args,
}

fn main() -> ExitCode {
    companion::main(|cli: &Cli| match &cli.action {
        Some(action) => commands::execute(action),
        None => commands::watch::execute(&cli.watch),
    })
}
