//! Periodic threads of programs that run anyway, measured from outside: by the kernel's events, without changing them.

mod clock;
mod error;
mod hal;
mod returns;
mod target;
mod tasks;
mod threads;

use std::collections::{BTreeMap, HashMap};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use error::NotWatched;
use error::{describe_32_bit_thread, describe_irregular_thread};
use jitterlab_analysis::causes::{Call, Event, EventKind, Explainer, NameTable};
use jitterlab_analysis::watch::{
    CallAudit, LoopFollower, SystemState, Wait, WaitTracker, find_periodic_wait,
};
use jitterlab_model::{Activation, CpuSet, Error, Keep, RunInfo, StopReason, TaskResult};
use jitterlab_rt::{Linux, System};

use super::cause_finder;
use super::facts::{self, Root};
use super::measure::{FinishedRun, Sink};
use super::prepare::{self, MovedThread};
use super::processes::allowed_cpus;
use super::task_groups::TaskGroups;
use super::trace_events::{self, Detail, TraceEvents};
use crate::child::end_descendants;
use clock::RealtimeClock;
use threads::FoundThread;

pub use target::Target;

/// Request to watch threads.
#[derive(Debug, Clone)]
pub struct WatchRequest {
    /// Target whose threads are watched.
    pub target: Target,
    /// Time in which periodic threads are looked for, in ns.
    pub find_ns: i64,
    /// Time for which they are then watched, in ns; without it until they end.
    pub duration_ns: Option<i64>,
    /// The command line, to be noted in the run's description.
    pub command: Vec<String>,
}

/// Reading seldom costs less, and events have room for longer.
const READ_EVERY: Duration = Duration::from_millis(100);
/// Interval of the search for new threads, while threads are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Largest number of processors on which everything is recorded: a few threads seldom use more.
const MOST_CPUS: usize = 16;
/// Number of threads without a period that are named if none has one.
const MAX_NAMED: usize = 3;
/// A command that does not end when it is asked to is killed after this time.
const GRACE: Duration = Duration::from_secs(2);
/// Events that are not taken so long after the end of the watch count as lost: many threads make more than can be taken.
const LAST_EVENTS: Duration = Duration::from_secs(5);
/// Number of events between two looks at the time.
const LOOK_AFTER: usize = 4096;

struct WatchedLoop {
    passes: WaitTracker,
    follower: LoopFollower,
    thread: FoundThread,
    before: tasks::ResourceUse,
    result: TaskResult,
    /// The last activation that was handed on.
    last: Option<Activation>,
    audit: CallAudit,
    /// The number of the call it made last.
    call: i64,
    /// Number of moves to another processor.
    moves: u64,
}

/// Periodic threads that were found and are about to be watched.
pub struct ThreadWatch {
    info: RunInfo,
    root: Root,
    loops: Vec<WatchedLoop>,
    /// Places of the threads among them.
    places: HashMap<i32, usize>,
    system: SystemState,
    clock: RealtimeClock,
    events: TraceEvents,
    explainer: Explainer,
    groups: TaskGroups,
    duration_ns: Option<i64>,
    command: StartedCommand,
    _moved: MovedThread,
}

/// The command that is watched, if one was started: it ends with the watch, with all its descendants. If the
/// command ends by itself, its remaining descendants stay.
struct StartedCommand(Option<Child>);

impl StartedCommand {
    fn has_ended(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }
}

impl Drop for StartedCommand {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        let Some(child) = &mut self.0 else { return };
        end_descendants(std::process::id(), GRACE);
        let _ = child.wait();
    }
}

