//! Files of slices: immutable, named by their content, one for each stream, day and table.
//!
//! `day=2026-11-26/cnc-07.3f9a0c11d2e4b587.000417-000440.9c1f0b7a66d2e4f3.slices.parquet`: machine, stream, first and last
//! slice, hash of the rows of all tables. The same rows have the same name wherever they are written, so that copying them twice changes
//! nothing. The table `slices` is written last: a delivery without it is not whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_model::histogram::upper_edge;
use jitterlab_trace::atomic_file;
use jitterlab_trace::flat::{FlatFile, FlatTable, Values};

use crate::calendar::{DAY_S, day_name};
use crate::error::{
    BINS_ALONE, EMPTY_BIN, OTHER_BINS, OTHER_COUNT, OTHER_DUE, contradictory_sums, foreign_file,
    truncated_file,
};
use crate::hash::{self, PartsHash};
use crate::rows::{
    BinRow, CauseRow, FORMAT, FORMAT_KEY, LimitRow, MachineRow, Row, SliceRow, WorstRow, read, to_table,
};
use crate::tables::Tables;

/// Name of the rows' hash in a file's metadata.
const CONTENT_KEY: &str = "jitterlab.fleet.content";
/// Tables of a delivery, in the order they are written.
pub const TABLES: [&str; 6] =
    [BinRow::TABLE, LimitRow::TABLE, CauseRow::TABLE, WorstRow::TABLE, MachineRow::TABLE, SliceRow::TABLE];
/// Ending of the file that makes a delivery whole.
const SLICES_ENDING: &str = ".slices.parquet";
/// Folder of slices without a time.
const UNKNOWN_DAY: &str = "unknown";
/// No time of a slice is before 2000-01-01 or after 2106-02-07: a clock that shows such a time was never set.
const TIMES_S: std::ops::RangeInclusive<i64> = 946_684_800..=4_294_967_295;
/// Name of the slices that sums are of in a file's metadata.
pub const SUMMED_KEY: &str = "jitterlab.fleet.summed";
/// Characters at most of a machine's name in a file's name.
const NAME_CHARS: usize = 40;
/// Characters of a slice's hash.
const HASH_CHARS: usize = 8;

/// Rows of one stream and day, or sums of many deliveries of a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The rows, in order.
    pub tables: Tables,
    /// Day of the slices, of sums the first one's: `2026-11-26`, or `unknown`.
    pub day: String,
    /// Hash of the rows.
    pub content: String,
    /// Slices that sums are of, a line for each delivery; empty for a delivery itself.
    pub summed: String,
}

/// Parts of the name of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryName {
    /// Machine, as far as file names can have it.
    pub machine: String,
    pub stream: String,
    pub first: i64,
    pub last: i64,
    /// Beginning of the rows' hash.
    pub content: String,
}

impl DeliveryName {
    /// Parses the name of a delivery's file: returns the delivery's name, and the table; `None` for other files.
    pub fn from_path(path: &Path) -> Option<(Self, &'static str)> {
        let name = path.file_name()?.to_str()?.strip_suffix(".parquet")?;
        let mut parts = name.rsplitn(5, '.');
        let table = parts.next()?;
        let table = TABLES.into_iter().find(|known| *known == table)?;
        let (content, range, stream) = (parts.next()?, parts.next()?, parts.next()?);
        let (first, last) = range.split_once('-')?;
        let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = DeliveryName {
            machine: parts.next()?.to_owned(),
            stream: stream.to_owned(),
            first: first.parse().ok()?,
            last: last.parse().ok()?,
            content: content.to_owned(),
        };
        let is_name = is_hash(stream) && is_hash(content) && is_file_safe(&name.machine);
        is_name.then_some((name, table))
    }

    /// Name of the file of a table.
    pub fn file_name(&self, table: &str) -> String {
        let DeliveryName { machine, stream, first, last, content } = self;
        format!("{machine}.{stream}.{first:06}-{last:06}.{content}.{table}.parquet")
    }
}

