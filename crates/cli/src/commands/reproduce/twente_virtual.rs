//! Twente in virtual time: the ordinary kernel and the real-time ones, idle and beside the report's two loads, and
//! what the report concludes from its figures, tested.

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

const PERIOD_NS: f64 = 1e6;
/// The report's loads, from none to most.
const CASES: [Case; 3] = [
    Case { name: "idle", load: "none" },
    Case { name: "stress-4-2", load: "stress -c 4 -m 2" },
    Case { name: "stress-4-6", load: "stress -c 4 -m 6" },
];
/// Its task.
const TASK: [&str; 6] = ["--period", "1ms", "--work", "twente:10000", "--cpu", "0"];
/// By how much the standard deviation changed under load in the report's figures 7, 9 and 11, which it calls "not
/// significantly": 0.031 to 0.022 ms, of a period of 1 ms.
const NOT_SIGNIFICANT_NS: f64 = 9_000.0;

/// What is compared of one measurement: the duration of the loop, as the report has it.
#[derive(Debug, Clone, Copy)]
struct Loop {
    mean_ns: f64,
    sd_ns: f64,
    shortest_ns: i64,
    longest_ns: i64,
    executed: u64,
    missed: u64,
}

/// A system's loops, in the order of [`CASES`].
struct Measured {
    name: &'static str,
    loops: Vec<Loop>,
}

/// A statement of the report and what became of it here.
struct Conclusion {
    statement: String,
    holds: bool,
    evidence: String,
}

/// Measures, draws, and tests.
pub fn reproduce(directory: &Path, duration_ns: i64, kernels: &systems::Kernels) -> Outcome {
    let mut all = vec![kernels.ordinary()];
    all.extend(kernels.real_time());
    systems::measure(directory, &all, &CASES, &TASK, duration_ns)?;
    let mut measured = Vec::new();
    for system in &all {
        let files: Vec<PathBuf> = CASES.iter().map(|case| systems::file(directory, system, case)).collect();
        let runs = page_runs_of(&files)?;
        draw(directory, system, &runs)?;
        measured.push(Measured { name: system.name, loops: runs.iter().filter_map(of).collect() });
    }
    output::print(&text(directory, &measured))?;
    Ok(Status::Fine)
}

/// The report's two kinds of figure for each case: the series, and the histogram.
fn draw(directory: &Path, system: &System, runs: &[PageRun]) -> anyhow::Result<()> {
    for (case, run) in CASES.iter().zip(runs) {
        for (name, what) in [(Name::SERIES, "series"), (Name::HISTOGRAM, "histogram")] {
            let svg =
                figure::svg(&figure::charts(name, Quantity::PeriodError, std::slice::from_ref(run), &[])?)?;
            let path = directory.join(format!("{}-{}-{what}.svg", system.name, case.name));
            output::write_file(&path, svg.as_bytes())?;
        }
    }
    Ok(())
}

fn of(run: &PageRun) -> Option<Loop> {
    let summary = &run.tasks.first()?.figures.summary;
    let error = &summary.period_error;
    Some(Loop {
        mean_ns: PERIOD_NS + error.mean_ns?,
        sd_ns: error.sd_ns?,
        shortest_ns: PERIOD_NS as i64 + error.min_ns?,
        longest_ns: PERIOD_NS as i64 + error.max_ns?,
        executed: summary.executed.exactly()?,
        missed: summary.missed.exactly()?,
    })
}

fn text(directory: &Path, measured: &[Measured]) -> String {
    let mut text = String::from("duration of the Twente report's loop of 1 ms, in ms of virtual time\n");
    let header = ["", "loops", "missed", "shortest", "mean", "sd", "longest"];
    let ms = |ns: f64| format!("{:.4}", ns / 1e6);
    let rows = measured.iter().flat_map(|system| {
        CASES.iter().zip(&system.loops).map(move |(case, of)| {
            vec![
                format!("{}, {}", system.name, case.name),
                of.executed.to_string(),
                of.missed.to_string(),
                ms(of.shortest_ns as f64),
                ms(of.mean_ns),
                ms(of.sd_ns),
                ms(of.longest_ns as f64),
            ]
        })
    });
    text.push_str(&columns(&header, rows));
    text.push_str("\nwhat the report concludes, and what became of it here\n");
    for Conclusion { statement, holds, evidence } in conclusions(measured) {
        let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
        text.push_str(&wrap(&format!("- {statement}: {verdict} ({evidence})")));
    }
    text.push_str(&wrap(&format!(
        "{} The report's machine had four processors; the virtual machine has one, which every load shares with the task.",
        jitterlab_report::warnings::emulated(jitterlab_bench::kernel::GuestTime::default().ns_per_instruction())
    )));
    text.push_str(&format!("run files and figures: {}\n", directory.display()));
    text
}

