//! rttest (ROS 2): a line per iteration with its nominal time and latency in nanoseconds.

use jitterlab_model::Activation;

use super::text::{check_single_measurement, clamped_ns, expect_numbers, lines};
use super::{Hints, Import, ImportError, Importer, Input, Measured, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "rttest", recognise, parse };

/// The names of the columns.
const HEAD: &str = "iteration timestamp latency";

pub(super) fn recognise(input: &Input) -> bool {
    input.text.trim_start().starts_with(HEAD) && !input.columns_given
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    check_single_measurement(input.text, |line| line.starts_with(HEAD))?;
    let mut import = Import::new("rttest", "monotonic");
    let mut rows: Vec<Activation> = Vec::new();
    let (mut minor, mut major) = (0, 0);
    for (number, line) in lines(input.text).skip(1).filter(|(_, l)| !l.is_empty()) {
        let [index, due_ns, latency_ns, faults @ ..] = &expect_numbers::<i64>(number, line)?[..] else {
            return Err(Unreadable::unexpected(line, "a row with all columns").at_line(number));
        };
        let due_ns = clamped_ns(*due_ns, 1);
        let start_ns = due_ns.saturating_add(clamped_ns(*latency_ns, 1));
        let index =
            u64::try_from(*index).map_err(|_| Unreadable::unexpected(line, "a count").at_line(number))?;
        rows.push(Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() });
        (minor, major) = (
            faults.first().map_or(minor, |n| n.saturating_add(minor)),
            faults.get(1).map_or(major, |n| n.saturating_add(major)),
        );
    }
    let details = rows.windows(2).map(|p| p[1].due_ns.saturating_sub(p[0].due_ns)).find(|p| *p > 0);
    let period = import.period_or_default(details, hints, 1_000_000);
    if !rows.is_empty() {
        import.add_task(TaskDetails::new("rttest", period).with_skips(), Measured::Rows(rows));
        if let Some(result) = import.info.tasks[0].result.as_mut() {
            result.minor_faults = u64::try_from(minor).ok();
            result.major_faults = u64::try_from(major).ok();
        }
    }
    import.complete()
}
