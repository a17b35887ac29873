//! The analog-to-digital converter: its timing only; it always reads 0.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 24 "Analog-to-Digital Converter", table 24-1.

use super::io::Io;
use super::sources::SourceId;
use crate::log::FindingKind;

/// The converter: ADCSRA is byte `status`.
#[derive(Debug, Clone)]
pub struct Adc {
    status: u16,
    /// ADCSRB, whose lowest bits select the trigger of a conversion; 0 is free running, the only mode of the ATmega128.
    trigger: Option<u16>,
    done: SourceId,
    ends: Option<u64>,
    /// True if the next conversion is the first after switching on, which takes longer.
    first: bool,
}

const ADEN: u8 = 0x80;
const ADSC: u8 = 0x40;
const ADATE: u8 = 0x20;
const ADIF: u8 = 0x10;

impl Adc {
    pub fn new(status: u16, trigger: Option<u16>, done: SourceId) -> Self {
        Adc { status, trigger, done, ends: None, first: true }
    }

    /// Executes a write of ADCSRA.
    pub fn write(&mut self, value: u8, io: &mut Io) {
        let before = io.register(self.status);
        let running = before & ADSC & if value & ADEN == 0 { 0 } else { ADSC };
        io.set_register(self.status, value & !(ADIF | ADSC) | before & ADIF & !value | running);
        io.update_pending();
        if value & ADEN == 0 {
            (self.ends, self.first) = (None, true);
        } else if value & ADSC != 0 && running == 0 {
            self.start_conversion(io.clock.now, io);
            io.log.report_finding(FindingKind::AnalogRead, io.clock.wall(), io.address);
        }
    }

    /// Starts a conversion with the next edge of the converter's clock after a cycle.
    fn start_conversion(&mut self, now: u64, io: &mut Io) {
        let divider = match io.register(self.status) & 7 {
            0 => 2,
            n => 1u64 << n,
        };
        let clocks = if std::mem::take(&mut self.first) { 25 } else { 13 };
        // A conversion starts at the next rising edge of the converter's clock.
        let start = now.div_ceil(divider) * divider;
        io.data[usize::from(self.status)] |= ADSC;
        self.ends = Some(start + clocks * divider);
    }

    /// Returns the cycle at which the conversion ends; `u64::MAX` without one.
    pub fn next_event_cycle(&self) -> u64 {
        self.ends.unwrap_or(u64::MAX)
    }

    /// Ends the conversions that are over by now.
    pub fn advance_to_now(&mut self, io: &mut Io) {
        let free_running = self.trigger.is_none_or(|address| io.register(address) & 7 == 0);
        while let Some(end) = self.ends.filter(|end| *end <= io.clock.now) {
            self.ends = None;
            io.data[usize::from(self.status)] &= !ADSC;
            io.raise_flag(self.done, end);
            if free_running && io.register(self.status) & ADATE != 0 {
                self.start_conversion(end, io);
            }
        }
    }
}
