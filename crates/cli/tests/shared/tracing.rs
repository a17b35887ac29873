//! Helpers for tests of `why`: the right to record the kernel's events, and the causes of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jitterlab_model::{Activation, TaskRun};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::Columns;
use serde_json::Value;

use super::known::answered;

/// True if the kernel's events can be recorded: with CAP_SYS_ADMIN, which root on the machine itself has.
pub fn may_trace() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let granted = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    let may = u64::from_str_radix(granted.trim(), 16).unwrap() & SYS_ADMIN != 0;
    if !may {
        println!("skipped: needs the right to trace");
    }
    may
}

/// The result of `jitterlab why`.
pub fn why(folder: &Path, file: &str) -> Value {
    let document: Value = serde_json::from_str(&answered(folder, &["why", "--json", file])).unwrap();
    assert_eq!(document["kind"], "why");
    document["result"].clone()
}

/// Number of delays by `who`, and the share of their time in each class; with `None`, of delays without a
/// name.
fn taken_for(task: &Value, who: Option<&str>) -> (u64, BTreeMap<String, f64>) {
    let rows = task["causes"].as_array().unwrap();
    let whose = rows.iter().filter(|row| row["cause"]["who"].as_str() == who);
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let mut times = 0;
    for row in whose {
        times += row["times"].as_u64().unwrap();
        *shares.entry(row["cause"]["class"].as_str().unwrap().to_owned()).or_default() +=
            row["sum_ns"].as_f64().unwrap();
    }
    let sum: f64 = shares.values().sum();
    shares.values_mut().for_each(|share| *share /= sum);
    (times, shares)
}

/// A line of the table; the right class has to have nearly all of it, and it has to be found as often as it happened at
/// least.
#[track_caller]
pub fn check(put: &str, who: &str, right: &[&str], at_least: u64, task: &Value) {
    let (times, shares) = taken_for(task, Some(who));
    let told: Vec<String> =
        shares.iter().map(|(class, share)| format!("{class} {:.1} %", 100.0 * share)).collect();
    println!("| {put} | {who}, {times} times | {} |", told.join(", "));
    let sum: f64 = right.iter().filter_map(|class| shares.get(*class)).sum();
    assert!(times >= at_least && sum >= 0.9, "{put}: {right:?} {shares:?} {times}: {task:#}");
}

/// The activations of a task in a run file.
pub fn activations(file: &Path, task: usize) -> Vec<Activation> {
    let reader = Run::open(file, &Hints::default()).unwrap();
    let mut rows = Vec::new();
    reader.visit(task, Columns::ALL, |part| rows.extend_from_slice(part)).unwrap();
    rows
}

/// Time in ns from a watched task's return from the kernel to its start.
pub fn return_ns(task: &TaskRun) -> i64 {
    let returns = task.watched.as_ref().and_then(|watched| watched.returns);
    returns.map_or(0, |returns| returns.taken_ns)
}

/// Time in ns from each watched start to the program's own time stamp, sorted; starts count `return_ns` after
/// the return from the kernel. Checks that every activation was seen, except for up to `hidden` that lost
/// events hide. Checks that due times agree to the nanosecond, and that each observation lies around the
/// activation's own times and before the next.
pub fn before_own(own: &[Activation], seen: &[Activation], hidden: usize, return_ns: i64) -> Vec<i64> {
    let own: BTreeMap<i64, &Activation> = own.iter().map(|a| (a.due_ns, a)).collect();
    let there = own.range(seen[0].due_ns..=seen[seen.len() - 1].due_ns).count();
    assert!(
        seen.len() <= there && there <= seen.len() + hidden,
        "{} of {there}, {hidden} hidden",
        seen.len()
    );
    for pair in seen.windows(2) {
        assert!(pair[0].end_ns <= pair[1].start_ns, "{pair:?}");
    }
    let before = seen.iter().map(|a| {
        assert!(own.contains_key(&a.due_ns), "no such due time: {a:?}");
        let own = own[&a.due_ns];
        assert!(
            a.due_ns <= a.start_ns && a.start_ns - return_ns <= own.start_ns && a.end_ns >= own.end_ns,
            "{a:?} {own:?}"
        );
        own.start_ns - a.start_ns
    });
    let mut before: Vec<i64> = before.collect();
    before.sort_unstable();
    let at = |p: usize| before[p * (before.len() - 1) / 100];
    println!(
        "{} of {there} matched; starts {} ns before its own clock, p1 {}, p99 {}, {} to {}; {return_ns} ns after the return",
        seen.len(),
        at(50),
        at(1),
        at(99),
        at(0),
        at(100)
    );
    before
}
