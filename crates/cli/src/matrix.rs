//! The cells of a matrix: measured one after the other, kept in a directory with an index.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use jitterlab_analysis::matrix::{Matrix, Measurement as Measured, Plan, TaskFigures, recommend};
use jitterlab_bench::host::{DmaLatency, Request};
use jitterlab_model::units::Human;
use jitterlab_model::{CpuSet, Keep, LoadSpec, StopReason, SystemFacts, TaskSpec, TimingStats};
use jitterlab_trace::RunWriter;
use serde::{Deserialize, Serialize};

use crate::commands::run::prepare;
use crate::exit::Failure;
use crate::output;
use crate::recording::Recording;

/// Version of the index; readers refuse another.
const FORMAT: u32 = 1;
const INDEX: &str = "index.json";

/// A condition that cells are measured under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// What the cells call it.
    pub name: String,
    /// What runs beside the tasks.
    pub loads: Vec<LoadSpec>,
    /// The CPUs that are isolated.
    pub isolate: Option<CpuSet>,
}

/// A cell that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Its place in the plan.
    pub cell: usize,
    /// Its run file, in the index's directory.
    pub file: String,
    /// The loads with what they achieved.
    pub load: String,
    /// What a reader of the figures has to know.
    pub warnings: Vec<String>,
    /// The figures of each task.
    pub tasks: Vec<TaskFigures>,
}

/// What is to be measured, and what was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Index {
    format: u32,
    pub tasks: Vec<TaskSpec>,
    settings: Vec<Setting>,
    /// Length of each cell.
    pub duration_ns: i64,
    /// The cells, in the order of measuring.
    pub plan: Plan,
    done: Vec<Done>,
}

impl Index {
    /// Nothing measured yet.
    pub fn new(tasks: Vec<TaskSpec>, settings: Vec<Setting>, duration_ns: i64, plan: Plan) -> Self {
        Index { format: FORMAT, tasks, settings, duration_ns, plan, done: Vec::new() }
    }

    /// The index in a directory, if there is one.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(INDEX);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let index: Index = serde_json::from_str(&text).with_context(|| {
            format!("{} is no index of a matrix: choose another --output", path.display())
        })?;
        anyhow::ensure!(
            index.format == FORMAT,
            "{} was written by another version of jitterlab",
            path.display()
        );
        Ok(Some(index))
    }

    /// Written whole under another name first, so that a crash leaves the old one.
    fn write(&self, folder: &Path) -> Result<()> {
        output::write_file(&folder.join(INDEX), (serde_json::to_string_pretty(self)? + "\n").as_bytes())
    }

    /// The number of cells not measured yet.
    pub fn left(&self) -> usize {
        self.plan.cells.len() - self.done.len()
    }

    /// What the figures rest on, for a caption.
    pub fn caption(&self) -> String {
        let task = |task: &TaskSpec| {
            let policy = task.policy.map_or("the default policy".into(), |policy| policy.to_string());
            let (name, wake, overrun) = (&task.name, task.wake, task.overrun);
            format!(
                "{name} every {} under {policy}, wake {wake}, overrun {overrun}",
                Human(task.period_ns as f64)
            )
        };
        let tasks: Vec<String> = self.tasks.iter().map(task).collect();
        let measured: u64 = self.done.iter().flat_map(|done| &done.tasks).map(|task| task.activations).sum();
        let missed: u64 = self.done.iter().flat_map(|done| &done.tasks).map(|task| task.missed).sum();
        format!(
            "{}. {} cells of {}, {measured} activations, {missed} missed. Each field is the largest of its repetitions.",
            tasks.join("; "),
            self.done.len(),
            Human(self.duration_ns as f64)
        )
    }

    /// What was measured, for the analysis.
    pub fn matrix(&self) -> Matrix {
        let measurements = self.done.iter().filter_map(|done| {
            let cell = self.plan.cells.get(done.cell)?;
            Some(Measured {
                cpus: cell.cpus.clone(),
                condition: cell.condition.clone(),
                repetition: cell.repetition,
                tasks: done.tasks.clone(),
            })
        });
        Matrix {
            tasks: self.tasks.iter().map(|t| t.name.clone()).collect(),
            measurements: measurements.collect(),
        }
    }
}

