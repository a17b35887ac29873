//! Activations as they come, cut into hours: each hour has a journal and figures of its own, so that what a killed monitor
//! leaves is either counted or in its journal, never both.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use jitterlab_analysis::causes::{main_cause, merge};
use jitterlab_analysis::purposes::Purpose;
use jitterlab_fleet::limit_counts::{LimitBreach, LimitCounts};
use jitterlab_host::CauseRequest;
use jitterlab_model::causes::TaskCauses;
use jitterlab_model::facts::{NO_REQUEST_US, Power};
use jitterlab_model::{Activation, Error, Keep, RunCauses, RunInfo, TaskResult};
use jitterlab_trace::{RunWriter, StoredDistribution};
use serde::{Deserialize, Serialize};

use crate::alarms::Breach;
use crate::archive::ClosedHour;
use crate::clock::{Clock, Moment};
use crate::folder::{self, Folder};
use crate::hour::{Hour, HourCause, HourEnd, HourTask, WorstStart};
use crate::live::LiveFigures;
use crate::messages::Message;
use crate::task_counter::{HourCounts, TaskCounter};

const SECOND_NS: i64 = 1_000_000_000;
/// Label of a run that another process has set a limit of idle states for.
const IDLE_LIMIT: &str = "cpu_dma_latency";
/// Time after the end of an hour that a task is waited for that has not reached it.
const MAX_HOUR_DELAY_NS: i64 = 5_000_000_000;
/// Interval between requests for causes.
const PIECE_EVERY_NS: i64 = 5_000_000_000;
/// Time after a breach beyond which its cause is unknown.
const CAUSE_WITHIN_NS: i64 = 12_000_000_000;
/// Time after a breach that causes are looked for: what comes every ten minutes gets its name.
const AFTER_SPIKE_NS: i64 = 900_000_000_000;
/// Time at the beginning of each hour that causes are looked for.
const HOUR_START_NS: i64 = 60_000_000_000;

/// Times at which causes are looked for, which costs some microseconds a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CauseTimes {
    /// Never.
    Never,
    /// For 15 minutes after a start above a limit, and for a minute of each hour.
    AfterSpike,
    /// Always.
    Always,
}

/// Rules of counting: machine, hours, purposes, causes.
#[derive(Debug, Clone)]
pub struct CounterRules {
    pub machine: String,
    /// Length of an hour, which tests make shorter.
    pub slice_ns: i64,
    pub purposes: Vec<&'static Purpose>,
    /// Times at which causes are looked for.
    pub why: CauseTimes,
}

/// Facts known at the beginning of an hour, by which the next monitor counts its journal if this one is killed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HourBeginning {
    /// The stream of the hour.
    pub stream: String,
    /// Number of the hour in the stream, from 0.
    pub seq: u64,
    pub boot: String,
    /// Clocks at the beginning: monotonic, boot, Unix.
    pub clocks_ns: (i64, i64, i64),
    /// Purposes that were asked for.
    pub purposes: Vec<String>,
}

/// A stretch of measuring without a break.
struct Stream {
    id: String,
    seq: u64,
    info: RunInfo,
    counters: Vec<TaskCounter>,
    opened: Moment,
    end_mono_ns: i64,
    writer: Option<RunWriter>,
    /// Journal of the next hour, once a task is in it.
    next_writer: Option<RunWriter>,
    /// Name and description of the stream that follows this hour, where the machine has changed in it.
    changed: Option<(String, RunInfo)>,
    causes: RunCauses,
    /// Missed due times and lost activations of each task in hours that are closed, and activations of all.
    counted: Vec<(u64, u64, u64)>,
}

impl Stream {
    /// Stream, number and description of the hour that follows.
    fn next_hour(&self) -> (&str, u64, &RunInfo) {
        match &self.changed {
            Some((id, info)) => (id, 0, info),
            None => (&self.id, self.seq + 1, &self.info),
        }
    }
}

