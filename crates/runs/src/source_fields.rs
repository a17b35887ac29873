//! What a source tells of the activations of a task.

use jitterlab_model::Gap;

use crate::Run;

/// What a task's source tells of its activations: what it does not is left open in a table, and never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceFields {
    /// When they were due.
    pub due: bool,
    /// When they ended.
    pub end: bool,
    /// Where they ran, and what else their flags say.
    pub cpu: bool,
    /// How many due times were missed before each.
    pub missed: bool,
}

impl Run {
    /// What the source tells of the activations of the task of this number.
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
