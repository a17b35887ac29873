//! Content of a table's columns, by their names or by the user's word.

use std::fmt;
use std::str::FromStr;

use jitterlab_model::Error;

/// Content of a column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Due time of an activation.
    Due,
    /// Start of an activation.
    Start,
    /// End of an activation.
    End,
    /// Latency of an activation.
    Latency,
    /// Period error: the time since the last start, minus the period.
    PeriodError,
    /// The time since the last beginning.
    Interval,
    /// The name of its task.
    Task,
    /// Number of the due time.
    Index,
}

/// Every role with the names that a head line may give it, besides its own.
const ROLES: [(Role, &str, &[&str]); 8] = [
    (Role::Due, "due", &["scheduled", "expected", "release"]),
    (Role::Start, "start", &["timestamp", "time_stamp", "wakeup", "wake_up", "begin"]),
    (Role::End, "end", &["finish", "stop"]),
    (Role::Latency, "latency", &["lateness"]),
    (Role::PeriodError, "period-error", &["period_error", "current_error", "current-error"]),
    (Role::Interval, "interval", &["period", "delta", "dt"]),
    (Role::Task, "task", &["thread", "name"]),
    (Role::Index, "index", &["iteration", "cycle", "sample"]),
];

/// Units as they are written behind a name or in an option.
const UNITS: [(&str, i64); 5] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

fn unit_of(text: &str) -> Option<i64> {
    UNITS.iter().find(|(name, _)| *name == text).map(|(_, ns)| *ns)
}

/// The user's description of a column: `latency=3`, `start=t_wake`, `latency=delay:us`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Content of the column.
    pub role: Role,
    /// Name of the column in the head line, or its number counted from 1.
    pub name: String,
    /// Unit of its values in ns, if it is given.
    pub unit_ns: Option<i64>,
}

fn role_names() -> String {
    ROLES.map(|(_, name, _)| name).join(", ")
}

impl FromStr for Column {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::bad_use(format!("{text:?} does not say what a column is")).remedy(format!(
                "write ROLE=COLUMN[:UNIT], such as latency=3:us or start=t_wake:ns; a column is \
                 a name of the head line or a number, and roles are {}",
                role_names()
            ))
        };
        let (role, column) = text.split_once('=').ok_or_else(bad)?;
        let role: Role = role.trim().parse().map_err(|_| bad())?;
        let (name, unit_ns) = match column.rsplit_once(':').map(|(name, unit)| (name, unit_of(unit.trim()))) {
            Some((name, Some(unit_ns))) => (name, Some(unit_ns)),
            _ => (column, None),
        };
        let name = name.trim();
        if name.is_empty() { Err(bad()) } else { Ok(Column { role, name: name.into(), unit_ns }) }
    }
}

impl Role {
    /// Number of roles.
    pub(crate) const COUNT: usize = ROLES.len();
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = ROLES.iter().find(|(_, name, _)| *name == text).map(|(role, ..)| *role);
        found.ok_or_else(|| {
            Error::bad_use(format!("{text:?} is no role of a column"))
                .remedy(format!("choose one of {}", role_names()))
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(ROLES.iter().find(|(role, ..)| role == self).map_or("", |(_, name, _)| name))
    }
}

/// The role and unit of a name such as `latency_us`, `Start [ns]` or `due (ms)`.
pub(crate) fn role_of(name: &str) -> Option<(Role, Option<i64>)> {
    let name = name.to_lowercase();
    let (bare, unit) = match name.split_once(['[', '(']) {
        Some((bare, unit)) => (bare.trim(), unit_of(unit.trim_end_matches([']', ')']).trim())),
        None => name
            .rsplit_once(['_', '.', ' '])
            .and_then(|(bare, unit)| Some((bare, Some(unit_of(unit)?))))
            .unwrap_or((&name, None)),
    };
    let named = |(_, own, others): &&(Role, &str, &[&str])| *own == bare || others.contains(&bare);
    ROLES.iter().find(named).map(|(role, ..)| (*role, unit))
}
