//! Archive of hours that are over: written, joined to days, delivered, and given up when the disk's share is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use jitterlab_analysis::causes::merge;
use jitterlab_model::{Error, RunCauses, RunInfo, StopReason};
use jitterlab_trace::{JournalReader, RunReader, RunWriter, join_journals, journal_path};

use crate::clock::Clock;
use crate::folder::{self, Folder};
use crate::hour::{Hour, Totals};
use crate::messages::Message;
use crate::outbox;

/// Hours that wait for a disk that takes nothing; then two become one.
const MAX_WAITING_HOURS: usize = 24;
/// A disk that takes nothing is tried again after this time.
const RETRY: Duration = Duration::from_secs(60);

/// An hour that is over.
pub struct ClosedHour {
    /// The stream of the hour.
    pub stream: String,
    /// Number of the hour in the stream, from 0.
    pub seq: u64,
    /// Figures; `None` where nothing was due.
    pub hour: Option<Hour>,
    /// The run's description, with what was counted in the hour.
    pub info: RunInfo,
    /// Writer of the journal, where there is one.
    pub writer: Option<RunWriter>,
    /// True if the stream has ended.
    pub is_last: bool,
}

/// Limits on the size and age of kept measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Bytes of the whole folder at most.
    pub bytes: u64,
    /// Age of run files at most.
    pub age: Option<Duration>,
}

/// Writes hours and days.
pub struct Archive {
    folder: Folder,
    retention: Retention,
    clock: Arc<dyn Clock>,
    messages: Sender<Message>,
    /// Hours that the disk did not take.
    waiting: Vec<Hour>,
    /// Called with the journal of each hour that is over.
    after_hour: Box<dyn FnMut(&Path) + Send>,
}

impl Archive {
    /// An archive that writes into this folder.
    pub fn new(
        folder: Folder,
        retention: Retention,
        clock: Arc<dyn Clock>,
        messages: Sender<Message>,
        after_hour: Box<dyn FnMut(&Path) + Send>,
    ) -> Self {
        Archive { folder, retention, clock, messages, waiting: Vec::new(), after_hour }
    }

    /// Closes hours as they arrive until all senders are gone; tries again to write those that wait.
    pub fn run(mut self, closed: &Receiver<ClosedHour>) {
        loop {
            match closed.recv_timeout(RETRY) {
                Ok(closed) => self.close_hour(closed),
                Err(RecvTimeoutError::Timeout) => self.write_waiting(),
                Err(RecvTimeoutError::Disconnected) => return self.write_waiting(),
            }
        }
    }

    fn report_error(&self, error: &Error) {
        let _ = self.messages.send(Message::Trouble(error.to_string()));
    }

    /// Closes the journal of an hour, writes its figures, and closes its day if that is over.
    pub fn close_hour(&mut self, closed: ClosedHour) {
        let ClosedHour { stream, seq, hour, mut info, writer, is_last } = closed;
        info.stop = Some(StopReason::Closed);
        if let Some(writer) = writer {
            writer.leave_journal(&info);
        }
        let day = hour.as_ref().map(|hour| (utc_day(hour.utc_ns.0), utc_day(hour.utc_ns.1)));
        match hour {
            Some(hour) => {
                self.waiting.push(hour);
                self.write_waiting();
                (self.after_hour)(&journal_path(&self.folder.run_path(&stream, seq)));
            }
            None => self.remove_journal(&stream, seq),
        }
        if is_last || day.is_some_and(|(first, last)| first != last) {
            let closed = self.close_stream(&stream, &info);
            closed.unwrap_or_else(|error| self.report_error(&error));
        }
        self.enforce_retention();
    }

    /// Removes the journal of an hour, and the file of its beginning.
    fn remove_journal(&self, stream: &str, seq: u64) {
        let _ = fs::remove_file(journal_path(&self.folder.run_path(stream, seq)));
        let _ = fs::remove_file(self.folder.beginning_path(stream, seq));
    }

    /// Writes the hours that wait; those that the disk does not take stay in memory, joined if too many.
    fn write_waiting(&mut self) {
        while let Some(hour) = self.waiting.first() {
            if let Err(error) = folder::write_json(&self.folder.hour_path(&hour.stream, hour.seq), hour) {
                self.report_error(&error);
                break;
            }
            self.waiting.remove(0);
        }
        while self.waiting.len() > MAX_WAITING_HOURS {
            let same = |pair: &[Hour]| pair[0].stream == pair[1].stream;
            let Some(first) = self.waiting.windows(2).position(same) else { break };
            let next = self.waiting.remove(first + 1);
            // Its journal would be counted once more.
            self.remove_journal(&self.waiting[first].stream, self.waiting[first].seq);
            self.waiting[first].merge_next(&next);
        }
    }

