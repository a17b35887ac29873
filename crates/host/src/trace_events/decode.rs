//! Records of the kernel's ring buffer as events.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use jitterlab_analysis::causes::{
    Event, EventKind, Handler, HandlerKind, NameId, NameTable, PrevState, is_same_clock,
};
use jitterlab_model::Error;

use super::calls;
use super::error::unknown_format_error;
use super::format::{Field, Format};
use super::page::PageLayout;
use super::symbols::Symbols;

/// An event that can be switched on, and how its records are understood.
#[derive(Debug, Clone)]
pub(super) struct EventSource {
    id: u16,
    record: Record,
}

/// Type of a record, and its fields.
#[derive(Debug, Clone)]
enum Record {
    Switch { from: [Field; 4], to: [Field; 3] },
    Waking { pid: Field, cpu: Field },
    Migrate { pid: Field, to: Field },
    Ran { pid: Field, ns: Field },
    TimerStart { timer: Field, function: Field, soft: Field, hard: Field },
    Expire { timer: Field, function: Field },
    ExpireEnd,
    Vector { handler: Handler, enters: bool },
    Device { number: Field, name: Option<Field> },
    Softirq { number: Field, enters: bool },
    Stack { frames: Field },
    PageFault,
    Call { number: Field, arguments: Field },
    Return { return_value: Field },
    Idle { state: Field },
    Signal { number: Field, to: Field, name: Field },
    Lends { to: Field, name: Field },
    Freeze { group: Field, on: bool },
    Program { file: Field },
}

/// Softirqs by their numbers (include/linux/interrupt.h).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
/// The processor's own timer on x86, and the handler in its place on ARM.
const TIMER_VECTOR: &str = "local_timer";
pub(super) const TIMER_DEVICE: &str = "arch_timer";
/// Bits of a record's flags: within a handler, within a softirq; with interrupts off.
const IN_INTERRUPT: i64 = 0x08 | 0x10;
const INTERRUPTS_OFF: i64 = 0x01;
/// Idle states are left by this number.
const NOT_IDLE: u32 = u32::MAX;
/// Characters of a thread's name (`TASK_COMM_LEN` less its end).
const LONGEST_NAME: usize = 15;
/// Frames below an interrupt that are kept.
const FRAMES: usize = 8;

impl EventSource {
    /// Finds the event of this name (such as `sched/sched_switch`), if the kernel has it in a known format.
    pub(super) fn find(events: &Path, name: &str, names: &mut NameTable) -> Option<Self> {
        let text = fs::read_to_string(events.join(name).join("format")).ok()?;
        let format = Format::parse(&text)?;
        let f = |field: &str| format.field(field);
        let record = match name {
            "sched/sched_switch" => Record::Switch {
                from: [f("prev_pid")?, f("prev_comm")?, f("prev_prio")?, f("prev_state")?],
                to: [f("next_pid")?, f("next_comm")?, f("next_prio")?],
            },
            "sched/sched_pi_setprio" => Record::Lends { to: f("pid")?, name: f("comm")? },
            "signal/signal_generate" => Record::Signal { number: f("sig")?, to: f("pid")?, name: f("comm")? },
            "cgroup/cgroup_freeze" => Record::Freeze { group: f("path")?, on: true },
            "cgroup/cgroup_unfreeze" => Record::Freeze { group: f("path")?, on: false },
            "sched/sched_process_exec" => Record::Program { file: f("filename")? },
            "sched/sched_waking" => Record::Waking { pid: f("pid")?, cpu: f("target_cpu")? },
            "sched/sched_migrate_task" => Record::Migrate { pid: f("pid")?, to: f("dest_cpu")? },
            "sched/sched_stat_runtime" => Record::Ran { pid: f("pid")?, ns: f("runtime")? },
            "timer/hrtimer_start" => Record::TimerStart {
                timer: f("hrtimer")?,
                function: f("function")?,
                soft: f("softexpires")?,
                hard: f("expires")?,
            },
            "timer/hrtimer_expire_entry" => Record::Expire { timer: f("hrtimer")?, function: f("function")? },
            "timer/hrtimer_expire_exit" => Record::ExpireEnd,
            "irq/irq_handler_entry" => Record::Device { number: f("irq")?, name: Some(f("name")?) },
            "irq/irq_handler_exit" => Record::Device { number: f("irq")?, name: None },
            "irq/softirq_entry" => Record::Softirq { number: f("vec")?, enters: true },
            "irq/softirq_exit" => Record::Softirq { number: f("vec")?, enters: false },
            "ftrace/kernel_stack" => Record::Stack { frames: f("caller")? },
            "exceptions/page_fault_user" | "exceptions/page_fault_kernel" => Record::PageFault,
            "raw_syscalls/sys_enter" => Record::Call { number: f("id")?, arguments: f("args")? },
            "raw_syscalls/sys_exit" => Record::Return { return_value: f("ret")? },
            "power/cpu_idle" => Record::Idle { state: f("state")? },
            other => vector_record(other, names)?,
        };
        Some(EventSource { id: format.id, record })
    }
}

