//! Input that cannot be: each has its sentence and its exit status, and the rest is answered.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_fleet::delivery::list_slices_files;
use jitterlab_fleet::{BinRow, CauseRow, Delivery, rows};

use crate::answers::{engine, fleet, said};
use crate::samples::sample;

/// A fleet of two machines, the first of which lies in the folder that comes with it.
fn two(folder: &Path) -> (PathBuf, Vec<PathBuf>) {
    let all = folder.join("fleet");
    for (number, name) in ["a", "b"].into_iter().enumerate() {
        let mut tables = sample(name, 2);
        tables.set_stream(&format!("{number:016x}"));
        Delivery::split(tables).iter().for_each(|part| drop(part.write(&all.join("in")).unwrap()));
    }
    let files = list_slices_files(&all.join("in")).unwrap();
    (all, files)
}

/// A program that takes part in being DuckDB, and fails as it may.
fn false_engine(folder: &Path, script: &str) -> String {
    let path = folder.join("duckdb");
    fs::write(&path, format!("#!/bin/sh\ncase \"$*\" in *SELECT*) echo 1; exit 0;; esac\n{script}\n"))
        .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn an_engine_without_room_or_of_another_kind_is_named_with_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let (all, _) = two(folder.path());
    let all = all.display().to_string();
    for (script, expected) in [
        (
            "echo 'Out of Memory Error: failed to allocate data of size 16.0 MiB (1.0 GiB/1.0 GiB used)' >&2; exit 1",
            "Out of Memory Error",
        ),
        (
            "echo 'IO Error: Could not write file \"spilled\": No space left on device' >&2; exit 1",
            "No space left on device",
        ),
        ("echo 'Parser Error: syntax error at or near \"memory_limit\"' >&2; exit 1", "Parser Error"),
        ("cat > /dev/null; kill -9 $$", "SIGKILL"),
        ("exit 1", "did not answer"),
        // It ends well, and leaves nothing.
        ("cat > /dev/null", "left no answer"),
        (
            "sed -n \"s/^) TO '\\(.*\\)' (FORMAT json);/\\1/p\" | while read -r to; do echo '{\"x\":1}' > \"$to\"; done",
            "other columns",
        ),
        (
            "sed -n \"s/^) TO '\\(.*\\)' (FORMAT json);/\\1/p\" | while read -r to; do echo '{\"mach' > \"$to\"; done",
            "other columns",
        ),
    ] {
        let output = fleet(&[&all, "--engine", &false_engine(folder.path(), script)]);
        assert_eq!(
            (output.status.code(), output.stdout.is_empty()),
            (Some(3), true),
            "{script}: {}",
            said(&output)
        );
        assert!(said(&output).contains(expected), "{script}: {}", said(&output));
    }
}

#[test]
fn a_real_engine_out_of_memory_or_disk_leaves_no_figure() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (all, _) = two(folder.path());
    let all = all.display().to_string();
    // A disk without room: its temporary folder may not grow, nor may it.
    let mut program = Command::new("sh");
    program.args([
        "-c",
        "ulimit -f 0; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_jitterlab-fleet"),
        &all,
        "--engine",
        &engine,
    ]);
    let output = program.output().unwrap();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(3), true), "{}", said(&output));
    let query = "SET temp_directory=''; SET memory_limit='20MB'; SELECT COUNT(*) FROM (SELECT i, COUNT(*) FROM range(20000000) t(i) GROUP BY i)";
    let output = fleet(&["sql", &all, query, "--engine", &engine]);
    assert!(output.status.code() == Some(3) && output.stdout.is_empty(), "{}", said(&output));
    assert!(said(&output).contains("--since"), "{}", said(&output));
}

