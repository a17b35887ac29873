//! Archive of hours that are over: written, joined to days, delivered, and given up when the disk's share is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use jitterlab_analysis::causes::merge;
use jitterlab_model::{Error, RunCauses, RunInfo, StopReason};
use jitterlab_trace::{JournalReader, RunReader, RunWriter, join, journal_path};

use crate::clock::Clock;
use crate::folder::{self, Folder};
use crate::hour::{Hour, Totals};
use crate::messages::Message;
use crate::outbox;

/// Hours that wait for a disk that takes nothing; then two become one.
const MOST_WAITING: usize = 24;
/// A disk that takes nothing is tried again after this time.
const RETRY: Duration = Duration::from_secs(60);

/// An hour that is over.
pub struct ClosedHour {
    /// Its stream and its number there.
    pub stream: String,
    /// See `stream`.
    pub seq: u64,
    /// Its figures; none where nothing was due.
    pub hour: Option<Hour>,
    /// The run's description, with what was counted in the hour.
    pub info: RunInfo,
    /// Its journal, where there is one.
    pub writer: Option<RunWriter>,
    /// Whether its stream has ended.
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
    /// Writes into this folder.
    pub fn new(
        folder: Folder,
        retention: Retention,
        clock: Arc<dyn Clock>,
        messages: Sender<Message>,
        after_hour: Box<dyn FnMut(&Path) + Send>,
    ) -> Self {
        Archive { folder, retention, clock, messages, waiting: Vec::new(), after_hour }
    }

    /// Takes hours until nobody sends any more.
    pub fn work(mut self, closed: &Receiver<ClosedHour>) {
        loop {
            match closed.recv_timeout(RETRY) {
                Ok(closed) => self.close(closed),
                Err(RecvTimeoutError::Timeout) => self.write_waiting(),
                Err(RecvTimeoutError::Disconnected) => return self.write_waiting(),
            }
        }
    }

    fn trouble(&self, error: &Error) {
        let _ = self.messages.send(Message::Trouble(error.to_string()));
    }

    /// Takes an hour that is over.
    pub fn close(&mut self, closed: ClosedHour) {
        let ClosedHour { stream, seq, hour, mut info, writer, is_last } = closed;
        info.stop = Some(StopReason::Closed);
        if let Some(writer) = writer {
            writer.leave(&info);
        }
        let day = hour.as_ref().map(|hour| (day_of(hour.utc_ns.0), day_of(hour.utc_ns.1)));
        match hour {
            Some(hour) => {
                self.waiting.push(hour);
                self.write_waiting();
                (self.after_hour)(&journal_path(&self.folder.recording(&stream, seq)));
            }
            None => self.forget(&stream, seq),
        }
        if is_last || day.is_some_and(|(first, last)| first != last) {
            let closed = self.close_stream(&stream, &info);
            closed.unwrap_or_else(|error| self.trouble(&error));
        }
        self.keep_within_bounds();
    }

    /// Removes the journal of an hour, and what was known at its beginning.
    fn forget(&self, stream: &str, seq: u64) {
        let _ = fs::remove_file(journal_path(&self.folder.recording(stream, seq)));
        let _ = fs::remove_file(self.folder.beginning(stream, seq));
    }

    /// Writes the hours that wait; where the disk takes none, they stay in memory.
    fn write_waiting(&mut self) {
        while let Some(hour) = self.waiting.first() {
            if let Err(error) = folder::write(&self.folder.hour(&hour.stream, hour.seq), hour) {
                self.trouble(&error);
                break;
            }
            self.waiting.remove(0);
        }
        while self.waiting.len() > MOST_WAITING {
            let same = |pair: &[Hour]| pair[0].stream == pair[1].stream;
            let Some(first) = self.waiting.windows(2).position(same) else { break };
            let next = self.waiting.remove(first + 1);
            // Its journal would be counted once more.
            self.forget(&self.waiting[first].stream, self.waiting[first].seq);
            self.waiting[first].absorb(&next);
        }
    }

