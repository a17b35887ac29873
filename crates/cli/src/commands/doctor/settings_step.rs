//! The step of `doctor` that tries settings.

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::tune::TuneResult;
use jitterlab_host::Experiment;
use jitterlab_host::tune::{BudgetTooShort, TuneRequest, Tuning};
use jitterlab_model::{Error, Knob, TaskSpec};
use jitterlab_motion::doctor::{DoctorStep, JobMethod, SkipReason};

use super::examination::{Examination, StepResult};
use crate::status_line::StatusLine;
use crate::{experiment, kept_parts};

impl Examination<'_> {
    /// Tries settings for the most demanding purpose; `Err` says why that is skipped. What was measured is kept until
    /// the examination ends, which goes on from it.
    pub(super) fn try_settings(&mut self, why: Option<&MeasuredRun>) -> StepResult<TuneResult> {
        if self.args.no_tune {
            return Err(SkipReason::NotWanted);
        }
        let budget_ns = self.asked.plan.tune_ns.ok_or(SkipReason::NoTime)?;
        let purpose = self.asked.way.served_purposes().next();
        let task =
            TaskSpec { cpu: self.tasks[0].cpu, ..purpose.map(JobMethod::task_for).unwrap_or_default() };
        let why = why.and_then(|run| run.why.iter().find(|why| why.task == task.name)).cloned();
        let request = TuneRequest {
            task,
            watch: None,
            running: None,
            loads: self.loads.clone(),
            wanted: Knob::ALL.to_vec(),
            named: false,
            why,
            budget_ns,
            purpose,
        };
        self.tune(request).map_err(|error| match error.is(BudgetTooShort) {
            true => SkipReason::NoTime,
            false => SkipReason::Failed { error: error.to_string() },
        })
    }

    fn tune(&mut self, request: TuneRequest) -> Result<TuneResult, Error> {
        let mut tuning = Tuning::prepare(request, self.interrupted)?;
        self.announce_step(DoctorStep::Tune);
        let parts = kept_parts::open("doctor-tune", &(tuning.knobs_to_try(), &self.tasks, self.asked.plan));
        let measure = |experiment: &mut Experiment<'_>| {
            tuning.plan(experiment)?;
            tuning.measure(experiment)
        };
        let (measured, kept) =
            experiment::measure_with_progress(parts, StatusLine::for_people(), self.interrupted, measure);
        self.kept = Some(kept);
        measured
    }
}
