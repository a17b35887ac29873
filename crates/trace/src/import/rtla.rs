//! `rtla timerlat hist` and `rtla osnoise hist`: a column per CPU and stage.
//!
//! The stages of timerlat (IRQ, thread, user) are times from the same due time: one activation each, never to be
//! added. Each becomes a task of its own. Indices are lower edges; the bucket size is the largest that fits them all.

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::command::Command;
use super::statement::{Statement, Statements};
use super::text::{self, check_single_measurement, lines, us};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails, rtla_analysis};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "rtla timerlat hist", recognise, parse };

/// True for the first line of an output.
fn is_head(line: &str) -> bool {
    matches!(line, "# RTLA timerlat histogram" | "# RTLA osnoise histogram")
}

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| is_head(line))
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Values of a row, with 0 for `-`.
fn row_values(line: usize, words: &[&str]) -> Result<Vec<u64>, ImportError> {
    let value = |word: &&str| match *word {
        "-" => Ok(0),
        word => word.parse().map_err(|_| Unreadable::unexpected(word, "a count").at_line(line)),
    };
    words.iter().map(value).collect()
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    check_single_measurement(input.text, is_head)?;
    let osnoise = input.text.contains("RTLA osnoise histogram");
    let mut import = Import::new(if osnoise { "rtla osnoise" } else { "rtla timerlat" }, "monotonic");
    let unit_ns = if input.text.contains("nanoseconds (ns)") { 1 } else { 1_000 };
    let ns = |value: u64| text::clamped_ns(value as i64, unit_ns);
    let traced = rtla_analysis::traced_latencies(input.text);
    let mut names: Vec<String> = Vec::new();
    let mut rows: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut summary: [Option<Vec<u64>>; 5] = Default::default();
    const SUMMARY: [&str; 5] = ["over:", "count:", "min:", "avg:", "max:"];
    // Newer versions add a block with the sums of all CPUs; then perhaps the trace of the latency at the limit.
    let mut of_all: Option<Vec<(String, Statements)>> = None;
    for (number, line) in lines(input.text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.split_first() {
            None => {}
            Some((&"rtla", _)) if !rows.is_empty() => break,
            Some((&"ALL:", stages)) => {
                let stated = |stage: &&str| (stage.to_lowercase(), Statements::with_unit(unit_ns));
                of_all = Some(stages.iter().map(stated).collect());
            }
            Some((&first @ ("count:" | "max:"), figures)) if of_all.is_some() => {
                for ((_, stated), figure) in of_all.iter_mut().flatten().zip(row_values(number, figures)?) {
                    let of_all =
                        if first == "max:" { Statement::Max(ns(figure)) } else { Statement::Count(figure) };
                    stated.add([of_all]);
                }
            }
            Some(_) if of_all.is_some() => {}
            Some((&"Index", columns)) => names = columns.iter().map(|c| c.to_lowercase()).collect(),
            Some((first, counts)) => {
                if let Some(i) = SUMMARY.iter().position(|s| s == first) {
                    if summary[i].replace(row_values(number, counts)?).is_some() {
                        return Err(Unreadable::SecondMeasurement.at_line(number));
                    }
                } else if let Ok(index) = first.parse() {
                    rows.push((index, row_values(number, counts)?));
                }
            }
        }
        if let Some((_, row)) = rows.last().filter(|(_, row)| row.len() != names.len()) {
            let (counts, columns) = (row.len(), names.len());
            return Err(Unreadable::CountsOfRow { counts, columns }.at_line(number));
        }
    }
    let bucket = rows.iter().fold(0, |divisor, (index, _)| common_divisor(divisor, *index)).max(1);
    // Noise is how long a busy thread stood still.
    let period = if osnoise {
        Period::None
    } else {
        let most = summary[1].iter().flatten().copied().max().unwrap_or(0);
        timerlat_period(&mut import, input.text, most, hints)
    };
    let [over, count, min, average, max] = summary;
    let at = |row: &Option<Vec<u64>>, column: usize| row.as_ref().and_then(|r| r.get(column)).copied();
    for (column, name) in names.iter().enumerate() {
        let mut stated = Statements::with_unit(unit_ns);
        for (index, counts) in &rows {
            let low = ns(*index);
            stated.add_bin(low, low.saturating_add(ns(bucket) - 1), counts[column]);
        }
        let from = rows.last().map_or(0, |(index, _)| ns(index.saturating_add(bucket)));
        stated.add(at(&over, column).map(|count| Statement::Overflow { from, count }));
        stated.add(at(&count, column).map(Statement::Count));
        stated.add(at(&min, column).map(|min| Statement::Min(ns(min))));
        stated.add(at(&average, column).map(|mean| Statement::CutMean(ns(mean) as f64)));
        stated.add(at(&max, column).map(|max| Statement::Max(ns(max))));
        let cpu = name.rsplit('-').next().and_then(|n| n.parse().ok());
        rtla_analysis::add_stop_latency(&traced, name, cpu, &mut stated);
        let details = TaskDetails::new(name.clone(), period).on_cpu(cpu);
        let details =
            details.with_end_checked(&mut import, !rtla_analysis::lacks_stop(input.text, &traced, cpu));
        let details = if osnoise { details } else { details.with_skips() };
        import.add_latencies(details, &stated);
    }
    for (stage, stated) in of_all.into_iter().flatten() {
        import.check_totals(&format!("{stage} of all CPUs"), &stated, |task| task.starts_with(&stage));
    }
    traced.into_iter().for_each(|one| import.warn(Warning::Traced(one)));
    if osnoise {
        import.warn(Warning::NoPeriod { tool: "rtla osnoise".into(), measures: Aperiodic::Gaps });
    } else {
        import.warn(Warning::Stages);
        import.warn(Warning::MissedNotCounted { tool: "rtla timerlat".into() });
    }
    import.complete()
}

