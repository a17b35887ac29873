//! Runs, as Python has them.

use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use jitterlab_model::{EdgeKind, Error, TaskRun};
use jitterlab_report::warnings;
use jitterlab_runs::{CaptureHints, Column, Hints, PacketFilter, Threshold};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::batches::Batches;
use crate::error::OrRaise;
use crate::interruptible::run_interruptibly;
use crate::time::{Time, optional_period_ns};

/// A run that is open.
#[pyclass(frozen, module = "jitterlab._native")]
pub(crate) struct Run {
    pub(crate) run: jitterlab_runs::Run,
}

fn unit_ns(unit: &str) -> PyResult<i64> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let found = units.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns);
    found
        .ok_or_else(|| {
            Error::bad_use(format!("{unit:?} is no unit of time")).remedy("choose one of ns, us, ms, s")
        })
        .or_raise()
}

/// Parses each of the texts.
fn parse_all<T: std::str::FromStr<Err: std::fmt::Display>>(texts: &[String]) -> PyResult<Vec<T>> {
    texts.iter().map(|text| text.parse().or_raise()).collect()
}

#[pymethods]
impl Run {
    #[new]
    #[pyo3(signature = (path, period, unit, columns, channels, edge, threshold, packets))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        period: Option<Time>,
        unit: Option<&str>,
        columns: Vec<String>,
        channels: Vec<String>,
        edge: Option<String>,
        threshold: Option<String>,
        packets: Option<String>,
    ) -> PyResult<Self> {
        let capture = CaptureHints {
            channels,
            edge: parse_all::<EdgeKind>(edge.as_slice())?.pop().unwrap_or_default(),
            threshold: parse_all::<Threshold>(threshold.as_slice())?.pop(),
            packets: parse_all::<PacketFilter>(packets.as_slice())?.pop(),
            raw: false,
        };
        let hints = Hints {
            periods_ns: optional_period_ns(period.as_ref())?.into_iter().collect(),
            unit_ns: unit.map(unit_ns).transpose()?,
            columns: parse_all::<Column>(&columns)?,
            capture,
        };
        let run = run_interruptibly(py, move || jitterlab_runs::Run::open(path, &hints))?;
        Ok(Run { run })
    }

    /// The file that was opened.
    #[getter]
    fn path(&self) -> PathBuf {
        self.run.path().into()
    }

    /// Returns its name for people.
    #[getter]
    fn label(&self) -> String {
        self.run.label()
    }

    /// Its description, as JSON.
    fn info(&self) -> PyResult<String> {
        let info = jitterlab_model::RunInfo { warnings: self.run.warnings(), ..self.run.info().clone() };
        serde_json::to_string(&info).or_raise()
    }

    /// Returns its warnings, as sentences.
    fn warnings(&self) -> Vec<String> {
        self.run.warnings().iter().map(warnings::warning_sentence).collect()
    }

    /// Returns for each task the properties that its source leaves unknown.
    fn unknown(&self) -> Vec<(String, Vec<String>)> {
        let of = |task: &TaskRun| {
            (
                task.spec.name.clone(),
                task.unknown.iter().map(|gap| warnings::gap_text(*gap).to_owned()).collect(),
            )
        };
        self.run.info().tasks.iter().map(of).collect()
    }

    /// Returns the number of kept activations.
    fn rows(&self, task: Option<&str>) -> PyResult<u64> {
        Ok(self.run.task_numbers(task).or_raise()?.into_iter().map(|task| self.run.row_count(task)).sum())
    }

    /// The kept activations as a stream of Arrow, in a capsule.
    fn stream<'py>(&self, py: Python<'py>, task: Option<&str>) -> PyResult<Bound<'py, PyCapsule>> {
        let tasks = self.run.task_numbers(task).or_raise()?;
        let batches = Batches::new(&self.run, &tasks).or_raise()?;
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
