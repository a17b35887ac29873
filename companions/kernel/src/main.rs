//! `jitterlab-kernel`, which is `jitterlab kernel`.

mod commands;
mod results;
#[cfg(test)]
mod sample;
mod words;

use std::process::ExitCode;

use clap::Parser;
use jitterlab_console::{BUILT, companion};
use jitterlab_kernel::guest;

/// Measure on any kernel image in a virtual machine whose time counts instructions
///
/// The same kernel and the same options give the same figures to the nanosecond, on any machine. Virtual time counts
/// code paths, not caches or hardware: it compares kernels, it does not predict a machine's latency.
#[derive(Parser)]
#[command(name = "jitterlab-kernel", bin_name = "jitterlab kernel", version, long_version = BUILT, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    action: commands::Action,
}

fn main() -> ExitCode {
    guest::run_if_init();
    companion::main(|cli: &Cli| commands::execute(&cli.action))
}
