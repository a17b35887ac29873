//! The steps of `doctor` that measure.

use std::sync::atomic::Ordering;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::tune::{Offered, TuneResult};
use jitterlab_host::tune::{Recording, TooShort, TuneRequest, Tuning, record_with};
use jitterlab_host::{self as host, Experiment, Measurement, Request, default_name, keep_by_default};
use jitterlab_model::{Error, Knob, RunInfo, TaskSpec};
use jitterlab_motion::doctor::{DoctorStep, Skipped, Way};
use jitterlab_report::doctor::words;
use jitterlab_trace::RunWriter;

use super::examination::Examination;
use crate::record_args::Progress;
use crate::status_line::StatusLine;
use crate::{experiment, kept_parts, output};

impl Examination<'_> {
    /// Measures next to the load with these settings on, unless an earlier call did and its run file is still there.
    pub(super) fn measurement(
        &mut self,
        experiment: &mut Experiment<'_>,
        step: DoctorStep,
        settings: &[Offered],
    ) -> Result<Option<MeasuredRun>, Error> {
        let run = experiment.part(|| self.measured(step, settings))?;
        let gone = |run: &MeasuredRun| run.file.as_ref().is_some_and(|file| !file.exists());
        let run = match run {
            Some(run) if gone(&run) => Some(self.measured(step, settings)?),
            run => run,
        };
        let run = run.filter(|_| !experiment.is_interrupted());
        Ok(self.taken(step, (run, None)))
    }

    fn request(&self, duration_ns: i64) -> Request {
        Request {
            duration_ns: Some(duration_ns),
            keep: keep_by_default(&self.tasks, Some(duration_ns)),
            loads: self.loads.clone(),
            ..Request::for_tasks(self.tasks.clone())
        }
    }

    fn measured(&mut self, step: DoctorStep, settings: &[Offered]) -> Result<MeasuredRun, Error> {
        let interrupted = self.interrupted;
        self.begins(step);
        let what = if step == DoctorStep::Prove { "after" } else { "before" };
        let request = self.request(self.asked.plan.measure_ns);
        let mut writer = |info: &RunInfo| {
            let name = default_name(&info.started, &format!("-{what}.parquet"));
            RunWriter::create_numbered(self.folder.join(name), info).ok()
        };
        let mut progress = Progress::for_people(self.args.show, self.asked.plan.measure_ns);
        let recording = Recording { writer: &mut writer, watch: &mut |now| progress.look(now), interrupted };
        let (run, problems) = record_with(settings, request, recording)?;
        problems.iter().for_each(|what| output::note(&words::not_restored(what)));
        if let (true, Some(file)) = (interrupted.load(Ordering::Relaxed), &run.file) {
            // It is measured again from the start when the same command continues.
            std::fs::remove_file(file)?;
        }
        Ok(run)
    }

    /// Records the kernel's events, if that is permitted.
    pub(super) fn explained(&mut self) -> Result<(Option<MeasuredRun>, Option<Skipped>), Error> {
        let Some(why_ns) = self.asked.plan.why_ns else { return Ok((None, Some(Skipped::NoTime))) };
        let measurement = Measurement::prepare(Request { why: true, ..self.request(why_ns) })?;
        if !measurement.explains() {
            let refusal = measurement.info().refused.last();
            let error = refusal.map_or_else(String::new, |refusal| refusal.why.clone());
            return Ok((None, Some(Skipped::Refused { error })));
        }
        self.begins(DoctorStep::Why);
        let mut progress = Progress::for_people(self.args.show, why_ns);
        let run =
            host::record(measurement, None, &mut |now| progress.look(now), self.interrupted)?.whole()?;
        Ok((Some(run), None))
    }

    /// Tries settings for the most demanding purpose, if there is time.
    pub(super) fn tuned(
        &mut self,
        why: Option<&MeasuredRun>,
    ) -> Result<(Option<TuneResult>, Option<Skipped>), Error> {
        let nothing = |why| Ok((None, Some(why)));
        if self.args.no_tune {
            return nothing(Skipped::NotWanted);
        }
        let Some(budget_ns) = self.asked.plan.tune_ns else { return nothing(Skipped::NoTime) };
        let purpose = self.asked.way.served().next();
        let task = TaskSpec { cpu: self.tasks[0].cpu, ..purpose.map(Way::task).unwrap_or_default() };
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
        match self.tune(request) {
            Ok(result) => Ok((Some(result), None)),
            Err(error) if error.is(TooShort) => nothing(Skipped::NoTime),
            Err(error) => nothing(Skipped::Failed { error: error.to_string() }),
        }
    }

    fn tune(&mut self, request: TuneRequest) -> Result<TuneResult, Error> {
        let mut tuning = Tuning::prepare(request, self.interrupted)?;
        self.begins(DoctorStep::Tune);
        let parts = kept_parts::open("doctor-tune", &(tuning.offered(), &self.tasks, self.asked.plan));
        let measure = |experiment: &mut Experiment<'_>| {
            tuning.plan(experiment)?;
            tuning.measure(experiment)
        };
        let (measured, kept) =
            experiment::measured(parts, StatusLine::for_people(), self.interrupted, measure);
        // The examination as a whole prints that it will continue from there.
        kept_parts::close(measured.is_ok(), |complete| kept.close(complete).map(|_| 0));
        measured
    }
}
