//! The limit of a tool's measurement: a loop as bare as can be, in the same boot. It sleeps by the raw system
//! call, reads the clock and stores one number in an array. Its due times have the same offset from the
//! kernel's tick as those of jitterlab's run in the same boot. The tick makes one wake-up of several a
//! quarter longer, so that another offset would decide which mean is larger.
#![expect(unsafe_code, reason = "C calls")]

use std::fs;
use std::io;
use std::process::ExitCode;
use std::ptr;

use jitterlab_model::Policy;
use jitterlab_rt::sys::{restartable, time};
use jitterlab_rt::{Linux, System, ThreadSetup};
use jitterlab_trace::RunReader;
use nix::libc;

use super::PeerTask;

const NS_PER_S: i64 = 1_000_000_000;

/// Runs the loop of this period, priority, processor and count, and leaves its latencies in a file.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let number = |at: usize| arguments.get(at).and_then(|word| word.parse::<i64>().ok()).unwrap_or_default();
    let task = PeerTask {
        period_ns: number(0),
        priority: number(1) as u8,
        cpu: number(2) as u16,
        count: number(3) as u64,
    };
    let [.., file, beside] = arguments else { return ExitCode::FAILURE };
    match run(&task, file, beside) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the loop on the calling thread, its due times whole seconds after those of the run in the file
/// `beside` (as long as the seconds hold whole periods). Writes its latencies as jitterdebugger does:
/// processor, time and latency of each activation.
///
/// # Errors
/// A setting that the system refused, since a thread set up otherwise is no limit; or that run cannot be
/// read.
fn run(task: &PeerTask, file: &str, beside: &str) -> io::Result<()> {
    let beside = RunReader::open(beside).map_err(io::Error::other)?;
    let held = beside.info().tasks.first().and_then(|task| task.result.as_ref());
    let first_due_ns = held.map_or(0, |result| result.first_due_ns);
    let mut latencies_ns = vec![1i64; usize::try_from(task.count).unwrap_or(usize::MAX)];
    let setup = ThreadSetup {
        cpu: Some(task.cpu),
        ..ThreadSetup::new("the bare loop", Policy::Fifo(task.priority), task.period_ns)
    };
    let (_, refused) = setup.apply();
    if let Some(refusal) = refused.first() {
        return Err(io::Error::other(format!("{}: {}", refusal.what, refusal.why)));
    }
    restartable::unregister();
    let earliest_ns = Linux.now_ns() + task.period_ns;
    // Of 100, 250 and 1000 ticks a second, seconds hold a whole number.
    let mut due_ns = earliest_ns + (first_due_ns - earliest_ns).rem_euclid(NS_PER_S);
    for latency_ns in &mut latencies_ns {
        let due = libc::timespec { tv_sec: (due_ns / NS_PER_S) as _, tv_nsec: (due_ns % NS_PER_S) as _ };
        let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
        // SAFETY: `due` outlives the call; no remaining time is asked for.
        unsafe {
            libc::syscall(
                libc::SYS_clock_nanosleep,
                clock,
                absolute,
                &raw const due,
                ptr::null_mut::<libc::timespec>(),
            )
        };
        let now_ns = time::now_ns(clock);
        *latency_ns = now_ns - due_ns;
        due_ns += task.period_ns;
    }
    let sample = |(n, latency_ns): (i64, &i64)| {
        let at_ns = n * task.period_ns;
        let mut sample = [0; 28];
        sample[4..12].copy_from_slice(&(at_ns / NS_PER_S).to_le_bytes());
        sample[12..20].copy_from_slice(&(at_ns % NS_PER_S).to_le_bytes());
        sample[20..].copy_from_slice(&latency_ns.to_le_bytes());
        sample
    };
    fs::write(file, (0..).zip(&latencies_ns).flat_map(sample).collect::<Vec<u8>>())
}
