//! Worker: the process that makes a load.
//!
//! It begins on `go MILLISECONDS` on standard input, and stops on `stop`, or at the end of the input when its
//! parent is gone. On standard output it reports that it is ready, and its results at the end.

use std::io::{self, BufRead, Write};
use std::process::{ExitCode, exit};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet as Mask, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::{KINDS, Kind, Work};
use crate::child::kill_descendants;
use jitterlab_model::CpuSet;

/// The first argument of a worker: `jitterlab jitterlab-load KIND CPUS TOLD`.
pub const WORKER: &str = "jitterlab-load";

/// Time that a step may continue after the stop, before the process ends in the middle of it.
const GRACE: Duration = Duration::from_millis(500);

/// Results of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) active_ns: i64,
    pub(super) cpu_time_ns: i64,
    pub(super) system_time_ns: i64,
    pub(super) done: u64,
    pub(super) failure: Option<String>,
}

static STOP: AtomicBool = AtomicBool::new(false);
static DONE: AtomicU64 = AtomicU64::new(0);

/// Does a load's work if this process was started for that; `None` if it was not. To be called first of all
/// by every program that uses [`Loads`](super::Loads), which starts the program itself for each worker.
pub fn run_if_worker() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(WORKER) {
        return None;
    }
    let (kind, cpus, of_worker) =
        (arguments.next()?, arguments.next()?, arguments.next().unwrap_or_default());
    let kind = KINDS.iter().find(|k| k.name == kind)?;
    Some(match run_worker(kind, &cpus, &of_worker) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            write_line(&format!("failed {error}"));
            ExitCode::FAILURE
        }
    })
}

/// Writes a line; if nobody reads it, the other side is gone.
fn write_line(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn run_worker(kind: &Kind, cpus: &str, arguments: &str) -> io::Result<()> {
    let cpus: CpuSet = cpus.parse().map_err(io::Error::other)?;
    let mut mask = Mask::new();
    for cpu in cpus.iter() {
        mask.set(usize::from(cpu))?;
    }
    sched_setaffinity(Pid::from_raw(0), &mask)?;
    // If memory runs out, the load is killed first. Without permission for this, it works all the same.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let mut work = (kind.begin)(arguments)?;
    let (go, begun) = mpsc::channel();
    thread::Builder::new().spawn(move || obey_orders(&go))?;
    write_line("ready");

    let Some((begin, cpu_before)) = wait_for_begin(&begun) else { return Ok(()) };
    let failure = work_until_stopped(work.as_mut());
    // The time of a command's own processes counts only once they have ended.
    drop(work);
    write_report(begin, cpu_before, failure);
    Ok(())
}

/// Waits for the order `go`, then for the load's start; `None` if it is stopped before that.
fn wait_for_begin(begun: &Receiver<Duration>) -> Option<(Instant, CpuTime)> {
    let start = Instant::now() + begun.recv().ok()?;
    while Instant::now() < start {
        if STOP.load(Ordering::Relaxed) {
            return None;
        }
        thread::sleep(start.saturating_duration_since(Instant::now()).min(Duration::from_millis(20)));
    }
    Some((Instant::now(), CpuTime::of_this_process()))
}

/// Works until it is stopped; returns the error if a step fails before.
fn work_until_stopped(work: &mut dyn Work) -> Option<String> {
    while !STOP.load(Ordering::Relaxed) {
        match work.step() {
            Ok(done) => {
                DONE.fetch_add(done, Ordering::Relaxed);
            }
            Err(error) => return Some(error.to_string()),
        }
    }
    None
}

fn write_report(begin: Instant, before: CpuTime, failure: Option<String>) {
    let now = CpuTime::of_this_process();
    let report = Report {
        active_ns: i64::try_from(begin.elapsed().as_nanos()).unwrap_or(i64::MAX),
        cpu_time_ns: now.all_ns - before.all_ns,
        system_time_ns: now.system_ns - before.system_ns,
        done: DONE.load(Ordering::Relaxed),
        failure,
    };
    write_line(&format!("done {}", serde_json::to_string(&report).unwrap_or_default()));
}

/// Takes orders from standard input. Once stopped, ends the process if its work does not come back.
fn obey_orders(go: &Sender<Duration>) {
    let mut begun = None;
    for line in io::stdin().lock().lines() {
        match line.as_deref().map(str::trim) {
            Ok("stop") | Err(_) => break,
            Ok(order) => {
                if let Some(ms) = order.strip_prefix("go ").and_then(|ms| ms.parse().ok()) {
                    begun = Some((Instant::now(), CpuTime::of_this_process()));
                    let _ = go.send(Duration::from_millis(ms));
                }
            }
        }
    }
    STOP.store(true, Ordering::Relaxed);
    let Some((begin, cpu_before)) = begun else { exit(0) };
    thread::sleep(GRACE);
    kill_descendants(std::process::id());
    write_report(begin, cpu_before, None);
    exit(0)
}

/// Processor time of this process and of its children that have ended.
#[derive(Clone, Copy)]
struct CpuTime {
    all_ns: i64,
    /// The part that the kernel worked for them.
    system_ns: i64,
}

impl CpuTime {
    fn of_this_process() -> Self {
        let who = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN];
        let usages = who.into_iter().filter_map(|who| getrusage(who).ok());
        let each = usages.map(|of| (of.user_time().num_nanoseconds(), of.system_time().num_nanoseconds()));
        each.fold(CpuTime { all_ns: 0, system_ns: 0 }, |sum, (user_ns, system_ns)| CpuTime {
            all_ns: sum.all_ns + user_ns + system_ns,
            system_ns: sum.system_ns + system_ns,
        })
    }
}
