//! Runs with a million events and more: each file opens, and what was lost is said. Some minutes, so only with
//! `JITTERLAB_EVENT_RUNS`, the number of runs, as root:
//!
//!     JITTERLAB_EVENT_RUNS=60 cargo test -p jitterlab --test causes many_events:: -- --nocapture

use std::fs;

use jitterlab_model::Warning;
use jitterlab_runs::{Hints, Run};

use super::kinds::Trial;
use crate::shared::known::answered;
use crate::shared::machine::alone;
use crate::shared::tracing::{activations, may_trace};

/// Disturbances of a run, in turn: switches, packets, timers, long calls.
const BESIDE: [&[&str]; 3] =
    [&["storm 0", "storm 1"], &["storm 0", "flood 1", "timers 0"], &["storm 0", "poller 1", "hog fifo 75 1"]];

const MANY: u64 = 1_000_000;

#[test]
fn of_a_million_events_none_is_lost_silently_and_each_file_opens() {
    let runs = std::env::var("JITTERLAB_EVENT_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    if runs == 0 || !may_trace() {
        return println!("skipped: takes minutes; set JITTERLAB_EVENT_RUNS to the number of runs");
    }
    let _alone = alone();
    let Some(trial) = Trial::begin() else { return };
    let (mut counted, mut most, mut lost_runs, mut lost_events, mut whole) = (0, 0, 0, 0, 0);
    for number in 0..2 * runs {
        if counted == runs {
            break;
        }
        let _beside: Vec<_> = BESIDE[number % BESIDE.len()].iter().map(|words| trial.start(words)).collect();
        let tasks = ["name=one,period=1ms,cpu=0,policy=fifo:70", "name=two,period=1ms,cpu=1,policy=fifo:70"];
        let run =
            ["run", "--why", "-q", "-d", "4s", "-o", "run.parquet", "--task", tasks[0], "--task", tasks[1]];
        answered(trial.path(), &run);
        let file = trial.path().join("run.parquet");
        let (info, causes) = {
            let run = Run::open(&file, &Hints::default()).unwrap();
            (run.info().clone(), run.causes().unwrap().clone())
        };
        for (task, of) in info.tasks.iter().enumerate() {
            let rows = activations(&file, task).len() as u64;
            let result = of.result.as_ref().unwrap();
            assert_eq!(rows + result.dropped, result.executed, "{number}: {}", of.spec.name);
            assert_eq!(causes.tasks[task].explained, rows, "{number}: {}", of.spec.name);
        }
        for command in ["why", "analyze", "report"] {
            let page = ["-o", "page.html"];
            let words =
                [&[command, "run.parquet"], &page[..if command == "report" { 2 } else { 0 }]].concat();
            answered(trial.path(), &words);
        }
        let is_said = info.warnings.iter().any(|warning| matches!(warning, Warning::EventsLost { .. }));
        let tracer = &causes.tracer;
        assert_eq!(is_said, tracer.lost > 0, "{number}: {} lost", tracer.lost);
        // Next to other programs, some have fewer.
        counted += usize::from(tracer.events + tracer.lost >= MANY);
        most = most.max(tracer.events);
        lost_runs += u64::from(is_said);
        lost_events += tracer.lost;
        whole += causes.tasks.iter().map(|task| task.explained - task.gaps).sum::<u64>();
        fs::remove_file(file).unwrap();
        let _ = fs::remove_file(trial.path().join("page.html"));
    }
    println!(
        "{counted} runs with a million events, at most {most}, and some with fewer: all opened; {lost_runs} lost \
         {lost_events} events and said so; {whole} activations have their causes whole"
    );
    assert_eq!(counted, runs);
}
