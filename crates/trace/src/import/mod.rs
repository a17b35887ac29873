//! Reading the measurements of other tools.
//!
//! Few of them keep single activations; most print a histogram, some only extremes. Properties that an output leaves
//! open are unknown (see [`Gap`](jitterlab_model::Gap) and [`SourceGaps`](jitterlab_model::distribution::SourceGaps)) and named in the run's
//! warnings. A value of a histogram counts as the upper edge of its bin, so that no figure looks better than it was.

mod buckets;
mod capture;
mod command;
mod csv;
mod cyclictest;
mod ftrace;
mod hal_pins;
mod halsampler;
mod hwlat;
mod jitterdebugger;
mod linuxcnc;
mod oslat;
mod ros2_control;
mod rt_tests;
mod rtla;
mod rtla_analysis;
mod rtla_top;
mod rttest;
mod starts;
mod statement;
mod stress_ng;
mod summaries;
mod task_details;
mod text;
mod unpack;
mod wakers;
mod xenomai;
mod zephyr;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use jitterlab_model::bounds::{self, LINE};
use jitterlab_model::{
    Activation, Error, Known, Overrun, RunInfo, StopReason, TaskRun, TaskSpec, TimingStats,
};

pub use self::capture::{CaptureHints, PacketFilter, Threshold};
pub use self::hal_pins::{HalThread, parse_hal_thread};
use self::task_details::{Period, TaskDetails};
use self::text::untrimmed_lines;
use crate::error::{FileProblem, Unreadable, empty_output, not_a_file, output_too_long, unknown_output};
use crate::role::{Column, Role};
use crate::run_file_writer::{FinishedRun, RunFileWriter};

/// Properties that the user knows and the output may lack.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// The period of the tasks, or that of each task in the output's order; the output's own statement goes first.
    pub periods_ns: Vec<i64>,
    /// Unit of the values in ns, where the output does not state it (cyclictest's text, tables).
    pub unit_ns: Option<i64>,
    /// Content of a table's columns (comma-separated values); columns that its head names need not be given.
    pub columns: Vec<Column>,
    /// Activations in a capture of pins or packets.
    pub capture: CaptureHints,
}

impl Hints {
    /// Period that was given for the task, or for the first one.
    pub(crate) fn period_ns(&self) -> Option<i64> {
        self.periods_ns.first().copied()
    }
}

/// A measurement by another tool.
#[derive(Debug, Clone)]
pub struct Import {
    /// Description of the run: the tool, the tasks, and in the warnings the properties that the output leaves open.
    pub info: RunInfo,
    /// Data of each task.
    pub tasks: Vec<Measured>,
}

/// Data of one task in an output.
#[derive(Debug, Clone)]
pub enum Measured {
    /// Every activation.
    Rows(Vec<Activation>),
    /// Distributions only.
    Distributions(Box<TimingStats>),
}

/// Importer of one output format of a tool.
struct Importer {
    /// Name of the tool, for the message that lists all.
    name: &'static str,
    /// Returns true for a file in its format. At most one of all importers does so, whatever tool made the file.
    recognise: fn(&Input) -> bool,
    parse: fn(&Input, &Hints) -> Result<Import, ImportError>,
}

/// Every format, captures apart.
const IMPORTERS: &[Importer] = &[
    cyclictest::IMPORTER,
    rt_tests::IMPORTER,
    wakers::IMPORTER,
    oslat::IMPORTER,
    rtla::IMPORTER,
    rtla_top::IMPORTER,
    rtla_analysis::IMPORTER,
    jitterdebugger::RESULTS,
    jitterdebugger::SAMPLES,
    jitterdebugger::CSV,
    stress_ng::IMPORTER,
    linuxcnc::NOX,
    linuxcnc::DOT_LATENCY,
    hal_pins::IMPORTER,
    halsampler::IMPORTER,
    xenomai::IMPORTER,
    buckets::IMPORTER,
    hwlat::IMPORTER,
    ftrace::IMPORTER,
    summaries::OSNOISE_TOP,
    summaries::PERF_SCHED,
    summaries::RTEVAL,
    ros2_control::IMPORTER,
    rttest::IMPORTER,
    zephyr::IMPORTER,
    csv::IMPORTER,
];

