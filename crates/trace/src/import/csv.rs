//! Tables of time stamps or latencies: comma-separated values, or separated by semicolons, tabs or blanks. The head
//! line, or the user, states the content of a column.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jitterlab_model::bounds::{COLUMNS, TASKS};
use jitterlab_model::{Activation, Error, Gap, Warning};
use memchr::memchr;

use super::starts::{self, Span};
use super::text::{decimal_ns, lines, split_at_byte};
use super::{Hints, Import, ImportError, Importer, Input, Measured, Period, TaskDetails, capture, rttest};
use crate::error::Unreadable;
use crate::role::{Role, role_of};

pub(super) const IMPORTER: Importer = Importer { name: "tables (CSV)", recognise, parse };

/// Column of a role in a table.
#[derive(Debug, Clone, Copy)]
struct RoleColumn {
    column: usize,
    unit_ns: i64,
}

/// Splits a line into cells, up to the largest number that is read.
fn split_cells(line: &str) -> Vec<Cow<'_, str>> {
    let mut cells = Vec::new();
    split_cells_into(line, &mut cells);
    cells
}

/// Splits a line into `cells`, whose former content is dropped.
fn split_cells_into<'a>(line: &'a str, cells: &mut Vec<Cow<'a, str>>) {
    cells.clear();
    let has = |byte: u8| memchr(byte, line.as_bytes()).is_some();
    let quoted = has(b'"');
    let separates = |c: &u8| if quoted { line.contains(outside_quotes(*c)) } else { has(*c) };
    // A comma may be a decimal one where something else separates.
    let put = |cell: &'a str| cells.push(unquoted(cell.trim_ascii()));
    match [b';', b'\t', b','].into_iter().find(separates) {
        Some(separator) if quoted => line.split(outside_quotes(separator)).take(COLUMNS).for_each(put),
        Some(separator) => split_at_byte(line, separator).take(COLUMNS).for_each(put),
        None => line.split_whitespace().take(COLUMNS).for_each(put),
    }
}

/// Returns a test that is true of this separator outside quotes; it has to see each character of a line in turn. Quotes
/// open at the beginning of a cell, and again right after their end (which is one of the text).
fn outside_quotes(separator: u8) -> impl FnMut(char) -> bool {
    let separator = char::from(separator);
    let (mut quoted, mut may_open) = (false, true);
    move |c| {
        let separates = c == separator && !quoted;
        let turns = c == '"' && (quoted || may_open);
        quoted ^= turns;
        may_open = separates || turns || may_open && c == ' ';
        separates
    }
}

/// The text of a cell (RFC 4180, 2.5 to 2.7).
fn unquoted(cell: &str) -> Cow<'_, str> {
    if cell.as_bytes().first() != Some(&b'"') {
        return cell.into();
    }
    match cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')) {
        Some(text) if text.contains('"') => text.replace("\"\"", "\"").into(),
        Some(text) => text.into(),
        None => cell.into(),
    }
}

/// Number with its decimal comma replaced by a point.
fn with_decimal_point(cell: &str) -> Cow<'_, str> {
    if memchr(b',', cell.as_bytes()).is_some() { cell.replace(',', ".").into() } else { cell.into() }
}

/// Numbered lines of the table, without comments and empty lines.
fn data_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text).filter(|(_, line)| line.as_bytes().first().is_some_and(|byte| *byte != b'#'))
}

/// The cells of the first line, if they are names.
fn header_names(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let (_, first) = data_lines(text).next()?;
    let cells = split_cells(first);
    let named = cells.iter().all(|cell| cell.parse::<f64>().is_err());
    (named && !cells.is_empty()).then_some(cells)
}

fn recognise(input: &Input) -> bool {
    if input.columns_given {
        return data_lines(input.text).next().is_some();
    }
    if rttest::recognise(input) || capture::recognise(input) {
        return false;
    }
    let named = header_names(input.text).unwrap_or_default();
    let tells = |role| !matches!(role, Role::Task | Role::End | Role::Index);
    // A name alone could be a word of anything: its values have to follow.
    let row = data_lines(input.text).nth(1).map(|(_, line)| split_cells(line)).unwrap_or_default();
    row.len() >= named.len()
        && named.iter().zip(row).any(|(name, cell)| {
            role_of(name).is_some_and(|(role, _)| tells(role))
                && decimal_ns(&with_decimal_point(&cell), 1).is_some()
        })
}

