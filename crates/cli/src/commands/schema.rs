//! `jitterlab schema`: the layout of what commands print with `--json`.

use crate::exit::{Ending, Status};
use crate::output;

/// Print the JSON Schema of what commands print with --json (docs/formats/schema.json)
#[derive(clap::Args)]
pub struct Args {}

/// Prints it.
pub fn execute(_: &Args) -> Ending {
    output::print(&(serde_json::to_string_pretty(&jitterlab_report::document::schema())? + "\n"))?;
    Ok(Status::Fine)
}