/// Importers of every format.
fn importers() -> impl Iterator<Item = &'static Importer> {
    IMPORTERS.iter().chain(&capture::FORMATS)
}

/// A file's content, and as text if it is text.
#[derive(Clone, Copy)]
struct Input<'a> {
    /// The file's name without its folder.
    name: &'a str,
    /// Folder of the file, where more of the same measurement may lie.
    folder: Option<&'a Path>,
    bytes: &'a [u8],
    text: &'a str,
    /// True if the user described the columns.
    columns_given: bool,
}

impl Input<'_> {
    /// Text of a small file in the same folder, such as the description that a tool writes next to its samples.
    fn read_neighbour(&self, name: &str) -> Option<String> {
        const MOST: u64 = 1 << 20;
        // It was not named by the user: a FIFO, which waits for a writer, is not opened.
        let path = self.folder?.join(name);
        path.is_file().then(|| crate::source::read_text(path, MOST).ok())?
    }
}

/// Error in an output that was recognised.
struct ImportError {
    /// Counted from 1, if a line is to blame.
    line: Option<usize>,
    why: Unreadable,
}

impl From<Unreadable> for ImportError {
    fn from(why: Unreadable) -> Self {
        ImportError { line: None, why }
    }
}

impl From<Error> for ImportError {
    fn from(why: Error) -> Self {
        Unreadable::from(why).into()
    }
}

impl From<serde_json::Error> for ImportError {
    fn from(error: serde_json::Error) -> Self {
        ImportError { line: Some(error.line()).filter(|line| *line > 0), why: Unreadable::Json(error) }
    }
}

impl Unreadable {
    /// Error in this line, counted from 1.
    fn at_line(self, line: usize) -> ImportError {
        ImportError { line: Some(line), why: self }
    }

    /// Error for a text of another kind than its place needs.
    fn unexpected(text: &str, wanted: &'static str) -> Self {
        Unreadable::Not { text: text.into(), wanted }
    }
}

/// Reads another tool's output, whichever it is: a file, the directory that jitterdebugger leaves, or standard input (`-`).
/// It may be compressed by gzip, quoted, and each line may begin with the time at which a build server logged it.
///
/// # Errors
/// The file cannot be read, is of no known format, holds more than one measurement, or contradicts the format it seems to
/// have.
pub fn import(path: impl AsRef<Path>, hints: &Hints) -> Result<Import, Error> {
    let path = path.as_ref();
    let inside =
        ["samples.raw", "results.json"].map(|name| path.join(name)).into_iter().find(|p| p.is_file());
    let path = inside.as_deref().unwrap_or(path);
    let mut bytes = Vec::new();
    let mut take = |from: &mut dyn Read| from.take(LONGEST + 1).read_to_end(&mut bytes);
    let taken = if path == Path::new(STANDARD_INPUT) {
        take(&mut std::io::stdin())
    } else {
        let kind = std::fs::metadata(path).map_err(Error::file("read", path))?.file_type();
        if !kind.is_file() && !kind.is_fifo() && !kind.is_dir() {
            return Err(not_a_file(path));
        }
        File::open(path).and_then(|mut file| take(&mut file))
    };
    taken.map_err(Error::file("read", path))?;
    if bytes.len() as u64 > LONGEST {
        return Err(output_too_long(path, LONGEST));
    }
    read_output(path, path.parent(), &bytes, hints)
}

/// The longest output that is read, in bytes, compressed or not: it is in memory as a whole.
const LONGEST: u64 = 1 << 30;

/// The path that means standard input.
pub const STANDARD_INPUT: &str = "-";

/// Reads another tool's output that is in memory; `path` only names it. Memory is in proportion to `bytes`, save for a
/// compressed output, which may be up to 1 GiB long.
///
/// # Errors
/// As [`import`].
pub fn import_bytes(path: impl AsRef<Path>, bytes: &[u8], hints: &Hints) -> Result<Import, Error> {
    read_output(path.as_ref(), None, bytes, hints)
}