/// Finds the column of each role, by the user's word or the head line's.
fn role_columns(input: &Input, hints: &Hints) -> Result<BTreeMap<Role, RoleColumn>, ImportError> {
    let header = header_names(input.text).unwrap_or_default();
    let mut places = BTreeMap::new();
    let place = |role, column: usize, unit_ns: Option<i64>| {
        let unit_ns = match role {
            Role::Task | Role::Index => Some(1),
            _ => unit_ns.or(hints.unit_ns),
        };
        let unit_ns = unit_ns.ok_or_else(|| {
            let column = column + 1;
            Error::damaged(format!(
                "the unit of column {column} ({role}) is not in its name: say it with --unit, or as in --columns \
                 {role}={column}:us"
            ))
        })?;
        Ok::<_, ImportError>(RoleColumn { column, unit_ns })
    };
    for given in &hints.columns {
        let named = header.iter().position(|name| *name == given.name);
        let numbered = || given.name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let missing = || {
            let (wanted, names) = (&given.name, header.join(", "));
            Error::damaged(format!("there is no column {wanted}: the head line names {names}"))
        };
        let column = named.or_else(numbered).ok_or_else(missing)?;
        let unit_ns = given.unit_ns.or_else(|| role_of(header.get(column)?)?.1);
        places.insert(given.role, place(given.role, column, unit_ns)?);
    }
    if hints.columns.is_empty() {
        for (column, name) in header.iter().enumerate() {
            if let Some((role, unit_ns)) = role_of(name)
                && !places.contains_key(&role)
            {
                places.insert(role, place(role, column, unit_ns)?);
            }
        }
    }
    Ok(places)
}

/// The roles that determine the times of activations.
const TIMES: [Role; 5] = [Role::Due, Role::Start, Role::Latency, Role::PeriodError, Role::Interval];

/// Values of a line, by [`Role`].
type Row = [Option<i64>; Role::COUNT];

/// Values of a task's rows, in their order: the column of each [`Role`] that there is, all of one length. A table can
/// have millions of rows, and few of the roles.
#[derive(Default)]
struct Task {
    name: String,
    columns: [Vec<i64>; Role::COUNT],
    length: usize,
    /// Rows that lack a time.
    without_time: u64,
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let places = role_columns(input, hints)?;
    if !TIMES.iter().any(|role| places.contains_key(role)) {
        return Err(Unreadable::NoTimes.into());
    }
    let mut tasks: Vec<Task> = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut cells = Vec::new();
    for (number, line) in data_lines(input.text).skip(usize::from(header_names(input.text).is_some())) {
        split_cells_into(line, &mut cells);
        let mut row = Row::default();
        let (mut name, mut lacks_time) = ("main", false);
        for (role, place) in &places {
            let cell = cells
                .get(place.column)
                .ok_or_else(|| Unreadable::unexpected(line, "a row with all columns").at_line(number))?;
            if *role == Role::Task {
                name = cell;
            } else {
                // Programs write -1 where there was no such time.
                lacks_time |= matches!(role, Role::Due | Role::Start | Role::End) && cell == "-1";
                let value = decimal_ns(&with_decimal_point(cell), place.unit_ns);
                row[*role as usize] =
                    Some(value.ok_or_else(|| Unreadable::unexpected(cell, "a number").at_line(number))?);
            }
        }
        let task = numbers.get(name).copied().unwrap_or(tasks.len());
        if task == tasks.len() {
            if task == TASKS {
                return Err(Unreadable::TooMany { what: "tasks", most: TASKS }.into());
            }
            numbers.insert(name.into(), task);
            tasks.push(Task { name: name.into(), ..Task::default() });
        }
        if lacks_time {
            tasks[task].without_time += 1;
        } else if !tasks[task].push(&row) {
            return Err(Unreadable::Backwards.at_line(number));
        }
    }
    let mut import = Import::new("the table", "unknown");
    let roles: Vec<Role> = places.into_keys().collect();
    // Each is dropped once it is imported.
    tasks.into_iter().try_for_each(|task| import_task(&mut import, &task, &roles, hints))?;
    import.complete()
}

