//! NIST, figure 4: a task that is called early again and again, and polls at last; call by call.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use jitterlab_model::{Error, Policy, TaskSpec};
use jitterlab_rt::compensate::RepeatedWake;
use jitterlab_rt::wake::{Nanosleep, Wake};
use jitterlab_rt::{Arrival, Linux, PeriodicLoop, System, WakeUp, no_thread_error, thread_panic_error};

/// The calls of one activation, in order. Times count from its due time on: before it they are negative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EarlyCalls {
    /// A, the distance of calls.
    pub every_ns: i64,
    /// The calls that found the due time too far away, and slept again.
    pub returned: Vec<Call>,
    /// The last call, which polled until the due time had come.
    pub polled: Call,
    /// Number of measured activations; this one has the median of the calls' total time.
    pub of: u64,
    /// Mean time that the last calls of all of them polled.
    pub mean_polled_ns: i64,
}

/// A call, from the first reading of the clock after the wake-up to the last before it sleeps again or begins its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Call {
    pub woken_ns: i64,
    pub done_ns: i64,
}

impl Call {
    pub fn duration_ns(&self) -> i64 {
        self.done_ns - self.woken_ns
    }
}

impl EarlyCalls {
    /// Calls of the activation whose calls took the median total time; `None` if none was called early.
    /// `waits` are the times at which each sleep was to end and did end, `starts` due time and start of each
    /// activation, both in order and by the same clock.
    pub fn median_activation(every_ns: i64, waits: &[(i64, i64)], starts: &[(i64, i64)]) -> Option<Self> {
        let mut all: Vec<EarlyCalls> = Vec::new();
        let mut rest = waits;
        for &(due_ns, start_ns) in starts {
            let (here, later) = rest.split_at(rest.partition_point(|(_, woken_ns)| *woken_ns <= start_ns));
            rest = later;
            let Some((_, last_ns)) = here.last() else { continue };
            let returned = here.windows(2).map(|pair| call_from_due(due_ns, pair[0].1, pair[1].0)).collect();
            let polled = call_from_due(due_ns, *last_ns, start_ns);
            all.push(EarlyCalls { every_ns, returned, polled, of: 0, mean_polled_ns: 0 });
        }
        all.sort_by_key(|calls| {
            calls.returned.iter().chain([&calls.polled]).map(Call::duration_ns).sum::<i64>()
        });
        let of = all.len() as u64;
        let mean_polled_ns =
            all.iter().map(|calls| calls.polled.duration_ns()).sum::<i64>() / of.max(1) as i64;
        let middle = all.into_iter().nth(of as usize / 2)?;
        Some(EarlyCalls { of, mean_polled_ns, ..middle })
    }

    /// Share of the distance of calls that the last call polled, on average.
    pub fn polled_share(&self) -> f64 {
        self.mean_polled_ns as f64 / self.every_ns as f64
    }

    /// Median duration of the calls that returned: the service time S as the task sees it; `None` without any.
    pub fn service_ns(&self) -> Option<i64> {
        let mut took: Vec<i64> = self.returned.iter().map(Call::duration_ns).collect();
        took.sort_unstable();
        took.get(took.len() / 2).copied()
    }
}

/// A call in times relative to its due time.
fn call_from_due(due_ns: i64, woken_ns: i64, done_ns: i64) -> Call {
    Call { woken_ns: woken_ns - due_ns, done_ns: done_ns - due_ns }
}

/// Enough to have an ordinary one among them, in half a second at the paper's period.
const ACTIVATIONS: u64 = 1_000;

/// A sleep that records its beginning and its end.
struct RecordingSleep {
    sleep: Nanosleep,
    waits: SyncSender<(i64, i64)>,
}

