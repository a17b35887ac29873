//! Asking about a fleet.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_analysis::purposes::{PURPOSES, Purpose};
use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_fleet::answer::{ASKED, FleetAnswer};
use jitterlab_fleet::asking::{self, Asked, BINS, CAUSES, COURSES, DAYS};
use jitterlab_fleet::engine::{Engine, Query};
use jitterlab_fleet::folder::Fleet;
use jitterlab_fleet::results::{CauseList, DayList, FleetPage, FleetWorst, KernelList, OneMachine};
use jitterlab_fleet::words;
use jitterlab_model::Error;
use jitterlab_report::document::{Document, Present};
use jitterlab_report::page::render;
use jitterlab_report::purpose::title;

/// Which fleet, of what time, by which engine.
#[derive(clap::Args)]
pub struct FleetArgs {
    /// Folder of the fleet
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    by: ByArgs,
}

/// Of what time, by which engine.
#[derive(clap::Args)]
pub struct ByArgs {
    /// Only the days (UTC) since then: 90d, or a date such as 2026-11-26 [default: all]
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<i64>,
    /// Engine that sums: the program duckdb, or a master of Spark (spark://HOST:7077, yarn, k8s://..., local[2]) [default: the
    /// duckdb beside jitterlab, in PATH or of Python]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
}

impl FleetArgs {
    /// The fleet, and what sums it.
    pub fn open(&self) -> Result<(Fleet, Engine), Error> {
        self.by.open(&self.folder)
    }
}

impl ByArgs {
    fn open(&self, folder: &Path) -> Result<(Fleet, Engine), Error> {
        let fleet = Fleet::open(folder, self.since)?;
        Ok((fleet, Engine::find(self.engine.as_deref())?))
    }
}

/// The question of no command: what about the fleet?
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

/// The purpose, if one is named.
#[derive(clap::Args, Clone, Copy)]
struct PurposeArgs {
    /// Judge for this purpose only, and let the exit status say whether all machines serve it [default: all usual ones]
    #[arg(long = "for", value_name = "PURPOSE", value_parser = purposes())]
    purpose: Option<&'static Purpose>,
}

/// Question about a fleet.
#[derive(clap::Args)]
pub struct Args {
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

fn purposes() -> impl TypedValueParser<Value = &'static Purpose> {
    let each = PURPOSES.iter().map(|purpose| PossibleValue::new(purpose.name).help(title(purpose.name)));
    PossibleValuesParser::new(each)
        .try_map(|name| Purpose::named(&name).ok_or_else(|| format!("there is no purpose {name}")))
}

/// A date, or how long ago.
fn since(text: &str) -> Result<i64, Error> {
    let not_a_time = || {
        Error::bad_use(format!("{text:?} is neither a date nor a length of time"))
            .remedy("write 90d or 2026-11-26")
    };
    let seconds = |time: SystemTime| {
        time.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_secs()).ok())
    };
    let date = humantime::parse_rfc3339_weak(&format!("{text} 00:00:00"))
        .or_else(|_| humantime::parse_rfc3339_weak(text));
    let time = match date {
        Ok(date) => Some(date),
        Err(_) => SystemTime::now().checked_sub(humantime::parse_duration(text).map_err(|_| not_a_time())?),
    };
    time.and_then(seconds).ok_or_else(not_a_time)
}

/// Asks, and shows what is made of the answers.
fn ask<R: Present>(
    (fleet, engine): (Fleet, Engine),
    show: OutputArgs,
    queries: &[&[Query]],
    name: Option<&str>,
    make: impl FnOnce(&Fleet, &Engine, &Asked) -> Result<R, Error>,
) -> Ending {
    fleet.left_out.iter().for_each(|file| output::warn(&words::left_out(file)));
    let asked = asking::ask(&fleet, &engine, &queries.concat(), name)?;
    let fitness = show.show(&make(&fleet, &engine, &asked)?)?;
    Ok(match Status::from_fitness(fitness) {
        // The rest is answered.
        Status::Fine if !fleet.left_out.is_empty() => Status::RequirementFailed,
        status => status,
    })
}

/// The answer in three lines, and the worst machines.
pub fn answer(args: &AnswerArgs) -> Ending {
    let folder = args.folder.as_deref().ok_or_else(|| Error::bad_use("which fleet? name its folder"))?;
    ask(args.by.open(folder)?, args.show, &[&ASKED], None, |fleet, engine, asked| {
        let answer = FleetAnswer::new(fleet, asked, args.purpose.purpose)?;
        if let Some(page) = &args.page {
            let whole = FleetPage::new(fleet, engine, asked, answer.clone())?;
            output::write_file(page, render(&[], &[Document::new(&whole)])?.as_bytes())?;
        }
        Ok(answer)
    })
}

/// All machines.
pub fn worst(args: &Args) -> Ending {
    ask(args.fleet.open()?, args.show, &[&ASKED], None, |fleet, _, asked| {
        FleetAnswer::new(fleet, asked, args.purpose.purpose).map(FleetWorst)
    })
}

/// What changes did.
pub fn kernels(args: &Args) -> Ending {
    ask(args.fleet.open()?, args.show, &[&ASKED, &[COURSES]], None, |fleet, _, asked| {
        KernelList::new(asked, FleetAnswer::new(fleet, asked, args.purpose.purpose)?)
    })
}

/// Causes.
pub fn causes(args: &Args) -> Ending {
    ask(args.fleet.open()?, args.show, &[&[CAUSES]], None, |_, _, asked| CauseList::new(asked))
}

/// Days.
pub fn days(args: &Args) -> Ending {
    ask(args.fleet.open()?, args.show, &[&[DAYS, COURSES]], None, |_, _, asked| DayList::new(asked))
}

/// One machine.
pub fn machine(args: &MachineArgs) -> Ending {
    ask(args.fleet.open()?, args.show, &[&ASKED, &[BINS]], Some(&args.name), |fleet, _, asked| {
        OneMachine::new(asked, &args.name, FleetAnswer::new(fleet, asked, args.purpose.purpose)?)
    })
}