/// Imports a task from the values of these roles together.
fn import_task(import: &mut Import, task: &Task, roles: &[Role], hints: &Hints) -> Result<(), ImportError> {
    let has = |role| roles.contains(&role);
    if task.without_time > 0 {
        import.warn(Warning::NotInRows { task: task.name.clone(), count: task.without_time });
    }
    match () {
        () if has(Role::Latency) && !has(Role::Due) && !has(Role::Start) => {
            import_latencies(import, task, hints);
            Ok(())
        }
        () if has(Role::Latency) || has(Role::Due) && has(Role::Start) => {
            import_due_times(import, task, hints)
        }
        () => import_starts(import, task, hints),
    }
}

/// Imports arrays of times of one task, in nanoseconds.
pub(super) fn import_arrays(
    name: &str,
    columns: &[(Role, Vec<i64>)],
    hints: &Hints,
) -> Result<Import, ImportError> {
    let roles: Vec<Role> = columns.iter().map(|(role, _)| *role).collect();
    if !TIMES.iter().any(|role| roles.contains(role)) {
        return Err(Unreadable::NoTimes.into());
    }
    let length = columns.first().map_or(0, |(_, values)| values.len());
    if let Some((role, values)) = columns.iter().find(|(_, values)| values.len() != length) {
        return Err(Error::damaged(format!(
            "{} values of {role}, and {length} of the first column: every activation needs one of each",
            values.len()
        ))
        .into());
    }
    let goes_back = |role: Role, values: &[i64]| {
        ORDERED.contains(&role).then(|| values.windows(2).position(|pair| pair[0] > pair[1])).flatten()
    };
    if let Some(at) = columns.iter().filter_map(|(role, values)| goes_back(*role, values)).min() {
        return Err(Unreadable::Backwards.at_line(at + 2));
    }
    let mut task = Task { name: name.into(), length, ..Task::default() };
    for (role, values) in columns {
        task.columns[*role as usize].clone_from(values);
    }
    let mut import = Import::new("arrays", "unknown");
    if length > 0 {
        import_task(&mut import, &task, &roles, hints)?;
    }
    import.complete()
}

/// Roles whose values never decrease.
const ORDERED: [Role; 3] = [Role::Due, Role::Start, Role::Index];

impl Task {
    /// Adds a row; `false` if it is earlier than the one before it.
    fn push(&mut self, row: &Row) -> bool {
        let goes_back = |role: Role| {
            let last = self.columns[role as usize].last();
            last.zip(row[role as usize]).is_some_and(|(last, value)| *last > value)
        };
        if ORDERED.into_iter().any(goes_back) {
            return false;
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.extend(value);
        }
        self.length += 1;
        true
    }

    /// Values of a role in the rows; `None` where it has no column.
    fn column(&self, role: Role) -> Option<&[i64]> {
        Some(self.columns[role as usize].as_slice()).filter(|column| column.len() == self.length)
    }

    /// Returns true if rows are missing by their numbers.
    fn has_holes(&self) -> bool {
        let numbers = self.column(Role::Index).unwrap_or_default();
        numbers.windows(2).any(|pair| pair[1].saturating_sub(pair[0]) > 1)
    }

    /// Number of periods between the first and the last row, by their numbers; `None` if they have none.
    fn index_span(&self) -> Option<i64> {
        let numbers = self.column(Role::Index)?;
        numbers.last()?.checked_sub(*numbers.first()?)
    }

    /// Describes the task, with execution times if the ends are known.
    fn task_details(&self, period: Period) -> TaskDetails {
        let details = TaskDetails::new(self.name.clone(), period);
        if self.column(Role::End).is_some() { details.with_ends() } else { details }
    }
}

/// Imports latencies alone: their order is known, not the times between them.
fn import_latencies(import: &mut Import, task: &Task, hints: &Hints) {
    let period = import.period_or_default(None, hints, 1_000_000);
    let row = |(index, latency): (u64, &i64)| {
        let due_ns = i64::try_from(index).unwrap_or(i64::MAX).saturating_mul(period.ns());
        let start_ns = due_ns.saturating_add(*latency);
        Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
    };
    let rows = (0..).zip(task.column(Role::Latency).unwrap_or_default()).map(row).collect();
    let details = TaskDetails::new(task.name.clone(), period).with_gap(Gap::Missed).with_gap(Gap::DueTimes);
    import.add_task(details, Measured::Rows(rows));
    import.warn(Warning::DueTimesAssumed { tool: import.info.tool.clone() });
}

