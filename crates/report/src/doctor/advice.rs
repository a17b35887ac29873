//! Advice of `doctor` as sentences.

use jitterlab_model::check::RemedyKind;
use jitterlab_model::facts::Preemption;
use jitterlab_motion::doctor::{Advice, DoctorResult};

use crate::check::{how_to_set_parameters, words as checks};
use crate::tune::kept_files;
use crate::why::{cause_text, remedy_clause};
use crate::words::list;

/// Command of this examination, with `more` behind it.
fn repeat_command(result: &DoctorResult, more: &str) -> String {
    format!("jitterlab doctor {} --by {}{more}", result.request.job.name, result.request.way.name)
}

/// A command as root, as it is called here.
pub(super) fn root_command(result: &DoctorResult, command: &str) -> String {
    match (result.request.privileged, result.request.sudo) {
        (true, _) => command.to_owned(),
        // A shell opens the file before sudo begins.
        (false, true) if command.contains('>') => format!("sudo sh -c \"{command}\""),
        (false, true) => format!("sudo {command}"),
        (false, false) => format!("su -c \"{command}\""),
    }
}

/// Title of a check, in the middle of a sentence.
pub(super) fn check_title(result: &DoctorResult, id: &str) -> String {
    let check = result.findings.check.checks.iter().find(|check| check.id == id);
    check.map_or_else(String::new, |check| checks::title(check).to_lowercase())
}

/// The easiest remedy of a check that can be done here.
fn easiest_remedy(result: &DoctorResult, id: &str) -> String {
    let check = result.findings.check.checks.iter().find(|check| check.id == id);
    let easiest = check.and_then(|check| {
        let of = |kind: RemedyKind| check.remedies.iter().find(move |remedy| remedy.kind == kind);
        let order = [RemedyKind::Command, RemedyKind::Lasting, RemedyKind::Host];
        Some((check, order.into_iter().find_map(of)?))
    });
    easiest.map_or_else(
        || "jitterlab check --details".into(),
        |(check, remedy)| checks::remedy_text(check, remedy),
    )
}

/// A piece of advice, as a sentence without its full stop.
pub(super) fn advice_sentence(result: &DoctorResult, advice: &Advice) -> String {
    match advice {
        Advice::EndOthers => format!(
            "End the other measurement ({}), since each delays the other: {}; then {}",
            list(&result.findings.check.machine.measuring.iter().map(|of| of.name.clone()).collect::<Vec<_>>()),
            root_command(result, &easiest_remedy(result, "other-measurements")),
            repeat_command(result, "")
        ),
        Advice::GroupTime => format!(
            "Give this control group real-time time, without which even root gets no real-time priority: {}; then {}",
            root_command(result, &easiest_remedy(result, "rt-group")),
            repeat_command(result, "")
        ),
        Advice::WithoutStop => format!(
            "Measure again, since one stop of the whole machine decided this, and find out what stops it if it comes again: {}",
            repeat_command(result, "")
        ),
        Advice::Room => format!(
            "Make room on this disk, or call it in a directory that you may write to, since not all that was measured could be kept here: {}",
            repeat_command(result, "")
        ),
        Advice::AsRoot => format!("Let it do what only root may: {}", root_command(result, &repeat_command(result, ""))),
        Advice::ContainerRights => format!(
            "Start the container with the right to real-time priorities ({}), then {}",
            easiest_remedy(result, "rtprio"),
            repeat_command(result, "")
        ),
        Advice::RealMachine => format!(
            "Measure on the computer that will drive the machine, since this one is virtual and its host takes part in every \
             figure: there, {}",
            repeat_command(result, "")
        ),
        Advice::OutsideContainer => format!(
            "Do it outside the container, which hides causes and settings: on the machine itself, {}",
            root_command(result, &repeat_command(result, ""))
        ),
        Advice::Keep => {
            let tuned = result.findings.tuned.as_ref();
            let files = tuned.is_some_and(|tuned| !kept_files::settings_files(tuned).is_empty());
            let copy = files.then(|| "look at the files beside the page, copy them below /, and restart".to_owned());
            let by_hand = tuned.map(kept_files::manual_steps).unwrap_or_default();
            let how: Vec<String> = copy.into_iter().chain(by_hand).collect();
            format!("Keep the settings that helped: {}", how.join("; "))
        }
        Advice::StepCard => {
            "Let hardware make the step pulses, such as a Mesa card or box on the network: then the computer has to be in time 1000 times a second only"
                .into()
        }
        Advice::RealTimeKernel => format!("Run a real-time kernel: {}, then restart", easiest_remedy(result, "preempt-rt")),
        Advice::Cause { task, cause: of } => {
            let run = result.findings.why.as_ref().map_or(&result.findings.before.run, |why| &why.run);
            format!("What made {task} late most was {}: {}", cause_text(of), remedy_clause(of, run))
        }
        Advice::FirstSteps { checks } => {
            let step = |id: &String| format!("{} ({})", check_title(result, id), easiest_remedy(result, id));
            let steps: Vec<String> = checks.iter().map(step).collect();
            format!("Do the usual first steps that are not done here, as root: {}", steps.join("; "))
        }
        Advice::KernelParameters { parameters, place } => {
            format!(
                "Add to the kernel command line: {parameters} ({}); then jitterlab doctor --continue, which \
                 measures again",
                how_to_set_parameters(*place)
            )
        }
        Advice::Firmware { checks: ids } => {
            let titles: Vec<String> = ids.iter().map(|id| check_title(result, id)).collect();
            let which = if titles.is_empty() {
                "power saving, turbo, hyper-threading and USB legacy support off".into()
            } else {
                list(&titles)
            };
            format!("Look into the BIOS: {which} (jitterlab check --details says how)")
        }
        Advice::Longer => {
            format!("Measure for a night, since rare events need time: {}", repeat_command(result, " --budget 8h"))
        }
        Advice::OtherComputer => {
            "If nothing of that helps, take another computer: an office PC of its own with an Intel processor, rather than a laptop"
                .into()
        }
        Advice::Use => "Use it, with the settings it was measured with".into(),
    }
}

/// The kind of kernel, in a clause.
pub(super) fn kernel_clause(result: &DoctorResult) -> &'static str {
    match result.findings.check.machine.kernel.preemption {
        Some(Preemption::RealTime) => "a real-time kernel",
        Some(_) => "an ordinary kernel, not one for real time",
        None => "a kernel without a PREEMPT_RT flag",
    }
}
