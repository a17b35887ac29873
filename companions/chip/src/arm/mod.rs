//! ARMv6-M as implemented in the Cortex-M0+: processor, exceptions, SysTick; and the chips around it.
//!
//! Sources: "ARMv6-M Architecture Reference Manual" (DDI 0419) for the effect of instructions and exceptions;
//! "Cortex-M0+ Technical Reference Manual" (DDI 0484C) for their cycles: table 3-1 and section 3.6.1. Where
//! these give no cycles, the code that charges them states the assumption ([`exceptions`]).

mod exceptions;
mod execute;
mod execution_monitor;
mod memory;
mod nvic;
pub mod rp2040;
mod system;
mod systick;

use crate::log::{Fault, FinalSleep, Log, Stop};

use execution_monitor::ExecutionMonitor;
use nvic::Nvic;
use systick::SysTick;

/// Width of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Byte,
    Half,
    Word,
}

impl Width {
    const fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        }
    }
}

/// The instruction that causes an action: its first cycle and its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstructionPoint {
    pub cycle: u64,
    pub address: u32,
}

/// Parts of a chip around the processor: memory, peripherals, pins.
pub(crate) trait Bus {
    /// Returns the halfword of code at an even address; `None` where there is no memory.
    fn fetch(&mut self, address: u32) -> Option<u16>;
    /// Reads a value; returns it and the cycles of its data phase: 1 in memory, 0 at the single-cycle port,
    /// more behind a bridge.
    fn read(&mut self, address: u32, width: Width, now: InstructionPoint) -> Option<(u32, u64)>;
    /// Writes a value; returns the cycles of its data phase.
    fn write(&mut self, address: u32, value: u32, width: Width, now: InstructionPoint) -> Option<u64>;
    fn advance_to(&mut self, cycle: u64);
    /// Returns the cycle at which a peripheral does something by itself next.
    fn next_event_cycle(&self) -> u64;
    /// True if a peripheral moves pins without the processor.
    fn drives_pins(&self) -> bool;
    /// Returns the interrupt lines that are high, one bit each.
    fn interrupt_lines(&self) -> u32;
    fn interrupt_name(&self, line: u8) -> &'static str;
    fn log(&mut self) -> &mut Log;
}

/// A processor on its bus.
#[derive(Debug)]
pub(crate) struct Core<B> {
    pub bus: B,
    /// R0 to R15; R13 is the active stack pointer, R15 the address of the current instruction.
    r: [u32; 16],
    other_sp: u32,
    n: bool,
    z: bool,
    c: bool,
    v: bool,
    /// The exception being handled; 0 in thread mode.
    ipsr: u32,
    primask: bool,
    /// True if thread mode uses the process stack (CONTROL, SPSEL), and if it is unprivileged (nPRIV).
    process_stack: bool,
    unprivileged: bool,
    nvic: Nvic,
    systick: SysTick,
    /// The cycle at which the next instruction begins.
    now: u64,
    /// Cycle to which to advance the peripherals next.
    next_event: u64,
    sleep: Option<Sleep>,
    /// The event register that WFE tests.
    event: bool,
    last_branch_at: u32,
    max_cycles: u64,
    max_edges: usize,
    stop: Option<Stop>,
    monitor: ExecutionMonitor,
}

/// Condition that ends a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sleep {
    /// An exception that would be taken with PRIMASK clear.
    Interrupt,
    /// Such an exception, or an event.
    Event,
}

/// Initial state of a processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InitialState {
    pub vectors: u32,
    pub sp: u32,
    pub pc: u32,
}

impl<B: Bus> Core<B> {
    pub fn new(bus: B, start: InitialState, setup: &crate::Setup) -> Self {
        let mut r = [0; 16];
        (r[13], r[14], r[15]) = (start.sp & !3, u32::MAX, start.pc & !1);
        let mut core = Core {
            bus,
            r,
            other_sp: 0,
            n: false,
            z: false,
            c: false,
            v: false,
            ipsr: 0,
            primask: false,
            process_stack: false,
            unprivileged: false,
            nvic: Nvic::new(start.vectors),
            systick: SysTick::default(),
            now: 0,
            next_event: 0,
            sleep: None,
            event: false,
            last_branch_at: start.pc & !1,
            max_cycles: setup.max_cycles,
            max_edges: setup
                .max_edges
                .map_or(usize::MAX, |edges| usize::try_from(edges).unwrap_or(usize::MAX)),
            stop: None,
            monitor: ExecutionMonitor::new(
                start.sp,
                setup.image.variables_end,
                setup.record_entries,
                setup.record_spans,
            ),
        };
        core.advance_peripherals();
        core
    }

