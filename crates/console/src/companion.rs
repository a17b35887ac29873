//! The main function of every program: `jitterlab` itself, and its companions, which it calls (`jitterlab mcu` is `jitterlab-mcu`).

use std::env;
use std::process::ExitCode;

use anyhow::Error;
use clap::Parser;

use crate::description::Description;
use crate::error::ConsoleError;
use crate::exit::{self, Ending, Failure};
use crate::{RELEASE, mistakes, output};

/// The argument that asks a companion for its [`Description`].
pub const DESCRIBE: &str = "--companion";

/// The variable that names the release of the program that calls a companion.
pub const CALLER: &str = "JITTERLAB_CALLER";

/// Parses the arguments of a companion, does what they ask for and gives the exit status. `is_bad_use` finds errors of its own
/// rooms that are the user's.
pub fn main<C: Parser>(execute: impl FnOnce(&C) -> Ending, is_bad_use: fn(&Error) -> bool) -> ExitCode {
    // The workers of a load are this program too.
    if let Some(code) = jitterlab_host::load::run_if_worker() {
        return code;
    }
    exit::report(answer(execute), is_bad_use)
}

fn answer<C: Parser>(execute: impl FnOnce(&C) -> Ending) -> Ending {
    if env::args_os().nth(1).is_some_and(|first| first == DESCRIBE) {
        output::print(&serde_json::to_string(&Description::of(&C::command()))?)?;
        return Ok(exit::Status::Fine);
    }
    match env::var(CALLER) {
        Ok(caller) if caller != RELEASE => Err(Failure::bad_use(ConsoleError::OtherRelease(caller))),
        _ => execute(&C::try_parse().unwrap_or_else(|error| mistakes::end(error))),
    }
}
