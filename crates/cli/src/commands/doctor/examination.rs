//! The steps of `doctor`, in their order.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use jitterlab_analysis::tune::{ApplicableKnob, TuneResult};
use jitterlab_host::check::{check, cpus_to_check};
use jitterlab_host::{Experiment, KeptParts};
use jitterlab_model::{Error, LoadSpec, SystemFacts, TaskSpec};
use jitterlab_motion::doctor::{DoctorAsked, DoctorFindings, DoctorStep, Skipped, StepTaken};
use jitterlab_report::doctor::words;

use super::{Args, judging};
use crate::output;

/// An examination in progress.
pub struct Examination<'a> {
    pub(super) args: &'a Args,
    pub(super) asked: &'a DoctorAsked,
    pub(super) loads: Vec<LoadSpec>,
    pub(super) folder: &'a Path,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) tasks: Vec<TaskSpec>,
    /// Parts of `tune`, kept as long as those of the examination.
    pub(super) kept: Option<KeptParts>,
    steps: Vec<StepTaken>,
}

/// Result of a step, or the reason that it was left out.
pub type Taken<T> = Result<T, Skipped>;

impl<'a> Examination<'a> {
    /// Before the first step.
    pub fn begin(
        args: &'a Args,
        asked: &'a DoctorAsked,
        loads: Vec<LoadSpec>,
        folder: &'a Path,
        interrupted: &'a AtomicBool,
    ) -> Self {
        let tasks = asked.way.tasks();
        Examination { args, asked, loads, folder, interrupted, tasks, kept: None, steps: Vec::new() }
    }

    /// All steps but the page; `None` when it was interrupted.
    pub fn examine(
        &mut self,
        facts: &SystemFacts,
        experiment: &mut Experiment<'_>,
    ) -> Result<Option<DoctorFindings>, Error> {
        self.begins(DoctorStep::Check);
        let cpus = cpus_to_check(facts);
        // All tasks share a processor, as those of a control program do, and the others are for the rest.
        self.tasks.iter_mut().for_each(|task| task.cpu = cpus.iter().next());
        let check = check(facts, &cpus);
        words::others(&check).iter().for_each(|note| output::print_note(note));
        let Some(before) = self.measurement(experiment, DoctorStep::Measure, &[])? else { return Ok(None) };
        let Some(why) = self.run(experiment, &mut Self::explained)? else { return Ok(None) };
        let why = self.taken(DoctorStep::Why, why);
        self.begins(DoctorStep::Judge);
        let mut judged = vec![judging::judge(self.asked.way, &self.args.axis, &before)];
        let tuned = self.tuned(why.as_ref());
        if experiment.is_interrupted() {
            return Ok(None);
        }
        let tuned = self.taken(DoctorStep::Tune, tuned);
        let worth =
            |tuned: &TuneResult| tuned.knobs_worth_keeping().map(|found| found.offered.clone()).collect();
        let worth: Vec<ApplicableKnob> = tuned.as_ref().map(worth).unwrap_or_default();
        let mut after = None;
        if worth.is_empty() {
            self.skip(DoctorStep::Prove, Skipped::Nothing);
        } else {
            let after_them = self.measurement(experiment, DoctorStep::Prove, &worth)?;
            let Some(run) = after_them else { return Ok(None) };
            judged.push(judging::judge(self.asked.way, &self.args.axis, &run));
            after = Some(run);
        }
        self.begins(DoctorStep::Page);
        let (mut stepper, mut servo) = (Vec::new(), Vec::new());
        for outcome in judged {
            match outcome {
                Ok((steps, turns)) => {
                    stepper.extend(steps);
                    servo.extend(turns);
                }
                Err(failure) => self.skip(DoctorStep::Judge, Skipped::Failed { error: failure.to_string() }),
            }
        }
        let steps = std::mem::take(&mut self.steps);
        Ok(Some(DoctorFindings { check, before, why, stepper, servo, tuned, after, steps }))
    }

    /// Announces a step.
    pub(super) fn begins(&mut self, step: DoctorStep) {
        output::print_note(&words::begins(step, self.asked.plan.step_ns(step)));
        self.steps.push(StepTaken { step, skipped: None });
    }

    /// Notes that a step was left out, or failed.
    fn skip(&mut self, step: DoctorStep, why: Skipped) {
        output::print_note(&words::skipped(step, &why));
        self.steps.retain(|taken| taken.step != step);
        self.steps.push(StepTaken { step, skipped: Some(why) });
        self.steps.sort_by_key(|taken| taken.step);
    }

    /// Notes the outcome of a step that may be left out, and returns its result.
    pub(super) fn taken<T>(&mut self, step: DoctorStep, outcome: Taken<T>) -> Option<T> {
        match outcome {
            Err(why) => {
                self.skip(step, why);
                None
            }
            Ok(result) => {
                if self.steps.iter().all(|taken| taken.step != step) {
                    self.steps.push(StepTaken { step, skipped: None });
                }
                Some(result)
            }
        }
    }
}
