//! Pins: their drivers, levels and interrupts (data sheet, 2.19: IO_BANK0 and PADS_BANK0).

use super::peripherals::WriteKind;
use crate::{Edge, Log, Pin};

const PINS: u32 = 30;
const ALL: u32 = (1 << PINS) - 1;
/// FUNCSEL of SIO; at reset no function is selected.
const SIO: u32 = 5;
const NONE: u32 = 31;
/// Bits of a pad: outputs off, inputs on, pull-up.
const OUTPUT_DISABLE: u32 = 1 << 7;
const PULL_UP: u32 = 1 << 3;
/// At reset: inputs on, 4 mA, pull-down, Schmitt trigger.
const PAD: u32 = 0x56;
/// Cycles of a level through the two stages of the synchroniser (2.19).
const SYNCHRONISER_CYCLES: u64 = 2;

/// The pins of bank 0.
#[derive(Debug, Clone)]
pub struct Pins {
    control: [u32; PINS as usize],
    pads: [u32; PINS as usize],
    /// Output levels of SIO, and the pins that it drives.
    out: u32,
    enabled: u32,
    /// Output levels and driven pins of the other functions, by FUNCSEL.
    functions: [(u32, u32); 8],
    driven: u32,
    outside: u32,
    level: u32,
    before: u32,
    changed_at: u64,
    /// Edges seen, four bits per pin as in the registers, and the masks of the first core.
    edges: [u32; 4],
    masks: [u32; 4],
    forced: [u32; 4],
    watched: [Option<usize>; PINS as usize],
}

impl Pins {
    pub fn new(watch: &[Pin]) -> Self {
        let mut watched = [None; PINS as usize];
        for (index, pin) in watch.iter().enumerate() {
            if let Some(place) = watched.get_mut(usize::from(pin.bit)) {
                *place = Some(index);
            }
        }
        Pins {
            control: [NONE; PINS as usize],
            pads: [PAD; PINS as usize],
            out: 0,
            enabled: 0,
            functions: [(0, 0); 8],
            driven: 0,
            outside: 0,
            level: 0,
            before: 0,
            changed_at: 0,
            edges: [0; 4],
            masks: [0; 4],
            forced: [0; 4],
            watched,
        }
    }

    /// Returns GPIO_OUT.
    pub fn output_levels(&self) -> u32 {
        self.out
    }

    /// Returns GPIO_OE.
    pub fn output_enables(&self) -> u32 {
        self.enabled
    }

    /// Returns GPIO_IN: the levels two cycles before.
    pub fn input_levels(&self, now: u64) -> u32 {
        if now >= self.changed_at + SYNCHRONISER_CYCLES { self.level } else { self.before }
    }

    pub fn set_output_levels(&mut self, value: u32, now: u64, log: &mut Log) {
        self.out = value & ALL;
        self.update_levels(now, log);
    }

    pub fn set_output_enables(&mut self, value: u32, now: u64, log: &mut Log) {
        self.enabled = value & ALL;
        self.update_levels(now, log);
    }

    /// Sets the output levels of a function, and the pins that it drives.
    pub fn set_function_outputs(&mut self, function: u32, outputs: (u32, u32), now: u64, log: &mut Log) {
        let held = &mut self.functions[(function & 7) as usize];
        if *held != outputs {
            *held = outputs;
            self.update_levels(now, log);
        }
    }

    /// Returns the level that the selected function of a pin outputs, and true if it enables the output.
    fn output_and_enable(&self, bit: u32) -> (bool, bool) {
        let (out, enabled) = match self.control[bit as usize] & 0x1f {
            SIO => (self.out, self.enabled),
            function @ ..8 => self.functions[function as usize],
            _ => (0, 0),
        };
        (out >> bit & 1 != 0, enabled >> bit & 1 != 0)
    }

    pub fn drive_from_outside(&mut self, bit: u8, high: bool, now: u64, log: &mut Log) {
        let mask = 1 << bit;
        self.driven |= mask;
        self.outside = if high { self.outside | mask } else { self.outside & !mask };
        self.update_levels(now, log);
    }

