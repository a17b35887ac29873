//! Causes of late activations on the real machine: they add up, and one that was put there is found by its name. No time is
//! asserted, only what must hold always.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot do its steps has failed")]

#[allow(dead_code, reason = "not all that is shared is needed here")]
mod known;
#[allow(dead_code, reason = "not all that is shared is needed here")]
mod tracing;

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_model::Activation;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::Columns;
use serde_json::Value;
use tempfile::TempDir;

use known::{answered, refused};
use tracing::{may_trace, why};

fn number(of: &Value, field: &str) -> i64 {
    of[field].as_i64().unwrap_or_else(|| panic!("{field} in {of}"))
}

fn activations(file: &Path, task: usize) -> Vec<Activation> {
    let reader = Run::open(file, &Hints::default()).unwrap();
    let mut rows = Vec::new();
    reader.visit(task, Columns::ALL, |part| rows.extend_from_slice(part)).unwrap();
    rows
}

#[test]
fn an_injected_thread_is_found_by_its_name_and_all_parts_add_up() {
    if !may_trace() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let run = ["run", "--why", "-q", "-d", "1s", "-o", "run.parquet", "--task"];
    let main = "name=main,period=1ms,cpu=0,policy=fifo:70";
    let hog = "name=hog,period=7ms,cpu=0,policy=fifo:75,work=spin:300us";
    answered(folder.path(), &[&run[..], &[main, "--task", hog]].concat());
    let result = why(folder.path(), "run.parquet");
    let task = &result["tasks"][0];
    let preempted = |row: &&Value| row["cause"]["class"] == "preempted" && row["cause"]["who"] == "hog";
    let hog = task["causes"].as_array().unwrap().iter().find(preempted).unwrap();
    // Both begin together, so it meets every seventh activation, whatever else happens.
    assert!(number(hog, "times") >= 50, "{hog}");
    let rows = activations(&folder.path().join("run.parquet"), 0);
    assert_eq!(number(task, "explained"), rows.len() as i64);
    let latencies: BTreeMap<u64, i64> = rows.iter().map(|a| (a.index, a.latency_ns())).collect();
    let events = task["events"].as_array().unwrap();
    assert_eq!(events.len(), 10);
    for event in events {
        let mut at_ns = 0;
        for part in event["parts"].as_array().unwrap() {
            assert_eq!(number(part, "at_ns"), at_ns, "{event}");
            at_ns += number(part, "ns");
        }
        assert_eq!(at_ns, number(event, "latency_ns"), "{event}");
        assert_eq!(latencies[&event["index"].as_u64().unwrap()], at_ns);
    }
    let trace = answered(folder.path(), &["why", "--export", "perfetto", "run.parquet"]);
    let trace: Value = serde_json::from_str(&trace).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().iter().any(|event| event["name"] == "hog"));
}

#[test]
fn a_watched_program_starts_when_it_says_itself() {
    if !may_trace() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let watch = ["watch", "-q", "--json", "--find", "5s", "-d", "60s", "-o", "watched.parquet", "--"];
    let own = ["run", "-q", "-d", "10s", "--period", "2ms", "-o", "own.parquet"];
    let program = [env!("CARGO_BIN_EXE_jitterlab")];
    let watched: Value =
        serde_json::from_str(&answered(folder.path(), &[&watch[..], &program, &own].concat())).unwrap();
    let tasks = watched["result"]["run"]["tasks"].as_array().unwrap();
    let main = tasks.iter().position(|task| task["watched"]["waits"] == "nanosleep").unwrap();
    assert_eq!(tasks[main]["spec"]["period_ns"], 2_000_000);
    assert_eq!(tasks[main]["watched"]["due"], "own-timer");
    let own: BTreeMap<i64, Activation> =
        activations(&folder.path().join("own.parquet"), 0).into_iter().map(|a| (a.due_ns, a)).collect();
    let seen = activations(&folder.path().join("watched.parquet"), main);
    assert!(seen.len() > 100, "{}", seen.len());
    // Every activation of its own is matched, but for those that lost events hide.
    let last_ns = seen[seen.len() - 1].due_ns;
    let there = own.range(seen[0].due_ns..=last_ns).count();
    let hidden = tasks[main]["result"]["dropped"].as_u64().unwrap() as usize;
    assert!(
        seen.len() <= there && there <= seen.len() + hidden,
        "{} of {there}, {hidden} hidden",
        seen.len()
    );
    let mut before: Vec<i64> =
        seen.iter().filter_map(|a| Some(own.get(&a.due_ns)?.start_ns - a.start_ns)).collect();
    before.sort_unstable();
    let at = |p: usize| before[p * (before.len() - 1) / 100];
    println!(
        "{} of {there} matched; starts {} ns before its own clock, p1 {}, p99 {}",
        seen.len(),
        at(50),
        at(1),
        at(99)
    );
    for a in &seen {
        // Its due times to the nanosecond, and it comes back from its wait before it reads the clock.
        let own = own.get(&a.due_ns).unwrap_or_else(|| panic!("no such due time: {a:?}"));
        assert!(
            a.due_ns <= a.start_ns && a.start_ns <= own.start_ns && a.end_ns >= own.end_ns,
            "{a:?} {own:?}"
        );
    }
}

#[test]
fn what_was_not_traced_and_what_is_not_there_is_said() {
    let folder = TempDir::new().unwrap();
    known::run(folder.path(), "plain.parquet", 1_000_000, 100, |_| 1_000);
    refused(folder.path(), &["why", "plain.parquet"], 3, &["jitterlab run --why"]);
    refused(folder.path(), &["watch"], 2, &["--pid"]);
    if may_trace() {
        refused(folder.path(), &["watch", "--thread", "no-such-thread"], 2, &["no-such-thread"]);
        refused(folder.path(), &["watch", "--", "/no/such/program"], 3, &["/no/such/program"]);
    }
}
