//! Reading what other tools measured.
//!
//! Few of them keep single activations; most print a histogram, some only extremes. What an output leaves open is unknown in
//! what is read (see [`Gap`] and [`Lacks`](jitterlab_model::distribution::Lacks)) and said in the run's warnings. A value of
//! a histogram counts as the upper edge of its bin, so that no figure looks better than it was.

mod cyclictest;
mod cyclictest_json;
mod cyclictest_verbose;
mod histogram;
mod jitterdebugger;
mod latmus;
mod linuxcnc;
mod rtla;
mod rttest;
mod stress_ng;
mod text;
mod xenomai_console;
mod xenomai_histogram;
mod zephyr;

use std::path::Path;

use jitterlab_model::{Activation, Bench, Gap, RunInfo, TaskResult, TaskRun, TaskSpec, TimingStats, Warning};

use crate::error::{TraceError, Unreadable, Wanted};

/// What the user knows and the output may not tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints {
    /// The period of the tasks; what the output says goes first.
    pub period_ns: Option<i64>,
    /// Unit of the values, 1 for ns or 1000 for us, where the output does not tell (cyclictest's text).
    pub unit_ns: Option<i64>,
}

/// A measurement by another tool.
#[derive(Debug, Clone)]
pub struct Import {
    /// Its description: the tool, the tasks, and in the warnings what the output leaves open.
    pub info: RunInfo,
    /// What is known of each task.
    pub tasks: Vec<Measured>,
}

/// What an output tells of one task.
#[derive(Debug, Clone)]
pub enum Measured {
    /// Every activation.
    Rows(Vec<Activation>),
    /// Distributions only.
    Distributions(Box<TimingStats>),
}

/// One tool's output that can be read.
struct Peer {
    /// What it is, for the message that lists all.
    name: &'static str,
    /// Whether a file looks like it.
    recognise: fn(&Input) -> bool,
    parse: fn(&Input, &Hints) -> Result<Import, Mistake>,
}

/// Every format, in the order they are tried.
const PEERS: &[Peer] = &[
    cyclictest_json::PEER,
    jitterdebugger::RESULTS,
    jitterdebugger::SAMPLES,
    cyclictest::PEER,
    cyclictest_verbose::PEER,
    rtla::PEER,
    latmus::PEER,
    xenomai_histogram::PEER,
    xenomai_console::PEER,
    rttest::PEER,
    stress_ng::PEER,
    zephyr::PEER,
    linuxcnc::NOX,
    linuxcnc::DOT_LATENCY,
];

/// A file's content, and as text if it is text.
struct Input<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    text: &'a str,
}

/// What is wrong with an output that was recognised.
struct Mistake {
    /// Counted from 1, if a line is to blame.
    line: Option<usize>,
    why: Unreadable,
}

impl From<Unreadable> for Mistake {
    fn from(why: Unreadable) -> Self {
        Mistake { line: None, why }
    }
}

impl From<serde_json::Error> for Mistake {
    fn from(error: serde_json::Error) -> Self {
        Mistake { line: Some(error.line()).filter(|line| *line > 0), why: Unreadable::Json(error) }
    }
}

impl Unreadable {
    /// In a line, counted from 1.
    fn at(self, line: usize) -> Mistake {
        Mistake { line: Some(line), why: self }
    }

    /// A text that is something else than is wanted there.
    fn not(text: &str, wanted: Wanted) -> Self {
        Unreadable::Not { text: text.into(), wanted }
    }
}

/// Reads another tool's output: cyclictest (`-h`, `-H`, `--json`, `-v`), rtla timerlat and osnoise hist,
/// jitterdebugger (`results.json`, `samples.raw`, or the directory of both), Xenomai's latency, EVL's latmus,
/// LinuxCNC's latency-histogram `--nox` and `.latency`, rttest, stress-ng `--cyclic`, Zephyr's timer test.
///
/// # Errors
/// The file cannot be read, is of no known format, or contradicts the format it seems to have.
pub fn import(path: impl AsRef<Path>, hints: &Hints) -> Result<Import, TraceError> {
    let path = path.as_ref();
    let inside = ["samples.raw", "results.json"].map(|name| path.join(name)).into_iter().find(|p| p.exists());
    let path = inside.as_deref().unwrap_or(path);
    let bytes = std::fs::read(path).map_err(TraceError::io("read", path))?;
    let input = Input { path, bytes: &bytes, text: std::str::from_utf8(&bytes).unwrap_or("") };
    let Some(peer) = PEERS.iter().find(|peer| (peer.recognise)(&input)) else {
        let known: Vec<_> = PEERS.iter().map(|p| p.name).collect();
        return Err(TraceError::UnknownOutput { path: path.into(), known: known.join(", ") });
    };
    (peer.parse)(&input, hints).map_err(|Mistake { line, why }| TraceError::UnreadableOutput {
        path: path.into(),
        tool: peer.name,
        line,
        why,
    })
}

