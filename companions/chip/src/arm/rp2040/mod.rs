//! The RP2040 of the Raspberry Pi Pico: its first core with memory, timer, pins, PWM, state machines, clocks
//! and serial ports.
//!
//! Source: "RP2040 Datasheet" (Raspberry Pi Ltd); each file names its sections. The data phase of an access
//! takes one cycle in memory and at peripherals on AHB-Lite, and none at SIO (2.3.1). Behind the APB bridge
//! it takes 3 for a read and 4 for a write (2.1.3). Fetches from flash take no extra time, as if the cache
//! (2.6.3) held everything: this is reported for every firmware that runs there.

mod clocks;
mod peripherals;
mod pins;
mod pio;
mod pwm;
mod rom;
mod sio;
mod state_machine;
mod timer;
mod uart;

use std::collections::BTreeMap;

use jitterlab_model::firmware::Part;

use super::{Bus, Core, Now, Start, Width};
use crate::log::{FindingKind, Log};
use crate::{Image, Pin, Setup, Stimulus};

use clocks::Clocks;
use pins::Pins;
use pio::Pio;
use pwm::Pwm;
use sio::Sio;
use timer::Timer;
use uart::Uart;

pub const NAME: &str = "rp2040";
/// The processors' clock after a usual start, in Hz.
pub const CLOCK_HZ: u32 = 125_000_000;
/// Size of the largest flash, in bytes.
pub const FLASH: u32 = 16 << 20;

const FLASH_START: u32 = 0x1000_0000;
const RAM_START: u32 = 0x2000_0000;
const RAM: u32 = 0x4_2000;

/// FUNCSEL of the functions that drive pins by themselves.
const PWM_FUNCTION: u32 = 4;
const PIO_FUNCTIONS: [u32; 2] = [6, 7];

/// Time in cycles for a firmware to set its clock, when its clock is determined by running it.
const START_UP: u64 = 2_500_000;

/// Parts of the chip around the first core.
#[derive(Debug, Clone)]
struct Rp2040 {
    ram: Vec<u8>,
    flash: Vec<u8>,
    clocks: Clocks,
    pins: Pins,
    timer: Timer,
    sio: Sio,
    pwm: Pwm,
    pios: [Pio; 2],
    /// Cycle up to which the state machines have worked.
    worked: u64,
    uarts: [Uart; 2],
    /// Registers that only store the written value.
    plain: BTreeMap<u32, u32>,
    stimuli: Vec<Stimulus>,
    lines: u32,
    log: Log,
}

pub fn has(pin: Pin) -> bool {
    pin.port == Pin::GPIO && pin.bit < 30
}

/// True if an image fits into its memories.
pub fn holds(image: &Image) -> bool {
    let inside = |at: u32, size: u32, start: u32, length: u32| at >= start && at - start + size <= length;
    !image.flash.is_empty()
        && image.flash.iter().all(|(at, bytes)| {
            let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(FLASH);
            inside(*at, size, FLASH_START, FLASH) || inside(*at, size, RAM_START, RAM)
        })
}

/// Returns the name of an exception or interrupt, by its number.
pub fn vector_name(number: u8) -> Option<String> {
    let name = match number {
        2 => "NMI",
        3 => "HardFault",
        11 => "SVCall",
        14 => "PendSV",
        15 => "SysTick",
        16.. => LINES.get(usize::from(number - 16))?,
        _ => return None,
    };
    Some(name.into())
}

/// Runs a firmware until something ends it, and returns the log.
pub fn run(setup: &Setup) -> Log {
    let (bus, start) = begin(setup);
    let (mut log, _, _, mut bus) = Core::new(bus, start, setup).run();
    bus.timer.finish(log.cycles, &mut log);
    bus.clocks.warn(&mut log);
    log
}

/// Runs a firmware, and also returns the final R0 to R15, xPSR, and the memory from 0x20000000 on.
pub fn run_and_look(setup: &Setup) -> (Log, [u32; 16], u32, Vec<u8>) {
    let (bus, start) = begin(setup);
    let (log, registers, status, bus) = Core::new(bus, start, setup).run();
    (log, registers, status, bus.ram)
}

/// Returns the clock that a firmware sets at its start, with the crystal of 12 MHz of all boards; `None` if
/// it leaves the processor on the ring oscillator.
pub fn clock_of(image: &Image) -> Option<u32> {
    let setup = Setup { clock_hz: CLOCK_HZ, cycles: START_UP, ..Setup::from_image(image.clone()) };
    let (bus, start) = begin(&setup);
    let (.., bus) = Core::new(bus, start, &setup).run();
    bus.clocks.sys_hz()
}

