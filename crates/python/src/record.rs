//! Loops and probes of Python programs, and run files made of arrays.
#![expect(unsafe_code, reason = "Python's lock is given back while a loop waits on its own thread")]

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jitterlab_model::{Error, Overrun, Refusal};
use jitterlab_recording as recording;
use jitterlab_trace::{Hints, Role, import_columns};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::OrRaise;
use crate::time::{Time, optional_period_ns};

/// Activations that ran, those that are not in the file, due times missed, and the extremes of the latency in nanoseconds.
type Figures = (u64, u64, Option<u64>, Option<i64>, Option<i64>);

/// A run that goes on: its tasks have loops and probes, each on its thread.
#[pyclass(frozen, module = "jitterlab._native")]
pub(crate) struct Recording {
    recording: Mutex<Option<recording::Recording>>,
}

impl Recording {
    fn with<T, E: Display>(&self, call: impl FnOnce(&recording::Recording) -> Result<T, E>) -> PyResult<T> {
        let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        call(recording.as_ref().ok_or_else(closed_error).or_raise()?).or_raise()
    }

    fn take_recording(&self) -> Option<recording::Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Recording {
    #[new]
    fn begin(file: Option<PathBuf>, tasks: &str) -> PyResult<Self> {
        let tool = concat!("jitterlab for Python ", env!("CARGO_PKG_VERSION"));
        let begun = recording::Recording::begin(tool, file.as_deref(), tasks).or_raise()?;
        Ok(Recording { recording: Mutex::new(Some(begun)) })
    }

    fn probe(&self, task: &str) -> PyResult<Probed> {
        Ok(Probed { probed: Mutex::new(Some(self.with(|run| run.probe(task))?)) })
    }

    /// The loop of a task, which sets the calling thread up.
    fn task_loop(&self, task: &str) -> PyResult<Loop> {
        Ok(Loop { task: Some(self.with(|run| run.task_loop(task))?) })
    }

    /// Returns the refused requests.
    fn refused(&self) -> PyResult<Vec<String>> {
        let said = |refused: &Refusal| format!("{} ({}): {}", refused.what, refused.why, refused.remedy);
        self.with(|run| Ok::<_, Error>(run.refused().iter().map(said).collect()))
    }

    /// Returns the figures of a task so far.
    fn figures(&self, task: &str) -> PyResult<Figures> {
        let seen = self.with(|run| run.figures(task))?;
        let timing = Some(seen).filter(|seen| seen.has_timing);
        Ok((
            seen.executed,
            seen.lost,
            timing.map(|timing| timing.missed),
            timing.map(|timing| timing.min_latency_ns),
            timing.map(|timing| timing.max_latency_ns),
        ))
    }

    /// Ends every loop before its next activation.
    fn stop(&self) -> PyResult<()> {
        self.with(|run| {
            run.stop();
            Ok::<_, Error>(())
        })
    }

    /// Makes the run file.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(recording) = self.take_recording() else { return Ok(()) };
        py.detach(|| recording.close()).or_raise()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // A run that cannot be closed now keeps its journal.
        let _ = self.take_recording().map(recording::Recording::close);
    }
}

/// A probe around a loop: `begin` and `end` around its work, or `with` it.
#[pyclass(frozen, module = "jitterlab")]
pub(crate) struct Probed {
    /// Nobody waits for it but who uses one probe from several threads.
    probed: Mutex<Option<recording::TaskProbe>>,
}

impl Probed {
    fn with(&self, call: impl FnOnce(&mut recording::TaskProbe)) -> PyResult<()> {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        probed.as_mut().map(call).ok_or_else(closed_error).or_raise()
    }
}

#[pymethods]
impl Probed {
    /// An activation begins.
    ///
    /// Args:
    ///     due_ns: When it was due, by the clock of time.monotonic_ns(). Without it, a period after the one before; the
    ///         first is then taken as punctual.
    #[pyo3(signature = (due_ns=None))]
    fn begin(&self, due_ns: Option<i64>) -> PyResult<()> {
        self.with(|probed| match due_ns {
            Some(due_ns) => probed.begin_at(due_ns),
            None => probed.begin(),
        })
    }

    /// The activation ends: its work is done, and the loop goes to wait.
    fn end(&self) -> PyResult<()> {
        self.with(recording::TaskProbe::end)
    }

    fn __enter__(own: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        own.begin(None)?;
        Ok(own)
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.end()
    }

    /// Ends the probe.
    fn close(&self) {
        drop(self.probed.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// A loop, on the thread that made it.
#[pyclass(module = "jitterlab._native", unsendable)]
pub(crate) struct Loop {
    task: Option<recording::Loop>,
}

/// Something that stays on its thread while Python's lock is given back.
struct StaysOnThread<T>(T);

// SAFETY: `Python::detach` calls its argument on the thread that calls it; nothing is sent.
unsafe impl<T> Send for StaysOnThread<T> {}

#[pymethods]
impl Loop {
    /// Ends the running activation and waits for the next. Returns its number, due time and start, or nothing at the
    /// end. It starts when Python's lock is held again.
    fn wait(&mut self, py: Python<'_>) -> PyResult<Option<(u64, i64, i64)>> {
        let Some(task) = self.task.as_mut() else { return Ok(None) };
        let here = StaysOnThread(task);
        let begun = py.detach(move || {
            let StaysOnThread(task) = { here };
            StaysOnThread(task.wait().map(|begun| (begun, task)))
        });
        py.check_signals()?;
        Ok(begun.0.and_then(|(begun, task)| Some((begun.index, begun.due_ns, task.begin_work_now()?))))
    }

    /// Ends the loop.
    fn close(&mut self) {
        self.task = None;
    }
}

/// Writes a run file of data measured otherwise: `columns` are the times of one task in nanoseconds.
#[pyfunction]
pub(crate) fn write(
    path: PathBuf,
    task: &str,
    period: Option<Time>,
    columns: Vec<(String, Vec<i64>)>,
    overrun: Option<&str>,
) -> PyResult<u64> {
    let mut roles: Vec<(Role, Vec<i64>)> = Vec::new();
    for (name, values) in columns {
        roles.push((name.parse().or_raise()?, values));
    }
    let overrun = overrun.map(str::parse::<Overrun>).transpose().or_raise()?;
    let hints =
        Hints { periods_ns: optional_period_ns(period.as_ref())?.into_iter().collect(), ..Hints::default() };
    let import = import_columns(&path, task, &roles, overrun, &hints).or_raise()?;
    Ok(import.write(path).or_raise()?.rows)
}

fn closed_error() -> Error {
    Error::bad_use("it is closed").remedy("begin another")
}
