//! Time from a thread's return from the kernel to a reading of its clock: the difference between the kernel's
//! event of a start and the program's own time stamp of it. It is measured on a thread of our own, before
//! other threads are watched.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jitterlab_analysis::causes::{Event, EventKind, NameTable};
use jitterlab_model::{CpuSet, ReturnTime, SleepClock};
use jitterlab_rt::sys::{restartable, sched};
use jitterlab_rt::system::Sleep;
use jitterlab_rt::{Linux, System};

use crate::trace_events::TraceEvents;

/// Number and length of the sleeps: as long as a task sleeps, so that the code and data have left the caches
/// as they do there. From outside it is unknown if a thread is registered for restartable sequences, as the C
/// library mostly does and which the kernel serves on the way back: ours is for the first half.
const TIMES: usize = 64;
const SLEEP_NS: i64 = 1_000_000;
/// Time limit, for the case that more urgent threads have the processors.
const LIMIT: Duration = Duration::from_millis(500);
/// Fewer returns than these show no median.
const LEAST: usize = 8;

/// Measures returns from system calls by an own thread on these processors; `None` if it gets too few.
pub(super) fn measure_return_times(
    events: &mut TraceEvents,
    names: &mut NameTable,
    cpus: &CpuSet,
) -> Option<ReturnTime> {
    let cpus: Vec<u16> = cpus.iter().collect();
    let (say, said) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let (end, ended) = mpsc::channel();
    let sleeps = move || {
        // If it may not run there, it is measured where it is.
        let _ = sched::set_cpus(&cpus);
        let _ = say.send(nix::unistd::gettid().as_raw());
        if gone.recv().is_err() {
            return;
        }
        let stamp = |time| {
            if time == TIMES / 2 {
                restartable::unregister();
            }
            let wake_ns = Linux.now_ns() + SLEEP_NS;
            Linux.sleep(SleepClock::Monotonic, Sleep::Until(wake_ns)).map(|_| Linux.now_ns())
        };
        let stamps: Result<Vec<i64>, _> = (0..TIMES).map(stamp).collect();
        let _ = end.send(stamps.unwrap_or_default());
    };
    // The thread is not waited for beyond the limit, since it may never get a processor.
    thread::Builder::new().name("jitterlab-clock".into()).spawn(sleeps).ok()?;
    let number = said.recv_timeout(LIMIT).ok()?;
    events.follow_threads(&[number]).ok()?;
    go.send(()).ok()?;
    let stamps = ended.recv_timeout(LIMIT).ok()?;
    return_times(number, &stamps, &events.read_events(names).0)
}

/// Quartiles of the times from each stamp's last return to the stamp; `None` for too few.
fn return_times(number: i32, stamps: &[i64], events: &[Event]) -> Option<ReturnTime> {
    let own = events
        .iter()
        .filter(|event| event.pid == number && matches!(event.what, EventKind::SyscallExit { .. }));
    let returned: Vec<i64> = own.map(|event| event.t_ns).collect();
    let since = |stamp: &i64| {
        let before = returned[..returned.partition_point(|t| t <= stamp)].last()?;
        Some(stamp - before).filter(|ns| *ns < SLEEP_NS)
    };
    let sorted = |stamps: &[i64]| {
        let mut since: Vec<i64> = stamps.iter().filter_map(since).collect();
        since.sort_unstable();
        (since.len() >= LEAST).then_some(since)
    };
    let quartile = |since: &[i64], n: usize| since[n * (since.len() - 1) / 4];
    let (with, without) = stamps.split_at(stamps.len() / 2);
    let (with, without, all) = (sorted(with)?, sorted(without)?, sorted(stamps)?);
    Some(ReturnTime {
        times: all.len() as u32,
        lower_ns: quartile(&all, 1),
        taken_ns: i64::midpoint(quartile(&with, 2), quartile(&without, 2)),
        upper_ns: quartile(&all, 3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(pid: i32, t_ns: i64) -> Event {
        Event {
            t_ns,
            cpu: 0,
            pid,
            in_interrupt: false,
            interrupts_off: false,
            what: EventKind::SyscallExit { return_value: 0 },
        }
    }

    #[test]
    fn each_stamp_belongs_to_the_last_return_before_it() {
        let stamps: Vec<i64> = (1..=40).map(|k| k * SLEEP_NS).collect();
        // Another thread's returns lie between, and one of ours was not recorded.
        let events: Vec<Event> = stamps
            .iter()
            .enumerate()
            .filter(|(k, _)| *k != 7)
            .flat_map(|(k, stamp)| [event(9, stamp - 400 - k as i64), event(8, stamp - 10)])
            .collect();
        let found = return_times(9, &stamps, &events).unwrap();
        // 400 to 419 without 407, then 420 to 439.
        assert_eq!(found, ReturnTime { times: 39, lower_ns: 410, taken_ns: (410 + 429) / 2, upper_ns: 429 });
        assert_eq!(return_times(7, &stamps, &events), None, "a thread that was not seen");
        assert_eq!(return_times(9, &stamps[..10], &events), None, "too few");
    }
}
