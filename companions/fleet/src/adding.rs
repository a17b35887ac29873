//! Taking in: what machines deliver and runs, in any order and any number of times, each slice once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_runs::{Hints, Run};

use crate::cut::cut;
use crate::delivery::{self, Delivery, DeliveryName};
use crate::error;
use crate::folder::{self, Fleet, IN, LeftOut};
use crate::rows::{Row, SliceRow};
use crate::tables::Tables;

/// Result of taking in files.
#[derive(Debug, Default)]
pub struct Added {
    /// Slices that are new.
    pub slices: u64,
    /// Slices that were here already.
    pub known: u64,
    /// Machines that new slices are of.
    pub machines: BTreeMap<String, u64>,
    /// New slices without a time: their clock was never set, or their source tells none.
    pub without_time: u64,
    /// Files that were not taken in, and why.
    pub left_out: Vec<LeftOut>,
}

/// Takes in files and folders.
#[derive(Debug)]
pub struct Intake {
    folder: PathBuf,
    machine: Option<String>,
    /// Deliveries that are here, by stream.
    known: BTreeMap<String, Vec<PathBuf>>,
    added: Added,
}

impl Intake {
    /// Begins with what is in a folder, which is made where it is not there. Runs are of this machine, if it is named.
    ///
    /// # Errors
    /// The folder cannot be read or made.
    pub fn new(folder: &Path, machine: Option<&str>) -> Result<Self, Error> {
        if folder.is_file() {
            let file = folder.display();
            return Err(Error::bad_use(format!("{file} is a file, and the folder of the fleet comes first"))
                .remedy(format!("jitterlab fleet add plant {file}")));
        }
        let inbox = folder.join(IN);
        fs::create_dir_all(&inbox).map_err(Error::file("create", &inbox))?;
        let mut known: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in delivery::list(&inbox)? {
            if let Some((name, _)) = DeliveryName::from_path(&path) {
                known.entry(name.stream).or_default().push(path);
            }
        }
        let machine = machine.map(str::to_owned);
        Ok(Intake { folder: folder.into(), machine, known, added: Added::default() })
    }

