//! What tasks are asked to be, as options.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jitterlab_model::units::parse_period_ns;
use jitterlab_model::{Compensation, Overrun, Policy, ReadClock, SleepClock, TaskSpec, WakeMethod, Work};

/// Tasks in full, or one task option by option.
#[derive(clap::Args)]
pub struct TaskArgs {
    /// A task as name=base,period=25us,offset=0us,cpu=1,policy=fifo:95,overrun=skip,work=none,wake=nanosleep,clock=tai,read=tsc,compensate=margin:20us;
    /// every part but period may be left out; may be given several times
    #[arg(long = "task", value_name = "SPEC", conflicts_with_all = ["period", "cpu", "policy", "overrun", "work", "wake", "clock", "read", "compensate"])]
    tasks: Vec<TaskSpec>,

    /// Period of the one task, as a time (250us) or a rate (4kHz)
    #[arg(long, value_parser = parse_period_ns, value_name = "TIME")]
    period: Option<i64>,
    /// Processor of the one task
    #[arg(long)]
    cpu: Option<u16>,
    /// Scheduling policy: other, batch, idle, fifo:1..99, rr:1..99, deadline:RUNTIME
    #[arg(long)]
    policy: Option<Policy>,
    /// What happens to due times that passed: skip, catch-up, re-phase
    #[arg(long)]
    overrun: Option<Overrun>,
    /// What the task does each time: none, spin:TIME, twente:DIVISIONS
    #[arg(long)]
    work: Option<Work>,
    /// How the task waits
    #[arg(long, value_parser = PossibleValuesParser::new(WakeMethod::ALL.iter().map(|wake| wake.name()))
        .try_map(|wake| wake.parse::<WakeMethod>()))]
    wake: Option<WakeMethod>,
    /// The clock it sleeps on: monotonic, realtime, tai
    #[arg(long)]
    clock: Option<SleepClock>,
    /// The clock its start and end are read from: monotonic, monotonic-raw, tsc
    #[arg(long)]
    read: Option<ReadClock>,
    /// Wake early and poll: repeat:TIME, margin:TIME, late:P, cost:RATIO, adaptive:P
    #[arg(long)]
    compensate: Option<Compensation>,
}

impl TaskArgs {
    /// The tasks that were asked for, the short form included.
    pub fn specs(&self) -> Vec<TaskSpec> {
        if !self.tasks.is_empty() {
            return self.tasks.clone();
        }
        let default = TaskSpec::default();
        vec![TaskSpec {
            period_ns: self.period.unwrap_or(default.period_ns),
            cpu: self.cpu,
            policy: self.policy,
            overrun: self.overrun.unwrap_or_default(),
            work: self.work.unwrap_or_default(),
            wake: self.wake.unwrap_or_default(),
            clock: self.clock.unwrap_or_default(),
            read: self.read.unwrap_or_default(),
            compensate: self.compensate.unwrap_or_default(),
            ..default
        }]
    }
}
