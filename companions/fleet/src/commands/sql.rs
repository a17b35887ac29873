//! SQL of the fleet, and of the user's own.

use std::io::{self, Write};

use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::output;
use jitterlab_fleet::asking::{self, QUERIES};
use jitterlab_model::Error;

use super::ask::FleetArgs;

/// Answer SQL of your own over the tables slices, bins, limits, causes, worst and machines, as CSV; without it, print the queries
/// that the commands are made of
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    /// The query
    #[arg(value_name = "QUERY")]
    query: Option<String>,
}

/// Prints the queries, or an answer.
pub fn execute(args: &Args) -> Ending {
    let Some(query) = &args.query else {
        let all = QUERIES.iter().map(|query| format!("-- {}\n{};\n", query.name, query.sql.trim_end()));
        output::print(&all.collect::<Vec<_>>().join("\n"))?;
        return Ok(Status::Fine);
    };
    let (fleet, engine) = args.fleet.open()?;
    let answer = asking::print(&fleet, &engine, query)?;
    io::stdout().write_all(&answer).map_err(Error::from)?;
    Ok(Status::Fine)
}