    /// Runs the firmware until something ends it; returns the log, the final registers R0 to R15 and xPSR, and the bus.
    pub fn run(mut self) -> (Log, [u32; 16], u32, B) {
        self.run_until_stop();
        let mut log = std::mem::take(self.bus.log());
        log.stop = self.stop.unwrap_or_default();
        log.cycles = self.now;
        let bus = &self.bus;
        let name = |exception: u8| match exception {
            nvic::NMI => "NMI",
            nvic::SVCALL => "SVCall",
            nvic::PENDSV => "PendSV",
            nvic::SYSTICK => "SysTick",
            line => bus.interrupt_name(line.saturating_sub(nvic::LINE)),
        };
        self.monitor.complete_log(&mut log, self.primask, self.r[15], self.nvic.lost_requests(), name);
        (log, self.r, self.xpsr(), self.bus)
    }

    fn run_until_stop(&mut self) {
        while self.stop.is_none() {
            if self.now >= self.next_event {
                self.advance_peripherals();
            } else if let Some(sleep) = self.sleep {
                self.sleep_until_event(sleep);
            } else if let Some(exception) = self.nvic.exception_to_take() {
                self.enter_exception(exception, true);
            } else {
                self.execute_next_instruction();
            }
        }
    }

    fn execute_next_instruction(&mut self) {
        let pc = self.r[15];
        let Some(op) = self.bus.fetch(pc) else { return self.stop_with_fault(Fault::NoCode) };
        self.execute(op);
    }

    /// Advances the peripherals to the current cycle and computes the next time to do so.
    fn advance_peripherals(&mut self) {
        self.bus.advance_to(self.now);
        self.advance_systick();
        self.update_interrupt_lines();
        self.schedule_next_event();
    }

    /// Computes the cycle of the next event, and stops at the requested time or number of edges.
    fn schedule_next_event(&mut self) {
        self.next_event =
            self.bus.next_event_cycle().min(self.systick.next_zero_cycle()).min(self.max_cycles);
        if self.now >= self.max_cycles {
            self.stop = self.stop.or(Some(Stop::Cycles));
        }
        if self.bus.log().edges.len() >= self.max_edges {
            self.stop = self.stop.or(Some(Stop::Edges));
        }
    }

    /// Passes the state of the interrupt lines to the interrupt controller.
    fn update_interrupt_lines(&mut self) {
        if self.nvic.set_lines(self.bus.interrupt_lines(), self.now) {
            self.event = true;
        }
    }

    /// Advances SysTick to now, and makes its exception pending if it reached zero.
    fn advance_systick(&mut self) {
        if let Some(at) = self.systick.advance_to(self.now) {
            self.nvic.set_pending(nvic::SYSTICK, at);
        }
    }

    /// Wakes if there is a reason, else advances the time to the next event; stops if there can be none.
    fn sleep_until_event(&mut self, sleep: Sleep) {
        if self.nvic.ends_sleep() || (sleep == Sleep::Event && std::mem::take(&mut self.event)) {
            self.sleep = None;
            self.monitor.record_wake_up(self.primask, self.now, self.r[15].wrapping_sub(2));
            return;
        }
        let until = self.next_event;
        let nobody = self.nvic.has_no_enabled_line() && sleep == Sleep::Interrupt;
        let is_over = self.systick.next_zero_cycle() == u64::MAX && !self.bus.drives_pins();
        if is_over && (nobody || self.bus.next_event_cycle() == u64::MAX) {
            let mode = if sleep == Sleep::Event { "WFE" } else { "WFI" };
            let rest = match self.primask {
                true => FinalSleep::Done,
                false => FinalSleep::Unwakeable { mode, address: self.r[15].wrapping_sub(2) },
            };
            self.stop = Some(Stop::Asleep(rest));
            return;
        }
        self.bus.log().asleep_cycles += until.saturating_sub(self.now);
        self.now = until.max(self.now);
    }

    fn stop_with_fault(&mut self, fault: Fault) {
        self.stop = Some(Stop::Crashed { fault, address: self.r[15], from: self.last_branch_at });
    }

    fn xpsr(&self) -> u32 {
        let flag = |on, bit: u32| u32::from(on) << bit;
        flag(self.n, 31) | flag(self.z, 30) | flag(self.c, 29) | flag(self.v, 28) | 1 << 24 | self.ipsr
    }

    fn set_flags(&mut self, psr: u32) {
        let flag = |bit: u32| psr >> bit & 1 != 0;
        (self.n, self.z, self.c, self.v) = (flag(31), flag(30), flag(29), flag(28));
    }
}
