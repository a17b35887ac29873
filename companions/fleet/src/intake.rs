//! Taking in: what machines deliver and runs, in any order and any number of times, each slice once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_runs::{Hints, Run};

use crate::boots;
use crate::calendar;
use crate::compaction::compact;
use crate::delivery::{self, Delivery, DeliveryName};
use crate::error;
use crate::folder::{self, DAYS, Fleet, IN, LeftOut};
use crate::machine_names::{self, Hosts};
use crate::rows::{self, Row, SliceRow};
use crate::run_slices::cut_run;
use crate::sum_parts::SumPart;
use crate::tables::Tables;

/// Counts of taken-in slices, and the files left out.
#[derive(Debug, Default)]
pub struct IntakeResult {
    /// Slices that are new.
    pub slices: u64,
    /// Slices that the folder had already.
    pub known: u64,
    /// Machines that new slices are of.
    pub machines: BTreeSet<String>,
    /// New slices without a time: their clock was never set, or their source tells none.
    pub without_time: u64,
    /// Files that were not taken in, and why.
    pub left_out: Vec<LeftOut>,
}

/// Process of taking in files and folders.
#[derive(Debug)]
pub struct Intake {
    folder: PathBuf,
    machine: Option<String>,
    /// Deliveries in the folder, by stream.
    known: BTreeMap<String, Vec<PathBuf>>,
    /// Deliveries whose slices are in sums, by stream.
    summed: BTreeMap<String, Vec<SumPart>>,
    added: IntakeResult,
    /// Lock that keeps others from asking and taking in meanwhile.
    _lock: Option<File>,
}

impl Intake {
    /// Opens a folder to take slices in, made if it is not there; locks it and lists what it holds. Runs are of
    /// machines named by this [pattern](machine_names::machine_name), else by their hosts.
    pub fn new(folder: &Path, machine: Option<&str>) -> Result<Self, Error> {
        if folder.is_file() {
            let file = folder.display();
            return Err(Error::bad_use(format!("{file} is a file, and the folder of the fleet comes first"))
                .remedy(format!("jitterlab fleet add plant {file}")));
        }
        let inbox = folder.join(IN);
        fs::create_dir_all(&inbox).map_err(Error::file("create", &inbox))?;
        let lock = folder::lock(folder, true);
        let mut known: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in delivery::list_slices_files(&inbox)? {
            if let Some((name, _)) = DeliveryName::from_path(&path) {
                known.entry(name.stream).or_default().push(path);
            }
        }
        let mut summed: BTreeMap<String, Vec<SumPart>> = BTreeMap::new();
        // Of damaged sums nothing is known, so what they are of is taken in again.
        for of in
            delivery::list_slices_files(&folder.join(DAYS))?.iter().flat_map(|path| SumPart::from_file(path))
        {
            summed.entry(of.name.stream.clone()).or_default().push(of);
        }
        let (machine, added) = (machine.map(str::to_owned), IntakeResult::default());
        Ok(Intake { folder: folder.into(), machine, known, summed, added, _lock: lock })
    }

    /// Takes in files, or all files of folders; returns the hosts that runs name. Without a pattern, a host's name must
    /// not stand for several machines.
    pub fn add_all(&mut self, from: &[impl AsRef<Path>]) -> Result<Hosts, Error> {
        let mut files = Vec::new();
        for from in from {
            self.collect_files(from.as_ref(), &mut files)?;
        }
        let mut hosts = Hosts::default();
        if self.machine.is_none() {
            hosts = Hosts::from_files(files.iter().map(PathBuf::as_path));
            hosts.check_unique()?;
        }
        files.iter().try_for_each(|file| self.add_file(file))?;
        Ok(hosts)
    }