    /// Makes the run file of the hours of a stream that wait for it, and delivers them.
    ///
    /// # Errors
    /// The disk takes nothing; it is tried again with the next day.
    pub fn close_stream(&self, stream: &str, info: &RunInfo) -> Result<(), Error> {
        let mut hours = self.folder.read_hours();
        hours.retain(|hour| hour.stream == stream);
        if hours.is_empty() {
            return Ok(());
        }
        let journal = |hour: &Hour| journal_path(&self.folder.recording(stream, hour.seq));
        // A monitor that was killed, or a disk that took nothing, may have left hours that a run file has already.
        let is_open =
            |hour: &&Hour| journal(hour).exists() && self.folder.day_with(stream, hour.seq).is_none();
        let open: Vec<Hour> = hours.iter().filter(is_open).cloned().collect();
        if let Some((first, last)) = open.first().zip(open.last()) {
            let journals: Vec<PathBuf> = open.iter().map(journal).collect();
            let target = self.folder.day(&day_of(first.utc_ns.0), stream, first.seq, last.seq);
            make_day(&journals, &target, described(info, &open, &journals[0]))?;
        }
        hours.iter().for_each(|hour| self.forget(stream, hour.seq));
        let path = self.folder.totals();
        let mut totals: Totals = if path.exists() { folder::read(&path)? } else { Totals::new() };
        let new: Vec<Hour> = hours.iter().filter(|hour| !totals.has(hour)).cloned().collect();
        if let Some(first) = new.first() {
            // By the description in the run file the same hours give the same files, whoever delivers them.
            let day = self.folder.day_with(stream, first.seq).and_then(|path| RunReader::open(path).ok());
            outbox::deliver(self.folder.outbox(), &new, day.as_ref().map_or(info, RunReader::info))?;
        }
        hours.iter().for_each(|hour| totals.add(hour));
        // A stream whose hours are gone has no more that could be counted twice.
        let waiting = self.folder.read_hours();
        totals.streams.retain(|known, _| waiting.iter().any(|hour| hour.stream == *known));
        folder::write(&path, &totals)?;
        hours.iter().for_each(|hour| {
            let _ = fs::remove_file(self.folder.hour(stream, hour.seq));
        });
        Ok(())
    }

    /// Gives up the finest and oldest where there is too much: run files of days, then what was delivered.
    pub fn keep_within_bounds(&self) {
        let now =
            SystemTime::UNIX_EPOCH + Duration::from_nanos(self.clock.now().utc_ns.max(0).unsigned_abs());
        let is_old = |path: &Path| {
            let age = now.duration_since(folder::written(path)).unwrap_or_default();
            self.retention.age.is_some_and(|most| age > most)
        };
        for path in self.folder.files("days", ".parquet").iter().filter(|path| is_old(path)) {
            let _ = fs::remove_file(path);
        }
        let mut bytes = self.folder.bytes();
        for folder in ["days", "outbox"] {
            for path in self.folder.files(folder, ".parquet") {
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

/// The day of a moment, as `2026-11-28`.
pub fn day_of(utc_ns: i64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(utc_ns.max(0).unsigned_abs());
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
}

/// The description of a day: its first hour's beginning, and what was counted in all of them.
fn described(info: &RunInfo, hours: &[Hour], first: &Path) -> RunInfo {
    let begun = JournalReader::open(first).ok();
    let mut info = info.clone();
    if let (Some(begun), Some(hour)) = (&begun, hours.first()) {
        let utc = SystemTime::UNIX_EPOCH + Duration::from_nanos(hour.utc_ns.0.max(0).unsigned_abs());
        info.started = humantime::format_rfc3339_seconds(utc).to_string();
        info.epoch_offset_ns = begun.info().epoch_offset_ns;
    }
    if let Some((first, others)) = hours.split_first() {
        let mut all = first.clone();
        others.iter().for_each(|hour| all.absorb(hour));
        for (run, task) in info.tasks.iter_mut().zip(&all.tasks) {
            run.result = Some(task.result(all.mono_ns, all.end_mono_ns - task.period_ns));
        }
    }
    info
}

/// Joins the journals of a day to its run file, with the causes of all.
fn make_day(journals: &[PathBuf], target: &Path, info: RunInfo) -> Result<(), Error> {
    let mut causes = RunCauses::default();
    for path in journals {
        if let Some(piece) = JournalReader::open(path)?.causes()? {
            merge(&mut causes, &piece);
        }
    }
    let is_explained = causes.tasks.iter().any(|task| task.explained > 0);
    join(journals, target, info, Some(&causes).filter(|_| is_explained)).map(|_| ())
}
