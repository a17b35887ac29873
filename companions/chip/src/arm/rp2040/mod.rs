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

use jitterlab_model::firmware::UnsimulatedPart;

use super::{Bus, Core, InitialState, InstructionPoint, Width};
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
    /// Cycle to which the state machines were advanced.
    pios_advanced_to: u64,
    uarts: [Uart; 2],
    /// Registers that only store the written value.
    plain_registers: BTreeMap<u32, u32>,
    stimuli: Vec<Stimulus>,
    lines: u32,
    log: Log,
}

pub fn has_pin(pin: Pin) -> bool {
    pin.port == Pin::GPIO && pin.bit < 30
}

/// True if an image lies within the memories of the RP2040.
pub fn is_rp2040_image(image: &Image) -> bool {
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
        16.. => LINE_NAMES.get(usize::from(number - 16))?,
        _ => return None,
    };
    Some(name.into())
}

/// Runs a firmware until something ends it, and returns the log.
pub fn run(setup: &Setup) -> Log {
    let (bus, start) = create_chip(setup);
    let (mut log, _, _, mut bus) = Core::new(bus, start, setup).run();
    bus.timer.report_past_alarms(log.cycles, &mut log);
    bus.clocks.report_clock_findings(&mut log);
    log
}

/// Runs a firmware; returns the log, the final R0 to R15, xPSR, and the memory from 0x20000000 on.
pub fn run_with_final_state(setup: &Setup) -> (Log, [u32; 16], u32, Vec<u8>) {
    let (bus, start) = create_chip(setup);
    let (log, registers, status, bus) = Core::new(bus, start, setup).run();
    (log, registers, status, bus.ram)
}

/// Clock in Hz that a firmware sets at its start; `None` if it stays on the ring oscillator.
/// It is found by running the firmware with the crystal of 12 MHz of all boards.
pub fn clock_set_by_firmware(image: &Image) -> Option<u32> {
    let setup = Setup { clock_hz: CLOCK_HZ, max_cycles: START_UP, ..Setup::from_image(image.clone()) };
    let (bus, start) = create_chip(&setup);
    let (.., bus) = Core::new(bus, start, &setup).run();
    bus.clocks.processor_hz()
}

