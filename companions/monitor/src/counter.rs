//! Activations as they come, cut into hours: each hour has a journal and figures of its own, so that what a killed monitor
//! leaves is either counted or in its journal, never both.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use jitterlab_analysis::causes::{main_cause, merge};
use jitterlab_analysis::purposes::Purpose;
use jitterlab_fleet::limit_counts::{Broken, LimitCounts};
use jitterlab_host::CausesWanted;
use jitterlab_model::causes::TaskCauses;
use jitterlab_model::facts::{NO_REQUEST_US, Power};
use jitterlab_model::{Activation, Error, Keep, RunCauses, RunInfo, TaskResult};
use jitterlab_trace::{RunWriter, Stored};
use serde::{Deserialize, Serialize};

use crate::alarms::Breach;
use crate::archive::ClosedHour;
use crate::clock::{Clock, Now};
use crate::folder::{self, Folder};
use crate::hour::{End, Hour, HourCause, HourTask, WorstStart};
use crate::live::Live;
use crate::messages::Message;
use crate::task_counter::{Count, TaskCounter};

const SECOND_NS: i64 = 1_000_000_000;
/// Label of a limit in `/dev/cpu_dma_latency`.
const IDLE_LIMIT: &str = "cpu_dma_latency";
/// A task that does not reach the end of an hour is waited for as long.
const PATIENCE_NS: i64 = 5_000_000_000;
/// Causes are asked for so often.
const PIECE_EVERY_NS: i64 = 5_000_000_000;
/// A cause that is not found by then is unknown.
const CAUSE_WITHIN_NS: i64 = 12_000_000_000;
/// Causes are looked for as long after a breach, so that what comes every ten minutes has its name, and as long of each hour.
const AFTER_SPIKE_NS: i64 = 900_000_000_000;
/// See [`AFTER_SPIKE_NS`].
const OF_EACH_HOUR_NS: i64 = 60_000_000_000;

/// When causes are looked for: it costs some microseconds a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WhyWhen {
    /// Never.
    Never,
    /// For 15 minutes after a start above a limit, and for a minute of each hour.
    AfterSpike,
    /// Always.
    Always,
}

/// Rules of counting: machine, hours, purposes, causes.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The machine's name.
    pub machine: String,
    /// Length of an hour, which tests make shorter.
    pub slice_ns: i64,
    /// Purposes that were asked for.
    pub purposes: Vec<&'static Purpose>,
    /// When causes are looked for.
    pub why: WhyWhen,
}

/// Facts known when an hour begins: a killed monitor's successor counts its journal by it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Beginning {
    /// The stream and the number in it.
    pub stream: String,
    /// See `stream`.
    pub seq: u64,
    /// The boot.
    pub boot: String,
    /// Clocks then: monotonic, boot, Unix.
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
    opened: Now,
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
    /// Name, number and description of the hour that follows.
    fn following(&self) -> (&str, u64, &RunInfo) {
        match &self.changed {
            Some((id, info)) => (id, 0, info),
            None => (&self.id, self.seq + 1, &self.info),
        }
    }
}

/// A breach whose cause is looked for.
struct Waiting {
    task: usize,
    broken: Broken,
    since_ns: i64,
}

/// Counts what a source measures.
pub struct Counter {
    rules: Rules,
    clock: Arc<dyn Clock>,
    folder: Folder,
    archive: Sender<ClosedHour>,
    messages: Sender<Message>,
    live: Arc<Live>,
    stream: Option<Stream>,
    end: Option<End>,
    waiting: Vec<Waiting>,
    piece_ns: i64,
    spike_ns: Option<i64>,
    looks_for_causes: bool,
    /// Why the journal takes no more, while it does not.
    pub journal_failure: Option<String>,
}

