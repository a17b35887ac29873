//! NIST, figure 3, in virtual time: two real-time systems under normal, heavy disk and heavy network load.

use std::path::{Path, PathBuf};

use jitterlab_model::units::Human;
use jitterlab_report::figure::{self, Name, Quantity};
use jitterlab_report::page::PageRun;
use jitterlab_report::summary::wrap;
use jitterlab_report::table::columns;

use super::systems::{self, Case, System};
use crate::exit::{Outcome, Status};
use crate::output;
use crate::run_args::page_runs_of;

/// The paper's conditions, and the loads that stand for them.
const CASES: [Case; 3] = [
    Case { name: "normal", load: "none" },
    Case { name: "network", load: "net:2" },
    Case { name: "disk", load: "disk:2" },
];
const TASK: [&str; 4] = ["--period", "500us", "--cpu", "0"];

/// The range of one measurement's latencies.
#[derive(Debug, Clone, Copy)]
struct Latency {
    min_ns: i64,
    max_ns: i64,
    sd_ns: f64,
}

impl Latency {
    fn range_ns(&self) -> i64 {
        self.max_ns - self.min_ns
    }

    fn of(run: &PageRun) -> Option<Self> {
        let latency = &run.tasks.first()?.figures.summary.latency;
        Some(Latency { min_ns: latency.min_ns?, max_ns: latency.max_ns?, sd_ns: latency.sd_ns? })
    }
}

/// Measures, draws figures 3a, 3b and 3c, and tests what the paper says of them.
pub fn reproduce(directory: &Path, duration_ns: i64, kernels: &systems::Kernels) -> Outcome {
    let mut all = kernels.real_time();
    if let [only] = all.as_slice() {
        // The paper's systems differ in their schedulers; so do these.
        let (name, policy, wake) = ("preempt-rt-deadline", "deadline:100us", "deadline");
        all.push(System { name, policy, wake, ..only.clone() });
    }
    let [first, second, ..] = all.as_slice() else { return Ok(Status::Fine) };
    systems::measure(directory, &[first.clone(), second.clone()], &CASES, &TASK, duration_ns)?;
    let mut measured = Vec::new();
    let mut disk = Vec::new();
    for (letter, system) in ["a", "b"].into_iter().zip([first, second]) {
        let files: Vec<PathBuf> = CASES.iter().map(|case| systems::file(directory, system, case)).collect();
        let runs = page_runs_of(&files)?;
        draw(directory, letter, &runs)?;
        measured.push((system.name, runs.iter().filter_map(Latency::of).collect::<Vec<_>>()));
        disk.extend(files.last().cloned());
    }
    draw(directory, "c", &page_runs_of(&disk)?)?;
    output::print(&text(directory, &measured))?;
    Ok(Status::Fine)
}

fn draw(directory: &Path, letter: &str, runs: &[PageRun]) -> anyhow::Result<()> {
    let svg = figure::svg(&figure::charts(Name::HISTOGRAM, Quantity::Latency, runs, &[])?)?;
    output::write_file(&directory.join(format!("figure-3{letter}.svg")), svg.as_bytes())
}

fn text(directory: &Path, measured: &[(&'static str, Vec<Latency>)]) -> String {
    let mut text = String::from("NIST figure 3: latency of a task of 500 us in us of virtual time\n");
    let us = |ns: f64| format!("{:.3}", ns / 1e3);
    let rows = measured.iter().flat_map(|(system, latencies)| {
        CASES.iter().zip(latencies).map(move |(case, latency)| {
            let figures =
                [latency.min_ns as f64, latency.max_ns as f64, latency.range_ns() as f64, latency.sd_ns];
            let mut cells = vec![format!("{system}, {}", case.name)];
            cells.extend(figures.map(us));
            cells
        })
    });
    text.push_str(&columns(&["", "min", "max", "range", "sd"], rows));
    text.push_str("\nwhat the paper says of the figure, and what became of it here\n");
    for (statement, holds, evidence) in statements(measured) {
        let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
        text.push_str(&wrap(&format!("- {statement}: {verdict} ({evidence})")));
    }
    text.push_str(&wrap(&format!(
        "{} The guest has no disk: the disk load writes to memory.",
        jitterlab_report::warnings::emulated(
            jitterlab_bench::kernel::GuestTime::default().ns_per_instruction()
        )
    )));
    text.push_str(&format!("run files and figures: {}\n", directory.display()));
    text
}

/// The paper's statements on its figure 3, as comparisons of what was measured.
fn statements(measured: &[(&'static str, Vec<Latency>)]) -> Vec<(String, bool, String)> {
    let mut found = Vec::new();
    for (system, latencies) in measured {
        if let [normal, loaded @ ..] = latencies.as_slice() {
            let ranges: Vec<String> =
                latencies.iter().map(|l| Human(l.range_ns() as f64).to_string()).collect();
            found.push((
                format!("{system}: the range grows as the environment is loaded more heavily"),
                loaded.iter().all(|l| l.range_ns() > normal.range_ns()),
                format!("ranges {}", ranges.join(", ")),
            ));
        }
    }
    let disk: Vec<i64> = measured.iter().filter_map(|(_, l)| Some(l.last()?.range_ns())).collect();
    if let [first, second] = disk.as_slice() {
        found.push((
            "under heavy disk load both systems are comparable".into(),
            first.max(second) <= &first.min(second).saturating_mul(2),
            format!(
                "ranges {} and {}, within a factor of 2 or not",
                Human(*first as f64),
                Human(*second as f64)
            ),
        ));
    }
    let worst = measured.iter().flat_map(|(_, latencies)| latencies).map(|l| l.max_ns).max();
    if let Some(worst) = worst {
        found.push((
            "worst cases are on the order of ten microseconds".into(),
            (3_162..31_623).contains(&worst),
            format!("the largest latency is {}", Human(worst as f64)),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_can_hold_and_fail() {
        let system = |name, ranges: [i64; 3]| {
            let of = |range| Latency { min_ns: 1_000, max_ns: 1_000 + range, sd_ns: 10.0 };
            (name, ranges.map(of).to_vec())
        };
        let holds = |measured: &[(&'static str, Vec<Latency>)]| -> Vec<bool> {
            statements(measured).iter().map(|s| s.1).collect()
        };
        let as_in_the_paper = [system("a", [4_000, 9_000, 11_000]), system("b", [5_000, 7_000, 8_000])];
        assert_eq!(holds(&as_in_the_paper), [true; 4]);
        let otherwise = [system("a", [900, 800, 700]), system("b", [50, 60, 40])];
        assert_eq!(holds(&otherwise), [false; 4]);
        assert!(text(Path::new("nist"), &as_in_the_paper).contains("caches"));
    }
}
