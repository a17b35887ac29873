//! Makes the sums: replaces deliveries of finished days by them, so that the folder of deliveries does not grow for ever.
//!
//! Sums are written whole and read back before their deliveries go, and they name these. Wherever it is killed, each slice
//! counts once: a delivery that sums name does not count, and sums without their table `slices` do not either.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_trace::atomic_file;

use crate::calendar::{self, DAY_S};
use crate::delivery::{self, Delivery, DeliveryName};
use crate::folder::{DAYS, IN};
use crate::rows::{self, Row, SliceRow};
use crate::sum_parts::SumPart;
use crate::tables::Tables;

/// Days before the newest one that are not finished.
const OPEN_DAYS: i64 = 1;
/// Deliveries at least of which sums are made.
const MIN_DELIVERIES: usize = 32;
/// Rows of bins at most that sums take into memory.
const MAX_BIN_ROWS: usize = 500_000;

/// Makes sums of finished days, once there are enough of them, and deletes the deliveries summed. Removes first what a
/// kill left. Nobody else may change the folder meanwhile.
pub fn compact(fleet: &Path) -> Result<(), Error> {
    remove_leftovers(fleet)?;
    let files = delivery::list_slices_files(&fleet.join(IN))?;
    let dated = files.iter().filter_map(|file| Some((day_number(file)?, file)));
    let newest = dated.clone().map(|(day, _)| day).max().unwrap_or_default();
    let finished: Vec<(i64, &PathBuf)> = dated.filter(|(day, _)| *day + OPEN_DAYS < newest).collect();
    if finished.len() < MIN_DELIVERIES {
        return Ok(());
    }
    let contested = find_overlapping(&files);
    // The deliveries of a stream's day together: their sums are one.
    let mut days: BTreeMap<(String, i64, String), Vec<&PathBuf>> = BTreeMap::new();
    for (day, file) in finished.into_iter().filter(|(_, file)| !contested.contains(*file)) {
        let Some((name, _)) = DeliveryName::from_path(file) else { continue };
        days.entry((calendar::month_name(day * DAY_S), day, name.stream)).or_default().push(file);
    }
    let mut open = DaySums::default();
    let mut of_month = String::new();
    for ((month, _, _), files) in days {
        if of_month != month || open.tables.bins.len() > MAX_BIN_ROWS {
            std::mem::take(&mut open).write(fleet, &of_month)?;
            of_month = month;
        }
        open.add_day(&files);
    }
    open.write(fleet, &of_month)
}

/// Sums of a month's days while they are made, and the deliveries that they are of.
#[derive(Default)]
struct DaySums {
    tables: Tables,
    summed: String,
    files: Vec<PathBuf>,
    values: i64,
}

impl DaySums {
    /// Adds the deliveries of a stream's day; a damaged one stays where it is.
    fn add_day(&mut self, files: &[&PathBuf]) {
        let mut hours = Tables::default();
        for (file, delivery) in files.iter().filter_map(|file| Some((file, Delivery::read(file).ok()?))) {
            self.summed += &SumPart::to_line(&delivery);
            self.files.push((*file).clone());
            self.values += count_values(&delivery.tables);
            hours.append(delivery.tables);
        }
        self.tables.append(hours.into_days());
    }

    /// Writes the sums, compares the file with what was added, and removes the deliveries.
    fn write(self, fleet: &Path, month: &str) -> Result<(), Error> {
        if self.files.is_empty() {
            return Ok(());
        }
        let sums = Delivery::new(self.tables, self.summed);
        let path = sums.write_in(&fleet.join(DAYS).join(format!("month={month}")))?;
        let written = Delivery::read(&path)?;
        if written != sums || count_values(&written.tables) != self.values {
            return Err(Error::defect(format!("{} holds other sums than its days", path.display())));
        }
        self.files.iter().try_for_each(|file| delivery::remove_files(file))
    }
}

/// Number of values in all bins.
fn count_values(tables: &Tables) -> i64 {
    tables.bins.iter().map(|row| row.n).sum()
}

/// Removes what a kill left: deliveries that sums name, sums that are not whole, files half written.
fn remove_leftovers(fleet: &Path) -> Result<(), Error> {
    let (inbox, days) = (fleet.join(IN), fleet.join(DAYS));
    let mut summed: BTreeSet<DeliveryName> = BTreeSet::new();
    for file in delivery::list_files(&days)? {
        let Some((name, table)) = DeliveryName::from_path(&file) else { continue };
        if table == SliceRow::TABLE {
            // Of damaged sums the deliveries stay.
            summed.extend(SumPart::from_file(&file).into_iter().map(|of| of.name));
        } else if !file.with_file_name(name.file_name(SliceRow::TABLE)).is_file() {
            fs::remove_file(&file).map_err(Error::file("remove", &file))?;
        }
    }
    for file in delivery::list_files(&inbox)? {
        if DeliveryName::from_path(&file).is_some_and(|(name, _)| summed.contains(&name)) {
            fs::remove_file(&file).map_err(Error::file("remove", &file))?;
        }
    }
    for folder in [&inbox, &days].into_iter().flat_map(fs::read_dir).flatten().flatten() {
        atomic_file::remove_leftovers(&folder.path());
        // One that is not empty stays.
        let _ = fs::remove_dir(folder.path());
    }
    Ok(())
}

/// Time in which a stream measured a task, by one delivery.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct MeasuredSpan {
    start_s: i64,
    end_s: i64,
    stream: String,
    file: PathBuf,
}

/// Deliveries in which two streams measured one task of a machine at the same time. Hours are needed to count none
/// twice.
fn find_overlapping(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut times: BTreeMap<(String, String), BTreeSet<MeasuredSpan>> = BTreeMap::new();
    for file in files {
        let rows = delivery::open(file).and_then(|found| rows::read::<SliceRow>(&found)).unwrap_or_default();
        let mut of_tasks: BTreeMap<(String, String, String), (i64, i64)> = BTreeMap::new();
        for row in rows {
            let Some(start_s) = row.start_s else { continue };
            let end_s = start_s + row.length_ms / 1_000;
            let times = of_tasks.entry((row.machine, row.task, row.stream)).or_insert((start_s, end_s));
            *times = (times.0.min(start_s), times.1.max(end_s));
        }
        for ((machine, task, stream), (start_s, end_s)) in of_tasks {
            let measured = MeasuredSpan { start_s, end_s, stream, file: file.clone() };
            times.entry((machine, task)).or_default().insert(measured);
        }
    }
    let mut found = BTreeSet::new();
    for of_task in times.into_values() {
        let mut open: Vec<&MeasuredSpan> = Vec::new();
        for next in &of_task {
            open.retain(|before| before.end_s > next.start_s);
            for before in open.iter().filter(|before| before.stream != next.stream) {
                found.extend([before.file.clone(), next.file.clone()]);
            }
            open.push(next);
        }
    }
    found
}

/// Days from the Unix epoch to the day in the name of a delivery's folder; `None` for other folders.
fn day_number(file: &Path) -> Option<i64> {
    let day = file.parent()?.file_name()?.to_str()?.strip_prefix("day=")?;
    Some(calendar::day_start_s(day)? / DAY_S)
}
