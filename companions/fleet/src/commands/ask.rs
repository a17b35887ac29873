//! Asking about a fleet.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_console::purpose_args::PurposeArgs;
use jitterlab_fleet::answer::FleetAnswer;
use jitterlab_fleet::calendar;
use jitterlab_fleet::engine::Engine;
use jitterlab_fleet::folder::Fleet;
use jitterlab_fleet::queries::{self, QUERIES};
use jitterlab_fleet::results::{FleetPage, FleetWorst, ListResult, OneMachine};
use jitterlab_fleet::words;
use jitterlab_model::Error;
use jitterlab_report::document::{Document, Present};
use jitterlab_report::page::render;

use super::folder::status;

/// Options for the fleet, the time and the engine.
#[derive(clap::Args)]
pub struct FleetArgs {
    /// Folder of the fleet
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    by: ByArgs,
}

/// Options for the time and the engine.
#[derive(clap::Args)]
pub struct ByArgs {
    /// Only the days (UTC) since then: 90d, or a date such as 2026-11-26 [default: all]
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<i64>,
    /// Engine that sums: the program duckdb, or a master of Spark (spark://HOST:7077, yarn, k8s://..., local[2]) [default: the
    /// duckdb beside jitterlab, in PATH or of Python]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
}

impl FleetArgs {
    fn open(&self) -> Result<(Fleet, Engine), Error> {
        self.by.open(&self.folder)
    }
}

impl ByArgs {
    /// Opens the fleet and finds the engine; warns of files that are left out.
    fn open(&self, folder: &Path) -> Result<(Fleet, Engine), Error> {
        let fleet = Fleet::open(folder, self.since)?;
        fleet.left_out.iter().for_each(|file| output::print_warning(&words::left_out_text(file)));
        Ok((fleet, Engine::find(self.engine.as_deref())?))
    }
}

/// Options of the answer about the whole fleet, which needs no command.
#[derive(clap::Args)]
pub struct AnswerArgs {
    /// Folder of the fleet
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    by: ByArgs,
    #[command(flatten)]
    purpose: PurposeArgs,
    /// Write a page as well: a row for each machine, the worst first, and months of the worst
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    #[command(flatten)]
    show: OutputArgs,
}

/// Options of a list.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    show: OutputArgs,
}

/// List all machines, the worst first
#[derive(clap::Args)]
pub struct WorstArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(flatten)]
    purpose: PurposeArgs,
    #[command(flatten)]
    show: OutputArgs,
}

/// Show one machine: its figures as `jitterlab analyze` has them, its shifts and its leading cause
#[derive(clap::Args)]
pub struct MachineArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Name of the machine
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    purpose: PurposeArgs,
    #[command(flatten)]
    show: OutputArgs,
}

/// Answer SQL of your own over the tables slices, bins, limits, causes, worst and machines, as CSV; without it, print the queries
/// that the commands are made of
#[derive(clap::Args)]
pub struct SqlArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// The query
    #[arg(value_name = "QUERY")]
    query: Option<String>,
}

/// Parses a date, or a length of time before now, as seconds of the Unix epoch.
fn parse_since(text: &str) -> Result<i64, Error> {
    let ago = || {
        let time = SystemTime::now().checked_sub(humantime::parse_duration(text).ok()?)?;
        i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
    };
    calendar::day_start_s(text).or_else(ago).ok_or_else(|| {
        Error::bad_use(format!("{text:?} is neither a date nor a length of time"))
            .remedy("write 90d or 2026-11-26")
    })
}

/// Shows a result; the exit status says, too, if files are left out.
fn show(fleet: &Fleet, show: OutputArgs, result: &impl Present) -> CommandResult {
    Ok(match Status::from_fitness(show.show(result)?) {
        Status::Fine => status(&fleet.left_out),
        other => other,
    })
}

/// Shows the answer in three lines, and the worst machines.
pub fn answer(args: &AnswerArgs) -> CommandResult {
    let folder = args.folder.as_deref().ok_or_else(|| Error::bad_use("which fleet? name its folder"))?;
    let (fleet, engine) = args.by.open(folder)?;
    let response = queries::ask(&fleet, &engine, &FleetAnswer::QUESTION, None)?;
    let answer = FleetAnswer::new(&response, args.purpose.purpose)?;
    if let Some(page) = &args.page {
        let whole = FleetPage::new(&fleet, &engine, &response, answer.clone())?;
        output::write_file(page, render(&[], &[Document::new(&whole)])?.as_bytes())?;
    }
    show(&fleet, args.show, &answer)
}

/// Shows all machines, the worst first.
pub fn worst(args: &WorstArgs) -> CommandResult {
    let (fleet, engine) = args.fleet.open()?;
    let response = queries::ask(&fleet, &engine, &FleetAnswer::QUESTION, None)?;
    show(&fleet, args.show, &FleetWorst(FleetAnswer::new(&response, args.purpose.purpose)?))
}

/// Shows one machine.
pub fn machine(args: &MachineArgs) -> CommandResult {
    let (fleet, engine) = args.fleet.open()?;
    let response = queries::ask(&fleet, &engine, &OneMachine::QUESTION, Some(&args.name))?;
    show(&fleet, args.show, &OneMachine::new(&response, &args.name, args.purpose.purpose)?)
}

/// Shows a list of changes, causes or days.
pub fn list<R: ListResult + Present>(args: &Args) -> CommandResult {
    let (fleet, engine) = args.fleet.open()?;
    show(&fleet, args.show, &R::new(&queries::ask(&fleet, &engine, &R::QUESTION, None)?)?)
}

/// Prints the answer to SQL of the user's own; without it, the queries of all commands.
pub fn sql(args: &SqlArgs) -> CommandResult {
    let Some(query) = &args.query else {
        let all = QUERIES.iter().map(|query| format!("-- {}\n{};\n", query.name, query.sql.trim_end()));
        output::print(&all.collect::<Vec<_>>().join("\n"))?;
        return Ok(Status::Fine);
    };
    let (fleet, engine) = args.fleet.open()?;
    let answer = queries::run_user_sql(&fleet, &engine, query)?;
    io::stdout().write_all(&answer).map_err(Error::from)?;
    Ok(status(&fleet.left_out))
}
