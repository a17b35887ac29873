//! The analog-to-digital converter: its timing only; it always reads 0.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 24 "Analog-to-Digital Converter", table 24-1.

use super::io::Io;
use super::sources::Id;
use crate::log::FindingKind;

/// The converter: ADCSRA is byte `status`.
#[derive(Debug, Clone)]
pub struct Adc {
    status: u16,
    /// ADCSRB, whose lowest bits select the trigger of a conversion; 0 is free running, the only mode of the ATmega128.
    trigger: Option<u16>,
    done: Id,
    ends: Option<u64>,
    /// True if the next conversion is the first after switching on, which takes longer.
    first: bool,
}

const ADEN: u8 = 0x80;
const ADSC: u8 = 0x40;
const ADATE: u8 = 0x20;
const ADIF: u8 = 0x10;

impl Adc {
    /// Creates the converter at reset.
    pub fn new(status: u16, trigger: Option<u16>, done: Id) -> Self {
        Adc { status, trigger, done, ends: None, first: true }
    }

    /// Handles a write of ADCSRA.
    pub fn write(&mut self, value: u8, io: &mut Io) {
        let before = io.byte(self.status);
        let running = before & ADSC & if value & ADEN == 0 { 0 } else { ADSC };
        io.set_byte(self.status, value & !(ADIF | ADSC) | before & ADIF & !value | running);
        io.refresh();
        if value & ADEN == 0 {
            (self.ends, self.first) = (None, true);
        } else if value & ADSC != 0 && running == 0 {
            self.start(io.clock.now, io);
            io.log.find(FindingKind::AnalogRead, io.clock.wall(), io.address);
        }
    }

    fn start(&mut self, now: u64, io: &mut Io) {
        let divider = match io.byte(self.status) & 7 {
            0 => 2,
            n => 1u64 << n,
        };
        let clocks = if std::mem::take(&mut self.first) { 25 } else { 13 };
        // A conversion starts at the next rising edge of the converter's clock.
        let start = now.div_ceil(divider) * divider;
        io.data[usize::from(self.status)] |= ADSC;
        self.ends = Some(start + clocks * divider);
    }

    /// Returns the cycle at which to settle next.
    pub fn next(&self) -> u64 {
        self.ends.unwrap_or(u64::MAX)
    }

    /// Ends a conversion.
    pub fn settle(&mut self, io: &mut Io) {
        let free_running = self.trigger.is_none_or(|address| io.byte(address) & 7 == 0);
        while let Some(end) = self.ends.filter(|end| *end <= io.clock.now) {
            self.ends = None;
            io.data[usize::from(self.status)] &= !ADSC;
            io.raise(self.done, end);
            if free_running && io.byte(self.status) & ADATE != 0 {
                self.start(end, io);
            }
        }
    }
}
