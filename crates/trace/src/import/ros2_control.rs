//! Log lines of ros2_control's controller manager where its loop took longer than a period:
//! `Overrun detected! The controller manager missed its desired rate of 500 Hz. The loop took 2.895488 ms (missed cycles : 2).`
//!
//! The time is from when the loop was due to its end, so a late start is part of it, and the cycles are those that it left out and
//! itself (`ros2_control_node.cpp`). At most one overrun is logged a second.
//!
//! Values of its topics `/diagnostics` and `/controller_manager/statistics`: rates of the loop in Hz
//! (`periodicity.min`), and times of its parts (`Avg: 1649.45 [1561.73 - 2061.39] us, StdDev: 56.42`).

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_model::{Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{lines, number_after, us};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "ros2_control", recognise, parse };

/// Rate in Hz, time in ms and cycles of an overrun.
fn overrun_of(line: &str) -> Option<(f64, f64, u64)> {
    let (_, rest) = line.split_once(" rate of ")?;
    let rate = rest.split_whitespace().next()?.parse().ok().filter(|rate: &f64| *rate > 0.0)?;
    let cycles = number_after(rest, "missed cycles ").map_or(0, |cycles| cycles as u64);
    Some((rate, number_after(rest, "The loop took")?, cycles))
}

/// Names and values, from lines such as `key: periodicity.min` and `value: '91.2'` below it.
fn named_values(text: &str) -> impl Iterator<Item = (String, &str)> {
    let mut name = None;
    lines(text).filter_map(move |(_, line)| {
        let line = line.trim_start_matches("- ");
        if let Some(named) = line.strip_prefix("key:").or_else(|| line.strip_prefix("name:")) {
            name = Some(named.trim().trim_matches(['"', '\'']).replace('/', "."));
        }
        let value = line.strip_prefix("value:")?.trim().trim_matches(['"', '\'']);
        Some((name.take()?, value))
    })
}

/// Mean, smallest, largest and deviation of `Avg: 1649.45 [1561.73 - 2061.39] us, StdDev: 56.42`, in microseconds.
fn times_of(value: &str) -> Option<[f64; 4]> {
    let (range, _) = value.split_once('[')?.1.split_once("] us")?;
    let (min, max) = range.split_once(" - ")?;
    Some([
        number_after(value, "Avg:")?,
        min.parse().ok()?,
        max.parse().ok()?,
        number_after(value, "StdDev:")?,
    ])
}

/// Figure after `periodicity.`, of `periodicity.min` or `controller_manager.periodicity.min`.
fn periodicity_figure(name: &str) -> Option<&str> {
    let (before, figure) = name.rsplit_once("periodicity.")?;
    matches!(before, "" | "controller_manager.").then_some(figure)
}

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| overrun_of(line).is_some())
        || named_values(input.text)
            .any(|(name, value)| periodicity_figure(&name).is_some() || times_of(value).is_some())
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("ros2_control", "steady");
    let mut overruns = Vec::new();
    let mut last = 0.0;
    for (number, line) in lines(input.text) {
        let Some(overrun) = overrun_of(line) else { continue };
        let at = line.split(['[', ']']).find_map(|part| part.parse::<f64>().ok()).unwrap_or(last);
        if at < std::mem::replace(&mut last, at) {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
        overruns.push(overrun);
    }
    let of_rate = |rate: f64| (1e9 / rate).round() as i64;
    let (mut average, mut rates, mut parts) = (None, Vec::new(), BTreeMap::<String, Statements>::new());
    let mut periods: Vec<i64> = overruns.iter().map(|(rate, ..)| of_rate(*rate)).collect();
    let mut named = BTreeSet::new();
    for (name, value) in named_values(input.text) {
        let is_timing = periodicity_figure(&name).is_some() || times_of(value).is_some();
        if !named.insert(name.clone()) && is_timing {
            return Err(Unreadable::SecondMeasurement.into());
        }
        let rate = value.parse().ok().filter(|rate: &f64| *rate > 0.0);
        match periodicity_figure(&name) {
            Some("min") => rates.extend(rate.map(|rate| Statement::MaxSoFar(of_rate(rate)))),
            Some("average") => average = rate.map(of_rate).or(average),
            Some("max") => rates.extend(rate.map(|rate| Statement::MinSoFar(of_rate(rate)))),
            _ if name == "update_rate" => periods.extend(rate.map(of_rate)),
            _ => {}
        }
        if let Some([mean, min, max, deviation]) = times_of(value) {
            let stated = parts.entry(name).or_default();
            let [min, max] = [Statement::MinSoFar(us(min)), Statement::MaxSoFar(us(max))];
            let [mean, deviation] = [mean, deviation].map(|us| us * 1_000.0);
            stated.add([
                Statement::Count(1),
                min,
                max,
                Statement::Mean(mean),
                Statement::Deviation(deviation),
            ]);
        }
    }
    periods.dedup();
    if let (Some(period_ns), true, None) = (average, periods.is_empty(), hints.period_ns()) {
        periods.push(period_ns);
        import.warn(Warning::MeanPeriod { period_ns });
    }
    let period = import.consistent_period("controller_manager", &periods, hints, 10_000_000);
    let details = |name: &str| TaskDetails::new(name, period).with_skips().with_gap(Gap::Count);
    if !overruns.is_empty() {
        let mut stated = Statements::exact();
        let times = || overruns.iter().map(|(_, ms, _)| us(ms * 1_000.0));
        stated.add(times().max().map(Statement::Max));
        stated.add([Statement::Overflow { from: times().min().unwrap_or(0), count: overruns.len() as u64 }]);
        let missed =
            overruns.iter().map(|(.., cycles)| cycles.saturating_sub(1)).fold(0, u64::saturating_add);
        let details = details("controller_manager").with_missed(Some(missed)).with_gap(Gap::Latency);
        import.add_execution_times(details, &stated);
        import.warn(Warning::OnlyAbove { above_ns: period.ns() });
    }
    if !rates.is_empty() {
        let error = |of: Statement| match of {
            Statement::MinSoFar(ns) => Statement::MinSoFar(ns.saturating_sub(period.ns())),
            Statement::MaxSoFar(ns) => Statement::MaxSoFar(ns.saturating_sub(period.ns())),
            of => of,
        };
        let mut stated = Statements::exact();
        stated.add([Statement::Count(1)]);
        stated.add(rates.into_iter().map(error));
        import.add_period_errors(details("control loop"), &stated);
        import.warn(Warning::OnlyPeriodErrors { tool: "ros2_control".into() });
    }
    for (name, stated) in parts {
        import.add_execution_times(details(&name).with_gap(Gap::Latency), &stated);
    }
    import.warn(Warning::CountUnknown);
    import.complete()
}
