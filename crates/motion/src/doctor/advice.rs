//! Next steps for the user, the most useful first.

use jitterlab_analysis::Caveat;
use jitterlab_analysis::causes::{CauseRow, TaskWhy};
use jitterlab_analysis::verdict::Untested;
use jitterlab_model::causes::{Cause, CauseClass};
use jitterlab_model::check::{CommandLinePlace, RemedyKind, Status};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{Bench, Fitness, Warning};
use serde::Serialize;

use super::{DoctorResult, DoctorStep, PurposeResult, SkipReason};

/// A step that the user can take on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Advice {
    /// End the other programs that measure, and repeat the command.
    EndOthers,
    /// Measure again: a stop of the whole machine decided.
    WithoutStop,
    /// Make room on the disk, or call it in another directory: not all could be written in this one.
    Room,
    /// Give the control group real-time time, without which even root gets no real-time priority.
    GroupTime,
    /// Repeat the command as root: steps that need root were left out.
    AsRoot,
    /// Repeat it with the right to real-time priorities, which the container's administrator gives.
    ContainerRights,
    /// Repeat the command on the machine itself, not on a virtual one.
    RealMachine,
    /// Repeat the command outside the container, which hides causes and settings.
    OutsideContainer,
    /// Keep the settings that were proven.
    Keep,
    /// A card, or a box on the network, that makes the step pulses.
    StepCard,
    RealTimeKernel,
    /// Remove the main cause of the worst starts.
    Cause {
        task: String,
        cause: Cause,
    },
    /// The usual first steps of the job that are not done here and take no restart, by the checks that name them.
    FirstSteps {
        checks: Vec<String>,
    },
    KernelParameters {
        parameters: String,
        place: CommandLinePlace,
    },
    /// Settings of the firmware (BIOS), by the checks that name them.
    Firmware {
        checks: Vec<String>,
    },
    /// Measure for longer: rare events need time.
    Longer,
    OtherComputer,
    Use,
}

/// Shorter measurements do not show rare events: the field asks for several minutes before it trusts a machine.
const LONG_NS: i64 = 300_000_000_000;

pub(super) fn advice(found: &DoctorResult) -> Vec<Advice> {
    let good = found.fitness == Fitness::Good;
    let facts = &found.findings.check.machine;
    let is_virtual = facts.virtualisation.virtual_machine == Some(true);
    let in_container = facts.virtualisation.container.is_some();
    let mut all = Vec::new();
    let mut add = |wanted: bool, advice: Advice| all.extend(wanted.then_some(advice));
    let refused = found.findings.steps.iter().any(|s| matches!(s.skipped, Some(SkipReason::Refused { .. })));
    let faults = || found.findings.check.faults().into_iter();
    add(!good && faults().any(|check| check.id == "rt-group"), Advice::GroupTime);
    let lacks_rights =
        !found.request.privileged && (found.fitness == Fitness::CannotTell || refused || !good);
    add(lacks_rights && in_container, Advice::ContainerRights);
    add(lacks_rights && !in_container, Advice::AsRoot);
    add(!good && !facts.measuring.is_empty(), Advice::EndOthers);
    let is_cut = |warning: &Warning| matches!(warning, Warning::RecordingEnded { .. });
    let cut = found.findings.before.run.warnings.iter().any(is_cut);
    add(!good && (cut || !found.request.kept), Advice::Room);
    add(!good && found.machine_stop().is_some(), Advice::WithoutStop);
    let short =
        |purpose: &PurposeResult| matches!(purpose.final_verdict().untested, Some(Untested::Length { .. }));
    let too_short = found.purposes.iter().any(short);
    add(found.has_setting_worth_keeping(), Advice::Keep);
    // A proven or likely cause inside this machine can be removed, wherever the machine runs.
    let main = found.main_cause().filter(|_| !good);
    let is_ours = |row: &CauseRow| row.proven + row.likely > 0.5 && row.cause.class != CauseClass::Outside;
    let ours = main.filter(|(_, row)| is_ours(row) && !found.is_remedied(&row.cause));
    if let Some((task, row)) = ours {
        add(true, Advice::Cause { task: task.task.clone(), cause: row.cause.clone() });
    }
    add(too_short, Advice::Longer);
    add(is_virtual && !good, Advice::RealMachine);
    add(in_container && !good, Advice::OutsideContainer);
    // Behind a host, improvements of this kernel would not show; in a container the kernel is the host's.
    let own = !is_virtual && !in_container && !good;
    let lacks = |id: &str| {
        let check = found.findings.check.checks.iter().find(|check| check.id == id);
        check.is_some_and(|check| matches!(check.status, Status::Fail | Status::Warn))
    };
    let real_time = facts.kernel.preemption == Some(Preemption::RealTime);
    add(own && !real_time && lacks("preempt-rt"), Advice::RealTimeKernel);
    let steps = found.undone_first_steps(|kind| matches!(kind, RemedyKind::Command | RemedyKind::Lasting));
    add(!good && !steps.is_empty(), Advice::FirstSteps { checks: steps });
    add(found.needs_step_card(), Advice::StepCard);
    let (parameters, place) =
        (found.findings.check.kernel_parameters.clone(), found.findings.check.kernel_parameters_place);
    add(own && !parameters.is_empty(), Advice::KernelParameters { parameters, place });
    let checks = found.undone_first_steps(|kind| kind == RemedyKind::Machine);
    let outside = main.is_some_and(|(_, row)| row.cause.class == CauseClass::Outside);
    add(own && (outside || !checks.is_empty()), Advice::Firmware { checks });
    let measured_ns = found.findings.before.run.measured_ns().unwrap_or(0);
    // A longer run cannot improve a result that was too late once.
    let open = !matches!(found.fitness, Fitness::CannotTell | Fitness::Unfit);
    add(open && !too_short && measured_ns < LONG_NS, Advice::Longer);
    add(own && found.fitness == Fitness::Unfit && found.request.privileged, Advice::OtherComputer);
    add(good, Advice::Use);
    all
}

