//! Speed and memory of `jitterlab analyze` on a run file, against DuckDB and polars computing the same
//! figures from the same file.
//!
//!     cargo bench -p jitterlab --bench analyze_file -- [ROWS | RUN.parquet]
//!
//! makes a file of ROWS activations (20 million by default; 1000000000 are some 4 GB) in the directory for
//! temporary files and removes it, or reads a run file of one task and keeps it. The Python with the other
//! two is the one in JITTERLAB_PYTHON, as `./test` sets it; each may take 12 GB of memory and 40 times as
//! long as jitterlab.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use jitterlab_model::{Activation, RunInfo, TaskSpec};
use jitterlab_trace::{Columns, RunFileWriter, RunReader};
use serde_json::Value;

const PERIOD_NS: i64 = 250_000;

/// Count, extremes, mean, standard deviation and five quantiles of four quantities: the first output of
/// `analyze`. Prints a row for each. Rows are taken in the file's order, which spares both tools a sort;
/// DuckDB's approximate quantiles take longer than its exact ones.
const PYTHON: &str = r#"
import json, resource, sys
tool, path, period = sys.argv[1], sys.argv[2], int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_DATA, (12 << 30, 12 << 30))
ps = [0.5, 0.9, 0.99, 0.999, 0.9999]
quantities = ["latency", "execution", "period_error", "cycle_to_cycle"]
if tool == "duckdb":
    import duckdb
    duckdb.sql("set memory_limit = '10GB'; set temp_directory = ''; set enable_progress_bar = false")
    def figures(x):
        return f"count({x}), min({x}), avg({x}), stddev_pop({x}), max({x}), quantile_disc({x}, {ps})"
    row = duckdb.sql(f"""
        with a as (select start_ns - due_ns as latency, end_ns - start_ns as execution,
                          start_ns - lag(start_ns) over () - {period} as period_error from '{path}'),
             b as (select *, abs(period_error - lag(period_error) over ()) as cycle_to_cycle from a)
        select {", ".join(figures(q) for q in quantities)} from b""").fetchall()[0]
    rows = [list(row[i:i + 5]) + list(row[i + 5]) for i in range(0, 24, 6)]
else:
    import polars as pl
    table = pl.scan_parquet(path).select(
        latency=pl.col("start_ns") - pl.col("due_ns"), execution=pl.col("end_ns") - pl.col("start_ns"),
        period_error=pl.col("start_ns").diff() - period).with_columns(
        cycle_to_cycle=pl.col("period_error").diff().abs())
    def figures(x):
        return [x.count(), x.min(), x.mean(), x.std(ddof=0), x.max()] + [x.quantile(p) for p in ps]
    row = table.select([f.alias(f"{q}{i}") for q in quantities for i, f in enumerate(figures(pl.col(q)))])
    row = row.collect(engine="streaming").row(0)
    rows = [row[i:i + 10] for i in range(0, 40, 10)]
print(json.dumps(dict(zip(quantities, rows))))
"#;

/// The same figures in the JSON of `analyze`.
const FIGURES: [&str; 10] =
    ["count", "min_ns", "mean_ns", "sd_ns", "max_ns", "p50", "p90", "p99", "p99.9", "p99.99"];

fn main() -> Result<()> {
    let argument = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    match argument.unwrap_or_else(|| "20000000".into()) {
        rows if rows.parse::<u64>().is_ok() => {
            let folder = tempfile::tempdir()?;
            let file = folder.path().join("run.parquet");
            make(&file, rows.parse()?)?;
            compare(&file)
        }
        file => compare(Path::new(&file)),
    }
}

