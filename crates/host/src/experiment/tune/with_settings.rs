//! A measurement with settings on, which are put back after it.

use std::io;
use std::sync::atomic::AtomicBool;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::tune::{ApplicableKnob, Step};
use jitterlab_model::{CpuSet, Error, Knob, RunInfo, SystemFacts};
use jitterlab_trace::RunWriter;

use super::running::RunningThread;
use crate::changes::cpus_isolated_by_others;
use crate::dma_latency::DmaLatency;
use crate::facts::{self, Root};
use crate::isolate::Alteration;
use crate::knob;
use crate::measure::{Measurement, Request};
use crate::prepare;
use crate::record::{RunInProgress, record};

/// The machine, and the CPUs that settings are for.
pub(super) struct TunedMachine {
    pub root: Root,
    pub facts: SystemFacts,
    pub cpus: CpuSet,
    /// Processes that keep their places, like our own.
    pub spared: Vec<u32>,
}

/// A measurement that is shown and recorded.
pub struct Recording<'a> {
    /// Makes the run file of the measurement; `None` for none.
    pub writer: &'a mut dyn FnMut(&RunInfo) -> Option<RunWriter>,
    /// Looks several times a second.
    pub watch: &'a mut dyn FnMut(&RunInProgress<'_>),
    /// Ends the recording early when set.
    pub interrupted: &'a AtomicBool,
}

/// Measures with settings on and puts them back; returns the run, and the failures to put back. Settings of a
/// task go to the first task.
pub fn record_with_settings(
    settings: &[ApplicableKnob],
    request: Request,
    recording: Recording<'_>,
) -> Result<(MeasuredRun, Vec<String>), Error> {
    let root = Root::system();
    let facts = facts::read(&root);
    let cpus = prepare::prepare_tasks(&facts, request.tasks.clone(), None, &cpus_isolated_by_others(&root))?
        .measured;
    let settings: Vec<&ApplicableKnob> = settings.iter().collect();
    TunedMachine { root, facts, cpus, spared: Vec::new() }.record_with_settings(&settings, request, recording)
}

impl TunedMachine {
    pub(super) fn record_with_settings(
        &self,
        settings: &[&ApplicableKnob],
        mut request: Request,
        recording: Recording<'_>,
    ) -> Result<(MeasuredRun, Vec<String>), Error> {
        if let Some(task) = request.tasks.first_mut() {
            *task =
                settings.iter().try_fold(task.clone(), |task, knob| knob::apply_task_settings(knob, task))?;
        }
        request.dma_latency = dma_latency_setting(settings).unwrap_or(request.dma_latency);
        self.measure_with_settings(settings, || {
            let measurement = Measurement::prepare(request)?;
            let Recording { writer, watch, interrupted } = recording;
            let writer = writer(measurement.info());
            record(measurement, writer, watch, interrupted)?.require_complete()
        })
    }

    /// Watches a thread with settings on and puts them back; returns the run, and the failures to put back.
    pub(super) fn watch_with_settings(
        &self,
        settings: &[&ApplicableKnob],
        running: &RunningThread,
        duration_ns: i64,
        interrupted: &AtomicBool,
    ) -> Result<(MeasuredRun, Vec<String>), Error> {
        self.measure_with_settings(settings, || {
            let latency = dma_latency_setting(settings).unwrap_or_default();
            let _held = latency.hold().map_err(|error| knob_refused_error(Knob::IdleLatency, &error))?;
            running.measure(duration_ns, interrupted)
        })
    }

    /// Sets a knob and puts it back; the error gives the reason why it cannot be set.
    pub(super) fn try_knob(&self, offered: &ApplicableKnob) -> Result<(), String> {
        if !knob::changes_machine(offered) {
            return Ok(());
        }
        let mut machine = self.begin_changes().map_err(|error| error.to_string())?;
        let outcome = knob::apply_to_machine(offered, &mut machine).map_err(|error| error.to_string());
        machine.end().into_iter().next().map_or(outcome, Err)
    }

    fn begin_changes(&self) -> Result<Alteration, Error> {
        Alteration::begin(&self.root, &self.cpus, &self.facts.usable_cpus(), &self.spared)
    }

    /// Measures with settings on and puts them back; returns the run, and the failures to put back.
    fn measure_with_settings(
        &self,
        settings: &[&ApplicableKnob],
        measure: impl FnOnce() -> Result<MeasuredRun, Error>,
    ) -> Result<(MeasuredRun, Vec<String>), Error> {
        let mut machine = match settings.iter().any(|knob| knob::changes_machine(knob)) {
            true => Some(self.begin_changes()?),
            false => None,
        };
        if let Some(machine) = &mut machine {
            for knob in settings {
                knob::apply_to_machine(knob, machine)
                    .map_err(|error| knob_refused_error(knob.knob, &error))?;
            }
        }
        let measured = measure()?;
        Ok((measured, machine.map(Alteration::end).unwrap_or_default()))
    }
}

/// Limit of the idle latency to hold during a measurement; `None` if no setting has one.
fn dma_latency_setting(settings: &[&ApplicableKnob]) -> Option<DmaLatency> {
    settings.iter().flat_map(|knob| &knob.steps).find_map(|step| match step {
        Step::IdleLatency { us } => Some(DmaLatency::Limit(*us)),
        _ => None,
    })
}

/// Error for a knob that could be set before and is refused now.
fn knob_refused_error(knob: Knob, cause: &io::Error) -> Error {
    Error::refused(format!(
        "{knob} could be set before, and now it cannot ({cause}): leave it out with --only"
    ))
}
