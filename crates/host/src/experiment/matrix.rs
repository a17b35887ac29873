//! The cells of a matrix: measured one after the other, kept in a directory with an index.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::matrix::{Cell, CellSetting, CellTiming, DoneCell, MatrixIndex, Proposal, propose};
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::load::Placement;
use jitterlab_model::{CpuSet, Error, SystemFacts, TaskSpec};
use jitterlab_trace::{atomic_file, source};

use super::engine::Experiment;
use crate::cpu_choice::check_cpu;
use crate::load::parse_loads;
use crate::measure::Request;
use crate::record::record_to;

/// Preparing and closing a cell takes about this long.
pub const OVERHEAD_NS: i64 = 400_000_000;
const INDEX: &str = "index.json";
/// No index is larger.
const LARGEST_BYTES: u64 = 1 << 30;

/// The index in a directory; `None` without an index.
pub fn read_index(folder: &Path) -> Result<Option<MatrixIndex>, Error> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u32,
    }
    let path = folder.join(INDEX);
    let text = match source::read_text(&path, LARGEST_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::refused(format!("cannot read {}: {error}", path.display()))),
    };
    let other = |error: serde_json::Error| {
        Error::refused(format!(
            "{} is no index of a matrix ({error}): choose another directory with --output",
            path.display()
        ))
    };
    if serde_json::from_slice::<Format>(text.as_bytes()).map_err(other)?.format != MatrixIndex::FORMAT {
        return Err(Error::refused(format!(
            "{} was written by another version of jitterlab: choose another directory with --output",
            path.display()
        )));
    }
    serde_json::from_slice(text.as_bytes()).map(Some).map_err(other)
}

/// Keeps an index in a directory. Written whole under another name first, so that a crash leaves the old one.
pub fn write_index(index: &MatrixIndex, folder: &Path) -> Result<(), Error> {
    let not_json = |error| {
        Error::refused(format!("the index could not be written as JSON ({error}); please report this"))
    };
    let text = serde_json::to_string(index).map_err(not_json)? + "\n";
    atomic_file::write(folder.join(INDEX), text.as_bytes(), false)
}

/// Conditions of a matrix's cells: each load, and each again with isolation if that is asked for.
///
/// A load without a place of its own is on every CPU that is not isolated, the measured ones included, so that it is the
/// same in every cell.
fn cell_settings(
    loads: &[String],
    isolate: Option<&CpuSet>,
    facts: &SystemFacts,
) -> Result<Vec<CellSetting>, Error> {
    let isolated = facts.isolation.isolated.clone().unwrap_or_default();
    let usable = facts.usable_cpus();
    let open = Some(usable.without(&isolated)).filter(|cpus| !cpus.is_empty()).unwrap_or(usable);
    let mut settings = Vec::new();
    for text in loads {
        let mut loads = parse_loads(text)?;
        for load in loads.iter_mut().filter(|load| load.placement == Placement::Housekeeping) {
            load.placement = Placement::Cpus(open.clone());
        }
        let setting = CellSetting { name: text.clone(), loads, isolate: None };
        let isolated = isolate.map(|cpus| CellSetting {
            name: format!("{text}, isolated {cpus}"),
            isolate: Some(cpus.clone()),
            ..setting.clone()
        });
        settings.extend([Some(setting), isolated].into_iter().flatten());
    }
    Ok(settings)
}

/// Tasks, conditions and CPUs of a matrix.
#[derive(Debug, Clone)]
pub struct MatrixRequest {
    /// The tasks, without CPUs.
    pub tasks: Vec<TaskSpec>,
    /// A condition each, as [`parse_loads`] takes them.
    pub loads: Vec<String>,
    /// The CPUs that are isolated in half of the conditions, if any.
    pub isolate: Option<CpuSet>,
    /// The CPUs to choose from; `None` for all, or as many as the time allows.
    pub cpus: Option<CpuSet>,
    /// Number of measurements of each cell.
    pub rounds: u32,
    /// Length of each cell.
    pub duration_ns: i64,
    /// The time that all cells together may take.
    pub time_ns: i64,
}