fn compare(file: &Path) -> Result<()> {
    let reader = RunReader::open(file)?;
    let period_ns = reader.info().tasks.first().context("a run without tasks")?.spec.period_ns;
    let (rows, megabytes) = (reader.rows(), std::fs::metadata(file)?.len() / 1_000_000);
    println!("{rows} activations, {megabytes} MB");
    let show = |name: &str, ran: &Ran| {
        let rate = rate(rows, ran.seconds);
        println!("{name:<40} {:>7.2} s {rate:>7.1} million/s {:>6} MB at most", ran.seconds, ran.peak_mb);
    };

    let begin = Instant::now();
    reader.for_each_batch(Columns::ALL, |_, _| ())?;
    let decoding = begin.elapsed().as_secs_f64();
    println!(
        "{:<40} {decoding:>7.2} s {:>7.1} million/s",
        "decoding alone, 1 processor",
        rate(rows, decoding)
    );
    let program = env!("CARGO_BIN_EXE_jitterlab");
    let hour = Duration::from_secs(3_600);
    let mut pinned = Command::new("taskset");
    let one = measure(pinned.args(["-c", "0", program, "analyze"]).arg(file), hour)?;
    show("jitterlab analyze, 1 processor", &one);
    let scan = one.seconds - decoding;
    println!("{:<40} {scan:>7.2} s {:>7.1} million/s", "    of these, once decoded", rate(rows, scan));
    let all = measure(Command::new(program).arg("analyze").arg(file), hour)?;
    show(&format!("jitterlab analyze, {} processors", thread::available_parallelism()?), &all);

    let json = Command::new(program).args(["analyze", "--json"]).arg(file).output()?;
    let ours: Value = serde_json::from_slice(&json.stdout)?;
    let python = std::env::var("JITTERLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    for tool in ["duckdb", "polars"] {
        let mut script = Command::new(&python);
        script.args(["-c", PYTHON, tool]).arg(file).arg(period_ns.to_string());
        match measure(&mut script, Duration::from_secs_f64(40.0 * all.seconds)) {
            Ok(theirs) => {
                show(tool, &theirs);
                agree(&ours["tasks"][0]["summary"], &serde_json::from_str(&theirs.output)?)?;
                println!(
                    "    jitterlab is {:.1} times as fast, with the same figures",
                    theirs.seconds / all.seconds
                );
            }
            Err(why) => println!("{tool}: not measured: {why}"),
        }
    }
    Ok(())
}

fn rate(rows: u64, seconds: f64) -> f64 {
    rows as f64 / seconds / 1e6
}

/// Refuses figures that differ by more than the width of a histogram's bin.
fn agree(ours: &Value, theirs: &Value) -> Result<()> {
    for quantity in ["latency", "execution", "period_error", "cycle_to_cycle"] {
        for (i, figure) in FIGURES.iter().enumerate() {
            let of = &ours[quantity];
            let a = of.get(figure).unwrap_or(&of["percentiles"][figure]).as_f64();
            let b = theirs[quantity][i].as_f64();
            let alike = a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= 0.01 * a.abs().max(b.abs()) + 1.0);
            ensure!(alike, "{quantity} {figure} is {a:?} here and {b:?} there");
        }
    }
    Ok(())
}

/// Resources that a program needed, from start to end.
struct Ran {
    seconds: f64,
    /// Most memory resident at any time.
    peak_mb: u64,
    output: String,
}

fn measure(command: &mut Command, limit: Duration) -> Result<Ran> {
    let name = command.get_program().to_owned();
    let begin = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", name.display()))?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kb = 0;
    while child.try_wait()?.is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        peak_kb = peak.and_then(|kb| kb.parse().ok()).unwrap_or(peak_kb);
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("stopped after {:.0} s", limit.as_secs_f64());
        }
        thread::sleep(Duration::from_millis(2));
    }
    let seconds = begin.elapsed().as_secs_f64();
    let output = child.wait_with_output()?;
    let last_line = |text: &[u8]| String::from_utf8_lossy(text).lines().last().unwrap_or("").to_owned();
    ensure!(output.status.success(), "{}: {}", output.status, last_line(&output.stderr));
    Ok(Ran { seconds, peak_mb: peak_kb / 1_024, output: String::from_utf8_lossy(&output.stdout).into() })
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
    file.finish(&RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [spec]))?;
    Ok(())
}
