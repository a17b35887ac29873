//! Tasks on real threads and the real clock. The tests assert only properties that hold on any machine.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::{Activation, Compensation, Policy, TaskSpec, WakeMethod};
use jitterlab_rt::{Linux, PeriodicLoop, System, TaskThread, ThreadOptions};

fn ordinary(text: &str) -> TaskSpec {
    format!("{text},policy=other").parse().unwrap()
}

fn options() -> ThreadOptions {
    ThreadOptions { lock_memory: false, ring: 4_096, ..ThreadOptions::default() }
}

#[test]
fn two_tasks_share_a_beginning_and_account_for_every_due_time() {
    let stop = Arc::new(AtomicBool::new(false));
    let specs = [ordinary("name=a,period=1ms"), ordinary("name=b,period=5ms,offset=2ms,work=spin:100us")];
    let mut tasks: Vec<TaskThread> =
        specs.iter().map(|s| TaskThread::spawn(s, &options(), &stop).unwrap()).collect();
    let epoch = Linux.now_ns() + 2_000_000;
    for task in &mut tasks {
        task.start(epoch, Some(epoch + 200_000_000));
    }
    for (mut task, spec) in tasks.into_iter().zip(&specs) {
        let mut drain = task.take_drain().unwrap();
        let ended = task.finish().unwrap();
        let mut got: Vec<Activation> = Vec::new();
        drain.pop_into(&mut got, usize::MAX);
        let r = ended.result;
        assert_eq!((got.len() as u64, r.dropped), (r.executed, 0));
        assert_eq!(r.first_due_ns, epoch + spec.offset_ns);
        assert_eq!((r.executed + r.missed) as i64, (r.last_end_ns - r.first_due_ns) / spec.period_ns + 1);
        for a in &got {
            assert_eq!(a.due_ns, r.first_due_ns + a.index as i64 * spec.period_ns);
            assert!(a.latency_ns() >= 0 && a.execution_ns() >= 0, "{a:?}");
        }
        assert!(got.windows(2).all(|p| p[0].end_ns <= p[1].start_ns));
        assert!(got.iter().all(|a| a.due_ns < epoch + 200_000_000));
        assert!(r.cpu_time_ns.unwrap() > 0 && r.voluntary_switches.unwrap() > 0);
    }
}

#[test]
fn an_hourly_task_stops_at_once() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut task = TaskThread::spawn(&ordinary("period=1h"), &options(), &stop).unwrap();
    task.start(Linux.now_ns(), None);
    while task.counters().snapshot().executed == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    stop.store(true, Ordering::Relaxed);
    let asked = Instant::now();
    assert_eq!(task.finish().unwrap().result.executed, 1);
    assert!(asked.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_task_never_started_never_runs() {
    let stop = Arc::new(AtomicBool::new(false));
    let task = TaskThread::spawn(&ordinary("period=1ms"), &options(), &stop).unwrap();
    assert_eq!(task.finish().unwrap().result.executed, 0);
}

#[test]
fn counters_can_be_read_while_it_runs() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut task =
        TaskThread::spawn(&ordinary("period=200us"), &ThreadOptions { count: Some(300), ..options() }, &stop)
            .unwrap();
    task.start(Linux.now_ns(), None);
    let mut last = 0;
    while !task.is_finished() {
        let now = task.counters().snapshot();
        assert!(now.executed >= last);
        last = now.executed;
        thread::yield_now();
    }
    assert_eq!(task.finish().unwrap().result.executed, 300);
}

#[test]
fn polling_on_the_only_processor_is_refused_with_an_explanation() {
    // On a thread of its own, which alone is kept to one processor.
    thread::spawn(|| {
        let cpu = jitterlab_rt::sys::sched::cpus().unwrap()[0];
        jitterlab_rt::sys::sched::set_cpus(&[cpu]).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let spec = format!("period=1ms,wake=spin,policy=fifo:1,cpu={cpu}").parse().unwrap();
        let refused = TaskThread::spawn(&spec, &options(), &stop).unwrap_err().to_string();
        assert!(refused.contains("unreachable"), "{refused}");
        let same = PeriodicLoop::every(Duration::from_millis(1))
            .wake(WakeMethod::Spin)
            .policy(Policy::Fifo(1))
            .cpu(cpu)
            .build();
        assert_eq!(same.err().map(|error| error.to_string()), Some(refused));
    })
    .join()
    .unwrap();
}

#[test]
fn a_description_that_contradicts_itself_is_refused() {
    let stop = Arc::new(AtomicBool::new(false));
    let spec = TaskSpec { compensate: Compensation::Margin { margin_ns: 2_000_000 }, ..TaskSpec::default() };
    let refused = TaskThread::spawn(&spec, &options(), &stop).unwrap_err().to_string();
    assert!(refused.contains("margin"), "{refused}");
}
