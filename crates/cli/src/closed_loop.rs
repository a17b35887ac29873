//! A control loop closed in real time around a simulated plant, under each way to wait: the bench's task does the
//! motion's work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use jitterlab_analysis::{Caveat, Summary};
use jitterlab_bench::host::{Activity, DmaLatency, Measurement, Request};
use jitterlab_model::{Compensation, Keep, LoadSpec, Policy, StopReason, TaskSpec, WakeMethod};
use jitterlab_motion::servo::{LiveLoop, LiveTrouble, LiveWay, Question, Reference, ServoLive};
use jitterlab_report::progress;

use crate::commands::run::loads;
use crate::error::CliError;
use crate::exit::Failure;
use crate::recording::{Closed, Recording};
use crate::{interrupt, output};

/// What is tried.
pub struct LivePlan<'a> {
    /// The loop.
    pub question: &'a Question,
    /// Wake-up methods; each there is where none is named.
    pub wakes: &'a [WakeMethod],
    /// Tried with each method that can wake early, besides without.
    pub compensate: Option<Compensation>,
    /// Loads to try besides none, as they were written.
    pub loads: &'a [String],
    /// How long each way is run.
    pub duration_ns: i64,
    /// Processor of the task.
    pub cpu: Option<u16>,
    /// Scheduling policy of all ways but deadline.
    pub policy: Option<Policy>,
}

/// A way to wait.
type Wait = (WakeMethod, Compensation);

/// The loop as the work of a task. When the task's thread ends it hands the loop back.
struct Controlling {
    closed: Option<LiveLoop>,
    begin_ns: Option<i64>,
    back: Sender<LiveLoop>,
}

impl Activity for Controlling {
    fn activate(&mut self, due_ns: i64, start_ns: i64, now_ns: &dyn Fn() -> i64) {
        let begin_ns = *self.begin_ns.get_or_insert(due_ns);
        if let Some(closed) = &mut self.closed {
            closed.sample(start_ns - begin_ns);
            closed.actuate(now_ns() - begin_ns);
        }
    }
}

impl Drop for Controlling {
    fn drop(&mut self) {
        if let Some(closed) = self.closed.take() {
            // Nobody waits for it any more: then nobody misses it.
            let _ = self.back.send(closed);
        }
    }
}

