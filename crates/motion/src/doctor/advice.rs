//! What to do next, the most useful first.

use jitterlab_analysis::causes::{CauseRow, TaskWhy};
use jitterlab_analysis::verdict::Untested;
use jitterlab_model::causes::{Cause, CauseClass};
use jitterlab_model::check::{CommandLinePlace, RemedyKind, Status};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{Bench, Fitness};
use serde::Serialize;

use super::{DoctorResult, DoctorStep, PurposeFound, Skipped};

/// Something to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Advice {
    /// The same again as root: what an ordinary user may not do was left out.
    AsRoot,
    /// The same on the machine itself.
    RealMachine,
    /// Keep the settings that were proven.
    Keep,
    /// A card, or a box on the network, that makes the step pulses.
    StepCard,
    /// A kernel with PREEMPT_RT.
    RealTimeKernel,
    /// What made it late most, and what to do about that.
    Cause {
        /// The task that was late.
        task: String,
        /// What it is.
        cause: Cause,
    },
    /// Words for the kernel's command line.
    KernelParameters {
        /// The words.
        parameters: String,
        /// Where they go.
        place: CommandLinePlace,
    },
    /// Settings of the firmware (BIOS), by the checks that name them.
    Firmware {
        /// The checks' names.
        checks: Vec<String>,
    },
    /// Measure for longer: rare events need time.
    Longer,
    /// Another computer.
    OtherComputer,
    /// Use it.
    Use,
}

/// Shorter measurements do not show rare events: the field asks for several minutes before it trusts a machine.
const LONG_NS: i64 = 300_000_000_000;

/// What to do about what was found.
pub(super) fn advice(found: &DoctorResult) -> Vec<Advice> {
    let good = found.fitness == Fitness::Good;
    let facts = &found.found.check.machine;
    let is_virtual = facts.virtualisation.virtual_machine == Some(true);
    let mut all = Vec::new();
    let mut add = |wanted: bool, advice: Advice| all.extend(wanted.then_some(advice));
    let refused = found.found.steps.iter().any(|s| matches!(s.skipped, Some(Skipped::Refused { .. })));
    add(!found.privileged && (found.fitness == Fitness::CannotTell || refused || !good), Advice::AsRoot);
    let short = |purpose: &PurposeFound| matches!(purpose.last().untested, Some(Untested::Length { .. }));
    let too_short = found.purposes.iter().any(short);
    add(too_short, Advice::Longer);
    add(found.worth_keeping(), Advice::Keep);
    add(is_virtual && !good, Advice::RealMachine);
    add(found.wants_step_card(), Advice::StepCard);
    // Behind a host, what this kernel would do better is hidden.
    let own = !is_virtual && !good;
    let lacks = |id: &str| {
        let check = found.found.check.checks.iter().find(|check| check.id == id);
        check.is_some_and(|check| matches!(check.status, Status::Fail | Status::Warn))
    };
    let real_time = facts.kernel.preemption == Some(Preemption::RealTime);
    add(own && !real_time && lacks("preempt-rt"), Advice::RealTimeKernel);
    if let Some((task, cause)) = found.main_cause().filter(|_| !good) {
        add(true, Advice::Cause { task: task.task.clone(), cause: cause.clone() });
    }
    let (parameters, place) =
        (found.found.check.kernel_parameters.clone(), found.found.check.kernel_parameters_place);
    add(own && !parameters.is_empty(), Advice::KernelParameters { parameters, place });
    let faults = found.found.check.faults();
    let by_hand = |check: &&&jitterlab_model::check::Check| {
        check.remedies.iter().any(|remedy| remedy.kind == RemedyKind::Machine)
    };
    let checks: Vec<String> = faults.iter().filter(by_hand).map(|check| check.id.clone()).collect();
    let outside = found.main_cause().is_some_and(|(_, cause)| cause.class == CauseClass::Outside);
    add(own && (outside || !checks.is_empty()), Advice::Firmware { checks });
    let measured_ns = found.found.before.run.measured_ns().unwrap_or(0);
    // What was too late once stays so.
    let open = !matches!(found.fitness, Fitness::CannotTell | Fitness::Unfit);
    add(open && !too_short && measured_ns < LONG_NS, Advice::Longer);
    add(own && found.fitness == Fitness::Unfit && found.privileged, Advice::OtherComputer);
    add(good, Advice::Use);
    all
}

impl DoctorResult {
    /// What delayed the latest starts most, of the task that it delayed most.
    #[must_use]
    pub fn main_cause(&self) -> Option<(&TaskWhy, &Cause)> {
        let why = self.found.why.as_ref().filter(|why| why.run.bench == Bench::Host)?;
        // That one task of a control program comes before the other is meant so.
        let own = |cause: &Cause| {
            let is = |name: &str| why.run.tasks.iter().any(|task| task.spec.name == name);
            cause.who.as_deref().is_some_and(is)
        };
        // Lost events are the tracer's own trouble, and held up nobody.
        let known = |row: &&CauseRow| row.latest_share > 0.0 && row.cause.class != CauseClass::Lost;
        let causes = why.why.iter().filter_map(|task| Some((task, task.causes.iter().find(known)?)));
        let causes = causes.filter(|(_, row)| !own(&row.cause));
        let worst = causes.max_by_key(|(_, row)| row.worst_ns)?;
        Some((worst.0, &worst.1.cause))
    }

    /// Whether settings were proven that are worth keeping.
    #[must_use]
    pub fn worth_keeping(&self) -> bool {
        self.found.tuned.as_ref().is_some_and(|tuned| tuned.worth().next().is_some())
    }

    /// Whether step pulses by software are not good, and a card would take them over.
    fn wants_step_card(&self) -> bool {
        let steps = self.purposes.iter().filter(|found| found.last().purpose.starts_with("step-"));
        let mut tested = steps.filter(|found| found.last().untested.is_none());
        tested.any(|found| found.last().fitness != Fitness::Good)
    }

    /// What became of a step; `None` where it was done.
    #[must_use]
    pub fn skipped(&self, step: DoctorStep) -> Option<&Skipped> {
        self.found.steps.iter().find(|taken| taken.step == step)?.skipped.as_ref()
    }
}