fn begin(setup: &Setup) -> (Rp2040, Start) {
    let mut bus = Rp2040 {
        ram: vec![0; RAM as usize],
        flash: Vec::new(),
        clocks: Clocks::new(setup.clock_hz),
        pins: Pins::new(&setup.watch),
        timer: Timer::default(),
        sio: Sio::default(),
        pwm: Pwm::new(),
        pios: [Pio::new(), Pio::new()],
        worked: 0,
        uarts: Default::default(),
        plain: BTreeMap::new(),
        stimuli: setup.stimuli.clone(),
        lines: 0,
        log: Log::default(),
    };
    let mut lowest = u32::MAX;
    for (at, bytes) in &setup.image.flash {
        lowest = lowest.min(*at);
        let (memory, offset) = if *at >= RAM_START {
            (&mut bus.ram, at - RAM_START)
        } else {
            (&mut bus.flash, at.saturating_sub(FLASH_START))
        };
        let offset = offset as usize;
        if *at < RAM_START && memory.len() < offset + bytes.len() {
            memory.resize(offset + bytes.len(), 0xff);
        }
        for (to, byte) in memory.iter_mut().skip(offset).zip(bytes) {
            *to = *byte;
        }
    }
    for (offset, value) in &setup.pokes {
        if let Some(byte) = bus.ram.get_mut(usize::from(*offset)) {
            *byte = *value;
        }
    }
    let start = bus.start(&setup.image, lowest);
    (bus, start)
}

impl Rp2040 {
    /// Returns the initial state as the chip's ROM starts a firmware (2.8.1): one in flash behind its second
    /// stage of 256 bytes, by its vectors; one in memory at its entry.
    fn start(&self, image: &Image, lowest: u32) -> Start {
        if self.flash.is_empty() {
            return Start { vectors: 0, sp: RAM_START + RAM, pc: image.entry.unwrap_or(lowest) };
        }
        let word = |offset: u32| little(&self.flash, offset, Width::Word).unwrap_or_default();
        let is_table = |at: u32| {
            let (sp, pc) = (word(at), word(at + 4));
            sp >= RAM_START
                && sp - RAM_START <= RAM
                && pc & 1 == 1
                && (FLASH_START..RAM_START + RAM).contains(&pc)
        };
        let offset = if is_table(0) { 0 } else { 0x100 };
        Start { vectors: FLASH_START + offset, sp: word(offset), pc: word(offset + 4) }
    }

    fn not_simulated(&mut self, part: Part, now: Now) {
        self.log.find(FindingKind::NotSimulated(part), now.cycle, now.address);
    }

    fn update_lines(&mut self) {
        let bit = |on: bool, line: u32| u32::from(on) << line;
        let mut lines = self.timer.lines() | bit(self.pins.interrupts(), 13) | bit(self.pwm.interrupts(), 4);
        for (line, pio) in [7, 9].into_iter().zip(&self.pios) {
            let [first, second] = pio.interrupts();
            lines |= bit(first, line) | bit(second, line + 1);
        }
        self.lines = lines;
    }

    /// Advances the PWM counters to a cycle.
    fn settle_pwm(&mut self, cycle: u64) {
        loop {
            let at = self.pwm.next().min(cycle);
            self.pwm.settle(at);
            self.show_pwm(at);
            if at == cycle {
                return;
            }
        }
    }

    fn show_pwm(&mut self, cycle: u64) {
        // Pins 0 and 16 belong to the same slice.
        let out = self.pwm.outputs();
        self.pins.set_function(PWM_FUNCTION, (out | out << 16, u32::MAX), cycle, &mut self.log);
    }

    /// Advances the state machines to a cycle.
    fn settle_pios(&mut self, cycle: u64) {
        loop {
            let at = self.pios.iter().map(Pio::next).min().unwrap_or(u64::MAX);
            if at > cycle {
                self.worked = self.worked.max(cycle);
                return;
            }
            let input = self.pins.read(at);
            for (pio, function) in self.pios.iter_mut().zip(PIO_FUNCTIONS).filter(|(pio, _)| pio.next() <= at)
            {
                pio.work(at, input);
                self.pins.set_function(function, pio.outputs(), at, &mut self.log);
            }
        }
    }

    /// Returns the latest cycle at which they must be advanced: at each step if they may interrupt.
    fn next_of_pios(&self) -> u64 {
        /// Otherwise in batches of this many cycles.
        const PARCEL: u64 = 4_096;
        let next =
            |pio: &Pio| if pio.may_interrupt() { pio.next() } else { pio.next().max(self.worked + PARCEL) };
        self.pios.iter().map(next).min().unwrap_or(u64::MAX)
    }
}

