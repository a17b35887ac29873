//! Jobs that a computer may have to drive, and the purposes that each needs.

use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::TaskSpec;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Job {
    #[serde(rename = "job")]
    pub name: &'static str,
    /// Ways to do the job; the first is the default.
    #[serde(skip)]
    pub ways: &'static [JobMethod],
    /// The usual first steps of those who set such a computer up, in their order, by the checks that show whether they are done.
    #[serde(skip)]
    pub first_steps: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct JobMethod {
    #[serde(rename = "way")]
    pub name: &'static str,
    /// The purposes that the computer has to serve, the most demanding first.
    #[serde(skip)]
    pub purposes: &'static [&'static str],
    /// True if one of the purposes is enough.
    pub any: bool,
}

const fn needs_all(name: &'static str, purposes: &'static [&'static str]) -> JobMethod {
    JobMethod { name, purposes, any: false }
}

const fn needs_any(name: &'static str, purposes: &'static [&'static str]) -> JobMethod {
    JobMethod { name, purposes, any: true }
}

/// LinuxCNC's manual and forum: latency first by the firmware (power saving, SMI), then a processor of its own, interrupts off
/// it.
const CNC: &[&str] = &[
    "rtprio",
    "memlock",
    "group-limits",
    "smi",
    "idle-states",
    "isolated-cpus",
    "irq-affinity",
    "default-irq-affinity",
    "smt",
    "graphics",
    "iommu",
];
/// ros2_control's and PREEMPT_RT's how-to: rights and locked memory first, priorities above the interrupt threads, then the same.
const ROBOT: &[&str] = &[
    "rtprio",
    "memlock",
    "group-limits",
    "kernel-threads",
    "governor",
    "idle-states",
    "isolated-cpus",
    "irq-affinity",
    "rt-throttling",
    "smi",
    "iommu",
];
/// Audio distributions and rtcqs: rights, swapping, governor, other programs' requests.
const AUDIO: &[&str] =
    &["rtprio", "memlock", "group-limits", "swappiness", "governor", "threaded-interrupts", "access-times"];
/// Makers of PLC runtimes: the same as a robot's, without the rights that their packages bring.
const PLC: &[&str] =
    &["group-limits", "idle-states", "governor", "isolated-cpus", "irq-affinity", "kernel-threads", "smi"];

pub const JOBS: [Job; 4] = [
    Job {
        name: "cnc",
        ways: &[
            needs_any("unsure", &["step-50us", "servo-thread"]),
            needs_all("software", &["step-50us", "servo-thread"]),
            needs_all("card", &["servo-thread"]),
            needs_all("fieldbus", &["fieldbus-1ms"]),
        ],
        first_steps: CNC,
    },
    Job {
        name: "robot",
        ways: &[
            needs_any("unsure", &["robot-1khz", "fieldbus-1ms"]),
            needs_all("loop", &["robot-1khz"]),
            needs_all("fieldbus", &["fieldbus-1ms"]),
        ],
        first_steps: ROBOT,
    },
    Job { name: "audio", ways: &[needs_all("usual", &["audio"])], first_steps: AUDIO },
    Job {
        name: "plc",
        ways: &[needs_all("10ms", &["plc-10ms"]), needs_all("1ms", &["fieldbus-1ms"])],
        first_steps: PLC,
    },
];

/// Periods up to this are those of step generators.
const LONGEST_STEP_NS: i64 = 100_000;

impl Job {
    pub fn by_name(name: &str) -> Option<&'static Job> {
        JOBS.iter().find(|job| job.name == name)
    }

    pub fn method(&self, name: &str) -> Option<&'static JobMethod> {
        self.ways.iter().find(|way| way.name == name)
    }
}

impl JobMethod {
    /// Purposes to serve, the most demanding first.
    pub fn served_purposes(&self) -> impl Iterator<Item = &'static Purpose> + use<> {
        self.purposes.iter().filter_map(|name| Purpose::by_name(name))
    }

    /// Task to measure for a purpose.
    pub fn task_for(purpose: &Purpose) -> TaskSpec {
        let name = if purpose.period_ns <= LONGEST_STEP_NS { "base" } else { "servo" };
        TaskSpec { name: name.into(), period_ns: purpose.period_ns, ..TaskSpec::default() }
    }

    /// Tasks to measure for all purposes, one for each period.
    pub fn tasks(&self) -> Vec<TaskSpec> {
        let mut tasks: Vec<TaskSpec> = self.served_purposes().map(JobMethod::task_for).collect();
        tasks.dedup_by_key(|task| task.period_ns);
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_of_purposes_that_exist_and_its_tasks_test_all_of_them() {
        for job in JOBS {
            assert_eq!(Job::by_name(job.name), Some(&job));
            for way in job.ways {
                assert_eq!(way.served_purposes().count(), way.purposes.len(), "{} {}", job.name, way.name);
                let tasks = way.tasks();
                assert!(
                    way.served_purposes().all(|p| tasks.iter().any(|task| p.is_tested_by(task.period_ns)))
                );
                assert!(tasks.iter().enumerate().all(|(n, a)| tasks[..n].iter().all(|b| a.name != b.name)));
            }
        }
    }
}
