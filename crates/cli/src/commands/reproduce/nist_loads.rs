//! NIST, figure 3: the jitter's histogram under normal, heavy network and heavy disk load, overlaid.

use std::path::Path;

use jitterlab_model::units::Human;
use jitterlab_report::figure::{self, Name, Quantity};
use jitterlab_report::summary::wrap;

use super::measure;
use crate::exit::{Outcome, Status};
use crate::output;
use crate::run_args::page_runs_of;
use jitterlab_report::summary::load;
use jitterlab_report::words::known_count;

/// The paper's conditions, and the loads that stand for them.
const LOADS: [(&str, &str); 3] = [("normal", "none"), ("network", "net:2"), ("disk", "disk:2")];

/// Measures the three, draws them into one figure, and says whether the range grows with the load as in the paper. The
/// figure and the run files are named after `name`.
pub fn reproduce(directory: &Path, name: &str, duration_ns: i64) -> Outcome {
    let mut files = Vec::new();
    for (condition, load) in LOADS {
        output::note(&format!("NIST figure 3: {condition} load ({load})"));
        let arguments = ["--period", "500us", "--load", load];
        files.push(measure(directory, &format!("{name}-{condition}"), duration_ns, &arguments)?);
    }
    let runs = page_runs_of(&files)?;
    let svg = figure::svg(&figure::charts(Name::HISTOGRAM, Quantity::Latency, &runs, &[])?)?;
    let path = directory.join(format!("{name}.svg"));
    output::write_file(&path, svg.as_bytes())?;
    output::write_file(&path.with_extension("png"), &figure::png(&svg)?)?;
    let mut text =
        String::from("\nNIST figure 3: jitter of a task of 500 us under load (range is max - min)\n");
    let mut ranges = Vec::new();
    for ((condition, _), run) in LOADS.iter().zip(&runs) {
        let Some(task) = run.tasks.first() else { continue };
        let latency = &task.figures.summary.latency;
        let (Some(min), Some(max)) = (latency.min_ns, latency.max_ns) else { continue };
        ranges.push(max - min);
        text.push_str(&wrap(&format!(
            "{condition}: range {}, standard deviation {}, {} activations, {} missed, load: {}",
            Human((max - min) as f64),
            latency.sd_ns.map_or("not known".into(), |ns| Human(ns).to_string()),
            known_count(task.figures.summary.executed),
            known_count(task.figures.summary.missed),
            load(&run.info)
        )));
    }
    if let [normal, loaded @ ..] = ranges.as_slice() {
        let wider = loaded.iter().filter(|range| *range > normal).count();
        text.push_str(&wrap(&format!(
            "The paper: the range grows with the load, to the order of ten microseconds under real-time Linux of 2001. Here it is wider \
             under {wider} of {} loads; one run of each shows a tendency, no proof (`jitterlab compare` gives intervals).",
            loaded.len()
        )));
    }
    text.push_str(&format!("figure: {}\n", path.display()));
    output::print(&text)?;
    Ok(Status::Fine)
}