/// Reads a little-endian number from memory.
fn little(memory: &[u8], offset: u32, width: Width) -> Option<u32> {
    let at = offset as usize;
    let bytes = memory.get(at..at + width.bytes() as usize)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

impl Bus for Rp2040 {
    fn fetch(&mut self, address: u32) -> Option<u16> {
        let offset = address.wrapping_sub(RAM_START) as usize;
        if let Some(&[low, high]) = self.ram.get(offset..offset.wrapping_add(2)) {
            return Some(u16::from_le_bytes([low, high]));
        }
        match address >> 24 {
            0x10..=0x13 => {
                self.clocks.runs_from_flash = true;
                little(&self.flash, address & 0xff_ffff, Width::Half).map(|half| half as u16)
            }
            0 => rom::read(address, Width::Half).map(|half| half as u16),
            _ => None,
        }
    }

    fn read(&mut self, address: u32, width: Width, now: Now) -> Option<(u32, u64)> {
        if let Some(value) = little(&self.ram, address.wrapping_sub(RAM_START), width) {
            return Some((value, 1));
        }
        match address >> 24 {
            0 => rom::read(address, width).map(|value| (value, 1)),
            // Erased flash behind the firmware.
            0x10..=0x13 => Some((little(&self.flash, address & 0xff_ffff, width).unwrap_or(u32::MAX), 1)),
            0x14 | 0x15 | 0x18 | 0x40 | 0x50 | 0xd0 => {
                let (value, cycles) = self.read_register(address & !3, now);
                let value = value >> (8 * (address & 3));
                let value = match width {
                    Width::Byte => value & 0xff,
                    Width::Half => value & 0xffff,
                    Width::Word => value,
                };
                Some((value, cycles))
            }
            _ => None,
        }
    }

    fn write(&mut self, address: u32, value: u32, width: Width, now: Now) -> Option<u64> {
        let offset = address.wrapping_sub(RAM_START) as usize;
        let size = width.bytes() as usize;
        if let Some(bytes) = self.ram.get_mut(offset..offset.wrapping_add(size)) {
            bytes.copy_from_slice(&value.to_le_bytes()[..size]);
            return Some(1);
        }
        // A narrow write reaches all byte lanes (2.1.4).
        let value = match width {
            Width::Byte => (value & 0xff) * 0x0101_0101,
            Width::Half => (value & 0xffff) * 0x1_0001,
            Width::Word => value,
        };
        match address >> 24 {
            0x14 | 0x15 | 0x18 | 0x40 | 0x50 | 0xd0 => Some(self.write_register(address & !3, value, now)),
            _ => None,
        }
    }

    fn settle(&mut self, cycle: u64) {
        self.timer.settle(cycle);
        self.settle_pwm(cycle);
        self.settle_pios(cycle);
        for stimulus in &mut self.stimuli {
            while let Some((at, pin, high)) = stimulus.take(cycle, self.clocks.hz) {
                self.pins.drive(pin.bit, high, at, &mut self.log);
            }
        }
        self.update_lines();
    }

    fn next(&self) -> u64 {
        let outside = self.stimuli.iter().map(|stimulus| stimulus.next(self.clocks.hz)).min();
        self.timer.next().min(outside.unwrap_or(u64::MAX)).min(self.pwm.next()).min(self.next_of_pios())
    }

    fn drives_pins(&self) -> bool {
        self.pwm.next() != u64::MAX || self.pios.iter().any(Pio::is_on)
    }

    fn lines(&self) -> u32 {
        self.lines
    }

    fn interrupt_name(&self, line: u8) -> &'static str {
        LINES.get(usize::from(line)).copied().unwrap_or("reserved")
    }

    fn log(&mut self) -> &mut Log {
        &mut self.log
    }
}

/// Names of the interrupt lines (2.3.2).
const LINES: [&str; 26] = [
    "TIMER_IRQ_0",
    "TIMER_IRQ_1",
    "TIMER_IRQ_2",
    "TIMER_IRQ_3",
    "PWM_IRQ_WRAP",
    "USBCTRL_IRQ",
    "XIP_IRQ",
    "PIO0_IRQ_0",
    "PIO0_IRQ_1",
    "PIO1_IRQ_0",
    "PIO1_IRQ_1",
    "DMA_IRQ_0",
    "DMA_IRQ_1",
    "IO_IRQ_BANK0",
    "IO_IRQ_QSPI",
    "SIO_IRQ_PROC0",
    "SIO_IRQ_PROC1",
    "CLOCKS_IRQ",
    "SPI0_IRQ",
    "SPI1_IRQ",
    "UART0_IRQ",
    "UART1_IRQ",
    "ADC_IRQ_FIFO",
    "I2C0_IRQ",
    "I2C1_IRQ",
    "RTC_IRQ",
];
