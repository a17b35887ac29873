//! `jitterlab-fleet`, which is `jitterlab fleet`.

mod commands;

use std::process::ExitCode;

use clap::Parser;
use jitterlab_console::{BUILT, companion};

/// Compare many machines over years, with exact figures
///
/// FOLDER holds the slices of the fleet: `jitterlab fleet add FOLDER FILE...` takes in run files, other tools' outputs and
/// what machines deliver. DuckDB sums them (pip install duckdb-cli), or Spark. With --for: exit status 1 when a machine
/// does not serve the purpose, 3 when none is known to.
#[derive(Parser)]
#[command(name = "jitterlab-fleet", bin_name = "jitterlab fleet", version, long_version = BUILT, max_term_width = 100,
    args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    action: Option<commands::Action>,
    #[command(flatten)]
    answer: commands::ask::AnswerArgs,
}

fn main() -> ExitCode {
    companion::main(|cli: &Cli| commands::execute(cli.action.as_ref(), &cli.answer))
}
