//! `jitterlab analyze`: what saved runs, or the outputs of other tools, say.

use std::path::PathBuf;

use clap::ValueEnum;
use jitterlab_analysis::TaskAnalysis;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::RunInfo;
use jitterlab_report::figure::glance;
use jitterlab_report::patterns;
use jitterlab_report::summary::wrap;
use jitterlab_runs::Run;
use serde::Serialize;

use crate::exit::{Outcome, Status};
use crate::output;
use crate::run_args::RunArgs;

/// Say what saved runs show: figures, patterns, causes
///
/// Reads run files and the outputs of cyclictest, rtla, jitterdebugger, Xenomai's latency, EVL's latmus, LinuxCNC's
/// latency-histogram, rttest, stress-ng and Zephyr.
#[derive(clap::Args)]
pub struct Args {
    /// Run files, or outputs of other tools
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show only these parts, in full
    #[arg(long = "section", value_name = "SECTION", value_delimiter = ',')]
    sections: Vec<Section>,
    /// Print everything as JSON, one document for each file
    #[arg(long)]
    json: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// A part of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Latency modes (code paths) and which follows which
    Clusters,
    /// Periodic parts of the latency
    Spectrum,
    /// How much a latency says of the next ones
    Dependence,
    /// The largest latencies, their periods and bursts
    Spikes,
    /// Missed due times: runs, windows, bursts
    Misses,
    /// Drift and changes of level over the run
    Change,
    /// MTIE, TDEV, ADEV, MDEV
    TimeError,
    /// All of them
    All,
}

impl Section {
    fn shown(self) -> &'static [patterns::Section] {
        use patterns::Section as S;
        match self {
            Section::Clusters => &[S::Clusters],
            Section::Spectrum => &[S::Spectrum],
            Section::Dependence => &[S::Dependence],
            Section::Spikes => &[S::Spikes],
            Section::Misses => &[S::Misses],
            Section::Change => &[S::Change],
            Section::TimeError => &[S::TimeError],
            Section::All => {
                &[S::Clusters, S::Spectrum, S::Dependence, S::Spikes, S::Misses, S::Change, S::TimeError]
            }
        }
    }
}

/// Version of the JSON layout; it grows when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// The JSON of one file.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    file: &'a PathBuf,
    tasks: &'a [TaskAnalysis],
    run: &'a RunInfo,
}

/// Analyses each file.
pub fn execute(args: &Args) -> Outcome {
    for path in &args.files {
        let run = args.run.open(path)?;
        let wanted = run.tasks(args.run.task.as_deref())?;
        let (scans, warnings) = run.scan()?.into_parts();
        let transitions =
            args.json || args.sections.iter().any(|s| s.shown().contains(&patterns::Section::Clusters));
        let mut analyses = run.analyses(&scans, transitions)?;
        let mut info = RunInfo { warnings, ..run.info().clone() };
        let mut scans = scans;
        keep(&wanted, &mut scans);
        keep(&wanted, &mut analyses);
        keep(&wanted, &mut info.tasks);
        let text = if args.json {
            serde_json::to_string_pretty(&Document {
                schema: SCHEMA,
                file: path,
                tasks: &analyses,
                run: &info,
            })? + "\n"
        } else if args.sections.is_empty() {
            summary(&run, &info, &scans, &analyses, args.ascii)
        } else {
            in_full(&info, &analyses, &args.sections)
        };
        output::print(&text)?;
    }
    Ok(Status::Fine)
}

fn keep<T>(wanted: &[usize], all: &mut Vec<T>) {
    let mut number = 0;
    all.retain(|_| {
        number += 1;
        wanted.contains(&(number - 1))
    });
}

/// The first layer: figures, verdict, and the patterns in sentences.
fn summary(run: &Run, info: &RunInfo, scans: &[TaskScan], analyses: &[TaskAnalysis], ascii: bool) -> String {
    let stats: Vec<_> = scans.iter().map(|scan| scan.timing.clone()).collect();
    let measured = MeasuredRun::new(info.clone(), &stats, None);
    let mut text = jitterlab_report::summary::text(&measured, output::terminal(ascii));
    text.push('\n');
    text.push_str(&glance::figures(info, scans, output::terminal(ascii)));
    for (task, analysis) in info.tasks.iter().zip(analyses) {
        text.push('\n');
        text.push_str(&patterns::brief(&task.spec.name, task.spec.period_ns, analysis));
    }
    let names: Vec<String> = Section::value_variants()
        .iter()
        .filter_map(|s| Some(s.to_possible_value()?.get_name().to_owned()))
        .collect();
    text.push_str(&wrap(&format!("More with --section: {}.", names.join(", "))));
    text.push_str(&format!("file: {}\n", run.path().display()));
    text
}

/// The second layer: the wanted sections of every task.
fn in_full(info: &RunInfo, analyses: &[TaskAnalysis], sections: &[Section]) -> String {
    let mut shown: Vec<patterns::Section> = Vec::new();
    for section in sections.iter().flat_map(|s| s.shown()) {
        if !shown.contains(section) {
            shown.push(*section);
        }
    }
    let mut text = String::new();
    for (task, analysis) in info.tasks.iter().zip(analyses) {
        text.push_str(&jitterlab_report::run::task_line(info, task));
        text.push('\n');
        for section in &shown {
            text.push('\n');
            text.push_str(&patterns::section(*section, task.spec.period_ns, analysis));
        }
        text.push('\n');
    }
    text
}