impl Import {
    /// An import with nothing in it yet. `warnings` begin with what every import lacks.
    fn new(tool: &str, clock: &str) -> Self {
        let mut info = RunInfo::new(Bench::Import, clock, []);
        info.tool = tool.into();
        Import { info, tasks: Vec::new() }
    }

    /// Adds a task with what is known of it; `unknown` is what its tool does not tell beside what none does (missed and
    /// lost activations, execution times, settings).
    fn task(
        &mut self,
        name: impl Into<String>,
        (period_ns, assumed): (i64, bool),
        cpu: Option<u16>,
        unknown: &[Gap],
        mut measured: Measured,
    ) {
        let mut all = vec![Gap::Lost, Gap::Execution, Gap::Settings];
        all.extend(assumed.then_some(Gap::Period));
        all.extend_from_slice(unknown);
        if let Measured::Distributions(stats) = &mut measured {
            stats.forget(&all);
        }
        let spec = TaskSpec { name: name.into(), period_ns, cpu, ..TaskSpec::default() };
        let result = Some(measured.result());
        self.info.tasks.push(TaskRun { result, unknown: all, ..TaskRun::new(spec) });
        self.tasks.push(measured);
    }

    fn warn(&mut self, warning: impl Into<Warning>) {
        let warning = warning.into();
        if !self.info.warnings.contains(&warning) {
            self.info.warnings.push(warning);
        }
    }

    /// The period: as the output says, else as the user says, else the tool's default, with a warning; and whether it is
    /// that.
    fn period(&mut self, said: Option<i64>, hints: &Hints, default_ns: i64) -> (i64, bool) {
        match said.or(hints.period_ns).filter(|p| *p > 0) {
            Some(period_ns) => (period_ns, false),
            None => {
                self.warn(Warning::PeriodAssumed { period_ns: default_ns });
                (default_ns, true)
            }
        }
    }

    /// Refuses an output without any task.
    fn complete(self) -> Result<Self, Mistake> {
        if self.tasks.is_empty() {
            return Err(Unreadable::Nothing.into());
        }
        Ok(self)
    }
}

impl Measured {
    /// The standing figures of a task that this was measured of, counted from the rows where there are rows.
    pub fn stats(&self, task: &TaskRun) -> TimingStats {
        match self {
            Measured::Distributions(stats) => TimingStats::clone(stats),
            Measured::Rows(rows) => {
                let mut stats = TimingStats::new(task.spec.period_ns);
                stats.push_all(rows);
                stats.forget(&task.unknown);
                stats
            }
        }
    }

    /// The same with due times missed that the tool counts.
    fn with_missed(mut self, missed: u64) -> Self {
        if let Measured::Distributions(stats) = &mut self {
            stats.add_missed(missed);
        }
        self
    }

    fn result(&self) -> TaskResult {
        match self {
            Measured::Rows(rows) => TaskResult {
                executed: rows.len() as u64,
                missed: rows.iter().map(|a| u64::from(a.missed)).sum(),
                first_due_ns: rows.first().map_or(0, |a| a.due_ns),
                last_end_ns: rows.last().map_or(0, |a| a.end_ns),
                min_latency_ns: rows.iter().map(Activation::latency_ns).min().unwrap_or(0),
                max_latency_ns: rows.iter().map(Activation::latency_ns).max().unwrap_or(0),
                ..TaskResult::default()
            },
            Measured::Distributions(stats) => {
                let executed = stats.executed().max(stats.period_error.count());
                let last = (executed + stats.seen_missed()).saturating_sub(1);
                TaskResult {
                    executed,
                    missed: stats.seen_missed(),
                    last_end_ns: i64::try_from(last).unwrap_or(i64::MAX).saturating_mul(stats.period_ns()),
                    min_latency_ns: stats.latency.min_ns().unwrap_or(0),
                    max_latency_ns: stats.latency.max_ns().unwrap_or(0),
                    ..TaskResult::default()
                }
            }
        }
    }
}
