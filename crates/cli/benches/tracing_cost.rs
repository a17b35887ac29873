//! Cost of `run --why`: the same task with and without, in turn, on this machine.
//!
//!     cargo bench --bench tracing_cost                   # 10 pairs of 5 s at 1 ms and at 250 us
//!     SECONDS=2 PAIRS=4 CPU=1 cargo bench --bench tracing_cost
//!     FAST=600 PAIRS=0 cargo bench --bench tracing_cost  # tasks every 25 us and 1 ms, traced for 10 minutes
//!
//! The order of the two alternates. Prints each pair, the median of the differences of the medians with the
//! quartiles, and the share of a processor that reading the events took. At last it prints if the buffer held
//! all events of a task every 25 us next to one every 1 ms. It asserts nothing, since machines are shared. As
//! root.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

struct Setting {
    period_us: u64,
    seconds: u64,
    cpu: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let from_environment = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let pairs = from_environment("PAIRS", 10);
    let folder = tempfile::tempdir()?;
    let cpu = from_environment("CPU", 1);
    for period_us in [1_000, 250].into_iter().filter(|_| pairs > 0) {
        let setting = Setting { period_us, seconds: from_environment("SECONDS", 5), cpu };
        println!("period {period_us} us, {} s each, CPU {}, fifo:80", setting.seconds, setting.cpu);
        println!("pair   plain: median    p99   traced: median    p99   events/s    lost   reader's CPU");
        let (mut medians, mut p99s) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            let (plain, traced) = if pair % 2 == 0 {
                let plain = measure(&setting, folder.path(), false)?;
                (plain, measure(&setting, folder.path(), true)?)
            } else {
                let traced = measure(&setting, folder.path(), true)?;
                (measure(&setting, folder.path(), false)?, traced)
            };
            let tracer = tracer(folder.path())?;
            let seconds = setting.seconds as f64;
            println!(
                "{pair:>4} {:>15.2} {:>6.1} {:>16.2} {:>6.1} {:>10.0} {:>7} {:>11.2} %",
                plain.0 / 1e3,
                plain.1 / 1e3,
                traced.0 / 1e3,
                traced.1 / 1e3,
                number(&tracer, "events") / seconds,
                number(&tracer, "lost"),
                number(&tracer, "cpu_time_ns") / seconds / 1e7,
            );
            medians.push(traced.0 - plain.0);
            p99s.push(traced.1 - plain.1);
        }
        for (name, differences) in [("median", &mut medians), ("p99", &mut p99s)] {
            differences.sort_by(f64::total_cmp);
            let at = |p: f64| differences[(p * (differences.len() - 1) as f64).round() as usize] / 1e3;
            println!("added to the {name}: {:.2} us (quartiles {:.2} to {:.2})", at(0.5), at(0.25), at(0.75));
        }
    }
    fast(folder.path(), from_environment("FAST", 10), cpu)
}

/// Two tasks on one processor, one of them every 25 us.
fn fast(folder: &Path, seconds: u64, cpu: u64) -> Result<(), Box<dyn Error>> {
    let task = |name: &str, period: &str, priority: u8| {
        format!("name={name},period={period},cpu={cpu},policy=fifo:{priority}")
    };
    let args = format!(
        "run -q --json --why --keep spikes:1ms -d {seconds}s --task {} --task {} -o traced.parquet",
        task("base", "25us", 80),
        task("servo", "1ms", 70)
    );
    // The file of an earlier run has been read already.
    let _ = std::fs::remove_file(folder.join("traced.parquet"));
    jitterlab(folder, &args.split(' ').map(str::to_owned).collect::<Vec<_>>())?;
    let tracer = tracer(folder)?;
    let (events, lost) = (number(&tracer, "events"), number(&tracer, "lost"));
    println!(
        "tasks every 25 us and 1 ms on CPU {cpu}, {seconds} s: {:.0} events a second, {lost} of {events} lost in a buffer of {:.0} MiB, reader's CPU {:.2} %",
        events / seconds as f64,
        number(&tracer, "buffer_bytes") / f64::from(1 << 20),
        number(&tracer, "cpu_time_ns") / seconds as f64 / 1e7,
    );
    Ok(())
}

fn number(of: &Value, field: &str) -> f64 {
    of[field].as_f64().unwrap_or(f64::NAN)
}

fn jitterlab(folder: &Path, args: &[String]) -> Result<Value, Box<dyn Error>> {
    let output = Command::new(env!("CARGO_BIN_EXE_jitterlab")).args(args).current_dir(folder).output()?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(serde_json::from_slice::<Value>(&output.stdout).map_err(|_| said())?["result"].take())
}

/// Median and p99 of the latency, in nanoseconds.
fn measure(setting: &Setting, folder: &Path, why: bool) -> Result<(f64, f64), Box<dyn Error>> {
    let file = if why { "traced.parquet" } else { "plain.parquet" };
    let args = format!(
        "run -q --json --policy fifo:80 --period {}us --cpu {} -d {}s -o {file}",
        setting.period_us, setting.cpu, setting.seconds
    );
    let why = why.then(|| "--why".to_owned());
    let args: Vec<String> = args.split(' ').map(str::to_owned).chain(why).collect();
    let _ = std::fs::remove_file(folder.join(file));
    let run = jitterlab(folder, &args)?;
    let latency = &run["tasks"][0]["summary"]["latency"]["percentiles"];
    Ok((number(latency, "p50"), number(latency, "p99")))
}

fn tracer(folder: &Path) -> Result<Value, Box<dyn Error>> {
    let args = ["why", "--json", "traced.parquet"].map(str::to_owned);
    Ok(jitterlab(folder, &args)?["tracer"].take())
}
