//! Times of slices whose clock was not set yet: a later slice of the same start of the machine tells them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;

use crate::delivery::{self, Delivery};
use crate::folder::{DAYS, IN};
use crate::rows::{self, SliceRow};
use crate::tables::Tables;

/// A clock that is further off was not set.
const OFF_S: i64 = 60;

/// Moment of a start of a machine: by the monotonic clock, in Unix time, and whether the clock was known to be set.
type BootMoment = (i64, i64, bool);

/// Sets the times of undated slices, by later slices of the same boot. Nobody else may change the folder meanwhile.
pub fn date_slices(fleet: &Path) -> Result<(), Error> {
    let inbox = fleet.join(IN);
    let mut unplaced: BTreeMap<PathBuf, Vec<SliceRow>> = BTreeMap::new();
    let mut known: BTreeMap<(String, String), Vec<BootMoment>> = BTreeMap::new();
    for file in delivery::list_slices_files(&inbox)? {
        let rows = read_slices(&file);
        if rows.iter().any(|row| lacks_time(row) && !row.boot.is_empty() && row.mono_ns.is_some()) {
            unplaced.insert(file, rows.clone());
        }
        collect_moments(&mut known, &rows);
    }
    if unplaced.is_empty() {
        return Ok(());
    }
    for file in delivery::list_slices_files(&fleet.join(DAYS))? {
        collect_moments(&mut known, &read_slices(&file));
    }
    for (file, rows) in unplaced {
        let times: BTreeMap<i64, i64> =
            rows.iter().filter_map(|row| Some((row.seq, find_time(row, &known)?))).collect();
        if times.is_empty() {
            continue;
        }
        let mut placed = Delivery::read(&file)?.tables;
        set_times(&mut placed, &times);
        for part in Delivery::split(placed) {
            part.write(&inbox)?;
        }
        delivery::remove_files(&file)?;
    }
    Ok(())
}

/// Rows of a delivery; of a damaged one none.
fn read_slices(file: &Path) -> Vec<SliceRow> {
    delivery::open(file).and_then(|found| rows::read(&found)).unwrap_or_default()
}

/// True if the time of a slice is not known, or its clock was not set.
fn lacks_time(row: &SliceRow) -> bool {
    row.start_s.is_none() || row.clock_ok == Some(0)
}

/// Adds the known moments of slices, by machine and start of the machine.
fn collect_moments(known: &mut BTreeMap<(String, String), Vec<BootMoment>>, rows: &[SliceRow]) {
    for row in rows.iter().filter(|row| row.quantity == 0 && row.clock_ok != Some(0) && !row.boot.is_empty())
    {
        if let Some((mono_ns, start_s)) = row.mono_ns.zip(row.start_s) {
            let key = (row.machine.clone(), row.boot.clone());
            known.entry(key).or_default().push((mono_ns, start_s, row.clock_ok == Some(1)));
        }
    }
}

/// Time of an undated slice by the next later known moment of its boot; `None` if it is unknown, or right already.
fn find_time(row: &SliceRow, known: &BTreeMap<(String, String), Vec<BootMoment>>) -> Option<i64> {
    let mono_ns = row.mono_ns.filter(|_| lacks_time(row))?;
    let of_boot = known.get(&(row.machine.clone(), row.boot.clone()))?;
    let later = of_boot.iter().filter(|moment| moment.0 >= mono_ns);
    // A clock that shows a possible time is wrong only against one that is known to be right.
    let later = later.filter(|moment| row.start_s.is_none() || moment.2);
    let (at_ns, at_s, _) = later.min()?;
    let start_s = at_s - (at_ns - mono_ns).div_euclid(1_000_000_000);
    row.start_s.is_none_or(|own_s| (own_s - start_s).abs() > OFF_S).then_some(start_s)
}

/// Sets the times of slices by their number, and moves all that depends on them.
fn set_times(tables: &mut Tables, times: &BTreeMap<i64, i64>) {
    let before = tables.slices.iter().filter_map(|row| Some((row.seq, row.start_s?)));
    let before: BTreeMap<i64, i64> = before.collect();
    let later = |seq: i64, at_s: Option<i64>| {
        let by = before.get(&seq).zip(times.get(&seq)).map_or(0, |(before_s, now_s)| now_s - before_s);
        at_s.map(|at_s| at_s + by)
    };
    tables.slices.iter_mut().for_each(|row| row.max_at_s = later(row.seq, row.max_at_s));
    let mut worst = std::mem::take(&mut tables.worst);
    worst.iter_mut().for_each(|row| row.at_s = later(row.seq, row.at_s));
    tables.for_each_row(|_, seq, start_s| *start_s = times.get(&seq).copied().or(*start_s));
    tables.worst = worst;
    let latencies = tables.slices.iter().filter(|row| row.quantity == 0);
    let spans = latencies.filter_map(|row| Some((row.env.clone(), row.start_s?, row.length_ms / 1_000)));
    let spans: Vec<(String, i64, i64)> = spans.collect();
    for machine in &mut tables.machines {
        let of = || spans.iter().filter(|span| span.0 == machine.env);
        let times = (of().map(|span| span.1).min(), of().map(|span| span.1 + span.2).max());
        (machine.first_s, machine.last_s) = times;
    }
}