/// A breach whose cause is looked for.
struct PendingBreach {
    task: usize,
    broken: LimitBreach,
    since_ns: i64,
}

/// Counts the activations of a source by hours, records them, and reports breaches with their causes.
pub struct Counter {
    rules: CounterRules,
    clock: Arc<dyn Clock>,
    folder: Folder,
    archive: Sender<ClosedHour>,
    messages: Sender<Message>,
    live: Arc<LiveFigures>,
    stream: Option<Stream>,
    end: Option<HourEnd>,
    pending: Vec<PendingBreach>,
    last_request_ns: i64,
    last_breach_ns: Option<i64>,
    looks_for_causes: bool,
    /// Reason why the journal cannot be written; `None` while it can.
    pub journal_failure: Option<String>,
}

impl Counter {
    /// A counter without a stream; `end` is the end of the last hour before.
    pub fn new(
        rules: CounterRules,
        clock: Arc<dyn Clock>,
        folder: Folder,
        (archive, messages): (Sender<ClosedHour>, Sender<Message>),
        live: Arc<LiveFigures>,
        end: Option<HourEnd>,
    ) -> Self {
        Counter {
            rules,
            clock,
            folder,
            archive,
            messages,
            live,
            stream: None,
            end,
            pending: Vec::new(),
            last_request_ns: 0,
            last_breach_ns: None,
            looks_for_causes: false,
            journal_failure: None,
        }
    }

    /// Rule for the starts that are recorded: those above the least limit of any purpose in force, with neighbours.
    pub fn keep_rule(&self, period_ns: i64) -> Keep {
        let limits = LimitCounts::for_purposes(&self.rules.purposes, period_ns);
        let least = limits.limits().iter().map(|limit| limit.limit_ns).filter(|ns| *ns > 1).min();
        Keep::Spikes { above_ns: least.unwrap_or(Keep::ABOVE_NS) }
    }

    /// Stream and number of the hour that is recorded; `None` where nothing is measured.
    pub fn current_hour(&self) -> Option<(&str, u64)> {
        self.stream.as_ref().map(|stream| (&*stream.id, stream.seq))
    }

    /// Begins a stream of the tasks that `info` describes.
    pub fn begin_stream(&mut self, id: String, info: RunInfo) {
        let now = self.clock.now();
        let power = info.facts_before.as_ref().map(|facts| facts.power.clone()).unwrap_or_default();
        let info = with_power(info, &power);
        let counters: Vec<TaskCounter> = info
            .tasks
            .iter()
            .map(|task| TaskCounter::new(&task.spec.name, task.spec.period_ns, &self.rules.purposes))
            .collect();
        let limits: Vec<_> = counters.iter().map(|counter| counter.limits().limits().to_vec()).collect();
        self.live.begin_tasks(&info, &limits);
        let counted = vec![(0, 0, 0); counters.len()];
        let mut stream = Stream {
            end_mono_ns: self.hour_end_ns(&now),
            id,
            seq: 0,
            info,
            counters,
            opened: now,
            writer: None,
            next_writer: None,
            changed: None,
            causes: RunCauses::default(),
            counted,
        };
        stream.writer = self.create_journal(&stream.id, 0, &stream.info, &now);
        self.stream = Some(stream);
    }

    /// Begins a stream of this name with the next second, for new limits of idle states; false if not yet.
    /// Where an hour is just ending it is to be called again.
    pub fn change_power(&mut self, id: String, power: &Power) -> bool {
        let now = self.clock.now();
        let Some(stream) = &mut self.stream else { return true };
        if stream.changed.is_some() || stream.counters.iter().any(TaskCounter::has_closed) {
            return false;
        }
        let next_second_ns = (now.mono_ns.div_euclid(SECOND_NS) + 1) * SECOND_NS;
        stream.end_mono_ns = stream.end_mono_ns.min(next_second_ns);
        stream.changed = Some((id, with_power(stream.info.clone(), power)));
        true
    }

