//! The AVR: processor, interrupts, sleep, and the parts of the chip around it.
//!
//! Sources: "AVR Instruction Set Manual" (DS40002198) for the instructions and their cycles; the data sheets
//! named in the files of the parts. Interrupts are taken in [`Avr::run`] and [`Avr::enter_interrupt`].

mod adc;
mod bus;
pub mod chips;
mod clock;
mod compare_behind_counter;
mod crystal;
pub mod decode;
mod eeprom;
mod execute;
mod execution_monitor;
mod external;
mod interrupts;
mod io;
mod map;
mod ports;
mod sleep;
mod sources;
mod spi;
mod timer;
mod torn_reads;
mod twi;
mod usart;
mod watchdog;
mod waveform;

use crate::log::{Fault, FindingKind, Log, Stop};
use crate::stimulus::Stimulus;
use crate::{Image, Pin, Setup};

use chips::Chip;
use clock::Clock;
use decode::{Op, decode};
use io::Io;
use map::RegisterRole;
use ports::Ports;
use sources::Sources;

/// A simulated AVR with its peripherals.
#[derive(Debug)]
pub struct Avr {
    chip: &'static Chip,
    /// Additional cycles of each call, return and interrupt with addresses of three bytes.
    wide_pc_cycles: u64,
    code: Vec<Op>,
    /// Words of the firmware; all others are erased.
    flash: Vec<u16>,
    /// The first word behind the firmware.
    code_end: u32,
    registers: [u8; 32],
    /// Address of the next instruction, in words.
    pc: u32,
    /// Address of the last jump, call or return.
    last_branch_at: u32,
    sp: u16,
    sreg: u8,
    /// True if one more instruction runs before any interrupt.
    holds_interrupts: bool,
    sleep: Option<sleep::SleepMode>,
    /// Cycle to which to advance the peripherals next.
    next_event: u64,
    stop: Option<Stop>,
    io: Io,
    register_roles: Vec<RegisterRole>,
    timers: Vec<timer::Timer>,
    timer_numbers: Vec<u8>,
    usarts: Vec<usart::Usart>,
    eeprom: eeprom::Eeprom,
    adc: adc::Adc,
    spi: spi::Spi,
    twi: twi::Twi,
    watchdog: watchdog::Watchdog,
    external: external::ExternalInterrupts,
    /// Cycle until which the clock's divider can be written.
    divider_unlocked: u64,
    stimuli: Vec<Stimulus>,
    max_cycles: u64,
    max_edges: usize,
    records_entries: bool,
    /// A counter that was read while its overflow was pending: its timer, the time, and the instruction's
    /// address in bytes.
    unseen_overflow: Option<(u8, u64, u32)>,
    fuses: Option<[u8; 3]>,
    torn_reads: torn_reads::TornReads,
    monitor: execution_monitor::ExecutionMonitor,
}

/// MCUSR, on the ATmega128 MCUCSR.
const RESET_CAUSE: u16 = 0x54;

/// Bits of SREG.
mod flag {
    pub const C: u8 = 0;
    pub const Z: u8 = 1;
    pub const N: u8 = 2;
    pub const V: u8 = 3;
    pub const S: u8 = 4;
    pub const H: u8 = 5;
    pub const T: u8 = 6;
    pub const I: u8 = 7;
}