impl Delivery {
    /// Splits rows into deliveries of one stream and day each; a time that cannot be is taken as unknown.
    pub fn split(mut tables: Tables) -> Vec<Delivery> {
        forget_impossible_times(&mut tables);
        let day_of: BTreeMap<(String, i64), String> = tables
            .slices
            .iter()
            .map(|row| ((row.stream.clone(), row.seq), row.start_s.map_or(UNKNOWN_DAY.into(), day_name)))
            .collect();
        let mut parts: BTreeMap<(String, String), Tables> = BTreeMap::new();
        macro_rules! share {
            ($($table:ident),*) => { $(for row in tables.$table {
                let day = day_of.get(&(row.stream.clone(), row.seq)).cloned();
                let day = day.unwrap_or_else(|| UNKNOWN_DAY.into());
                parts.entry((row.stream.clone(), day)).or_default().$table.push(row);
            })* };
        }
        share!(slices, bins, limits, causes, worst);
        let machines = tables.machines;
        let whole = parts.into_iter().filter(|(_, part)| !part.slices.is_empty());
        whole
            .map(|(_, mut part)| {
                let used = |row: &&MachineRow| {
                    part.slices.iter().any(|s| s.env == row.env && s.machine == row.machine)
                };
                part.machines = machines.iter().filter(used).cloned().collect();
                Delivery::new(part, String::new())
            })
            .collect()
    }

    /// A delivery of rows; for sums, `summed` names the slices that they are of.
    pub fn new(mut tables: Tables, summed: String) -> Self {
        tables.sort();
        let day = tables.slices.first().and_then(|row| row.start_s).map_or(UNKNOWN_DAY.into(), day_name);
        let mut content = content_hash(&tables);
        if !summed.is_empty() {
            content = hash::hash_parts([&content, &summed]);
        }
        Delivery { tables, day, content, summed }
    }

    pub fn name(&self) -> DeliveryName {
        let slices = &self.tables.slices;
        let numbers = || slices.iter().map(|row| row.seq);
        let first = slices.first().map(|row| (file_safe_name(&row.machine), row.stream.clone()));
        let is_of_one =
            slices.first().zip(slices.last()).is_none_or(|(first, last)| first.stream == last.stream);
        let (machine, stream) = match is_of_one {
            true => first.unwrap_or_default(),
            false => ("all".into(), hash::short_hash([&self.content])),
        };
        DeliveryName {
            machine,
            stream,
            first: numbers().min().unwrap_or_default(),
            last: numbers().max().unwrap_or_default(),
            content: self.content.chars().take(16).collect(),
        }
    }

