//! Candidate knobs for tuning: remedies of the causes of late starts, and the usual first steps.

use std::cmp::Ordering;

use jitterlab_model::Knob;
use jitterlab_model::causes::{Cause, CauseClass as Class};
use serde::Serialize;

use crate::causes::TaskWhy;

/// Smallest share of the worst starts' delay for which a cause is a reason to try a knob.
const LEAST: f64 = 0.01;

/// Knobs tried whatever the causes are: the usual first steps in setting up such a machine.
pub const USUAL: [Knob; 5] =
    [Knob::OtherThreads, Knob::Interrupts, Knob::Policy, Knob::GroupLimits, Knob::IdleLatency];

/// Causes that a knob remedies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RemediedCauses {
    /// The largest of the causes that it affects, those it remedies first.
    pub cause: Cause,
    /// Share of the worst starts' delay by all of them, 0 to 1.
    pub share: f64,
    /// True if the knob ends such causes; false if it only may shorten them.
    pub own: bool,
}

/// Effect of a knob on a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KnobEffect {
    /// It may shorten the delay by the cause.
    May,
    /// It is the remedy of that cause.
    Own,
}

/// Returns the causes of a task's lateness that a knob affects; `None` if there are none.
#[must_use]
pub fn remedied_causes(knob: Knob, why: &TaskWhy) -> Option<RemediedCauses> {
    let of = |bearing: KnobEffect| {
        let rows = || why.causes.iter().filter(|row| effect_on_cause(knob, &row.cause) == Some(bearing));
        let share: f64 = rows().map(|row| row.share_of_worst).sum();
        let largest = rows().max_by(|a, b| a.share_of_worst.total_cmp(&b.share_of_worst))?;
        let own = bearing == KnobEffect::Own;
        (share >= LEAST).then(|| RemediedCauses { cause: largest.cause.clone(), share, own })
    };
    of(KnobEffect::Own).or_else(|| of(KnobEffect::May))
}

/// Orders knobs: remedies of the largest causes first, then knobs that may shorten them, then usual first steps. Of
/// equals, the one that helps most often comes first.
#[must_use]
pub fn compare_usefulness(
    a: (Knob, Option<&RemediedCauses>),
    b: (Knob, Option<&RemediedCauses>),
) -> Ordering {
    let weight = |of: Option<&RemediedCauses>| of.map_or((false, 0.0), |of| (of.own, of.share));
    let place = |knob: Knob| Knob::ALL.iter().position(|one| *one == knob);
    let ((own_a, share_a), (own_b, share_b)) = (weight(a.1), weight(b.1));
    own_b.cmp(&own_a).then(share_b.total_cmp(&share_a)).then(place(a.0).cmp(&place(b.0)))
}

/// True if the name of the cause begins with one of these.
fn has_name_starting_with(cause: &Cause, names: &[&str]) -> bool {
    cause.who.as_deref().is_some_and(|who| names.iter().any(|name| who.starts_with(name)))
}

/// Functions of the kernel that run for a timer of a program: the program takes its timers along.
const TIMERS_OF_PROGRAMS: [&str; 4] = ["timerfd_tmrproc", "posix_timer_fn", "hrtimer_wakeup", "it_real_fn"];

