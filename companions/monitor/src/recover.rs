//! Hours that a monitor left when it was killed or lost power: their journals are counted.

use std::collections::BTreeMap;

use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::{Error, RunCauses, RunInfo, StopReason, TaskRun, TimingStats, Warning};
use jitterlab_trace::{JournalReader, atomic_file, journal_path};

use crate::archive::Archive;
use crate::clock::Moment;
use crate::counter::{HourBeginning, hour_task};
use crate::folder::{self, Folder};
use crate::hour::{Hour, HourEnd, Totals};
use crate::task_counter::TaskCounter;

/// Counts the journals that a killed monitor left and closes their days; returns the last hour's end, if any.
pub fn recover(folder: &Folder, archive: &Archive, machine: &str) -> Result<Option<HourEnd>, Error> {
    // Written halfway when the monitor was killed.
    for name in ["journal", "hours"] {
        atomic_file::remove_leftovers(&folder.path().join(name));
    }
    let mut left: Vec<HourBeginning> = folder
        .files_with_ending("journal", ".json")
        .iter()
        .filter_map(|path| folder::read_json(path).ok())
        .collect();
    // Streams by their beginning, hours by their number: within a stream the time of day may have been set back.
    left.sort_by_key(|left| left.seq);
    let mut begun: BTreeMap<String, i64> = BTreeMap::new();
    for hour in &left {
        begun.entry(hour.stream.clone()).or_insert(hour.clocks_ns.2);
    }
    left.sort_by_key(|left| begun.get(&left.stream).copied());
    let totals = if folder.totals_path().exists() {
        folder::read_json(&folder.totals_path())?
    } else {
        Totals::default()
    };
    let mut end = folder.read_totals()?.end;
    let mut streams: Vec<(String, RunInfo)> = Vec::new();
    for beginning in &left {
        let HourBeginning { stream, seq, .. } = beginning;
        let journal = journal_path(&folder.run_path(stream, *seq));
        let is_counted = totals.streams.get(stream).is_some_and(|next| seq < next);
        let reader = JournalReader::open(&journal);
        let info = reader.as_ref().map(|reader| reader.info().clone());
        let written = folder.hour_path(stream, *seq);
        if !is_counted
            && !written.exists()
            && let Ok(reader) = &reader
            && let Some(hour) = count_journal(reader, beginning, machine, end.as_ref())?
        {
            end = Some(hour.hour_end());
            folder::write_json(&written, &hour)?;
        }
        if !written.exists() {
            let _ = std::fs::remove_file(&journal);
            let _ = std::fs::remove_file(folder.beginning_path(stream, *seq));
        }
        if let Ok(info) = info
            && streams.iter().all(|(known, _)| known != stream)
        {
            streams.push((stream.clone(), info));
        }
    }
    for hour in folder.read_hours() {
        if streams.iter().all(|(known, _)| *known != hour.stream) {
            // Its journals are gone: the run file is there already.
            let tasks = hour.tasks.iter().map(|task| jitterlab_model::TaskSpec {
                name: task.name.clone(),
                period_ns: task.period_ns,
                ..Default::default()
            });
            streams
                .push((hour.stream.clone(), RunInfo::new(jitterlab_model::Bench::Host, "monotonic", tasks)));
        }
    }
    for (stream, info) in streams {
        let stop = info.stop.clone().or(Some(StopReason::Crashed));
        let mut info = RunInfo { stop, ..info };
        if info.stop == Some(StopReason::Crashed) {
            info.warnings.push(Warning::NotClosed);
        }
        archive.close_stream(&stream, &info)?;
    }
    Ok(end)
}

/// Counts the figures of an hour from its journal; `None` where nothing was recorded.
fn count_journal(
    reader: &JournalReader,
    beginning: &HourBeginning,
    machine: &str,
    end: Option<&HourEnd>,
) -> Result<Option<Hour>, Error> {
    let info = reader.info();
    let purposes: Vec<&'static Purpose> =
        beginning.purposes.iter().filter_map(|name| Purpose::by_name(name)).collect();
    let mut counters: Vec<TaskCounter> = info
        .tasks
        .iter()
        .map(|run| TaskCounter::new(&run.spec.name, run.spec.period_ns, &purposes))
        .collect();
    let mut sums: Vec<(TimingStats, Option<i64>)> =
        counters.iter().map(|counter| (TimingStats::new(counter.period_ns), None)).collect();
    reader.for_each_slice(|slice| {
        if let Some((stats, first_due_ns)) = sums.get_mut(slice.task) {
            slice.add_to(stats);
            *first_due_ns =
                Some(first_due_ns.map_or(slice.first_due_ns, |ns: i64| ns.min(slice.first_due_ns)));
        }
    })?;
    // Rows are those of spikes and their neighbours: all that is above a limit is among them.
    reader.for_each_batch(|task, rows| {
        if let Some(counter) = counters.get_mut(task) {
            counter.push(rows);
        }
    })?;
    let causes = reader.causes()?.unwrap_or_default();
    let (mono_ns, boot_ns, utc_ns) = beginning.clocks_ns;
    let now = Moment { mono_ns, boot_ns, utc_ns };
    let Some(first_ns) = sums.iter().filter_map(|(_, first)| *first).min() else { return Ok(None) };
    let mut last_ns = first_ns;
    let mut tasks = Vec::new();
    for (number, (mut counter, (stats, first_due_ns))) in counters.into_iter().zip(sums).enumerate() {
        let lost = info.tasks[number].result.as_ref().map_or(0, |result| result.dropped);
        let mut count = counter.take_hour();
        (count.stats, count.lost, count.first_due_ns) = (stats, lost, first_due_ns);
        count.next_due_ns =
            first_due_ns.map_or(first_ns, |ns| ns + counter.period_ns * count.due_times() as i64);
        last_ns = last_ns.max(count.next_due_ns);
        let causes: &RunCauses = &causes;
        let run: &TaskRun = &info.tasks[number];
        tasks.push(hour_task(&counter, &count, run, causes.tasks.get(number), &now));
    }
    let boot_ns = (now.boottime_from_mono(first_ns), now.boottime_from_mono(last_ns));
    let utc_ns = (now.utc_from_mono(first_ns), now.utc_from_mono(last_ns));
    let gap_ns = end.map_or(0, |end| end.gap_until(&beginning.boot, boot_ns.0, utc_ns.0));
    Ok(Some(Hour {
        stream: beginning.stream.clone(),
        seq: beginning.seq,
        machine: machine.into(),
        boot: beginning.boot.clone(),
        mono_ns: first_ns,
        end_mono_ns: last_ns,
        boot_ns,
        utc_ns,
        clock_step_ns: 0,
        gap_ns,
        recovered: true,
        tasks,
    }))
}
