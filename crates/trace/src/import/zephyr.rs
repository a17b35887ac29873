//! Zephyr's timer behaviour test: lines `RECORD: {...}` with the extremes of the measured periods.

use serde::Deserialize;

use jitterlab_model::Gap;

use super::statement::{Statement, Statements};
use super::text::{lines, us};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "Zephyr timer_behavior", recognise, parse };

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

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("Zephyr timer_behavior", "k_cycle_get");
    for (number, line) in lines(input.text) {
        let Some((_, json)) = line.split_once("RECORD: ") else { continue };
        let record: Record =
            serde_json::from_slice(json.as_bytes()).map_err(|e| Unreadable::Json(e).at_line(number))?;
        let period = import.period_or_default(None, hints, 1_000_000);
        let error = |period_us: f64| us(period_us).saturating_sub(period.ns());
        let mut stated = Statements::exact();
        stated.add([
            Statement::Count(record.stats_count),
            Statement::Min(error(record.min_us)),
            Statement::Max(error(record.max_us)),
            Statement::Mean(record.mean_us * 1_000.0 - period.ns() as f64),
            Statement::Deviation(record.stddev_us * 1_000.0),
        ]);
        let name = format!("{} {}", record.testcase, record.mechanism);
        let details = TaskDetails::new(name.trim(), period).with_gap(Gap::Missed);
        if import.info.tasks.iter().any(|task| task.spec.name == details.name()) {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
        import.add_period_errors(details, &stated);
    }
    import.complete()
}