impl ThreadWatch {
    /// Starts the target's command, if it is one, and finds the target's periodic threads within `find_ns`.
    pub fn start(request: &WatchRequest, interrupted: &AtomicBool) -> Result<Self, Error> {
        let root = Root::system();
        let facts = facts::read(&root);
        let mut names = NameTable::default();
        let mut events = TraceEvents::prepare(&mut names)?;
        let mut command = StartedCommand(request.target.start_command()?);
        let seen = search_threads(
            request,
            &mut events,
            &mut names,
            &mut command,
            &facts.usable_cpus(),
            interrupted,
        )?;

        let returns = returns::measure_return_times(&mut events, &mut names, &seen.cpus);
        let return_ns = returns.map_or(0, |returns| returns.taken_ns);
        let (mut loops, mut others) = (Vec::new(), Vec::new());
        let passes_seen: usize = seen.threads.values().map(|seen| seen.waits.len()).sum();
        let threads_seen = seen.threads.len();
        for (_, thread) in seen.threads {
            if thread.is_32_bit {
                others.push(describe_32_bit_thread(&thread.thread.name));
                continue;
            }
            let found = match find_periodic_wait(&thread.waits) {
                Ok(found) => found,
                Err(irregular) => {
                    others.push(describe_irregular_thread(&thread.thread.name, irregular));
                    continue;
                }
            };
            loops.push(WatchedLoop {
                passes: thread.passes,
                follower: LoopFollower::with_return_time(found, return_ns),
                before: tasks::ResourceUse::default(),
                result: TaskResult::default(),
                last: None,
                audit: CallAudit::new(&mut names),
                call: 0,
                moves: 0,
                thread: thread.thread,
            });
        }
        if loops.is_empty() {
            let seconds = request.find_ns as f64 / 1e9;
            others.sort_by_key(|(waits, _)| std::cmp::Reverse(*waits));
            let most: Vec<String> = others.into_iter().take(MAX_NAMED).map(|(_, why)| why).collect();
            return Err(Error::not_measured(format!(
                "none of {threads_seen} threads seen in {seconds:.0} s waits periodically \
                 ({passes_seen} waits in all): {}",
                most.join("; ")
            ))
            .remedy("look longer with --find, or at another program")
            .case(NotWatched::NotPeriodic));
        }
        let named = loops.iter_mut().map(|of| (&mut of.thread, of.follower.periodic_wait().period_ns));
        hal::assign_hal_names(&mut named.collect::<Vec<_>>());
        loops.sort_by(|a, b| {
            a.follower.periodic_wait().period_ns.total_cmp(&b.follower.periodic_wait().period_ns)
        });

        let mut cpus: CpuSet = CpuSet::new();
        for of in &loops {
            let allowed = allowed_cpus(of.thread.thread).unwrap_or_default();
            cpus = cpus.or(&if allowed.len() <= MOST_CPUS { allowed } else { seen.cpus.clone() });
        }
        let rate_hz = loops.iter().map(|of| 1e9 / of.follower.periodic_wait().period_ns).sum();
        // The threads' own events are recorded everywhere already, and stay known if other events are lost.
        events.record_everything(&cpus, &facts.online_cpus().without(&cpus), rate_hz)?;
        let moved = MovedThread::to(&facts.usable_cpus().without(&cpus));

        let numbers: Vec<i32> = loops.iter().map(|of| of.thread.thread).collect();
        let places = numbers.iter().enumerate().map(|(place, thread)| (*thread, place)).collect();
        let mut explainer = Explainer::new(&numbers, names, cause_finder::machine_properties(&facts));
        let of_loops = loops.iter().map(|of| (of.thread.process, of.thread.thread));
        let groups = TaskGroups::from_threads(of_loops, &mut explainer);
        let tasks =
            tasks::make_tasks(loops.iter().map(|of| (&of.thread, of.follower.periodic_wait())), returns);
        let info = RunInfo {
            duration_ns: request.duration_ns,
            tasks,
            facts_before: Some(facts),
            ..prepare::new_run_info(request.command.clone())
        };
        Ok(ThreadWatch {
            info,
            root,
            loops,
            places,
            system: seen.system,
            clock: seen.clock,
            events,
            explainer,
            groups,
            duration_ns: request.duration_ns,
            command,
            _moved: moved,
        })
    }

    /// Adds names and values that the user gave the run to its description.
    pub fn add_labels(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        self.info.labels.extend(labels);
    }

    /// The run's description as far as it is known before the first activation.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Sets the rows that the recorder will keep.
    pub fn set_keep(&mut self, keep: Keep) {
        self.info.keep = keep;
    }

