//! Fields of a task's activations that its source states.

use jitterlab_model::Gap;

use crate::Run;

/// Fields of a task's activations that its source states: other fields stay empty in a table, and are never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceFields {
    /// True if their due times are known.
    pub due: bool,
    /// True if their ends are known.
    pub end: bool,
    /// True if their processors and flags are known.
    pub cpu: bool,
    /// True if the number of due times missed before each is known.
    pub missed: bool,
}

impl Run {
    /// Returns the fields that the source states for the task of this number.
    pub fn source_fields(&self, task: usize) -> SourceFields {
        let knows = |gap| self.info().tasks[task].knows(gap);
        SourceFields {
            due: knows(Gap::Latency) && knows(Gap::Grid),
            end: knows(Gap::Execution),
            cpu: !self.info().is_imported(),
            missed: knows(Gap::Missed),
        }
    }
}
