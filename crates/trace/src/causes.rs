//! Causes of late activations, as stored in journals and run files: rows of JSON, one a line, compressed by zstd. The
//! first names the tracer, each of the others belongs to a task: its figures, a cause, or one of its latest
//! activations.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use jitterlab_model::RunCauses;
use jitterlab_model::causes::{CauseSum, LateStart, TaskCauses, Tracer};
use serde::{Deserialize, Serialize};

use crate::column::FileRange;

/// Most bytes that are written; of the worst activations, the least late are left out first, and counted.
const MOST_BYTES: usize = 32 << 20;
/// Most bytes that are read.
const LARGEST_BYTES: usize = 64 << 20;

/// A row.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Row {
    /// Properties of the tracing.
    Tracer(Tracer),
    /// A task's figures, without its causes and its worst activations.
    Task(usize, TaskCauses),
    /// A cause of a task.
    Cause(usize, CauseSum),
    /// One of its worst activations.
    Late(usize, LateStart),
}

/// Compresses the causes as lines of JSON; late starts beyond a size are only counted.
pub(crate) fn encode(causes: &RunCauses) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    write_row(&mut lines, &Row::Tracer(causes.tracer.clone()))?;
    let mut late: Vec<(usize, Vec<u8>)> = Vec::new();
    for (number, task) in causes.tasks.iter().enumerate() {
        for of in &task.causes {
            write_row(&mut lines, &Row::Cause(number, of.clone()))?;
        }
        for start in &task.worst_starts {
            let mut line = Vec::new();
            write_row(&mut line, &Row::Late(number, start.clone()))?;
            late.push((number, line));
        }
    }
    let mut left_out: BTreeMap<usize, u64> = BTreeMap::new();
    for (number, line) in late {
        match left_out.contains_key(&number) || lines.len() + line.len() > MOST_BYTES {
            true => *left_out.entry(number).or_default() += 1,
            false => lines.extend(line),
        }
    }
    for (number, task) in causes.tasks.iter().enumerate() {
        let left_out = task.left_out + left_out.get(&number).copied().unwrap_or(0);
        let figures = TaskCauses { causes: Vec::new(), worst_starts: Vec::new(), left_out, ..task.clone() };
        write_row(&mut lines, &Row::Task(number, figures))?;
    }
    zstd::bulk::compress(&lines, zstd::DEFAULT_COMPRESSION_LEVEL)
}

fn write_row(lines: &mut Vec<u8>, row: &Row) -> io::Result<()> {
    serde_json::to_writer(&mut *lines, row)?;
    lines.push(b'\n');
    Ok(())
}

pub(crate) fn decode(bytes: &[u8]) -> io::Result<RunCauses> {
    let lines = zstd::stream::read::Decoder::new(bytes)?.take(LARGEST_BYTES as u64);
    let mut lines = BufReader::new(lines);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let Ok(Row::Tracer(tracer)) = serde_json::from_str(&first) else {
        // Older files hold one text.
        return Ok(serde_json::from_str(&first)?);
    };
    let mut causes = RunCauses { tracer, ..RunCauses::default() };
    let mut rows: BTreeMap<usize, TaskCauses> = BTreeMap::new();
    for line in lines.lines() {
        match serde_json::from_str(&line?)? {
            Row::Tracer(tracer) => causes.tracer = tracer,
            Row::Cause(number, cause) => rows.entry(number).or_default().causes.push(cause),
            Row::Late(number, late) => rows.entry(number).or_default().worst_starts.push(late),
            Row::Task(number, figures) => {
                let of = rows.entry(number).or_default();
                let (causes, worst_starts) =
                    (std::mem::take(&mut of.causes), std::mem::take(&mut of.worst_starts));
                *of = TaskCauses { causes, worst_starts, ..figures };
            }
        }
    }
    causes.tasks = rows.into_values().collect();
    Ok(causes)
}

pub(crate) fn read(file: &File, place: FileRange) -> io::Result<RunCauses> {
    decode(&place.read(file).map_err(io::Error::other)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::causes::{CauseClass, Evidence, LatencyPart};

    #[test]
    fn what_is_written_is_read() {
        let mut task = TaskCauses { explained: 7, ..TaskCauses::default() };
        task.latencies.record(12_345);
        task.causes.push(CauseSum::new(CauseClass::Idle.into()));
        let tasks = vec![task, TaskCauses::default()];
        let causes = RunCauses { tasks, ..RunCauses::default() };
        assert_eq!(decode(&encode(&causes).unwrap()).unwrap(), causes);
        let before = zstd::bulk::compress(&serde_json::to_vec(&causes).unwrap(), 3).unwrap();
        assert_eq!(decode(&before).unwrap(), causes, "one text, as files of before have it");
        assert!(decode(b"nothing").is_err());
    }

    #[test]
    fn of_more_than_there_is_room_for_the_latest_are_kept_and_the_others_counted() {
        let part = LatencyPart {
            cause: 0,
            at_ns: 1_000_000,
            ns: 1_000_000,
            evidence: Evidence::Events,
            function: None,
        };
        let late = |index: u64| LateStart {
            index,
            due_ns: 0,
            latency_ns: -(index as i64),
            cpu: 0,
            parts: vec![part; 2_000],
            spans: Vec::new(),
        };
        let task = TaskCauses {
            explained: 1_024,
            worst_starts: (0..1_024).map(late).collect(),
            ..TaskCauses::default()
        };
        let causes = RunCauses { tasks: vec![task.clone(), task], ..RunCauses::default() };
        let read = decode(&encode(&causes).unwrap()).unwrap();
        for (task, kept) in causes.tasks.iter().zip(&read.tasks) {
            assert_eq!(
                task.worst_starts[..kept.worst_starts.len()],
                kept.worst_starts,
                "the latest are kept"
            );
            assert_eq!(kept.worst_starts.len() as u64 + kept.left_out, 1_024);
        }
        assert!(read.tasks[0].worst_starts.len() > 100 && read.tasks[1].left_out > 0);
    }
}
