//! `jitterlab analyze`: the figures of saved runs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use jitterlab_model::TimingStats;
use jitterlab_trace::{Columns, RunReader};

use crate::exit::{Outcome, Status};
use crate::output;
use crate::result::RunResult;

/// Print the figures of saved runs
#[derive(clap::Args)]
pub struct Args {
    /// Run files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the result as JSON, one document for each file
    #[arg(long)]
    json: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
}

/// Analyses each file.
pub fn execute(args: &Args) -> Outcome {
    for path in &args.files {
        let result = read(path)?;
        output::print(&if args.json { result.to_json()? } else { result.to_text(args.ascii) })?;
    }
    Ok(Status::Fine)
}

/// The figures of a run file, from its activations, or from its slices where only spikes were kept.
fn read(path: &Path) -> Result<RunResult> {
    let reader = RunReader::open(path)?;
    let info = reader.info().clone();
    let mut stats: Vec<TimingStats> = info.tasks.iter().map(|t| TimingStats::new(t.spec.period_ns)).collect();
    if reader.has_slices() {
        reader.for_each_slice(|slice| slice.add_to(&mut stats[slice.task]))?;
    } else {
        reader.for_each_batch(Columns::TIMING, |task, rows| stats[task].push_all(rows))?;
    }
    Ok(RunResult::new(info, stats, Some(path.to_path_buf())))
}
