//! Results of an examination that are kept for the one after a restart.

use jitterlab_analysis::verdict::PurposeVerdict;
use serde::{Deserialize, Serialize};

use super::DoctorResult;

/// Check of the kernel itself, which is a first step of every job.
const KERNEL: &str = "preempt-rt";

/// An examination of before, as its file keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedExamination {
    /// The kernel's number of the start that it was made in.
    pub boot: Option<String>,
    pub job: String,
    pub way: String,
    pub budget_ns: i64,
    pub loads: Vec<String>,
    /// Verdict on each purpose, with the computer as it was.
    pub purposes: Vec<PurposeVerdict>,
    /// The usual first steps of the job that were open, by the checks that name them.
    pub open: Vec<String>,
}

impl SavedExamination {
    pub fn new(found: &DoctorResult, boot: Option<String>, loads: Vec<String>) -> SavedExamination {
        SavedExamination {
            boot,
            job: found.request.job.name.into(),
            way: found.request.way.name.into(),
            budget_ns: found.request.plan.budget_ns,
            loads,
            purposes: found.purposes.iter().map(|purpose| purpose.before.clone()).collect(),
            open: failing_first_steps(found),
        }
    }
}

/// Changes since an earlier examination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangesSince {
    /// True if the computer was restarted in between; `None` if unknown.
    pub restarted: Option<bool>,
    pub purposes: Vec<PurposeVerdict>,
    /// First steps that were open then and are done now, by the checks that name them.
    pub done: Vec<String>,
    pub open: Vec<String>,
}

impl ChangesSince {
    pub(super) fn new(
        earlier: &SavedExamination,
        found: &DoctorResult,
        boot: Option<&String>,
    ) -> ChangesSince {
        let open = failing_first_steps(found);
        let done = earlier.open.iter().filter(|id| !open.contains(id)).cloned().collect();
        let restarted = earlier.boot.as_ref().zip(boot).map(|(then, now)| then != now);
        ChangesSince { restarted, purposes: earlier.purposes.clone(), done, open }
    }
}

fn failing_first_steps(found: &DoctorResult) -> Vec<String> {
    let faults = found.findings.check.faults();
    let is_open = |id: &&str| faults.iter().any(|check| check.id == *id);
    found.request.job.first_steps.iter().copied().chain([KERNEL]).filter(is_open).map(Into::into).collect()
}