#[test]
fn files_that_cannot_be_are_left_out_by_name_and_the_rest_is_answered() {
    let Some(engine) = engine() else { return };
    type Damage = fn(&Path);
    let bins = |slices: &Path| PathBuf::from(slices.display().to_string().replace(".slices.", ".bins."));
    let cases: [(&str, Damage, &str); 6] = [
        ("cut short", |slices| cut(slices), "cut short"),
        ("empty", |slices| fs::write(slices, []).unwrap(), "cut short"),
        (
            "foreign",
            |slices| fs::write(slices, rows::to_table::<BinRow>(&[]).to_parquet(&[]).unwrap()).unwrap(),
            "no slices of a fleet",
        ),
        (
            "newer",
            |slices| {
                let newer =
                    rows::to_table::<BinRow>(&[]).to_parquet(&[(rows::FORMAT_KEY, "2".into())]).unwrap();
                fs::write(slices, newer).unwrap();
            },
            "update jitterlab",
        ),
        (
            "another table gone",
            |slices| {
                fs::remove_file(slices.display().to_string().replace(".slices.", ".causes.")).unwrap();
            },
            "no file",
        ),
        (
            "another name",
            |slices| fs::rename(slices, slices.with_file_name("it's mine.slices.parquet")).unwrap(),
            "no slices of a fleet",
        ),
    ];
    for (name, damage, sentence) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (all, files) = two(folder.path());
        damage(&files[0]);
        let all = all.display().to_string();
        let output = fleet(&[&all, "--engine", &engine]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
        assert!(
            said(&output).contains(sentence) && said(&output).contains("of 1 machine"),
            "{name}: {}",
            said(&output)
        );
    }
    // Its bytes are whole, its rows are not those of its name.
    let folder = tempfile::tempdir().unwrap();
    let (all, files) = two(folder.path());
    let mut tables = Delivery::read(&files[0]).unwrap().tables;
    tables.bins[0].high_ns += 1;
    let changed = rows::to_table(&tables.bins).to_parquet(&[(rows::FORMAT_KEY, "1".into())]).unwrap();
    fs::write(bins(&files[0]), changed).unwrap();
    let output = fleet(&["check", &all.display().to_string()]);
    assert!(
        output.status.code() == Some(1) && said(&output).contains("other rows than its name says"),
        "{}",
        said(&output)
    );
    let output =
        fleet(&["add", &folder.path().join("other").display().to_string(), &all.display().to_string()]);
    assert!(output.status.code() == Some(1) && said(&output).contains("of 1 machine"), "{}", said(&output));
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

#[test]
fn sums_that_contradict_are_refused() {
    type Change = fn(&mut jitterlab_fleet::Tables);
    let cases: [(Change, &str); 5] = [
        (
            |tables| {
                let row = &mut tables.slices[0];
                (row.count, row.due) = (row.count + 1, row.due.map(|due| due + 1));
            },
            "not as many values",
        ),
        (|tables| tables.slices[0].missed = Some(3), "due times"),
        (|tables| tables.bins[0].n = 0, "a bin is empty"),
        (|tables| tables.bins[0].task = "other".into(), "belong to no slice"),
        (|tables| tables.bins[0].high_ns += 1, "other edges"),
    ];
    for (change, sentence) in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = sample("a", 1);
        change(&mut tables);
        let mut other = sample("b", 1);
        other.set_stream("00000000000000bb");
        tables.append(other);
        Delivery::split(tables)
            .iter()
            .for_each(|part| drop(part.write(&folder.path().join("from")).unwrap()));
        let (all, from) = (folder.path().join("fleet"), folder.path().join("from"));
        let output = fleet(&["add", &all.display().to_string(), &from.display().to_string()]);
        assert!(
            output.status.code() == Some(1)
                && said(&output).contains(sentence)
                && said(&output).contains("1 slice of 1 machine taken in"),
            "{sentence}: {}",
            said(&output)
        );
    }
}

/// Names are data: whatever is in them, they come back as they are.
#[test]
fn names_with_anything_in_them_and_very_many_causes_are_answered() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("it's \"all\"; --");
    let names = [
        "a'b",
        "a\"b",
        "../../etc/passwd",
        "a\nb\u{1b}[2J",
        "); DROP VIEW slices; --",
        "\u{202e}cnc",
        "\\",
        "{rows}",
    ];
    for (number, name) in names.into_iter().enumerate() {
        let mut tables = sample(name, 1);
        tables.set_stream(&format!("{number:016x}"));
        tables.slices.iter_mut().for_each(|row| row.task = name.into());
        tables.bins.iter_mut().for_each(|row| row.task = name.into());
        tables.limits.iter_mut().for_each(|row| row.task = name.into());
        let first = tables.slices[0].clone();
        let causes = if number == 0 { 300_000 } else { 1 };
        tables.causes.extend((0..causes).map(|cause| CauseRow {
            machine: first.machine.clone(),
            stream: first.stream.clone(),
            task: name.into(),
            class: "interrupt".into(),
            who: format!("{name}{cause}"),
            times: 1,
            sum_ns: 1_000,
            max_ns: 1_000,
            start_s: first.start_s,
            ..CauseRow::default()
        }));
        Delivery::split(tables).iter().for_each(|part| drop(part.write(&all.join("in")).unwrap()));
    }
    let all = all.display().to_string();
    let output = fleet(&["worst", &all, "--engine", &engine, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found: Vec<&str> = answer["result"]["machines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["machine"].as_str().unwrap())
        .collect();
    let mut names = names.to_vec();
    found.sort_unstable();
    names.sort_unstable();
    assert_eq!(found, names);
    let causes = fleet(&["causes", &all, "--engine", &engine]);
    assert_eq!(causes.status.code(), Some(0), "{}", said(&causes));
    assert!(String::from_utf8_lossy(&causes.stdout).lines().count() < 120, "{}", said(&causes));
    for name in names {
        let output = fleet(&["machine", &all, name, "--engine", &engine]);
        assert_eq!(output.status.code(), Some(0), "{name:?}: {}", said(&output));
        assert!(!said(&output).contains('\u{1b}'), "{name:?}");
    }
}
