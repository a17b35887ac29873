//! rt-tests' signaltest (`--json`): the time that a signal takes through a ring of threads. It has no interval and no due
//! times.

use serde::Deserialize;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::histogram::Histogram;
use super::rt_tests::{self, Report};
use super::text::json;
use super::{Hints, Import, Input, Mistake, Peer, Period, Told};

pub(super) const PEER: Peer = Peer { name: "signaltest --json", recognise, parse };

#[derive(Deserialize)]
struct Thread {
    cycles: u64,
    min: f64,
    max: f64,
    avg: f64,
    cpu: Option<i64>,
}

fn recognise(input: &Input) -> bool {
    rt_tests::program(input) == Some("signaltest")
}

fn parse(input: &Input, _: &Hints) -> Result<Import, Mistake> {
    let report: Report<Thread> = json(input.text)?;
    let mut import = report.import("monotonic");
    let unit_ns = report.unit_ns();
    for (name, figures) in report.into_threads() {
        let extremes = [figures.min, figures.avg, figures.max];
        let histogram = Histogram::of_extremes(extremes, figures.cycles, unit_ns);
        let told = Told::new(format!("thread{name}"), Period::None).on(rt_tests::cpu(figures.cpu));
        import.task(told, histogram.latency(Period::None.ns()));
    }
    import.warn(Warning::OnlyExtremes);
    import.warn(Warning::NoPeriod { tool: "signaltest".into(), measures: Aperiodic::Signals });
    import.complete()
}
