//! Request for a periodic task: period, processor, policy, workload. As text:
//! `name=base,period=25us,cpu=1,policy=fifo:95,overrun=skip`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, POLICIES, WORKS, invalid_value};
use crate::pulse::Pulse;
use crate::units::{Exact, parse_duration_ns, parse_period_ns};
use crate::wake::{Compensation, ReadClock, SleepClock, WakeMethod};
use crate::words;

mod contradiction;

/// Scheduling policy of a thread. Text: `other`, `batch`, `idle`, `fifo:N`, `rr:N`, `deadline:RUNTIME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub enum Policy {
    /// SCHED_OTHER, the ordinary time sharing.
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO with its priority, 1 to 99.
    Fifo(u8),
    /// SCHED_RR with its priority, 1 to 99.
    RoundRobin(u8),
    /// SCHED_DEADLINE with its runtime per period; deadline and period are the task's period.
    Deadline {
        /// Guaranteed execution time in each period.
        runtime_ns: i64,
    },
}

impl Policy {
    /// Returns true if the kernel prefers it to all ordinary threads.
    pub const fn is_real_time(self) -> bool {
        matches!(self, Policy::Fifo(_) | Policy::RoundRobin(_) | Policy::Deadline { .. })
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || invalid_value("policy", text, POLICIES);
        let priority = |n: &str| match n.parse() {
            Ok(n @ 1..=99) => Ok(n),
            _ => Err(bad()),
        };
        match text.split_once(':') {
            None => match text {
                "other" => Ok(Policy::Other),
                "batch" => Ok(Policy::Batch),
                "idle" => Ok(Policy::Idle),
                "fifo" | "rr" => Err(Error::bad_use(format!("{text:?} lacks its priority, 1 to 99"))
                    .remedy(format!("did you mean {text}:80?"))),
                _ => Err(bad()),
            },
            Some(("fifo", n)) => Ok(Policy::Fifo(priority(n)?)),
            Some(("rr", n)) => Ok(Policy::RoundRobin(priority(n)?)),
            Some(("deadline", runtime)) => {
                let runtime_ns = parse_period_ns(runtime).map_err(|error| error.within("policy deadline"))?;
                Ok(Policy::Deadline { runtime_ns })
            }
            Some(_) => Err(bad()),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Other => write!(f, "other"),
            Policy::Batch => write!(f, "batch"),
            Policy::Idle => write!(f, "idle"),
            Policy::Fifo(n) => write!(f, "fifo:{n}"),
            Policy::RoundRobin(n) => write!(f, "rr:{n}"),
            Policy::Deadline { runtime_ns } => write!(f, "deadline:{}", Exact(*runtime_ns)),
        }
    }
}

words! {
    /// Overrun policy: treatment of due times that passed before the task ran.
    #[derive(Default)]
    Overrun, "overrun policy":
    /// Go to the next due time on the grid; those that passed are missed. (cyclictest, timerlat)
    #[default]
    Skip = "skip",
    /// Run every missed one, back to back. (LinuxCNC, jitterdebugger)
    CatchUp = "catch-up",
    /// Restart the grid one period from now; the lost phase is recorded.
    RePhase = "re-phase",
}

/// Work of the task at each activation. Text: `none`, `spin:TIME`, `twente:DIVISIONS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub enum Work {
    /// Nothing: start and end are two successive clock readings.
    #[default]
    None,
    /// Reads the clock until this much time has passed.
    Spin {
        /// Length of the spin.
        time_ns: i64,
    },
    /// The Twente report's loop of floating-point divisions.
    Twente {
        /// Number of divisions.
        divisions: u32,
    },
}