/// Creates the chip with a firmware in its memories, and the processor's initial state.
fn create_chip(setup: &Setup) -> (Rp2040, InitialState) {
    let mut bus = Rp2040 {
        ram: vec![0; RAM as usize],
        flash: Vec::new(),
        clocks: Clocks::new(setup.clock_hz),
        pins: Pins::new(&setup.recorded_pins),
        timer: Timer::default(),
        sio: Sio::default(),
        pwm: Pwm::new(),
        pios: [Pio::new(), Pio::new()],
        pios_advanced_to: 0,
        uarts: Default::default(),
        plain_registers: BTreeMap::new(),
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
    for (offset, value) in &setup.initial_bytes {
        if let Some(byte) = bus.ram.get_mut(usize::from(*offset)) {
            *byte = *value;
        }
    }
    let start = bus.initial_state(&setup.image, lowest);
    (bus, start)
}

impl Rp2040 {
    /// Returns the initial state as the chip's ROM starts a firmware (2.8.1): one in flash behind its second
    /// stage of 256 bytes, by its vectors; one in memory at its entry.
    fn initial_state(&self, image: &Image, lowest: u32) -> InitialState {
        if self.flash.is_empty() {
            return InitialState { vectors: 0, sp: RAM_START + RAM, pc: image.entry.unwrap_or(lowest) };
        }
        let word = |offset: u32| read_little_endian(&self.flash, offset, Width::Word).unwrap_or_default();
        let is_table = |at: u32| {
            let (sp, pc) = (word(at), word(at + 4));
            sp >= RAM_START
                && sp - RAM_START <= RAM
                && pc & 1 == 1
                && (FLASH_START..RAM_START + RAM).contains(&pc)
        };
        let offset = if is_table(0) { 0 } else { 0x100 };
        InitialState { vectors: FLASH_START + offset, sp: word(offset), pc: word(offset + 4) }
    }

    fn report_not_simulated(&mut self, part: UnsimulatedPart, now: InstructionPoint) {
        self.log.report_finding(FindingKind::NotSimulated(part), now.cycle, now.address);
    }

    fn update_interrupt_lines(&mut self) {
        let bit = |on: bool, line: u32| u32::from(on) << line;
        let mut lines = self.timer.interrupt_lines()
            | bit(self.pins.is_interrupt_requested(), 13)
            | bit(self.pwm.is_interrupt_requested(), 4);
        for (line, pio) in [7, 9].into_iter().zip(&self.pios) {
            let [first, second] = pio.interrupt_lines();
            lines |= bit(first, line) | bit(second, line + 1);
        }
        self.lines = lines;
    }

    fn advance_pwm_to(&mut self, cycle: u64) {
        loop {
            let at = self.pwm.next_event_cycle().min(cycle);
            self.pwm.advance_to(at);
            self.drive_pwm_pins(at);
            if at == cycle {
                return;
            }
        }
    }

    /// Sets the pins to the outputs of the PWM slices.
    fn drive_pwm_pins(&mut self, cycle: u64) {
        // Pins 0 and 16 belong to the same slice.
        let out = self.pwm.outputs();
        self.pins.set_function_outputs(PWM_FUNCTION, (out | out << 16, u32::MAX), cycle, &mut self.log);
    }

    fn advance_pios_to(&mut self, cycle: u64) {
        loop {
            let at = self.pios.iter().map(Pio::next_step_cycle).min().unwrap_or(u64::MAX);
            if at > cycle {
                self.pios_advanced_to = self.pios_advanced_to.max(cycle);
                return;
            }
            let input = self.pins.input_levels(at);
            for (pio, function) in
                self.pios.iter_mut().zip(PIO_FUNCTIONS).filter(|(pio, _)| pio.next_step_cycle() <= at)
            {
                pio.step_machines(at, input);
                self.pins.set_function_outputs(function, pio.outputs(), at, &mut self.log);
            }
        }
    }

    /// Returns the cycle to which the state machines must be advanced next: the next step if they may interrupt.
    fn next_pio_cycle(&self) -> u64 {
        /// Cycles at once for state machines that cannot interrupt.
        const BATCH_CYCLES: u64 = 4_096;
        let next = |pio: &Pio| {
            if pio.is_any_interrupt_enabled() {
                pio.next_step_cycle()
            } else {
                pio.next_step_cycle().max(self.pios_advanced_to + BATCH_CYCLES)
            }
        };
        self.pios.iter().map(next).min().unwrap_or(u64::MAX)
    }
}

fn read_little_endian(memory: &[u8], offset: u32, width: Width) -> Option<u32> {
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
                read_little_endian(&self.flash, address & 0xff_ffff, Width::Half).map(|half| half as u16)
            }
            0 => rom::read(address, Width::Half).map(|half| half as u16),
            _ => None,
        }
    }

    fn read(&mut self, address: u32, width: Width, now: InstructionPoint) -> Option<(u32, u64)> {
        if let Some(value) = read_little_endian(&self.ram, address.wrapping_sub(RAM_START), width) {
            return Some((value, 1));
        }
        match address >> 24 {
            0 => rom::read(address, width).map(|value| (value, 1)),
            // Erased flash behind the firmware.
            0x10..=0x13 => {
                Some((read_little_endian(&self.flash, address & 0xff_ffff, width).unwrap_or(u32::MAX), 1))
            }
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

    fn write(&mut self, address: u32, value: u32, width: Width, now: InstructionPoint) -> Option<u64> {
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

    fn advance_to(&mut self, cycle: u64) {
        self.timer.advance_to(cycle);
        self.advance_pwm_to(cycle);
        self.advance_pios_to(cycle);
        for stimulus in &mut self.stimuli {
            while let Some((at, pin, high)) = stimulus.take_due_level(cycle, self.clocks.hz) {
                self.pins.drive_from_outside(pin.bit, high, at, &mut self.log);
            }
        }
        self.update_interrupt_lines();
    }

    fn next_event_cycle(&self) -> u64 {
        let outside = self.stimuli.iter().map(|stimulus| stimulus.next_change_time(self.clocks.hz)).min();
        self.timer
            .next_alarm_cycle()
            .min(outside.unwrap_or(u64::MAX))
            .min(self.pwm.next_event_cycle())
            .min(self.next_pio_cycle())
    }

    fn drives_pins(&self) -> bool {
        self.pwm.next_event_cycle() != u64::MAX || self.pios.iter().any(Pio::is_any_machine_on)
    }

    fn interrupt_lines(&self) -> u32 {
        self.lines
    }

    fn interrupt_name(&self, line: u8) -> &'static str {
        LINE_NAMES.get(usize::from(line)).copied().unwrap_or("reserved")
    }

    fn log(&mut self) -> &mut Log {
        &mut self.log
    }
}

/// Names of the interrupt lines (2.3.2).
const LINE_NAMES: [&str; 26] = [
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
