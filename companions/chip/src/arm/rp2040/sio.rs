//! The single-cycle port: pins, the divider, spin locks (data sheet, 2.3.1). The second core and the interpolators are not simulated.

use jitterlab_model::firmware::UnsimulatedPart;

use super::{InstructionPoint, Rp2040};

/// Cycles of a division (2.3.1.5).
const DIVISION_CYCLES: u64 = 8;

/// The divider and the spin locks.
#[derive(Debug, Clone, Default)]
pub struct Sio {
    dividend: u32,
    divisor: u32,
    quotient: u32,
    remainder: u32,
    ready_at: u64,
    dirty: bool,
    locks: u32,
}

impl Sio {
    /// Starts a division, whose result is ready some cycles later.
    fn start_division(&mut self, signed: bool, now: u64) {
        let (dividend, divisor) = (self.dividend, self.divisor);
        (self.quotient, self.remainder) = if divisor == 0 {
            let all_ones = !signed || dividend >> 31 == 0;
            (if all_ones { u32::MAX } else { 1 }, dividend)
        } else if signed {
            let (dividend, divisor) = (dividend.cast_signed(), divisor.cast_signed());
            (dividend.wrapping_div(divisor).cast_unsigned(), dividend.wrapping_rem(divisor).cast_unsigned())
        } else {
            (dividend / divisor, dividend % divisor)
        };
        (self.ready_at, self.dirty) = (now + DIVISION_CYCLES, true);
    }
}

impl Rp2040 {
    pub(super) fn read_sio(&mut self, register: u32, now: InstructionPoint) -> u32 {
        if register == 0x004 {
            self.advance_pios_to(now.cycle);
        }
        match register {
            0x000 => 0, // the first core
            0x004 => self.pins.input_levels(now.cycle),
            // The flash's pins: always read as 0.
            0x008 => 0,
            0x010..0x020 => self.pins.output_levels(),
            0x020..0x030 => self.pins.output_enables(),
            // Room to send to the second core, nothing from it.
            0x050 | 0x058 => {
                self.report_not_simulated(UnsimulatedPart::SecondCore, now);
                if register == 0x050 { 2 } else { 0 }
            }
            0x05c => self.sio.locks,
            0x060 | 0x068 => self.sio.dividend,
            0x064 | 0x06c => self.sio.divisor,
            0x070 => {
                self.sio.dirty = false;
                self.sio.quotient
            }
            0x074 => self.sio.remainder,
            0x078 => u32::from(now.cycle >= self.sio.ready_at) | u32::from(self.sio.dirty) << 1,
            0x080..0x100 => {
                self.report_not_simulated(UnsimulatedPart::Interpolator, now);
                0
            }
            0x100..0x180 => {
                let lock = 1 << (register >> 2 & 31);
                let free = self.sio.locks & lock == 0;
                self.sio.locks |= lock;
                if free { lock } else { 0 }
            }
            _ => 0,
        }
    }

    pub(super) fn write_sio(&mut self, register: u32, value: u32, now: InstructionPoint) {
        if (0x010..0x030).contains(&register) {
            self.advance_pios_to(now.cycle);
        }
        let Rp2040 { pins, sio, log, .. } = self;
        let changed = |old: u32| match register & 0xc {
            0x0 => value,
            0x4 => old | value,
            0x8 => old & !value,
            _ => old ^ value,
        };
        match register {
            0x010..0x020 => pins.set_output_levels(changed(pins.output_levels()), now.cycle, log),
            0x020..0x030 => pins.set_output_enables(changed(pins.output_enables()), now.cycle, log),
            0x054 => self.report_not_simulated(UnsimulatedPart::SecondCore, now),
            0x060 | 0x068 => {
                sio.dividend = value;
                sio.start_division(register == 0x068, now.cycle);
            }
            0x064 | 0x06c => {
                sio.divisor = value;
                sio.start_division(register == 0x06c, now.cycle);
            }
            0x070 => (sio.quotient, sio.dirty) = (value, true),
            0x074 => (sio.remainder, sio.dirty) = (value, true),
            0x080..0x100 => self.report_not_simulated(UnsimulatedPart::Interpolator, now),
            0x100..0x180 => sio.locks &= !(1 << (register >> 2 & 31)),
            _ => {}
        }
    }
}
