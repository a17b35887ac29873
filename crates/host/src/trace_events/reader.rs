//! Reads events while they happen, and hands them on in order of time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use jitterlab_analysis::causes::{Event, EventKind, NameTable};
use jitterlab_model::causes::Tracer;
use jitterlab_model::{CpuSet, Error};
use jitterlab_rt::sys::{sched, usage};
use jitterlab_rt::{Linux, System};
use nix::sys::signal::Signal;

use super::calls;
use super::decode::{Decoder, EventSource, TIMER_DEVICE};
use super::error::{not_permitted_error, pid_namespace_error, unknown_format_error};
use super::instance::{Instance, Pipe};
use super::page::PageLayout;
use super::tracefs::TraceFs;

/// Detail of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Every thread that has a processor, and everything that interrupts it: needed for causes.
    Everything,
    /// Activity of the followed threads: when they run, wait and are woken, and their page faults. Events
    /// that `Everything` records too fill in only what was lost there.
    Threads,
    /// The system calls of the followed threads.
    Calls,
    /// Who stops and freezes threads, where nothing else is recorded.
    Signals,
}

/// Events without which nothing can be explained.
const NEEDED: [&str; 2] = ["sched/sched_switch", "sched/sched_waking"];
/// Events that explain more.
const USEFUL: [&str; 13] = [
    "sched/sched_migrate_task",
    "sched/sched_pi_setprio",
    SIGNAL,
    FREEZE[0],
    FREEZE[1],
    "sched/sched_stat_runtime",
    "timer/hrtimer_start",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
];
/// The idle state matters if the processor has a choice of states.
const IDLE: &str = "power/cpu_idle";
const IDLE_STATES: &str = "/sys/devices/system/cpu/cpu0/cpuidle/state1";
/// Events of a followed thread that stay known if other events are lost.
const OF_THREADS: [&str; 5] = [
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_migrate_task",
    "sched/sched_pi_setprio",
    "timer/hrtimer_start",
];
/// Signals that stop a thread, and those by which it notifies its tracer (SIGCHLD to SIGTTOU).
const SIGNAL: &str = "signal/signal_generate";
const SIGNALS: &str = "sig >= 17 && sig <= 22";
const FREEZE: [&str; 2] = ["cgroup/cgroup_freeze", "cgroup/cgroup_unfreeze"];
/// A thread takes its program's name.
const PROGRAM: &str = "sched/sched_process_exec";
const STACK: &str = "ftrace/kernel_stack";
/// The PID namespace in which all threads are (include/linux/proc_ns.h).
const FIRST_PIDS: &str = "pid:[4026531836]";
const FAULTS: [&str; 2] = ["exceptions/page_fault_user", "exceptions/page_fault_kernel"];
const CALLS: [&str; 2] = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"];

/// Room for each processor's events in bytes: this much, plus `ACTIVATION_BYTES` for each activation of two
/// seconds.
const BUFFER_BYTES: u64 = 16 << 20;
const ACTIVATION_BYTES: f64 = 600.0;
const LARGEST_BUFFER: u64 = 128 << 20;
/// Room for the events of a few threads.
const SMALL_BUFFER: u64 = 1 << 20;
/// Room for signals.
const LEAST_BUFFER: u64 = 256 << 10;
/// System calls that are timed together to find the cost of an event, and number of repetitions: the shortest
/// time was not disturbed.
const TIMED_CALLS: u32 = 200;
const TIMES: usize = 50;

/// Recording of the kernel's events.
#[derive(Debug)]
pub struct TraceEvents {
    sources: BTreeMap<String, EventSource>,
    layout: PageLayout,
    decoder: Decoder,
    instances: Vec<(Detail, Instance)>,
    page: Vec<u8>,
    /// Events that are not known to be complete yet, and whether they are those of followed threads only.
    held: Vec<(Event, bool)>,
    /// Times of processors with lost events; those of followed threads stay known.
    holes: Vec<(u16, i64, i64)>,
    tracer: Tracer,
}

