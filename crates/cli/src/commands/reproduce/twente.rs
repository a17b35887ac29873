//! Twente, figures 1 to 12: a loop of 1 ms, ordinary and real-time, without load, beside `stress -c 4 -m 2` and
//! beside `stress -c 4 -m 6`. Odd figures are the series, even ones the histogram.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jitterlab_model::units::Human;
use jitterlab_report::chart::Chart;
use jitterlab_report::figure::{self, Name, Quantity};
use jitterlab_report::page::{PageRun, render};
use jitterlab_report::section::{Block, Section};

use crate::exit::{Outcome, Status};
use crate::output;
use crate::run_args::page_runs_of;
use jitterlab_report::words::known_count;

/// The report's period.
const PERIOD_NS: i64 = 1_000_000;

/// One measurement of the report: what ran, and what it says came out.
struct Case {
    name: &'static str,
    /// The first of its two figures.
    figure: u32,
    policy: &'static str,
    load: &'static str,
    /// Mean and standard deviation of the loop's duration in ms, as the report has them.
    told: &'static str,
}

/// The measurements in the order of the figures. The numbers are those of the report's sections 2.1, 2.2 and 2.2.2.
const CASES: [Case; 6] = [
    Case {
        name: "ordinary-idle",
        figure: 1,
        policy: "other",
        load: "none",
        told: "1.15 (\"close to 1.2\" in section 2.1), sd 0.022",
    },
    Case {
        name: "ordinary-4-2",
        figure: 3,
        policy: "other",
        load: "stress -c 4 -m 2",
        told: "\"mostly 1.05 to 1.4\", no mean",
    },
    Case {
        name: "ordinary-4-6",
        figure: 5,
        policy: "other",
        load: "stress -c 4 -m 6",
        told: "1.3, \"mostly 1.1 to 1.5\"",
    },
    Case {
        name: "real-time-idle",
        figure: 7,
        policy: "fifo:80",
        load: "none",
        told: "1.080 (1.072 in 2.2.2), sd 0.031 (0.30 in 2.2.2)",
    },
    Case {
        name: "real-time-4-2",
        figure: 9,
        policy: "fifo:80",
        load: "stress -c 4 -m 2",
        told: "1.072, sd 0.022",
    },
    Case {
        name: "real-time-4-6",
        figure: 11,
        policy: "fifo:80",
        load: "stress -c 4 -m 6",
        told: "1.072, sd 0.024",
    },
];

const WHY_NOT_ONE: &str = "The report's program is said to sleep until absolute times, yet its mean is 1.07 to 1.3 ms: with \
    absolute times the mean is the period, whatever the jitter. Its loop must have measured each sleep from the end of \
    the work, or its period was not 1 ms. Here the times are absolute. The report's real-time task ran under Xenomai with \
    default attributes; here it is SCHED_FIFO on this machine's kernel.";

/// Measures all cases, draws all figures, and prints the table.
pub fn reproduce(directory: &Path, duration_ns: i64) -> Outcome {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    let mut files = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        output::note(&format!("{} of {}: {}, load {}", number + 1, CASES.len(), case.name, case.load));
        files.push(measure(directory, case, duration_ns)?);
    }
    let runs = page_runs_of(&files)?;
    let figures = figures(&runs)?;
    for (number, charts) in &figures {
        let svg = figure::svg(charts)?;
        let path = |extension: &str| directory.join(format!("figure-{number:02}.{extension}"));
        output::write_file(&path("svg"), svg.as_bytes())?;
        output::write_file(&path("png"), &figure::png(&svg)?)?;
    }
    let page = directory.join("report.html");
    output::write_file(&page, render(&runs, &[section(&runs, figures)])?.as_bytes())?;
    let mut text = String::new();
    for row in rows(&runs) {
        text.push_str(&format!(
            "figure {}: {}, load {}\n  here:   {}\n  report: {} ms\n",
            row[0], row[1], row[2], row[3], row[4]
        ));
    }
    text.push_str(&jitterlab_report::summary::wrap(WHY_NOT_ONE));
    text.push_str(&format!("figures and page: {}\n", page.display()));
    output::print(&text)?;
    Ok(Status::Fine)
}

/// One case, its loop of divisions included.
fn measure(directory: &Path, case: &Case, duration_ns: i64) -> Result<PathBuf> {
    let arguments =
        ["--period", "1ms", "--work", "twente:10000", "--policy", case.policy, "--load", case.load];
    super::measure(directory, case.name, duration_ns, &arguments)
}

/// Every figure by its number in the report, with what was measured here and what the report says in its caption.
fn figures(runs: &[PageRun]) -> Result<Vec<(u32, Vec<Chart>)>> {
    let mut figures = Vec::new();
    for ((case, run), row) in CASES.iter().zip(runs).zip(rows(runs)) {
        for (name, number) in [(Name::SERIES, case.figure), (Name::HISTOGRAM, case.figure + 1)] {
            let mut charts = figure::charts(name, Quantity::PeriodError, std::slice::from_ref(run), &[])?;
            for chart in &mut charts {
                chart.caption = format!(
                    "Figure {number}. {} Time between starts here: {}; in the report: {} ms.",
                    chart.caption, row[3], case.told
                );
            }
            figures.push((number, charts));
        }
    }
    Ok(figures)
}

/// Figures, task, load, what was measured here, what the report says.
fn rows(runs: &[PageRun]) -> Vec<Vec<String>> {
    let row = |(case, run): (&Case, &PageRun)| {
        let summary = &run.tasks.first()?.figures.summary;
        let ms = |ns: f64| format!("{:.4}", ns / 1e6);
        let error = &summary.period_error;
        let here = match (error.mean_ns, error.sd_ns, error.max_ns) {
            (Some(mean), Some(sd), Some(max)) => format!(
                "mean {} ms, sd {} ms, longest {}, {} missed",
                ms(PERIOD_NS as f64 + mean),
                ms(sd),
                Human((PERIOD_NS + max) as f64),
                known_count(summary.missed)
            ),
            _ => "not measured".into(),
        };
        let policy = run
            .info
            .tasks
            .first()
            .and_then(|t| t.granted.as_ref())
            .map_or(case.policy.into(), |g| g.policy.to_string());
        Some(vec![
            format!("{}, {}", case.figure, case.figure + 1),
            policy,
            case.load.into(),
            here,
            case.told.into(),
        ])
    };
    CASES.iter().zip(runs).filter_map(row).collect()
}

fn section(runs: &[PageRun], figures: Vec<(u32, Vec<Chart>)>) -> Section {
    let header = ["figures", "policy in force", "load", "period here", "the report, ms"].map(String::from);
    let table = Block::Table {
        caption: "Time between successive starts of a loop of 1 ms".into(),
        header: header.to_vec(),
        rows: rows(runs),
    };
    let drawn = figures.into_iter().flat_map(|(_, charts)| charts).map(Block::Figure);
    let blocks = [table, Block::Text { text: WHY_NOT_ONE.into() }].into_iter().chain(drawn);
    Section {
        id: "twente".into(),
        title: "Twente, figures 1 to 12".into(),
        lead: "The report's six measurements, repeated on this machine. Odd figures are its line plots, even ones its histograms."
            .into(),
        blocks: blocks.collect(),
    }
}