impl DoctorResult {
    /// Stop of the whole machine in the measurement that decides.
    #[must_use]
    pub fn machine_stop(&self) -> Option<Caveat> {
        Caveat::machine_stop(&self.findings.after.as_ref().unwrap_or(&self.findings.before).run)
    }

    /// Main cause of the worst starts, proven and likely ones first, with the task that it delayed most.
    pub fn main_cause(&self) -> Option<(&TaskWhy, &CauseRow)> {
        let why = self.findings.why.as_ref().filter(|why| why.run.bench == Bench::Host)?;
        // A control program may intend that one of its tasks runs before another.
        let own = |cause: &Cause| {
            let is = |name: &str| why.run.tasks.iter().any(|task| task.spec.name == name);
            cause.who.as_deref().is_some_and(is)
        };
        // Lost events are a problem of the tracer, and the usual wake-up path delayed no start.
        let is_cause = |row: &&CauseRow| {
            let none =
                matches!(row.cause.class, CauseClass::Lost | CauseClass::TypicalWakeUp | CauseClass::Tracer);
            row.share_of_worst > 0.0 && !none && !own(&row.cause)
        };
        let certain = |row: &CauseRow| row.share_of_worst * (row.proven + row.likely);
        let causes =
            why.why.iter().flat_map(|task| task.causes.iter().filter(is_cause).map(move |row| (task, row)));
        causes.max_by(|(_, a), (_, b)| {
            certain(a).total_cmp(&certain(b)).then(a.share_of_worst.total_cmp(&b.share_of_worst))
        })
    }

    /// True if a setting that is worth keeping removes this cause.
    fn is_remedied(&self, cause: &Cause) -> bool {
        let kept = self.findings.tuned.iter().flat_map(|tuned| tuned.knobs_worth_keeping());
        let mut causes = kept.filter_map(|found| found.remedies.as_ref());
        causes.any(|of| of.own && of.cause.class == cause.class)
    }

    /// Checks of the job's usual first steps that fail here and have a remedy whose kind `is_wanted`.
    fn undone_first_steps(&self, is_wanted: impl Fn(RemedyKind) -> bool) -> Vec<String> {
        let faults = self.findings.check.faults();
        let open = |id: &&&str| {
            let check = faults.iter().find(|check| check.id == **id);
            check.is_some_and(|check| check.remedies.iter().any(|remedy| is_wanted(remedy.kind)))
        };
        self.request.job.first_steps.iter().filter(open).map(|id| (*id).to_owned()).collect()
    }

    /// True if at least one tried setting was proven to be worth keeping.
    pub fn has_setting_worth_keeping(&self) -> bool {
        self.findings.tuned.as_ref().is_some_and(|tuned| tuned.knobs_worth_keeping().next().is_some())
    }

    /// True if step pulses by software are not good, so that a card should make them.
    fn needs_step_card(&self) -> bool {
        let steps = self.purposes.iter().filter(|found| found.final_verdict().purpose.starts_with("step-"));
        let mut tested = steps.filter(|found| found.final_verdict().untested.is_none());
        tested.any(|found| found.final_verdict().fitness != Fitness::Good)
    }

    /// Reason why a step was left out; `None` if it was done.
    pub fn skip_reason(&self, step: DoctorStep) -> Option<&SkipReason> {
        self.findings.steps.iter().find(|taken| taken.step == step)?.skipped.as_ref()
    }
}