    /// Computes and records the levels: an output has its value; an input the level from outside, else high with a
    /// pull-up, else low.
    fn update_levels(&mut self, now: u64, log: &mut Log) {
        let mut level = 0;
        for (bit, (control, pad)) in (0..PINS).zip(self.control.iter().zip(&self.pads)) {
            let mask = 1 << bit;
            let (value, enabled) = self.output_and_enable(bit);
            let value = apply_override(control >> 8, value);
            let drives = apply_override(control >> 12, enabled) && pad & OUTPUT_DISABLE == 0;
            let outside = if self.driven & mask != 0 { self.outside & mask != 0 } else { pad & PULL_UP != 0 };
            if if drives { value } else { outside } {
                level |= mask;
            }
        }
        let changed = level ^ self.level;
        if changed == 0 {
            return;
        }
        if now != self.changed_at {
            self.before = self.level;
        }
        (self.level, self.changed_at) = (level, now);
        for bit in (0..PINS).filter(|bit| changed & 1 << bit != 0) {
            let high = level & 1 << bit != 0;
            self.edges[(bit / 8) as usize] |= if high { 8 } else { 4 } << (bit % 8 * 4);
            if let Some(pin) = self.watched[bit as usize] {
                log.edges.push(Edge { cycle: now, pin, high });
            }
        }
    }

    /// Returns an INTR register: edges that were seen, and current levels.
    fn raw_interrupts(&self, register: usize) -> u32 {
        let levels = (0..8).map(|n| {
            let bit = register as u32 * 8 + n;
            let high = bit < PINS && self.level & 1 << bit != 0;
            (if high { 2 } else { 1 }) << (4 * n)
        });
        levels.sum::<u32>() | self.edges[register]
    }

    /// Returns a PROC0_INTS register: the enabled and forced interrupts.
    fn masked_interrupts(&self, register: usize) -> u32 {
        self.raw_interrupts(register) & self.masks[register] | self.forced[register]
    }

    /// True if a pin requests an interrupt of the first core.
    pub fn is_interrupt_requested(&self) -> bool {
        (0..4).any(|register| {
            (self.masks[register] | self.forced[register]) != 0 && self.masked_interrupts(register) != 0
        })
    }

    pub fn read_io_bank(&self, register: u32) -> u32 {
        let group = (register >> 2 & 3) as usize;
        let pin = (register >> 3) as usize;
        match register {
            0x000..0x0f0 if register & 4 != 0 => self.control[pin],
            0x000..0x0f0 => {
                let control = self.control[pin];
                let high = self.level >> pin & 1 != 0;
                let (value, enabled) = self.output_and_enable(pin as u32);
                let bit = |on: bool, at: u32| u32::from(on) << at;
                bit(apply_override(control >> 8, value), 9)
                    | bit(apply_override(control >> 12, enabled), 13)
                    | bit(high, 17)
                    | bit(high, 19)
            }
            0x0f0..0x100 => self.raw_interrupts(group),
            0x100..0x110 => self.masks[group],
            0x110..0x120 => self.forced[group],
            0x120..0x130 => self.masked_interrupts(group),
            _ => 0,
        }
    }

    pub fn write_io_bank(&mut self, register: u32, kind: WriteKind, value: u32, now: u64, log: &mut Log) {
        let group = (register >> 2 & 3) as usize;
        let onto = |old: &mut u32| *old = kind.new_value(*old, value);
        match register {
            0x000..0x0f0 if register & 4 != 0 => {
                onto(&mut self.control[(register >> 3) as usize]);
                self.update_levels(now, log);
            }
            0x0f0..0x100 if kind != WriteKind::Flip => self.edges[group] &= !value,
            0x100..0x110 => onto(&mut self.masks[group]),
            0x110..0x120 => onto(&mut self.forced[group]),
            _ => {}
        }
    }

    pub fn read_pad(&self, register: u32) -> u32 {
        (register as usize / 4).checked_sub(1).and_then(|pin| self.pads.get(pin)).copied().unwrap_or_default()
    }

    pub fn write_pad(&mut self, register: u32, kind: WriteKind, value: u32, now: u64, log: &mut Log) {
        if let Some(pad) = (register as usize / 4).checked_sub(1).and_then(|pin| self.pads.get_mut(pin)) {
            *pad = kind.new_value(*pad, value) & 0xff;
            self.update_levels(now, log);
        }
    }
}

/// Applies an override of two bits in the control register to a signal: unchanged, inverted, low, high.
const fn apply_override(bits: u32, signal: bool) -> bool {
    match bits & 3 {
        0 => signal,
        1 => !signal,
        2 => false,
        _ => true,
    }
}
