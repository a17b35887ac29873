//! The folder of a fleet: what is in it, and what of it an answer may rest on.
//!
//! `in/` holds deliveries as they came, `days/` their sums by the day, `aside/` what contradicts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_trace::flat::{ColumnKind, FlatFile};

use crate::calendar::{self, DAY_S};
use crate::delivery::{self, Delivery, DeliveryName, TABLES};
use crate::engine::View;
use crate::error;
use crate::overlaps::Overlaps;
use crate::rows::{self, BinRow, CauseRow, LimitRow, Row, SliceRow, WorstRow};
use crate::sum_parts::SumPart;

/// Folder of deliveries.
pub const IN: &str = "in";
/// Folder of sums by the day.
pub const DAYS: &str = "days";
/// Folder of what contradicts.
pub const ASIDE: &str = "aside";

/// Folder of a fleet.
#[derive(Debug)]
pub struct Fleet {
    pub path: PathBuf,
    /// The file `slices` of each delivery that an answer rests on, from the folder on.
    pub deliveries: Vec<PathBuf>,
    /// The file `slices` of each month's sums, from the folder on.
    pub sums: Vec<PathBuf>,
    /// Files that no answer rests on, and why.
    pub left_out: Vec<LeftOut>,
    /// Beginning of the first day that is asked for, in seconds of the Unix epoch.
    pub since_s: Option<i64>,
    /// Streams of which slices are in sums.
    pub summed: BTreeSet<String>,
    /// Lock that keeps others from changing the folder.
    _lock: Option<File>,
}

/// File that no answer rests on.
#[derive(Debug)]
pub struct LeftOut {
    pub path: PathBuf,
    pub why: Error,
}

impl Fleet {
    /// Locks a folder and lists its usable files; the cut short, foreign or newer ones are left out.
    pub fn open(path: &Path, since_s: Option<i64>) -> Result<Self, Error> {
        fs::metadata(path).map_err(Error::file("open", path))?;
        let mut fleet = Fleet {
            path: path.into(),
            deliveries: Vec::new(),
            sums: Vec::new(),
            left_out: Vec::new(),
            // Sums are of whole days.
            since_s: since_s.map(|since_s| since_s - since_s.rem_euclid(DAY_S)),
            summed: BTreeSet::new(),
            _lock: lock(path, false),
        };
        let inbox = path.join(IN);
        let files = delivery::list_slices_files(&inbox)?;
        let names: BTreeSet<String> = files
            .iter()
            .filter_map(|file| DeliveryName::from_path(file))
            .map(|(name, _)| name.stream)
            .collect();
        let summed = fleet.list_sums(&names)?;
        let first_day = fleet.since_s.map(calendar::day_name);
        for file in files {
            let day =
                file.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.strip_prefix("day="));
            let is_too_old = first_day.as_deref().zip(day).is_some_and(|(first, day)| day < first);
            let Some((name, _)) = DeliveryName::from_path(&file) else {
                fleet.leave_out(file.clone(), error::foreign_file(&file));
                continue;
            };
            let of_stream = summed.get(&name.stream).map_or(&[][..], Vec::as_slice);
            // A kill left it: its rows are in the sums.
            if is_too_old || of_stream.iter().any(|of| of.name == name) {
                continue;
            }
            match open_complete(&file).and_then(|found| repeats_sums(&found, &name, of_stream)) {
                Ok(true) => fleet.leave_out(file.clone(), error::repeated_slices(&file)),
                Ok(false) => fleet.deliveries.push(file.strip_prefix(path).unwrap_or(&file).to_owned()),
                Err(why) => fleet.leave_out(file, why),
            }
        }
        if fleet.deliveries.is_empty() && fleet.sums.is_empty() {
            return Err(error::no_slices(path, since_s.is_some()));
        }
        Ok(fleet)
    }

    /// Lists the sums of months; returns the deliveries of these streams that are in them.
    fn list_sums(&mut self, streams: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<SumPart>>, Error> {
        let mut summed = BTreeMap::<String, Vec<SumPart>>::new();
        for file in delivery::list_slices_files(&self.path.join(DAYS))? {
            match open_complete(&file) {
                Ok(found) => {
                    for of in SumPart::from_lines(found.metadata(delivery::SUMMED_KEY).unwrap_or_default()) {
                        self.summed.insert(of.name.stream.clone());
                        if streams.contains(&of.name.stream) {
                            summed.entry(of.name.stream.clone()).or_default().push(of);
                        }
                    }
                    self.sums.push(file.strip_prefix(&self.path).unwrap_or(&file).to_owned());
                }
                // Its deliveries answer as long as they are there.
                Err(why) => self.leave_out(file, why),
            }
        }
        Ok(summed)
    }

    /// Days since the Unix epoch of which sums hold slices of a stream.
    pub fn summed_days(&self, stream: &str) -> Result<BTreeSet<i64>, Error> {
        let mut days = BTreeSet::new();
        for file in self.sums.iter().filter(|_| self.summed.contains(stream)) {
            let rows: Vec<SliceRow> = rows::read(&delivery::open(&self.path.join(file))?)?;
            let of_stream = rows.into_iter().filter(|row| row.stream == stream);
            days.extend(of_stream.filter_map(|row| row.start_s).map(|start_s| start_s.div_euclid(DAY_S)));
        }
        Ok(days)
    }

    fn leave_out(&mut self, path: PathBuf, why: Error) {
        self.left_out.push(LeftOut { path, why });
    }

    /// The tables as queries see them: the requested time, each slice once; `beside` gets a file of excluded times.
    pub fn table_views(&self, overlaps: &Overlaps, beside: &Path) -> Result<Vec<View>, Error> {
        let mut views = Vec::new();
        let excluded = overlaps.write_excluded(beside)?;
        views.extend(excluded.map(|file| View {
            name: "excluded",
            files: vec![file],
            select: "SELECT * FROM {rows}".into(),
        }));
        for table in TABLES {
            let all = self.deliveries.iter().chain(&self.sums);
            let files = all.filter_map(|file| {
                let (name, _) = DeliveryName::from_path(file)?;
                Some(file.with_file_name(name.file_name(table)))
            });
            let select = match columns_of_slices(table) {
                Some(columns) => overlaps.select_sql(columns, self.since_s),
                None => "SELECT * FROM {rows}".into(),
            };
            views.push(View { name: table, files: files.collect(), select });
        }
        Ok(views)
    }
}