/// Measures every cell that is missing, and notes each when it is done. Ends early when interrupted; the cell that
/// was being measured then counts as not measured.
pub fn measure_cells(
    index: &mut Index,
    folder: &Path,
    overhead_ns: i64,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the directory {}", folder.display()))?;
    index.write(folder)?;
    for number in 0..index.plan.cells.len() {
        if index.done.iter().any(|done| done.cell == number) {
            continue;
        }
        let cell = &index.plan.cells[number];
        let left = index.left() as i64 * (index.duration_ns + overhead_ns);
        let cpus: Vec<String> = cell.cpus.iter().map(ToString::to_string).collect();
        output::note(&format!(
            "{}/{}  CPUs {}  {}  {} left",
            number + 1,
            index.plan.cells.len(),
            cpus.join("/"),
            cell.condition,
            Human(left as f64)
        ));
        let Some(done) = measure(index, number, folder, interrupted)? else { break };
        index.done.push(done);
        index.write(folder)?;
    }
    Ok(())
}

/// Measures one cell; `None` if it was interrupted.
fn measure(
    index: &Index,
    number: usize,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<Option<Done>, Failure> {
    let cell = &index.plan.cells[number];
    let setting = index
        .settings
        .iter()
        .find(|setting| setting.name == cell.condition)
        .context("the index has no setting for a cell")?;
    let placed =
        index.tasks.iter().zip(&cell.cpus).map(|(task, cpu)| TaskSpec { cpu: Some(*cpu), ..task.clone() });
    let measurement = prepare(Request {
        tasks: placed.collect(),
        duration_ns: Some(index.duration_ns),
        count: None,
        stop_above_ns: None,
        keep: Keep::All,
        dma_latency: DmaLatency::Keep,
        loads: setting.loads.clone(),
        isolate: setting.isolate.clone(),
        command: std::env::args().collect(),
        interrupted: std::sync::Arc::default(),
    })?;
    let file = format!("cell-{number:04}.parquet");
    let path = folder.join(&file);
    // What an interrupted cell left is of no use.
    for left in [path.clone(), folder.join(format!("{file}.part"))] {
        let _ = fs::remove_file(left);
    }
    let writer = RunWriter::create(&path, measurement.info())?;
    let mut recording = Recording::new(measurement.info(), Some(writer));
    let finished = measurement.run(&mut recording, &mut |_| (), interrupted)?;
    let ended = finished.info.stop.clone();
    let closed = recording.close(finished.info)?;
    if interrupted.load(Ordering::Relaxed) || ended == Some(StopReason::Interrupted) {
        let _ = fs::remove_file(&path);
        return Ok(None);
    }
    let mut warnings = jitterlab_report::warnings::sentences(&closed.info);
    if let Some(StopReason::Overloaded { overload, .. }) = ended {
        warnings.push(overload.to_string());
    }
    Ok(Some(Done {
        cell: number,
        file,
        load: jitterlab_report::summary::load(&closed.info),
        warnings,
        tasks: closed.stats.iter().map(figures).collect(),
    }))
}

/// What the matrix keeps of a task.
pub fn figures(stats: &TimingStats) -> TaskFigures {
    let error = [stats.period_error.min_ns(), stats.period_error.max_ns()].into_iter().flatten();
    TaskFigures {
        max_ns: stats.latency.max_ns().unwrap_or(0) as f64,
        p999_ns: stats.latency.quantile_ns(0.999).map(|ns| ns as f64),
        jitter_ns: error.map(|ns| ns.abs() as f64).reduce(f64::max),
        activations: stats.latency.count(),
        missed: stats.seen_missed(),
    }
}

/// Shows the tables and the recommendation.
pub fn present(index: &Index, facts: &SystemFacts, figure: Option<&Path>, json: bool) -> Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        recommendation: Option<jitterlab_analysis::matrix::Recommendation>,
        matrix: Matrix,
        index: &'a Index,
    }
    let matrix = index.matrix();
    let recommendation = recommend(&matrix, Some(facts));
    if let Some(path) = figure {
        output::write_file(path, jitterlab_report::matrix::svg(&matrix, &index.caption())?.as_bytes())?;
    }
    let warnings: Vec<&String> = {
        let mut all: Vec<&String> = index.done.iter().flat_map(|done| &done.warnings).collect();
        all.sort();
        all.dedup();
        all
    };
    if json {
        let document = Document { schema: 1, recommendation, matrix, index };
        output::print(&(serde_json::to_string_pretty(&document)? + "\n"))?;
    } else {
        let mut text =
            jitterlab_report::matrix::text(&matrix, recommendation.as_ref(), output::is_terminal());
        for warning in warnings {
            text.push_str(&jitterlab_report::summary::wrap(&format!("warning: {warning}")));
        }
        output::print(&text)?;
    }
    Ok(())
}
