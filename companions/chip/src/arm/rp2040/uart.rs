//! The serial ports, sending only (data sheet, 4.2). Sent data is recorded; the pin does not move.

use super::peripherals::WriteKind;

const BAUD_WHOLE: u32 = 0x24;
const BAUD_FRACTION: u32 = 0x28;
const LINE: u32 = 0x2c;
const CONTROL: u32 = 0x30;
const MASK: u32 = 0x38;

/// A serial port.
#[derive(Debug, Clone, Default)]
pub struct Uart {
    baud_whole: u32,
    baud_fraction: u32,
    line: u32,
    control: u32,
    mask: u32,
    /// Cycle at which all written data is sent, and cycles of a frame.
    busy_until: u64,
    frame: u64,
}

impl Uart {
    /// Number of frames not yet sent, including the current one.
    fn unsent_frames(&self, now: u64) -> u64 {
        self.busy_until.saturating_sub(now).div_ceil(self.frame.max(1))
    }

    /// Largest number of frames that wait besides the current one.
    fn fifo_capacity(&self) -> u64 {
        if self.line & 0x10 != 0 { 32 } else { 1 }
    }

    pub fn is_any_interrupt_enabled(&self) -> bool {
        self.mask & 0x7ff != 0
    }

    pub fn read(&self, register: u32, now: u64) -> u32 {
        match register {
            // Nothing was received; for sending: full, empty, busy.
            0x18 => {
                let waiting = self.unsent_frames(now);
                let bit = |on: bool, at: u32| u32::from(on) << at;
                1 << 4 | bit(waiting > self.fifo_capacity(), 5) | bit(waiting <= 1, 7) | bit(waiting > 0, 3)
            }
            BAUD_WHOLE => self.baud_whole,
            BAUD_FRACTION => self.baud_fraction,
            LINE => self.line,
            CONTROL => self.control,
            MASK => self.mask,
            0xfe0 => 0x11,
            0xfe4 => 0x10,
            0xfe8 => 0x34,
            _ => 0,
        }
    }

    /// Writes a register; returns the byte that this sends, if any. Clocks in Hz: the processor's, its own.
    pub fn write(
        &mut self,
        register: u32,
        kind: WriteKind,
        value: u32,
        now: u64,
        (hz, own_hz): (u32, u64),
    ) -> Option<u8> {
        let onto = |old: &mut u32| *old = kind.new_value(*old, value);
        match register {
            0x00 if self.control & 0x101 == 0x101 && self.unsent_frames(now) <= self.fifo_capacity() => {
                // A frame has a start bit, the data bits, parity, and one or two stop bits; a bit is 16
                // periods of the divided clock.
                let bits = 1
                    + 5
                    + u64::from(self.line >> 5 & 3)
                    + u64::from(self.line >> 1 & 1)
                    + 1
                    + u64::from(self.line >> 3 & 1);
                let divisor = u64::from(self.baud_whole) * 64 + u64::from(self.baud_fraction);
                self.frame = bits * 16 * divisor * u64::from(hz) / (64 * own_hz.max(1));
                self.busy_until = self.busy_until.max(now) + self.frame;
                return Some(value as u8);
            }
            BAUD_WHOLE => onto(&mut self.baud_whole),
            BAUD_FRACTION => onto(&mut self.baud_fraction),
            LINE => onto(&mut self.line),
            CONTROL => onto(&mut self.control),
            MASK => onto(&mut self.mask),
            _ => {}
        }
        None
    }
}
