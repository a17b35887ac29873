//! LinuxCNC's `halcmd show`: of pins of the component timedelta, which latency-test is made of, the shortest and the longest time
//! between two runs in nanoseconds; of threads and of parameters, how long a thread or a function ran at most (`tmax`).
//!
//! timedelta's mean error is not used: its divisor is not the number of the thread's own runs. tmax is in cycles of the
//! processor or in nanoseconds, by version and machine (`hal_priv.h`): from 1 GHz on no cycle is longer than a nanosecond.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_model::{Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{clamped_ns, lines};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "LinuxCNC halcmd show", recognise, parse };

/// Component, pin and value of `     9  s32   OUT        -99650  timedelta.0.current-error ==> e`.
fn pin_of(line: &str) -> Option<(&str, &str, f64)> {
    let mut words = line.split_whitespace();
    let (_owner, _kind, _direction) = (words.next()?.parse::<u32>().ok()?, words.next()?, words.next()?);
    let value = words.next()?.parse().ok()?;
    let (component, pin) = words.next()?.rsplit_once('.')?;
    component.starts_with("timedelta").then_some((component, pin, value))
}

/// A thread as `halcmd show thread` lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HalThread<'a> {
    /// Name in HAL.
    pub name: &'a str,
    /// Period in nanoseconds.
    pub period_ns: i64,
    /// Longest execution time, in cycles of the processor or nanoseconds; 0 before its first.
    pub longest: i64,
}

/// Reads a thread in a line of `halcmd show thread`, such as ` 999849  YES   servo-thread  (    12345,   456789 )`.
#[must_use]
pub fn parse_hal_thread(line: &str) -> Option<HalThread<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [period, "YES" | "NO", name, "(", _last, longest, ")"] = words[..] else { return None };
    Some(HalThread { name, period_ns: period.parse().ok()?, longest: longest.parse().ok()? })
}

/// Name of a thread or function, its longest time, and true for a parameter; `None` if it has not run.
/// Of `   5  s32   RW   456789  servo-thread.tmax`, or of ` 999849  YES   servo-thread  (    12345,   456789 )`.
fn longest_of(line: &str) -> Option<(&str, i64, bool)> {
    if let Some(HalThread { name, longest, .. }) = parse_hal_thread(line) {
        return (longest > 0).then_some((name, longest, false));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_owner, "s32", "RO" | "RW", longest, name] = words[..] else { return None };
    let longest = longest.parse().ok().filter(|longest| *longest > 0)?;
    Some((name.strip_suffix(".tmax")?, longest, true))
}

/// Period of each thread, and of each function by its thread, from `halcmd show thread`. It prints a line of the
/// thread, then one of each function it calls.
fn thread_periods(text: &str) -> BTreeMap<&str, i64> {
    let mut periods = BTreeMap::new();
    let mut period = None;
    for (_, line) in lines(text) {
        if let Some(thread) = parse_hal_thread(line) {
            period = Some(thread.period_ns);
            periods.insert(thread.name, thread.period_ns);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ([number, function], Some(ns)) = (&words[..], period)
            && number.parse::<u32>().is_ok()
        {
            periods.insert(function, ns);
        }
    }
    periods
}

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| pin_of(line).is_some() || longest_of(line).is_some())
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("LinuxCNC timedelta", "RTAPI");
    let mut components: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    let (mut longest, mut listed) = (BTreeMap::<&str, Statements>::new(), BTreeSet::new());
    for (number, line) in lines(input.text) {
        if let Some((name, time, is_parameter)) = longest_of(line) {
            if !listed.insert((name, is_parameter)) {
                return Err(Unreadable::SecondMeasurement.at_line(number));
            }
            let stated = longest.entry(name).or_default();
            stated.add([Statement::Overflow { from: 0, count: 1 }, Statement::MaxSoFar(clamped_ns(time, 1))]);
        }
        let Some((component, pin, value)) = pin_of(line) else { continue };
        if components.entry(component).or_default().insert(pin, value).is_some() {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
    }
    let periods = thread_periods(input.text);
    if components.is_empty() {
        import.info.tool = "LinuxCNC".into();
    }
    for (component, pins) in components {
        // Some versions write min_ and max_.
        let value = |name: &str| pins.get(name).or_else(|| pins.get(format!("{name}_").as_str()));
        let pin = |name: &str| value(name).map(|value| clamped_ns(*value as i64, 1));
        let (Some(shortest), Some(longest)) = (pin("min"), pin("max")) else { continue };
        if longest == 0 {
            // It has not run yet.
            continue;
        }
        // Pins are read one after the other while the thread runs, so two of them have to agree on the period: the time
        // since the last run and its error, and the largest error with the shortest or the longest time.
        let now = pin("out").zip(pin("current-error")).map(|(time, error)| time - error);
        let worst = pin("jitter").map(|jitter| [longest - jitter, shortest + jitter]);
        let agreed = now.filter(|now| worst.is_some_and(|worst| worst.contains(now)));
        let period = import.period_or_default(periods.get(component).copied().or(agreed), hints, 1_000_000);
        if let Period::Assumed(_) = period {
            // Errors of a period that is assumed would be made up.
            return Err(Unreadable::PeriodOfEach { tasks: vec![component.into()] }.into());
        }
        let error = |time_ns: i64| time_ns.saturating_sub(period.ns());
        let mut errors = Statements::exact();
        errors.add([Statement::Count(1), Statement::Min(error(shortest)), Statement::Max(error(longest))]);
        let details = TaskDetails::new(component, period).with_catch_up().with_gap(Gap::Count);
        import.add_period_errors(details, &errors);
    }
    if !import.tasks.is_empty() {
        import.warn(Warning::OnlyPeriodErrors { tool: "LinuxCNC".into() });
    }
    if !longest.is_empty() {
        import.warn(Warning::CyclesAsNanoseconds);
    }
    for (name, stated) in longest {
        let period = import.period_or_default(periods.get(name).copied(), hints, 1_000_000);
        import.add_execution_times(
            TaskDetails::new(name, period).with_gap(Gap::Missed).with_gap(Gap::Count).with_gap(Gap::Latency),
            &stated,
        );
    }
    import.warn(Warning::CountUnknown);
    import.complete()
}
