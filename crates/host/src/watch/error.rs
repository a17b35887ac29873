//! Why nothing was watched.

use super::target::Target;

/// Why nothing was watched, as far as callers decide by it ([`jitterlab_model::Error::is`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWatched {
    /// No thread waits periodically.
    NotPeriodic,
}

pub(super) fn named(target: &Target) -> String {
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