/// Record of an event such as `irq_vectors/reschedule_entry` or `ipi/ipi_entry`; `None` for other names.
fn vector_record(name: &str, names: &mut NameTable) -> Option<Record> {
    let (_, event) = name.split_once('/')?;
    let (vector, enters) = match event.strip_suffix("_entry") {
        Some(vector) => (vector, true),
        None => (event.strip_suffix("_exit")?, false),
    };
    let kind = if vector == TIMER_VECTOR { HandlerKind::Timer } else { HandlerKind::Vector };
    let name = names.intern(vector);
    // The name matches each end with its begin.
    Some(Record::Vector { handler: Handler { kind, number: name.0, name }, enters })
}

/// Decoder of the kernel's binary records.
#[derive(Debug)]
pub(super) struct Decoder {
    records: HashMap<u16, Record>,
    type_: Field,
    flags: Field,
    pid: Field,
    layout: PageLayout,
    pub(super) symbols: Symbols,
    /// Names of threads that were seen.
    threads: HashMap<[u8; 16], NameId>,
    softirqs: Vec<NameId>,
    /// Numbers of interrupts that are the processor's own timer.
    timers: HashSet<u32>,
    /// Offset from the kernel's monotonic clock to the one of this process, in ns.
    offset_ns: i64,
}

/// Offset in ns that a time namespace adds to the monotonic clock, from `timens_offsets`; 0 if unlisted. The
/// kernel's events are without it (time_namespaces(7)).
pub(super) fn namespace_offset_ns(offsets: &str) -> i64 {
    let line = offsets.lines().find_map(|line| line.strip_prefix("monotonic"));
    let mut numbers = line.into_iter().flat_map(str::split_whitespace).map(|word| word.parse::<i64>().ok());
    let offset = numbers.next().flatten().zip(numbers.next().flatten());
    offset.map_or(0, |(s, ns)| s.saturating_mul(1_000_000_000).saturating_add(ns))
}

