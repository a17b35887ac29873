//! Description of tasks: the same options for every command that measures.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jitterlab_model::units::parse_period_ns;
use jitterlab_model::{
    Compensation, Error, Overrun, Policy, Pulse, ReadClock, SleepClock, TaskSpec, WakeMethod, Work,
};

use crate::mistakes;

/// Tasks in full, or one task option by option.
#[derive(clap::Args)]
#[command(next_help_heading = "Tasks")]
pub struct TaskArgs {
    /// A task as name=base,period=25us; more parts, each behind a comma: offset=0us cpu=1 policy=fifo:95 overrun=skip
    /// work=none wake=nanosleep clock=tai read=tsc compensate=margin:20us pulse=ttyS0:rts. Every part but period may be left out; may be
    /// given several times
    #[arg(long = "task", value_name = "SPEC", conflicts_with_all = ["period", "work", "overrun", "pulse", "WaitArgs"])]
    tasks: Vec<TaskSpec>,
    /// Period of the one task, as a time (250us) or a rate (4kHz) [default: 1ms; with --for what the purpose needs; in
    /// compensate 500us; in matrix 1ms beside 100us]
    #[arg(long, value_parser = parse_period_ns, value_name = "TIME")]
    period: Option<i64>,
    /// What the task does each time: none, spin:TIME, twente:DIVISIONS [default: none]
    #[arg(long)]
    work: Option<Work>,
    /// What happens to due times that passed: skip, catch-up, re-phase [default: skip]
    #[arg(long)]
    overrun: Option<Overrun>,
    /// A pin that each activation moves, for an oscilloscope: gpiochip0:17, parport0:D0, ttyS0:rts, ttyS0:dtr or file:PATH (a
    /// value change dump); high while it works, with @start or @end behind it changed once at that place; with
    /// ,step=8kHz,dir=PIN behind it the steps of a move at that speed
    #[arg(long, value_name = "PIN")]
    pulse: Option<Pulse>,
    #[command(flatten)]
    wait: WaitArgs,
}

/// Wake-up method and scheduling of a task.
#[derive(clap::Args)]
#[command(next_help_heading = "Tasks")]
pub struct WaitArgs {
    /// Processor of the one task [default: the one that isolation and topology favour]
    #[arg(long, value_parser = mistakes::parse_processor)]
    pub cpu: Option<u16>,
    /// Scheduling policy: other, batch, idle, fifo:1..99, rr:1..99, deadline:RUNTIME [default: fifo:80, less for
    /// longer periods of several tasks]
    #[arg(long)]
    policy: Option<Policy>,
    /// How the task waits [default: nanosleep]
    #[arg(long, value_parser = PossibleValuesParser::new(WakeMethod::ALL.iter().map(|wake| wake.name()))
        .try_map(|wake| wake.parse::<WakeMethod>()))]
    pub wake: Option<WakeMethod>,
    /// The clock it sleeps on: monotonic, realtime, tai [default: monotonic]
    #[arg(long)]
    clock: Option<SleepClock>,
    /// The clock its start and end are read from: monotonic, monotonic-raw, tsc [default: monotonic]
    #[arg(long)]
    read: Option<ReadClock>,
    /// Wake early and poll: repeat:TIME, margin:TIME, late:P, cost:RATIO, adaptive:P [default: none]
    #[arg(long)]
    compensate: Option<Compensation>,
}

impl WaitArgs {
    /// Returns the task with the requested settings.
    pub fn apply_to(&self, task: TaskSpec) -> TaskSpec {
        TaskSpec {
            cpu: self.cpu.or(task.cpu),
            policy: self.policy.or(task.policy),
            wake: self.wake.unwrap_or(task.wake),
            clock: self.clock.unwrap_or(task.clock),
            read: self.read.unwrap_or(task.read),
            compensate: self.compensate.unwrap_or(task.compensate),
            ..task
        }
    }
}

impl TaskArgs {
    /// Returns the requested tasks, or else the `usual` ones with the settings of the other options. With a period
    /// among those, only the first of them.
    pub fn specs(&self, mut usual: Vec<TaskSpec>) -> Vec<TaskSpec> {
        if !self.tasks.is_empty() {
            return self.tasks.clone();
        }
        if self.period.is_some() {
            usual.truncate(1);
        }
        let asked = |task: TaskSpec| TaskSpec {
            period_ns: self.period.unwrap_or(task.period_ns),
            work: self.work.unwrap_or(task.work),
            overrun: self.overrun.unwrap_or(task.overrun),
            pulse: self.pulse.clone().or(task.pulse.clone()),
            ..self.wait.apply_to(task)
        };
        usual.into_iter().map(asked).collect()
    }

    /// The requested task, or the usual one; fails if several are described.
    pub fn single_task(&self, usual: TaskSpec) -> Result<TaskSpec, Error> {
        let mut specs = self.specs(vec![usual]);
        match (specs.pop(), specs.len()) {
            (Some(only), 0) => Ok(only),
            (_, more) => {
                Err(Error::bad_use(format!("{} tasks: this command measures one, name it alone", more + 1)))
            }
        }
    }

    /// Returns the requested wake-up method; `None` if none was requested.
    pub fn wake(&self) -> Option<WakeMethod> {
        let described =
            self.tasks.first().map(|task| task.wake).filter(|wake| *wake != WakeMethod::default());
        self.wait.wake.or(described)
    }
}
