//! `jitterlab-papers`, which is `jitterlab reproduce`.

mod commands;

use std::process::ExitCode;

use clap::Parser;
use jitterlab_console::{BUILT, companion};
use jitterlab_kernel::guest;

/// Repeat the experiments and computations of a source document, beside the document's own figures
#[derive(Parser)]
#[command(name = "jitterlab-papers", bin_name = "jitterlab reproduce", version, long_version = BUILT, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    args: commands::Args,
}

fn main() -> ExitCode {
    guest::run_if_init();
    companion::main(|cli: &Cli| commands::execute(&cli.args))
}