/// Columns of a table whose rows are of slices; `None` for another table.
fn columns_of_slices(table: &str) -> Option<&'static [(&'static str, ColumnKind)]> {
    let all = [
        (SliceRow::TABLE, SliceRow::COLUMNS),
        (BinRow::TABLE, BinRow::COLUMNS),
        (LimitRow::TABLE, LimitRow::COLUMNS),
        (CauseRow::TABLE, CauseRow::COLUMNS),
        (WorstRow::TABLE, WorstRow::COLUMNS),
    ];
    all.into_iter().find(|(name, _)| *name == table).map(|(_, columns)| columns)
}

/// Opens the table `slices` of a delivery; fails if one of its other files is missing or cut short.
fn open_complete(slices: &Path) -> Result<FlatFile, Error> {
    let (name, _) = DeliveryName::from_path(slices).ok_or_else(|| error::foreign_file(slices))?;
    for table in TABLES.into_iter().filter(|table| *table != SliceRow::TABLE) {
        delivery::check_parquet_end(&slices.with_file_name(name.file_name(table)))?;
    }
    delivery::open(slices)
}

/// True if a delivery's table `slices` holds slices that are in sums.
fn repeats_sums(slices: &FlatFile, name: &DeliveryName, summed: &[SumPart]) -> Result<bool, Error> {
    let shared: BTreeSet<i64> = summed
        .iter()
        .filter(|of| of.may_share_with(name))
        .flat_map(|of| of.slices().map(|(seq, _)| seq))
        .collect();
    // Names tell the first and the last slice; those between may be elsewhere.
    let between = shared.range(name.first..=name.last).next().is_some();
    Ok(between && rows::read::<SliceRow>(slices)?.iter().any(|row| shared.contains(&row.seq)))
}

/// Writes a copy of a delivery's files into the folder of what contradicts; returns the path of `slices`.
pub fn put_aside(fleet: &Path, delivery: &Delivery) -> Result<PathBuf, Error> {
    delivery.write(&fleet.join(ASIDE))
}

/// Locks the folder, once others let it: for itself if `takes_in`, else shared. `None` on a file system without locks.
pub fn lock(path: &Path, takes_in: bool) -> Option<File> {
    let folder = File::open(path).ok()?;
    let locked = if takes_in { folder.lock() } else { folder.lock_shared() };
    locked.ok().map(|()| folder)
}