/// Imports the times of one task in memory, in nanoseconds, by their roles; `path` only names them. The overrun policy
/// is known if it is stated.
///
/// # Errors
/// The columns are not of one length, go back in time, hold impossible values, or do not determine the period.
pub fn import_columns(
    path: impl AsRef<Path>,
    task: &str,
    columns: &[(Role, Vec<i64>)],
    overrun: Option<Overrun>,
    hints: &Hints,
) -> Result<Import, Error> {
    let imported = csv::import_arrays(task, columns, hints).and_then(check_values);
    let mut import = imported.map_err(|ImportError { line, why }| {
        Error::damaged(format!(
            "{} cannot be made: {}{why}",
            path.as_ref().display(),
            line.map_or_else(String::new, |row| format!("row {row}: "))
        ))
    })?;
    if let (Some(overrun), Some(task)) = (overrun, import.info.tasks.first_mut()) {
        task.set_overrun(Known::Exactly(overrun));
    }
    Ok(import)
}

impl Import {
    /// Writes the measurement as a run file of this name.
    ///
    /// # Errors
    /// Only distributions are known of a task; the file exists already, or cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<FinishedRun, Error> {
        let path = path.as_ref();
        let mut file = RunFileWriter::create(path, self.tasks.len())?;
        for (number, measured) in self.tasks.iter().enumerate() {
            match measured {
                Measured::Rows(rows) => file.append(number, rows)?,
                Measured::Distributions(_) => {
                    return Err(Error::damaged(format!(
                        "{} cannot be made: the times do not lie on one grid, so which due time each is \
                         of is not known",
                        path.display()
                    ))
                    .remedy("say the due times, too"));
                }
            }
        }
        file.finish(&RunInfo { stop: Some(StopReason::Closed), ..self.info.clone() })
    }
}

fn read_output(path: &Path, folder: Option<&Path>, bytes: &[u8], hints: &Hints) -> Result<Import, Error> {
    let unpacked = unpack::gunzip(path, bytes)?;
    let bytes = unpacked.as_deref().unwrap_or(bytes);
    let printed = unpack::text_of(bytes);
    check_lines(path, &printed)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let columns_given = !hints.columns.is_empty();
    let layers = unpack::unwrapped_layers(&printed);
    let as_printed = Input { name, folder, bytes, text: &printed, columns_given };
    fn unwrapped_input<'a>(text: &'a str, printed: Input<'a>) -> Input<'a> {
        Input { text, ..printed }
    }
    let parsed = layers.iter().rev().map(|text| unwrapped_input(text, as_printed)).chain([as_printed]);
    for input in parsed {
        if let Some(import) = parse_output(path, &input, hints)? {
            return Ok(import);
        }
    }
    let innermost = layers.last().map_or(&*printed, String::as_str);
    for text in unpack::without_prefixes(innermost) {
        if let Some(import) = parse_output(path, &unwrapped_input(&text, as_printed), hints)? {
            return Ok(import);
        }
    }
    Err(if bytes.is_empty() { empty_output(path) } else { unknown_output(path, mentioned_tool(&printed)) })
}

/// Refuses a text with a longer line than any tool prints, before every tool looks at it; JSON may have one line alone.
fn check_lines(path: &Path, text: &str) -> Result<(), Error> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    if !is_json && text.len() > LINE && untrimmed_lines(text).any(|line| line.len() > LINE) {
        return Err(Error::damaged(format!("{} has a line of more than {} MiB", path.display(), LINE >> 20))
            .remedy("keep only a part of its columns"));
    }
    Ok(())
}

/// Names of tools in texts.
const NAMES: &str = "cyclictest,cyclicdeadline,timerlat,osnoise,rtla,oslat,hwlatdetect,jitterdebugger,stress-ng,latmus,\
    ptsematest,signaltest,rteval,trace-cmd,runqlat,linuxcnc,xenomai,rttest,bpftrace,perf sched";

/// The tool that a text of unknown format names.
fn mentioned_tool(text: &str) -> Option<&'static str> {
    let begin = text.as_bytes().get(..text.len().min(1 << 16)).unwrap_or_default();
    let begin = String::from_utf8_lossy(begin).to_lowercase();
    NAMES.split(',').find(|name| begin.contains(name))
}

