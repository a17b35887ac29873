//! The steps of `doctor`, in their order.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use jitterlab_analysis::tune::{ApplicableKnob, TuneResult};
use jitterlab_host::check::{check, cpus_to_check};
use jitterlab_host::{Experiment, KeptParts};
use jitterlab_model::{Error, LoadSpec, SystemFacts, TaskSpec};
use jitterlab_motion::doctor::{DoctorFindings, DoctorRequest, DoctorStep, SkipReason, StepOutcome};
use jitterlab_report::doctor::words;

use super::{Args, judging};
use crate::output;

/// An examination in progress.
pub struct Examination<'a> {
    pub(super) args: &'a Args,
    pub(super) asked: &'a DoctorRequest,
    pub(super) loads: Vec<LoadSpec>,
    pub(super) folder: &'a Path,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) tasks: Vec<TaskSpec>,
    /// Parts of `tune`, kept as long as those of the examination.
    pub(super) kept: Option<KeptParts>,
    steps: Vec<StepOutcome>,
}

/// Result of a step, or the reason that it was left out.
pub type StepResult<T> = Result<T, SkipReason>;

impl<'a> Examination<'a> {
    /// An examination before its first step.
    pub fn new(
        args: &'a Args,
        asked: &'a DoctorRequest,
        loads: Vec<LoadSpec>,
        folder: &'a Path,
        interrupted: &'a AtomicBool,
    ) -> Self {
        let tasks = asked.way.tasks();
        Examination { args, asked, loads, folder, interrupted, tasks, kept: None, steps: Vec::new() }
    }

    /// Performs all steps but the page; `None` when it was interrupted.
    pub fn examine(
        &mut self,
        facts: &SystemFacts,
        experiment: &mut Experiment<'_>,
    ) -> Result<Option<DoctorFindings>, Error> {
        self.announce_step(DoctorStep::Check);
        let cpus = cpus_to_check(facts);
        // All tasks share a processor, as those of a control program do, and the others are for the rest.
        self.tasks.iter_mut().for_each(|task| task.cpu = cpus.iter().next());
        let check = check(facts, &cpus);
        words::other_measurements_warning(&check).iter().for_each(|note| output::print_note(note));
        let Some(before) = self.measure_unless_kept(experiment, DoctorStep::Measure, &[])? else {
            return Ok(None);
        };
        let Some(why) = self.recorded_or_kept(experiment, &mut Self::trace_causes)? else { return Ok(None) };
        let why = self.record_outcome(DoctorStep::Why, why);
        self.announce_step(DoctorStep::Judge);
        let mut judged = vec![judging::effects_of_run(self.asked.way, &self.args.axis, &before)];
        let tuned = self.try_settings(why.as_ref());
        if experiment.is_interrupted() {
            return Ok(None);
        }
        let tuned = self.record_outcome(DoctorStep::Tune, tuned);
        let worth =
            |tuned: &TuneResult| tuned.knobs_worth_keeping().map(|found| found.offered.clone()).collect();
        let worth: Vec<ApplicableKnob> = tuned.as_ref().map(worth).unwrap_or_default();
        let mut after = None;
        if worth.is_empty() {
            self.record_skip(DoctorStep::Prove, SkipReason::Nothing);
        } else {
            let after_them = self.measure_unless_kept(experiment, DoctorStep::Prove, &worth)?;
            let Some(run) = after_them else { return Ok(None) };
            judged.push(judging::effects_of_run(self.asked.way, &self.args.axis, &run));
            after = Some(run);
        }
        self.announce_step(DoctorStep::Page);
        let (mut stepper, mut servo) = (Vec::new(), Vec::new());
        for outcome in judged {
            match outcome {
                Ok((steps, turns)) => {
                    stepper.extend(steps);
                    servo.extend(turns);
                }
                Err(failure) => {
                    self.record_skip(DoctorStep::Judge, SkipReason::Failed { error: failure.to_string() });
                }
            }
        }
        let steps = std::mem::take(&mut self.steps);
        Ok(Some(DoctorFindings { check, before, why, stepper, servo, tuned, after, steps }))
    }

    /// Prints the announcement of a step, and notes it as done.
    pub(super) fn announce_step(&mut self, step: DoctorStep) {
        output::print_note(&words::step_announcement(step, self.asked.plan.step_ns(step)));
        self.steps.push(StepOutcome { step, skipped: None });
    }

    /// Prints and notes that a step was left out, or failed.
    fn record_skip(&mut self, step: DoctorStep, why: SkipReason) {
        output::print_note(&words::skipped_step_message(step, &why));
        self.steps.retain(|taken| taken.step != step);
        self.steps.push(StepOutcome { step, skipped: Some(why) });
        self.steps.sort_by_key(|taken| taken.step);
    }

    /// Notes the outcome of a step that may be left out; returns its result, `None` if it has none.
    pub(super) fn record_outcome<T>(&mut self, step: DoctorStep, outcome: StepResult<T>) -> Option<T> {
        match outcome {
            Err(why) => {
                self.record_skip(step, why);
                None
            }
            Ok(result) => {
                if self.steps.iter().all(|taken| taken.step != step) {
                    self.steps.push(StepOutcome { step, skipped: None });
                }
                Some(result)
            }
        }
    }
}