    /// Takes in a file, or all files of a folder.
    ///
    /// # Errors
    /// The fleet's folder cannot be written, or nothing has this name.
    pub fn add(&mut self, from: &Path) -> Result<(), Error> {
        let found = fs::metadata(from).map_err(Error::file("open", from))?;
        if !found.is_dir() {
            return self.add_file(from);
        }
        let mut entries: Vec<PathBuf> = fs::read_dir(from)
            .map_err(Error::file("read", from))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')))
            .collect();
        entries.sort();
        entries.iter().try_for_each(|entry| self.add(entry))
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Error> {
        let taken = match DeliveryName::from_path(path) {
            Some((_, SliceRow::TABLE)) => Delivery::read(path).map(|delivery| vec![delivery]),
            // It goes with the table of slices beside it.
            Some(_) => return self.check_company(path),
            None => Run::open(path, &Hints::default())
                .and_then(|run| cut(&run, self.machine.as_deref()))
                .map(Delivery::split),
        };
        match taken {
            Ok(deliveries) => deliveries.into_iter().try_for_each(|delivery| self.take(path, delivery)),
            Err(why) => {
                self.leave_out(path, why);
                Ok(())
            }
        }
    }

    /// Leaves out a file whose table of slices is not there.
    fn check_company(&mut self, path: &Path) -> Result<(), Error> {
        let whole =
            DeliveryName::from_path(path).map(|(name, _)| path.with_file_name(name.file(SliceRow::TABLE)));
        if whole.is_none_or(|whole| !whole.is_file()) {
            self.leave_out(path, error::incomplete(path));
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &Path, why: Error) {
        self.added.left_out.push(LeftOut { path: path.into(), why });
    }

    /// Takes a delivery in, without the slices of it that are here.
    fn take(&mut self, from: &Path, delivery: Delivery) -> Result<(), Error> {
        let name = delivery.name();
        let mut here = BTreeMap::new();
        for path in self.known.get(&name.stream).into_iter().flatten() {
            let Some((other, _)) = DeliveryName::from_path(path) else { continue };
            if other.first <= name.last && name.first <= other.last {
                match Delivery::read(path) {
                    Ok(known) => here.extend(known.tables.slices.into_iter().map(|row| (key(&row), row))),
                    // A damaged one is replaced by a whole one of the same name.
                    Err(_) => continue,
                }
            }
        }
        if delivery.tables.slices.iter().any(|row| here.get(&key(row)).is_some_and(|known| known != row)) {
            let aside = folder::put_aside(&self.folder, &delivery)?;
            self.leave_out(from, error::rewritten(&name.machine, &aside));
            return Ok(());
        }
        let is_known = |stream: &str, seq: i64| here.keys().any(|known| known.0 == stream && known.1 == seq);
        let mut rest = Tables::new();
        let Tables { slices, bins, limits, causes, worst, machines } = delivery.tables;
        rest.slices = slices.into_iter().filter(|row| !is_known(&row.stream, row.seq)).collect();
        let seqs: BTreeMap<i64, String> =
            rest.slices.iter().map(|row| (row.seq, row.machine.clone())).collect();
        self.added.known += here.keys().map(|known| known.1).collect::<BTreeSet<_>>().len() as u64;
        if seqs.is_empty() {
            return Ok(());
        }
        rest.bins = bins.into_iter().filter(|row| seqs.contains_key(&row.seq)).collect();
        rest.limits = limits.into_iter().filter(|row| seqs.contains_key(&row.seq)).collect();
        rest.causes = causes.into_iter().filter(|row| seqs.contains_key(&row.seq)).collect();
        rest.worst = worst.into_iter().filter(|row| seqs.contains_key(&row.seq)).collect();
        rest.machines = machines;
        for part in Delivery::split(rest) {
            let path = part.write(&self.folder.join(IN))?;
            self.known.entry(name.stream.clone()).or_default().push(path);
            let times: BTreeMap<i64, Option<i64>> =
                part.tables.slices.iter().map(|row| (row.seq, row.start_s)).collect();
            self.added.without_time += times.values().filter(|time| time.is_none()).count() as u64;
        }
        self.added.slices += seqs.len() as u64;
        for machine in seqs.into_values() {
            *self.added.machines.entry(machine).or_default() += 1;
        }
        Ok(())
    }

    /// Ends taking in, and says what came of it.
    #[must_use]
    pub fn finish(self) -> Added {
        self.added
    }
}

/// Key of a row of slices.
fn key(row: &SliceRow) -> (String, i64, String, i8) {
    (row.stream.clone(), row.seq, row.task.clone(), row.quantity)
}

/// Reads every file of a fleet and holds it against its hash; `repair` puts aside what repeats slices of another file.
/// Gives how many are whole, and what is not.
///
/// # Errors
/// The folder cannot be read, or what repeats cannot be moved.
pub fn check(path: &Path, repair: bool) -> Result<(u64, Vec<LeftOut>), Error> {
    let fleet = Fleet::open(path, None)?;
    let (mut whole, mut left_out) = (0, fleet.left_out);
    let mut seen: BTreeSet<(String, i64, String, i8)> = BTreeSet::new();
    for file in &fleet.deliveries {
        let file = path.join(file);
        let delivery = match Delivery::read(&file) {
            Ok(delivery) => delivery,
            Err(why) => {
                left_out.push(LeftOut { path: file, why });
                continue;
            }
        };
        let keys: Vec<_> = delivery.tables.slices.iter().map(key).collect();
        if keys.iter().any(|key| seen.contains(key)) {
            let why = error::repeats(&file);
            if repair {
                folder::put_aside(path, &delivery)?;
                delivery::remove(&file)?;
            }
            left_out.push(LeftOut { path: file, why });
            continue;
        }
        seen.extend(keys);
        whole += 1;
    }
    Ok((whole, left_out))
}