impl TraceEvents {
    /// Finds tracefs, and reads the formats of the kernel's events; records nothing yet.
    pub fn prepare(names: &mut NameTable) -> Result<Self, Error> {
        if fs::read_link("/proc/self/ns/pid").is_ok_and(|own| own != Path::new(FIRST_PIDS)) {
            return Err(pid_namespace_error());
        }
        let fs = TraceFs::find()?;
        let events = fs.path().join("events");
        let path = events.join("header_page");
        let layout = read_at_once(&path).and_then(|text| PageLayout::parse(&text));
        if layout.is_none()
            && fs::read_dir(&events).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
        {
            return Err(not_permitted_error(&events, std::io::ErrorKind::PermissionDenied.into()));
        }
        let layout = layout.ok_or_else(|| unknown_format_error(&path))?;
        let idle = Path::new(IDLE_STATES).exists().then_some(IDLE);
        let known =
            NEEDED.into_iter().chain(USEFUL).chain(idle).chain(FAULTS).chain([STACK, PROGRAM]).chain(CALLS);
        let mut sources = BTreeMap::new();
        let mut absent = Vec::new();
        for name in known.map(String::from).chain(vector_events(&events)) {
            match EventSource::find(&events, &name, names) {
                Some(source) => drop(sources.insert(name, source)),
                None => absent.push(name),
            }
        }
        if let Some(needed) = NEEDED.into_iter().find(|name| !sources.contains_key(*name)) {
            return Err(Error::refused(format!("this kernel has no event {needed}"))
                .remedy("use a kernel with CONFIG_EVENT_TRACING"));
        }
        let decoder = Decoder::new(&events, layout, sources.values(), names)?;
        let page = vec![0; layout.size];
        let tracer = Tracer { absent, ..Tracer::default() };
        Ok(TraceEvents {
            sources,
            layout,
            decoder,
            instances: Vec::new(),
            page,
            held: Vec::new(),
            holes: Vec::new(),
            tracer,
        })
    }

    /// Begins to record all events on these processors, and signals and freezes on the `others`.
    /// `rate_hz` is the number of activations in a second, which need room.
    pub fn record_everything(&mut self, cpus: &CpuSet, others: &CpuSet, rate_hz: f64) -> Result<(), Error> {
        let room = BUFFER_BYTES + (2.0 * rate_hz * ACTIVATION_BYTES) as u64;
        let buffer_bytes = room.min(LARGEST_BUFFER);
        let instance = Instance::create(cpus, buffer_bytes)?;
        if self.tracer.event_ns.is_none() {
            self.tracer.event_ns = measure_event_cost_ns(&instance, cpus);
        }
        self.tracer.buffer_bytes = buffer_bytes;
        let of_followed = |name: &str| name == PROGRAM || CALLS.contains(&name) || FAULTS.contains(&name);
        let names = self.sources.keys().map(String::as_str);
        self.enable(&instance, names.filter(|name| *name != STACK && !of_followed(name)))?;
        // An idle processor has no stack worth recording.
        let timer = [
            ("irq_vectors/local_timer_entry", "stacktrace if common_pid != 0".to_owned()),
            ("irq/irq_handler_entry", format!("stacktrace if name == \"{TIMER_DEVICE}\" && common_pid != 0")),
        ];
        if let Some((event, trigger)) = timer.iter().find(|(event, _)| self.sources.contains_key(*event)) {
            // Without the trigger less is known, but all of it stays true.
            let _ = instance.write_file(&format!("events/{event}/trigger"), trigger);
        }
        self.start_instance(Detail::Everything, instance)?;
        self.record_signals(others)
    }

