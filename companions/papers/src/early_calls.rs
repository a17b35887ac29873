//! A task that is called early again and again (the NIST paper's figure 4), call by call.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::claims::nist_calls::EarlyCalls;
use jitterlab_model::{Error, Policy, TaskSpec};
use jitterlab_rt::compensate::Repeat;
use jitterlab_rt::wake::{Nanosleep, Wake};
use jitterlab_rt::{Arrival, Linux, PeriodicLoop, System, WakeUp, broken, no_thread};

/// Enough to have an ordinary one among them, in half a second at the paper's period.
const ACTIVATIONS: u64 = 1_000;

/// A sleep that notes when it was asked for and when it was over.
struct Noting {
    sleep: Nanosleep,
    waits: SyncSender<(i64, i64)>,
}

impl WakeUp<Linux> for Noting {
    fn wait(&mut self, system: &Linux, due_ns: i64) -> io::Result<Wake> {
        let asked_ns = system.now_ns();
        if self.sleep.wait(system, due_ns)? == Wake::Interrupted {
            return Ok(Wake::Interrupted);
        }
        let woken_ns = system.now_ns();
        // The channel has room for every wait there can be, so this neither blocks nor allocates.
        let _ = self.waits.try_send((asked_ns, woken_ns));
        Ok(Wake::Read(Arrival::at(woken_ns)))
    }
}

/// Measures the task `spec` (policy, processor and period of it) with a call every `every_ns`, and gives its most ordinary
/// activation; `None` where none was called early.
pub fn measure(spec: &TaskSpec, every_ns: i64) -> Result<Option<EarlyCalls>, Error> {
    let room = ACTIVATIONS as usize * (spec.period_ns / every_ns.max(1) + 2) as usize;
    let (waits, noted) = sync_channel(room);
    let task = spec.clone();
    let thread = thread::Builder::new()
        .name(spec.name.clone())
        .spawn(move || called(&task, every_ns, waits))
        .map_err(no_thread);
    let starts = thread.and_then(|thread| thread.join().unwrap_or_else(|_| Err(broken())));
    let starts = starts.map_err(|error| error.within(format!("task {}", spec.name)))?;
    // The thread is over, and its end of the channel with it.
    let waits: Vec<(i64, i64)> = noted.iter().collect();
    Ok(EarlyCalls::most_ordinary(every_ns, &waits, &starts))
}

/// Due time and start of each activation.
fn called(spec: &TaskSpec, every_ns: i64, waits: SyncSender<(i64, i64)>) -> Result<Vec<(i64, i64)>, Error> {
    let sleep = Box::new(Noting { sleep: Nanosleep::on(spec.clock), waits });
    let period = Duration::from_nanos(spec.period_ns.unsigned_abs());
    let mut task = PeriodicLoop::every(period)
        .name(&spec.name)
        .policy(spec.policy.unwrap_or(Policy::Other))
        .wake_by(Box::new(Repeat::new(sleep, every_ns)))
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
