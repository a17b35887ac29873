//! `jitterlab plot`: figures of saved runs as files, or on the terminal.

use std::path::PathBuf;

use jitterlab_report::figure::{self, Kind, Quantity};

use crate::exit::{Outcome, Status};
use crate::{output, page_runs};

/// Draw a figure of saved runs: as SVG or PNG, or on the terminal
#[derive(clap::Args)]
pub struct Args {
    /// Run files; several are drawn into one figure
    #[arg(required = true, value_name = "RUN")]
    files: Vec<PathBuf>,
    /// What to draw: histogram, series, percentiles
    #[arg(short, long, default_value = "histogram", value_name = "FIGURE")]
    figure: Kind,
    /// Of what: latency, execution, period
    #[arg(short, long, default_value = "latency", value_name = "QUANTITY")]
    quantity: Quantity,
    /// The file to write, .svg or .png; replaced if it exists [default: draw on the terminal]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw on the terminal with plain ASCII characters
    #[arg(long, conflicts_with = "output")]
    ascii: bool,
}

/// Reads the runs and draws.
pub fn execute(args: &Args) -> Outcome {
    let Some(path) = &args.output else {
        let runs = page_runs::read(&args.files)?;
        let width = output::columns();
        output::print(&figure::terminal::text(args.figure, args.quantity, &runs, width, args.ascii))?;
        return Ok(Status::Fine);
    };
    output::check_figure(path, "--output")?;
    let runs = page_runs::read(&args.files)?;
    let svg = figure::svg(args.figure, args.quantity, &runs)?;
    output::write_figure(path, &svg)?;
    output::print(&format!("{}: {} of {}\n", path.display(), args.figure.name(), args.quantity))?;
    Ok(Status::Fine)
}
