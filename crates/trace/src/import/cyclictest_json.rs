//! cyclictest's JSON (`--json`), and cyclicdeadline's.
//!
//! There is no overflow count: it is what the histogram lacks of the cycles. Without `-h` there is no histogram either, only
//! count, extremes and mean.

use std::collections::BTreeMap;

use serde::Deserialize;

use jitterlab_model::Warning;

use super::histogram::Histogram;
use super::rt_tests::{self, Report};
use super::text::{json, us};
use super::{Hints, Import, Input, Mistake, Peer, Told};
use crate::error::{Unreadable, Wanted};

pub(super) const PEER: Peer = Peer { name: "cyclictest --json", recognise, parse };

#[derive(Deserialize)]
struct Thread {
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
    cycles: u64,
    min: f64,
    max: f64,
    avg: f64,
    cpu: Option<i64>,
}

fn recognise(input: &Input) -> bool {
    matches!(rt_tests::program(input), Some("cyclictest" | "cyclicdeadline"))
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let report: Report<Thread> = json(input.text)?;
    let real_time = report.option("-c", "--clock") == Some(1);
    let mut import = report.import(if real_time { "realtime" } else { "monotonic" });
    let unit_ns = report.unit_ns();
    let interval = report.option("-i", "--interval").map(|us| us.saturating_mul(1_000));
    let base = import.period(interval, hints, 1_000_000);
    // Without a histogram each thread's interval is longer than the one before (500 us unless -d is given).
    let distance_ns = match report.threads().all(|t| t.histogram.is_empty()) {
        true => report.option("-d", "--distance").unwrap_or(500).saturating_mul(1_000),
        false => 0,
    };
    let program = report.program().to_owned();
    let ns = |value: f64| us(value * unit_ns as f64 / 1_000.0);
    for (thread, (name, figures)) in report.into_threads().into_iter().enumerate() {
        let period = base.longer_by(distance_ns.saturating_mul(thread as i64));
        let mut histogram = Histogram::of_extremes([figures.min, figures.avg, figures.max], 0, unit_ns);
        let mut limit_ns = 0;
        for (bin, count) in &figures.histogram {
            let low_ns = ns(bin.parse().map_err(|_| Unreadable::not(bin, Wanted::Bin))?);
            histogram.add(low_ns, low_ns.saturating_add(unit_ns - 1), *count);
            limit_ns = limit_ns.max(low_ns.saturating_add(unit_ns));
        }
        let beyond = figures.cycles.saturating_sub(histogram.count());
        if figures.histogram.is_empty() {
            histogram.add_overflow(ns(figures.min), beyond);
            import.warn(Warning::OnlyExtremes);
        } else if beyond > 0 {
            histogram.add_overflow(limit_ns, beyond);
            import.warn(Warning::AboveHistogram { task: format!("thread{name}"), count: beyond });
        }
        let told = Told::new(format!("thread{name}"), period).skips();
        import.task(told.on(rt_tests::cpu(figures.cpu)), histogram.latency(period.ns()));
    }
    import.warn(Warning::MissedNotCounted { tool: program });
    import.complete()
}
