//! Arguments in, the other crates wired together, exit statuses out.

mod commands;
mod companions;
mod countdown;
mod error;
mod experiment;
mod inputs;
mod kept_files;
mod purpose_args;
mod record_args;
mod run_args;
mod status_line;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use jitterlab_console::{BUILT, exit, interrupt, kept_parts, measure_args, mistakes, output, task_args};
use jitterlab_host::MatrixError;
use jitterlab_host::tune::TuneError;
use jitterlab_host::watch::WatchError;
use jitterlab_motion::MotionError;

use crate::error::CliError;
use crate::exit::Ending;

/// Measures how regular a periodic real-time task is on this machine, explains the pattern, and says what it
/// means for the motor or loop it has to drive.
///
/// Exit status: 0 fine, 1 a requirement failed, 2 bad use, 3 could not measure; 128 and the signal's number when a
/// signal ended a measurement early (130 for Ctrl-C), with what was measured until then kept.
#[derive(Parser)]
#[command(name = "jitterlab", version, long_version = BUILT, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Run(commands::run::Args),
    Check(commands::check::Args),
    Analyze(commands::analyze::Args),
    Completions(commands::completions::Args),
    CompareWakeups(commands::compare_wakeups::Args),
    Compensate(commands::compensate::Args),
    Predict(commands::predict::Args),
    Compare(commands::compare::Args),
    Doctor(Box<commands::doctor::Args>),
    Export(commands::export::Args),
    Matrix(commands::matrix::Args),
    Man(commands::man::Args),
    /// Measure firmware on a simulated microcontroller (AVR, or the RP2040 of the Raspberry Pi Pico): a package of its own
    Mcu(companions::Args),
    Plot(commands::plot::Args),
    Recover(commands::recover::Args),
    Report(commands::report::Args),
    /// Repeat the experiments and computations of a source document, beside the document's own figures: a package of its own
    Reproduce(companions::Args),
    Restore(commands::restore::Args),
    Schema(commands::schema::Args),
    Servo(commands::servo::Args),
    Stepper(Box<commands::stepper::Args>),
    /// Measure on any kernel image in a virtual machine whose time counts instructions: a package of its own
    Kernel(companions::Args),
    Tune(Box<commands::tune::Args>),
    Watch(commands::watch::Args),
    Why(commands::why::Args),
}

fn main() -> ExitCode {
    // The workers of a load are this program too.
    if let Some(code) = jitterlab_host::load::run_if_worker() {
        return code;
    }
    let arguments = companions::with_own_help(std::env::args_os().collect());
    let Cli { command } = Cli::try_parse_from(arguments).unwrap_or_else(|error| mistakes::end(error));
    let Some(command) = command else { return exit::report(commands::usual(), is_bad_use) };
    let ending: Ending = match command {
        Command::Run(args) => commands::run::execute(&args),
        Command::Check(args) => commands::check::execute(&args),
        Command::Analyze(args) => commands::analyze::execute(&args),
        Command::Completions(args) => {
            commands::completions::execute(&args, companions::described(Cli::command()))
        }
        Command::CompareWakeups(args) => commands::compare_wakeups::execute(&args),
        Command::Compensate(args) => commands::compensate::execute(&args),
        Command::Predict(args) => commands::predict::execute(&args),
        Command::Compare(args) => commands::compare::execute(&args),
        Command::Doctor(args) => commands::doctor::execute(&args),
        Command::Export(args) => commands::export::execute(&args),
        Command::Matrix(args) => commands::matrix::execute(&args),
        Command::Man(args) => commands::man::execute(&args, companions::described(Cli::command())),
        Command::Mcu(args) => companions::MCU.execute(&args),
        Command::Plot(args) => commands::plot::execute(&args),
        Command::Recover(args) => commands::recover::execute(&args),
        Command::Report(args) => commands::report::execute(&args),
        Command::Reproduce(args) => companions::REPRODUCE.execute(&args),
        Command::Restore(args) => commands::restore::execute(&args),
        Command::Schema(args) => commands::schema::execute(&args),
        Command::Servo(args) => commands::servo::execute(&args),
        Command::Stepper(args) => commands::stepper::execute(&args),
        Command::Kernel(args) => companions::KERNEL.execute(&args),
        Command::Tune(args) => commands::tune::execute(&args),
        Command::Watch(args) => commands::watch::execute(&args),
        Command::Why(args) => commands::why::execute(&args),
    };
    exit::report(ending, is_bad_use)
}

/// Whether the arguments are at fault, as a room says that only this program uses.
fn is_bad_use(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(CliError::is_bad_use)
        || error.downcast_ref().is_some_and(MotionError::is_bad_use)
        || error.downcast_ref().is_some_and(TuneError::is_bad_use)
        || error.downcast_ref().is_some_and(WatchError::is_bad_use)
        || error.downcast_ref().is_some_and(MatrixError::is_bad_use)
}