impl LivePlan<'_> {
    /// Runs every way.
    pub fn run(&self, references: &[Reference]) -> Result<ServoLive, Failure> {
        let question = self.question;
        let (mut seen, closed) =
            ServoLive::begin(question, references, self.duration_ns).map_err(Failure::bad_use)?;
        let interrupted = interrupt::requested()?;
        let methods =
            if self.wakes.is_empty() { WakeMethod::of_linux().collect() } else { self.wakes.to_vec() };
        // Polling all the time leaves nothing to wake early from, and a wake-up that drifts no time to poll up to.
        let early = |wake: WakeMethod| !wake.traits().polls && !wake.traits().drifts;
        let compensated = |wake| self.compensate.filter(|_| early(wake));
        let waits: Vec<Wait> = methods
            .iter()
            .flat_map(|wake| [Some(Compensation::None), compensated(*wake)].map(|c| Some((*wake, c?))))
            .flatten()
            .collect();
        let asked = loads(self.loads)?;
        let waits = self.possible(waits, &asked)?;
        let conditions = [Vec::new(), asked];
        let conditions = &conditions[..if self.loads.is_empty() { 1 } else { 2 }];
        let mut left = conditions.len() * waits.len();
        for load in conditions {
            for (wait, impossible) in &waits {
                if interrupted.load(Ordering::Relaxed) {
                    break;
                }
                let asked = if load.is_empty() { &[] } else { self.loads };
                let never = LiveWay::never(wait.0, wait.1, asked);
                seen.ways.push(match impossible {
                    Some(why) => {
                        LiveWay { trouble: Some(LiveTrouble::Impossible { why: why.clone() }), ..never }
                    }
                    None => {
                        let left_ns = left as f64 * self.duration_ns as f64;
                        output::note(&progress::live_way(&never.name(), &never.load, left_ns));
                        self.one(&closed, never, load, &interrupted)?
                    }
                });
                left -= 1;
            }
        }
        Ok(seen)
    }

    /// The ways to wait, each with why it cannot be had on this machine, if so. What was asked for by name and cannot
    /// be had, and loads that cannot be, are refused, before anything is measured.
    fn possible(&self, waits: Vec<Wait>, asked: &[LoadSpec]) -> Result<Vec<(Wait, Option<String>)>, Failure> {
        let mut checked = Vec::new();
        for wait in waits {
            match Measurement::prepare(self.request(wait, &[])?) {
                Err(why) if !self.wakes.is_empty() => return Err(why.into()),
                prepared => checked.push((wait, prepared.err().map(|why| why.to_string()))),
            }
        }
        let first = checked.iter().find(|(_, impossible)| impossible.is_none());
        if let Some((wait, _)) = first.filter(|_| !asked.is_empty()) {
            Measurement::prepare(self.request(*wait, asked)?)?;
        }
        Ok(checked)
    }

    fn request(&self, (wake, compensate): Wait, loads: &[LoadSpec]) -> Result<Request, Failure> {
        let (policy, cpu) = match wake {
            // A tenth of the period is plenty for the loop, and half of it for polling besides; such a thread is bound to
            // no processor.
            wake if wake.traits().deadline => {
                let parts = if compensate == Compensation::None { 10 } else { 2 };
                (Some(Policy::Deadline { runtime_ns: (self.question.period_ns / parts).max(20_000) }), None)
            }
            _ => (self.policy, self.cpu),
        };
        let spec = TaskSpec {
            name: "servo".into(),
            period_ns: self.question.period_ns,
            wake,
            compensate,
            policy,
            cpu,
            ..TaskSpec::default()
        };
        spec.validate().map_err(Failure::bad_use)?;
        Ok(Request {
            tasks: vec![spec],
            duration_ns: Some(self.duration_ns),
            count: None,
            stop_above_ns: None,
            keep: Keep::All,
            dma_latency: DmaLatency::default(),
            loads: loads.to_vec(),
            isolate: None,
            command: std::env::args().collect(),
            interrupted: std::sync::Arc::default(),
        })
    }

    /// One way to wait under one load.
    fn one(
        &self,
        closed: &LiveLoop,
        mut way: LiveWay,
        load: &[LoadSpec],
        interrupted: &AtomicBool,
    ) -> Result<LiveWay, Failure> {
        let (back, loops) = channel();
        let controlling = Controlling { closed: Some(closed.clone()), begin_ns: None, back };
        let request = self.request((way.wake, way.compensation), load)?;
        let measurement = Measurement::prepare_with(request, Some(Box::new(controlling)))?;
        let mut recording = Recording::new(measurement.info(), None);
        let finished = measurement.run(&mut recording, &mut |_| {}, interrupted)?;
        let Closed { info, stats, .. } = recording.close(finished.info)?;
        way.errors = loops.recv().map_err(|_| CliError::LoopLost)?.errors();
        let refused = info.refused.iter().find(|r| r.what.starts_with("wake="));
        way.trouble = match (refused, &info.stop) {
            (Some(r), _) => Some(LiveTrouble::Refused { why: r.why.clone(), remedy: r.remedy.clone() }),
            (None, Some(StopReason::Overloaded { overload, .. })) => {
                Some(LiveTrouble::Stopped { why: overload.to_string() })
            }
            (None, Some(StopReason::WaitFailed { why, .. })) => {
                Some(LiveTrouble::Stopped { why: why.clone() })
            }
            _ => None,
        };
        if let (Some(task), Some(stats)) = (info.tasks.first(), stats.first()) {
            way.mean_latency_ns = stats.latency.mean_ns();
            way.max_latency_ns = stats.latency.max_ns();
            (way.executed, way.missed) = (Some(stats.executed()), Some(stats.seen_missed()));
            way.caveats = Caveat::on(&Summary::of(task, stats), task, &info);
            way.caveats.retain(|caveat| !matches!(caveat, Caveat::NoLoad { .. }));
        }
        way.load = jitterlab_report::summary::load(&info);
        Ok(way)
    }
}
