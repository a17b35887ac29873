//! Questions to an engine, and the rows of its answers: at most one a machine, environment, day, cause or bin.

use std::path::Path;

use jitterlab_model::Error;
use jitterlab_trace::atomic_file;
use jitterlab_trace::flat::{Kind, Values};
use tempfile::TempDir;

use crate::engine::{Answers, Engine, Job, Query, View};
use crate::folder::Fleet;
use crate::overlaps::{OverlapRow, Overlaps};
use crate::rows::{BinRow, Field, Row, ValueIter, rows, table};

macro_rules! query {
    ($name:ident, $file:literal) => {
        /// Query of this name.
        pub const $name: Query = Query {
            name: $file,
            sql: std::borrow::Cow::Borrowed(include_str!(concat!("sql/", $file, ".sql"))),
        };
    };
}

query!(BINNED, "binned");
query!(FIGURES, "figures");
query!(QUANTILES, "quantiles");
query!(ENVIRONMENTS, "environments");
query!(MACHINES, "machines");
query!(DAYS, "days");
query!(CAUSES, "causes");
query!(LEADING, "leading");
query!(SHIFTS, "shifts");
query!(COURSES, "courses");
query!(BINS, "bins");
query!(MONTHS, "months");
query!(TWICE, "twice");
query!(OVERLAPS, "overlaps");

/// Every query, for those who ask engines of their own.
pub const QUERIES: [Query; 14] = [
    BINNED,
    FIGURES,
    QUANTILES,
    ENVIRONMENTS,
    MACHINES,
    DAYS,
    CAUSES,
    LEADING,
    SHIFTS,
    COURSES,
    BINS,
    MONTHS,
    TWICE,
    OVERLAPS,
];

rows! {
    /// Sums of a quantity of a task.
    FigureRow in "figures" {
        machine: String,
        task: String,
        quantity: i64,
        period_ns: i64,
        policy: String,
        overrun: String,
        unknown: String,
        source: String,
        slices: i64,
        length_ms: i64,
        first_s: Option<i64>,
        last_s: Option<i64>,
        without_time: i64,
        count: i64,
        missed: i64,
        missed_unknown: i64,
        lost: i64,
        min_ns: Option<i64>,
        min_unknown: i64,
        max_ns: Option<i64>,
        max_unknown: i64,
        sum_ns: i64,
        sum_unknown: i64,
        squares_high: i64,
        squares_low: i64,
        squares_unknown: i64,
    }
}

rows! {
    /// Quantiles of the latency of a task, by activation (`ran`) and by due time.
    QuantileRow in "quantiles" {
        machine: String,
        task: String,
        ran: i64,
        p50_ns: Option<i64>,
        p99_ns: Option<i64>,
        p999_ns: Option<i64>,
        p9999_ns: Option<i64>,
        due: i64,
        due_p999_ns: Option<i64>,
        due_p9999_ns: Option<i64>,
    }
}

rows! {
    /// A task in one environment of its machine.
    EnvironmentRow in "environments" {
        machine: String,
        task: String,
        env: String,
        first_s: Option<i64>,
        last_s: Option<i64>,
        count: i64,
        p999_ns: Option<i64>,
    }
}

rows! {
    /// A day of all machines.
    DayRow in "days" {
        day_s: i64,
        machines: i64,
        count: i64,
        missed: i64,
        p999_ns: Option<i64>,
        p9999_ns: Option<i64>,
        max_ns: Option<i64>,
    }
}

rows! {
    /// A cause on all machines.
    CauseSumRow in "causes" {
        class: String,
        who: String,
        machines: i64,
        times: i64,
        sum_ns: i64,
        max_ns: i64,
        proven_ns: i64,
        likely_ns: i64,
    }
}

rows! {
    /// The cause that took most of a machine's lateness.
    LeadingRow in "leading" {
        machine: String,
        class: String,
        who: String,
        times: i64,
        sum_ns: i64,
        total_ns: i64,
    }
}

rows! {
    /// Shifts of eight hours with a start above a limit; of one that was measured for less than half nothing is said.
    ShiftRow in "shifts" {
        machine: String,
        task: String,
        purpose: String,
        quantity: i64,
        limit_ns: i64,
        shifts: i64,
        late: i64,
        unknown: i64,
        missing: i64,
        above: i64,
    }
}

rows! {
    /// A day of a task of a machine: its last environment and start of the machine.
    CourseRow in "courses" {
        machine: String,
        task: String,
        day_s: i64,
        env: String,
        boot: String,
        p999_ns: Option<i64>,
    }
}

rows! {
    /// Bin of a quantity of a task.
    BinSumRow in "bins" {
        machine: String,
        task: String,
        quantity: i64,
        high_ns: i64,
        n: i64,
    }
}