    /// End of the hour that begins at `now`: a whole second of the monotonic clock, as slices of journals are.
    fn hour_end_ns(&self, now: &Moment) -> i64 {
        let left_ns = self.rules.slice_ns - now.utc_ns.rem_euclid(self.rules.slice_ns);
        let end_ns = now.mono_ns + left_ns;
        (end_ns - end_ns.rem_euclid(SECOND_NS)).max(now.mono_ns + 1)
    }

    /// Creates the journal of an hour and the file of its beginning; `None` where the disk takes nothing.
    fn create_journal(&mut self, id: &str, seq: u64, info: &RunInfo, now: &Moment) -> Option<RunWriter> {
        let beginning = HourBeginning {
            stream: id.into(),
            seq,
            boot: self.clock.current_boot_id(),
            clocks_ns: (now.mono_ns, now.boot_ns, now.utc_ns),
            purposes: self.rules.purposes.iter().map(|purpose| purpose.name.into()).collect(),
        };
        let info = RunInfo { epoch_offset_ns: Some(now.utc_ns - now.mono_ns), ..info.clone() };
        let begun = folder::write_json(&self.folder.beginning_path(id, seq), &beginning)
            .and_then(|()| RunWriter::create(self.folder.run_path(id, seq), &info));
        match begun {
            Ok(mut writer) => {
                writer.write_seldom();
                self.journal_failure = None;
                Some(writer)
            }
            Err(error) => {
                self.report_failure(&error);
                None
            }
        }
    }

    fn create_next_journal(&mut self, stream: &Stream) -> Option<RunWriter> {
        let now = self.clock.now();
        let (id, seq, info) = stream.next_hour();
        self.create_journal(id, seq, info, &now)
    }

    fn report_failure(&mut self, error: &Error) {
        if self.journal_failure.is_none() {
            let _ = self.messages.send(Message::Trouble(error.to_string()));
        }
        self.journal_failure = Some(error.to_string());
    }

    /// Adds the next activations of a task to the hour, and those after its end to the next.
    pub fn add_activations(&mut self, task: usize, rows: &[Activation]) {
        let Some(mut stream) = self.stream.take() else { return };
        let Some(counter) = stream.counters.get(task) else { return self.stream = Some(stream) };
        let cut = match counter.has_closed() {
            true => 0,
            false => rows.iter().position(|a| a.due_ns >= stream.end_mono_ns).unwrap_or(rows.len()),
        };
        let (before, behind) = rows.split_at(cut);
        self.count_rows(&mut stream, task, before);
        if !behind.is_empty() {
            if !stream.counters[task].has_closed() {
                stream.counters[task].close_hour();
                if stream.next_writer.is_none() {
                    stream.next_writer = self.create_next_journal(&stream);
                }
            }
            self.count_rows(&mut stream, task, behind);
        }
        let all_passed = stream.counters.iter().all(TaskCounter::has_closed);
        self.stream = Some(stream);
        if all_passed {
            self.close_hour();
        }
    }

    /// Counts and records a task's rows of one hour, updates its live figures, and queues its breaches.
    /// They wait until their cause is known.
    fn count_rows(&mut self, stream: &mut Stream, task: usize, rows: &[Activation]) {
        let Some(last) = rows.last() else { return };
        let counter = &mut stream.counters[task];
        let (above, lost) = (counter.limits().counts().to_vec(), counter.open_counts().lost);
        let broken = counter.push(rows);
        let (_, _, seen) = &mut stream.counted[task];
        *seen += rows.len() as u64;
        let writer = if counter.has_closed() { &mut stream.next_writer } else { &mut stream.writer };
        if let Some(Err(error)) = writer.as_mut().map(|writer| writer.append(task, rows)) {
            self.report_failure(&error);
        }
        let now = self.clock.now();
        let open = counter.open_counts();
        self.live.update_task(&counter.name, |live| {
            live.stats.push_all(rows);
            live.lost += open.lost - lost;
            for (all, (after, before)) in
                live.above.iter_mut().zip(counter.limits().counts().iter().zip(&above))
            {
                *all += after - before;
            }
            live.max_ns = open.stats.latency.max_ns();
            live.last_start_ns = Some(now.utc_from_mono(last.start_ns));
        });
        if !broken.is_empty() {
            self.last_breach_ns = Some(now.mono_ns);
        }
        for broken in broken {
            self.pending.push(PendingBreach { task, broken, since_ns: now.mono_ns });
            if !self.looks_for_causes || self.pending.len() > MAX_PENDING {
                self.send_resolved_breaches(stream, None);
            }
        }
    }

