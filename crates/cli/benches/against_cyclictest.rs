//! jitterlab against cyclictest: same period, priority, processor and duration, in turn, on this machine.
//!
//!     cargo bench --bench against_cyclictest            # 10 alternations of 5 s at 1 ms and 200 us
//!     SECONDS=2 ALTERNATIONS=4 CPU=1 cargo bench --bench against_cyclictest
//!
//! Both wait by absolute `clock_nanosleep` on CLOCK_MONOTONIC and lock their memory. cyclictest runs with
//! `--default-system`, so that neither touches `/dev/cpu_dma_latency`, and with `-N` and one bin per nanosecond,
//! so that its quantiles are exact; jitterlab's are taken from the rows of its run file. Who goes first
//! alternates. Prints each pair and the median of the ratios; asserts nothing, since machines are shared.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use jitterlab_trace::{Columns, RunReader};
use serde_json::Value;

const BINS: &str = "4000000";

/// Quantiles of one run's latency in nanoseconds.
#[derive(Clone, Copy)]
struct Figures {
    median: f64,
    p99: f64,
    max: f64,
}

struct Setting {
    period_us: u64,
    seconds: u64,
    cpu: u64,
    priority: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let from_environment = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let alternations = from_environment("ALTERNATIONS", 10);
    let folder = tempfile::tempdir()?;
    for period_us in [1_000, 200] {
        let setting = Setting {
            period_us,
            seconds: from_environment("SECONDS", 5),
            cpu: from_environment("CPU", 1),
            priority: from_environment("PRIORITY", 80),
        };
        println!(
            "period {period_us} us, {} s each, CPU {}, fifo:{}",
            setting.seconds, setting.cpu, setting.priority
        );
        println!(
            "      jitterlab: median    p99     max   cyclictest: median    p99     max   ratios: median    p99"
        );
        let mut ratios = Vec::new();
        for turn in 0..alternations {
            let (ours, theirs) = if turn % 2 == 0 {
                let ours = jitterlab(&setting, folder.path())?;
                (ours, cyclictest(&setting, folder.path())?)
            } else {
                let theirs = cyclictest(&setting, folder.path())?;
                (jitterlab(&setting, folder.path())?, theirs)
            };
            let ratio = (ours.median / theirs.median, ours.p99 / theirs.p99);
            println!(
                "{turn:>3} {:>18.0} {:>6.0} {:>7.0} {:>20.0} {:>6.0} {:>7.0} {:>16.3} {:>6.3}",
                ours.median, ours.p99, ours.max, theirs.median, theirs.p99, theirs.max, ratio.0, ratio.1
            );
            ratios.push(ratio);
        }
        let median_of = |pick: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = ratios.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            let middle = values.len() / 2;
            if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
        };
        println!(
            "median of the ratios jitterlab / cyclictest: median latency {:.3}, p99 {:.3}\n",
            median_of(|r| r.0),
            median_of(|r| r.1)
        );
    }
    Ok(())
}

fn jitterlab(setting: &Setting, folder: &Path) -> Result<Figures, Box<dyn Error>> {
    let file = folder.join("run.parquet");
    let status = Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .args(["run", "--quiet", "--json", "--period", &format!("{}us", setting.period_us)])
        .args(["--cpu", &setting.cpu.to_string(), "--policy", &format!("fifo:{}", setting.priority)])
        .args(["--duration", &format!("{}s", setting.seconds), "--output"])
        .arg(&file)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("jitterlab ended with {status}").into());
    }
    let mut latencies = Vec::new();
    RunReader::open(&file)?.for_each_batch(Columns::LATENCY, |_, batch| {
        latencies.extend(batch.iter().map(|a| a.latency_ns()));
    })?;
    std::fs::remove_file(&file)?;
    latencies.sort_unstable();
    let at = |p: f64| {
        latencies[((p * latencies.len() as f64).ceil() as usize).clamp(1, latencies.len()) - 1] as f64
    };
    Ok(Figures { median: at(0.5), p99: at(0.99), max: at(1.0) })
}

fn cyclictest(setting: &Setting, folder: &Path) -> Result<Figures, Box<dyn Error>> {
    let file = folder.join("cyclictest.json");
    let status = Command::new("cyclictest")
        .args(["--quiet", "--mlock", "--nsecs", "--default-system", "--threads=1", "--histogram", BINS])
        .args(["--interval", &setting.period_us.to_string(), "--priority", &setting.priority.to_string()])
        .args(["--affinity", &setting.cpu.to_string(), "--duration", &setting.seconds.to_string()])
        .arg(format!("--json={}", file.display()))
        .stdout(Stdio::null())
        .status()
        .map_err(|e| format!("cyclictest: {e}; it is in the package rt-tests"))?;
    if !status.success() {
        return Err(format!("cyclictest ended with {status}").into());
    }
    let result: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let thread = &result["thread"]["0"];
    let bins = thread["histogram"].as_object().ok_or("cyclictest wrote no histogram")?;
    let mut bins: Vec<(u64, u64)> =
        bins.iter().filter_map(|(ns, n)| Some((ns.parse().ok()?, n.as_u64()?))).collect();
    bins.sort_unstable();
    let total = thread["cycles"].as_u64().ok_or("cyclictest wrote no cycles")?;
    let max = thread["max"].as_f64().ok_or("cyclictest wrote no maximum")?;
    let at = |p: f64| {
        let rank = (p * total as f64).ceil() as u64;
        let mut seen = 0;
        bins.iter()
            .find(|(_, n)| {
                seen += n;
                seen >= rank
            })
            .map_or(max, |(ns, _)| *ns as f64)
    };
    Ok(Figures { median: at(0.5), p99: at(0.99), max })
}
