//! pyarrow, pandas, polars and DuckDB open run files as they are.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

mod common;

use std::process::Command;

use common::{closed, info, row};
use jitterlab_model::causes::{Cause, CauseClass, CauseSum, TaskCauses};
use jitterlab_model::{Activation, Keep, RunCauses};
use jitterlab_trace::{Columns, RunReader, RunWriter};

/// A Python that has the packages: the one `./test` prepares, or the system's.
fn python() -> Option<String> {
    let named = std::env::var("JITTERLAB_PYTHON").ok();
    let candidates = named.into_iter().chain(["python3".into()]);
    let found = candidates.into_iter().find(|python| {
        let check = Command::new(python).args(["-c", "import pyarrow, pandas, polars, duckdb"]).output();
        check.is_ok_and(|c| c.status.success())
    });
    if found.is_none() {
        assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "the Python packages are required here");
        eprintln!("skipped: needs a Python with pyarrow, pandas, polars and duckdb (./test installs them)");
    }
    found
}

fn run(python: &str, script: &str, arguments: &[&std::path::Path]) {
    // Some of the readers abort now and then when the interpreter takes their threads down: leave without that.
    let script = format!("{script}\nimport os\nos._exit(0)\n");
    let output = Command::new(python).args(["-c", &script]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const ROWS: &str = r#"
import json, sys, duckdb, pandas, polars, pyarrow.parquet
path = sys.argv[1]
names = ["task", "index", "due_ns", "start_ns", "end_ns", "cpu", "missed", "flags"]
types = ["uint16", "int64", "int64", "int64", "int64", "uint16", "uint32", "uint16"]

file = pyarrow.parquet.ParquetFile(path)
assert file.schema_arrow.names == names
assert [str(t) for t in file.schema_arrow.types] == types
run = json.loads(file.metadata.metadata[b"jitterlab.run"])
assert [t["spec"]["period_ns"] for t in run["tasks"]] == [25000, 1000000]
assert file.metadata.metadata[b"jitterlab.format"] == b"2"

table = pandas.read_parquet(path)
assert list(table.columns) == names and len(table) == 61_001
latency = table.start_ns - table.due_ns
assert str(latency.dtype) == "int64" and latency.min() == -5000 and latency.max() > 300_000
base = table[table.task == 0]
assert (base["index"].diff().dropna() == 1).all()
assert table[table.task == 1].iloc[-1].tolist() == [1, 1000, -7, -5007, 9, 65535, 4294967295, 65535]

frame = polars.read_parquet(path)
assert frame.columns == names and frame.height == len(table)
assert frame.select((polars.col("start_ns") - polars.col("due_ns")).sum()).item() == latency.sum()

found = duckdb.sql(f"""SELECT task, count(*), sum(start_ns - due_ns)::BIGINT, max(missed), sum(missed)::BIGINT
    FROM '{path}' GROUP BY task ORDER BY task""").fetchall()
wanted = [(t, len(g), int((g.start_ns - g.due_ns).sum()), int(g.missed.max()), int(g.missed.sum()))
    for t, g in table.groupby("task")]
assert found == wanted, (found, wanted)
"#;

#[test]
fn every_row_is_read_by_others() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.parquet");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    writer.append(0, &(0..60_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    writer.append(1, &(0..1_000).map(|k| row(1, k)).collect::<Vec<_>>()).unwrap();
    let odd = Activation {
        index: 1_000,
        due_ns: -7,
        start_ns: -5_007,
        end_ns: 9,
        missed: u32::MAX,
        cpu: u16::MAX,
        flags: jitterlab_model::Flags(u16::MAX),
    };
    writer.append(1, &[odd]).unwrap();
    writer.finish(closed(Keep::All)).unwrap();
    run(&python, ROWS, &[&path]);
}

const SLICES: &str = r#"
import io, json, sys, duckdb, pandas, polars, pyarrow.parquet
whole, spikes = sys.argv[1:]
rows = pandas.read_parquet(whole)
kept = pandas.read_parquet(spikes)
assert 0 < len(kept) < len(rows) / 50
assert polars.read_parquet(spikes).height == len(kept)
assert duckdb.sql(f"SELECT count(*) FROM '{spikes}'").fetchall() == [(len(kept),)]

def embedded(path, table):
    places = json.loads(pyarrow.parquet.read_metadata(path).metadata[b"jitterlab.slices"])
    with open(path, "rb") as file:
        data = file.read()
    parts = [data[p["offset"]:p["offset"] + p["length"]] for p in places if p["table"] == table]
    return pandas.concat([pandas.read_parquet(io.BytesIO(part)) for part in parts])

slices, bins = embedded(spikes, "slices"), embedded(spikes, "bins")
rows["latency"] = rows.start_ns - rows.due_ns
rows["second"] = rows.due_ns // 10**9 * 10**9
wanted = rows.groupby(["task", "second"]).latency.agg(["count", "min", "max", "sum"])
latency = slices[slices.quantity == 0].set_index(["task", "start_ns"]).sort_index()
assert (latency["count"].values == wanted["count"].values).all()
assert (latency.min_ns.values == wanted["min"].values).all() and (latency.max_ns.values == wanted["max"].values).all()
assert [int(s) for s in latency["sum"]] == wanted["sum"].tolist()
assert sum(int(s) for s in latency.sum_of_squares) == int((rows.latency**2).sum())
counted = bins[bins.quantity == 0].groupby(["task", "second"])["count"].sum()
assert counted.index.equals(latency.index.set_levels(latency.index.levels[1] // 10**9, level=1).set_names(["task", "second"]))
assert (counted.values == wanted["count"].values).all()
for quantity in range(5):
    assert bins[bins.quantity == quantity]["count"].sum() == slices[slices.quantity == quantity]["count"].sum()
"#;

#[test]
fn slices_are_read_by_others() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let paths = [Keep::All, Keep::Spikes { above_ns: 100_000 }].map(|keep| {
        let path = directory.path().join(if keep == Keep::All { "all.parquet" } else { "spikes.parquet" });
        let mut writer = RunWriter::create(&path, &info(keep)).unwrap();
        writer.append(0, &(0..100_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
        writer.append(1, &(0..2_500).map(|k| row(1, k)).collect::<Vec<_>>()).unwrap();
        writer.finish(closed(keep)).unwrap();
        path
    });
    run(&python, SLICES, &[&paths[0], &paths[1]]);
}

/// Runs the examples of the format's description: SQL statements in DuckDB, then the code in Python.
const EXAMPLES: &str = r#"
import os, re, sys, duckdb
text = open(sys.argv[1]).read()
os.chdir(sys.argv[2])
blocks = lambda language: re.findall(rf"```{language}\n(.*?)```", text, re.S)
statements = [s for block in blocks("sql") for s in block.split(";") if s.strip()]
assert len(statements) == 4 and len(blocks("python")) == 3
for statement in statements:
    assert len(duckdb.sql(statement).fetchall()) > 0, statement
for code in blocks("python"):
    exec(code, {})
"#;

/// Two activations that one thread delayed.
fn causes() -> RunCauses {
    let mut sum = CauseSum::new(Cause { class: CauseClass::Preempted, who: Some("hog".into()) });
    sum.add_activation(90_000, 70_000, 70_000, 0);
    sum.add_activation(50_000, 30_000, 0, 30_000);
    let task = TaskCauses { explained: 2, causes: vec![sum], ..TaskCauses::default() };
    RunCauses { tasks: vec![task], ..RunCauses::default() }
}

#[test]
fn the_examples_of_the_description_work() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    for (name, keep) in [("run.parquet", Keep::All), ("night.parquet", Keep::Spikes { above_ns: 100_000 })] {
        let mut writer = RunWriter::create(directory.path().join(name), &info(keep)).unwrap();
        writer.append(0, &(0..10_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
        writer.append(1, &(0..250).map(|k| row(1, k)).collect::<Vec<_>>()).unwrap();
        writer.set_causes(&causes()).unwrap();
        writer.finish(closed(keep)).unwrap();
    }
    let description = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/run-file.md");
    run(&python, EXAMPLES, &[description.as_ref(), directory.path()]);
}

#[test]
fn what_others_write_again_is_read_or_its_compression_is_named() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.parquet");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    let rows: Vec<Activation> = (0..5_000).map(|k| row(0, k)).collect();
    writer.append(0, &rows).unwrap();
    writer.finish(closed(Keep::All)).unwrap();
    let again = r#"
import sys, pyarrow.parquet
for codec in ["snappy", "gzip", "zstd", "none", "lz4", "brotli"]:
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(sys.argv[1]), sys.argv[1] + codec, compression=codec)
"#;
    run(&python, again, &[&path]);
    let open = |codec: &str| RunReader::open(format!("{}{codec}", path.display()));
    for codec in ["snappy", "gzip", "zstd", "none"] {
        let mut read = Vec::new();
        open(codec).unwrap().visit_row_group(0, Columns::ALL, |part| read.extend_from_slice(part)).unwrap();
        assert_eq!(read, rows, "{codec}");
    }
    for (codec, name) in [("lz4", "LZ4"), ("brotli", "Brotli")] {
        let error = open(codec).unwrap_err().to_string();
        assert!(error.contains(&format!("compressed by {name}")) && error.contains("zstd, snappy or gzip"));
    }
}

const AGAIN: &str = r#"
import sys, pyarrow.parquet
table = pyarrow.parquet.read_table(sys.argv[1])
for name, options in [("plain", {"compression": "none", "use_dictionary": False}), ("packed", {"compression": "zstd"})]:
    path = f"{sys.argv[2]}/{name}.parquet"
    pyarrow.parquet.write_table(table, path, write_page_checksum=True, data_page_size=4096, **options)
"#;

/// Files that another program wrote again with checksums of its pages are read, and refused once a page is damaged.
#[test]
fn damaged_pages_of_others_are_refused() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.parquet");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    writer.append(0, &(0..20_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    writer.finish(closed(Keep::All)).unwrap();
    run(&python, AGAIN, &[&path, directory.path()]);
    let read = |path: &std::path::Path| {
        let reader = RunReader::open(path)?;
        let mut text = format!("{:?}", reader.info());
        reader.for_each_batch(Columns::ALL, |task, rows| text += &format!("{task}{rows:?}"))?;
        Ok::<_, jitterlab_trace::Error>(text)
    };
    for name in ["plain", "packed"] {
        let again = directory.path().join(format!("{name}.parquet"));
        let bytes = std::fs::read(&again).unwrap();
        let whole = read(&again).unwrap();
        let footer = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
        let data = bytes.len() - 8 - footer;
        let (mut refused, mut same) = (0, 0);
        for at in (4..data).step_by(data / 150) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&again, damaged).unwrap();
            match read(&again) {
                Err(_) => refused += 1,
                Ok(found) => {
                    assert!(found == whole, "{name}: byte {at} changed the figures");
                    same += 1;
                }
            }
        }
        println!("{name}: {refused} refused, {same} read as what they were");
        // Bytes that are not read, such as statistics of pages, may be anything.
        assert!(refused > same, "{name}: {refused} {same}");
    }
}
