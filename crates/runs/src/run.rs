//! An open run: a run file, a journal, or the output of another tool.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_model::{Error, RunInfo, TaskSpec, Warning};
use jitterlab_trace::{
    FileProblem, Hints, Import, JournalReader, Measured, RunReader, STANDARD_INPUT, import,
};

use crate::error::{needs_activations, no_tasks_error};
use crate::{Progress, Warned};

/// A run that can be read any number of times: a run file, the journal of an unfinished run, or the output of another
/// tool. A clone costs nothing and refers to the same open file.
#[derive(Clone)]
pub struct Run {
    pub(crate) path: PathBuf,
    pub(crate) storage: Arc<RunStorage>,
    pub(crate) progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

/// Storage of a run.
#[derive(Debug)]
pub(crate) enum RunStorage {
    /// A run file.
    File(Box<RunReader>),
    /// The journal of a run that was not closed.
    Journal(Box<JournalReader>),
    /// Output of another tool, in memory.
    Imported(Box<Import>),
}

impl Run {
    /// Opens a run file, a journal (`NAME.part`), or else the output of another tool, `-` and pipes included.
    /// `hints` supply the properties that such an output leaves out.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is of no known kind.
    pub fn open(path: impl AsRef<Path>, hints: &Hints) -> Result<Self, Error> {
        let path = path.as_ref();
        let imported = || import(path, hints).map(|import| RunStorage::Imported(Box::new(import)));
        if path == Path::new(STANDARD_INPUT) {
            return Ok(Run { path: path.into(), storage: Arc::new(imported()?), progress: None });
        }
        let storage = match RunReader::open(path) {
            // A pipe is read only once, and has not been.
            Err(error) if error.is(FileProblem::NoFile) => imported()?,
            Ok(reader) => RunStorage::File(Box::new(reader)),
            Err(error) if error.is(FileProblem::Unfinished) => {
                RunStorage::Journal(Box::new(JournalReader::open(path)?))
            }
            Err(error) if error.is(FileProblem::NotARunFile) && !is_parquet(path) => imported()?,
            // The directory that jitterdebugger writes.
            Err(_) if path.is_dir() => imported()?,
            Err(error) => return Err(error),
        };
        Ok(Run { path: path.into(), storage: Arc::new(storage), progress: None })
    }

    /// Calls `progress` now and then while the run is read.
    #[must_use]
    pub fn on_progress(mut self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// The run's description.
    pub fn info(&self) -> &RunInfo {
        match &*self.storage {
            RunStorage::File(reader) => reader.info(),
            RunStorage::Journal(reader) => reader.info(),
            RunStorage::Imported(import) => &import.info,
        }
    }

    /// The file that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name for people: the file's name.
    pub fn label(&self) -> String {
        self.path.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned())
    }

    /// Number of the task of this name.
    pub fn task_number(&self, name: &str) -> Option<usize> {
        self.info().tasks.iter().position(|task| task.spec.name == name)
    }

    /// Returns the numbers of the requested tasks: the one of this name, or all.
    ///
    /// # Errors
    /// There is no such task, or none at all.
    pub fn task_numbers(&self, name: Option<&str>) -> Result<Vec<usize>, Error> {
        let tasks = &self.info().tasks;
        if tasks.is_empty() {
            return Err(no_tasks_error(&self.path));
        }
        let Some(wanted) = name else { return Ok((0..tasks.len()).collect()) };
        self.task_number(wanted).map(|number| vec![number]).ok_or_else(|| {
            Error::bad_use(format!(
                "{} has no task {wanted:?}: it has {}",
                self.path.display(),
                tasks.iter().map(|t| t.spec.name.clone()).collect::<Vec<_>>().join(", ")
            ))
        })
    }

    /// Number of the task of this name or, without a name, of the task that `prefer` gives the smallest key.
    ///
    /// # Errors
    /// There is no such task.
    pub fn task_or_preferred<K: Ord>(
        &self,
        name: Option<&str>,
        prefer: impl Fn(&TaskSpec) -> K,
    ) -> Result<usize, Error> {
        let best = self.task_numbers(name)?.into_iter().min_by_key(|i| prefer(&self.info().tasks[*i].spec));
        best.ok_or_else(|| no_tasks_error(&self.path))
    }

    /// Returns true if every activation of a task is known, and not only distributions (and perhaps the spikes).
    pub fn keeps_all_rows(&self, task: usize) -> bool {
        match &*self.storage {
            RunStorage::File(reader) => !reader.has_slices(),
            RunStorage::Journal(reader) => !reader.has_slices(),
            RunStorage::Imported(import) => matches!(import.tasks.get(task), Some(Measured::Rows(_))),
        }
    }

    /// Returns the error for a question about single activations.
    pub fn needs_activations(&self) -> Error {
        let kept = if matches!(*self.storage, RunStorage::Imported(_)) { "a histogram" } else { "spikes" };
        needs_activations(&self.path, kept)
    }

    /// Returns the warnings for the reader of any of its data.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.info().warnings.clone();
        if let RunStorage::Journal(journal) = &*self.storage {
            warnings.push(if journal.is_recording() { Warning::StillRecording } else { Warning::NotClosed });
        }
        warnings
    }

    /// Returns a value that was read from this run, with the warnings for its reader.
    pub fn warned<T>(&self, value: T) -> Warned<T> {
        Warned::new(value, self.warnings())
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("path", &self.path).field("holder", &self.storage).finish_non_exhaustive()
    }
}

fn is_parquet(path: &Path) -> bool {
    let mut beginning = [0; 4];
    File::open(path).and_then(|mut f| f.read_exact(&mut beginning)).is_ok() && &beginning == b"PAR1"
}