    /// Watches until the time is over, the threads have ended or `interrupted` is set. `sink` gets every activation; `watch`
    /// is called several times a second, with the time since the beginning.
    pub fn run(
        mut self,
        sink: &mut dyn Sink,
        watch: &mut dyn FnMut(i64),
        interrupted: &AtomicBool,
    ) -> FinishedRun {
        let (begun, begun_ns) = (Instant::now(), Linux.now_ns());
        let mut kept = cause_finder::CausesSchedule::default();
        // Events from before the recording was complete explain nothing.
        let (_, complete_ns) = self.events.read_events(self.explainer.names());
        self.clock.note_reading(&mut self.system, complete_ns);
        let steps_before = self.system.clock_steps();
        let last = |from: Instant| from + LAST_EVENTS;
        let end = self.duration_ns.map(|ns| last(begun + Duration::from_nanos(ns.unsigned_abs())));
        for of in &mut self.loops {
            of.before = tasks::ResourceUse::read(&of.thread);
            of.passes.restart();
        }
        let stop = loop {
            thread::sleep(READ_EVERY);
            self.read_events(sink, end);
            let wanted = sink.request_causes(true);
            if let Some(causes) = kept.due_causes(wanted, &mut self.explainer, &self.events) {
                sink.take_causes(&causes);
            }
            let elapsed_ns = begun.elapsed().as_nanos() as i64;
            watch(elapsed_ns);
            if interrupted.load(Ordering::Relaxed) {
                break StopReason::Interrupted;
            }
            // A command may have something to finish when its threads have ended.
            let gone = self.command.0.is_none()
                && self
                    .loops
                    .iter()
                    .all(|of| !threads::thread_folder(of.thread.process, of.thread.thread).exists());
            if self.duration_ns.is_some_and(|ns| elapsed_ns >= ns) || gone || self.command.has_ended() {
                break StopReason::Duration;
            }
        };
        let ended_ns = Linux.now_ns();
        self.read_events(sink, end.or_else(|| Some(last(Instant::now()))));
        let ThreadWatch { mut info, root, mut loops, system, events, explainer, command, .. } = self;
        let (steps, moved_ns) = system.clock_steps();
        for (task, of) in info.tasks.iter_mut().zip(&mut loops) {
            if of.follower.periodic_wait().on_realtime {
                of.result.clock_steps = steps - steps_before.0;
                of.result.clock_moved_ns = moved_ns - steps_before.1;
            }
            task.result = Some(of.before.add_usage_to(of.result.clone(), &of.thread));
            task.add_gaps_of_lost_records();
            task.set_overrun(of.follower.overrun());
            if let Some(watched) = &mut task.watched {
                watched.calls = of.audit.calls(trace_events::call_name);
                watched.moves = of.moves;
                watched.caught_up = of.follower.caught_up;
                watched.stack_ready = tasks::resident_stack_bytes(&of.thread);
            }
            // The end of a thread is known.
            if threads::thread_folder(of.thread.process, of.thread.thread).exists() {
                info.warnings.extend(task.check_final_silence(begun_ns, ended_ns));
            }
        }
        info.warnings
            .extend(hal::hal_longest_times_warning(&loops.iter().map(|of| &of.thread).collect::<Vec<_>>()));
        drop(command);
        let causes = explainer.finish(events.tracer_state());
        sink.take_causes(&causes);
        info.warnings.extend(cause_finder::recording_warnings(&causes));
        info.warnings.extend(tasks::unseen_waits_warning(&info.tasks));
        let changed = loops.iter().filter(|of| of.follower.has_changed());
        info.refused.extend(
            changed.map(|of| {
                error::changed_period_refusal(&of.thread.name, of.follower.periodic_wait().is_woken)
            }),
        );
        info.stop = Some(stop);
        info.facts_after = Some(facts::read(&root));
        FinishedRun { info, above: None, causes: Some(causes) }
    }

    /// Reads new events, and hands on their activations. Those that are not taken by the `end` are lost.
    fn read_events(&mut self, sink: &mut dyn Sink, end: Option<Instant>) {
        let (events, complete_ns) = self.events.read_events(self.explainer.names());
        self.clock.note_reading(&mut self.system, complete_ns);
        let mut rows: Vec<Vec<Activation>> = vec![Vec::new(); self.loops.len()];
        let ThreadWatch { loops, places, system, explainer, .. } = self;
        for (number, event) in events.iter().enumerate() {
            if number % LOOK_AFTER == LOOK_AFTER - 1 && end.is_some_and(|end| Instant::now() > end) {
                loops.iter_mut().for_each(WatchedLoop::note_lost_events);
                break;
            }
            explainer.process_event(event);
            system.process_event(event);
            let Some([first, second]) = SystemState::threads_concerned(event) else {
                loops.iter_mut().for_each(WatchedLoop::note_lost_events);
                continue;
            };
            let second = Some(second).filter(|second| *second != first);
            for place in [Some(first), second].into_iter().flatten().filter_map(|thread| places.get(&thread))
            {
                rows[*place].extend(loops[*place].process_event(event, system));
            }
        }
        for (task, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            sink.take_activations(task, rows);
            self.explainer.queue_activations(task, rows);
        }
        self.groups.update(&mut self.explainer);
        self.explainer.advance(complete_ns);
    }
}

impl WatchedLoop {
    /// Notes that events were lost: waits need the events of either kind.
    fn note_lost_events(&mut self) {
        self.passes.restart();
        self.audit.restart();
        self.follower.note_lost_events();
    }

