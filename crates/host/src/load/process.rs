//! The other side of a worker: starting it, following it, ending it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::CpuSet;

use super::error::end_text;
use super::worker::{Report, WORKER};
use crate::child::kill_descendants;

/// Time that a worker has to end before it is killed.
const PATIENCE: Duration = Duration::from_millis(900);

/// A worker's process. Killed when dropped.
pub(super) struct WorkerProcess {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    stop_asked: Option<Instant>,
    report: Option<Report>,
}

impl WorkerProcess {
    pub(super) fn spawn(kind: &str, arguments: &str, cpus: &CpuSet) -> Result<Self, String> {
        // In a process group of its own, so that Ctrl-C reaches us first and the load ends with the measurement.
        let mut child = Command::new("/proc/self/exe")
            .args([WORKER, kind, &cpus.to_string(), arguments])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("no process for it: {error}"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (orders, answers) = pipes.ok_or("no pipes to it")?;
        Ok(WorkerProcess {
            child,
            orders: Some(orders),
            answers: BufReader::new(answers),
            stop_asked: None,
            report: None,
        })
    }

    pub(super) fn wait_until_ready(&mut self) -> Result<(), String> {
        let mut line = String::new();
        let _ = self.answers.read_line(&mut line);
        match line.trim().split_once(' ') {
            None if line.trim() == "ready" => Ok(()),
            Some(("failed", reason)) => Err(reason.into()),
            _ => Err(self.child.wait().map_or_else(|e| e.to_string(), end_clause)),
        }
    }

    pub(super) fn order_start(&mut self, delay: Duration) {
        self.send_order(&format!("go {}\n", delay.as_millis()));
    }

    /// Sends an order. If the worker is gone, the order is lost, and its end is noticed elsewhere.
    fn send_order(&mut self, line: &str) {
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(line.as_bytes()).and_then(|()| orders.flush());
        }
    }

    /// Returns the reason why the worker ended, if it ended without a request.
    pub(super) fn check_failure(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        self.report = self.read_report();
        let failure = self.report.as_ref().and_then(|report| report.failure.clone());
        Some(failure.unwrap_or_else(|| end_clause(status)))
    }

    pub(super) fn order_stop(&mut self) {
        self.send_order("stop\n");
        self.orders = None;
        self.stop_asked = Some(Instant::now());
    }

    /// Waits for the worker's end, or enforces it, and reads its report.
    pub(super) fn finish(mut self) -> Result<Report, String> {
        let status = self.wait_or_kill()?;
        self.report.take().or_else(|| self.read_report()).ok_or_else(|| end_clause(status))
    }

    /// Waits for the process to end, since its orders have ended, and kills it after [`PATIENCE`].
    fn wait_or_kill(&mut self) -> Result<ExitStatus, String> {
        let stop_asked = *self.stop_asked.get_or_insert_with(Instant::now);
        self.orders = None;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if stop_asked.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(2)),
                Ok(None) => {
                    // Only the worker itself would end the processes that it has started.
                    kill_descendants(self.child.id());
                    let _ = self.child.kill();
                    return self.child.wait().map_err(|e| e.to_string());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn read_report(&mut self) -> Option<Report> {
        let mut line = String::new();
        while self.answers.read_line(&mut line).is_ok_and(|n| n > 0) {
            if let Some(json) = line.trim().strip_prefix("done ") {
                return serde_json::from_slice(json.as_bytes()).ok();
            }
            line.clear();
        }
        None
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.wait_or_kill();
    }
}

fn end_clause(status: ExitStatus) -> String {
    format!("it {}", end_text(status))
}