    /// Adds a file, or all files below a folder, to a list.
    fn collect_files(&self, from: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
        let found = fs::metadata(from).map_err(Error::file("open", from))?;
        if !found.is_dir() {
            files.push(from.into());
            return Ok(());
        }
        // The fleet's own folder may lie among the run files.
        if fs::canonicalize(from).ok() == fs::canonicalize(&self.folder).ok() {
            return Ok(());
        }
        let mut entries: Vec<PathBuf> = fs::read_dir(from)
            .map_err(Error::file("read", from))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')))
            .collect();
        entries.sort();
        entries.iter().try_for_each(|entry| self.collect_files(entry, files))
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Error> {
        let taken = match DeliveryName::from_path(path) {
            Some((_, SliceRow::TABLE)) => Delivery::read(path).map(|delivery| vec![delivery]),
            // It goes with the table of slices beside it.
            Some(_) => return self.leave_out_unless_with_slices(path),
            None => Run::open(path, &Hints::default())
                .and_then(|run| {
                    let named = |pattern: &String| machine_names::machine_name(pattern, run.info(), path);
                    cut_run(&run, self.machine.as_ref().map(named).as_deref())
                })
                .map(Delivery::split),
        };
        match taken {
            Ok(deliveries) => {
                deliveries.into_iter().try_for_each(|delivery| match delivery.summed.is_empty() {
                    true => self.add_delivery(path, delivery),
                    false => self.add_sums(path, &delivery),
                })
            }
            Err(why) => {
                self.leave_out(path, why);
                Ok(())
            }
        }
    }

    /// Leaves out a file of a delivery, unless its table of slices is next to it.
    fn leave_out_unless_with_slices(&mut self, path: &Path) -> Result<(), Error> {
        let whole = DeliveryName::from_path(path)
            .map(|(name, _)| path.with_file_name(name.file_name(SliceRow::TABLE)));
        if whole.is_none_or(|whole| !whole.is_file()) {
            self.leave_out(path, error::missing_slices_table(path));
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &Path, why: Error) {
        self.added.left_out.push(LeftOut { path: path.into(), why });
    }

    /// Takes in those slices of a delivery that are new; puts it aside if one contradicts a known slice.
    fn add_delivery(&mut self, from: &Path, delivery: Delivery) -> Result<(), Error> {
        let name = delivery.name();
        let mut here: BTreeMap<i64, String> = BTreeMap::new();
        for path in self.known.get(&name.stream).into_iter().flatten() {
            let Some((other, _)) = DeliveryName::from_path(path) else { continue };
            if other.first <= name.last && name.first <= other.last {
                // A damaged one is replaced by a whole one of the same name.
                here.extend(Delivery::read(path).map(|known| known.slice_hashes()).unwrap_or_default());
            }
        }
        for of in self.summed.get(&name.stream).into_iter().flatten().filter(|of| of.may_share_with(&name)) {
            here.extend(of.slices().map(|(seq, hash)| (seq, hash.to_owned())));
        }
        let own = delivery.slice_hashes();
        if own.iter().any(|(seq, hash)| here.get(seq).is_some_and(|known| known != hash)) {
            let aside = folder::put_aside(&self.folder, &delivery)?;
            self.leave_out(from, error::contradicting_slices(&name.machine, &aside));
            return Ok(());
        }
        let new: BTreeSet<i64> = own.keys().filter(|seq| !here.contains_key(seq)).copied().collect();
        self.added.known += (own.len() - new.len()) as u64;
        if new.is_empty() {
            return Ok(());
        }
        let mut rest = delivery.tables;
        rest.retain(|seq| new.contains(&seq));
        self.count_new(&rest, new.len());
        for part in Delivery::split(rest) {
            let path = part.write(&self.folder.join(IN))?;
            self.known.entry(name.stream.clone()).or_default().push(path);
        }
        Ok(())
    }

    /// Takes in sums that another fleet made: all of them or none, since they cannot be taken apart.
    fn add_sums(&mut self, from: &Path, sums: &Delivery) -> Result<(), Error> {
        let parts: Vec<SumPart> = SumPart::from_lines(&sums.summed).collect();
        let is_here =
            |of: &&SumPart| self.summed.get(&of.name.stream).is_some_and(|known| known.contains(of));
        let known = parts.iter().filter(is_here).count();
        let slices = parts.iter().map(|of| of.slices().count()).sum();
        if known == parts.len() {
            self.added.known += slices as u64;
            return Ok(());
        }
        let shares = |of: &SumPart| {
            let own: BTreeSet<i64> = of.slices().map(|(seq, _)| seq).collect();
            let summed = self.summed.get(&of.name.stream).into_iter().flatten();
            let mut of_sums = summed.filter(|known| known.may_share_with(&of.name)).flat_map(SumPart::slices);
            let files = self.known.get(&of.name.stream).into_iter().flatten();
            let files = files.filter(|path| {
                DeliveryName::from_path(path)
                    .is_some_and(|(name, _)| name != of.name && of.may_share_with(&name))
            });
            // Its own deliveries do not count any more once it is here.
            let rows = files
                .filter_map(|path| delivery::open(path).and_then(|file| rows::read::<SliceRow>(&file)).ok());
            of_sums.any(|(seq, _)| own.contains(&seq)) || rows.flatten().any(|row| own.contains(&row.seq))
        };
        if parts.iter().any(shares) {
            self.leave_out(from, error::sums_of_known_slices(from));
            return Ok(());
        }
        let first_s = sums.tables.slices.first().and_then(|row| row.start_s).unwrap_or_default();
        sums.write_in(&self.folder.join(DAYS).join(format!("month={}", calendar::month_name(first_s))))?;
        self.count_new(&sums.tables, slices);
        parts.into_iter().for_each(|of| self.summed.entry(of.name.stream.clone()).or_default().push(of));
        Ok(())
    }

    /// Counts slices that are new.
    fn count_new(&mut self, tables: &Tables, slices: usize) {
        self.added.slices += slices as u64;
        self.added.machines.extend(tables.slices.iter().map(|row| row.machine.clone()));
        let without =
            tables.slices.iter().filter(|row| row.quantity == 0 && !delivery::is_possible_time(row.start_s));
        let without: BTreeSet<(&str, i64)> = without.map(|row| (row.stream.as_str(), row.seq)).collect();
        self.added.without_time += without.len() as u64;
    }

    /// Gives slices the times that later ones tell, and makes sums of finished days.
    pub fn date_and_compact(&self) -> Result<(), Error> {
        boots::date_slices(&self.folder)?;
        compact(&self.folder)
    }

    /// Ends taking in; returns its counts.
    pub fn into_result(self) -> IntakeResult {
        self.added
    }
}

fn slice_key(row: &SliceRow) -> (String, i64, String, i8) {
    (row.stream.clone(), row.seq, row.task.clone(), row.quantity)
}

/// Holds each file of a fleet against its hash; returns the number of whole files, and the others. `repair` puts aside
/// what repeats slices of another file.
pub fn check_files(path: &Path, repair: bool) -> Result<(u64, Vec<LeftOut>), Error> {
    let fleet = Fleet::open(path, None)?;
    let (mut whole, mut left_out) = (0, Vec::new());
    for LeftOut { path: file, why } in fleet.left_out {
        // What repeats sums is whole in itself.
        if let (true, Ok(delivery)) = (repair, Delivery::read(&file)) {
            folder::put_aside(path, &delivery)?;
            delivery::remove_files(&file)?;
        }
        left_out.push(LeftOut { path: file, why });
    }
    let mut seen: BTreeSet<(String, i64, String, i8)> = BTreeSet::new();
    for file in fleet.deliveries.iter().chain(&fleet.sums) {
        let file = path.join(file);
        let delivery = match Delivery::read(&file) {
            Ok(delivery) => delivery,
            Err(why) => {
                left_out.push(LeftOut { path: file, why });
                continue;
            }
        };
        let keys: Vec<_> = delivery.tables.slices.iter().map(slice_key).collect();
        if keys.iter().any(|key| seen.contains(key)) {
            let why = error::repeated_slices(&file);
            if repair {
                folder::put_aside(path, &delivery)?;
                delivery::remove_files(&file)?;
            }
            left_out.push(LeftOut { path: file, why });
            continue;
        }
        seen.extend(keys);
        whole += 1;
    }
    Ok((whole, left_out))
}