/// Returns whether a knob remedies a cause or may shorten its delay; `None` if neither.
fn effect_on_cause(knob: Knob, cause: &Cause) -> Option<KnobEffect> {
    let class = cause.class;
    // A program, an interrupt or the kernel's own work may have held off the timer interrupt.
    let open = matches!(class, Class::LateInterrupt | Class::InterruptsOff);
    let threads = matches!(class, Class::Preempted | Class::Shared | Class::NotPreemptible);
    let speed = matches!(
        class,
        Class::TypicalWakeUp
            | Class::OwnWork
            | Class::WorkOrOutside
            | Class::SlowReturn
            | Class::TimerInterrupt
    );
    let memory = matches!(class, Class::PageFault | Class::Vector);
    let waits = matches!(class, Class::Blocked | Class::Lock | Class::LockInheriting | Class::Inversion);
    let limited = matches!(class, Class::Throttled | Class::Quota);
    let by = |names: &[&str]| threads && has_name_starting_with(cause, names);
    let (own, may) = match knob {
        Knob::OtherThreads | Knob::Cpuset => {
            let brought =
                matches!(class, Class::Softirq | Class::OtherTimer | Class::Vector | Class::Migration);
            let timers = class == Class::OtherTimer && has_name_starting_with(cause, &TIMERS_OF_PROGRAMS);
            (threads || timers, open || brought || waits || class == Class::PageFault)
        }
        Knob::Interrupts => {
            (class == Class::Interrupt, open || matches!(class, Class::Vector | Class::Softirq))
        }
        // Another thread on the core slows everything, and is visible only in how long everything takes.
        Knob::SmtSibling => (false, open || speed),
        Knob::Priority | Knob::KernelThreads => (class == Class::Preempted, class == Class::Shared),
        Knob::NetworkThreads => (class == Class::Softirq, false),
        Knob::NetworkCoalescing => (false, matches!(class, Class::Interrupt | Class::Softirq)),
        Knob::RcuNormal => (false, class == Class::Vector),
        Knob::Policy => (matches!(class, Class::Shared | Class::TimerSlack), threads || limited),
        Knob::GroupLimits => (limited, false),
        Knob::RealTimeThrottling => (class == Class::Throttled, false),
        Knob::IdleLatency | Knob::IdleStates => (class == Class::Idle, false),
        // The frequency is visible only in how long the kernel and the task take themselves.
        Knob::Governor | Knob::FrequencyFloor | Knob::Turbo => (false, speed),
        Knob::Preemption => (class == Class::NotPreemptible, class == Class::InterruptsOff),
        // It hides delays that recur every time.
        Knob::WakeEarly => (false, speed || class == Class::Idle),
        Knob::WakeUp => (false, speed || class == Class::OtherTimer),
        Knob::TimerMigration => (class == Class::OtherTimer, open || class == Class::Softirq),
        Knob::UnboundWork => (by(&["kworker"]), open),
        Knob::Watchdogs => (by(&["watchdog", "migration"]), class == Class::OtherTimer),
        Knob::HugePages => (by(&["khugepaged", "kcompactd"]), memory),
        Knob::SamePageMerging => (by(&["ksmd"]), memory),
        Knob::NumaBalancing => (false, memory),
        Knob::MemoryStatistics => (false, by(&["kworker"])),
        Knob::Swappiness => (false, matches!(class, Class::PageFault | Class::Blocked)),
        _ => (false, false),
    };
    match (own, may) {
        (true, _) => Some(KnobEffect::Own),
        (_, true) => Some(KnobEffect::May),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jitterlab_model::causes::Misses;

    use super::*;
    use crate::causes::{CauseRow, ClustersWithPaths};

    fn late_by(causes: &[(Class, Option<&str>, f64)]) -> TaskWhy {
        let row = |(class, who, share): &(Class, Option<&str>, f64)| CauseRow {
            cause: Cause { class: *class, who: who.map(Into::into) },
            times: 10,
            sum_ns: 1_000,
            share: *share,
            share_of_worst: *share,
            worst_ns: 100,
            proven: 1.0,
            likely: 0.0,
            max_without_ns: None,
            max_without_class_ns: None,
            p99_9_without_ns: None,
            functions: Vec::new(),
            check: None,
        };
        TaskWhy {
            task: "main".into(),
            explained: 1_000,
            gaps: 0,
            lateness_ns: 1_000,
            p99_9_ns: Some(100),
            max_ns: 100,
            worst_count: 10,
            left_out: 0,
            quota: None,
            worst_from_ns: Some(50),
            causes: causes.iter().map(row).collect(),
            typical_steps: Vec::new(),
            clusters: ClustersWithPaths::default(),
            interruptions: Vec::new(),
            misses: Misses::default(),
            events: Vec::new(),
        }
    }

    #[test]
    fn remedies_of_the_largest_cause_come_first_and_no_frequency_is_tried_where_nothing_was_slow() {
        let hog = late_by(&[
            (Class::Shared, Some("hog"), 0.86),
            (Class::TypicalWakeUp, None, 0.001),
            (Class::Interrupt, Some("36 disk"), 0.1),
        ]);
        let of = |knob| remedied_causes(knob, &hog);
        let moved = of(Knob::OtherThreads).unwrap();
        assert_eq!((moved.cause.who.as_deref(), moved.share, moved.own), (Some("hog"), 0.86, true));
        for knob in [Knob::Governor, Knob::FrequencyFloor, Knob::Turbo, Knob::IdleStates, Knob::Swappiness] {
            assert_eq!(of(knob), None, "{knob}");
        }
        let mut order = Knob::ALL;
        order.sort_by(|a, b| compare_usefulness((*a, of(*a).as_ref()), (*b, of(*b).as_ref())));
        assert_eq!(order[..4], [Knob::OtherThreads, Knob::Cpuset, Knob::Policy, Knob::Interrupts]);
        let slow = late_by(&[(Class::TypicalWakeUp, None, 0.9)]);
        assert!(remedied_causes(Knob::Governor, &slow).is_some_and(|of| !of.own));
        assert_eq!(remedied_causes(Knob::OtherThreads, &slow), None);
    }

    #[test]
    fn each_cause_that_a_setting_can_end_has_its_own_remedy() {
        for class in [
            Class::Shared,
            Class::Preempted,
            Class::Interrupt,
            Class::Softirq,
            Class::OtherTimer,
            Class::Idle,
            Class::Throttled,
            Class::Quota,
            Class::NotPreemptible,
        ] {
            let why = late_by(&[(class, None, 1.0)]);
            assert!(
                Knob::ALL.into_iter().any(|knob| remedied_causes(knob, &why).is_some_and(|of| of.own)),
                "{class:?}"
            );
        }
        let outside = late_by(&[(Class::Outside, None, 1.0)]);
        assert!(Knob::ALL.into_iter().all(|knob| remedied_causes(knob, &outside).is_none()));
    }
}
