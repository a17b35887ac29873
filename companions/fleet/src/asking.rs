//! Questions to an engine, and the rows of its answers: at most one a machine, environment, day, cause or bin.

use std::path::Path;

use jitterlab_model::Error;
use jitterlab_trace::atomic_file;
use jitterlab_trace::flat::{Kind, Values};

use crate::engine::{Answers, Engine, Job, Query, View, folder_beside};
use crate::folder::Fleet;
use crate::overlaps::{OverlapRow, Overlaps};
use crate::rows::{BinRow, Field, Row, ValueIter, rows, table};

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

/// Rows of the machines that a question is about.
const OF_ASKED: &str = include_str!("sql/asked.sql");

/// Queries whose answers one result is made of, after the sums that several of them read.
pub struct Question {
    pub steps: &'static [Query],
    pub queries: &'static [Query],
}

rows! {
    /// Sums of a quantity of a task; one of which a part is not known is not known.
    FigureRow in "figures" {
        machine: String,
        task: String,
        quantity: i8,
        period_ns: i64,
        policy: String,
        overrun: String,
        unknown: String,
        source: String,
        first_s: Option<i64>,
        last_s: Option<i64>,
        without_time: i64,
        count: i64,
        missed: Option<i64>,
        lost: i64,
        min_ns: Option<i64>,
        max_ns: Option<i64>,
        sum_ns: Option<i64>,
        squares_high: Option<i64>,
        squares_low: Option<i64>,
    }
}

rows! {
    /// Quantiles of the latency of a task, by activation and by due time.
    QuantileRow in "quantiles" {
        machine: String,
        task: String,
        p999_ns: Option<i64>,
        due_p999_ns: Option<i64>,
    }
}

rows! {
    /// A task in one environment of its machine.
    EnvironmentRow in "environments" {
        machine: String,
        task: String,
        env: String,
        first_s: Option<i64>,
        p999_ns: Option<i64>,
    }
}

rows! {
    /// A day of all machines.
    DayRow in "days" {
        day_s: i64,
        machines: i64,
        count: i64,
        missed: Option<i64>,
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
        sum_ns: i64,
        total_ns: i64,
    }
}

rows! {
    /// Shifts of eight hours of which is known whether a start was above a limit or missed, and those with one; of a shift that
    /// was measured for less than half nothing is said.
    ShiftRow in "shifts" {
        machine: String,
        purpose: String,
        limit_ns: i64,
        shifts: i64,
        late: i64,
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
        p999_ns: i64,
    }
}

rows! {
    /// Bin of a quantity of a task.
    BinSumRow in "bins" {
        machine: String,
        task: String,
        quantity: i8,
        high_ns: i64,
        n: i64,
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
    pub answers: Answers,
    /// Streams that overlap.
    pub overlaps: Overlaps,
    /// Why files were left out.
    pub left_out: Vec<String>,
    /// The fleet's folder as it was named.
    pub folder: String,
}

/// Asks about a fleet. Bins are read of the named machines only, where any is named.
pub fn ask(
    fleet: &Fleet,
    engine: &Engine,
    question: &Question,
    machine: Option<&str>,
) -> Result<Asked, Error> {
    let names: Vec<NameRow> = machine.iter().map(|machine| NameRow { machine: (*machine).into() }).collect();
    let run = |overlaps: &Overlaps, more: &[Query]| {
        let beside = folder_beside()?;
        let views = views(fleet, overlaps, &names, beside.path())?;
        let queries = [question.queries, more].concat();
        let (steps, queries) = (question.steps, &queries);
        engine.answer(&Job { folder: &fleet.path, views: &views, steps, queries, own: None })
    };
    let answers = run(&Overlaps::default(), &[TWICE, OVERLAPS])?;
    if let Some(twice) = answers.rows::<TwiceRow>()?.first() {
        return Err(counted_twice(twice));
    }
    let overlaps = Overlaps::new(&answers.rows::<OverlapRow>()?, |stream| fleet.summed_days(stream))?;
    let answers = if overlaps.is_empty() { answers } else { run(&overlaps, &[])? };
    let left_out = fleet.left_out.iter().map(|file| file.why.to_string()).collect();
    Ok(Asked { answers, overlaps, left_out, folder: fleet.path.display().to_string() })
}

/// Asks for months of some machines, once it is known what overlaps.
pub fn ask_months(
    fleet: &Fleet,
    engine: &Engine,
    overlaps: &Overlaps,
    names: &[NameRow],
    months: &[SpanRow],
) -> Result<Vec<MonthRow>, Error> {
    let beside = folder_beside()?;
    let mut views = views(fleet, overlaps, names, beside.path())?;
    views.push(view(months, beside.path())?);
    let job = Job { folder: &fleet.path, views: &views, steps: &[], queries: &[MONTHS], own: None };
    engine.answer(&job)?.rows()
}

/// Answers SQL of the user's own as text.
pub fn print(fleet: &Fleet, engine: &Engine, sql: &str) -> Result<Vec<u8>, Error> {
    let beside = folder_beside()?;
    let views = views(fleet, &Overlaps::default(), &[], beside.path())?;
    let job = Job { folder: &fleet.path, views: &views, steps: &[], queries: &[], own: Some(sql) };
    Ok(engine.answer(&job)?.printed)
}

/// The tables as queries see them, with bins of these machines, or of all.
fn views(fleet: &Fleet, overlaps: &Overlaps, names: &[NameRow], beside: &Path) -> Result<Vec<View>, Error> {
    let mut views = fleet.views(overlaps, beside)?;
    if !names.is_empty() {
        let bins = views.iter_mut().find(|view| view.name == BinRow::TABLE);
        bins.into_iter().for_each(|bins| bins.select = OF_ASKED.trim().replace("{select}", &bins.select));
        views.insert(0, view(names, beside)?);
    }
    Ok(views)
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