impl FromStr for Work {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || invalid_value("workload", text, WORKS);
        match text.split_once(':') {
            None if text == "none" => Ok(Work::None),
            None if text == "twente" => Ok(Work::Twente { divisions: 10_000 }),
            Some(("spin", time)) => parse_duration_ns(time)
                .map(|time_ns| Work::Spin { time_ns })
                .map_err(|error| error.within("work spin")),
            Some(("twente", n)) => n.parse().map(|divisions| Work::Twente { divisions }).map_err(|_| bad()),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::None => write!(f, "none"),
            Work::Spin { time_ns } => write!(f, "spin:{}", Exact(*time_ns)),
            Work::Twente { divisions } => write!(f, "twente:{divisions}"),
        }
    }
}

/// One periodic task as requested.
///
/// ```
/// use jitterlab_model::{Policy, TaskSpec};
///
/// let task: TaskSpec = "name=base,period=25us,policy=fifo:95".parse()?;
/// assert_eq!((task.period_ns, task.policy), (25_000, Some(Policy::Fifo(95))));
/// // What cannot work says why: a deadline needs a runtime.
/// assert!("period=1ms,wake=deadline".parse::<TaskSpec>().is_err());
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskSpec {
    /// Its name, unique in a run.
    pub name: String,
    /// T: the distance of its due times, above 0.
    pub period_ns: i64,
    /// Shift of its grid against the run's common beginning, 0 or more.
    #[serde(default)]
    pub offset_ns: i64,
    /// The processor it is bound to; with `None` jitterlab chooses.
    pub cpu: Option<u16>,
    /// Scheduling policy; with `None` jitterlab chooses (FIFO).
    pub policy: Option<Policy>,
    /// Overrun policy.
    #[serde(default)]
    pub overrun: Overrun,
    /// Work at each activation.
    #[serde(default)]
    pub work: Work,
    /// Wake-up method.
    #[serde(default)]
    pub wake: WakeMethod,
    /// The clock it sleeps on.
    #[serde(default)]
    pub clock: SleepClock,
    /// The clock its start and end are read from.
    #[serde(default)]
    pub read: ReadClock,
    /// Compensation of the jitter of its wake-up.
    #[serde(default)]
    pub compensate: Compensation,
    /// The pin that each activation moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulse: Option<Pulse>,
}

impl Default for TaskSpec {
    /// Returns a task with one activation a millisecond, and everything else left to jitterlab.
    fn default() -> Self {
        TaskSpec {
            name: "main".into(),
            period_ns: 1_000_000,
            offset_ns: 0,
            cpu: None,
            policy: None,
            overrun: Overrun::default(),
            work: Work::default(),
            wake: WakeMethod::default(),
            clock: SleepClock::default(),
            read: ReadClock::default(),
            compensate: Compensation::default(),
            pulse: None,
        }
    }
}

impl TaskSpec {
    /// Refuses requests that are known to fail before anything runs.
    ///
    /// # Errors
    /// A spin that is as long as the period or longer, a margin that is, and combinations of wake-up method,
    /// policy, clock and compensation that contradict each other.
    pub fn validate(&self) -> Result<(), Error> {
        match self.work {
            Work::Spin { time_ns } if time_ns >= self.period_ns => Err(Error::bad_use(format!(
                "task {}: its work of {} does not fit into its period of {}",
                self.name,
                self.work,
                Exact(self.period_ns)
            ))
            .remedy("lengthen the period or shorten the work")),
            _ => contradiction::check(self).map_err(|why| why.within(format!("task {}", self.name))),
        }
    }

