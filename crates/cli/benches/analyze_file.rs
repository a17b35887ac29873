//! How fast `jitterlab analyze` reads a run file, beside DuckDB and polars computing the same figures from the same file.
//!
//!     cargo bench -p jitterlab --bench analyze_file -- [ROWS]
//!
//! makes a file of ROWS activations (20 million unless told; 1000000000 is some 4 GB) in the directory for temporary files,
//! and removes it. The Python with the other two is the one in JITTERLAB_PYTHON, as `./test` sets it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use jitterlab_model::{Activation, RunInfo, TaskSpec};
use jitterlab_trace::RunFileWriter;

const PERIOD_NS: i64 = 250_000;

/// Count, extremes, mean, standard deviation and five quantiles of four quantities: what `analyze` prints first.
const PYTHON: &str = r#"
import sys, time
tool, path, period = sys.argv[1], sys.argv[2], int(sys.argv[3])
ps = [0.5, 0.9, 0.99, 0.999, 0.9999]
begin = time.perf_counter()
if tool == "duckdb":
    import duckdb
    def figures(x):
        return f"count({x}), min({x}), avg({x}), stddev_pop({x}), max({x}), quantile_disc({x}, {ps})"
    quantities = ["latency", "execution", "error", "cycle"]
    print(duckdb.sql(f"""
        with a as (select start_ns - due_ns as latency, end_ns - start_ns as execution,
                          start_ns - lag(start_ns) over (order by index) - {period} as error, index
                   from '{path}'),
             b as (select *, abs(error - lag(error) over (order by index)) as cycle from a)
        select {", ".join(figures(q) for q in quantities)} from b""").fetchall()[0][0], file=sys.stderr)
else:
    import polars as pl
    rows = pl.scan_parquet(path).select(
        latency=pl.col("start_ns") - pl.col("due_ns"), execution=pl.col("end_ns") - pl.col("start_ns"),
        error=pl.col("start_ns").diff() - period).with_columns(cycle=pl.col("error").diff().abs())
    figures = [f.alias(f"{q}{i}") for q in ["latency", "execution", "error", "cycle"] for c in [pl.col(q)]
               for i, f in enumerate([c.count(), c.min(), c.mean(), c.std(), c.max()] + [c.quantile(p) for p in ps])]
    print(rows.select(figures).collect(engine="streaming")[0, 0], file=sys.stderr)
print(time.perf_counter() - begin)
"#;

fn main() -> Result<()> {
    let rows = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(20_000_000u64);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("run.parquet");
    make(&file, rows)?;
    let megabytes = std::fs::metadata(&file)?.len() / 1_000_000;
    println!("{rows} activations, {megabytes} MB");
    let all = jitterlab(&file, None, rows)?;
    jitterlab(&file, Some("0"), rows)?;
    let python = std::env::var("JITTERLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    for tool in ["duckdb", "polars"] {
        let output = Command::new(&python)
            .args(["-c", PYTHON, tool])
            .arg(&file)
            .arg(PERIOD_NS.to_string())
            .output()
            .with_context(|| format!("cannot start {python}; set JITTERLAB_PYTHON"))?;
        match String::from_utf8_lossy(&output.stdout).trim().parse::<f64>() {
            Ok(seconds) => {
                println!("{tool}: {}, jitterlab is {:.1} times as fast", rate(seconds, rows), seconds / all);
            }
            Err(_) => println!("{tool}: not measured: {}", String::from_utf8_lossy(&output.stderr).trim()),
        }
    }
    Ok(())
}

fn rate(seconds: f64, rows: u64) -> String {
    format!("{seconds:.2} s, {:.1} million activations a second", rows as f64 / seconds / 1e6)
}

/// Seconds that the whole program takes, with everything it says of the file; on some processors only.
fn jitterlab(file: &Path, cpus: Option<&str>, rows: u64) -> Result<f64> {
    let program = env!("CARGO_BIN_EXE_jitterlab");
    let mut command = match cpus {
        Some(cpus) => {
            let mut taskset = Command::new("taskset");
            taskset.args(["-c", cpus, program]);
            taskset
        }
        None => Command::new(program),
    };
    let begin = Instant::now();
    let output = command.arg("analyze").arg(file).output()?;
    let seconds = begin.elapsed().as_secs_f64();
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let where_to = cpus.map_or("all processors".into(), |c| format!("processor {c}"));
    println!("jitterlab analyze on {where_to}: {}", rate(seconds, rows));
    Ok(seconds)
}

/// A trace as measured ones are: a sharp mode, a wide one, rare spikes.
fn make(path: &Path, rows: u64) -> Result<()> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let mut file = RunFileWriter::create(path, 1)?;
    let mut batch = Vec::with_capacity(1 << 16);
    let mut index = 0;
    while index < rows {
        batch.clear();
        for _ in 0..(rows - index).min(1 << 16) {
            let late = match random() % 1_000 {
                0 => 40_000 + random() % 60_000,
                1..200 => 4_000 + random() % 3_000,
                _ => 1_800 + random() % 400,
            } as i64;
            let due_ns = index as i64 * PERIOD_NS;
            let start_ns = due_ns + late;
            let end_ns = start_ns + 30 + (random() % 20) as i64;
            batch.push(Activation { index, due_ns, start_ns, end_ns, ..Activation::default() });
            index += 1;
        }
        file.append(0, &batch)?;
    }
    let spec = TaskSpec { name: "main".into(), period_ns: PERIOD_NS, ..TaskSpec::default() };
    file.finish(&RunInfo::new("host", "monotonic", [spec]))?;
    Ok(())
}