impl Avr {
    pub fn new(chip: &'static Chip, setup: &Setup) -> Self {
        let mut flash = vec![0xffff; chip.flash as usize / 2];
        for (address, bytes) in &setup.image.flash {
            for (at, byte) in (*address as usize..).zip(bytes) {
                let word = &mut flash[at / 2];
                *word = if at % 2 == 0 {
                    *word & 0xff00 | u16::from(*byte)
                } else {
                    *word & 0xff | u16::from(*byte) << 8
                };
            }
        }
        let following = flash.iter().skip(1).chain([&0xffff]);
        let code = flash.iter().zip(following).map(|(word, next)| decode(*word, *next)).collect();
        let parts = map::chip_layout(chip);
        let mut io = Io {
            data: vec![0; usize::from(chip.ram_start) + usize::from(chip.ram)],
            sources: Sources::new(parts.sources),
            ports: Ports::new(),
            clock: Clock::new(setup.clock_hz),
            log: Log::default(),
            frozen: false,
            address: 0,
        };
        let timer_numbers: Vec<u8> = chip.timer_numbers().collect();
        let timers = timer_numbers
            .iter()
            .map(|n| timer::Timer::new(map::timer_spec(chip, *n, &io.sources)))
            .collect::<Vec<_>>();
        let usarts: Vec<_> =
            chip.usart_numbers().map(|n| usart::Usart::new(map::usart_spec(chip, n, &io), &mut io)).collect();
        let external = map::external_interrupts(chip, &io.sources);
        for pin in timers
            .iter()
            .flat_map(timer::Timer::observed_pins)
            .chain(usarts.iter().map(usart::Usart::receive_pin))
        {
            io.ports.collect_changes_of(pin);
        }
        external.pins().into_iter().for_each(|pin| io.ports.collect_changes_of(pin));
        for (index, pin) in (0..).zip(&setup.recorded_pins) {
            io.ports.watch_pin(*pin, index);
        }
        for (address, value) in &setup.initial_bytes {
            if let Some(byte) = io.data.get_mut(usize::from(*address)) {
                *byte = *value;
            }
        }
        let newer = chip.family == chips::Family::Newer;
        let named = |io: &Io, name: &str| io.sources.by_name(name);
        let mut avr = Avr {
            chip,
            wide_pc_cycles: u64::from(chip.has_wide_pc()),
            code,
            flash,
            code_end: setup.image.flash_end().div_ceil(2),
            registers: [0; 32],
            pc: 0,
            last_branch_at: 0,
            sp: if newer { chip.ram_start + chip.ram - 1 } else { 0 },
            sreg: 0,
            holds_interrupts: false,
            sleep: None,
            next_event: 0,
            stop: None,
            register_roles: parts.roles,
            timers,
            timer_numbers,
            usarts,
            eeprom: eeprom::Eeprom::new(chip.eeprom, named(&io, "EE_READY"), &setup.image),
            adc: match newer {
                true => adc::Adc::new(0x7a, Some(0x7b), named(&io, "ADC")),
                false => adc::Adc::new(0x26, None, named(&io, "ADC")),
            },
            spi: spi::Spi::new(if newer { 0x4c } else { 0x2d }, named(&io, "SPI_STC")),
            twi: twi::Twi::new(if newer { 0xb8 } else { 0x70 }, named(&io, "TWI"), &mut io),
            watchdog: watchdog::Watchdog::new(if newer { 0x60 } else { 0x41 }, named(&io, "WDT"), newer),
            external,
            divider_unlocked: 0,
            stimuli: setup.stimuli.clone(),
            max_cycles: setup.max_cycles,
            max_edges: setup
                .max_edges
                .map_or(usize::MAX, |edges| usize::try_from(edges).unwrap_or(usize::MAX)),
            records_entries: setup.record_entries,
            unseen_overflow: None,
            fuses: setup.image.fuses,
            torn_reads: torn_reads::TornReads::default(),
            monitor: execution_monitor::ExecutionMonitor::new(
                chip,
                setup.image.variables_end,
                setup.record_spans,
            ),
            io,
        };
        avr.io.set_register(RESET_CAUSE, 1);
        avr.advance_peripherals();
        avr
    }

    /// Runs the firmware until something ends it, and returns the log.
    ///
    /// Interrupts are taken at the end of an instruction (ATmega328P, section 7.7), if their flags were set by then.
    /// After an instruction that sets the I bit, and after RETI, one more instruction runs before any interrupt.
    pub fn run(mut self) -> Log {
        self.run_until_stop();
        self.into_log()
    }

    /// Runs the firmware; returns the log, the final registers, SREG, and memory.
    pub fn run_with_final_state(mut self) -> (Log, [u8; 32], u8, Vec<u8>) {
        self.run_until_stop();
        let memory = self.io.data[usize::from(self.chip.ram_start)..].to_vec();
        let (registers, status) = (self.registers, self.sreg);
        (self.into_log(), registers, status, memory)
    }

    fn run_until_stop(&mut self) {
        while self.stop.is_none() {
            if self.io.clock.now >= self.next_event {
                self.advance_peripherals();
                continue;
            }
            if let Some(mode) = self.sleep {
                self.sleep_until_event(mode);
                continue;
            }
            if std::mem::take(&mut self.holds_interrupts) {
                // one more
            } else if self.io.sources.pending() != 0 && self.sreg & 1 << flag::I != 0 {
                self.enter_interrupt(false);
                continue;
            }
            let Some(op) = self.code.get(self.pc as usize).copied() else {
                self.stop_with_fault(Fault::NoCode);
                break;
            };
            self.execute(op);
        }
    }

    /// Advances the peripherals to the current cycle and schedules the next event.
    fn advance_peripherals(&mut self) {
        self.apply_stimuli();
        for timer in &mut self.timers {
            timer.advance_to_now(&mut self.io);
        }
        for usart in &mut self.usarts {
            usart.advance_to_now(&mut self.io);
        }
        self.eeprom.advance_to_now(&mut self.io);
        self.adc.advance_to_now(&mut self.io);
        self.spi.advance_to_now(&mut self.io);
        self.twi.advance_to_now(&mut self.io);
        self.external.advance_to_now(&mut self.io);
        if self.watchdog.advance_to_now(&mut self.io) {
            self.reset_by_watchdog();
        }
        self.distribute_pin_changes();
        self.schedule_next_event();
    }

