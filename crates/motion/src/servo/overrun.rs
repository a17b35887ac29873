//! Actions for a job that is not finished when its task is due again.

use std::fmt;
use std::str::FromStr;

use jitterlab_model::{Error, Overrun};
use serde::Serialize;

/// Action for the late job and the due times that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverrunPolicy {
    /// It finishes late; due times that passed by its end are missed.
    Skip,
    /// It finishes late; every due time is served, one job after the other.
    CatchUp,
    /// It finishes late; the grid of due times restarts a period after its end.
    RePhase,
    /// It is aborted when the task is due again.
    Kill,
}

/// Output at a due time that is missed, or whose job is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissedOutput {
    Hold,
    Zero,
    /// The controller's estimator advances without a measurement, and its output is written.
    Predict,
}

/// An overrun action. Text: `skip`, `catch-up`, `re-phase` or `kill`, with `/zero` or `/predict` where the output does not
/// hold (skip and kill).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct OverrunAction {
    pub policy: OverrunPolicy,
    pub missed_output: MissedOutput,
}

impl OverrunAction {
    pub const ALL: [OverrunAction; 8] = [
        OverrunAction::with_held_output(OverrunPolicy::Skip),
        OverrunAction { policy: OverrunPolicy::Skip, missed_output: MissedOutput::Zero },
        OverrunAction { policy: OverrunPolicy::Skip, missed_output: MissedOutput::Predict },
        OverrunAction::with_held_output(OverrunPolicy::CatchUp),
        OverrunAction::with_held_output(OverrunPolicy::RePhase),
        OverrunAction::with_held_output(OverrunPolicy::Kill),
        OverrunAction { policy: OverrunPolicy::Kill, missed_output: MissedOutput::Zero },
        OverrunAction { policy: OverrunPolicy::Kill, missed_output: MissedOutput::Predict },
    ];

    pub const fn with_held_output(policy: OverrunPolicy) -> OverrunAction {
        OverrunAction { policy, missed_output: MissedOutput::Hold }
    }
}

impl Default for OverrunAction {
    fn default() -> Self {
        OverrunAction::with_held_output(OverrunPolicy::Skip)
    }
}

impl From<Overrun> for OverrunAction {
    fn from(policy: Overrun) -> Self {
        OverrunAction::with_held_output(match policy {
            Overrun::Skip => OverrunPolicy::Skip,
            Overrun::CatchUp => OverrunPolicy::CatchUp,
            Overrun::RePhase => OverrunPolicy::RePhase,
        })
    }
}

impl TryFrom<OverrunAction> for Overrun {
    type Error = Error;

    /// The policy of a task that runs here: no job of it is killed, and its output holds.
    fn try_from(action: OverrunAction) -> Result<Self, Error> {
        match (action.policy, action.missed_output) {
            (OverrunPolicy::Skip, MissedOutput::Hold) => Ok(Overrun::Skip),
            (OverrunPolicy::CatchUp, MissedOutput::Hold) => Ok(Overrun::CatchUp),
            (OverrunPolicy::RePhase, MissedOutput::Hold) => Ok(Overrun::RePhase),
            _ => Err(Error::bad_use(format!(
                "a task that runs live cannot do {action}: take skip, catch-up or re-phase, or judge a run of it"
            ))),
        }
    }
}

impl fmt::Display for OverrunAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.policy {
            OverrunPolicy::Skip => "skip",
            OverrunPolicy::CatchUp => "catch-up",
            OverrunPolicy::RePhase => "re-phase",
            OverrunPolicy::Kill => "kill",
        })?;
        f.write_str(match self.missed_output {
            MissedOutput::Hold => "",
            MissedOutput::Zero => "/zero",
            MissedOutput::Predict => "/predict",
        })
    }
}

jitterlab_model::as_text!(OverrunAction);

impl FromStr for OverrunAction {
    type Err = Error;

    /// Reads an action, also by names from elsewhere: `skip-next` and `queue`, and `/hold`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (policy, missed_output) = text.split_once('/').unwrap_or((text, "hold"));
        let policy = match policy {
            "skip-next" => "skip",
            "queue" => "catch-up",
            policy => policy,
        };
        let wanted =
            if missed_output == "hold" { policy.to_owned() } else { format!("{policy}/{missed_output}") };
        OverrunAction::ALL.into_iter().find(|action| action.to_string() == wanted).ok_or_else(|| {
            Error::bad_use(format!(
                "{text:?} is no overrun action: take skip, skip/zero, skip/predict, catch-up, re-phase, kill, kill/zero or \
                 kill/predict"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_as_they_are_written() {
        for action in OverrunAction::ALL {
            assert_eq!(action.to_string().parse::<OverrunAction>().unwrap(), action);
        }
        let of = |text: &str| text.parse::<OverrunAction>().map(|a| a.to_string()).unwrap();
        assert_eq!(
            (of("kill/hold"), of("skip-next"), of("queue")),
            ("kill".into(), "skip".into(), "catch-up".into())
        );
        for text in ["", "kill/", "catch-up/zero", "wait"] {
            assert!(
                text.parse::<OverrunAction>().unwrap_err().to_string().contains("kill/predict"),
                "{text}"
            );
        }
    }
}