    /// Switches on the named events that the kernel has, with a filter for signals and for system calls.
    fn enable<'a>(&self, instance: &Instance, names: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        for name in names.into_iter().filter(|name| self.sources.contains_key(*name)) {
            if name == SIGNAL {
                instance.set_filter(name, SIGNALS)?;
            }
            if CALLS.contains(&name) {
                // Without it more is recorded, nothing else.
                let _ = instance.set_filter(name, &calls::filter_without_clock_readings());
            }
            instance.enable(name, true)?;
        }
        Ok(())
    }

    /// Starts the recording of an instance, and adds it to those that are read.
    fn start_instance(&mut self, detail: Detail, instance: Instance) -> Result<(), Error> {
        instance.write_file("tracing_on", "1")?;
        self.instances.push((detail, instance));
        Ok(())
    }

    fn record_signals(&mut self, cpus: &CpuSet) -> Result<(), Error> {
        if cpus.is_empty() {
            return Ok(());
        }
        let instance = Instance::create(cpus, LEAST_BUFFER)?;
        self.enable(&instance, [SIGNAL, FREEZE[0], FREEZE[1], PROGRAM])?;
        self.start_instance(Detail::Signals, instance)
    }

    /// Begins to record the activity of these threads, and of those that they make, on these processors.
    pub fn record_threads(&mut self, detail: Detail, cpus: &CpuSet, threads: &[i32]) -> Result<(), Error> {
        let room = if detail == Detail::Calls { BUFFER_BYTES } else { SMALL_BUFFER };
        let instance = Instance::create(cpus, room)?;
        let _ = instance.write_file("options/event-fork", "1");
        instance.follow_threads(threads)?;
        let events: Vec<&str> = match detail {
            Detail::Calls => CALLS.to_vec(),
            _ => [&OF_THREADS[..], &FAULTS].concat(),
        };
        self.enable(&instance, events)?;
        self.start_instance(detail, instance)
    }

    /// Records further threads too, where threads are recorded.
    pub fn follow_threads(&self, threads: &[i32]) -> Result<(), Error> {
        let mut following =
            self.instances.iter().filter(|(detail, _)| matches!(detail, Detail::Threads | Detail::Calls));
        following.try_for_each(|(_, instance)| instance.follow_threads(threads))
    }

    /// Reads new events in order of time, and returns them with the time in ns before which all are known.
    pub fn read_events(&mut self, names: &mut NameTable) -> (Vec<Event>, i64) {
        let (complete_ns, before) = (Linux.now_ns(), usage::of_this_thread());
        let TraceEvents { instances, layout, decoder, page, held, holes, tracer, .. } = self;
        holes.retain(|(_, _, to_ns)| *to_ns >= complete_ns);
        let recorded: Vec<u16> = instances
            .iter()
            .filter(|(detail, _)| *detail == Detail::Everything)
            .flat_map(|(_, instance)| instance.pipes.iter().map(|pipe| pipe.cpu))
            .collect();
        let pipes = instances.iter_mut().flat_map(|(detail, instance)| {
            let detail = *detail;
            instance.pipes.iter_mut().map(move |pipe| (detail, pipe))
        });
        for (detail, Pipe { cpu, file, last_ns }) in pipes {
            while file.read(page).is_ok_and(|length| length > 0) {
                let records = layout.records(page);
                let begin_ns = decoder.to_local_clock(records.begin_ns());
                if records.missed {
                    let what = match detail {
                        Detail::Everything => EventKind::Lost,
                        Detail::Threads | Detail::Calls | Detail::Signals => {
                            EventKind::CallsLost { from_ns: *last_ns }
                        }
                    };
                    if detail == Detail::Everything {
                        holes.push((*cpu, *last_ns, begin_ns));
                    }
                    let lost = Event {
                        t_ns: begin_ns,
                        cpu: *cpu,
                        pid: -1,
                        in_interrupt: false,
                        interrupts_off: true,
                        what,
                    };
                    held.push((lost, false));
                }
                for (t_ns, record) in records {
                    tracer.events += 1;
                    *last_ns = decoder.to_local_clock(t_ns);
                    let event = decoder.decode(t_ns, *cpu, record, names);
                    // No switch has named this thread.
                    let sender = event
                        .as_ref()
                        .filter(|event| detail == Detail::Signals && is_stop_or_resume(&event.what));
                    let named = sender.and_then(|event| decoder.current_name_event(event, names));
                    held.extend(named.map(|event| (event, false)));
                    held.extend(event.map(|event| (event, detail == Detail::Threads)));
                }
                // Only the record that is being written right now is left.
                if begin_ns > complete_ns {
                    break;
                }
            }
        }
        // Each processor's are in order already.
        held.sort_by_key(|(event, _)| event.t_ns);
        let complete = held.partition_point(|(event, _)| event.t_ns < complete_ns);
        let later = held.split_off(complete);
        let complete = std::mem::replace(held, later).into_iter();
        let is_lost = |event: &Event| {
            holes.iter().any(|(cpu, from, to)| *cpu == event.cpu && (*from..*to).contains(&event.t_ns))
        };
        let is_twice = |event: &Event| {
            event.what != EventKind::PageFault && recorded.contains(&event.cpu) && !is_lost(event)
        };
        let once = complete.filter(|(event, followed)| !followed || !is_twice(event));
        let events = once.map(|(event, _)| event).collect();
        tracer.cpu_time_ns += usage::of_this_thread().since(before).cpu_time_ns;
        (events, complete_ns)
    }

    /// Cost of tracing, and number of lost events, until now.
    pub fn tracer_state(&self) -> Tracer {
        let buffers = self.instances.iter().flat_map(|(_, instance)| {
            instance.pipes.iter().map(|pipe| instance.read_file(&format!("per_cpu/cpu{}/stats", pipe.cpu)))
        });
        let lost = buffers.map(|text| {
            let number = |key: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(key))?;
                line.trim_start_matches(':').trim().parse::<u64>().ok()
            };
            number("overrun").unwrap_or(0) + number("dropped events").unwrap_or(0)
        });
        Tracer { lost: lost.sum(), ..self.tracer.clone() }
    }
}

