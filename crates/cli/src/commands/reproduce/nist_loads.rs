//! NIST, figure 3: the jitter's histogram under normal, heavy network and heavy disk load, overlaid.

use std::path::Path;

use jitterlab_analysis::papers::UnderLoad;
use jitterlab_analysis::papers::nist::{LatencyRange, NistLoads};
use jitterlab_report::figure::{Figure, Quantity};

use super::measure;
use super::systems::Case;
use crate::exit::Failure;
use crate::output;
use crate::run_args::page_runs_of;

/// The paper's conditions, and the loads that stand for them.
pub const LOADS: [Case; 3] = [
    Case { name: "normal", load: "none" },
    Case { name: "network", load: "net:2" },
    Case { name: "disk", load: "disk:2" },
];

/// Measures the three and draws them into one figure. The figure and the run files are named after `name`.
pub fn reproduce(directory: &Path, name: &str, duration_ns: i64) -> Result<NistLoads, Failure> {
    let mut files = Vec::new();
    for Case { name: condition, load } in LOADS {
        output::note(&format!("NIST figure 3: {condition} load ({load})"));
        let arguments = ["--period", "500us", "--load", load];
        files.push(measure(directory, &format!("{name}-{condition}"), duration_ns, &arguments)?);
    }
    let runs = page_runs_of(&files)?;
    let charts = Figure::HISTOGRAM.charts(Quantity::Latency, &runs, &[])?;
    super::draw(directory, &[(name.into(), charts)])?;
    let conditions = LOADS.iter().zip(&runs).map(|(case, run)| UnderLoad {
        condition: case.name.into(),
        load: case.load.into(),
        found: run.tasks.first().and_then(|task| LatencyRange::of(&task.figures.summary)),
    });
    Ok(NistLoads::of(conditions.collect()))
}
