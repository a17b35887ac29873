//! `jitterlab servo --live`: a real-time task closes the loop around a simulated plant, under each way to wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use anyhow::{Context as _, anyhow};
use jitterlab_analysis::{Caveat, Summary};
use jitterlab_bench::host::{Activity, DmaLatency, Request};
use jitterlab_model::units::{Human, parse_duration_ns};
use jitterlab_model::{Compensation, Keep, LoadSpec, Policy, StopReason, TaskSpec, WakeMethod};
use jitterlab_motion::servo::{LiveLoop, Margins, Question, Reference, TrackingError, usual_references};
use jitterlab_report::caveats::clause;
use jitterlab_report::servo_live::{Live, Way};
use serde::Serialize;

use crate::commands::run::{loads, prepare, prepare_with};
use crate::exit::{Failure, Outcome, Status};
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

/// Version of the JSON layout.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    answer: String,
    plant: &'a str,
    controller: &'a str,
    period_ns: i64,
    references: Vec<String>,
    outputs: &'a [String],
    punctual: &'a [TrackingError],
    ways: &'a [Way],
}

impl LiveArgs {
    /// Runs every way and prints.
    pub fn execute(&self, question: &Question, references: &[Reference], json: bool) -> Outcome {
        if self.duration < 20 * question.period_ns {
            return Err(Failure::bad_use(anyhow!(
                "{} are too few for a loop with a period of {}: give --duration at least twenty periods",
                Human(self.duration as f64),
                Human(question.period_ns as f64)
            )));
        }
        let controller = question.controller().map_err(Failure::bad_use)?;
        let usual = match references {
            [] => {
                usual_references(question, &Margins::of(question, 0).map_err(Failure::bad_use)?)[1..].to_vec()
            }
            given => given.to_vec(),
        };
        let closed = LiveLoop::new(&question.plant, &controller, question.period_ns, &usual);
        let punctual = closed.clone().punctual(question.period_ns, self.duration);
        let interrupted = interrupt::requested().context("cannot listen for Ctrl-C")?;
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
        let mut ways = Vec::new();
        for load in conditions {
            for (wait, impossible) in &waits {
                if interrupted.load(Ordering::Relaxed) {
                    break;
                }
                let under = if load.is_empty() { "none".to_owned() } else { self.load.join(", ") };
                if let Some(why) = impossible {
                    ways.push(Way { trouble: Some(why.clone()), ..never(*wait, under) });
                } else {
                    let still = Human(left as f64 * self.duration as f64);
                    output::note(&format!("{} under load {under}, {still} left", named(*wait)));
                    ways.push(self.one(question, &closed, *wait, (load, under), &interrupted)?);
                }
                left -= 1;
            }
        }
        let live =
            Live { question, references: &usual, each_ns: self.duration, punctual: &punctual, ways: &ways };
        let text = if json {
            let document = Document {
                schema: SCHEMA,
                answer: live.sentence(),
                plant: &question.plant.name,
                controller: question.plant.design.name(),
                period_ns: question.period_ns,
                references: usual.iter().map(ToString::to_string).collect(),
                outputs: &question.plant.outputs,
                punctual: &punctual,
                ways: &ways,
            };
            serde_json::to_string_pretty(&document)? + "\n"
        } else {
            live.text()
        };
        output::print(&text)?;
        Ok(Status::Fine)
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
        })
    }

    /// One way to wait under one load.
    fn one(
        &self,
        question: &Question,
        closed: &LiveLoop,
        wait: Wait,
        (load, asked_load): (&[LoadSpec], String),
        interrupted: &AtomicBool,
    ) -> Result<Way, Failure> {
        let (back, loops) = channel();
        let controlling = Controlling { closed: Some(closed.clone()), begin_ns: None, back };
        let measurement = prepare_with(self.request(question, wait, load)?, Box::new(controlling))?;
        let mut recording = Recording::new(measurement.info(), None);
        let finished = measurement.run(&mut recording, &mut |_| {}, interrupted)?;
        let Closed { info, stats, .. } = recording.close(finished.info)?;
        let refused = info.refused.iter().find(|r| r.what.starts_with("wake="));
        let refused = refused.map(|r| format!("{}; {}", r.why, r.remedy));
        let stopped = match &info.stop {
            Some(StopReason::Overloaded { overload, .. }) => Some(overload.to_string()),
            Some(StopReason::WaitFailed { why, .. }) => Some(why.clone()),
            _ => None,
        };
        let closed = loops.recv().map_err(|_| anyhow!("the task's thread left no loop behind"))?;
        let mut way = Way {
            errors: closed.errors(),
            trouble: refused.or(stopped),
            asked_load,
            ..never(wait, info.load.clone())
        };
        if let (Some(task), Some(stats)) = (info.tasks.first(), stats.first()) {
            way.mean_latency_ns = stats.latency.mean_ns();
            way.max_latency_ns = stats.latency.max_ns();
            (way.executed, way.missed) = (stats.executed(), stats.missed);
            let caveats = Caveat::on(&Summary::of(task, stats), task, &info);
            let but_load = caveats.iter().filter(|caveat| !matches!(caveat, Caveat::NoLoad { .. }));
            way.caveats = but_load.map(clause).collect();
        }
        Ok(way)
    }
}

/// A way to wait.
type Wait = (WakeMethod, Compensation);

/// What a way to wait is called.
fn named((wake, compensate): Wait) -> String {
    if compensate == Compensation::None { wake.to_string() } else { format!("{wake} {compensate}") }
}

/// A way of which nothing was seen.
fn never(wait: Wait, load: String) -> Way {
    Way {
        wake: named(wait),
        asked_load: load.clone(),
        load,
        mean_latency_ns: None,
        max_latency_ns: None,
        executed: 0,
        missed: 0,
        errors: Vec::new(),
        trouble: None,
        caveats: Vec::new(),
    }
}

/// The plant of `--live` where none is named.
pub const PLANT: &str = "jiwy";
/// The period of `--live` where none is named.
pub const PERIOD_NS: i64 = 1_000_000;
