//! Which knobs are worth the time: those that bear on what made the task late.

use jitterlab_model::Knob;
use jitterlab_model::causes::{Cause, CauseClass as Class};

use crate::causes::{CauseRow, TaskWhy};

/// A cause that took less of the lateness than this is no reason to try anything.
const LEAST: f64 = 0.005;

/// How much of what made a task late a knob bears on, 0 to 1: of what delayed its latest starts, or of all its lateness, whichever
/// is more. Where a part of it has no cause that is known, a knob that may bear on anything gets that part.
#[must_use]
pub fn bears_on(knob: Knob, why: &TaskWhy) -> f64 {
    let shares = why.causes.iter().filter(|row| bears(knob, &row.cause));
    let sum = |of: fn(&CauseRow) -> f64| shares.clone().map(of).sum::<f64>();
    sum(|row| row.latest_share).max(sum(|row| row.share))
}

/// Whether a knob is worth trying for a task that was late for these causes. Where nothing was explained, all are.
#[must_use]
pub fn is_worth_trying(knob: Knob, why: &TaskWhy) -> bool {
    why.explained == 0 || bears_on(knob, why) >= LEAST
}

fn is_kworker(cause: &Cause) -> bool {
    cause.who.as_deref().is_some_and(|who| who.starts_with("kworker"))
}

/// Whether a knob may shorten what a cause takes.
fn bears(knob: Knob, cause: &Cause) -> bool {
    let class = cause.class;
    // What cannot be told may be anything in the kernel or in other programs.
    let open = matches!(class, Class::LateInterrupt | Class::Lost | Class::InterruptsOff);
    let threads = matches!(class, Class::Preempted | Class::Shared | Class::NotPreemptible);
    let speed = matches!(class, Class::Usual | Class::OwnWork | Class::SlowReturn | Class::TimerInterrupt);
    match knob {
        Knob::OtherThreads | Knob::Cpuset => {
            open || threads
                || matches!(
                    class,
                    Class::Softirq
                        | Class::OtherTimer
                        | Class::Vector
                        | Class::Migration
                        | Class::Blocked
                        | Class::PageFault
                )
        }
        Knob::Interrupts => open || matches!(class, Class::Interrupt | Class::Vector | Class::Softirq),
        // What shares the core takes its share of everything, and is seen in how long everything takes.
        Knob::SmtSibling => open || speed,
        Knob::Priority | Knob::KernelThreads => matches!(class, Class::Preempted | Class::Shared),
        Knob::NetworkThreads => open || class == Class::Softirq,
        Knob::NetworkCoalescing => open || matches!(class, Class::Interrupt | Class::Vector | Class::Softirq),
        Knob::RcuNormal => open || class == Class::Vector,
        Knob::Policy => threads || matches!(class, Class::TimerSlack | Class::Throttled),
        Knob::IdleLatency | Knob::IdleStates => class == Class::Idle,
        // The frequency is seen nowhere but in how long everything takes that the kernel and the task do themselves.
        Knob::Governor | Knob::FrequencyFloor | Knob::Turbo => speed,
        Knob::Preemption => open || class == Class::NotPreemptible,
        // It hides whatever comes every time.
        Knob::WakeEarly => speed || class == Class::Idle,
        Knob::WakeUp => speed || class == Class::OtherTimer,
        Knob::RealTimeThrottling => class == Class::Throttled,
        Knob::TimerMigration => open || matches!(class, Class::OtherTimer | Class::Softirq),
        Knob::UnboundWork => open || (threads && is_kworker(cause)),
        Knob::Watchdogs => open || threads || class == Class::OtherTimer,
        Knob::HugePages | Knob::SamePageMerging | Knob::NumaBalancing => {
            open || threads || matches!(class, Class::PageFault | Class::Vector)
        }
        Knob::MemoryStatistics => open || (threads && is_kworker(cause)),
        Knob::Swappiness => matches!(class, Class::PageFault | Class::Blocked),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late_by(causes: &[(Class, Option<&str>, f64)]) -> TaskWhy {
        let row = |(class, who, share): &(Class, Option<&str>, f64)| CauseRow {
            cause: Cause { class: *class, who: who.map(Into::into) },
            times: 10,
            sum_ns: 1_000,
            share: *share,
            latest_share: *share,
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
            latest: 10,
            left_out: 0,
            quota: None,
            latest_from_ns: Some(50),
            causes: causes.iter().map(row).collect(),
            usual: Vec::new(),
            interruptions: Vec::new(),
            events: Vec::new(),
        }
    }

    #[test]
    fn no_frequency_knob_is_tried_where_nothing_was_slow() {
        let hog = late_by(&[(Class::Shared, Some("hog"), 0.99), (Class::Usual, None, 0.001)]);
        assert!(is_worth_trying(Knob::OtherThreads, &hog) && is_worth_trying(Knob::Policy, &hog));
        for knob in [Knob::Governor, Knob::FrequencyFloor, Knob::Turbo, Knob::IdleStates, Knob::Swappiness] {
            assert!(!is_worth_trying(knob, &hog), "{knob}");
        }
        let slow = late_by(&[(Class::Usual, None, 0.9)]);
        assert!(is_worth_trying(Knob::Governor, &slow) && !is_worth_trying(Knob::OtherThreads, &slow));
    }

    #[test]
    fn each_cause_that_a_setting_can_end_has_one_and_what_is_not_explained_leaves_all() {
        for class in [
            Class::Interrupt,
            Class::Softirq,
            Class::Idle,
            Class::Throttled,
            Class::PageFault,
            Class::NotPreemptible,
        ] {
            let why = late_by(&[(class, None, 1.0)]);
            assert!(Knob::ALL.into_iter().any(|knob| is_worth_trying(knob, &why)), "{class:?}");
        }
        let outside = late_by(&[(Class::Outside, None, 1.0)]);
        assert!(!Knob::ALL.into_iter().any(|knob| is_worth_trying(knob, &outside)));
        let silent = TaskWhy { explained: 0, ..outside };
        assert!(Knob::ALL.into_iter().all(|knob| is_worth_trying(knob, &silent)));
    }
}
