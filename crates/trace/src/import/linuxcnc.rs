//! LinuxCNC: `latency-histogram --nox`, and the `.latency` file of latency-test. Their jitter and latency are the
//! period error, signed; only its extremes and deviation are known, and latencies not at all.

use std::collections::BTreeMap;

use jitterlab_model::{Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{lines, number_after, us};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const NOX: Importer =
    Importer { name: "LinuxCNC latency-histogram --nox", recognise: is_nox, parse: parse_nox };
pub(super) const DOT_LATENCY: Importer =
    Importer { name: "LinuxCNC .latency", recognise: is_dot_latency, parse: parse_dot_latency };

/// LinuxCNC's usual base and servo periods.
const BASE_NS: i64 = 25_000;
const SERVO_NS: i64 = 1_000_000;

/// Elapsed seconds, thread, and min, max, sdev in microseconds of a line such as
/// `   12 s   base min:  -8.120 us max:  10.301 us sdev:   0.412 us`.
fn line_of(line: &str) -> Option<(f64, &'static str, [f64; 3])> {
    let (elapsed, rest) = line.split_once(" s ")?;
    let thread = ["base", "servo"].into_iter().find(|thread| rest.trim_start().starts_with(thread))?;
    let figure = |name: &str| number_after(rest, name);
    Some((elapsed.trim().parse().ok()?, thread, [figure("min:")?, figure("max:")?, figure("sdev:")?]))
}

fn is_nox(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| line_of(line).is_some())
}

fn parse_nox(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("LinuxCNC latency-histogram", "RTAPI");
    // Figures are since the start: the last line of each thread has them all.
    let mut last: BTreeMap<_, (f64, [f64; 3])> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        let Some((elapsed, thread, figures)) = line_of(line) else { continue };
        if last.insert(thread, (elapsed, figures)).is_some_and(|(before, _)| before > elapsed) {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
    }
    if last.len() > 1 && hints.periods_ns.len() == 1 {
        return Err(Unreadable::PeriodOfEach { tasks: last.into_keys().map(Into::into).collect() }.into());
    }
    for (thread, (elapsed, [min, max, deviation])) in last {
        let period =
            import.period_or_default(None, hints, if thread == "servo" { SERVO_NS } else { BASE_NS });
        let count = (elapsed * 1e9 / period.ns() as f64) as u64;
        let mut errors = Statements::exact();
        errors.add([Statement::Count(count.max(1)), Statement::Min(us(min)), Statement::Max(us(max))]);
        // Its squares are summed in 32 bits, and overflow from 46.34 us on.
        let fits = min.abs().max(max.abs()) < 46.34;
        errors.add(fits.then_some(Statement::Deviation(deviation * 1_000.0)));
        let details = TaskDetails::new(thread, period).with_catch_up().with_gap(Gap::Count);
        import.add_period_errors(details, &errors);
    }
    complete_with_warnings(import)
}

fn is_dot_latency(input: &Input) -> bool {
    input.name == ".latency" && input.text.trim().parse::<i64>().is_ok()
}

fn parse_dot_latency(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let jitter_ns: i64 =
        input.text.trim().parse().map_err(|_| Unreadable::unexpected(input.text, "a number").at_line(1))?;
    let mut import = Import::new("LinuxCNC latency-test", "RTAPI");
    let period: Period = import.period_or_default(None, hints, BASE_NS);
    // The largest of either sign, of the base and the servo thread and of every test before.
    let mut errors = Statements::exact();
    errors
        .add([Statement::Overflow { from: jitter_ns.saturating_neg(), count: 1 }, Statement::Max(jitter_ns)]);
    let details = TaskDetails::new("base", period).with_catch_up().with_gap(Gap::Count);
    import.add_period_errors(details, &errors);
    import.warn(Warning::LargestOfAllTests);
    complete_with_warnings(import)
}

fn complete_with_warnings(mut import: Import) -> Result<Import, ImportError> {
    import.warn(Warning::CountUnknown);
    import.warn(Warning::OnlyPeriodErrors { tool: "LinuxCNC".into() });
    import.complete()
}
