//! The AVR: processor, interrupts, sleep, and the parts of the chip around it.
//!
//! Sources: "AVR Instruction Set Manual" (DS40002198) for the instructions and their cycles; the data sheets
//! named in the files of the parts. Interrupts are taken in [`Avr::run`] and [`Avr::enter`].

mod adc;
mod bus;
pub mod chips;
mod clock;
mod compare_behind_counter;
mod crystal;
pub mod decode;
mod eeprom;
mod execute;
mod external;
mod interrupts;
mod io;
mod map;
mod ports;
mod sleep;
mod sources;
mod spi;
mod timer;
mod torn;
mod twi;
mod usart;
mod watch;
mod watchdog;
mod waveform;

use crate::log::{Fault, FindingKind, Log, Stop};
use crate::stimulus::Stimulus;
use crate::{Image, Pin, Setup};

use chips::Chip;
use clock::Clock;
use decode::{Op, decode};
use io::Io;
use map::Unit;
use ports::Ports;
use sources::Sources;

/// A simulated chip.
#[derive(Debug)]
pub struct Avr {
    chip: &'static Chip,
    /// Additional cycles of each call, return and interrupt with addresses of three bytes.
    wide: u64,
    code: Vec<Op>,
    /// Words of the firmware; all others are erased.
    flash: Vec<u16>,
    /// The first word behind the firmware.
    code_end: u32,
    registers: [u8; 32],
    /// Address of the next instruction, in words.
    pc: u32,
    /// Address of the last jump, call or return.
    came_from: u32,
    sp: u16,
    sreg: u8,
    /// True if one more instruction runs before any interrupt.
    hold: bool,
    sleep: Option<sleep::Mode>,
    /// Cycle at which to settle the parts next.
    next_event: u64,
    stop: Option<Stop>,
    io: Io,
    units: Vec<Unit>,
    timers: Vec<timer::Timer>,
    timer_numbers: Vec<u8>,
    usarts: Vec<usart::Usart>,
    eeprom: eeprom::Eeprom,
    adc: adc::Adc,
    spi: spi::Spi,
    twi: twi::Twi,
    watchdog: watchdog::Watchdog,
    external: external::External,
    /// Cycle until which the clock's divider can be written.
    divider_unlocked: u64,
    stimuli: Vec<Stimulus>,
    limit: u64,
    edges: usize,
    tell_entries: bool,
    /// A counter that was read while its overflow was pending: its timer, the time, and the instruction's
    /// address in bytes.
    unseen: Option<(u8, u64, u32)>,
    fuses: Option<[u8; 3]>,
    torn: torn::Torn,
    watch: watch::Watch,
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
    /// Creates a chip with a firmware, at reset.
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
        let parts = map::parts(chip);
        let mut io = Io {
            data: vec![0; usize::from(chip.ram_start) + usize::from(chip.ram)],
            sources: Sources::new(parts.sources),
            ports: Ports::new(),
            clock: Clock::new(setup.clock_hz),
            log: Log::default(),
            frozen: false,
            address: 0,
        };
        let timer_numbers: Vec<u8> = chip.timers().collect();
        let timers = timer_numbers
            .iter()
            .map(|n| timer::Timer::new(map::timer(chip, *n, &io.sources)))
            .collect::<Vec<_>>();
        let usarts: Vec<_> =
            chip.usarts().map(|n| usart::Usart::new(map::usart(chip, n, &io), &mut io)).collect();
        let external = map::external(chip, &io.sources);
        for pin in timers.iter().flat_map(timer::Timer::pins).chain(usarts.iter().map(usart::Usart::input)) {
            io.ports.listen(pin);
        }
        external.pins().into_iter().for_each(|pin| io.ports.listen(pin));
        for (index, pin) in (0..).zip(&setup.watch) {
            io.ports.watch(*pin, index);
        }
        for (address, value) in &setup.pokes {
            if let Some(byte) = io.data.get_mut(usize::from(*address)) {
                *byte = *value;
            }
        }
        let newer = chip.family == chips::Family::Newer;
        let named = |io: &Io, name: &str| io.sources.named(name);
        let mut avr = Avr {
            chip,
            wide: u64::from(chip.wide_pc()),
            code,
            flash,
            code_end: setup.image.flash_end().div_ceil(2),
            registers: [0; 32],
            pc: 0,
            came_from: 0,
            sp: if newer { chip.ram_start + chip.ram - 1 } else { 0 },
            sreg: 0,
            hold: false,
            sleep: None,
            next_event: 0,
            stop: None,
            units: parts.units,
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
            limit: setup.cycles,
            edges: setup.edges.map_or(usize::MAX, |edges| usize::try_from(edges).unwrap_or(usize::MAX)),
            tell_entries: setup.entries,
            unseen: None,
            fuses: setup.image.fuses,
            torn: torn::Torn::default(),
            watch: watch::Watch::new(chip, setup.image.variables_end, setup.spans),
            io,
        };
        avr.io.set_byte(RESET_CAUSE, 1);
        avr.settle();
        avr
    }

    /// Runs until something ends it, and returns the log.
    ///
    /// Interrupts are taken at the end of an instruction (ATmega328P, section 7.7), if their flags were set by then.
    /// After an instruction that sets the I bit, and after RETI, one more instruction runs before any interrupt.
    pub fn run(mut self) -> Log {
        self.work();
        self.finish()
    }

    /// Runs, and also returns the final registers, status register, and memory.
    pub fn run_and_look(mut self) -> (Log, [u8; 32], u8, Vec<u8>) {
        self.work();
        let memory = self.io.data[usize::from(self.chip.ram_start)..].to_vec();
        let (registers, status) = (self.registers, self.sreg);
        (self.finish(), registers, status, memory)
    }

    fn work(&mut self) {
        while self.stop.is_none() {
            if self.io.clock.now >= self.next_event {
                self.settle();
                continue;
            }
            if let Some(mode) = self.sleep {
                self.doze(mode);
                continue;
            }
            if std::mem::take(&mut self.hold) {
                // one more
            } else if self.io.sources.pending() != 0 && self.sreg & 1 << flag::I != 0 {
                self.enter();
                continue;
            }
            let Some(op) = self.code.get(self.pc as usize).copied() else {
                self.crash(Fault::NoCode);
                break;
            };
            self.execute(op);
        }
    }

    /// Advances the parts to the current cycle and computes the next time to do so.
    fn settle(&mut self) {
        self.apply_stimuli();
        for timer in &mut self.timers {
            timer.settle(&mut self.io);
        }
        for usart in &mut self.usarts {
            usart.settle(&mut self.io);
        }
        self.eeprom.settle(&mut self.io);
        self.adc.settle(&mut self.io);
        self.spi.settle(&mut self.io);
        self.twi.settle(&mut self.io);
        self.external.settle(&mut self.io);
        if self.watchdog.settle(&mut self.io) {
            self.reset_by_watchdog();
        }
        self.pins_changed();
        self.plan();
    }

    /// Returns the time of the next event, even after the end: a cycle, and a moment of the oscillator.
    fn next(&self) -> (u64, u64) {
        let mut cycle = self.eeprom.next().min(self.adc.next()).min(self.spi.next()).min(self.twi.next());
        cycle = cycle.min(self.external.next());
        let mut wall = self.watchdog.next();
        for timer in &self.timers {
            let (next_cycle, next_wall) = timer.next(&self.io);
            (cycle, wall) = (cycle.min(next_cycle), wall.min(next_wall));
        }
        for usart in &self.usarts {
            cycle = cycle.min(usart.next(&self.io));
        }
        for stimulus in &self.stimuli {
            wall = wall.min(stimulus.next(self.io.clock.hz));
        }
        (cycle, wall)
    }

    fn plan(&mut self) {
        let (cycle, wall) = self.next();
        self.next_event = cycle.min(self.io.clock.cycle_at(wall.min(self.limit)));
        if self.io.clock.wall() >= self.limit {
            self.stop = self.stop.or(Some(Stop::Cycles));
        }
        self.count_edges();
    }

    fn count_edges(&mut self) {
        if self.io.log.edges.len() >= self.edges {
            self.stop = self.stop.or(Some(Stop::Edges));
        }
    }

    fn apply_stimuli(&mut self) {
        let wall = self.io.clock.wall();
        for index in 0..self.stimuli.len() {
            while let Some((at, pin, high)) = self.stimuli[index].take(wall, self.io.clock.hz) {
                self.io.drive(pin, high, at);
                self.pins_changed();
            }
        }
    }

    /// Reports changes of pins to the parts that depend on them.
    fn pins_changed(&mut self) {
        while !self.io.ports.changes.is_empty() {
            for change in std::mem::take(&mut self.io.ports.changes) {
                for bit in (0..8).filter(|bit| change.bits & 1 << bit != 0) {
                    let pin = Pin { port: change.port, bit };
                    let high = change.level & 1 << bit != 0;
                    for timer in &mut self.timers {
                        timer.pin_changed(pin, high, change.cycle, &mut self.io);
                    }
                    for usart in self.usarts.iter_mut().filter(|u| u.input() == pin) {
                        usart.pin_changed(high, change.cycle);
                    }
                    self.external.pin_changed(pin, high, change.cycle, &mut self.io);
                }
            }
        }
    }

    fn crash(&mut self, fault: Fault) {
        self.stop = Some(Stop::Crashed { fault, address: self.pc * 2, from: self.came_from * 2 });
    }

    fn reset_by_watchdog(&mut self) {
        self.find(FindingKind::WatchdogReset);
        let fresh =
            Avr::new(self.chip, &Setup { clock_hz: self.io.clock.hz, ..Setup::from_image(Image::default()) });
        let registers = usize::from(self.chip.ram_start);
        let flags = self.io.byte(RESET_CAUSE) | 8;
        self.io.data[..registers].copy_from_slice(&fresh.io.data[..registers]);
        self.io.set_byte(RESET_CAUSE, flags);
        // From reset on WDE is set, with the shortest time, until the firmware clears it (section 11.9.2).
        self.io.set_byte(if self.chip.family == chips::Family::Newer { 0x60 } else { 0x41 }, 8);
        self.io.refresh();
        (self.timers, self.usarts, self.adc, self.spi, self.twi) =
            (fresh.timers, fresh.usarts, fresh.adc, fresh.spi, fresh.twi);
        (self.pc, self.sp, self.sreg, self.hold, self.sleep) = (0, fresh.sp, 0, false, None);
        self.external.coming.clear();
        (self.unseen, self.torn) = (None, torn::Torn::default());
        self.io.ports.release();
        for port in 0..12 {
            self.io.set_direction(port, 0);
            self.io.set_out(port, 0);
        }
        self.watchdog.restart(&self.io);
        self.watch.reset();
    }

    fn finish(mut self) -> Log {
        if let Some(stop) = self.stop {
            self.io.log.stop = stop;
        }
        self.watch.finish(&mut self.io, self.sreg, self.pc);
        self.io.log
    }
}