impl MatrixRequest {
    /// The cells to measure on a machine, and which CPUs were chosen where none were named.
    pub fn plan(&self, facts: &SystemFacts) -> Result<(MatrixIndex, Option<Proposal>), Error> {
        let settings = cell_settings(&self.loads, self.isolate.as_ref(), facts)?;
        let round_ns = (self.duration_ns + OVERHEAD_NS) * i64::from(self.rounds) * settings.len() as i64;
        let affordable = usize::try_from(self.time_ns / round_ns.max(1)).unwrap_or(0);
        let proposal = match &self.cpus {
            Some(_) => None,
            None => Some(propose(facts, &facts.usable_cpus(), self.tasks.len(), affordable)),
        };
        let cpus = self.cpus.as_ref().or(proposal.as_ref().map(|proposal| &proposal.cpus));
        let cpus = cpus.cloned().unwrap_or_default();
        for cpu in cpus.iter() {
            check_cpu(facts, cpu)?;
        }
        let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        let index =
            MatrixIndex::new(self.tasks.clone(), settings, &cpus, self.rounds, self.duration_ns, seed);
        Ok((index, proposal))
    }
}

/// Measures every missing cell, and notes each when it is done. Ends early when interrupted; an unfinished
/// cell then counts as not measured.
///
/// # Errors
/// A cell cannot be measured, or a file cannot be written. Finished cells are kept.
pub fn measure_cells(
    index: &mut MatrixIndex,
    folder: &Path,
    experiment: &mut Experiment<'_>,
) -> Result<(), Error> {
    let failed =
        |error: io::Error| Error::refused(format!("cannot make the directory {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    // Two that measured into one directory would count each other's cells as missing.
    let turn = File::open(folder).map_err(failed)?;
    if turn.try_lock().is_err() {
        return Err(Error::refused(format!(
            "another jitterlab measures into {} right now: wait for its end, or choose another directory with --output",
            folder.display()
        )));
    }
    write_index(index, folder)?;
    let each_ns = index.duration_ns + OVERHEAD_NS;
    experiment.set_total_time(index.cells_left() as i64 * each_ns);
    let is_done = |number: &usize| index.done.iter().any(|done| done.cell == *number);
    let missing: Vec<usize> = (0..index.plan.cells.len()).filter(|number| !is_done(number)).collect();
    for number in missing {
        let Cell { cpus, condition, .. } = index.plan.cells[number].clone();
        experiment.begin_step(TrialStep::Cell { number, of: index.plan.cells.len(), cpus, condition });
        let interrupted = experiment.interrupted();
        let Some(done) = experiment.next_part(|| measure_cell(index, number, folder, interrupted))? else {
            let _ = fs::remove_file(folder.join(cell_file_name(number)));
            break;
        };
        index.done.push(done);
        write_index(index, folder)?;
        experiment.add_elapsed(each_ns);
    }
    Ok(())
}

fn cell_file_name(cell: usize) -> String {
    format!("cell-{cell:04}.parquet")
}

/// Measures a cell into its run file in the folder.
fn measure_cell(
    index: &MatrixIndex,
    number: usize,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<DoneCell, Error> {
    let cell = &index.plan.cells[number];
    let setting = index.settings.iter().find(|setting| setting.name == cell.condition);
    let setting = setting.ok_or_else(|| {
        Error::refused(format!(
            "the index has no setting {:?}, which one of its cells names: choose another directory with --output",
            cell.condition
        ))
    })?;
    let placed =
        index.tasks.iter().zip(&cell.cpus).map(|(task, cpu)| TaskSpec { cpu: Some(*cpu), ..task.clone() });
    let file = cell_file_name(number);
    let path = folder.join(&file);
    // Files of an interrupted cell are of no use.
    for left in [path.clone(), folder.join(format!("{file}.part"))] {
        let _ = fs::remove_file(left);
    }
    let request = Request {
        duration_ns: Some(index.duration_ns),
        loads: setting.loads.clone(),
        isolate: setting.isolate.clone(),
        ..Request::for_tasks(placed.collect())
    };
    let MeasuredRun { run: info, tasks, .. } = record_to(request, &path, interrupted)?;
    Ok(DoneCell {
        cell: number,
        file,
        loads: info.loads,
        warnings: info.warnings,
        stop: info.stop,
        tasks: tasks.iter().map(CellTiming::from_task).collect(),
    })
}