    /// Writes its files below a folder of deliveries, into that of its day; returns the path of the file `slices`.
    /// Files that are there already are left as they are.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Error> {
        self.write_in(&folder.join(format!("day={}", self.day)))
    }

    /// Writes its files into this folder of a day or month, unless they are there; returns the path of the file `slices`.
    pub fn write_in(&self, directory: &Path) -> Result<PathBuf, Error> {
        let name = self.name();
        let path = directory.join(name.file_name(SliceRow::TABLE));
        if path.exists() {
            return Ok(path);
        }
        fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
        for (table, rows) in flat_tables(&self.tables) {
            let mut metadata = vec![(FORMAT_KEY, FORMAT.to_string()), (CONTENT_KEY, self.content.clone())];
            if table == SliceRow::TABLE && !self.summed.is_empty() {
                metadata.push((SUMMED_KEY, self.summed.clone()));
            }
            atomic_file::write(directory.join(name.file_name(table)), &rows.to_parquet(&metadata)?, true)?;
        }
        Ok(path)
    }

    /// Reads the delivery whose file `slices` this is; fails if rows, name and sums do not agree.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let Some((name, SliceRow::TABLE)) = DeliveryName::from_path(path) else {
            return Err(foreign_file(path));
        };
        let open = |table: &str| {
            let file = path.with_file_name(name.file_name(table));
            open(&file)
        };
        let slices = open(SliceRow::TABLE)?;
        let summed = slices.metadata(SUMMED_KEY).unwrap_or_default().to_owned();
        let tables = Tables {
            slices: read(&slices)?,
            bins: read(&open(BinRow::TABLE)?)?,
            limits: read(&open(LimitRow::TABLE)?)?,
            causes: read(&open(CauseRow::TABLE)?)?,
            worst: read(&open(WorstRow::TABLE)?)?,
            machines: read(&open(MachineRow::TABLE)?)?,
        };
        let found = Delivery::new(tables, summed);
        if found.name() != name {
            return Err(Error::damaged(format!("{} holds other rows than its name says", path.display())));
        }
        found.check().map_err(|error| error.within(path.display()))?;
        Ok(found)
    }

    /// Fails if its counts, bins and due times contradict each other.
    pub fn check(&self) -> Result<(), Error> {
        // Bins of sums are by the day, which several rows of slices are of.
        let part = |seq: i64, start_s: Option<i64>| match start_s {
            Some(start_s) if !self.summed.is_empty() => start_s.div_euclid(DAY_S),
            _ => seq,
        };
        type Key<'a> = (&'a str, i64, &'a str, i8);
        let mut binned: BTreeMap<Key<'_>, i64> = BTreeMap::new();
        for row in &self.tables.bins {
            if upper_edge(row.high_ns) != row.high_ns {
                return Err(contradictory_sums(OTHER_BINS));
            }
            let key = (row.stream.as_str(), part(row.seq, row.start_s), row.task.as_str(), row.quantity);
            let sum = binned.entry(key).or_default();
            *sum =
                sum.checked_add(row.n).filter(|_| row.n > 0).ok_or_else(|| contradictory_sums(EMPTY_BIN))?;
        }
        let mut counted: BTreeMap<Key<'_>, i64> = BTreeMap::new();
        for row in &self.tables.slices {
            let key = (row.stream.as_str(), part(row.seq, row.start_s), row.task.as_str(), row.quantity);
            let sum = counted.entry(key).or_default();
            *sum = sum
                .checked_add(row.count)
                .filter(|_| row.count >= 0)
                .ok_or_else(|| contradictory_sums(OTHER_COUNT))?;
            let due = row.missed.and_then(|missed| row.count.checked_add(missed)?.checked_add(row.lost));
            let is_plain = row.quantity == 0 && row.unknown.is_empty();
            if is_plain && row.due != due {
                return Err(contradictory_sums(OTHER_DUE));
            }
        }
        counted.retain(|_, count| *count != 0);
        match counted == binned {
            true => Ok(()),
            false if binned.keys().all(|key| counted.contains_key(key)) => {
                Err(contradictory_sums(OTHER_COUNT))
            }
            false => Err(contradictory_sums(BINS_ALONE)),
        }
    }

    /// Hash of the `slices` rows of each slice by its number, whatever time it has.
    pub fn slice_hashes(&self) -> BTreeMap<i64, String> {
        let mut rows: BTreeMap<i64, Vec<SliceRow>> = BTreeMap::new();
        for row in &self.tables.slices {
            let timeless = SliceRow { start_s: None, max_at_s: None, ..row.clone() };
            rows.entry(row.seq).or_default().push(timeless);
        }
        let hash = |rows: Vec<SliceRow>| {
            let mut hash = content_hash(&Tables { slices: rows, ..Tables::default() });
            hash.truncate(HASH_CHARS);
            hash
        };
        rows.into_iter().map(|(seq, rows)| (seq, hash(rows))).collect()
    }
}

/// The files `slices` of all deliveries in a folder, in order of their names; none where there is no folder.
pub fn list_slices_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = list_files(folder)?;
    found.retain(|path| path.to_string_lossy().ends_with(SLICES_ENDING));
    Ok(found)
}