impl Counter {
    /// Goes on behind what ended there.
    pub fn new(
        rules: Rules,
        clock: Arc<dyn Clock>,
        folder: Folder,
        (archive, messages): (Sender<ClosedHour>, Sender<Message>),
        live: Arc<Live>,
        end: Option<End>,
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
            waiting: Vec::new(),
            piece_ns: 0,
            spike_ns: None,
            looks_for_causes: false,
            journal_failure: None,
        }
    }

    /// The least latency whose start is kept with its neighbours: the least limit of any purpose in force.
    pub fn keep(&self, period_ns: i64) -> Keep {
        let limits = LimitCounts::for_purposes(&self.rules.purposes, period_ns);
        let least = limits.limits().iter().map(|limit| limit.limit_ns).filter(|ns| *ns > 1).min();
        Keep::Spikes { above_ns: least.unwrap_or(Keep::ABOVE_NS) }
    }

    /// The stream and the number of the hour that is recorded, where something is measured.
    pub fn recording(&self) -> Option<(&str, u64)> {
        self.stream.as_ref().map(|stream| (&*stream.id, stream.seq))
    }

    /// Begins a stream of what `info` describes.
    pub fn begin(&mut self, id: String, info: RunInfo) {
        let now = self.clock.now();
        let power = info.facts_before.as_ref().map(|facts| facts.power.clone()).unwrap_or_default();
        let info = with_power(info, &power);
        let counters: Vec<TaskCounter> = info
            .tasks
            .iter()
            .map(|task| TaskCounter::new(&task.spec.name, task.spec.period_ns, &self.rules.purposes))
            .collect();
        let limits: Vec<_> = counters.iter().map(|counter| counter.limits().limits().to_vec()).collect();
        self.live.begin(&info, &limits);
        let counted = vec![(0, 0, 0); counters.len()];
        let mut stream = Stream {
            end_mono_ns: self.end_of_hour(&now),
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
        stream.writer = self.record(&stream.id, 0, &stream.info, &now);
        self.stream = Some(stream);
    }

    /// Takes the idle states' new limits: the hour ends with this second, and a stream of this name begins, whose hours are of
    /// another environment. Returns `false` where an hour is just ending: then it is to be said again.
    pub fn power_changed(&mut self, id: String, power: &Power) -> bool {
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

    /// The end of the hour that begins then: a whole second of the monotonic clock, as slices of journals are.
    fn end_of_hour(&self, now: &Now) -> i64 {
        let left_ns = self.rules.slice_ns - now.utc_ns.rem_euclid(self.rules.slice_ns);
        let end_ns = now.mono_ns + left_ns;
        (end_ns - end_ns.rem_euclid(SECOND_NS)).max(now.mono_ns + 1)
    }

    /// Begins the journal of an hour.
    fn record(&mut self, id: &str, seq: u64, info: &RunInfo, now: &Now) -> Option<RunWriter> {
        let beginning = Beginning {
            stream: id.into(),
            seq,
            boot: self.clock.boot(),
            clocks_ns: (now.mono_ns, now.boot_ns, now.utc_ns),
            purposes: self.rules.purposes.iter().map(|purpose| purpose.name.into()).collect(),
        };
        let info = RunInfo { epoch_offset_ns: Some(now.utc_ns - now.mono_ns), ..info.clone() };
        let begun = folder::write(&self.folder.beginning(id, seq), &beginning)
            .and_then(|()| RunWriter::create(self.folder.recording(id, seq), &info));
        match begun {
            Ok(mut writer) => {
                writer.seldom();
                self.journal_failure = None;
                Some(writer)
            }
            Err(error) => {
                self.fail(&error);
                None
            }
        }
    }

    fn record_following(&mut self, stream: &Stream) -> Option<RunWriter> {
        let now = self.clock.now();
        let (id, seq, info) = stream.following();
        self.record(id, seq, info, &now)
    }

    fn fail(&mut self, error: &Error) {
        if self.journal_failure.is_none() {
            let _ = self.messages.send(Message::Trouble(error.to_string()));
        }
        self.journal_failure = Some(error.to_string());
    }

    /// The next activations of a task.
    pub fn activations(&mut self, task: usize, rows: &[Activation]) {
        let Some(mut stream) = self.stream.take() else { return };
        let Some(counter) = stream.counters.get(task) else { return self.stream = Some(stream) };
        let cut = match counter.has_closed() {
            true => 0,
            false => rows.iter().position(|a| a.due_ns >= stream.end_mono_ns).unwrap_or(rows.len()),
        };
        let (before, behind) = rows.split_at(cut);
        self.take_in(&mut stream, task, before);
        if !behind.is_empty() {
            if !stream.counters[task].has_closed() {
                stream.counters[task].pass();
                if stream.next_writer.is_none() {
                    stream.next_writer = self.record_following(&stream);
                }
            }
            self.take_in(&mut stream, task, behind);
        }
        let all_passed = stream.counters.iter().all(TaskCounter::has_closed);
        self.stream = Some(stream);
        if all_passed {
            self.close_hour();
        }
    }

    /// Counts and records rows of one hour.
    fn take_in(&mut self, stream: &mut Stream, task: usize, rows: &[Activation]) {
        let Some(last) = rows.last() else { return };
        let counter = &mut stream.counters[task];
        let (above, lost) = (counter.limits().above().to_vec(), counter.open().lost);
        let broken = counter.push(rows);
        let (_, _, seen) = &mut stream.counted[task];
        *seen += rows.len() as u64;
        let writer = if counter.has_closed() { &mut stream.next_writer } else { &mut stream.writer };
        if let Some(Err(error)) = writer.as_mut().map(|writer| writer.append(task, rows)) {
            self.fail(&error);
        }
        let now = self.clock.now();
        let open = counter.open();
        self.live.count(&counter.name, |live| {
            live.stats.push_all(rows);
            live.lost += open.lost - lost;
            for (all, (after, before)) in
                live.above.iter_mut().zip(counter.limits().above().iter().zip(&above))
            {
                *all += after - before;
            }
            live.max_ns = open.stats.latency.max_ns();
            live.last_start_ns = Some(now.utc_of(last.start_ns));
        });
        if !broken.is_empty() {
            self.spike_ns = Some(now.mono_ns);
        }
        for broken in broken {
            self.waiting.push(Waiting { task, broken, since_ns: now.mono_ns });
            if !self.looks_for_causes || self.waiting.len() > MOST_WAITING {
                self.resolve(stream, None);
            }
        }
    }

    /// Returns the present request for causes.
    pub fn causes_wanted(&mut self, looked_for: bool) -> CausesWanted {
        let now_ns = self.clock.now().mono_ns;
        let since = |ns: i64| now_ns - ns;
        let opened_ns = self.stream.as_ref().map_or(now_ns, |stream| stream.opened.mono_ns);
        let wanted = match self.rules.why {
            WhyWhen::Never => false,
            WhyWhen::Always => true,
            WhyWhen::AfterSpike => {
                self.spike_ns.is_some_and(|ns| since(ns) < AFTER_SPIKE_NS)
                    || since(opened_ns) < OF_EACH_HOUR_NS
            }
        };
        self.looks_for_causes = looked_for && wanted;
        if !wanted {
            return CausesWanted::Nothing;
        }
        if since(self.piece_ns) < PIECE_EVERY_NS {
            return CausesWanted::Later;
        }
        self.piece_ns = now_ns;
        CausesWanted::Piece
    }

    /// Takes causes since the last time.
    pub fn causes(&mut self, piece: &RunCauses) {
        let Some(mut stream) = self.stream.take() else { return };
        merge(&mut stream.causes, piece);
        self.resolve(&stream, Some(piece));
        self.stream = Some(stream);
    }

    /// Causes cannot be looked for.
    pub fn causes_refused(&mut self, error: &Error) {
        self.rules.why = WhyWhen::Never;
        self.looks_for_causes = false;
        let _ = self.messages.send(Message::Trouble(error.to_string()));
    }

    /// Tells of breaches whose cause is known by now, or will not be.
    fn resolve(&mut self, stream: &Stream, piece: Option<&RunCauses>) {
        let now = self.clock.now();
        let found = |waiting: &Waiting| {
            let of: &TaskCauses = piece?.tasks.get(waiting.task)?;
            let late = of.worst_starts.iter().find(|late| late.index == waiting.broken.index)?;
            Some(main_cause(of, late).cloned())
        };
        let mut left = Vec::new();
        for waiting in std::mem::take(&mut self.waiting) {
            let cause = found(&waiting);
            let is_late = now.mono_ns - waiting.since_ns >= CAUSE_WITHIN_NS;
            if cause.is_none() && self.looks_for_causes && !is_late && left.len() < MOST_WAITING {
                left.push(waiting);
                continue;
            }
            let cause = cause.flatten();
            let Waiting { task, broken, .. } = waiting;
            let name = &stream.counters[task].name;
            self.live.cause(name, cause.as_ref());
            let breach = Breach {
                task: name.clone(),
                utc_ns: now.utc_of(broken.due_ns),
                late_ns: broken.late_ns,
                missed: broken.missed,
                purpose: broken.limit.purpose,
                limit_ns: broken.limit.limit_ns,
                cause,
            };
            let _ = self.messages.send(Message::Breach(breach));
        }
        self.waiting = left;
    }

    /// Looks at the clock: closes an hour whose tasks do not come, and gives up on causes. Several times a second.
    pub fn tick(&mut self) {
        let now = self.clock.now();
        if self.stream.as_ref().is_some_and(|stream| now.mono_ns >= stream.end_mono_ns + PATIENCE_NS) {
            self.close_hour();
        }
        if let Some(stream) = self.stream.take() {
            self.resolve(&stream, None);
            self.stream = Some(stream);
        }
    }

    /// Hands the hour over and begins the next.
    fn close_hour(&mut self) {
        let Some(mut stream) = self.stream.take() else { return };
        let now = self.clock.now();
        if stream.next_writer.is_none() {
            stream.next_writer = self.record_following(&stream);
        }
        self.begin_next(&mut stream, &now);
        stream.end_mono_ns = self.end_of_hour(&now);
        self.stream = Some(stream);
    }

    fn begin_next(&mut self, stream: &mut Stream, now: &Now) {
        let changed = stream.changed.take();
        self.hand_over(stream, now, changed.is_some());
        (stream.writer, stream.seq, stream.opened) = (stream.next_writer.take(), stream.seq + 1, *now);
        if let Some((id, info)) = changed {
            (stream.id, stream.seq, stream.info) = (id, 0, info);
        }
    }

    fn hand_over(&mut self, stream: &mut Stream, now: &Now, is_last: bool) {
        let causes = std::mem::take(&mut stream.causes);
        let counts: Vec<Count> = stream.counters.iter_mut().map(TaskCounter::take).collect();
        for ((missed, lost, _), count) in stream.counted.iter_mut().zip(&counts) {
            *missed += count.stats.seen_missed();
            *lost += count.lost;
        }
        let hour = self.hour(stream, &counts, &causes, now);
        let mut info = stream.info.clone();
        for (task, count) in info.tasks.iter_mut().zip(&counts) {
            task.result = Some(result(count));
        }
        if let Some(writer) = stream.writer.as_mut() {
            let _ = writer.causes(&causes);
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

    /// Figures of the hour; `None` where nothing was due.
    fn hour(&mut self, stream: &Stream, counts: &[Count], causes: &RunCauses, now: &Now) -> Option<Hour> {
        let mono_ns = counts.iter().filter_map(|count| count.first_due_ns).min()?;
        let end_mono_ns = counts.iter().map(|count| count.next_due_ns).max()?.max(mono_ns);
        let boot = self.clock.boot();
        let boot_ns = (now.boot_of(mono_ns), now.boot_of(end_mono_ns));
        let utc_ns = (now.utc_of(mono_ns), now.utc_of(end_mono_ns));
        let gap_ns = self.end.as_ref().map_or(0, |end| end.gap_until(&boot, boot_ns.0, utc_ns.0));
        let moved = |now: &Now| now.utc_ns - now.boot_ns;
        self.end = Some(End { boot: boot.clone(), boot_ns: boot_ns.1, utc_ns: utc_ns.1 });
        let tasks = stream.counters.iter().zip(counts).enumerate().map(|(number, (counter, count))| {
            let run = &stream.info.tasks[number];
            task(counter, count, run, causes.tasks.get(number), now)
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

    /// Ends the stream; `results` are what its source itself counted of each task.
    pub fn finish(&mut self, results: &[Option<TaskResult>]) {
        let Some(mut stream) = self.stream.take() else { return };
        let now = self.clock.now();
        self.looks_for_causes = false;
        self.resolve(&stream, None);
        if stream.counters.iter().any(TaskCounter::has_closed) {
            self.begin_next(&mut stream, &now);
        }
        // Hours before were told as they came; what the source knows beyond is of the last.
        for ((counter, result), (missed, lost, executed)) in
            stream.counters.iter_mut().zip(results).zip(&stream.counted)
        {
            if let Some(result) = result {
                let (missed, lost) =
                    (missed + counter.open().stats.seen_missed(), lost + counter.open().lost);
                counter.add_untold(
                    result.missed.saturating_sub(missed),
                    result.executed.saturating_sub(executed + lost),
                );
            }
        }
        self.hand_over(&mut stream, &now, true);
    }
}

/// The description with these limits of idle states. One that another process sets is a label, so that a fleet sees another
/// environment.
fn with_power(mut info: RunInfo, power: &Power) -> RunInfo {
    info.labels.remove(IDLE_LIMIT);
    let set = power.dma_latency_us.filter(|us| *us < NO_REQUEST_US);
    info.labels.extend(set.map(|us| (IDLE_LIMIT.into(), format!("{us} us"))));
    if let Some(facts) = &mut info.facts_before {
        facts.power = power.clone();
    }
    info
}

/// Breaches whose cause is looked for at a time.
const MOST_WAITING: usize = 1_024;

fn result(count: &Count) -> TaskResult {
    let latency = &count.stats.latency;
    TaskResult {
        executed: count.stats.executed() + count.lost,
        missed: count.stats.seen_missed(),
        dropped: count.lost,
        first_due_ns: count.first_due_ns.unwrap_or(0),
        last_end_ns: count.next_due_ns - count.stats.period_ns(),
        min_latency_ns: latency.min_ns().unwrap_or(0),
        max_latency_ns: latency.max_ns().unwrap_or(0),
        ..TaskResult::default()
    }
}

/// A task's part of an hour.
pub fn task(
    counter: &TaskCounter,
    count: &Count,
    run: &jitterlab_model::TaskRun,
    causes: Option<&TaskCauses>,
    now: &Now,
) -> HourTask {
    let cause_of = |due_ns: i64| {
        let of = causes?;
        main_cause(of, of.worst_starts.iter().find(|late| late.due_ns == due_ns)?).cloned()
    };
    let worst_starts = count.worst_starts.iter().map(|(due_ns, latency_ns)| WorstStart {
        utc_ns: now.utc_of(due_ns + latency_ns),
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
        missed: count.stats.seen_missed(),
        lost: count.lost,
        stored: count.stats.counted().map(Stored::from).into(),
        above: counter.above(count),
        causes: causes.collect(),
        worst_starts: worst_starts.collect(),
    }
}
