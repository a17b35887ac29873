//! `jitterlab matrix`: where should my threads run?

use std::path::PathBuf;
use std::time::Duration;

use jitterlab_analysis::matrix::{CellPlan, MatrixIndex, MatrixResult, placements, propose};
use jitterlab_bench::host::facts::{self, Root};
use jitterlab_bench::host::matrix::{self, OVERHEAD_NS};
use jitterlab_bench::host::topology::check_cpu;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{CpuSet, SystemFacts, TaskSpec};
use jitterlab_report::document::Content;
use jitterlab_report::matrix::{self as words, CellStep};

use crate::error::CliError;
use crate::exit::{Ending, Failure, Status};
use crate::output::OutputArgs;
use crate::{interrupt, output};

/// Measure the same tasks on every pair of CPUs under every load, and say where they should run
///
/// Cells are measured in random order, round by round, each into a run file in one directory. Called again with
/// the same directory it goes on where it was stopped.
#[derive(clap::Args)]
pub struct Args {
    /// A task as for `run`, without cpu; the first one's CPU is the column of the table, that of the others the row
    /// [default: a servo task of 1ms and a base task of 100us]
    #[arg(long = "task", value_name = "SPEC")]
    tasks: Vec<TaskSpec>,
    /// The CPUs to choose from [default: all, or as many as --time allows]
    #[arg(long)]
    cpus: Option<CpuSet>,
    /// A load as for `run`, `none` included; may be given several times, each is a matrix of its own. Without @CPUS
    /// it runs on every CPU that is not isolated, also on measured ones, so that it is the same in every cell
    /// [default: none]
    #[arg(long, value_name = "LOAD")]
    load: Vec<String>,
    /// Measure each cell also with these CPUs isolated
    #[arg(long, value_name = "CPUS")]
    isolate: Option<CpuSet>,
    /// How often each cell is measured
    #[arg(short, long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// How long each cell is measured
    #[arg(short, long, default_value = "10s", value_parser = parse_duration_ns, value_name = "TIME")]
    duration: i64,
    /// The time all cells together may take; where they would take longer, CPUs that stand for the others are chosen
    #[arg(long, default_value = "1h", value_parser = parse_duration_ns, value_name = "TIME")]
    time: i64,
    /// Directory of the run files and the index
    #[arg(short, long, default_value = "jitterlab-matrix", value_name = "DIR")]
    output: PathBuf,
    /// Only show what would be measured
    #[arg(long)]
    plan: bool,
    /// Only show what was measured so far
    #[arg(long, conflicts_with = "plan")]
    show: bool,
    /// Write the table as a picture (SVG or PNG)
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    #[command(flatten)]
    result: OutputArgs,
}

impl Args {
    fn tasks(&self) -> Result<Vec<TaskSpec>, Failure> {
        if let Some(task) = self.tasks.iter().find(|task| task.cpu.is_some()) {
            return Err(Failure::bad_use(CliError::MatrixChooses(task.name.clone())));
        }
        if !self.tasks.is_empty() {
            return Ok(self.tasks.clone());
        }
        let task =
            |name: &str, period_ns: i64| TaskSpec { name: name.into(), period_ns, ..TaskSpec::default() };
        Ok(vec![task("servo", 1_000_000), task("base", 100_000)])
    }

    /// The index of this matrix: the one in the directory, or a new one.
    fn index(&self, facts: &SystemFacts) -> Result<MatrixIndex, Failure> {
        if let Some(index) = matrix::read(&self.output)? {
            return Ok(index);
        }
        if self.show {
            return Err(Failure::bad_use(CliError::NoMatrix(self.output.clone())));
        }
        let tasks = self.tasks()?;
        let none = ["none".to_owned()];
        let loads = if self.load.is_empty() { &none } else { self.load.as_slice() };
        let settings = matrix::settings(loads, self.isolate.as_ref(), facts).map_err(Failure::bad_use)?;
        if self.duration <= 0 {
            return Err(Failure::bad_use(CliError::MeasuresNothing("duration")));
        }
        let cell_ns = self.duration + OVERHEAD_NS;
        let rounds = i64::from(self.repetitions) * settings.len() as i64;
        let affordable = usize::try_from(self.time / (cell_ns * rounds).max(1)).unwrap_or(0);
        let usable = facts.usable();
        let cpus = match &self.cpus {
            Some(cpus) => cpus.clone(),
            None => {
                let proposal = propose(facts, &usable, tasks.len(), affordable);
                if proposal.is_part() {
                    output::note(&words::proposal(&proposal, words::MORE_CPUS));
                }
                proposal.cpus
            }
        };
        for cpu in cpus.iter() {
            check_cpu(facts, cpu).map_err(Failure::bad_use)?;
        }
        let names: Vec<String> = settings.iter().map(|setting| setting.name.clone()).collect();
        let seed = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_nanos() as u64;
        let plan = CellPlan::new(&placements(&cpus, tasks.len()), &names, self.repetitions, seed);
        Ok(MatrixIndex::new(tasks, settings, self.duration, plan))
    }
}

/// Measures what is missing and shows what there is.
pub fn execute(args: &Args) -> Ending {
    if let Some(path) = &args.figure {
        output::check_figure(path, "--figure")?;
    }
    let facts = facts::read(&Root::system());
    let mut index = args.index(&facts)?;
    if !args.show {
        output::note(&words::outset(&index, OVERHEAD_NS, &args.output));
    }
    if args.plan {
        return Ok(Status::Fine);
    }
    if !args.show && index.left() > 0 {
        let interrupted = interrupt::requested()?;
        let mut begins = |index: &MatrixIndex, number| {
            output::note(&words::cell_step(&CellStep::of(index, number, OVERHEAD_NS)));
        };
        matrix::measure_cells(&mut index, &args.output, &interrupted, &mut begins)?;
    }
    let result = MatrixResult::of(index, Some(&facts));
    if let Some(path) = &args.figure {
        output::write_figure(path, &words::svg(&result)?)?;
    }
    args.result.show(Content::Matrix(Box::new(result)))?;
    Ok(Status::Fine)
}
