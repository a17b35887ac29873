//! The steps of `doctor` that measure.

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::tune::ApplicableKnob;
use jitterlab_host::tune::{Recording, record_with_settings};
use jitterlab_host::{self as host, Experiment, Measurement, Request, default_file_name, default_keep};
use jitterlab_model::{Error, RunInfo};
use jitterlab_motion::doctor::{DoctorStep, SkipReason};
use jitterlab_report::doctor::words;
use jitterlab_trace::RunWriter;

use super::examination::{Examination, StepResult};
use super::files;
use crate::output;
use crate::record_args::Progress;

impl Examination<'_> {
    /// Measures with these settings next to the load, or reads the kept run; `None` when interrupted or skipped.
    pub(super) fn measure_unless_kept(
        &mut self,
        experiment: &mut Experiment<'_>,
        step: DoctorStep,
        settings: &[ApplicableKnob],
    ) -> Result<Option<MeasuredRun>, Error> {
        let run = self.recorded_or_kept(experiment, &mut |examination| {
            examination.measure_with_settings(step, settings).map(Ok)
        })?;
        Ok(run.and_then(|run| self.record_outcome(step, run)))
    }

    /// Returns the run that an earlier call kept for a step, or records one now; `None` when interrupted. It is
    /// recorded again if the kept file is gone.
    pub(super) fn recorded_or_kept(
        &mut self,
        experiment: &mut Experiment<'_>,
        record: &mut dyn FnMut(&mut Self) -> Result<StepResult<MeasuredRun>, Error>,
    ) -> Result<Option<StepResult<MeasuredRun>>, Error> {
        let mut recorded = None;
        let kept = experiment.next_part(|| {
            let run = record(self)?;
            let file = run.as_ref().ok().and_then(|run| run.file.clone());
            recorded = Some(run);
            Ok::<_, Error>(file)
        })?;
        let recorded = match (recorded, kept.flatten()) {
            (Some(run), _) => run,
            (None, Some(file)) if file.exists() => return files::read_run(&file).map(|run| Some(Ok(run))),
            (None, _) => record(self)?,
        };
        if !experiment.is_interrupted() {
            return Ok(Some(recorded));
        }
        // It is recorded again from the start when the same command continues.
        recorded.ok().and_then(|run| run.file).map_or(Ok(()), std::fs::remove_file)?;
        Ok(None)
    }

    fn request(&self, duration_ns: i64) -> Request {
        Request {
            duration_ns: Some(duration_ns),
            keep: default_keep(&self.tasks, Some(duration_ns)),
            loads: self.loads.clone(),
            ..Request::for_tasks(self.tasks.clone())
        }
    }

    /// Creates the run file of a step in the examination's folder; `None` if that fails.
    fn create_writer(&self, what: &str, info: &RunInfo) -> Option<RunWriter> {
        let name = default_file_name(&info.started, &format!("-{what}.parquet"));
        RunWriter::create_numbered(self.folder.join(name), info).ok()
    }

    fn measure_with_settings(
        &mut self,
        step: DoctorStep,
        settings: &[ApplicableKnob],
    ) -> Result<MeasuredRun, Error> {
        let interrupted = self.interrupted;
        self.announce_step(step);
        let what = if step == DoctorStep::Prove { "after" } else { "before" };
        let request = self.request(self.asked.plan.measure_ns);
        let mut writer = |info: &RunInfo| self.create_writer(what, info);
        let mut progress = Progress::for_people(self.args.show, self.asked.plan.measure_ns);
        let recording =
            Recording { writer: &mut writer, watch: &mut |now| progress.update(now), interrupted };
        let (run, problems) = record_with_settings(settings, request, recording)?;
        problems.iter().for_each(|what| output::print_note(&words::not_restored_warning(what)));
        Ok(run)
    }

    /// Measures with the kernel's events recorded, if there is time and that is permitted.
    pub(super) fn trace_causes(&mut self) -> Result<StepResult<MeasuredRun>, Error> {
        let Some(why_ns) = self.asked.plan.why_ns else { return Ok(Err(SkipReason::NoTime)) };
        let measurement = Measurement::prepare(Request { why: true, ..self.request(why_ns) })?;
        if !measurement.records_events() {
            let refusal = measurement.info().refused.last();
            let error = refusal.map_or_else(String::new, |refusal| refusal.why.clone());
            return Ok(Err(SkipReason::Refused { error }));
        }
        self.announce_step(DoctorStep::Why);
        let writer = self.create_writer("why", measurement.info());
        let mut progress = Progress::for_people(self.args.show, why_ns);
        let recorded = host::record(measurement, writer, &mut |now| progress.update(now), self.interrupted)?;
        // The causes are known, whatever happened to their file.
        if let Err(error) = recorded.closed {
            output::print_warning(&error.to_string());
        }
        Ok(Ok(recorded.run))
    }
}
