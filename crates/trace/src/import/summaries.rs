//! Tools that print a few figures for each thread or processor: `rtla osnoise top`, `perf sched latency`, rteval's report.

use std::collections::BTreeMap;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::command::{Command, RT_TESTS};
use super::statement::{Statement, Statements};
use super::text::{lines, number_after, us};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const OSNOISE_TOP: Importer = Importer {
    name: "rtla osnoise top",
    recognise: |input| lines(input.text).any(|(_, line)| noise_of(line).is_some()),
    parse: |input, _| import_lines(input, "rtla osnoise", Aperiodic::Gaps, noise_of),
};
pub(super) const PERF_SCHED: Importer = Importer {
    name: "perf sched latency",
    recognise: |input| lines(input.text).any(|(_, line)| wait_of(line).is_some()),
    parse: |input, _| import_lines(input, "perf sched", Aperiodic::RunQueue, wait_of),
};
pub(super) const RTEVAL: Importer = Importer { name: "rteval", recognise: is_rteval, parse: parse_rteval };

/// A line of figures: their name and CPU, and the number of values.
struct Line {
    name: String,
    cpu: Option<u16>,
    count: u64,
    stated: Statements,
}

/// Imports a task for each line; the last of its refreshed lines counts.
fn import_lines(
    input: &Input,
    tool: &str,
    measures: Aperiodic,
    line_of: fn(&str) -> Option<Line>,
) -> Result<Import, ImportError> {
    let mut import = Import::new(tool, "monotonic");
    let mut all: BTreeMap<(Option<u16>, String), Line> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        let Some(found) = line_of(line) else { continue };
        let (key, count) = ((found.cpu, found.name.clone()), found.count);
        if all.insert(key, found).is_some_and(|before| before.count >= count) {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
    }
    for Line { name, cpu, stated, .. } in all.into_values() {
        import.add_latencies(TaskDetails::new(name, Period::None).on_cpu(cpu), &stated);
    }
    import.warn(Warning::NoPeriod { tool: tool.into(), measures });
    import.complete()
}

/// Reads the noise of a processor in a line of rtla osnoise, such as
/// `  0 #59  53100000  304896  99.42580  6978  56  549  0  53111  1590  13`: processor, periods, runtime, noise, share left,
/// most in a period, longest, and counts by cause; in microseconds.
fn noise_of(line: &str) -> Option<Line> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [cpu, periods, _runtime, noise, share, _most, longest, causes @ ..] = &words[..] else { return None };
    periods.strip_prefix('#')?.parse::<u64>().ok()?;
    share.parse::<f64>().ok().filter(|_| share.contains('.'))?;
    let causes: Option<Vec<u64>> = causes.iter().map(|count| count.parse().ok()).collect();
    let count = causes.filter(|causes| causes.len() >= 4)?.into_iter().fold(0, u64::saturating_add);
    let (noise, longest): (f64, f64) = (noise.parse().ok()?, longest.parse().ok()?);
    let mut stated = Statements::with_unit(1_000);
    stated.add([Statement::Overflow { from: 0, count }, Statement::Max(us(longest))]);
    stated.add((count > 0).then(|| Statement::Mean(noise * 1_000.0 / count as f64)));
    let cpu: u16 = cpu.parse().ok()?;
    Some(Line { name: format!("cpu{cpu}"), cpu: Some(cpu), count, stated })
}

/// Reads `cyclictest:(2)  |  12.346 ms |  1999 | avg:   0.012 ms | max:   0.215 ms | ...`.
fn wait_of(line: &str) -> Option<Line> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, _runtime, count, mean, max, ..] = &cells[..] else { return None };
    let ms = |cell: &str, name: &str| number_after(cell.strip_suffix("ms")?, name).map(|ms| ms * 1_000.0);
    let (mean, max) = (ms(mean, "avg:")?, ms(max, "max:")?);
    let count = count.parse().ok()?;
    // Times are in whole microseconds.
    let mut stated = Statements::with_unit(1_000);
    stated.add([
        Statement::Overflow { from: 0, count },
        Statement::Max(us(max)),
        Statement::Mean(mean * 1_000.0),
    ]);
    Some(Line { name: (*name).into(), cpu: None, count, stated })
}

fn is_rteval(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| line.starts_with("Samples:"))
        && lines(input.text).any(|(_, line)| line.starts_with("Std.dev:") || line.starts_with("Mean:"))
}

/// Reads what rteval prints of cyclictest on every core. Blocks of `Samples:`, `Mean:`, `Min:`, `Max:` and `Std.dev:`:
/// of the system, then of each core.
fn parse_rteval(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("rteval", "monotonic");
    let command = Command::find_in_text(input.text, "cyclictest", RT_TESTS);
    let interval = command
        .and_then(|command| command.option_number(["i", "interval"]))
        .map(|us| us.saturating_mul(1_000));
    let period = import.period_or_default(interval, hints, 100_000);
    let (mut system, mut cores) = (Statements::with_unit(1_000), Vec::<(u16, Statements)>::new());
    for (number, line) in lines(input.text) {
        if let Some(core) = line.strip_prefix("CPU core ") {
            let core = core.split_whitespace().next().and_then(|core| core.parse().ok());
            let core = core.ok_or_else(|| Unreadable::unexpected(line, "a count").at_line(number))?;
            if cores.iter().any(|(known, _)| *known == core) {
                return Err(Unreadable::SecondMeasurement.at_line(number));
            }
            cores.push((core, Statements::with_unit(1_000)));
        }
        let stated = cores.last_mut().map_or(&mut system, |(_, stated)| stated);
        let figure = |name: &str| line.strip_prefix(name).and_then(|rest| number_after(rest, ""));
        stated.add(figure("Samples:").map(|count| Statement::Count(count as u64)));
        stated.add(figure("Min:").map(|min| Statement::Min(us(min))));
        stated.add(figure("Max:").map(|max| Statement::Max(us(max))));
        stated.add(figure("Mean:").map(|mean| Statement::Mean(mean * 1_000.0)));
        stated.add(figure("Std.dev:").map(|deviation| Statement::Deviation(deviation * 1_000.0)));
    }
    for (core, stated) in cores {
        import.add_latencies(
            TaskDetails::new(format!("core{core}"), period).on_cpu(Some(core)).with_skips_when_late(),
            &stated,
        );
    }
    import.check_totals("all cores", &system, |_| true);
    import.warn_uncounted_misses("cyclictest");
    import.complete()
}
