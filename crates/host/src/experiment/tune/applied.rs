//! A measurement with settings on, which are put back after it.

use std::sync::atomic::AtomicBool;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::tune::{Offered, Step};
use jitterlab_model::{CpuSet, Knob, RunInfo, SystemFacts};
use jitterlab_trace::RunWriter;

use super::TuneError;
use super::running::Running;
use crate::dma_latency::DmaLatency;
use crate::facts::{self, Root};
use crate::isolate::{self, Alteration};
use crate::knob;
use crate::measure::{Measurement, Request};
use crate::prepare;
use crate::record::{Underway, record};

/// The machine, and the CPUs that settings are for.
pub(super) struct Machine<'a> {
    pub root: &'a Root,
    pub facts: &'a SystemFacts,
    pub cpus: &'a CpuSet,
    /// Processes that keep their places, beside our own.
    pub spared: &'a [u32],
}

/// A measurement that is shown and recorded.
pub struct Recording<'a> {
    /// Makes the run file of what will be measured; `None` for none.
    pub writer: &'a mut dyn FnMut(&RunInfo) -> Option<RunWriter>,
    /// Looks several times a second.
    pub watch: &'a mut dyn FnMut(&Underway<'_>),
    /// Ends it early.
    pub interrupted: &'a AtomicBool,
}

/// Measures with settings on; what they set of a task is set of the first one. Everything is put back after it, and what could
/// not be is told beside the run.
///
/// # Errors
/// Settings that are refused, tasks that cannot be measured.
pub fn record_with(
    settings: &[Offered],
    request: Request,
    recording: Recording<'_>,
) -> Result<(MeasuredRun, Vec<String>), TuneError> {
    let root = Root::system();
    let facts = facts::read(&root);
    let cpus = prepare::tasks(&facts, request.tasks.clone(), None, &isolate::taken(&root))?.measured;
    let settings: Vec<&Offered> = settings.iter().collect();
    Machine { root: &root, facts: &facts, cpus: &cpus, spared: &[] }
        .record_with(&settings, request, recording)
}

impl Machine<'_> {
    pub(super) fn record_with(
        &self,
        settings: &[&Offered],
        mut request: Request,
        recording: Recording<'_>,
    ) -> Result<(MeasuredRun, Vec<String>), TuneError> {
        if let Some(task) = request.tasks.first_mut() {
            *task = settings.iter().try_fold(task.clone(), |task, knob| knob::task_with(knob, task))?;
        }
        request.dma_latency = dma_latency(settings).unwrap_or(request.dma_latency);
        self.with(settings, || {
            let measurement = Measurement::prepare(request)?;
            let Recording { writer, watch, interrupted } = recording;
            let writer = writer(measurement.info());
            Ok(record(measurement, writer, watch, interrupted)?)
        })
    }

    /// The same for a thread that runs already, of which nothing is set itself.
    pub(super) fn watch_with(
        &self,
        settings: &[&Offered],
        running: &Running,
        duration_ns: i64,
        interrupted: &AtomicBool,
    ) -> Result<(MeasuredRun, Vec<String>), TuneError> {
        self.with(settings, || {
            let latency = dma_latency(settings).unwrap_or_default();
            let _held =
                latency.hold().map_err(|error| TuneError::Refused { knob: Knob::IdleLatency, error })?;
            running.measure(duration_ns, interrupted)
        })
    }

    /// Measures with settings on, and puts back what they set.
    fn with(
        &self,
        settings: &[&Offered],
        measure: impl FnOnce() -> Result<MeasuredRun, TuneError>,
    ) -> Result<(MeasuredRun, Vec<String>), TuneError> {
        let mut machine = match settings.iter().any(|knob| knob::touches_machine(knob)) {
            true => Some(Alteration::begin(self.root, self.cpus, &self.facts.usable(), self.spared)?),
            false => None,
        };
        if let Some(machine) = &mut machine {
            for knob in settings {
                knob::set(knob, machine).map_err(|error| TuneError::Refused { knob: knob.knob, error })?;
            }
        }
        let measured = measure()?;
        Ok((measured, machine.map(Alteration::end).unwrap_or_default()))
    }
}

/// What of these is held while something is measured.
fn dma_latency(settings: &[&Offered]) -> Option<DmaLatency> {
    settings.iter().flat_map(|knob| &knob.steps).find_map(|step| match step {
        Step::IdleLatency { us } => Some(DmaLatency::Limit(*us)),
        _ => None,
    })
}
