//! Settings of a machine or of a task that can make a task more regular.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Something that can be set, tried and put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Knob {
    /// Everybody else's threads off the task's processor.
    OtherThreads,
    /// The same by control groups, which also hold programs started later.
    Cpuset,
    /// Everybody else's threads off the processors that share a core with the task's.
    SmtSibling,
    /// Devices' interrupts off it.
    Interrupts,
    /// The kernel's threads that came before the task get a priority below it.
    KernelThreads,
    /// A request for wake-ups from idle without delay (`/dev/cpu_dma_latency` at 0).
    IdleLatency,
    /// Deep idle states of the processor switched off.
    IdleStates,
    /// The frequency governor `performance`.
    Governor,
    /// The lowest frequency as high as the highest.
    FrequencyFloor,
    /// No turbo.
    Turbo,
    /// The kernel preemptible everywhere.
    Preemption,
    /// Timers stay on the processor that set them.
    TimerMigration,
    /// Real-time threads are not throttled.
    RealTimeThrottling,
    /// No limit on the processor time of the task's control groups.
    GroupLimits,
    /// The kernel's unbound work off the processor.
    UnboundWork,
    /// No grace periods of RCU that interrupt every processor to be short.
    RcuNormal,
    /// Network cards' packets are taken by threads, which the task comes before.
    NetworkThreads,
    /// Network cards interrupt less often.
    NetworkCoalescing,
    /// No watchdogs.
    Watchdogs,
    /// No transparent huge pages.
    HugePages,
    /// No search for equal pages.
    SamePageMerging,
    /// No moving of pages between memory nodes.
    NumaBalancing,
    /// Memory's statistics are collected every two minutes, not every second.
    MemoryStatistics,
    /// Memory is swapped out as late as possible.
    Swappiness,
    /// The task under a real-time policy.
    Policy,
    /// The task before every thread but those that the kernel cannot do without.
    Priority,
    /// The task waits another way.
    WakeUp,
    /// The task wakes early and polls.
    WakeEarly,
}

impl Knob {
    /// Every knob, those first that help most often where they help.
    pub const ALL: [Knob; 28] = [
        Knob::OtherThreads,
        Knob::Cpuset,
        Knob::SmtSibling,
        Knob::Interrupts,
        Knob::Policy,
        Knob::GroupLimits,
        Knob::Priority,
        Knob::KernelThreads,
        Knob::IdleLatency,
        Knob::IdleStates,
        Knob::Governor,
        Knob::FrequencyFloor,
        Knob::Turbo,
        Knob::Preemption,
        Knob::WakeEarly,
        Knob::WakeUp,
        Knob::RealTimeThrottling,
        Knob::TimerMigration,
        Knob::UnboundWork,
        Knob::NetworkThreads,
        Knob::NetworkCoalescing,
        Knob::RcuNormal,
        Knob::Watchdogs,
        Knob::HugePages,
        Knob::SamePageMerging,
        Knob::NumaBalancing,
        Knob::MemoryStatistics,
        Knob::Swappiness,
    ];

    /// Returns true for a setting of the task, not of the machine.
    #[must_use]
    pub fn is_of_task(self) -> bool {
        matches!(self, Knob::Policy | Knob::Priority | Knob::WakeUp | Knob::WakeEarly)
    }

    /// Its name in options and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Knob::OtherThreads => "other-threads",
            Knob::Cpuset => "cpuset",
            Knob::SmtSibling => "smt-sibling",
            Knob::Interrupts => "interrupts",
            Knob::KernelThreads => "kernel-threads",
            Knob::IdleLatency => "idle-latency",
            Knob::IdleStates => "idle-states",
            Knob::Governor => "governor",
            Knob::FrequencyFloor => "frequency-floor",
            Knob::Turbo => "turbo",
            Knob::Preemption => "preemption",
            Knob::TimerMigration => "timer-migration",
            Knob::RealTimeThrottling => "real-time-throttling",
            Knob::GroupLimits => "group-limits",
            Knob::UnboundWork => "unbound-work",
            Knob::RcuNormal => "rcu-normal",
            Knob::NetworkThreads => "network-threads",
            Knob::NetworkCoalescing => "network-coalescing",
            Knob::Watchdogs => "watchdogs",
            Knob::HugePages => "huge-pages",
            Knob::SamePageMerging => "same-page-merging",
            Knob::NumaBalancing => "numa-balancing",
            Knob::MemoryStatistics => "memory-statistics",
            Knob::Swappiness => "swappiness",
            Knob::Policy => "policy",
            Knob::Priority => "priority",
            Knob::WakeUp => "wake-up",
            Knob::WakeEarly => "wake-early",
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Knob {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Knob::ALL.into_iter().find(|knob| knob.name() == text).ok_or_else(|| {
            Error::bad_use(format!("{text:?} is no knob: {}", Knob::ALL.map(Knob::name).join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_listed_once_and_written_as_read() {
        for (n, knob) in Knob::ALL.into_iter().enumerate() {
            assert_eq!(knob.name().parse(), Ok(knob));
            assert_eq!(serde_json::to_value(knob).unwrap(), knob.name());
            assert!(!Knob::ALL[..n].contains(&knob));
        }
        assert!("sorcery".parse::<Knob>().is_err_and(|error| error.to_string().contains("governor")));
    }
}
