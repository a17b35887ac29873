//! Arguments in, the other crates wired together, exit statuses out.

mod commands;
mod companions;
mod experiment;
mod help;
mod inputs;
mod kept_files;
mod record_args;
mod run_args;
mod status_line;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use jitterlab_console::{
    BUILT, exit, interrupt, kept_parts, measure_args, memory, mistakes, output, purpose_args, task_args,
};

use crate::exit::CommandResult;

/// Measures how regular a periodic real-time task is on this machine, explains the pattern, and says what it
/// means for the motor or loop it has to drive.
#[derive(Parser)]
#[command(name = "jitterlab", version, long_version = BUILT, max_term_width = help::WIDEST, after_help = jitterlab_report::usage_hints::COMMON_RULES)]
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
    Judge(commands::judge::Args),
    Matrix(commands::matrix::Args),
    Man(commands::man::Args),
    /// Watch one machine for months, with alarms and their causes
    Monitor(companions::Args),
    /// Measure firmware on a simulated microcontroller (AVR, RP2040)
    Mcu(companions::Args),
    Plot(commands::plot::Args),
    Recover(commands::recover::Args),
    Report(commands::report::Args),
    /// Repeat what the source documents measured and computed
    Reproduce(companions::Args),
    Restore(commands::restore::Args),
    Schema(commands::schema::Args),
    Servo(commands::servo::Args),
    Stepper(Box<commands::stepper::Args>),
    /// Compare many machines over years
    Fleet(companions::Args),
    /// Measure on a kernel image in a virtual machine's exact time
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
    memory::exit_where_threads_lack_memory();
    interrupt::outlive_file_limits();
    let arguments = companions::with_own_help(std::env::args_os().collect());
    let parsed = help::with_grouped_commands(Cli::command()).try_get_matches_from(arguments);
    let Cli { command } = parsed
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .unwrap_or_else(|error| mistakes::print_and_exit(error));
    let Some(command) = command else { return exit::print_failure(commands::print_first_steps()) };
    if !matches!(command, Command::Restore(_)) {
        commands::restore::print_restore_hint();
    }
    let ending: CommandResult = match command {
        Command::Run(args) => commands::run::execute(&args),
        Command::Check(args) => commands::check::execute(&args),
        Command::Analyze(args) => commands::analyze::execute(&args),
        Command::Completions(args) => {
            commands::completions::execute(&args, companions::with_companion_commands(Cli::command()))
        }
        Command::CompareWakeups(args) => commands::compare_wakeups::execute(&args),
        Command::Compensate(args) => commands::compensate::execute(&args),
        Command::Predict(args) => commands::predict::execute(&args),
        Command::Compare(args) => commands::compare::execute(&args),
        Command::Doctor(args) => commands::doctor::execute(&args),
        Command::Export(args) => commands::export::execute(&args),
        Command::Judge(args) => commands::judge::execute(&args),
        Command::Matrix(args) => commands::matrix::execute(&args),
        Command::Man(args) => {
            commands::man::execute(&args, companions::with_companion_commands(Cli::command()))
        }
        Command::Monitor(args) => companions::MONITOR.execute(&args),
        Command::Mcu(args) => companions::MCU.execute(&args),
        Command::Plot(args) => commands::plot::execute(&args),
        Command::Recover(args) => commands::recover::execute(&args),
        Command::Report(args) => commands::report::execute(&args),
        Command::Reproduce(args) => companions::REPRODUCE.execute(&args),
        Command::Restore(args) => commands::restore::execute(&args),
        Command::Schema(args) => commands::schema::execute(&args),
        Command::Servo(args) => commands::servo::execute(&args),
        Command::Stepper(args) => commands::stepper::execute(&args),
        Command::Fleet(args) => companions::FLEET.execute(&args),
        Command::Kernel(args) => companions::KERNEL.execute(&args),
        Command::Tune(args) => commands::tune::execute(&args),
        Command::Watch(args) => commands::watch::execute(&args),
        Command::Why(args) => commands::why::execute(&args),
    };
    exit::print_failure(ending)
}
