//! Fitness of a computer for a job: the findings of all steps of `doctor`, and advice.

mod advice;
mod jobs;
mod plan;
mod saved_examination;
#[cfg(test)]
mod tests;

pub use advice::Advice;
pub use jobs::{JOBS, Job, JobMethod};
pub use plan::{DoctorPlan, LEAST_NS, TUNES_FROM_NS};
pub use saved_examination::{ChangesSince, SavedExamination};

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::tune::TuneResult;
use jitterlab_analysis::verdict::{PurposeVerdict, Untested, Verdict};
use jitterlab_model::Fitness;
use jitterlab_model::check::CheckReport;
use serde::{Deserialize, Serialize};

use crate::servo::ServoResult;
use crate::stepper::StepperResult;

/// A step on the way to the decision, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorStep {
    Check,
    /// The tasks are measured under load.
    Measure,
    /// The kernel's events are recorded, to find the causes of late starts.
    Why,
    /// The effect of that timing on a motor or a loop is computed.
    Judge,
    Tune,
    /// Settings that helped are applied, and everything is measured again.
    Prove,
    Page,
}

impl DoctorStep {
    pub const ALL: [DoctorStep; 7] = [
        DoctorStep::Check,
        DoctorStep::Measure,
        DoctorStep::Why,
        DoctorStep::Judge,
        DoctorStep::Tune,
        DoctorStep::Prove,
        DoctorStep::Page,
    ];
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum SkipReason {
    NoTime,
    NotWanted,
    Refused { error: String },
    Failed { error: String },
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepOutcome {
    pub step: DoctorStep,
    /// Reason for leaving it out; `None` where it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PurposeResult {
    /// As the computer was.
    pub before: PurposeVerdict,
    /// With everything set that was proven to help; `None` where nothing was, or it was not measured again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<PurposeVerdict>,
}

impl PurposeResult {
    /// The latest verdict: after the changes if there is one, else before them.
    pub fn final_verdict(&self) -> &PurposeVerdict {
        self.after.as_ref().unwrap_or(&self.before)
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct DoctorRequest {
    #[serde(flatten)]
    pub job: &'static Job,
    #[serde(flatten)]
    pub way: &'static JobMethod,
    pub plan: DoctorPlan,
    /// True if root's rights are available.
    pub privileged: bool,
    pub sudo: bool,
    /// True if files can be written where it was called.
    pub kept: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct DoctorFindings {
    pub steps: Vec<StepOutcome>,
    pub check: CheckReport,
    /// The tasks next to a load, as the computer was.
    pub before: MeasuredRun,
    /// Run with the kernel's events recorded, where that was possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<MeasuredRun>,
    /// Effect of the timing on a stepper axis: as the computer was, then with the settings that helped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stepper: Vec<StepperResult>,
    /// Effect of the timing on a control loop, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servo: Vec<ServoResult>,
    /// Settings that help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuned: Option<TuneResult>,
    /// The tasks measured again with the settings that helped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<MeasuredRun>,
}

#[derive(Debug, Clone, Serialize)]
pub struct DoctorResult {
    #[serde(flatten)]
    pub request: DoctorRequest,
    /// Fitness for the job, with the settings that were proven to help if there are any.
    pub fitness: Fitness,
    /// Each purpose, the most demanding first.
    pub purposes: Vec<PurposeResult>,
    /// Next steps for the user, the most useful first.
    pub advice: Vec<Advice>,
    /// Changes since the examination that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<ChangesSince>,
    #[serde(flatten)]
    pub findings: DoctorFindings,
}

impl DoctorResult {
    /// Adds the comparison with an earlier examination; `boot` is the kernel's identifier of this boot.
    #[must_use]
    pub fn with_changes_since(
        mut self,
        saved_examination: Option<&SavedExamination>,
        boot: Option<&String>,
    ) -> Self {
        self.since =
            saved_examination.map(|saved_examination| ChangesSince::new(saved_examination, &self, boot));
        self
    }

    pub fn new(request: DoctorRequest, findings: DoctorFindings) -> Self {
        let after = findings.after.as_ref().and_then(|run| run.verdict.as_ref());
        // Without a real-time priority, even a very late start says nothing about the computer: root's may be refused as well, by
        // its control group.
        let granted = findings.before.run.tasks.iter().filter_map(|task| task.granted.as_ref());
        let is_ordinary = granted.into_iter().any(|granted| !granted.policy.is_real_time());
        let purposes: Vec<PurposeResult> = request
            .way
            .purposes
            .iter()
            .filter_map(|name| {
                let of = |verdict: &Verdict| {
                    let purpose = verdict.purposes.iter().find(|p| p.purpose == *name).cloned()?;
                    Some(if is_ordinary { with_untested_policy(purpose) } else { purpose })
                };
                let before = findings.before.verdict.as_ref().and_then(of)?;
                Some(PurposeResult { before, after: after.and_then(of) })
            })
            .collect();
        let each = purposes.iter().map(|found| found.final_verdict().fitness);
        let fitness = if request.way.any { each.min() } else { each.max() }.unwrap_or(Fitness::CannotTell);
        let mut result =
            DoctorResult { request, fitness, purposes, advice: Vec::new(), since: None, findings };
        result.advice = advice::advice(&result);
        result
    }
}

/// Changes a verdict to "cannot tell", because a real-time priority was refused.
fn with_untested_policy(found: PurposeVerdict) -> PurposeVerdict {
    PurposeVerdict { fitness: Fitness::CannotTell, untested: Some(Untested::Policy), ..found }
}
