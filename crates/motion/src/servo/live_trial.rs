//! A control loop closed in real time, with each way to wait and under each load: trials and results.

use std::sync::mpsc::{Sender, channel};

use jitterlab_analysis::Caveat;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::{Error, LoadSpec, OwnWork, StopReason, TaskSpec};

use super::live::LiveLoop;
use super::live_result::{LiveTrouble, LiveWay, ServoLive};
use super::question::Question;
use super::response::Reference;

/// Bench that runs a task which closes a loop.
pub trait LiveBench {
    /// Announces a way to wait, with the time in ns that the rest takes.
    fn begins(&mut self, way: &LiveWay, left_ns: f64);

    /// The next way, if it has been run before, by an earlier call.
    fn kept(&mut self) -> Option<LiveWay>;

    /// Keeps a way that has been run, for a later call.
    fn keep(&mut self, way: &LiveWay);

    fn is_interrupted(&self) -> bool;

    /// Refuses a task that cannot run here under these loads.
    fn check(&mut self, task: &TaskSpec, loads: &[LoadSpec]) -> Result<(), Error>;

    fn run(
        &mut self,
        task: &TaskSpec,
        loads: &[LoadSpec],
        work: Box<dyn OwnWork>,
    ) -> Result<MeasuredRun, Error>;
}

#[derive(Debug, Clone)]
pub struct LiveTrial<'a> {
    pub question: &'a Question,
    pub references: &'a [Reference],
    /// The task that closes it, in each way to wait.
    pub ways: &'a [TaskSpec],
    /// True if the user named these ways; one that is not available is then an error.
    pub asked: bool,
    /// Loads to try besides none, and how they were written.
    pub loads: (&'a [LoadSpec], &'a [String]),
    pub each_ns: i64,
}

/// The loop as the work of a task. When the task's thread ends it hands the loop back.
struct Closing {
    closed: Option<LiveLoop>,
    begin_ns: Option<i64>,
    back: Sender<LiveLoop>,
}

impl OwnWork for Closing {
    fn activate(&mut self, due_ns: i64, start_ns: i64, now_ns: &dyn Fn() -> i64) {
        let begin_ns = *self.begin_ns.get_or_insert(due_ns);
        if let Some(closed) = &mut self.closed {
            closed.sample(start_ns - begin_ns);
            closed.actuate(now_ns() - begin_ns);
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(closed) = self.closed.take() {
            // Sending fails if the receiver is gone, which then does not need it.
            let _ = self.back.send(closed);
        }
    }
}

impl LiveTrial<'_> {
    /// Runs every way under every load.
    ///
    /// # Errors
    /// A loop that cannot be made, loads that cannot be run, and requested ways that are not available: all
    /// before anything is run.
    pub fn run<B: LiveBench>(&self, bench: &mut B) -> Result<ServoLive, Error> {
        let (mut seen, closed) = ServoLive::begin(self.question, self.references, self.each_ns)?;
        let (loads, written) = self.loads;
        let mut impossible = Vec::new();
        for task in self.ways {
            match bench.check(task, &[]) {
                Err(why) if self.asked => return Err(why),
                checked => impossible.push(checked.err().map(|why| why.to_string())),
            }
        }
        let possible = self.ways.iter().zip(&impossible).find(|(_, why)| why.is_none());
        if let Some((task, _)) = possible.filter(|_| !loads.is_empty()) {
            bench.check(task, loads)?;
        }
        let conditions = [(&[][..], &[][..]), (loads, written)];
        let conditions = &conditions[..if loads.is_empty() { 1 } else { 2 }];
        let mut left = conditions.len() * self.ways.len();
        for (loads, written) in conditions {
            for (task, impossible) in self.ways.iter().zip(&impossible) {
                if bench.is_interrupted() {
                    break;
                }
                let never = LiveWay::never(task.wake, task.compensate, written);
                let way = match impossible {
                    Some(why) => {
                        LiveWay { trouble: Some(LiveTrouble::Impossible { why: why.clone() }), ..never }
                    }
                    None => match bench.kept() {
                        Some(way) => way,
                        None => {
                            bench.begins(&never, left as f64 * self.each_ns as f64);
                            let way = self.one(bench, &closed, never, task, loads)?;
                            if !bench.is_interrupted() {
                                bench.keep(&way);
                            }
                            way
                        }
                    },
                };
                seen.ways.push(way);
                left -= 1;
            }
        }
        Ok(seen)
    }

    fn one<B: LiveBench>(
        &self,
        bench: &mut B,
        closed: &LiveLoop,
        mut way: LiveWay,
        task: &TaskSpec,
        loads: &[LoadSpec],
    ) -> Result<LiveWay, Error> {
        let (back, loops) = channel();
        let work = Closing { closed: Some(closed.clone()), begin_ns: None, back };
        let run = bench.run(task, loads, Box::new(work))?;
        let lost = |_| Error::not_measured("the task that closed the loop ended without a result");
        way.errors = loops.recv().map_err(lost)?.errors();
        way.fill(&run);
        Ok(way)
    }
}

impl LiveWay {
    fn fill(&mut self, MeasuredRun { run, tasks, .. }: &MeasuredRun) {
        let refused = run.refused.iter().find(|r| r.what.starts_with("wake="));
        self.trouble = match (refused, &run.stop) {
            (Some(r), _) => Some(LiveTrouble::Refused { why: r.why.clone(), remedy: r.remedy.clone() }),
            (None, Some(StopReason::Overloaded { overload, .. })) => {
                Some(LiveTrouble::Stopped { why: overload.to_string() })
            }
            (None, Some(StopReason::WaitFailed { why, .. })) => {
                Some(LiveTrouble::Stopped { why: why.clone() })
            }
            _ => None,
        };
        if let Some(task) = tasks.first() {
            let latency = &task.summary.latency;
            (self.mean_latency_ns, self.max_latency_ns) = (latency.mean_ns, latency.max_ns);
            (self.executed, self.missed) = (Some(latency.count), task.summary.missed.at_least());
            let speaks = |caveat: &&Caveat| !matches!(caveat, Caveat::NoLoad { .. });
            self.caveats = task.caveats.iter().filter(speaks).cloned().collect();
        }
        if !run.loads.is_empty() {
            let ran: Vec<String> = run.loads.iter().map(ToString::to_string).collect();
            self.load = ran.join(", ");
        }
    }
}
