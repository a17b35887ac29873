//! Slices of a run: one an hour, whatever holds the run.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use jitterlab_model::{Activation, Bench, Error, Quantity, RunInfo, TaskRun, TimingStats};
use jitterlab_runs::{Columns, Run};

use crate::delivery;
use crate::hash;
use crate::limit_counts::LimitCounts;
use crate::tables::{Interval, Stream, Tables, TaskSlice};

const HOUR_NS: i64 = 3_600_000_000_000;
/// Some runs that keep spikes have a histogram for each minute of the run's clock: an hour ends with a minute.
const MINUTE_NS: i64 = 60_000_000_000;

/// Cuts a run into slices of a machine: the named one, else the run's host, else one named like its file.
pub fn cut_run(run: &Run, machine: Option<&str>) -> Result<Tables, Error> {
    let info = run.info();
    if matches!(info.bench, Bench::Kernel | Bench::Mcu) {
        return Err(Error::not_measured(format!(
            "{} is simulated, and says nothing of a machine of a fleet",
            run.path().display()
        )));
    }
    if run.warnings().contains(&jitterlab_model::Warning::StillRecording) {
        return Err(Error::not_measured(format!("{} is still recorded", run.path().display()))
            .remedy("add it when it has ended"));
    }
    let stem = run.path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let machine = machine.map(str::to_owned).or_else(|| info.host.clone()).or(stem).unwrap_or_default();
    let parts = read_task_hours(run)?;
    let mut stream = Stream::new(String::new(), String::new(), &machine, info);
    let mut tables = build_tables(run, &stream, &parts);
    // A run that jitterlab recorded is known by when it began; of other sources nothing but the content tells two apart.
    let identity = match info.epoch_offset_ns {
        Some(offset) => run_identity(info, &machine, offset),
        None => delivery::content_hash(&tables),
    };
    stream.id = hash::short_hash([identity]);
    tables.set_stream(&stream.id);
    Ok(tables)
}

fn run_identity(info: &RunInfo, machine: &str, offset_ns: i64) -> String {
    let specs: Vec<_> = info.tasks.iter().map(|task| &task.spec).collect();
    let specs = serde_json::to_string(&specs).unwrap_or_default();
    hash::hash_parts([machine, &info.started, &offset_ns.to_string(), &info.command.join("\0"), &specs])
}

/// Activations of one task in one hour.
struct TaskHour {
    task: usize,
    /// Number of the hour by the run's clock.
    hour: i64,
    first_due_ns: i64,
    last_end_ns: i64,
    stats: TimingStats,
    limits: Option<LimitCounts>,
    /// The largest latency, and its due time.
    largest: Option<(i64, i64)>,
}

impl TaskHour {
    fn new(task: usize, hour: i64, times: (i64, i64), stats: TimingStats) -> Self {
        let (first_due_ns, last_end_ns) = times;
        TaskHour { task, hour, first_due_ns, last_end_ns, stats, limits: None, largest: None }
    }
}

/// The hours of a run's clock, by UTC where it is known.
struct HourClock {
    offset_ns: i64,
    utc_offset_ns: Option<i64>,
}

impl HourClock {
    fn new(info: &RunInfo) -> Self {
        let first = info.tasks.iter().filter_map(|task| task.result.as_ref()).map(|r| r.first_due_ns).min();
        let began = humantime::parse_rfc3339_weak(&info.started).ok();
        let began = began.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let began = began.and_then(|since: Duration| i64::try_from(since.as_nanos()).ok());
        let utc_offset_ns = info
            .epoch_offset_ns
            .or_else(|| began.map(|began_ns| began_ns.saturating_sub(first.unwrap_or_default())));
        let offset_ns = utc_offset_ns.unwrap_or_default();
        HourClock { offset_ns: offset_ns.saturating_sub(offset_ns.rem_euclid(MINUTE_NS)), utc_offset_ns }
    }

    fn hour_number(&self, at_ns: i64) -> i64 {
        at_ns.saturating_add(self.offset_ns).div_euclid(HOUR_NS)
    }

    fn unix_s(&self, at_ns: i64) -> Option<i64> {
        Some(at_ns.saturating_add(self.utc_offset_ns?).div_euclid(1_000_000_000))
    }
}

/// Rows of one task that come in order of time.
struct HourCutter<'a> {
    hours: &'a HourClock,
    task: usize,
    stats: TimingStats,
    limits: LimitCounts,
    open: Option<TaskHour>,
}

impl HourCutter<'_> {
    fn cut_rows(&mut self, mut rows: &[Activation], done: &mut Vec<TaskHour>) {
        while let Some(first) = rows.first() {
            let hour = self.hours.hour_number(first.due_ns);
            let inside =
                rows.iter().position(|a| self.hours.hour_number(a.due_ns) != hour).unwrap_or(rows.len());
            let (now, later) = rows.split_at(inside);
            if self.open.as_ref().is_some_and(|open| open.hour != hour) {
                self.close_hour(done);
            }
            let (task, times) = (self.task, (first.due_ns, first.due_ns));
            let open = self.open.get_or_insert_with(|| TaskHour::new(task, hour, times, TimingStats::new(0)));
            self.stats.push_all(now);
            for a in now {
                self.limits.push(a);
                open.largest = open.largest.max(Some((a.latency_ns(), a.due_ns)));
                open.last_end_ns = open.last_end_ns.max(a.end_ns);
            }
            rows = later;
        }
    }

    fn close_hour(&mut self, done: &mut Vec<TaskHour>) {
        if let Some(open) = self.open.take() {
            let (stats, limits) = (self.stats.take(), Some(self.limits.take_counts()));
            done.push(TaskHour { stats, limits, ..open });
        }
    }
}