/// Reads an output by its tool's importer; `None` where it is of no tool.
fn parse_output(path: &Path, input: &Input, hints: &Hints) -> Result<Option<Import>, Error> {
    let Some(importer) = importer_of(path, input)? else { return Ok(None) };
    let unreadable = |ImportError { line, why }| {
        Error::damaged(format!(
            "{} looks like the output of {}, but cannot be read: {}{why}",
            path.display(),
            importer.name,
            line.map_or_else(String::new, |line| format!("line {line}: "))
        ))
    };
    let parsed = (importer.parse)(input, hints).and_then(|import| check_given_periods(import, hints));
    parsed.map(with_distinct_names).and_then(check_values).map(Some).map_err(unreadable)
}

/// Gives tasks of one name different ones: readers of an export distinguish tasks by their names.
fn with_distinct_names(mut import: Import) -> Import {
    let mut taken: BTreeSet<String> = import.info.tasks.iter().map(|task| task.spec.name.clone()).collect();
    // Number of tasks with each name so far.
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for TaskRun { spec: TaskSpec { name, .. }, .. } in &mut import.info.tasks {
        let number = seen.entry(name.clone()).or_default();
        *number += 1;
        while *number > 1 {
            let numbered = format!("{name} {number}");
            if taken.insert(numbered.clone()) {
                *name = numbered;
                break;
            }
            *number += 1;
        }
    }
    import
}

/// Refuses periods that were given for each task and are not those of the tasks.
fn check_given_periods(import: Import, hints: &Hints) -> Result<Import, ImportError> {
    let found = import.info.tasks.iter().map(|task| task.spec.period_ns);
    if hints.periods_ns.len() > 1 && !found.clone().eq(hints.periods_ns.iter().copied()) {
        let tasks: Vec<&str> = import.info.tasks.iter().map(|task| task.spec.name.as_str()).collect();
        return Err(Error::damaged(format!(
            "these are not the periods of {}: --period is given once, or once for each of them in this order where they \
             have different ones and the output does not say them",
            tasks.join(", ")
        ))
        .into());
    }
    Ok(import)
}

/// Refuses an output with impossible values: damaged, or of something else.
fn check_values(import: Import) -> Result<Import, ImportError> {
    let checked = bounds::check_description(&import.info)
        .and_then(|()| import.tasks.iter().try_for_each(check_measured))
        .map_err(|why| why.within("it holds what cannot be"));
    Ok(checked.map(|()| import)?)
}

fn check_measured(measured: &Measured) -> Result<(), Error> {
    match measured {
        Measured::Rows(rows) => {
            bounds::check_times(rows)?;
            bounds::check_numbers(rows, None)
        }
        Measured::Distributions(stats) => {
            let all = [&stats.latency, &stats.missed_ages, &stats.period_error, &stats.execution];
            all.into_iter().try_for_each(|d| bounds::check_moments(d.moments()))
        }
    }
}

/// Length from which the beginning and the end of a text are looked at first, in bytes: thirty searches through all of
/// it take as long as reading it.
const LONG: usize = 4 << 20;

/// First and last lines of a long text; `None` if it is not long.
fn first_and_last_lines(text: &str) -> Option<String> {
    let line_at =
        |at: usize| text.as_bytes()[at..].iter().position(|byte| *byte == b'\n').map(|n| at + n + 1);
    if text.len() < LONG {
        return None;
    }
    let (first, last) = (line_at(LONG / 4)?, line_at(text.len() - LONG / 4)?);
    Some([&text[..first], &text[last.max(first)..]].concat())
}

/// Finds the importer of an output; several are an error.
fn importer_of(path: &Path, input: &Input) -> Result<Option<&'static Importer>, Error> {
    let by = |text: &str| -> Vec<&Importer> {
        importers().filter(|importer| (importer.recognise)(&Input { text, ..*input })).collect()
    };
    let found = first_and_last_lines(input.text).map(|ends| by(&ends)).filter(|found| !found.is_empty());
    let found = found.unwrap_or_else(|| by(input.text));
    match found.as_slice() {
        [] => Ok(None),
        [importer] => Ok(Some(importer)),
        _ => Err(Error::damaged(format!(
            "{} looks like the output of several tools: {}",
            path.display(),
            tool_names(found)
        ))
        .remedy("split it, so that each file is of one")
        .case(FileProblem::SeveralOutputs)),
    }
}

fn tool_names<'a>(importers: impl IntoIterator<Item = &'a Importer>) -> String {
    importers.into_iter().map(|importer| importer.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