    /// Returns the same task with other properties, written as `key=value,key=value,...`. [`TaskSpec::validate`] finds
    /// contradictions between them.
    ///
    /// # Errors
    /// The first property that cannot be understood.
    pub fn with_properties(&self, properties: &str) -> Result<Self, Error> {
        let mut spec = self.clone();
        let mut seen: Vec<&str> = Vec::new();
        for part in properties.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| Error::bad_use(format!("{part:?} is not KEY=VALUE: a task is written like name=base,period=25us,cpu=1,policy=fifo:95")))?;
            if seen.contains(&key) {
                return Err(Error::bad_use(format!("{key} is given twice in one task")));
            }
            seen.push(key);
            match key {
                "name" if value.is_empty() => {
                    return Err(invalid_value("name", value, "any text without a comma"));
                }
                "name" => spec.name = value.into(),
                "period" => {
                    spec.period_ns =
                        parse_period_ns(value).map_err(|error| error.within("period"))?;
                }
                "offset" => {
                    spec.offset_ns = parse_duration_ns(value)
                        .map_err(|error| error.within("offset"))?;
                }
                "cpu" => {
                    spec.cpu = Some(value.parse().map_err(|_| invalid_value("processor number", value, "one number, such as cpu=1"))?);
                }
                "policy" => spec.policy = Some(value.parse()?),
                "overrun" => spec.overrun = value.parse()?,
                "work" => spec.work = value.parse()?,
                "wake" => spec.wake = value.parse()?,
                "clock" => spec.clock = value.parse()?,
                "read" => spec.read = value.parse()?,
                "compensate" => spec.compensate = value.parse()?,
                "pulse" => spec.pulse = Some(value.parse()?),
                "step" | "dir" => {
                    let moved = spec.pulse.filter(|pulse| key == "step" || pulse.steps.is_some());
                    let moved = moved.ok_or_else(|| Error::bad_use(format!("{key}= belongs behind the pin that moves: pulse=parport0:D0,step=8kHz,dir=parport0:D1")))?;
                    spec.pulse = Some(format!("{moved},{part}").parse()?);
                }
                _ => return Err(Error::bad_use(format!("{key:?} is not a property of a task")).remedy("use name, period, offset, cpu, policy, overrun, work, wake, clock, read, compensate or pulse")),
            }
        }
        Ok(spec)
    }
}

impl FromStr for TaskSpec {
    type Err = Error;

    /// Reads `key=value,key=value,...`; properties that are not named keep their defaults.
    fn from_str(text: &str) -> Result<Self, Error> {
        let spec = TaskSpec::default().with_properties(text)?;
        spec.validate()?;
        Ok(spec)
    }
}

impl fmt::Display for TaskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name={},period={}", self.name, Exact(self.period_ns))?;
        if self.offset_ns != 0 {
            write!(f, ",offset={}", Exact(self.offset_ns))?;
        }
        if let Some(cpu) = self.cpu {
            write!(f, ",cpu={cpu}")?;
        }
        if let Some(policy) = self.policy {
            write!(f, ",policy={policy}")?;
        }
        write!(f, ",overrun={},work={},wake={}", self.overrun, self.work, self.wake)?;
        if self.clock != SleepClock::default() {
            write!(f, ",clock={}", self.clock)?;
        }
        if self.read != ReadClock::default() {
            write!(f, ",read={}", self.read)?;
        }
        if self.compensate != Compensation::default() {
            write!(f, ",compensate={}", self.compensate)?;
        }
        if let Some(pulse) = &self.pulse {
            write!(f, ",pulse={pulse}")?;
        }
        Ok(())
    }
}

