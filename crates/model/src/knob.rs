//! Settings of a machine or of a task that can make a task more regular.

use crate::words;

words! {
    /// Something that can be set, tried and put back; those first that help most often where they help.
    #[derive(Hash)]
    #[non_exhaustive]
    Knob, "knob":
    /// Everybody else's threads off the task's processor.
    OtherThreads = "other-threads",
    /// The same by control groups, which also hold programs started later.
    Cpuset = "cpuset",
    /// Everybody else's threads off the processors that share a core with the task's.
    SmtSibling = "smt-sibling",
    /// Devices' interrupts off it.
    Interrupts = "interrupts",
    /// The task under a real-time policy.
    Policy = "policy",
    /// No limit on the processor time of the task's control groups.
    GroupLimits = "group-limits",
    /// The task before every thread but those that the kernel cannot do without.
    Priority = "priority",
    /// The kernel's threads that came before the task get a priority below it.
    KernelThreads = "kernel-threads",
    /// A request for wake-ups from idle without delay (`/dev/cpu_dma_latency` at 0).
    IdleLatency = "idle-latency",
    /// Deep idle states of the processor switched off.
    IdleStates = "idle-states",
    /// The frequency governor `performance`.
    Governor = "governor",
    /// The lowest frequency as high as the highest.
    FrequencyFloor = "frequency-floor",
    /// No turbo.
    Turbo = "turbo",
    /// The kernel preemptible everywhere.
    Preemption = "preemption",
    /// The task wakes early and polls.
    WakeEarly = "wake-early",
    /// The task waits another way.
    WakeUp = "wake-up",
    /// Real-time threads are not throttled.
    RealTimeThrottling = "real-time-throttling",
    /// Timers stay on the processor that set them.
    TimerMigration = "timer-migration",
    /// The kernel's unbound work off the processor.
    UnboundWork = "unbound-work",
    /// Network cards' packets are taken by threads, which the task comes before.
    NetworkThreads = "network-threads",
    /// Network cards interrupt less often.
    NetworkCoalescing = "network-coalescing",
    /// No grace periods of RCU that interrupt every processor to be short.
    RcuNormal = "rcu-normal",
    /// No watchdogs.
    Watchdogs = "watchdogs",
    /// No transparent huge pages.
    HugePages = "huge-pages",
    /// No search for equal pages.
    SamePageMerging = "same-page-merging",
    /// No moving of pages between memory nodes.
    NumaBalancing = "numa-balancing",
    /// Memory's statistics are collected every two minutes, not every second.
    MemoryStatistics = "memory-statistics",
    /// Memory is swapped out as late as possible.
    Swappiness = "swappiness",
}

impl Knob {
    /// Returns true for a setting of the task, not of the machine.
    #[must_use]
    pub fn is_task_setting(self) -> bool {
        matches!(self, Knob::Policy | Knob::Priority | Knob::WakeUp | Knob::WakeEarly)
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