    /// Returns the present request for causes; `looked_for` is true if the source looks for them.
    pub fn next_cause_request(&mut self, looked_for: bool) -> CauseRequest {
        let now_ns = self.clock.now().mono_ns;
        let since = |ns: i64| now_ns - ns;
        let opened_ns = self.stream.as_ref().map_or(now_ns, |stream| stream.opened.mono_ns);
        let wanted = match self.rules.why {
            CauseTimes::Never => false,
            CauseTimes::Always => true,
            CauseTimes::AfterSpike => {
                self.last_breach_ns.is_some_and(|ns| since(ns) < AFTER_SPIKE_NS)
                    || since(opened_ns) < HOUR_START_NS
            }
        };
        self.looks_for_causes = looked_for && wanted;
        if !wanted {
            return CauseRequest::Nothing;
        }
        if since(self.last_request_ns) < PIECE_EVERY_NS {
            return CauseRequest::Later;
        }
        self.last_request_ns = now_ns;
        CauseRequest::Piece
    }

    /// Adds causes found since the last call, and sends the breaches that they explain.
    pub fn add_causes(&mut self, piece: &RunCauses) {
        let Some(mut stream) = self.stream.take() else { return };
        merge(&mut stream.causes, piece);
        self.send_resolved_breaches(&stream, Some(piece));
        self.stream = Some(stream);
    }

    /// Stops requests for causes, which cannot be looked for.
    pub fn disable_causes(&mut self, error: &Error) {
        self.rules.why = CauseTimes::Never;
        self.looks_for_causes = false;
        let _ = self.messages.send(Message::Trouble(error.to_string()));
    }

    /// Sends pending breaches whose cause is known by now, or will not be.
    fn send_resolved_breaches(&mut self, stream: &Stream, piece: Option<&RunCauses>) {
        let now = self.clock.now();
        let found = |waiting: &PendingBreach| {
            let of: &TaskCauses = piece?.tasks.get(waiting.task)?;
            let late = of.worst_starts.iter().find(|late| late.index == waiting.broken.index)?;
            Some(main_cause(of, late).cloned())
        };
        let mut left = Vec::new();
        for waiting in std::mem::take(&mut self.pending) {
            let cause = found(&waiting);
            let is_late = now.mono_ns - waiting.since_ns >= CAUSE_WITHIN_NS;
            if cause.is_none() && self.looks_for_causes && !is_late && left.len() < MAX_PENDING {
                left.push(waiting);
                continue;
            }
            let cause = cause.flatten();
            let PendingBreach { task, broken, .. } = waiting;
            let name = &stream.counters[task].name;
            self.live.count_cause(name, cause.as_ref());
            let breach = Breach {
                task: name.clone(),
                utc_ns: now.utc_from_mono(broken.due_ns),
                late_ns: broken.late_ns,
                missed: broken.missed,
                purpose: broken.limit.purpose,
                limit_ns: broken.limit.limit_ns,
                cause,
            };
            let _ = self.messages.send(Message::Breach(breach));
        }
        self.pending = left;
    }