impl Decoder {
    /// Makes a decoder for records of these events; the format of one of them gives the common fields.
    pub(super) fn new<'a>(
        events: &Path,
        layout: PageLayout,
        sources: impl Iterator<Item = &'a EventSource>,
        names: &mut NameTable,
    ) -> Result<Self, Error> {
        let path = events.join("sched/sched_switch/format");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let common = Format::parse(&text);
        let field = |name: &str| {
            let found = common.as_ref().and_then(|format| format.field(name));
            found.ok_or_else(|| unknown_format_error(&path))
        };
        Ok(Decoder {
            records: sources.map(|source| (source.id, source.record.clone())).collect(),
            type_: field("common_type")?,
            flags: field("common_flags")?,
            pid: field("common_pid")?,
            layout,
            symbols: Symbols::from_kernel(),
            threads: HashMap::new(),
            softirqs: SOFTIRQS.map(|name| names.intern(name)).to_vec(),
            timers: HashSet::new(),
            offset_ns: fs::read_to_string("/proc/self/timens_offsets")
                .map_or(0, |offsets| namespace_offset_ns(&offsets)),
        })
    }

    /// Decodes a record to an event; `None` for records that are not needed.
    pub(super) fn decode(
        &mut self,
        t_ns: i64,
        cpu: u16,
        record: &[u8],
        names: &mut NameTable,
    ) -> Option<Event> {
        let id = self.type_.number(record) as u16;
        let mut what = self.decode_kind(id, record, names)?;
        if let EventKind::TimerStart { soft_ns, hard_ns, .. } = &mut what
            && is_same_clock(*soft_ns, t_ns)
        {
            (*soft_ns, *hard_ns) = (self.to_local_clock(*soft_ns), self.to_local_clock(*hard_ns));
        }
        let t_ns = self.to_local_clock(t_ns);
        let pid = self.pid.number(record) as i32;
        let flags = self.flags.number(record);
        let (in_interrupt, interrupts_off) = (flags & IN_INTERRUPT != 0, flags & INTERRUPTS_OFF != 0);
        Some(Event { t_ns, cpu, pid, in_interrupt, interrupts_off, what })
    }

    /// The name that this thread has now, as an event at this time; `None` if it has ended.
    pub(super) fn current_name_event(&mut self, of: &Event, names: &mut NameTable) -> Option<Event> {
        let name = fs::read(format!("/proc/{}/comm", of.pid)).ok()?;
        let name = intern_thread_name(&mut self.threads, name.trim_ascii_end(), names);
        Some(Event { what: EventKind::ThreadRenamed { name }, ..of.clone() })
    }

    /// Converts a time of the kernel's monotonic clock to that of this process's time namespace.
    pub(super) fn to_local_clock(&self, t_ns: i64) -> i64 {
        t_ns.saturating_add(self.offset_ns)
    }

    fn decode_kind(&mut self, id: u16, record: &[u8], names: &mut NameTable) -> Option<EventKind> {
        let number = |field: &Field| field.number(record);
        let what = match self.records.get(&id)? {
            Record::Switch { from: [from, from_name, from_priority, state], to: [to, name, priority] } => {
                let mut name_of =
                    |field: &Field| intern_thread_name(&mut self.threads, field.text(record), names);
                EventKind::Switch {
                    from: number(from) as i32,
                    from_name: name_of(from_name),
                    from_priority: number(from_priority) as i16,
                    prev_state: PrevState::from_state(number(state)),
                    to: number(to) as i32,
                    name: name_of(name),
                    priority: number(priority) as i16,
                }
            }
            Record::Signal { number: signal, to, name } => EventKind::Signal {
                number: number(signal) as i32,
                to: number(to) as i32,
                name: intern_thread_name(&mut self.threads, name.text(record), names),
            },
            Record::Lends { to, name } => EventKind::LendPriority {
                to: number(to) as i32,
                name: intern_thread_name(&mut self.threads, name.text(record), names),
            },
            Record::Freeze { group, on } => EventKind::Freeze {
                group: names.intern(&String::from_utf8_lossy(group.text(record))),
                on: *on,
            },
            Record::Program { file } => {
                let path = file.text(record);
                let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
                let name = &name[..name.len().min(LONGEST_NAME)];
                EventKind::ThreadRenamed { name: intern_thread_name(&mut self.threads, name, names) }
            }
            Record::Waking { pid, cpu } => {
                EventKind::Waking { pid: number(pid) as i32, cpu: number(cpu) as u16 }
            }
            Record::Migrate { pid, to } => {
                EventKind::Migrate { pid: number(pid) as i32, to: number(to) as u16 }
            }
            Record::Ran { pid, ns } => {
                EventKind::RuntimeAccounted { pid: number(pid) as i32, ns: number(ns) }
            }
            Record::TimerStart { timer, function, soft, hard } => EventKind::TimerStart {
                timer: number(timer) as u64,
                function: self.symbols.name_at(number(function) as u64, names),
                soft_ns: number(soft),
                hard_ns: number(hard),
            },
            Record::Expire { timer, function } => EventKind::TimerExpire {
                timer: number(timer) as u64,
                function: self.symbols.name_at(number(function) as u64, names),
            },
            Record::ExpireEnd => EventKind::TimerExpireEnd,
            Record::Vector { handler, enters: true } => EventKind::HandlerEnter(*handler),
            Record::Vector { handler, enters: false } => EventKind::HandlerExit(*handler),
            Record::Device { number: irq, name } => {
                let irq = number(irq) as u32;
                let name = name.map(|name| String::from_utf8_lossy(name.text(record)).into_owned());
                if name.as_deref() == Some(TIMER_DEVICE) {
                    self.timers.insert(irq);
                }
                let kind = if self.timers.contains(&irq) { HandlerKind::Timer } else { HandlerKind::Device };
                let mut of =
                    |name: &str| Handler { kind, number: irq, name: names.intern(&format!("{irq} {name}")) };
                match name {
                    Some(name) => EventKind::HandlerEnter(of(&name)),
                    None => EventKind::HandlerExit(Handler { kind, number: irq, name: NameId(0) }),
                }
            }
            Record::Softirq { number: vec, enters } => {
                let number = number(vec) as u32;
                let name = self.softirqs.get(number as usize).copied()?;
                let handler = Handler { kind: HandlerKind::Softirq, number, name };
                if *enters { EventKind::HandlerEnter(handler) } else { EventKind::HandlerExit(handler) }
            }
            Record::Stack { frames } => {
                let addresses = self.layout.kernel_longs(frames.bytes_from(record));
                let addresses: Vec<u64> =
                    addresses.filter(|address| ![u64::MAX, u32::MAX.into()].contains(address)).collect();
                EventKind::InterruptedStack(self.interrupted_functions(&addresses, names)?)
            }
            Record::PageFault => EventKind::PageFault,
            Record::Call { number: call, arguments } => {
                let mut words = self.layout.kernel_longs(arguments.bytes(record));
                let arguments = [(); 4].map(|()| words.next().unwrap_or(0));
                let [first, second, third, _] = arguments;
                EventKind::SyscallEnter {
                    call: calls::decode_call(number(call), arguments),
                    number: number(call),
                    arguments: [first, second, third],
                }
            }
            Record::Return { return_value } => EventKind::SyscallExit { return_value: number(return_value) },
            Record::Idle { state } => match number(state) as u32 {
                NOT_IDLE => return None,
                state => EventKind::IdleEnter(state),
            },
        };
        Some(what)
    }

    /// Functions below the interrupt's entry in a stack; `None` if the entry is not among its frames.
    fn interrupted_functions(&mut self, addresses: &[u64], names: &mut NameTable) -> Option<Box<[NameId]>> {
        let frames: Vec<NameId> =
            addresses.iter().map(|address| self.symbols.name_at(*address, names)).collect();
        let entry = frames.iter().rposition(|frame| is_interrupt_entry(names.name(*frame)))?;
        Some(frames.into_iter().skip(entry + 1).take(FRAMES).collect())
    }
}

