//! Questions to an engine, and the rows of its answers: at most one a machine, environment, day, cause or bin.

use std::path::Path;

use jitterlab_model::Error;
use jitterlab_trace::atomic_file;
use jitterlab_trace::flat::{ColumnKind, Values};
use serde::{Deserialize, Serialize};

use crate::engine::{Answers, Engine, Job, Query, View, temporary_folder};
use crate::folder::Fleet;
use crate::overlaps::{OverlapRow, Overlaps};
use crate::rows::{BinRow, Field, Row, SliceRow, ValueIter, rows, to_table};

macro_rules! queries {
    ($($name:ident $file:literal,)*) => {
        $(
            #[doc = concat!("Query `", $file, "`.")]
            pub const $name: Query =
                Query { name: $file, sql: include_str!(concat!("sql/", $file, ".sql")) };
        )*

        /// Every query, for those who ask engines of their own.
        pub const QUERIES: &[Query] = &[$($name,)*];
    };
}

queries! {
    BINNED "binned",
    FIGURES "figures",
    QUANTILES "quantiles",
    ENVIRONMENTS "environments",
    MACHINES "machines",
    DAYS "days",
    CAUSES "causes",
    LEADING "leading",
    SHIFTS "shifts",
    DAY_PARTS "day_parts",
    DAY_STEPS "day_steps",
    COURSES "courses",
    BINS "bins",
    MONTHS "months",
    TWICE "twice",
    OVERLAPS "overlaps",
}

/// SQL of the rows of the machines that a question is about.
const ASKED_SQL: &str = include_str!("sql/asked.sql");

/// Queries whose answers one result is made of, after the sums that several of them read.
pub struct Question {
    pub steps: &'static [Query],
    pub queries: &'static [Query],
}

/// Sums of a quantity of a task; one of which a part is not known is not known.
#[derive(Debug, Clone, Deserialize)]
pub struct FigureRow {
    /// The sums, in the columns of a slice.
    #[serde(flatten)]
    pub sum: SliceRow,
    pub first_s: Option<i64>,
    pub last_s: Option<i64>,
    /// Slices without a time.
    pub without_time: i64,
}

/// Quantiles of the latency of a task, by activation and by due time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantileRow {
    pub machine: String,
    pub task: String,
    pub p999_ns: Option<i64>,
    pub due_p999_ns: Option<i64>,
}

/// A task in one environment of its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentRow {
    pub machine: String,
    pub task: String,
    pub env: String,
    pub first_s: Option<i64>,
    pub p999_ns: Option<i64>,
}

/// A day of all machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayRow {
    pub day_s: i64,
    pub machines: i64,
    pub count: i64,
    pub missed: Option<i64>,
    pub p999_ns: Option<i64>,
    pub p9999_ns: Option<i64>,
    pub max_ns: Option<i64>,
}

/// A cause on all machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseSumRow {
    pub class: String,
    pub who: String,
    pub machines: i64,
    pub times: i64,
    pub sum_ns: i64,
    pub max_ns: i64,
    pub proven_ns: i64,
    pub likely_ns: i64,
}

/// The cause that took most of a machine's lateness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadingRow {
    pub machine: String,
    pub class: String,
    pub who: String,
    pub sum_ns: i64,
    pub total_ns: i64,
}

/// Shifts of eight hours of which is known whether a start was above a limit or missed, and those with one; of a shift that
/// was measured for less than half nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShiftRow {
    pub machine: String,
    pub purpose: String,
    pub limit_ns: i64,
    pub shifts: i64,
    pub late: i64,
}

/// A day of a task of a machine: its last environment and start of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDayRow {
    pub machine: String,
    pub task: String,
    pub day_s: i64,
    pub env: String,
    pub boot: String,
    pub p999_ns: i64,
}

/// Latencies of a machine in a month, by twelve steps to a factor of ten: 36 holds all below 1.2 µs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonthRow {
    pub machine: String,
    pub from_s: i64,
    pub step: i64,
    pub n: i64,
}

rows! {
    /// Month that is asked for.
    SpanRow in "months" {
        from_s: i64,
        to_s: i64,
    }
}

/// Slice that is in the folder more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateRow {
    pub machine: String,
    pub stream: String,
    pub seq: i64,
    pub task: String,
    pub times: i64,
}

rows! {
    /// Name that a question is about.
    NameRow in "asked" {
        machine: String,
    }
}