    /// Follows an event; returns the activation that it completes, if it does.
    fn process_event(&mut self, event: &Event, system: &SystemState) -> Option<Activation> {
        if matches!(event.what, EventKind::Migrate { pid, .. } if pid == self.thread.thread) {
            self.moves += 1;
        }
        let wait = self.passes.process_event(event, system);
        if let Some(wait) = wait.filter(|wait| wait.key == self.follower.periodic_wait().key) {
            self.audit.note_wait(&wait, self.call);
        }
        if event.pid == self.thread.thread {
            self.audit.process_event(event);
            if let EventKind::SyscallEnter { number, call, .. } = event.what
                && call != Call::Restart
            {
                self.call = number;
            }
        }
        let wait = wait?;
        let activation = self.follower.process_wait(&wait);
        let result = &mut self.result;
        // Their fate is unknown; they count as lost records.
        result.executed += self.follower.unknown - result.dropped;
        result.dropped = self.follower.unknown;
        let activation = activation?;
        let latency_ns = activation.latency_ns();
        if self.last.is_none() {
            result.first_due_ns = activation.due_ns;
            (result.min_latency_ns, result.max_latency_ns) = (latency_ns, latency_ns);
        }
        result.executed += 1;
        result.missed += u64::from(activation.missed);
        result.last_end_ns = activation.end_ns;
        result.min_latency_ns = result.min_latency_ns.min(latency_ns);
        result.max_latency_ns = result.max_latency_ns.max(latency_ns);
        self.last = Some(activation);
        Some(activation)
    }
}

/// Observations during the search.
struct SearchResult {
    threads: BTreeMap<i32, SearchedThread>,
    system: SystemState,
    clock: RealtimeClock,
    /// Processors that waits came back on.
    cpus: CpuSet,
}

struct SearchedThread {
    thread: FoundThread,
    passes: WaitTracker,
    waits: Vec<Wait>,
    is_32_bit: bool,
}

/// Traces every thread of the target for `find_ns`; returns the waits of each.
fn search_threads(
    request: &WatchRequest,
    events: &mut TraceEvents,
    names: &mut NameTable,
    command: &mut StartedCommand,
    cpus: &CpuSet,
    interrupted: &AtomicBool,
) -> Result<SearchResult, Error> {
    let mut seen = SearchResult {
        threads: BTreeMap::new(),
        system: SystemState::default(),
        clock: RealtimeClock::new(),
        cpus: CpuSet::new(),
    };
    seen.clock.note_reading(&mut seen.system, Linux.now_ns());
    let begun = Instant::now();
    let length = Duration::from_nanos(request.find_ns.unsigned_abs());
    while begun.elapsed() < length && !command.has_ended() {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::not_measured("interrupted before a periodic thread was found"));
        }
        let now = request.target.find_threads(command.0.as_ref())?;
        let news: Vec<FoundThread> =
            now.into_iter().filter(|t| !seen.threads.contains_key(&t.thread)).collect();
        let numbers: Vec<i32> = news.iter().map(|thread| thread.thread).collect();
        if seen.threads.is_empty() && !numbers.is_empty() {
            events.record_threads(Detail::Threads, cpus, &numbers)?;
            events.record_threads(Detail::Calls, cpus, &numbers)?;
        } else if !numbers.is_empty() {
            events.follow_threads(&numbers)?;
        }
        for thread in news {
            let passes = WaitTracker::new(thread.thread, names);
            let is_32_bit = threads::is_32_bit_program(thread.process);
            let seen_thread = SearchedThread { thread, passes, waits: Vec::new(), is_32_bit };
            seen.threads.insert(seen_thread.thread.thread, seen_thread);
        }
        thread::sleep(LOOK_EVERY);
        let (taken, complete_ns) = events.read_events(names);
        let SearchResult { threads, system, clock, cpus } = &mut seen;
        clock.note_reading(system, complete_ns);
        for event in &taken {
            // Handlers run in the context of any thread.
            system.process_event(event);
            let Some([first, second]) = SystemState::threads_concerned(event) else {
                threads.values_mut().for_each(|thread| thread.passes.restart());
                continue;
            };
            let second = Some(second).filter(|second| *second != first);
            for number in [Some(first), second].into_iter().flatten() {
                let Some(thread) = threads.get_mut(&number) else { continue };
                if let EventKind::SyscallEnter { number, .. } = event.what {
                    thread.is_32_bit |= threads::is_32_bit_call(number);
                }
                if let Some(wait) = thread.passes.process_event(event, system) {
                    *cpus = cpus.or(&[wait.cpu].into_iter().collect());
                    thread.waits.push(wait);
                }
            }
        }
    }
    // Names may have been given since a thread began.
    for seen in seen.threads.values_mut() {
        seen.thread.read_names();
    }
    Ok(seen)
}