/// Reads the hours of all tasks of a run, each task's in order of time.
fn read_task_hours(run: &Run) -> Result<Vec<TaskHour>, Error> {
    let info = run.info();
    let hours = HourClock::new(info);
    let period = |task: usize| info.tasks[task].spec.period_ns;
    let mut done = Vec::new();
    let mut sliced: BTreeMap<(usize, i64), TaskHour> = BTreeMap::new();
    run.for_each_slice(|slice| {
        let (task, hour) = (slice.task, hours.hour_number(slice.start_ns));
        let times = (slice.first_due_ns, slice.last_end_ns);
        let new = || TaskHour::new(task, hour, times, TimingStats::new(period(task)));
        let piece = sliced.entry((task, hour)).or_insert_with(new);
        slice.add_to(&mut piece.stats);
        piece.last_end_ns = piece.last_end_ns.max(slice.last_end_ns);
        let latency = slice.of(Quantity::Latency).map(|stored| stored.moments);
        if let Some(moments) = latency.filter(|moments| moments.count > 0) {
            piece.largest = piece.largest.max(Some((moments.max_ns, slice.first_due_ns)));
        }
    })?;
    done.extend(sliced.into_values());
    let mut cutters: Vec<HourCutter<'_>> = (0..info.tasks.len())
        .map(|task| HourCutter {
            hours: &hours,
            task,
            stats: TimingStats::new(period(task)),
            limits: LimitCounts::new(period(task)),
            open: None,
        })
        .collect();
    let whole: Vec<bool> = (0..info.tasks.len()).map(|task| run.keeps_all_rows(task)).collect();
    run.for_each_batch(Columns::ALL, |task, rows| {
        if whole[task] {
            cutters[task].cut_rows(rows, &mut done);
        }
    })?;
    cutters.iter_mut().for_each(|cutter| cutter.close_hour(&mut done));
    // Of other tools' histograms only the sums are known.
    if whole.contains(&false) && done.iter().all(|piece| whole[piece.task]) {
        let (stats, _) = run.timing()?.into_parts();
        for (task, stats) in stats.into_iter().enumerate().filter(|(task, _)| !whole[*task]) {
            let result = info.tasks[task].result.as_ref();
            let times = result.map_or((0, 0), |result| (result.first_due_ns, result.last_end_ns));
            done.push(TaskHour::new(task, hours.hour_number(times.0), times, stats));
        }
    }
    Ok(done)
}

fn build_tables(run: &Run, stream: &Stream, pieces: &[TaskHour]) -> Tables {
    let (info, hours) = (run.info(), HourClock::new(run.info()));
    let first_hour = pieces.iter().map(|piece| piece.hour).min().unwrap_or_default();
    let causes = run.causes().ok();
    let mut tables = Tables::default();
    // All tasks of an hour share its beginning, whatever their offsets are.
    let mut times: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for piece in pieces {
        let times = times.entry(piece.hour).or_insert((piece.first_due_ns, piece.last_end_ns));
        *times = (times.0.min(piece.first_due_ns), times.1.max(piece.last_end_ns));
    }
    let last_of = |task: usize| pieces.iter().rposition(|piece| piece.task == task);
    for (place, piece) in pieces.iter().enumerate() {
        let task = &info.tasks[piece.task];
        let is_last = last_of(piece.task) == Some(place);
        let all = pieces.iter().filter(|other| other.task == piece.task).map(|other| &other.stats);
        let mut stats = piece.stats.clone();
        let lost = if is_last { add_missed(task, all, &mut stats) } else { 0 };
        stats.drop_unknown(&task.unknown);
        let (begin_ns, end_ns) = times.get(&piece.hour).copied().unwrap_or_default();
        let interval = Interval {
            seq: piece.hour - first_hour,
            start_s: hours.unix_s(begin_ns),
            mono_ns: (info.bench == Bench::Host).then_some(begin_ns),
            length_ms: (end_ns - begin_ns) / 1_000_000,
            ..Interval::default()
        };
        // Causes are known of the run as a whole.
        let own_causes = causes.as_ref().and_then(|causes| causes.tasks.get(piece.task)).filter(|_| is_last);
        let of = TaskSlice {
            task,
            stats: &stats,
            lost,
            max_at_s: piece.largest.and_then(|(_, due_ns)| hours.unix_s(due_ns)),
            limits: piece.limits.as_ref(),
            causes: own_causes,
            epoch_offset_ns: hours.utc_offset_ns,
        };
        tables.push(stream, &interval, &of);
    }
    tables
}

/// Adds due times missed unseen to `last`; returns the number of activations that ran unrecorded. Both are known from
/// the counters that the task's thread kept itself.
fn add_missed<'a>(task: &TaskRun, all: impl Iterator<Item = &'a TimingStats>, last: &mut TimingStats) -> u64 {
    let Some(result) = &task.result else { return 0 };
    let (ran, missed) =
        all.fold((0, 0), |(ran, missed), stats| (ran + stats.executed(), missed + stats.least_missed()));
    last.add_missed(result.missed.saturating_sub(missed));
    result.executed.saturating_sub(ran)
}
