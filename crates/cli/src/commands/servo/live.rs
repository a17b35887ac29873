//! `jitterlab servo --live`: a real-time task closes the loop around a simulated plant, under each way to wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use anyhow::anyhow;
use jitterlab_analysis::{Caveat, Summary};
use jitterlab_bench::host::{Activity, DmaLatency, Request};
use jitterlab_model::units::{Human, parse_duration_ns};
use jitterlab_model::{Compensation, Keep, LoadSpec, Policy, StopReason, TaskSpec, WakeMethod};
use jitterlab_motion::servo::{LiveLoop, LiveTrouble, LiveWay, Question, Reference, ServoLive};

use crate::commands::run::{loads, prepare, prepare_with};
use crate::exit::Failure;
use crate::recording::{Closed, Recording};
use crate::{interrupt, output};

/// How the loop is run in real time.
#[derive(clap::Args)]
#[command(next_help_heading = "Live")]
pub struct LiveArgs {
    /// Close the loop in a real-time task, around the plant simulated in real time [default plant: jiwy]
    #[arg(long, conflicts_with = "run")]
    pub live: bool,
    /// A wake-up method to try; may be given several times [default: each there is]
    #[arg(long, requires = "live", value_name = "METHOD")]
    wake: Vec<WakeMethod>,
    /// Try each method also with waking early and polling, as in `jitterlab run`: margin:TIME, late:P, ...
    #[arg(long, requires = "live")]
    compensate: Option<Compensation>,
    /// A load to try besides none, as in `jitterlab run`; may be given several times
    #[arg(long, requires = "live", value_name = "LOAD")]
    load: Vec<String>,
    /// How long each way is run
    #[arg(short, long, requires = "live", value_parser = parse_duration_ns, default_value = "5s", value_name = "TIME")]
    duration: i64,
    /// Processor of the task
    #[arg(long, requires = "live")]
    cpu: Option<u16>,
    /// Scheduling policy of all ways but deadline
    #[arg(long, requires = "live")]
    policy: Option<Policy>,
}

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

impl LiveArgs {
    /// Runs every way.
    pub fn execute(&self, question: &Question, references: &[Reference]) -> Result<ServoLive, Failure> {
        let (mut seen, closed) =
            ServoLive::begin(question, references, self.duration).map_err(Failure::bad_use)?;
        let interrupted = interrupt::requested()?;
        let methods = if self.wake.is_empty() { WakeMethod::of_linux().collect() } else { self.wake.clone() };
        // Polling all the time leaves nothing to wake early from, and a wake-up that drifts no time to poll up to.
        let early = |wake: WakeMethod| !wake.traits().polls && !wake.traits().drifts;
        let compensated = |wake| self.compensate.filter(|_| early(wake));
        let waits: Vec<Wait> = methods
            .iter()
            .flat_map(|wake| [Some(Compensation::None), compensated(*wake)].map(|c| Some((*wake, c?))))
            .flatten()
            .collect();
        let asked = loads(&self.load)?;
        let waits = self.possible(question, waits, &asked)?;
        let conditions = [Vec::new(), asked];
        let conditions = &conditions[..if self.load.is_empty() { 1 } else { 2 }];
        let mut left = conditions.len() * waits.len();
        for load in conditions {
            for (wait, impossible) in &waits {
                if interrupted.load(Ordering::Relaxed) {
                    break;
                }
                let asked = if load.is_empty() { &[] } else { self.load.as_slice() };
                let never = LiveWay::never(wait.0, wait.1, asked);
                seen.ways.push(match impossible {
                    Some(why) => {
                        LiveWay { trouble: Some(LiveTrouble::Impossible { why: why.clone() }), ..never }
                    }
                    None => {
                        let still = Human(left as f64 * self.duration as f64);
                        output::note(&format!("{} under load {}, {still} left", never.name(), never.load));
                        self.one(question, &closed, never, load, &interrupted)?
                    }
                });
                left -= 1;
            }
        }
        Ok(seen)
    }

    /// The ways to wait, each with why it cannot be had on this machine, if so. What was asked for by name and cannot
    /// be had, and loads that cannot be, are refused, before anything is measured.
    fn possible(
        &self,
        question: &Question,
        waits: Vec<Wait>,
        asked: &[LoadSpec],
    ) -> Result<Vec<(Wait, Option<String>)>, Failure> {
        let mut checked = Vec::new();
        for wait in waits {
            match prepare(self.request(question, wait, &[])?) {
                Err(why) if !self.wake.is_empty() => return Err(why),
                prepared => checked.push((wait, prepared.err().map(|why| why.into_error().to_string()))),
            }
        }
        let first = checked.iter().find(|(_, impossible)| impossible.is_none());
        if let Some((wait, _)) = first.filter(|_| !asked.is_empty()) {
            prepare(self.request(question, *wait, asked)?)?;
        }
        Ok(checked)
    }

    fn request(
        &self,
        question: &Question,
        (wake, compensate): Wait,
        loads: &[LoadSpec],
    ) -> Result<Request, Failure> {
        let (policy, cpu) = match wake {
            // A tenth of the period is plenty for the loop, and half of it for polling besides; such a thread is bound to
            // no processor.
            wake if wake.traits().deadline => {
                let parts = if compensate == Compensation::None { 10 } else { 2 };
                (Some(Policy::Deadline { runtime_ns: (question.period_ns / parts).max(20_000) }), None)
            }
            _ => (self.policy, self.cpu),
        };
        let spec = TaskSpec {
            name: "servo".into(),
            period_ns: question.period_ns,
            wake,
            compensate,
            policy,
            cpu,
            ..TaskSpec::default()
        };
        spec.validate().map_err(Failure::bad_use)?;
        Ok(Request {
            tasks: vec![spec],
            duration_ns: Some(self.duration),
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
        question: &Question,
        closed: &LiveLoop,
        mut way: LiveWay,
        load: &[LoadSpec],
        interrupted: &AtomicBool,
    ) -> Result<LiveWay, Failure> {
        let (back, loops) = channel();
        let controlling = Controlling { closed: Some(closed.clone()), begin_ns: None, back };
        let request = self.request(question, (way.wake, way.compensation), load)?;
        let measurement = prepare_with(request, Box::new(controlling))?;
        let mut recording = Recording::new(measurement.info(), None);
        let finished = measurement.run(&mut recording, &mut |_| {}, interrupted)?;
        let Closed { info, stats, .. } = recording.close(finished.info)?;
        way.errors = loops.recv().map_err(|_| anyhow!("no loop came back"))?.errors();
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

/// A way to wait.
type Wait = (WakeMethod, Compensation);

/// The plant of `--live` where none is named.
pub const PLANT: &str = "jiwy";
/// The period of `--live` where none is named.
pub const PERIOD_NS: i64 = 1_000_000;