/// Period of timerlat by its command line, else the roundest that fits its duration and the activations of a CPU. The
/// duration is in whole seconds.
pub(super) fn timerlat_period(import: &mut Import, text: &str, count: u64, hints: &Hints) -> Period {
    const VALUED: &str = "abcdeHipPsTE";
    const USUAL_NS: i64 = 1_000_000;
    let programs = ["timerlat hist", "timerlat top", "timerlat"];
    let command = programs.into_iter().find_map(|program| Command::find_in_text(text, program, VALUED));
    let said =
        command.map(|command| command.option_number(["p", "period"]).map_or(USUAL_NS, |p| us(p as f64)));
    let bounds = duration_s(text).filter(|seconds| *seconds > 1 && count > 0).map(|seconds| {
        [seconds - 1, seconds + 1]
            .map(|s| text::clamped_ns(s, 1_000_000_000) / i64::try_from(count).unwrap_or(i64::MAX))
    });
    // Bounds that are far apart leave other usual periods, too.
    let narrow = bounds.filter(|[low, high]| high / 5 <= low / 4);
    let roundest = narrow.and_then(|[low, high]| {
        let steps = [1_000_000, 500_000, 100_000, 50_000, 10_000, 1_000];
        steps.into_iter().map(|step| (low + step - 1) / step * step).find(|ns| *ns <= high)
    });
    if let (None, None, Some(period_ns)) = (said, hints.period_ns(), roundest) {
        import.warn(Warning::PeriodByDuration { period_ns });
    }
    let refuted = said.filter(|said| narrow.is_some_and(|[low, high]| !(low..=high).contains(said)));
    let all: Vec<i64> =
        said.into_iter().chain(roundest.filter(|_| said.is_none() || refuted.is_some())).collect();
    import.consistent_period("timerlat", &all, hints, USUAL_NS)
}

/// Seconds of the last line such as `# Duration:   0 00:01:00`, or `  0 00:00:06   |   IRQ Timer Latency (us)`.
fn duration_s(text: &str) -> Option<i64> {
    let of_line = |(_, line): (usize, &str)| {
        let line = match line.strip_prefix("# Duration:") {
            Some(duration) => duration,
            None => line.contains("Timer Latency (").then_some(line)?,
        };
        let mut words = line.split_whitespace();
        let days: i64 = words.next()?.parse().ok()?;
        let clock: Vec<i64> = words.next()?.split(':').map_while(|part| part.parse().ok()).collect();
        let [hours, minutes, seconds] = clock[..] else { return None };
        let parts = [(days, 86_400), (hours, 3_600), (minutes, 60), (seconds, 1)];
        Some(parts.into_iter().fold(0, |sum: i64, (n, each)| sum.saturating_add(n.saturating_mul(each))))
    };
    lines(text).filter_map(of_line).last()
}
