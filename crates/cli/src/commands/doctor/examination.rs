//! The steps of `doctor`, in their order.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_analysis::tune::{Offered, TuneResult};
use jitterlab_host::check::{check, cpus_to_check};
use jitterlab_model::{LoadSpec, SystemFacts, TaskSpec};
use jitterlab_motion::doctor::{DoctorAsked, DoctorFindings, DoctorStep, Skipped, StepTaken};
use jitterlab_report::doctor::words;
use jitterlab_trace::Parts;

use super::{Args, judging};
use crate::exit::Failure;
use crate::{kept_parts, output};

/// An examination that goes on.
pub struct Session<'a> {
    pub(super) args: &'a Args,
    pub(super) asked: &'a DoctorAsked,
    pub(super) loads: Vec<LoadSpec>,
    pub(super) folder: &'a Path,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) tasks: Vec<TaskSpec>,
    steps: Vec<StepTaken>,
}

impl<'a> Session<'a> {
    /// Before the first step.
    pub fn begin(
        args: &'a Args,
        asked: &'a DoctorAsked,
        loads: Vec<LoadSpec>,
        folder: &'a Path,
        interrupted: &'a AtomicBool,
    ) -> Self {
        Session { args, asked, loads, folder, interrupted, tasks: asked.way.tasks(), steps: Vec::new() }
    }

    /// All steps but the page; `None` when it was interrupted. What `parts` hold is not done again.
    pub fn examine(
        &mut self,
        facts: &SystemFacts,
        parts: &mut Parts,
    ) -> Result<Option<DoctorFindings>, Failure> {
        self.begins(DoctorStep::Check);
        let cpus = cpus_to_check(facts);
        // All tasks share a processor, as those of a control program do, and the others are for the rest.
        self.tasks.iter_mut().for_each(|task| task.cpu = cpus.iter().next());
        let check = check(facts, &cpus);
        let Some(before) = self.measurement(parts, DoctorStep::Measure, &[])? else { return Ok(None) };
        let Some(why) = self.kept(parts, Session::explained)? else { return Ok(None) };
        let why = self.taken(DoctorStep::Why, why);
        self.begins(DoctorStep::Judge);
        let mut judged = vec![judging::judge(self.asked.way, &self.args.axis, &before)];
        let Some(tuned) = self.kept(parts, |session| session.tuned(why.as_ref()))? else { return Ok(None) };
        let tuned = self.taken(DoctorStep::Tune, tuned);
        let worth = |tuned: &TuneResult| tuned.worth().map(|found| found.offered.clone()).collect();
        let worth: Vec<Offered> = tuned.as_ref().map(worth).unwrap_or_default();
        let mut after = None;
        if worth.is_empty() {
            self.skip(DoctorStep::Prove, Skipped::Nothing);
        } else {
            let Some(run) = self.measurement(parts, DoctorStep::Prove, &worth)? else { return Ok(None) };
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

    /// Says that a step begins.
    pub(super) fn begins(&mut self, step: DoctorStep) {
        output::note(&words::begins(step, self.asked.plan.step_ns(step)));
        self.steps.push(StepTaken { step, skipped: None });
    }

    /// Notes that a step was left out, or came to nothing.
    fn skip(&mut self, step: DoctorStep, why: Skipped) {
        output::note(&words::skipped(step, &why));
        self.steps.retain(|taken| taken.step != step);
        self.steps.push(StepTaken { step, skipped: Some(why) });
        self.steps.sort_by_key(|taken| taken.step);
    }

    /// What a step that may be left out brought.
    pub(super) fn taken<T>(
        &mut self,
        step: DoctorStep,
        (outcome, why): (Option<T>, Option<Skipped>),
    ) -> Option<T> {
        match why {
            Some(why) => self.skip(step, why),
            None if self.steps.iter().all(|taken| taken.step != step) => {
                self.steps.push(StepTaken { step, skipped: None });
            }
            None => {}
        }
        outcome
    }

    /// What an earlier call had found, or else finds it and keeps it; `None` when it was interrupted.
    pub(super) fn kept<T: serde::Serialize + serde::de::DeserializeOwned>(
        &mut self,
        parts: &mut Parts,
        find: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        if let Some((found, _)) = parts.next_kept() {
            return Ok(Some(found));
        }
        let found = find(self);
        if self.interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let found = found?;
        kept_parts::keep(parts, &found);
        Ok(Some(found))
    }
}
