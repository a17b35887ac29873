//! The folder of a fleet: what is in it, and what of it an answer may rest on.
//!
//! `in/` holds deliveries as they came, `days/` their sums by the day, `aside/` what contradicts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_trace::flat::{FlatFile, Kind};

use crate::delivery::{self, Delivery, DeliveryName, TABLES};
use crate::engine::View;
use crate::error;
use crate::overlaps::Overlaps;
use crate::rows::{BinRow, CauseRow, LimitRow, Row, SliceRow, WorstRow};

/// Folder of deliveries.
pub const IN: &str = "in";
/// Folder of sums by the day.
pub const DAYS: &str = "days";
/// Folder of what contradicts.
pub const ASIDE: &str = "aside";
/// Name of a list of deliveries in a file's metadata: their rows are in the file's sums.
pub const SUMMED_KEY: &str = "jitterlab.fleet.summed";

/// Folder of a fleet.
#[derive(Debug)]
pub struct Fleet {
    /// Where it is.
    pub path: PathBuf,
    /// The file `slices` of each delivery that an answer rests on, from the folder on.
    pub deliveries: Vec<PathBuf>,
    /// The file `slices` of each month's sums, from the folder on.
    pub sums: Vec<PathBuf>,
    /// Files that no answer rests on, and why.
    pub left_out: Vec<LeftOut>,
    /// Nothing that began before is asked for.
    pub since_s: Option<i64>,
}

/// File that no answer rests on.
#[derive(Debug)]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: Error,
}

impl Fleet {
    /// Looks at a folder. What is cut short, foreign or of a newer format is left out.
    ///
    /// # Errors
    /// The folder cannot be read or holds no slices at all.
    pub fn open(path: &Path, since_s: Option<i64>) -> Result<Self, Error> {
        let mut fleet = Fleet {
            path: path.into(),
            deliveries: Vec::new(),
            sums: Vec::new(),
            left_out: Vec::new(),
            since_s,
        };
        let summed = fleet.look_at_sums()?;
        let first_day = since_s.map(delivery::day);
        let inbox = path.join(IN);
        for file in if inbox.is_dir() { delivery::list(&inbox)? } else { Vec::new() } {
            let relative = file.strip_prefix(path).unwrap_or(&file).to_owned();
            let day =
                file.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.strip_prefix("day="));
            let is_too_old = first_day.as_deref().zip(day).is_some_and(|(first, day)| day < first);
            let Some((name, _)) = DeliveryName::from_path(&file) else {
                fleet.leave_out(file.clone(), error::foreign(&file));
                continue;
            };
            if is_too_old || summed.contains(&name.file(SliceRow::TABLE)) {
                continue;
            }
            match look(&file) {
                Ok(_) => fleet.deliveries.push(relative),
                Err(why) => fleet.leave_out(file, why),
            }
        }
        if fleet.deliveries.is_empty() && fleet.sums.is_empty() {
            return Err(error::nothing_here(path, since_s.is_some()));
        }
        Ok(fleet)
    }

    /// Finds the sums of months, and gives the names of the deliveries in them.
    fn look_at_sums(&mut self) -> Result<BTreeSet<String>, Error> {
        let (days, mut summed) = (self.path.join(DAYS), BTreeSet::new());
        for file in if days.is_dir() { delivery::list(&days)? } else { Vec::new() } {
            match look(&file) {
                Ok(found) => {
                    let names = found.metadata(SUMMED_KEY).unwrap_or_default();
                    summed.extend(names.lines().map(str::to_owned));
                    self.sums.push(file.strip_prefix(&self.path).unwrap_or(&file).to_owned());
                }
                // Its deliveries answer as long as they are there.
                Err(why) => self.leave_out(file, why),
            }
        }
        Ok(summed)
    }

    fn leave_out(&mut self, path: PathBuf, why: Error) {
        self.left_out.push(LeftOut { path, why });
    }

    /// The tables as queries see them: of the time that is asked for, with each machine's slices counted once.
    ///
    /// # Errors
    /// A file of what is counted once cannot be written.
    pub fn views(&self, overlaps: &Overlaps, beside: &Path) -> Result<Vec<View>, Error> {
        let mut views = Vec::new();
        let excluded = overlaps.write(beside)?;
        views.extend(excluded.map(|file| View {
            name: "excluded",
            files: vec![file],
            select: "SELECT * FROM {rows}".into(),
        }));
        for table in TABLES {
            let all = self.deliveries.iter().chain(&self.sums);
            let files = all.filter_map(|file| {
                let (name, _) = DeliveryName::from_path(file)?;
                Some(file.with_file_name(name.file(table)))
            });
            let select = match columns_of_slices(table) {
                Some(columns) => overlaps.select(columns, self.since_s),
                None => "SELECT * FROM {rows}".into(),
            };
            views.push(View { name: table, files: files.collect(), select });
        }
        Ok(views)
    }
}

/// Columns of a table whose rows are of slices.
fn columns_of_slices(table: &str) -> Option<&'static [(&'static str, Kind)]> {
    let all = [
        (SliceRow::TABLE, SliceRow::COLUMNS),
        (BinRow::TABLE, BinRow::COLUMNS),
        (LimitRow::TABLE, LimitRow::COLUMNS),
        (CauseRow::TABLE, CauseRow::COLUMNS),
        (WorstRow::TABLE, WorstRow::COLUMNS),
    ];
    all.into_iter().find(|(name, _)| *name == table).map(|(_, columns)| columns)
}

/// Opens the table `slices` of a delivery, and looks whether all its other files are there and whole.
fn look(slices: &Path) -> Result<FlatFile, Error> {
    let (name, _) = DeliveryName::from_path(slices).ok_or_else(|| error::foreign(slices))?;
    for table in TABLES.into_iter().filter(|table| *table != SliceRow::TABLE) {
        delivery::look(&slices.with_file_name(name.file(table)))?;
    }
    delivery::open(slices)
}

/// Moves a delivery's files into the folder of what contradicts.
///
/// # Errors
/// It cannot be written there.
pub fn put_aside(fleet: &Path, delivery: &Delivery) -> Result<PathBuf, Error> {
    delivery.write(&fleet.join(ASIDE))
}

/// Whether a folder is that of a fleet.
#[must_use]
pub fn is_fleet(path: &Path) -> bool {
    fs::metadata(path.join(IN)).is_ok_and(|found| found.is_dir())
}
