//! `jitterlab schema`: the layout of the commands' output with `--json`.

use crate::exit::{CommandResult, Status};
use crate::output;

/// Print the JSON Schema of what commands print with --json
#[derive(clap::Args)]
pub struct Args {}

/// Prints the schema.
pub fn execute(_: &Args) -> CommandResult {
    output::print(jitterlab_report::schema::SCHEMA_TEXT)?;
    Ok(Status::Fine)
}
