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

/// Every knob with its name, those first that help most often where they help.
const NAMES: [(Knob, &str); 28] = [
    (Knob::OtherThreads, "other-threads"),
    (Knob::Cpuset, "cpuset"),
    (Knob::SmtSibling, "smt-sibling"),
    (Knob::Interrupts, "interrupts"),
    (Knob::Policy, "policy"),
    (Knob::GroupLimits, "group-limits"),
    (Knob::Priority, "priority"),
    (Knob::KernelThreads, "kernel-threads"),
    (Knob::IdleLatency, "idle-latency"),
    (Knob::IdleStates, "idle-states"),
    (Knob::Governor, "governor"),
    (Knob::FrequencyFloor, "frequency-floor"),
    (Knob::Turbo, "turbo"),
    (Knob::Preemption, "preemption"),
    (Knob::WakeEarly, "wake-early"),
    (Knob::WakeUp, "wake-up"),
    (Knob::RealTimeThrottling, "real-time-throttling"),
    (Knob::TimerMigration, "timer-migration"),
    (Knob::UnboundWork, "unbound-work"),
    (Knob::NetworkThreads, "network-threads"),
    (Knob::NetworkCoalescing, "network-coalescing"),
    (Knob::RcuNormal, "rcu-normal"),
    (Knob::Watchdogs, "watchdogs"),
    (Knob::HugePages, "huge-pages"),
    (Knob::SamePageMerging, "same-page-merging"),
    (Knob::NumaBalancing, "numa-balancing"),
    (Knob::MemoryStatistics, "memory-statistics"),
    (Knob::Swappiness, "swappiness"),
];

impl Knob {
    /// Every knob, those first that help most often where they help.
    pub const ALL: [Knob; 28] = {
        let mut all = [Knob::OtherThreads; NAMES.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = NAMES[at].0;
            at += 1;
        }
        all
    };

    /// Returns true for a setting of the task, not of the machine.
    #[must_use]
    pub fn is_of_task(self) -> bool {
        matches!(self, Knob::Policy | Knob::Priority | Knob::WakeUp | Knob::WakeEarly)
    }

    /// Its name in options and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(knob, _)| *knob == self).map_or("", |(_, name)| name)
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
