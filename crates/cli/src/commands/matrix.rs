//! `jitterlab matrix`: where should my threads run?
use std::path::PathBuf;

use jitterlab_analysis::matrix::{MatrixIndex, MatrixResult, Proposal};
use jitterlab_host::Experiment;
use jitterlab_host::facts::{self, Root};
use jitterlab_host::matrix::{self, MatrixRequest, OVERHEAD_NS};
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{CpuSet, Error, SystemFacts, TaskSpec};
use jitterlab_report::matrix as words;
use jitterlab_trace::FinishedParts;

use crate::exit::{CommandResult, Status};
use crate::experiment::run_experiment;
use crate::mistakes;
use crate::output;
use crate::output::OutputArgs;
use crate::task_args::TaskArgs;

/// Find the CPUs that tasks should run on, under which load
///
/// The first task's CPU is the column of the table, that of the others the row. Without any: a servo task of 1ms and a
/// base task of 100us. Cells are measured in random order, round by round, each into a run file in one directory. Called again with
/// the same directory it goes on where it was stopped.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// The CPUs to choose from [default: all, or as many as --budget allows]
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
    #[arg(short, long, alias = "repetitions", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long each cell is measured
    #[arg(short, long, default_value = "10s", value_parser = mistakes::parse_duration, value_name = "TIME")]
    duration: i64,
    /// The time all cells together may take; where they would take longer, CPUs that stand for the others are chosen
    #[arg(long, default_value = "1h", value_parser = parse_duration_ns, value_name = "TIME")]
    budget: i64,
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
    fn tasks(&self) -> Result<Vec<TaskSpec>, Error> {
        let task =
            |name: &str, period_ns: i64| TaskSpec { name: name.into(), period_ns, ..TaskSpec::default() };
        let tasks = self.task.specs(vec![task("servo", 1_000_000), task("base", 100_000)]);
        match tasks.iter().find(|task| task.cpu.is_some()) {
            Some(placed) => Err(Error::bad_use(format!(
                "task {}: the matrix chooses the CPUs, leave --cpu and cpu= out",
                placed.name
            ))),
            None => Ok(tasks),
        }
    }

    /// The index in the directory, or a new one with its plan; prints which CPUs were chosen.
    fn existing_or_new_index(&self, facts: &SystemFacts) -> Result<MatrixIndex, Error> {
        if let Some(index) = matrix::read_index(&self.output)? {
            return Ok(index);
        }
        if self.show {
            return Err(Error::bad_use(format!("there is no matrix in {}", self.output.display())));
        }
        if self.duration <= 0 {
            return Err(
                Error::bad_use("a duration of 0 measures nothing").remedy("leave --duration out or raise it")
            );
        }
        let none = ["none".to_owned()];
        let request = MatrixRequest {
            tasks: self.tasks()?,
            loads: if self.load.is_empty() { none.to_vec() } else { self.load.clone() },
            isolate: self.isolate.clone(),
            cpus: self.cpus.clone(),
            rounds: self.rounds,
            duration_ns: self.duration,
            time_ns: self.budget,
        };
        let (index, proposal) = request.plan(facts)?;
        if let Some(proposal) = proposal.filter(Proposal::omits_cpus) {
            output::print_note(&words::cpu_choice_sentence(&proposal, words::MORE_CPUS));
        }
        Ok(index)
    }
}

/// Measures the missing cells and shows all of them.
pub fn execute(args: &Args) -> CommandResult {
    if let Some(path) = &args.figure {
        output::check_figure_name(path, "--figure")?;
    }
    let facts = facts::read(&Root::system());
    let mut index = args.existing_or_new_index(&facts)?;
    if !args.show {
        output::print_note(&words::plan_sentence(&index, OVERHEAD_NS, args.budget, &args.output));
    }
    if args.plan {
        return Ok(Status::Fine);
    }
    let measure = |experiment: &mut Experiment<'_>| {
        if !args.show && index.cells_left() > 0 {
            matrix::measure_cells(&mut index, &args.output, experiment)?;
        }
        Ok(Some(MatrixResult::new(index, Some(&facts))))
    };
    // The index keeps the measured cells.
    run_experiment(FinishedParts::without_file, false, measure, |result: MatrixResult| {
        if let Some(path) = &args.figure {
            output::write_figure(path, &words::drawing(&result))?;
        }
        args.result.show(&result)?;
        Ok(Status::Fine)
    })
}