    /// Closes an hour whose tasks do not come, and gives up on causes; to be called several times a second.
    pub fn tick(&mut self) {
        let now = self.clock.now();
        if self.stream.as_ref().is_some_and(|stream| now.mono_ns >= stream.end_mono_ns + MAX_HOUR_DELAY_NS) {
            self.close_hour();
        }
        if let Some(stream) = self.stream.take() {
            self.send_resolved_breaches(&stream, None);
            self.stream = Some(stream);
        }
    }

    /// Sends the hour to the archive and begins the next.
    fn close_hour(&mut self) {
        let Some(mut stream) = self.stream.take() else { return };
        let now = self.clock.now();
        if stream.next_writer.is_none() {
            stream.next_writer = self.create_next_journal(&stream);
        }
        self.send_hour_and_begin_next(&mut stream, &now);
        stream.end_mono_ns = self.hour_end_ns(&now);
        self.stream = Some(stream);
    }

    fn send_hour_and_begin_next(&mut self, stream: &mut Stream, now: &Moment) {
        let changed = stream.changed.take();
        self.send_hour(stream, now, changed.is_some());
        (stream.writer, stream.seq, stream.opened) = (stream.next_writer.take(), stream.seq + 1, *now);
        if let Some((id, info)) = changed {
            (stream.id, stream.seq, stream.info) = (id, 0, info);
        }
    }

    fn send_hour(&mut self, stream: &mut Stream, now: &Moment, is_last: bool) {
        let causes = std::mem::take(&mut stream.causes);
        let counts: Vec<HourCounts> = stream.counters.iter_mut().map(TaskCounter::take_hour).collect();
        for ((missed, lost, _), count) in stream.counted.iter_mut().zip(&counts) {
            *missed += count.stats.least_missed();
            *lost += count.lost;
        }
        let hour = self.hour_figures(stream, &counts, &causes, now);
        let mut info = stream.info.clone();
        for (task, count) in info.tasks.iter_mut().zip(&counts) {
            task.result = Some(task_result(count));
        }
        if let Some(writer) = stream.writer.as_mut() {
            let _ = writer.set_causes(&causes);
        }
        let writer = stream.writer.take();
        let _ = self.archive.send(ClosedHour {
            stream: stream.id.clone(),
            seq: stream.seq,
            hour,
            info,
            writer,
            is_last,
        });
    }

    /// Makes the figures of the hour that ends; `None` where nothing was due.
    fn hour_figures(
        &mut self,
        stream: &Stream,
        counts: &[HourCounts],
        causes: &RunCauses,
        now: &Moment,
    ) -> Option<Hour> {
        let mono_ns = counts.iter().filter_map(|count| count.first_due_ns).min()?;
        let end_mono_ns = counts.iter().map(|count| count.next_due_ns).max()?.max(mono_ns);
        let boot = self.clock.current_boot_id();
        let boot_ns = (now.boottime_from_mono(mono_ns), now.boottime_from_mono(end_mono_ns));
        let utc_ns = (now.utc_from_mono(mono_ns), now.utc_from_mono(end_mono_ns));
        let gap_ns = self.end.as_ref().map_or(0, |end| end.gap_until(&boot, boot_ns.0, utc_ns.0));
        let moved = |now: &Moment| now.utc_ns - now.boot_ns;
        self.end = Some(HourEnd { boot: boot.clone(), boot_ns: boot_ns.1, utc_ns: utc_ns.1 });
        let tasks = stream.counters.iter().zip(counts).enumerate().map(|(number, (counter, count))| {
            let run = &stream.info.tasks[number];
            hour_task(counter, count, run, causes.tasks.get(number), now)
        });
        Some(Hour {
            stream: stream.id.clone(),
            seq: stream.seq,
            machine: self.rules.machine.clone(),
            boot,
            mono_ns,
            end_mono_ns,
            boot_ns,
            utc_ns,
            clock_step_ns: moved(now) - moved(&stream.opened),
            gap_ns,
            recovered: false,
            tasks: tasks.collect(),
        })
    }

