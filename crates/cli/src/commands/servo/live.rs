//! `jitterlab servo --live`: a real-time task closes the loop around a simulated plant, under each way to wait.

use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_host::wakeups::wake_up_variants;
use jitterlab_host::{Measurement, Request, record};
use jitterlab_model::{Error, LoadSpec, TaskSpec};
use jitterlab_motion::servo::{
    LiveLoop, LiveTrial, LiveTrouble, LiveWork, Reference, ServoLive, SingleTaskLoop,
};
use jitterlab_report::progress;
use jitterlab_trace::FinishedParts;

use crate::measure_args::parse_loads;
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
    #[arg(short, long, requires = "live", value_parser = mistakes::parse_duration, default_value = "5s", value_name = "TIME")]
    duration: i64,
}

impl LiveArgs {
    /// Runs the loop with every way to wait, without and with the loads; returns the trials and the kept parts.
    ///
    /// # Errors
    /// A loop that cannot be made, loads that cannot be run, and requested ways that are not available: all before anything is
    /// run.
    pub fn execute(
        &self,
        question: &SingleTaskLoop,
        references: &[Reference],
    ) -> Result<(ServoLive, FinishedParts), Error> {
        let overrun = question.overrun.try_into()?;
        let usual =
            TaskSpec { name: "servo".into(), period_ns: question.period_ns, overrun, ..TaskSpec::default() };
        let ways = wake_up_variants(&self.wait.apply_to(usual), self.wait.wake, &self.ways)?;
        let asked = self.wait.wake.is_some() || !self.ways.is_empty();
        let loads = parse_loads(&self.load)?;
        let (mut seen, closed) = ServoLive::prepare(question, references, self.duration)?;
        let refused =
            |task: &TaskSpec, loads: &[LoadSpec]| Measurement::prepare(self.request(task, loads)).err();
        let mut impossible = Vec::new();
        for (_, task) in &ways {
            match refused(task, &[]) {
                Some(why) if asked => return Err(why),
                why => impossible.push(why.map(|why| why.to_string())),
            }
        }
        let possible = ways.iter().zip(&impossible).find(|(_, why)| why.is_none());
        if let Some(why) = possible.filter(|_| !loads.is_empty()).and_then(|(way, _)| refused(&way.1, &loads))
        {
            return Err(why);
        }
        let mut parts = kept_parts::open("servo-live", &format!("{question:?}"));
        let interrupted = interrupt::listen_for_interrupt()?;
        let conditions = [(&[][..], &[][..]), (&loads[..], &self.load[..])];
        let conditions = &conditions[..if loads.is_empty() { 1 } else { 2 }];
        let mut left = conditions.len() * ways.len();
        for (loads, written) in conditions {
            for ((_, task), impossible) in ways.iter().zip(&impossible) {
                if interrupted.load(Ordering::Relaxed) {
                    break;
                }
                let never = LiveTrial::not_run(task.wake, task.compensate, written);
                let way = if let Some(why) = impossible {
                    LiveTrial { trouble: Some(LiveTrouble::Impossible { why: why.clone() }), ..never }
                } else if let Some((way, _)) = parts.next_kept() {
                    way
                } else {
                    let left_ns = left as f64 * self.duration as f64;
                    output::print_note(&progress::wait_method_progress_line(
                        &never.name(),
                        &never.load,
                        left_ns,
                    ));
                    let way = run_method(never, closed.clone(), self.request(task, loads), &interrupted)?;
                    if !interrupted.load(Ordering::Relaxed) {
                        kept_parts::keep(&mut parts, &way);
                    }
                    way
                };
                seen.ways.push(way);
                left -= 1;
            }
        }
        Ok((seen, parts))
    }

    fn request(&self, task: &TaskSpec, loads: &[LoadSpec]) -> Request {
        let (duration_ns, loads) = (Some(self.duration), loads.to_vec());
        Request { duration_ns, loads, ..Request::for_tasks(vec![task.clone()]) }
    }
}

/// Runs the loop with one way to wait, and adds its tracking errors and timing to the trial.
fn run_method(
    way: LiveTrial,
    closed: LiveLoop,
    request: Request,
    interrupted: &AtomicBool,
) -> Result<LiveTrial, Error> {
    let (work, loops) = LiveWork::new(closed);
    let measurement = Measurement::prepare_with(request, Some(Box::new(work)))?;
    let run = record(measurement, None, &mut |_| (), interrupted)?.require_complete()?;
    let lost = |_| Error::not_measured("the task that closed the loop ended without a result");
    Ok(way.with_run(loops.recv().map_err(lost)?.tracking_errors(), &run))
}

/// The plant of `--live` where none is named.
pub const PLANT: &str = "jiwy";
/// The period of `--live` where none is named.
pub const PERIOD_NS: i64 = 1_000_000;