/// Answers of an engine in which nothing is counted twice.
pub struct Response {
    pub answers: Answers,
    /// Streams that overlap.
    pub overlaps: Overlaps,
    /// Reasons why files were left out.
    pub left_out: Vec<String>,
    /// The fleet's folder as it was named.
    pub folder: String,
}

/// Runs a question's queries on a fleet, each slice counted once; fails if slices lie there twice. Bins are read of the
/// named machine only, if any.
pub fn ask(
    fleet: &Fleet,
    engine: &Engine,
    question: &Question,
    machine: Option<&str>,
) -> Result<Response, Error> {
    let names: Vec<NameRow> = machine.iter().map(|machine| NameRow { machine: (*machine).into() }).collect();
    let run = |overlaps: &Overlaps, more: &[Query]| {
        let beside = temporary_folder()?;
        let views = query_views(fleet, overlaps, &names, beside.path())?;
        let queries = [question.queries, more].concat();
        let (steps, queries) = (question.steps, &queries);
        engine.answer(&Job { folder: &fleet.path, views: &views, steps, queries, user_sql: None })
    };
    let answers = run(&Overlaps::default(), &[TWICE, OVERLAPS])?;
    if let Some(twice) = answers.rows::<DuplicateRow>(TWICE)?.first() {
        return Err(duplicate_slice_error(twice));
    }
    let overlaps = Overlaps::new(&answers.rows::<OverlapRow>(OVERLAPS)?, |stream| fleet.summed_days(stream))?;
    let answers = if overlaps.is_empty() { answers } else { run(&overlaps, &[])? };
    let left_out = fleet.left_out.iter().map(|file| file.why.to_string()).collect();
    Ok(Response { answers, overlaps, left_out, folder: fleet.path.display().to_string() })
}

/// Runs the query of histograms by month, for some machines, once it is known what overlaps.
pub fn ask_months(
    fleet: &Fleet,
    engine: &Engine,
    overlaps: &Overlaps,
    names: &[NameRow],
    months: &[SpanRow],
) -> Result<Vec<MonthRow>, Error> {
    let beside = temporary_folder()?;
    let mut views = query_views(fleet, overlaps, names, beside.path())?;
    views.push(write_view(months, beside.path())?);
    let job = Job { folder: &fleet.path, views: &views, steps: &[], queries: &[MONTHS], user_sql: None };
    engine.answer(&job)?.rows(MONTHS)
}

/// Answer to SQL of the user's own, as CSV.
pub fn run_user_sql(fleet: &Fleet, engine: &Engine, sql: &str) -> Result<Vec<u8>, Error> {
    let beside = temporary_folder()?;
    let views = query_views(fleet, &Overlaps::default(), &[], beside.path())?;
    let job = Job { folder: &fleet.path, views: &views, steps: &[], queries: &[], user_sql: Some(sql) };
    Ok(engine.answer(&job)?.user_output)
}

/// The tables as queries see them, with bins of these machines or of all; writes files into `beside`.
fn query_views(
    fleet: &Fleet,
    overlaps: &Overlaps,
    names: &[NameRow],
    beside: &Path,
) -> Result<Vec<View>, Error> {
    let mut views = fleet.table_views(overlaps, beside)?;
    if !names.is_empty() {
        let bins = views.iter_mut().find(|view| view.name == BinRow::TABLE);
        bins.into_iter().for_each(|bins| bins.select = ASKED_SQL.trim().replace("{select}", &bins.select));
        views.insert(0, write_view(names, beside)?);
    }
    Ok(views)
}

/// Writes rows into a file as a table. A name is data: it goes to the engine in a file, never in SQL.
fn write_view<R: Row>(rows: &[R], beside: &Path) -> Result<View, Error> {
    let file = beside.join(format!("{}.parquet", R::TABLE));
    atomic_file::write(&file, &to_table(rows).to_parquet(&[])?, true)?;
    Ok(View { name: R::TABLE, files: vec![file], select: "SELECT * FROM {rows}".into() })
}

fn duplicate_slice_error(twice: &DuplicateRow) -> Error {
    let DuplicateRow { machine, stream, seq, times, .. } = twice;
    Error::damaged(format!(
        "slice {seq} of {machine} ({stream}) lies in the folder {times} times, so no sum of it is right"
    ))
    .remedy("`jitterlab fleet check FOLDER --repair` puts the copies aside")
}
