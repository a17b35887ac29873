//! Reasons why nothing was watched.

use std::path::Path;

use jitterlab_analysis::watch::{NoPeriodicWait, Waker};
use jitterlab_model::Refusal;

use super::target::Target;
use crate::facts::thread_name;

/// Reason why nothing was watched, as far as callers decide by it ([`jitterlab_model::Error::is`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWatched {
    /// There is no such thread or process now.
    Absent,
    /// No thread waits periodically.
    NotPeriodic,
}

pub(super) fn describe_target(target: &Target) -> String {
    match target {
        Target::Process(number) => format!("process {number}"),
        Target::Thread(name) => {
            format!("thread named {name:?} (names have 15 letters at most; ps -eLo comm lists them)")
        }
        Target::Unit(unit) => format!("running process of a unit {unit:?} (systemctl lists them)"),
        Target::Container(name) => {
            format!(
                "running process of a container {name:?}; its number or the path of its control group will do, too"
            )
        }
        Target::Command(words) => format!("process of {}", words.join(" ")),
    }
}

/// Number of waits of a thread without a period, and a description of them.
pub(super) fn describe_irregular_thread(name: &str, irregular: NoPeriodicWait) -> (usize, String) {
    let ms = |ns: i64| ns as f64 / 1e6;
    match irregular {
        NoPeriodicWait::Few(0) => (0, format!("{name} never waits")),
        NoPeriodicWait::Few(waits) => (waits, format!("{name} waited {waits} times")),
        NoPeriodicWait::Uneven(waits) => (waits, format!("{name} waits at no even distances")),
        NoPeriodicWait::Several { shortest_ns, longest_ns } => (
            usize::MAX,
            format!("{name} has several periods, from {:.3} to {:.3} ms", ms(shortest_ns), ms(longest_ns)),
        ),
        NoPeriodicWait::Woken { by, waits, shortest_ns, longest_ns } => (
            waits,
            format!(
                "{name} is woken by {}, at uneven distances, from {:.3} to {:.3} ms",
                describe_waker(by),
                ms(shortest_ns),
                ms(longest_ns)
            ),
        ),
    }
}

fn describe_waker(by: Waker) -> String {
    match by {
        Waker::Thread(0) => "an idle processor".into(),
        Waker::Thread(number) => {
            thread_name(Path::new(&format!("/proc/{number}"))).unwrap_or_else(|_| format!("thread {number}"))
        }
        Waker::Softirq => "packets or other softirqs".into(),
        Waker::Interrupt => "interrupts of a device".into(),
        Waker::Timer => "a timer".into(),
    }
}

/// A rank before all, and a description, for a thread of a 32-bit program, whose calls are not read.
pub(super) fn describe_32_bit_thread(name: &str) -> (usize, String) {
    (usize::MAX, format!("{name}: its system calls are those of 32-bit programs, which are not read"))
}

/// Refusal of a thread that took another period while it was watched.
pub(super) fn changed_period_refusal(name: &str, is_woken: bool) -> Refusal {
    let why = match is_woken {
        true => "it is woken at other distances than before: the period of what wakes it changed",
        false => "it waits for times at other distances than before: its period changed",
    };
    Refusal {
        what: format!("watching {name} to the end"),
        why: why.into(),
        remedy: "watch it again: each period by itself".into(),
    }
}