/// Files in the subfolders of a folder, in order of their names; none where there is no folder.
pub fn list_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for day in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let day = day.map_err(Error::file("read", folder))?.path();
        if day.is_dir() {
            for file in fs::read_dir(&day).map_err(Error::file("read", &day))? {
                found.push(file.map_err(Error::file("read", &day))?.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Opens a file of a delivery; one of a newer format is refused.
pub fn open(path: &Path) -> Result<FlatFile, Error> {
    let bytes = fs::read(path).map_err(Error::file("read", path))?;
    let file = FlatFile::open(bytes).map_err(|error| error.within(path.display()))?;
    match file.metadata(FORMAT_KEY).and_then(|format| format.parse::<u32>().ok()) {
        Some(FORMAT) => Ok(file),
        Some(newer) if newer > FORMAT => Err(Error::damaged(format!(
            "{} is of format {newer} of fleets, and this jitterlab reads {FORMAT}",
            path.display()
        ))
        .remedy("update jitterlab")),
        _ => Err(foreign_file(path)),
    }
}

/// Fails if the end of a file is not that of a whole Parquet file; reads nothing else.
pub fn check_parquet_end(path: &Path) -> Result<(), Error> {
    let refused = || Error::file("read", path);
    let file = File::open(path).map_err(Error::file("open", path))?;
    let size = file.metadata().map_err(refused())?.len();
    let mut end = [0; 8];
    let place = size.checked_sub(8).ok_or_else(|| truncated_file(path))?;
    file.read_exact_at(&mut end, place).map_err(refused())?;
    let [a, b, c, d, b'P', b'A', b'R', b'1'] = end else { return Err(truncated_file(path)) };
    match u64::from(u32::from_le_bytes([a, b, c, d])) + 12 <= size {
        true => Ok(()),
        false => Err(truncated_file(path)),
    }
}

/// Removes the files of a delivery, the table of slices first: without it the others count for nothing.
pub fn remove_files(slices: &Path) -> Result<(), Error> {
    let Some((name, _)) = DeliveryName::from_path(slices) else { return Err(foreign_file(slices)) };
    for table in TABLES.iter().rev() {
        let path = slices.with_file_name(name.file_name(table));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file("remove", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// True if a clock that was set can show this time.
pub fn is_possible_time(at_s: Option<i64>) -> bool {
    at_s.is_some_and(|at_s| TIMES_S.contains(&at_s))
}

fn forget_impossible_times(tables: &mut Tables) {
    let check = |time: &mut Option<i64>| *time = time.filter(|_| is_possible_time(*time));
    tables.for_each_row(|_, _, time| check(time));
    for row in &mut tables.machines {
        check(&mut row.first_s);
        check(&mut row.last_s);
    }
}

fn is_file_safe(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) && name.len() <= NAME_CHARS
}

/// A machine's name as file names can have it: the true name is in the rows.
fn file_safe_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    name.chars().take(NAME_CHARS).map(keep).collect()
}

/// The tables, each with its name, `slices` last; one at a time, since that of bins is large.
fn flat_tables(tables: &Tables) -> impl Iterator<Item = (&'static str, FlatTable)> {
    type Make = fn(&Tables) -> FlatTable;
    let all: [(&'static str, Make); TABLES.len()] = [
        (BinRow::TABLE, |of| to_table(&of.bins)),
        (LimitRow::TABLE, |of| to_table(&of.limits)),
        (CauseRow::TABLE, |of| to_table(&of.causes)),
        (WorstRow::TABLE, |of| to_table(&of.worst)),
        (MachineRow::TABLE, |of| to_table(&of.machines)),
        (SliceRow::TABLE, |of| to_table(&of.slices)),
    ];
    all.into_iter().map(move |(name, make)| (name, make(tables)))
}

/// Hash of all rows.
pub(crate) fn content_hash(tables: &Tables) -> String {
    let mut hash = PartsHash::default();
    for (name, table) in flat_tables(tables) {
        hash.add(name);
        for values in &table.values {
            match values {
                Values::Texts(texts) => texts.iter().for_each(|text| hash.add(text)),
                Values::Numbers(numbers) => numbers.iter().for_each(|number| match number {
                    Some(number) => hash.add(number.to_le_bytes()),
                    None => hash.add([]),
                }),
            }
        }
    }
    hash.finish()
}