    /// Writes the run file of the hours of a stream that wait for it, delivers them and adds them to the totals.
    ///
    /// # Errors
    /// The disk takes nothing; it is tried again with the next day.
    pub fn close_stream(&self, stream: &str, info: &RunInfo) -> Result<(), Error> {
        let mut hours = self.folder.read_hours();
        hours.retain(|hour| hour.stream == stream);
        if hours.is_empty() {
            return Ok(());
        }
        let journal = |hour: &Hour| journal_path(&self.folder.run_path(stream, hour.seq));
        // A monitor that was killed, or a disk that took nothing, may have left hours that a run file has already.
        let is_open =
            |hour: &&Hour| journal(hour).exists() && self.folder.find_day(stream, hour.seq).is_none();
        let open: Vec<Hour> = hours.iter().filter(is_open).cloned().collect();
        if let Some((first, last)) = open.first().zip(open.last()) {
            let journals: Vec<PathBuf> = open.iter().map(journal).collect();
            let target = self.folder.day_path(&utc_day(first.utc_ns.0), stream, first.seq, last.seq);
            write_day(&journals, &target, describe_day(info, &open, &journals[0]))?;
        }
        hours.iter().for_each(|hour| self.remove_journal(stream, hour.seq));
        let path = self.folder.totals_path();
        let mut totals: Totals = if path.exists() { folder::read_json(&path)? } else { Totals::default() };
        let new: Vec<Hour> = hours.iter().filter(|hour| !totals.contains(hour)).cloned().collect();
        if let Some(first) = new.first() {
            // By the description in the run file the same hours give the same files, whoever delivers them.
            let day = self.folder.find_day(stream, first.seq).and_then(|path| RunReader::open(path).ok());
            outbox::deliver_hours(self.folder.outbox(), &new, day.as_ref().map_or(info, RunReader::info))?;
        }
        hours.iter().for_each(|hour| totals.add(hour));
        // A stream whose hours are gone has no more that could be counted twice.
        let waiting = self.folder.read_hours();
        totals.streams.retain(|known, _| waiting.iter().any(|hour| hour.stream == *known));
        folder::write_json(&path, &totals)?;
        hours.iter().for_each(|hour| {
            let _ = fs::remove_file(self.folder.hour_path(stream, hour.seq));
        });
        Ok(())
    }

    /// Removes days' run files beyond the limit on age; beyond that on size the oldest of them, then of deliveries.
    pub fn enforce_retention(&self) {
        let now =
            SystemTime::UNIX_EPOCH + Duration::from_nanos(self.clock.now().utc_ns.max(0).unsigned_abs());
        let is_old = |path: &Path| {
            let age = now.duration_since(folder::modified_time(path)).unwrap_or_default();
            self.retention.age.is_some_and(|most| age > most)
        };
        for path in self.folder.files_with_ending("days", ".parquet").iter().filter(|path| is_old(path)) {
            let _ = fs::remove_file(path);
        }
        let mut bytes = self.folder.size_bytes();
        for folder in ["days", "outbox"] {
            for path in self.folder.files_with_ending(folder, ".parquet") {
                if bytes <= self.retention.bytes {
                    return;
                }
                let size = fs::metadata(&path).map_or(0, |found| found.len());
                if fs::remove_file(&path).is_ok() {
                    bytes = bytes.saturating_sub(size);
                    let _ = self.messages.send(Message::GivenUp(path));
                }
            }
        }
    }
}

/// Day (UTC) of a moment in Unix time, as `2026-11-28`.
pub fn utc_day(utc_ns: i64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(utc_ns.max(0).unsigned_abs());
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
}

/// The description of a day: the beginning of the first hour, and the counts of all hours.
fn describe_day(info: &RunInfo, hours: &[Hour], first: &Path) -> RunInfo {
    let begun = JournalReader::open(first).ok();
    let mut info = info.clone();
    if let (Some(begun), Some(hour)) = (&begun, hours.first()) {
        let utc = SystemTime::UNIX_EPOCH + Duration::from_nanos(hour.utc_ns.0.max(0).unsigned_abs());
        info.started = humantime::format_rfc3339_seconds(utc).to_string();
        info.epoch_offset_ns = begun.info().epoch_offset_ns;
    }
    if let Some((first, others)) = hours.split_first() {
        let mut all = first.clone();
        others.iter().for_each(|hour| all.merge_next(hour));
        for (run, task) in info.tasks.iter_mut().zip(&all.tasks) {
            run.result = Some(task.task_result(all.mono_ns, all.end_mono_ns - task.period_ns));
        }
    }
    info
}

/// Joins the journals of a day to its run file, with the causes of all.
fn write_day(journals: &[PathBuf], target: &Path, info: RunInfo) -> Result<(), Error> {
    let mut causes = RunCauses::default();
    for path in journals {
        if let Some(piece) = JournalReader::open(path)?.causes()? {
            merge(&mut causes, &piece);
        }
    }
    let is_explained = causes.tasks.iter().any(|task| task.explained > 0);
    join_journals(journals, target, info, Some(&causes).filter(|_| is_explained)).map(|_| ())
}