/// True for functions by which an interrupt enters the kernel, on x86 and ARM.
fn is_interrupt_entry(function: &str) -> bool {
    function.starts_with("asm_sysvec_")
        || function.starts_with("asm_common_interrupt")
        || matches!(
            function,
            "el1h_64_irq" | "el1_irq" | "el0t_64_irq" | "el0_irq" | "el0t_32_irq" | "__irq_svc" | "__irq_usr"
        )
}

fn intern_thread_name(known: &mut HashMap<[u8; 16], NameId>, name: &[u8], names: &mut NameTable) -> NameId {
    let mut key = [0; 16];
    let length = name.len().min(key.len());
    key[..length].copy_from_slice(&name[..length]);
    *known.entry(key).or_insert_with(|| {
        let text = String::from_utf8_lossy(name);
        // The numbers in the names of kernel workers mean nothing.
        let text =
            text.split_once('/').filter(|(kind, _)| *kind == "kworker").map_or(&*text, |(kind, _)| kind);
        names.intern(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_a_time_namespace_is_read() {
        let offset = |text| namespace_offset_ns(text);
        // As Linux 6.18 writes them.
        assert_eq!(
            offset("monotonic     1000000         0\nboottime            0         0\n"),
            1_000_000_000_000_000
        );
        assert_eq!(offset("monotonic          -1 999999999\nboottime            0         0\n"), -1);
        assert_eq!(["", "monotonic", "monotonic 1", "boottime 5 5"].map(offset), [0; 4]);
    }
}
