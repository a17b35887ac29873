//! The source documents: their printed numbers, their statements, and whether these hold for the measurements
//! here.

pub mod athlon;
pub mod epos;
pub mod nist;
pub mod nist_calls;
pub mod stretches;
pub mod torques;
pub mod twente;

use serde::{Deserialize, Serialize};

/// Verdict on a statement of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementVerdict {
    Holds,
    DoesNotHold,
    /// The measurement does not decide it.
    CannotBeTold,
}

impl StatementVerdict {
    /// Of both statements together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (StatementVerdict::DoesNotHold, _) | (_, StatementVerdict::DoesNotHold) => {
                StatementVerdict::DoesNotHold
            }
            (StatementVerdict::Holds, StatementVerdict::Holds) => StatementVerdict::Holds,
            _ => StatementVerdict::CannotBeTold,
        }
    }
}

/// A statement of a document with the numbers that decide it, and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tested<S> {
    pub statement: S,
    pub standing: StatementVerdict,
}

impl<S> Tested<S> {
    /// A statement that holds or not; `None` where a number that decides it is unknown.
    pub fn new(statement: S, holds: Option<bool>) -> Self {
        let standing = match holds {
            Some(true) => StatementVerdict::Holds,
            Some(false) => StatementVerdict::DoesNotHold,
            None => StatementVerdict::CannotBeTold,
        };
        Tested { statement, standing }
    }
}

/// One measurement of a document, repeated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderLoad<T> {
    /// Name of the condition in tables and files.
    pub condition: String,
    /// The load of the measurement, as `--load` takes it.
    pub load: String,
    /// Result; `None` if nothing was measured.
    pub found: Option<T>,
}

/// A system under the loads of a document, from none to most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemUnderLoads<T> {
    /// Name of the system in tables and files.
    pub system: String,
    pub loads: Vec<UnderLoad<T>>,
}

impl<T> SystemUnderLoads<T> {
    /// A number of each measurement; `None` where nothing was measured.
    fn each<N>(&self, number: impl Fn(&T) -> N) -> Vec<Option<N>> {
        self.loads.iter().map(|load| load.found.as_ref().map(&number)).collect()
    }
}
