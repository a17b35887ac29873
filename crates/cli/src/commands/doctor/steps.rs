//! The steps of `doctor` that measure.

use std::sync::atomic::Ordering;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::tune::{Offered, TuneResult};
use jitterlab_host::tune::{Recording, TuneError, TuneRequest, Tuning, record_with};
use jitterlab_host::{self as host, Measurement, Request, default_name, keep_by_default};
use jitterlab_model::{Error, Knob, RunInfo, TaskSpec};
use jitterlab_motion::doctor::{DoctorStep, Skipped, Way};
use jitterlab_report::doctor::words;
use jitterlab_trace::{Parts, RunWriter};

use super::progress::Progress;
use super::session::Session;
use crate::countdown::Countdown;
use crate::{kept_parts, output};

impl Session<'_> {
    /// Measures beside the load with these settings on, unless an earlier call did and its run file is still there.
    pub(super) fn measurement(
        &mut self,
        parts: &mut Parts,
        step: DoctorStep,
        settings: &[Offered],
    ) -> Result<Option<MeasuredRun>, Error> {
        let run = self.kept(parts, |session| session.measured(step, settings))?;
        let gone = |run: &MeasuredRun| run.file.as_ref().is_some_and(|file| !file.exists());
        let run = match run {
            Some(run) if gone(&run) => Some(self.measured(step, settings)?),
            run => run,
        };
        let run = run.filter(|_| !self.interrupted.load(Ordering::Relaxed));
        Ok(self.taken(step, (run, None)))
    }

    fn request(&self, duration_ns: i64) -> Request {
        Request {
            duration_ns: Some(duration_ns),
            keep: keep_by_default(&self.tasks, Some(duration_ns)),
            loads: self.loads.clone(),
            ..Request::of(self.tasks.clone())
        }
    }

    fn measured(&mut self, step: DoctorStep, settings: &[Offered]) -> Result<MeasuredRun, Error> {
        self.begins(step);
        let what = if step == DoctorStep::Prove { "after" } else { "before" };
        let request = self.request(self.asked.plan.measure_ns);
        let mut writer = |info: &RunInfo| {
            let name = default_name(&info.started, &format!("-{what}.parquet"));
            RunWriter::create_numbered(self.folder.join(name), info).ok()
        };
        let mut progress = Progress::begin(self.asked.plan.measure_ns);
        let recording =
            Recording { writer: &mut writer, watch: &mut |_| progress.look(), interrupted: self.interrupted };
        let (run, problems) = record_with(settings, request, recording)?;
        problems.iter().for_each(|what| output::note(&words::not_restored(what)));
        if let (true, Some(file)) = (self.interrupted.load(Ordering::Relaxed), &run.file) {
            // It is measured again from its begin when the same command goes on.
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
        let mut progress = Progress::begin(why_ns);
        let run = host::record(measurement, None, &mut |_| progress.look(), self.interrupted)?;
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
        let wanted = Knob::ALL.to_vec();
        let loads = self.loads.clone();
        let request =
            TuneRequest { task, watch: None, running: None, loads, wanted, why, budget_ns, purpose };
        let failed = |error: TuneError| match error {
            TuneError::Budget { .. } => Skipped::NoTime,
            error => Skipped::Failed { error: error.to_string() },
        };
        let mut tuning = match Tuning::prepare(request, self.interrupted) {
            Ok(tuning) => tuning,
            Err(error) => return nothing(failed(error)),
        };
        self.begins(DoctorStep::Tune);
        let mut parts = kept_parts::open("doctor-tune", &(tuning.offered(), &self.tasks, self.asked.plan));
        if let Err(error) = tuning.plan(&mut parts, self.interrupted) {
            return nothing(failed(error));
        }
        let mut progress = Countdown::for_people(budget_ns);
        let measured = tuning.measure(&mut parts, &mut |told| progress.tell(told), self.interrupted);
        drop(progress);
        // That it goes on from there is said of the whole examination.
        kept_parts::close(measured.is_ok(), |complete| parts.close(complete).map(|_| 0));
        match measured {
            Ok(result) => Ok((Some(result), None)),
            Err(error) => nothing(failed(error)),
        }
    }
}
