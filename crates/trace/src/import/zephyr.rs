//! Zephyr's timer behaviour test: lines `RECORD: {...}` with the extremes of the measured periods.

use serde::Deserialize;

use super::histogram::Histogram;
use super::text::{lines, us};
use super::{Hints, Import, Input, Peer, Unreadable};

pub(super) const PEER: Peer = Peer { name: "Zephyr timer_behavior", recognise, parse };

#[derive(Deserialize)]
struct Record {
    testcase: String,
    #[serde(default)]
    mechanism: String,
    stats_count: u64,
    mean_us: f64,
    stddev_us: f64,
    min_us: f64,
    max_us: f64,
}

fn recognise(input: &Input) -> bool {
    input.text.lines().any(|l| l.contains("RECORD: {") && l.contains("stats_count"))
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Unreadable> {
    let mut import = Import::new("Zephyr timer_behavior", "k_cycle_get");
    for (number, line) in lines(input.text) {
        let Some((_, json)) = line.split_once("RECORD: ") else { continue };
        let record: Record =
            serde_json::from_str(json).map_err(|e| Unreadable::new(number, e.to_string()))?;
        let period_ns = import.period(None, hints, 1_000_000);
        let error = |period_us: f64| us(period_us).saturating_sub(period_ns);
        let mut histogram = Histogram {
            min_ns: Some(error(record.min_us)),
            max_ns: Some(error(record.max_us)),
            mean_ns: Some(record.mean_us * 1_000.0 - period_ns as f64),
            deviation_ns: Some(record.stddev_us * 1_000.0),
            ..Histogram::default()
        };
        histogram.add(error(record.min_us), error(record.max_us), record.stats_count);
        if record.stats_count > 0 {
            let name = format!("{} {}", record.testcase, record.mechanism);
            import.task(name.trim(), period_ns, None, histogram.period_error(period_ns));
        }
    }
    import.warn("only extremes, mean and deviation of the period are known: quantiles are upper bounds");
    import.complete()
}