impl BinSumRow {
    /// The same as a row of slices.
    #[must_use]
    pub fn to_bin(&self) -> BinRow {
        BinRow {
            machine: self.machine.clone(),
            task: self.task.clone(),
            quantity: i8::try_from(self.quantity).unwrap_or(i8::MAX),
            high_ns: self.high_ns,
            n: self.n,
            ..BinRow::default()
        }
    }
}

rows! {
    /// Latencies of a machine in a month, by twelve steps to a factor of ten: 36 holds all below 1.2 µs.
    MonthRow in "months" {
        machine: String,
        from_s: i64,
        step: i64,
        n: i64,
    }
}

rows! {
    /// Month that is asked for.
    SpanRow in "months" {
        from_s: i64,
        to_s: i64,
    }
}

rows! {
    /// Slice that is in the folder more than once.
    TwiceRow in "twice" {
        machine: String,
        stream: String,
        seq: i64,
        task: String,
        times: i64,
    }
}

rows! {
    /// Name that a question is about.
    NameRow in "asked" {
        machine: String,
    }
}

/// Answers, and what was done so that nothing is counted twice.
pub struct Asked {
    /// The answers.
    pub answers: Answers,
    /// Streams that overlap.
    pub overlaps: Overlaps,
}

/// Asks about a fleet; `machine` is the one that a question may be about.
///
/// # Errors
/// The engine failed, or a slice is in the folder more than once.
pub fn ask(fleet: &Fleet, engine: &Engine, queries: &[Query], machine: Option<&str>) -> Result<Asked, Error> {
    let beside = folder_beside()?;
    let mut all = queries.to_vec();
    all.extend([TWICE, OVERLAPS]);
    // Both read all bins: their sums are made once.
    let needs_sums = queries.iter().any(|query| [QUANTILES.name, ENVIRONMENTS.name].contains(&query.name));
    let steps: &[Query] = if needs_sums { &[BINNED] } else { &[] };
    let names: Vec<NameRow> =
        machine.map(|machine| NameRow { machine: machine.into() }).into_iter().collect();
    let views = |overlaps: &Overlaps| {
        let mut views = fleet.views(overlaps, beside.path())?;
        if !names.is_empty() {
            views.push(view(&names, beside.path())?);
        }
        Ok::<_, Error>(views)
    };
    let answers = engine.answer(&Job {
        folder: &fleet.path,
        views: &views(&Overlaps::default())?,
        steps,
        queries: &all,
    })?;
    if let Some(twice) = answers.rows::<TwiceRow>(TWICE.name)?.first() {
        return Err(counted_twice(twice));
    }
    let overlaps = answers.rows::<OverlapRow>(OVERLAPS.name)?;
    let overlaps = Overlaps::new(&overlaps, |stream| fleet.summed_days(stream))?;
    if overlaps.is_empty() {
        return Ok(Asked { answers, overlaps });
    }
    let answers = engine.answer(&Job { folder: &fleet.path, views: &views(&overlaps)?, steps, queries })?;
    Ok(Asked { answers, overlaps })
}

/// Asks for months of some machines, once it is known what overlaps.
///
/// # Errors
/// The engine failed.
pub fn ask_months(
    fleet: &Fleet,
    engine: &Engine,
    overlaps: &Overlaps,
    names: &[NameRow],
    months: &[SpanRow],
) -> Result<Vec<MonthRow>, Error> {
    let beside = folder_beside()?;
    let mut views = fleet.views(overlaps, beside.path())?;
    views.extend([view(names, beside.path())?, view(months, beside.path())?]);
    engine
        .answer(&Job { folder: &fleet.path, views: &views, steps: &[], queries: &[MONTHS] })?
        .rows(MONTHS.name)
}

/// Answers SQL of the user's own as text.
///
/// # Errors
/// The engine failed.
pub fn print(fleet: &Fleet, engine: &Engine, sql: &str) -> Result<Vec<u8>, Error> {
    let beside = folder_beside()?;
    let views = fleet.views(&Overlaps::default(), beside.path())?;
    let query = Query { name: "own", sql: sql.to_owned().into() };
    engine.print(&Job { folder: &fleet.path, views: &views, steps: &[], queries: &[query] })
}

fn folder_beside() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(Error::file("create a folder in", std::env::temp_dir()))
}

/// Table of what is asked for. A name is data: it goes to the engine in a file, never in SQL.
fn view<R: Row>(rows: &[R], beside: &Path) -> Result<View, Error> {
    let file = beside.join(format!("{}.parquet", R::TABLE));
    atomic_file::write(&file, &table(rows).to_parquet(&[])?, true)?;
    Ok(View { name: R::TABLE, files: vec![file], select: "SELECT * FROM {rows}".into() })
}

fn counted_twice(twice: &TwiceRow) -> Error {
    let TwiceRow { machine, stream, seq, times, .. } = twice;
    Error::damaged(format!(
        "slice {seq} of {machine} ({stream}) lies in the folder {times} times, so no sum of it is right"
    ))
    .remedy("`jitterlab fleet check FOLDER --repair` puts the copies aside")
}
