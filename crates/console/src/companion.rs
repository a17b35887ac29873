//! The main function of every program: `jitterlab` itself, and its companions, which it calls (`jitterlab mcu` is `jitterlab-mcu`).

use std::env;
use std::process::ExitCode;

use clap::Parser;
use jitterlab_model::Error;
use jitterlab_report::json;

use crate::description::Description;
use crate::exit::{self, CommandResult};
use crate::{RELEASE, interrupt, memory, mistakes, output};

/// The argument that asks a companion for its [`Description`].
pub const DESCRIBE: &str = "--companion";

/// The variable that names the release of the program that calls a companion.
pub const CALLER: &str = "JITTERLAB_CALLER";

/// Parses the arguments of a companion, executes them and returns the exit status.
pub fn main<C: Parser>(execute: impl FnOnce(&C) -> CommandResult) -> ExitCode {
    memory::exit_where_threads_lack_memory();
    // The workers of a load are this program too.
    if let Some(code) = jitterlab_host::load::run_if_worker() {
        return code;
    }
    interrupt::outlive_file_limits();
    exit::print_failure(describe_or_execute(execute))
}

fn describe_or_execute<C: Parser>(execute: impl FnOnce(&C) -> CommandResult) -> CommandResult {
    if env::args_os().nth(1).is_some_and(|first| first == DESCRIBE) {
        output::print(
            &serde_json::to_string(&Description::from_command(&C::command())).map_err(json::json_error)?,
        )?;
        return Ok(exit::Status::Fine);
    }
    match env::var(CALLER) {
        Ok(caller) if caller != RELEASE => Err(Error::bad_use(format!(
            "this companion is of {RELEASE}, but the jitterlab that calls it is {caller}"
        ))
        .remedy("install both of one release")),
        _ => execute(&C::try_parse().unwrap_or_else(|error| mistakes::print_and_exit(error))),
    }
}