impl WakeUp<Linux> for RecordingSleep {
    fn wait(&mut self, system: &Linux, due_ns: i64) -> io::Result<Wake> {
        let asked_ns = system.now_ns();
        if self.sleep.wait(system, due_ns)? == Wake::Interrupted {
            return Ok(Wake::Interrupted);
        }
        let woken_ns = system.now_ns();
        // The channel has room for every wait there can be, so this neither blocks nor allocates.
        let _ = self.waits.try_send((asked_ns, woken_ns));
        Ok(Wake::Read(Arrival::without_polling(woken_ns)))
    }
}

/// Measures a task with a call every `every_ns`; returns its median activation, `None` if none was called early.
/// Of `spec` the policy, processor and period count.
pub fn measure_early_calls(spec: &TaskSpec, every_ns: i64) -> Result<Option<EarlyCalls>, Error> {
    let room = ACTIVATIONS as usize * (spec.period_ns / every_ns.max(1) + 2) as usize;
    let (waits, noted) = sync_channel(room);
    let task = spec.clone();
    let thread = thread::Builder::new()
        .name(spec.name.clone())
        .spawn(move || run_task(&task, every_ns, waits))
        .map_err(no_thread_error);
    let starts = thread.and_then(|thread| thread.join().unwrap_or_else(|_| Err(thread_panic_error())));
    let starts = starts.map_err(|error| error.within(format!("task {}", spec.name)))?;
    // The thread is over, and its end of the channel with it.
    let waits: Vec<(i64, i64)> = noted.iter().collect();
    Ok(EarlyCalls::median_activation(every_ns, &waits, &starts))
}

/// Runs a task with a call every `every_ns`; returns due time and start of each activation.
fn run_task(spec: &TaskSpec, every_ns: i64, waits: SyncSender<(i64, i64)>) -> Result<Vec<(i64, i64)>, Error> {
    let sleep = Box::new(RecordingSleep { sleep: Nanosleep::new(spec.clock), waits });
    let period = Duration::from_nanos(spec.period_ns.unsigned_abs());
    let mut task = PeriodicLoop::every(period)
        .name(&spec.name)
        .policy(spec.policy.unwrap_or(Policy::Other))
        .with_wake_up(Box::new(RepeatedWake::new(sleep, every_ns)))
        .count(ACTIVATIONS)
        .guarded();
    if let Some(cpu) = spec.cpu {
        task = task.cpu(cpu);
    }
    let mut task = task.build()?;
    let mut starts = Vec::with_capacity(ACTIVATIONS as usize);
    task.run(|activation| {
        starts.push((activation.due_ns(), activation.start_ns()));
        ControlFlow::<()>::Continue(())
    });
    Ok(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_go_to_the_activation_they_were_for_and_the_median_one_is_shown() {
        // Activations due at 1000, 2000, 3000 and 4000: the second polls longest, the fourth overslept and had no call.
        let waits = [
            (100, 400),
            (405, 700),
            (1_010, 1_100),
            (1_110, 1_500),
            (2_010, 2_300),
            (2_306, 2_600),
            (4_300, 4_400),
        ];
        let starts = [(1_000, 1_001), (2_000, 2_001), (3_000, 3_002), (4_000, 4_200)];
        let shown = EarlyCalls::median_activation(300, &waits, &starts).unwrap();
        assert_eq!(shown.of, 3);
        assert_eq!(shown.returned, [Call { woken_ns: -700, done_ns: -694 }]);
        assert_eq!(shown.polled, Call { woken_ns: -400, done_ns: 2 });
        assert_eq!((shown.service_ns(), shown.polled.duration_ns()), (Some(6), 402));
        // 301, 501 and 402 ns.
        assert_eq!(shown.mean_polled_ns, 401);
    }

    #[test]
    fn nothing_is_made_up_where_no_call_came_early() {
        assert_eq!(EarlyCalls::median_activation(300, &[], &[(1_000, 1_010)]), None);
        assert_eq!(EarlyCalls::median_activation(300, &[(900, 980)], &[]), None);
        let only = EarlyCalls::median_activation(300, &[(100, 900)], &[(1_000, 1_000)]).unwrap();
        assert_eq!((only.service_ns(), only.returned.len()), (None, 0));
    }
}
