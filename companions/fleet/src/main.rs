//! `jitterlab-fleet`, which is `jitterlab fleet`.

mod commands;

use std::process::ExitCode;

use clap::Parser;
use jitterlab_console::{BUILT, companion};

/// Compare many machines over years, with exact figures
///
/// FOLDER holds the slices of the fleet. `jitterlab fleet add FOLDER FILE...` takes in run files, other tools' outputs and
/// what machines deliver, in any order and twice.
#[derive(Parser)]
#[command(name = "jitterlab-fleet", bin_name = "jitterlab fleet", version, long_version = BUILT, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    action: commands::Action,
}

fn main() -> ExitCode {
    companion::main(|cli: &Cli| commands::execute(&cli.action))
}
