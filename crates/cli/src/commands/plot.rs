//! `jitterlab plot`: figures of saved runs as files, or on the terminal.

use std::path::PathBuf;

use jitterlab_model::Quantity;
use jitterlab_report::chart::Drawing;
use jitterlab_report::figure::Figure;
use jitterlab_report::quantity;

use crate::exit::{CommandResult, Status};
use crate::inputs::{self, Inputs};
use crate::output;
use crate::run_args::RunArgs;

/// Draw a figure of saved runs
#[derive(clap::Args)]
pub struct Args {
    /// Run files and outputs of other tools, drawn into one figure; or, for their figures, the directory that `matrix`
    /// left, or a .json file of what `compensate`, `stepper` or `servo` print with --json
    #[arg(required = true, value_name = "RUN|RESULT")]
    files: Vec<PathBuf>,
    /// What to draw
    #[arg(short, long, default_value = "histogram", value_name = "FIGURE", help = format!("What to draw: {}", Figure::list()))]
    figure: Figure,
    #[arg(short, long, default_value = "latency", value_name = "QUANTITY", value_parser = quantity::parse,
        help = quantity::option_help())]
    quantity: Quantity,
    /// The file to write, .svg or .png, or - for SVG on standard output; replaced if it exists, unless it holds a
    /// measurement [default: draw on the terminal]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: output::ForceArgs,
    /// Draw on the terminal with plain ASCII characters
    #[arg(long, conflicts_with = "output")]
    ascii: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// Draws a figure of the runs, into a file or in characters on the terminal.
pub fn execute(args: &Args) -> CommandResult {
    let Some(path) = &args.output else {
        let Inputs { runs, documents } = inputs::read(&args.files, &args.run)?;
        let terminal = output::terminal(args.ascii);
        let charts = args.figure.charts(args.quantity, &runs, &documents)?;
        output::print(&terminal.figures(&charts))?;
        return Ok(Status::Fine);
    };
    output::check_figure_name(path, "--output")?;
    output::check_not_input(path, &args.files)?;
    let Inputs { runs, documents } = inputs::read(&args.files, &args.run)?;
    let drawing = Drawing::new(&args.figure.charts(args.quantity, &runs, &documents)?);
    let file = output::encode_figure(path, &drawing)?;
    output::write_result(path, &file, args.force.force, &args.figure.to_string())?;
    Ok(Status::Fine)
}