crate::as_text!(Policy, Work, Compensation);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policies() -> impl Strategy<Value = Policy> {
        prop_oneof![
            Just(Policy::Other),
            Just(Policy::Batch),
            Just(Policy::Idle),
            (1u8..=99).prop_map(Policy::Fifo),
            (1u8..=99).prop_map(Policy::RoundRobin),
            (1i64..1_000_000_000).prop_map(|runtime_ns| Policy::Deadline { runtime_ns }),
        ]
    }

    fn specs() -> impl Strategy<Value = TaskSpec> {
        let works = prop_oneof![
            Just(Work::None),
            any::<u32>().prop_map(|divisions| Work::Twente { divisions }),
            (0i64..1_000).prop_map(|time_ns| Work::Spin { time_ns }),
        ];
        let overruns = prop_oneof![Just(Overrun::Skip), Just(Overrun::CatchUp), Just(Overrun::RePhase)];
        (
            "[a-z][a-z0-9 -]{0,8}[a-z]",
            1_000i64..,
            0i64..,
            any::<Option<u16>>(),
            prop::option::of(policies()),
            overruns,
            works,
        )
            .prop_map(|(name, period_ns, offset_ns, cpu, policy, overrun, work)| TaskSpec {
                name,
                period_ns,
                offset_ns,
                cpu,
                policy,
                overrun,
                work,
                ..TaskSpec::default()
            })
    }

    proptest! {
        #[test]
        fn a_task_written_is_the_task_read(spec in specs()) {
            prop_assert_eq!(spec.to_string().parse::<TaskSpec>(), Ok(spec));
        }

        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,60}") {
            let _ = text.parse::<TaskSpec>();
        }

        #[test]
        fn any_values_give_an_answer_and_never_a_panic(
            key in "(name|period|offset|cpu|policy|overrun|work|wake|clock|read|compensate|pulse|pulse=ttyS0:rts,step|x)", value in "\\PC{0,20}"
        ) {
            let _ = format!("{key}={value}").parse::<TaskSpec>();
        }
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| text.parse::<TaskSpec>().unwrap_err().to_string();
        assert!(message("25us").contains("KEY=VALUE"));
        assert!(message("speed=9").contains("period"));
        assert!(message("period=0us").contains("0 ns"));
        assert!(message("policy=fifo:100").contains("1..99"));
        assert!(message("policy=hard").contains("fifo:1..99"));
        assert!(message("cpu=one").contains("cpu=1"));
        assert!(message("cpu=1,cpu=2").contains("twice"));
        assert!(message("overrun=drop").contains("re-phase"));
        assert!(message("wake=magic").contains("nanosleep"));
        assert!(message("period=1ms,work=spin:2ms").contains("does not fit"));
        assert!(message("name=").contains("name"));
        assert!(message("step=8kHz").contains("pulse="));
        assert!(message("pulse=file:p.vcd,dir=parport0:D1").contains("step="));
    }

    #[test]
    fn ways_to_wait_are_read_back() {
        for text in [
            "period=1ms,wake=timerfd,clock=realtime,read=tsc,compensate=margin:20us",
            "period=1ms,policy=deadline:200us,wake=deadline",
            "period=500us,compensate=repeat:50us",
            "period=500us,wake=timer-signal,clock=tai,compensate=late:1e-4",
            "period=1ms,pulse=gpiochip0:17@start",
            "period=25us,pulse=parport0:D0,step=8kHz,dir=parport0:D1",
        ] {
            let spec: TaskSpec = text.parse().unwrap();
            assert_eq!(spec.to_string().parse::<TaskSpec>(), Ok(spec), "{text}");
        }
    }

    #[test]
    fn contradictions_are_explained() {
        for (text, word) in [
            ("period=1ms,compensate=margin:1ms", "shorten the margin"),
            ("period=1ms,compensate=repeat:2ms", "shorten it"),
            ("wake=deadline", "policy=deadline:RUNTIME"),
            ("wake=deadline,policy=fifo:50", "policy=deadline:RUNTIME"),
            ("wake=spin,policy=deadline:200us", "policy=fifo:N"),
            ("wake=spin,compensate=margin:20us", "leave compensate"),
            ("wake=spin,clock=tai", "leave clock=tai out"),
            ("wake=timerfd,clock=tai", "clock=realtime"),
            ("wake=cobalt,policy=deadline:200us", "policy=fifo:N"),
            ("wake=evl,clock=tai", "leave clock="),
            ("wake=evl,read=tsc", "read= out"),
            ("wake=cobalt,pulse=ttyS0:rts", "leave pulse="),
            ("period=1ms,pulse=ttyS0:rts,step=8kHz", "shorten the period"),
            ("wake=nanosleep-relative,compensate=margin:20us", "drift"),
            ("period=1ms,policy=deadline:50us,compensate=margin:100us", "runtime"),
        ] {
            let message = text.parse::<TaskSpec>().unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }
}