/// True for a freeze, and for a signal other than SIGCHLD, which any program that ends sends to its parent.
fn is_stop_or_resume(what: &EventKind) -> bool {
    match what {
        EventKind::Signal { number, .. } => *number != Signal::SIGCHLD as i32,
        EventKind::Freeze { .. } => true,
        _ => false,
    }
}

/// Reads a file with a single read call, up to 4096 bytes.
fn read_at_once(path: &Path) -> Option<String> {
    let mut text = vec![0; 4096];
    let length = File::open(path).and_then(|mut file| file.read(&mut text)).ok()?;
    text.truncate(length);
    String::from_utf8(text).ok()
}

/// Events for begin and end of interrupt vectors' handlers, on ARM of interrupts between processors.
fn vector_events(events: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for system in ["irq_vectors", "ipi"] {
        let entries = fs::read_dir(events.join(system)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let handlers = names.filter(|name| name.ends_with("_entry") || name.ends_with("_exit"));
        found.extend(handlers.map(|name| format!("{system}/{name}")));
    }
    found
}

/// Measures the cost of an event in ns; `None` if tracing is refused. System calls are timed without and with
/// an event for each.
fn measure_event_cost_ns(instance: &Instance, cpus: &CpuSet) -> Option<i64> {
    const CALL: &str = "raw_syscalls/sys_enter";
    let here: CpuSet = sched::cpus().ok()?.into_iter().collect();
    let timed = || {
        let begun = Instant::now();
        for _ in 0..TIMED_CALLS {
            let _ = nix::unistd::getppid();
        }
        begun.elapsed().as_nanos() as i64 / i64::from(TIMED_CALLS)
    };
    let prepared = instance
        .record_cpus(&here)
        .and_then(|()| instance.set_filter(CALL, &format!("common_pid=={}", nix::unistd::gettid())))
        .and_then(|()| instance.write_file("tracing_on", "1"));
    let mut cost = None;
    if prepared.is_ok() {
        let without = (0..TIMES).map(|_| timed()).min();
        if instance.enable(CALL, true).is_ok() {
            let with = (0..TIMES).map(|_| timed()).min();
            cost = with.zip(without).map(|(with, without)| (with - without).max(0));
        }
    }
    let _ = instance.enable(CALL, false);
    let _ = instance.set_filter(CALL, "0");
    let _ = instance.write_file("tracing_on", "0");
    let _ = instance.write_file("trace", "0");
    let _ = instance.record_cpus(cpus);
    cost
}