/// Offset between the clocks of starts and due times; `None` unless all are an hour and ten run lengths apart.
fn clock_offset_ns(times: impl Iterator<Item = (i64, i64)> + Clone) -> Option<i64> {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let late = |(due, start): (i64, i64)| start.saturating_sub(due);
    let least = times.clone().map(late).min_by_key(|late| late.unsigned_abs())?;
    let first = times.clone().map(|(_, start)| start).min()?;
    let length = times.map(|(_, start)| start).max()?.abs_diff(first);
    (least.unsigned_abs() > length.saturating_mul(10).max(HOUR_NS)).then_some(least)
}

/// Imports due times with starts, or one of them with latencies; the grid is that of the due times.
fn import_due_times(import: &mut Import, task: &Task, hints: &Hints) -> Result<(), ImportError> {
    let [due, start, late, end] =
        [Role::Due, Role::Start, Role::Latency, Role::End].map(|role| task.column(role));
    let at = |column: Option<&[i64]>, row: usize| column.map(|column| column[row]);
    let times = |row: usize| {
        let (start, late) = (at(start, row), at(late, row).unwrap_or(0));
        let due = at(due, row).or(start.map(|start| start.saturating_sub(late))).unwrap_or(0);
        (due, start.unwrap_or(due.saturating_add(late)))
    };
    let apart_ns = clock_offset_ns((0..task.length).map(times));
    let times = |row: usize| {
        let (due, start) = times(row);
        (due.saturating_add(apart_ns.unwrap_or(0)), start)
    };
    let dues = (0..task.length).map(|row| times(row).0);
    let usual = hints.period_ns().or_else(|| starts::typical_interval_ns(dues, task.index_span()));
    let period_ns = usual.filter(|ns| *ns > 0).ok_or(Unreadable::NoPeriod)?;
    let period = import.period_or_default(Some(period_ns), hints, period_ns);
    let row = |row: usize| {
        let ((due_ns, start_ns), end_ns) = (times(row), at(end, row));
        Activation { due_ns, start_ns, end_ns: end_ns.unwrap_or(start_ns), ..Activation::default() }
    };
    // Due times without a row did not run, or were not written.
    let (rows, holes) = starts::snap_to_due_grid((0..task.length).map(row), period_ns);
    let details = task.task_details(period);
    let details = match apart_ns {
        Some(apart_ns) => {
            import.warn(Warning::ClocksApart { task: task.name.clone(), apart_ns });
            details.with_gap(Gap::Phase)
        }
        None => details,
    };
    import.add_task(if holes { details.with_gap(Gap::Missed) } else { details }, Measured::Rows(rows));
    Ok(())
}

/// Imports starts without due times, or only the times between them.
fn import_starts(import: &mut Import, task: &Task, hints: &Hints) -> Result<(), ImportError> {
    let spans: Vec<Span> = if let Some(starts) = task.column(Role::Start) {
        let end = |row: usize| task.column(Role::End).map(|ends| ends[row]);
        starts
            .iter()
            .enumerate()
            .map(|(row, start_ns)| Span { start_ns: *start_ns, end_ns: end(row) })
            .collect()
    } else {
        let intervals = task.column(Role::Interval);
        let period_ns =
            if intervals.is_some() { 0 } else { hints.period_ns().ok_or(Unreadable::NoPeriod)? };
        let mut start_ns = 0i64;
        let later = intervals.or(task.column(Role::PeriodError)).unwrap_or_default().iter().map(|value| {
            start_ns = start_ns.saturating_add(period_ns).saturating_add(*value);
            start_ns
        });
        std::iter::once(0).chain(later).map(|start_ns| Span { start_ns, end_ns: None }).collect()
    };
    let said = hints.period_ns();
    let period_ns = said
        .or_else(|| starts::typical_interval_ns(spans.iter().map(|span| span.start_ns), None))
        .ok_or(Unreadable::NoPeriod)?;
    if said.is_none() {
        import.warn(Warning::MeanPeriod { period_ns });
    }
    let details = task.task_details(import.period_or_default(Some(period_ns), hints, period_ns));
    import.add_starts(details, &spans, starts::starts_on_grid(&spans, period_ns, task.has_holes()));
    Ok(())
}
