//! Streams of one machine and task at the same time: two machines of one name, or one measured twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_trace::atomic_file;
use jitterlab_trace::flat::{ColumnKind, Values};
use serde::{Deserialize, Serialize};

use crate::calendar::DAY_S;
use crate::rows::{Field, Row, ValueIter, rows, to_table};

/// Two streams of a task of a machine that share some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlapRow {
    pub machine: String,
    pub task: String,
    pub stream: String,
    pub env: String,
    pub boot: String,
    pub other: String,
    pub other_env: String,
    pub other_boot: String,
    pub first_s: i64,
    pub last_s: i64,
    pub other_first_s: i64,
    pub other_last_s: i64,
}

rows! {
    /// Time of a stream that does not count, since a later one measured the same.
    ExcludedRow in "excluded" {
        stream: String,
        task: String,
        from_s: i64,
        to_s: i64,
    }
}

impl OverlapRow {
    /// True if one machine measured both: it had the same boot, or where boots are not known, the same environment.
    fn is_of_one_machine(&self) -> bool {
        match self.boot.is_empty() || self.other_boot.is_empty() {
            true => self.env == self.other_env,
            false => self.boot == self.other_boot,
        }
    }
}

/// SQL condition on a slice that no later stream measured too.
const COUNTS_ONCE: &str = include_str!("sql/counts.sql");

/// Corrections that keep slices from being counted twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Overlaps {
    /// Streams that are of another machine of the same name, each with the number that its name gets.
    pub others: BTreeMap<String, usize>,
    /// The names of these machines with the environment of the other one.
    pub namesakes: BTreeSet<(String, String, usize)>,
    /// Machines of which two streams measured the same task at the same time: the later one counts.
    pub measured_twice: BTreeSet<(String, String)>,
    #[serde(skip)]
    excluded: Vec<ExcludedRow>,
}

impl Overlaps {
    /// Decides whether overlapping streams are of two machines of one name, or of one measured twice. `summed` gives
    /// the days of a stream that are in sums.
    pub fn new(
        rows: &[OverlapRow],
        summed: impl Fn(&str) -> Result<BTreeSet<i64>, Error>,
    ) -> Result<Self, Error> {
        let mut found = Overlaps::default();
        let mut of_machine: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in rows {
            // The one that began first keeps the name.
            let is_first = (row.first_s, &row.stream) <= (row.other_first_s, &row.other);
            let one = (&row.stream, row.first_s, row.last_s);
            let other = (&row.other, row.other_first_s, row.other_last_s);
            let (early, late) = if is_first { (one, other) } else { (other, one) };
            if row.is_of_one_machine() {
                found.measured_twice.insert((row.machine.clone(), row.task.clone()));
                let (from_s, to_s) = (late.1, early.2.min(late.2));
                // Sums of a day count as a whole, or not at all.
                let days = summed(early.0)?.into_iter().map(|day| (day * DAY_S, (day + 1) * DAY_S));
                let days = days.filter(|day| day.0 < to_s && from_s < day.1);
                found.excluded.extend(days.chain([(from_s, to_s)]).map(|(from_s, to_s)| ExcludedRow {
                    stream: early.0.clone(),
                    task: row.task.clone(),
                    from_s,
                    to_s,
                }));
                continue;
            }
            let env = if is_first { &row.other_env } else { &row.env };
            let known = of_machine.entry(&row.machine).or_default();
            let place = known.iter().position(|known| known == env).unwrap_or_else(|| {
                known.push(env);
                known.len() - 1
            });
            found.others.insert(late.0.clone(), place + 2);
            found.namesakes.insert((row.machine.clone(), env.clone(), place + 2));
        }
        Ok(found)
    }

    /// True if every slice counts as it is.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty() && self.excluded.is_empty()
    }

    /// Writes the excluded times into a file in a folder; returns its path, or `None` if there are none.
    pub fn write_excluded(&self, folder: &Path) -> Result<Option<PathBuf>, Error> {
        if self.excluded.is_empty() {
            return Ok(None);
        }
        let path = folder.join("excluded.parquet");
        atomic_file::write(&path, &to_table(&self.excluded).to_parquet(&[])?, true)?;
        Ok(Some(path))
    }

    /// Returns the SELECT of a table of slices: rows of the requested time that count, under the machines' final names.
    pub fn select_sql(&self, columns: &[(&str, ColumnKind)], since_s: Option<i64>) -> String {
        let mut name = String::from("machine");
        if !self.others.is_empty() {
            // Streams are hexadecimal digits: nothing that SQL would read.
            name = String::from("CASE stream");
            for (stream, number) in &self.others {
                let _ = write!(name, " WHEN '{stream}' THEN CONCAT(machine, '~{number}')");
            }
            name += " ELSE machine END";
        }
        let time = columns.iter().map(|(column, _)| *column).find(|name| ["start_s", "at_s"].contains(name));
        let time = time.unwrap_or("start_s");
        let others = columns.iter().map(|(column, _)| *column).filter(|column| *column != "machine");
        let others = others.collect::<Vec<_>>().join(", ");
        let mut select = format!("SELECT {name} AS machine, {others} FROM {{rows}} r");
        let mut conditions = Vec::new();
        conditions.extend(since_s.map(|since_s| format!("r.{time} >= {since_s}")));
        if !self.excluded.is_empty() {
            conditions.push(COUNTS_ONCE.trim().replace("{time}", time));
        }
        if !conditions.is_empty() {
            let _ = write!(select, " WHERE {}", conditions.join(" AND "));
        }
        select
    }
}