    /// Returns the next event in each kind of time, even after the end: a cycle, and a moment of the oscillator.
    fn next_event_times(&self) -> (u64, u64) {
        let mut cycle = self
            .eeprom
            .next_event_cycle()
            .min(self.adc.next_event_cycle())
            .min(self.spi.next_event_cycle())
            .min(self.twi.next_event_cycle());
        cycle = cycle.min(self.external.next_event_cycle());
        let mut wall = self.watchdog.timeout_moment();
        for timer in &self.timers {
            let (next_cycle, next_wall) = timer.next_event_times(&self.io);
            (cycle, wall) = (cycle.min(next_cycle), wall.min(next_wall));
        }
        for usart in &self.usarts {
            cycle = cycle.min(usart.next_event_cycle(&self.io));
        }
        for stimulus in &self.stimuli {
            wall = wall.min(stimulus.next_change_time(self.io.clock.hz));
        }
        (cycle, wall)
    }

    /// Computes the cycle of the next event, and stops at the requested time or number of edges.
    fn schedule_next_event(&mut self) {
        let (cycle, wall) = self.next_event_times();
        self.next_event = cycle.min(self.io.clock.cycle_at(wall.min(self.max_cycles)));
        if self.io.clock.wall() >= self.max_cycles {
            self.stop = self.stop.or(Some(Stop::Cycles));
        }
        self.stop_after_enough_edges();
    }

    fn stop_after_enough_edges(&mut self) {
        if self.io.log.edges.len() >= self.max_edges {
            self.stop = self.stop.or(Some(Stop::Edges));
        }
    }

    /// Sets the levels from outside that are due by now.
    fn apply_stimuli(&mut self) {
        let wall = self.io.clock.wall();
        for index in 0..self.stimuli.len() {
            while let Some((at, pin, high)) = self.stimuli[index].take_due_level(wall, self.io.clock.hz) {
                self.io.drive_from_outside(pin, high, at);
                self.distribute_pin_changes();
            }
        }
    }

    /// Passes the changes of pins to the peripherals that depend on them.
    fn distribute_pin_changes(&mut self) {
        while !self.io.ports.changes.is_empty() {
            for change in std::mem::take(&mut self.io.ports.changes) {
                for bit in (0..8).filter(|bit| change.bits & 1 << bit != 0) {
                    let pin = Pin { port: change.port, bit };
                    let high = change.level & 1 << bit != 0;
                    for timer in &mut self.timers {
                        timer.handle_pin_change(pin, high, change.cycle, &mut self.io);
                    }
                    for usart in self.usarts.iter_mut().filter(|u| u.receive_pin() == pin) {
                        usart.handle_pin_change(high, change.cycle);
                    }
                    self.external.handle_pin_change(pin, high, change.cycle, &mut self.io);
                }
            }
        }
    }

    fn stop_with_fault(&mut self, fault: Fault) {
        self.stop = Some(Stop::Crashed { fault, address: self.pc * 2, from: self.last_branch_at * 2 });
    }

    fn reset_by_watchdog(&mut self) {
        self.report_finding(FindingKind::WatchdogReset);
        let fresh =
            Avr::new(self.chip, &Setup { clock_hz: self.io.clock.hz, ..Setup::from_image(Image::default()) });
        let registers = usize::from(self.chip.ram_start);
        let flags = self.io.register(RESET_CAUSE) | 8;
        self.io.data[..registers].copy_from_slice(&fresh.io.data[..registers]);
        self.io.set_register(RESET_CAUSE, flags);
        // From reset on WDE is set, with the shortest time, until the firmware clears it (section 11.9.2).
        self.io.set_register(if self.chip.family == chips::Family::Newer { 0x60 } else { 0x41 }, 8);
        self.io.update_pending();
        (self.timers, self.usarts, self.adc, self.spi, self.twi) =
            (fresh.timers, fresh.usarts, fresh.adc, fresh.spi, fresh.twi);
        (self.pc, self.sp, self.sreg, self.holds_interrupts, self.sleep) = (0, fresh.sp, 0, false, None);
        self.external.pending_flags.clear();
        (self.unseen_overflow, self.torn_reads) = (None, torn_reads::TornReads::default());
        self.io.ports.end_overrides();
        for port in 0..12 {
            self.io.set_direction(port, 0);
            self.io.set_port_register(port, 0);
        }
        self.watchdog.restart(&self.io);
        self.monitor.reset();
    }

    fn into_log(mut self) -> Log {
        if let Some(stop) = self.stop {
            self.io.log.stop = stop;
        }
        self.monitor.complete_log(&mut self.io, self.sreg, self.pc);
        self.io.log
    }
}
