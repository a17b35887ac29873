//! `jitterlab servo --live`: a real-time task closes the loop around a simulated plant, under each way to wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_host::wakeups::ways;
use jitterlab_host::{Measurement, Request, record};
use jitterlab_model::{Error, LoadSpec, OwnWork, TaskSpec};
use jitterlab_motion::servo::{LiveBench, LiveTrial, LiveWay, Question, Reference, ServoLive};
use jitterlab_report::progress;
use jitterlab_trace::Parts;

use crate::measure_args::loads;
use crate::mistakes;
use crate::task_args::WaitArgs;
use crate::{interrupt, kept_parts, output};

/// How the loop is run in real time.
#[derive(clap::Args)]
#[command(next_help_heading = "Live", mut_group("WaitArgs", |group| group.requires("live")))]
pub struct LiveArgs {
    /// Close the loop in a real-time task, around the plant simulated in real time [default plant: jiwy]: with each wake-up
    /// method or the one of --wake, and with --compensate each also compensated
    #[arg(long, conflicts_with = "run")]
    pub live: bool,
    #[command(flatten)]
    wait: WaitArgs,
    /// A way to wait to try instead of these, as part of a task: wake=timerfd,clock=realtime or compensate=margin:50us; may
    /// be given several times
    #[arg(long = "way", requires = "live", value_name = "PARTS")]
    ways: Vec<String>,
    /// A load to try besides none, as in `jitterlab run`; may be given several times
    #[arg(long, requires = "live", value_name = "LOAD")]
    load: Vec<String>,
    /// How long each way is run
    #[arg(short, long, requires = "live", value_parser = mistakes::duration, default_value = "5s", value_name = "TIME")]
    duration: i64,
}

/// Bench on this machine.
struct Here {
    each_ns: i64,
    interrupted: Arc<AtomicBool>,
    parts: Parts,
}

impl Here {
    fn request(&self, task: &TaskSpec, loads: &[LoadSpec]) -> Request {
        Request {
            duration_ns: Some(self.each_ns),
            loads: loads.to_vec(),
            ..Request::for_tasks(vec![task.clone()])
        }
    }
}

impl LiveBench for Here {
    fn begins(&mut self, way: &LiveWay, left_ns: f64) {
        output::note(&progress::live_way(&way.name(), &way.load, left_ns));
    }

    fn kept(&mut self) -> Option<LiveWay> {
        self.parts.next_kept().map(|(way, _)| way)
    }

    fn keep(&mut self, way: &LiveWay) {
        kept_parts::keep(&mut self.parts, way);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn check(&mut self, task: &TaskSpec, loads: &[LoadSpec]) -> Result<(), Error> {
        Measurement::prepare(self.request(task, loads)).map(drop)
    }

    fn run(
        &mut self,
        task: &TaskSpec,
        loads: &[LoadSpec],
        work: Box<dyn OwnWork>,
    ) -> Result<MeasuredRun, Error> {
        let measurement = Measurement::prepare_with(self.request(task, loads), Some(work))?;
        record(measurement, None, &mut |_| (), &self.interrupted)?.whole()
    }
}

impl LiveArgs {
    /// Runs every way to wait.
    pub fn execute(
        &self,
        question: &Question,
        references: &[Reference],
    ) -> Result<(ServoLive, Parts), Error> {
        let overrun = question.overrun.try_into()?;
        let usual =
            TaskSpec { name: "servo".into(), period_ns: question.period_ns, overrun, ..TaskSpec::default() };
        let ways: Vec<TaskSpec> = ways(&self.wait.apply_to(usual), self.wait.wake, &self.ways)?
            .into_iter()
            .map(|(_, task)| task)
            .collect();
        let asked = self.wait.wake.is_some() || !self.ways.is_empty();
        let loads = (&loads(&self.load)?[..], &self.load[..]);
        let trial = LiveTrial { question, references, ways: &ways, asked, loads, each_ns: self.duration };
        let parts = kept_parts::open("servo-live", &format!("{question:?}"));
        let mut here = Here { each_ns: self.duration, interrupted: interrupt::requested()?, parts };
        let seen = trial.run(&mut here)?;
        Ok((seen, here.parts))
    }
}

/// The plant of `--live` where none is named.
pub const PLANT: &str = "jiwy";
/// The period of `--live` where none is named.
pub const PERIOD_NS: i64 = 1_000_000;
