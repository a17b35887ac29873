//! Slices in files.

use std::fs;
use std::path::Path;

use jitterlab_fleet::delivery::{Delivery, DeliveryName, list_slices_files};
use jitterlab_fleet::rows;

use crate::samples::sample;

#[test]
fn a_delivery_comes_back_and_the_same_rows_have_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let parts = Delivery::split(sample("line 3/'α'", 4));
    assert_eq!(parts.iter().map(|part| part.day.as_str()).collect::<Vec<_>>(), ["2026-11-26", "2026-11-27"]);
    for part in &parts {
        let path = part.write(folder.path()).unwrap();
        assert_eq!(part.write(folder.path()).unwrap(), path);
        assert_eq!(&Delivery::read(&path).unwrap(), part);
    }
    assert_eq!(list_slices_files(folder.path()).unwrap().len(), 2);
    let name = parts[0].name();
    assert_eq!(DeliveryName::from_path(Path::new(&name.file_name("bins"))), Some((name, "bins")));
    assert_eq!(DeliveryName::from_path(Path::new("a.parquet")), None);
}

#[test]
fn what_is_cut_changed_newer_or_contradicts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let part = Delivery::split(sample("cnc", 1)).remove(0);
    let path = part.write(folder.path()).unwrap();
    let said = |path: &Path| Delivery::read(path).unwrap_err().to_string();
    let bins = path.with_file_name(part.name().file_name("bins"));
    let bytes = fs::read(&bins).unwrap();
    fs::write(&bins, &bytes[..bytes.len() / 2]).unwrap();
    assert!(said(&path).contains("cut short"), "{}", said(&path));
    let newer = rows::to_table(&part.tables.bins).to_parquet(&[(rows::FORMAT_KEY, "2".into())]).unwrap();
    fs::write(&bins, newer).unwrap();
    assert!(said(&path).contains("format 2"), "{}", said(&path));
    fs::remove_file(&bins).unwrap();
    assert!(said(&path).contains("no file"), "{}", said(&path));
    let mut changed = part.tables.clone();
    changed.bins[0].n += 1;
    let changed = Delivery::split(changed).remove(0);
    assert_ne!(changed.name(), part.name());
    let path = changed.write(folder.path()).unwrap();
    assert!(said(&path).contains("contradict"), "{}", said(&path));
}

#[test]
fn slices_are_joined_to_shifts_and_bins_to_days() {
    let all = sample("cnc", 12);
    let one = all.clone().into_days();
    let times = |rows: &[rows::SliceRow]| {
        rows.iter().filter(|row| row.quantity == 0).map(|row| (row.seq, row.count)).collect::<Vec<_>>()
    };
    // From 22:00 on: two hours, eight, two.
    assert_eq!(times(&one.slices), [(0, 100), (2, 400), (10, 100)]);
    let days: std::collections::BTreeSet<i64> = one.bins.iter().map(|row| row.seq).collect();
    assert_eq!(days.into_iter().collect::<Vec<_>>(), [0, 2]);
    let sum = |rows: &[rows::SliceRow]| {
        rows.iter().filter(|row| row.quantity == 0).filter_map(|row| row.sum_ns).sum::<i64>()
    };
    assert_eq!(sum(&one.slices), sum(&all.slices));
    assert_eq!(one.bins.iter().map(|row| row.n).sum::<i64>(), all.bins.iter().map(|row| row.n).sum::<i64>());
    assert_eq!(one.clone().into_days(), one);
    Delivery::new(one, "of some deliveries\n".into()).check().unwrap();
}

#[test]
fn a_time_that_cannot_be_is_not_known() {
    let mut tables = sample("cnc", 1);
    tables.slices[0].start_s = Some(7);
    tables.slices.iter_mut().for_each(|row| row.start_s = Some(12_000));
    assert_eq!(Delivery::split(tables)[0].day, "unknown");
}
