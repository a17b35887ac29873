//! `jitterlab compare`: runs side by side, and which differences are real.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::ValueEnum;
use jitterlab_analysis::compare::{Comparison, Mismatch, TwenteRun, Weight, comparable, compare, twente};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::Warning;
use jitterlab_report::comparison;
use jitterlab_runs::Run;
use serde::Serialize;

use crate::exit::{Failure, Outcome, Status};
use crate::output;
use crate::result::SCHEMA;
use crate::run_args::RunArgs;

/// Compare runs: figures with confidence intervals, and which differences are real
///
/// The first run is what the others are compared with.
#[derive(clap::Args)]
pub struct Args {
    /// Run files, or outputs of other tools
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A comparison as a source document makes it
    #[arg(long, value_enum)]
    preset: Option<Preset>,
    /// Compare even what is not comparable
    #[arg(long)]
    anyway: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// University of Twente: loop durations plain, under two loads and in real time; mean, standard deviation, jitter,
    /// histogram of jitter
    Twente,
}

/// One task of all runs.
#[derive(Serialize)]
struct Compared {
    task: String,
    mismatches: Vec<Differing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    twente: Option<Vec<TwenteRun>>,
}

/// What differs between the first run's conditions and another's.
#[derive(Serialize)]
struct Differing {
    first: String,
    other: String,
    conditions: Vec<Mismatch>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    files: &'a [PathBuf],
    tasks: Vec<Compared>,
    warnings: Vec<Warning>,
}

/// Compares the runs, task by task.
pub fn execute(args: &Args) -> Outcome {
    let opened: Vec<Run> = args.files.iter().map(|path| args.run.open(path)).collect::<Result<_, _>>()?;
    let tasks = matching(&opened, args.run.task.as_deref())?;
    let labels = labels(&args.files);
    // Conditions first: a refusal must not wait for hours of data to be read.
    let mut compared: Vec<Compared> = Vec::new();
    for numbers in &tasks {
        let mismatches = differing(&opened, numbers, &labels);
        refuse(args, &mismatches)?;
        let task = opened[0].info().tasks[numbers[0]].spec.name.clone();
        compared.push(Compared { task, mismatches, comparison: None, twente: None });
    }
    let mut scans: Vec<Vec<TaskScan>> = Vec::new();
    let mut warnings = Vec::new();
    for (run, label) in opened.iter().zip(&labels) {
        let (found, of_run) = run.scan()?.into_parts();
        scans.push(found);
        warnings.extend(
            of_run
                .iter()
                .map(|w| Warning::from(format!("{label}: {}", jitterlab_report::warnings::sentence(w)))),
        );
    }
    for (compared, numbers) in compared.iter_mut().zip(&tasks) {
        let runs: Vec<(String, &TaskScan)> =
            labels.iter().zip(&scans).zip(numbers).map(|((l, s), n)| (l.clone(), &s[*n])).collect();
        match args.preset {
            Some(Preset::Twente) => compared.twente = Some(twente(&runs)),
            None => compared.comparison = Some(compare(&runs)),
        }
    }
    output::print(&if args.json {
        serde_json::to_string_pretty(&Document {
            schema: SCHEMA,
            files: &args.files,
            tasks: compared,
            warnings,
        })? + "\n"
    } else {
        compared.iter().map(|c| text(c, args.ascii)).collect::<Vec<_>>().join("\n")
            + &jitterlab_report::summary::warnings(&warnings)
    })?;
    Ok(Status::Fine)
}

/// For each task that is compared, its number in every run: by name, or the only one there is.
fn matching(runs: &[Run], name: Option<&str>) -> Result<Vec<Vec<usize>>, Failure> {
    let first = &runs[0];
    if name.is_none() && runs.iter().all(|s| s.info().tasks.len() == 1) {
        return Ok(vec![vec![0; runs.len()]]);
    }
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => first.info().tasks.iter().map(|t| t.spec.name.clone()).collect(),
    };
    let in_all = |name: &String| runs.iter().map(|s| s.task(name)).collect::<Option<Vec<usize>>>();
    let found: Vec<Vec<usize>> = names.iter().filter_map(in_all).collect();
    if found.is_empty() {
        let of = |s: &Run| {
            let names: Vec<&str> = s.info().tasks.iter().map(|t| t.spec.name.as_str()).collect();
            format!("{} has {}", s.path().display(), names.join(", "))
        };
        let all = runs.iter().map(of).collect::<Vec<_>>().join("; ");
        return Err(Failure::bad_use(anyhow!(
            "no task is in all of these runs: {all}; name one with --task"
        )));
    }
    Ok(found)
}

fn differing(runs: &[Run], numbers: &[usize], labels: &[String]) -> Vec<Differing> {
    let of = |at: usize| (runs[at].info(), &runs[at].info().tasks[numbers[at]]);
    (1..runs.len())
        .map(|other| Differing {
            first: labels[0].clone(),
            other: labels[other].clone(),
            conditions: comparable(of(0), of(other)),
        })
        .collect()
}

/// Figures of different things are not compared.
fn refuse(args: &Args, mismatches: &[Differing]) -> Result<(), Failure> {
    for d in mismatches {
        let grave: Vec<String> = d
            .conditions
            .iter()
            .filter(|m| m.weight == Weight::Refuse)
            .map(|m| format!("{} is {} in {} and {} in {}", m.what, m.first, d.first, m.other, d.other))
            .collect();
        if !grave.is_empty() && !args.anyway {
            return Err(Failure::bad_use(anyhow!(
                "these runs are not comparable: {}; measure again alike, or look at the figures all the same with --anyway",
                grave.join("; ")
            )));
        }
    }
    Ok(())
}

/// What each run is called: its file's name without the ending, the whole path where that is not enough.
fn labels(files: &[PathBuf]) -> Vec<String> {
    let short: Vec<String> = files
        .iter()
        .map(|f| f.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into()))
        .collect();
    let unique = |label: &String| short.iter().filter(|s| *s == label).count() == 1 && !label.is_empty();
    short
        .iter()
        .zip(files)
        .map(|(label, file)| if unique(label) { label.clone() } else { file.display().to_string() })
        .collect()
}

fn text(compared: &Compared, ascii: bool) -> String {
    let mut text = format!("task {}\n", compared.task);
    for d in &compared.mismatches {
        text.push_str(&comparison::mismatches(&d.first, &d.other, &d.conditions));
    }
    if let Some(found) = &compared.comparison {
        text.push_str(&comparison::text(found, output::terminal(ascii)));
    }
    if let Some(found) = &compared.twente {
        text.push_str(&comparison::twente(found));
    }
    text
}
