//! `rtla timerlat top`: a table that is refreshed, a row per CPU with the extremes and means of each stage.

use std::collections::BTreeMap;

use jitterlab_model::Warning;

use super::statement::{Statement, Statements};
use super::text::{clamped_ns, lines};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails, rtla, rtla_analysis};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "rtla timerlat top", recognise, parse };

/// In the order of the table.
const STAGES: [&str; 3] = ["irq", "thr", "usr"];

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| line.contains("IRQ Timer Latency ("))
        && lines(input.text).any(|(_, line)| row_of(line).is_some())
}

/// Figures of a CPU: a count, and each stage's smallest, mean and largest value.
struct Row {
    cpu: u16,
    count: u64,
    stages: Vec<Option<[f64; 3]>>,
}

/// Reads `1 #12322 | 0 0 1 15 | 10 3 9 31`.
fn row_of(line: &str) -> Option<Row> {
    let mut parts = line.split('|');
    let (cpu, count) = parts.next()?.split_once('#')?;
    let stages = parts.map(|stage| {
        let words: Vec<&str> = stage.split_whitespace().collect();
        match words[..] {
            [_, min, average, max] => Some([min.parse().ok()?, average.parse().ok()?, max.parse().ok()?]),
            _ => None,
        }
    });
    let stages = stages.collect();
    Some(Row { cpu: cpu.trim().parse().ok()?, count: count.trim().parse().ok()?, stages })
}

/// The largest value of each stage in the line of all CPUs: `ALL #34941  e0 |   0   1   24 |   2   6   1035`.
fn all_of(line: &str) -> Option<Vec<i64>> {
    let stages = line.strip_prefix("ALL")?.split('|').skip(1);
    stages.map(|stage| stage.split_whitespace().last()?.parse().ok()).collect()
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("rtla timerlat", "monotonic");
    let unit_ns = if input.text.contains("IRQ Timer Latency (ns)") { 1 } else { 1_000 };
    let traced = rtla_analysis::traced_latencies(input.text);
    let mut of_all = Vec::new();
    let mut rows: BTreeMap<u16, Row> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        of_all = all_of(line).unwrap_or(of_all);
        let Some(row) = row_of(line) else { continue };
        if rows.get(&row.cpu).is_some_and(|before| before.count > row.count) {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
        rows.insert(row.cpu, row);
    }
    let most = rows.values().map(|row| row.count).max().unwrap_or(0);
    let period = rtla::timerlat_period(&mut import, input.text, most, hints);
    for Row { cpu, count, stages } in rows.into_values() {
        for (stage, figures) in STAGES.iter().zip(stages) {
            let Some(figures) = figures else { continue };
            let details =
                TaskDetails::new(format!("{stage}-{cpu:03}"), period).on_cpu(Some(cpu)).with_skips();
            let mut stated = Statements::from_extremes(figures, count, unit_ns);
            rtla_analysis::add_stop_latency(&traced, stage, Some(cpu), &mut stated);
            let details = details
                .with_end_checked(&mut import, !rtla_analysis::lacks_stop(input.text, &traced, Some(cpu)));
            import.add_latencies(details, &stated);
        }
    }
    for (stage, max) in STAGES.iter().zip(of_all) {
        let mut stated = Statements::with_unit(unit_ns);
        stated.add([Statement::Max(clamped_ns(max, unit_ns))]);
        import.check_totals(&format!("{stage} of all CPUs"), &stated, |task| task.starts_with(stage));
    }
    traced.into_iter().for_each(|one| import.warn(Warning::Traced(one)));
    import.warn(Warning::Stages);
    import.warn(Warning::MissedNotCounted { tool: "rtla timerlat".into() });
    import.complete()
}
