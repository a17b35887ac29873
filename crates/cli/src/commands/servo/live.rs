//! `jitterlab servo --live`: a real-time task closes the loop around a simulated plant, under each way to wait.

use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Compensation, Policy, WakeMethod};
use jitterlab_motion::servo::{Question, Reference, ServoLive};

use crate::closed_loop::LivePlan;
use crate::exit::Failure;

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

impl LiveArgs {
    /// Runs every way.
    pub fn execute(&self, question: &Question, references: &[Reference]) -> Result<ServoLive, Failure> {
        let plan = LivePlan {
            question,
            wakes: &self.wake,
            compensate: self.compensate,
            loads: &self.load,
            duration_ns: self.duration,
            cpu: self.cpu,
            policy: self.policy,
        };
        plan.run(references)
    }
}

/// The plant of `--live` where none is named.
pub const PLANT: &str = "jiwy";
/// The period of `--live` where none is named.
pub const PERIOD_NS: i64 = 1_000_000;
