//! What an examination leaves for the one after a restart.

use jitterlab_analysis::verdict::PurposeVerdict;
use serde::{Deserialize, Serialize};

use super::{DoctorAsked, DoctorResult, Job};

/// Check of the kernel itself, which is a first step of every job.
const KERNEL: &str = "preempt-rt";

/// An examination of before, as its file keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    /// The kernel's number of the start that it was made in.
    pub boot: Option<String>,
    /// What the computer is to drive.
    pub job: String,
    /// How.
    pub way: String,
    /// The time it had.
    pub budget_ns: i64,
    /// The loads beside it.
    pub loads: Vec<String>,
    /// What each purpose came to, as the computer was.
    pub purposes: Vec<PurposeVerdict>,
    /// The usual first steps of the job that were open, by the checks that name them.
    pub open: Vec<String>,
}

impl Earlier {
    /// What an examination leaves.
    #[must_use]
    pub fn new(
        asked: &DoctorAsked,
        found: &DoctorResult,
        boot: Option<String>,
        loads: Vec<String>,
    ) -> Earlier {
        Earlier {
            boot,
            job: found.job.clone(),
            way: found.way.clone(),
            budget_ns: asked.plan.budget_ns,
            loads,
            purposes: found.purposes.iter().map(|purpose| purpose.before.clone()).collect(),
            open: open_steps(found),
        }
    }
}

/// What changed since an earlier examination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Since {
    /// Whether the computer was restarted; `None` where that is not known.
    pub restarted: Option<bool>,
    /// What each purpose came to then.
    pub purposes: Vec<PurposeVerdict>,
    /// First steps that were open then and are done now, by the checks that name them.
    pub done: Vec<String>,
    /// Those that still are open.
    pub open: Vec<String>,
}

impl Since {
    /// What an examination says beside an earlier one.
    pub(super) fn new(earlier: &Earlier, found: &DoctorResult, boot: Option<&String>) -> Since {
        let open = open_steps(found);
        let done = earlier.open.iter().filter(|id| !open.contains(id)).cloned().collect();
        let restarted = earlier.boot.as_ref().zip(boot).map(|(then, now)| then != now);
        Since { restarted, purposes: earlier.purposes.clone(), done, open }
    }
}

fn open_steps(found: &DoctorResult) -> Vec<String> {
    let steps = Job::named(&found.job).map_or(&[][..], |job| job.first_steps);
    let faults = found.found.check.faults();
    let is_open = |id: &&str| faults.iter().any(|check| check.id == *id);
    steps.iter().copied().chain([KERNEL]).filter(is_open).map(Into::into).collect()
}