/// The report's statements, sections 2.1 to 2.2.2, as comparisons of what was measured. The first system is the
/// ordinary one.
fn conclusions(measured: &[Measured]) -> Vec<Conclusion> {
    let Some((ordinary, real_time)) = measured.split_first() else { return Vec::new() };
    let sds = |system: &Measured| {
        let sds: Vec<String> = system.loops.iter().map(|l| Human(l.sd_ns).to_string()).collect();
        format!("standard deviations {}", sds.join(", "))
    };
    let mut found = Vec::new();
    if let [idle, some, most] = ordinary.loops.as_slice() {
        found.push(Conclusion {
            statement: "ordinary Linux: stress enlarges the jitter".into(),
            holds: some.sd_ns > idle.sd_ns && most.sd_ns > idle.sd_ns,
            evidence: sds(ordinary),
        });
        found.push(Conclusion {
            statement: "ordinary Linux: the jitter grows with the stress applied".into(),
            holds: some.sd_ns > idle.sd_ns && most.sd_ns > some.sd_ns,
            evidence: sds(ordinary),
        });
        // Missed loops lengthen the mean: the grid is absolute.
        found.push(Conclusion {
            statement: "ordinary Linux: the mean rises under stress, from 1.15 to 1.3 ms".into(),
            holds: most.mean_ns > 1.05 * idle.mean_ns,
            evidence: format!(
                "{:.4} to {:.4} ms, {} loops missed",
                idle.mean_ns / 1e6,
                most.mean_ns / 1e6,
                most.missed
            ),
        });
    }
    for system in real_time {
        if let [idle, loaded @ ..] = system.loops.as_slice() {
            let unchanged = |of: &Loop| (of.sd_ns - idle.sd_ns).abs() <= NOT_SIGNIFICANT_NS;
            found.push(Conclusion {
                statement: format!("{}: stress does not significantly affect the timing", system.name),
                holds: loaded.iter().all(unchanged),
                evidence: format!("{}; the report's changed by {}", sds(system), Human(NOT_SIGNIFICANT_NS)),
            });
        }
        let pairs: Vec<(&Loop, &Loop)> = system.loops.iter().zip(&ordinary.loops).collect();
        let worse = |(here, there): &&(&Loop, &Loop)| here.sd_ns >= there.sd_ns;
        let ratios: Vec<String> =
            pairs.iter().map(|(here, there)| format!("{:.1}", there.sd_ns / here.sd_ns)).collect();
        found.push(Conclusion {
            statement: format!("{}: the period is met more accurately than on ordinary Linux", system.name),
            holds: pairs.iter().find(worse).is_none(),
            evidence: format!("ordinary Linux's standard deviation is {} times as large", ratios.join(", ")),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(name: &'static str, sds_ns: [f64; 3]) -> Measured {
        let of = |sd_ns| Loop {
            mean_ns: PERIOD_NS,
            sd_ns,
            shortest_ns: 900_000,
            longest_ns: 1_100_000,
            executed: 5_000,
            missed: 0,
        };
        Measured { name, loops: sds_ns.map(of).into() }
    }

    #[test]
    fn each_conclusion_can_hold_and_fail() {
        let holds =
            |measured: &[Measured]| -> Vec<bool> { conclusions(measured).iter().map(|c| c.holds).collect() };
        let as_reported = [system("ordinary", [22e3, 80e3, 120e3]), system("cobalt", [21e3, 22e3, 24e3])];
        assert_eq!(holds(&as_reported), [true, true, false, true, true]);
        let otherwise = [system("ordinary", [22e3, 21e3, 20e3]), system("preempt-rt", [20e3, 50e3, 24e3])];
        assert_eq!(holds(&otherwise), [false, false, false, false, false]);
        let text = text(Path::new("twente"), &as_reported);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("caches") && text.contains("DOES NOT HOLD") && text.contains("cobalt, idle"),
            "{text}"
        );
    }
}