    /// Ends the stream; `results` are the source's own counts of each task.
    pub fn end_stream(&mut self, results: &[Option<TaskResult>]) {
        let Some(mut stream) = self.stream.take() else { return };
        let now = self.clock.now();
        self.looks_for_causes = false;
        self.send_resolved_breaches(&stream, None);
        if stream.counters.iter().any(TaskCounter::has_closed) {
            self.send_hour_and_begin_next(&mut stream, &now);
        }
        // Hours before were told as they came; what the source knows beyond is of the last.
        for ((counter, result), (missed, lost, executed)) in
            stream.counters.iter_mut().zip(results).zip(&stream.counted)
        {
            if let Some(result) = result {
                let (missed, lost) =
                    (missed + counter.open_counts().stats.least_missed(), lost + counter.open_counts().lost);
                counter.add_unreported(
                    result.missed.saturating_sub(missed),
                    result.executed.saturating_sub(executed + lost),
                );
            }
        }
        self.send_hour(&mut stream, &now, true);
    }
}

/// Puts limits of idle states into a description; one set by another process becomes a label, for a fleet.
fn with_power(mut info: RunInfo, power: &Power) -> RunInfo {
    info.labels.remove(IDLE_LIMIT);
    let set = power.dma_latency_us.filter(|us| *us < NO_REQUEST_US);
    info.labels.extend(set.map(|us| (IDLE_LIMIT.into(), format!("{us} us"))));
    if let Some(facts) = &mut info.facts_before {
        facts.power = power.clone();
    }
    info
}

/// Breaches at most whose cause is looked for at a time.
const MAX_PENDING: usize = 1_024;

fn task_result(count: &HourCounts) -> TaskResult {
    let latency = &count.stats.latency;
    TaskResult {
        executed: count.stats.executed() + count.lost,
        missed: count.stats.least_missed(),
        dropped: count.lost,
        first_due_ns: count.first_due_ns.unwrap_or(0),
        last_end_ns: count.next_due_ns - count.stats.period_ns(),
        min_latency_ns: latency.min_ns().unwrap_or(0),
        max_latency_ns: latency.max_ns().unwrap_or(0),
        ..TaskResult::default()
    }
}

/// Figures of a task in an hour, with the causes of its worst starts.
pub fn hour_task(
    counter: &TaskCounter,
    count: &HourCounts,
    run: &jitterlab_model::TaskRun,
    causes: Option<&TaskCauses>,
    now: &Moment,
) -> HourTask {
    let cause_of = |due_ns: i64| {
        let of = causes?;
        main_cause(of, of.worst_starts.iter().find(|late| late.due_ns == due_ns)?).cloned()
    };
    let worst_starts = count.worst_starts.iter().map(|(due_ns, latency_ns)| WorstStart {
        utc_ns: now.utc_from_mono(due_ns + latency_ns),
        latency_ns: *latency_ns,
        cause: cause_of(*due_ns),
    });
    let causes = causes.into_iter().flat_map(|of| &of.causes).map(|sum| HourCause {
        cause: sum.cause.clone(),
        times: sum.times,
        sum_ns: sum.sum_ns,
        max_ns: sum.max_ns,
        proven_ns: sum.proven_ns,
        likely_ns: sum.likely_ns,
    });
    HourTask {
        name: counter.name.clone(),
        period_ns: counter.period_ns,
        policy: run.granted.as_ref().map(|granted| granted.policy.to_string()).unwrap_or_default(),
        overrun: run.spec.overrun.to_string(),
        missed: count.stats.least_missed(),
        lost: count.lost,
        stored: count.stats.counted().map(StoredDistribution::from).into(),
        limit_counts: counter.limit_counts(count),
        causes: causes.collect(),
        worst_starts: worst_starts.collect(),
    }
}
