//! Questions, steps and messages of `doctor`.

use std::path::Path;

use jitterlab_model::check::CheckReport;
use jitterlab_model::units::Human;
use jitterlab_motion::doctor::{DoctorRequest, DoctorStep, JOBS, Job, SkipReason, TUNES_FROM_NS};

use crate::check::words as checks;
use crate::dictionary::{entry, serialized_name};
use crate::words::{capitalize, list};
use crate::wrap::wrap;

/// A question to a person.
#[derive(Debug, Clone, Copy)]
pub enum Question {
    /// Job that the computer drives.
    Job,
    /// Way to do this job.
    JobMethod(&'static Job),
    /// Do other programs run at the same time?
    Busy,
    /// Time that the examination may take.
    Time,
}

/// A job, as help and questions name it.
pub fn job_name(name: &str) -> &'static str {
    entry(&format!("job.{name}"), "name").unwrap_or("something that this jitterlab does not know")
}

/// A way of doing a job, as questions and the answer name it.
pub fn method_text(job: &str, way: &str) -> &'static str {
    entry(&format!("job.{job}.way"), way).unwrap_or("a way that this jitterlab does not know")
}

/// A question with its choices; an empty line takes the first one.
pub fn question_text(number: usize, question: Question) -> String {
    let (asked, choices): (&str, Vec<String>) = match question {
        Question::Job => {
            ("What does this computer drive?", JOBS.iter().map(|one| job_name(one.name).to_owned()).collect())
        }
        Question::JobMethod(of) => {
            let choices = of.ways.iter().map(|one| method_text(of.name, one.name).to_owned());
            ("How does it do that?", choices.collect())
        }
        Question::Busy => (
            "Do other programs run on it while the machine works (a browser, a camera, drawing)?",
            vec!["yes, or not sure".into(), "no, the control program alone".into()],
        ),
        Question::Time => (
            "How long may the examination take?",
            vec!["10 minutes".into(), "half an hour".into(), "a night (8 hours)".into()],
        ),
    };
    let choices = choices.iter().enumerate().map(|(n, choice)| format!("  {}  {choice}\n", n + 1));
    format!(
        "\n{number}. {asked}\n{}   Type a number and press Enter; Enter alone is 1.",
        choices.collect::<String>()
    )
}

/// Message after an answer that is none of the choices.
pub fn retry_text(choices: usize) -> String {
    format!("   Please type a number from 1 to {choices}.")
}

/// Message before the first step.
pub fn introduction(asked: &DoctorRequest, loads: &[String]) -> String {
    let purposes: Vec<String> =
        asked.way.served_purposes().map(|purpose| crate::purpose::title(purpose.name).to_owned()).collect();
    let root = match asked.privileged {
        true => "",
        false => " You are not root: what only root may do is left out, and named at the end.",
    };
    let first = match asked.plan.tune_ns {
        Some(_) => String::new(),
        None => format!(
            " In so little time the answer is a first one, and no setting is tried: that takes {}.",
            budget_option_text()
        ),
    };
    let busy = match loads {
        [] => String::new(),
        loads => format!("The computer is kept busy meanwhile ({}). ", loads.join(", ")),
    };
    wrap(&format!(
        "Examining this computer for {}: {}. It takes up to {}. {busy}Switch the machine's drives off, and do not use the computer. Ctrl-C is safe at any time: everything is put back, and the same command \
         goes on from there.{first}{root}",
        job_name(asked.job.name),
        list(&purposes),
        Human(asked.plan.budget_ns as f64),
    ))
    .trim_end()
    .to_owned()
}

/// Warning that other programs measure at the same time; `None` if the check found none.
pub fn other_measurements_warning(report: &CheckReport) -> Option<String> {
    let check = report.faults().into_iter().find(|check| check.id == "other-measurements")?;
    let note = format!(
        "{}. Each delays the other: Ctrl-C, end it, and call this again.",
        capitalize(&checks::finding(check))
    );
    Some(wrap(&note).trim_end().to_owned())
}

/// Text of a step: its `name`, or what it `does`.
fn step_word(step: DoctorStep, part: &str) -> &'static str {
    entry(&format!("doctor-step.{}", serialized_name(&step)), part).unwrap_or_default()
}

pub fn step_name(step: DoctorStep) -> &'static str {
    step_word(step, "name")
}

/// Announcement of a step: its work in a sentence, and its duration.
pub fn step_announcement(of: DoctorStep, length_ns: i64) -> String {
    let does = step_word(of, "does");
    let length = match length_ns {
        0 => "a moment".to_owned(),
        ns => format!("about {}", Human(ns as f64)),
    };
    format!("{} {}, {length}: {does}", step_position(of), step_name(of))
}

/// Position of a step among all.
fn step_position(of: DoctorStep) -> String {
    format!("[{}/{}]", of as usize + 1, DoctorStep::ALL.len())
}

/// Message that a step is left out, with the reason.
pub fn skipped_step_message(of: DoctorStep, why: &SkipReason) -> String {
    format!("{} {} is left out: {}", step_position(of), step_name(of), skip_reason_text(why))
}

/// Option that gives every step time.
fn budget_option_text() -> String {
    format!("--budget {}m or more", TUNES_FROM_NS / 60_000_000_000)
}

/// Reason for leaving a step out, as a clause.
pub(super) fn skip_reason_text(why: &SkipReason) -> String {
    match why {
        SkipReason::NoTime => format!("the time is too short for it: {}", budget_option_text()),
        SkipReason::NotWanted => "it was not wanted".into(),
        SkipReason::Refused { error } => format!("it was refused ({error})"),
        SkipReason::Failed { error } => format!("it failed: {error}"),
        SkipReason::Nothing => "nothing was proven to help".into(),
    }
}

/// Warning that a setting made by a measurement could not be restored.
pub fn not_restored_warning(what: &str) -> String {
    format!("could not be put back: {what}; run jitterlab restore as root")
}

/// Places of the page and of the settings.
pub fn files_message(page: &Path, settings: Option<&Path>) -> String {
    let settings = settings.map_or_else(String::new, |folder| {
        let folder = folder.display();
        format!("\nthe settings that helped, as files: {folder} (to keep them, as root: cp -r {folder}/. /, then restart)")
    });
    format!("the page: {}{settings}", page.display())
}

pub(super) fn request_text(job: &str, method: &str) -> String {
    format!("{} ({})", job_name(job), method_text(job, method))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::doctor::JobMethod;

    #[test]
    fn every_job_and_way_has_its_words() {
        for one in JOBS {
            assert!(!job_name(one.name).contains("does not know"), "{}", one.name);
            for JobMethod { name, .. } in one.ways {
                assert!(!method_text(one.name, name).contains("does not know"), "{} {name}", one.name);
            }
        }
        let has_words =
            |step: &DoctorStep| ["name", "does"].iter().all(|part| !step_word(*step, part).is_empty());
        assert!(DoctorStep::ALL.iter().all(has_words));
    }
}
