//! Serial ports, asynchronous.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 20 "USART0". Two points are open there: here the
//! transmitter's bit clock runs from the moment the baud rate is written, and a frame begins with its next
//! edge (ATmega161 data sheet, "Data Transmission": the start bit is shifted out "on the baud rate clock
//! following the transfer").

use super::io::Io;
use super::sources::SourceId;
use crate::Pin;

/// A register of a serial port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reg {
    /// UDRn.
    Data,
    /// UCSRnA.
    Status,
    /// UCSRnB.
    Enable,
    /// UCSRnC.
    Format,
    /// UBRRnL.
    Baud,
    /// UBRRnH.
    BaudHigh,
}

/// Description of a serial port of the chip.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The address of UCSRnA.
    pub status: u16,
    /// The address of UCSRnB.
    pub enable: u16,
    /// Interrupt source: a byte was received.
    pub received: SourceId,
    /// Interrupt source: the data register is empty.
    pub empty: SourceId,
    /// Interrupt source: everything is sent.
    pub sent: SourceId,
    /// RXDn.
    pub receive_pin: Pin,
    /// TXDn.
    pub output: Pin,
}

/// A serial port.
#[derive(Debug, Clone)]
pub struct Usart {
    spec: Spec,
    enable: u8,
    format: u8,
    baud: u16,
    /// Time at which the baud rate was written: the bit clock's zero.
    zero: u64,
    /// Data waiting for the shift register.
    buffer: Option<u16>,
    sending: Option<Frame>,
    /// Time of the start bit of a frame being received, its bits so far, and their values.
    receiving: Option<(u64, u8, u16)>,
    fifo: Vec<u8>,
}

/// A frame in the shift register: the levels of its bits, the start bit lowest.
#[derive(Debug, Clone, Copy)]
struct Frame {
    levels: u32,
    bits_left: u8,
    /// Time at which the next bit begins, or the last one ends.
    next: u64,
}

const RXC: u8 = 0x80;
const TXC: u8 = 0x40;
const UDRE: u8 = 0x20;
const DOR: u8 = 0x08;
const U2X: u8 = 0x02;
const RXEN: u8 = 0x10;
const TXEN: u8 = 0x08;
const UCSZ2: u8 = 0x04;

impl Usart {
    pub fn new(spec: Spec, io: &mut Io) -> Self {
        io.set_register(spec.status, UDRE);
        let (buffer, sending, receiving) = (None, None, None);
        Usart { spec, enable: 0, format: 6, baud: 0, zero: 0, buffer, sending, receiving, fifo: Vec::new() }
    }

    pub fn receive_pin(&self) -> Pin {
        self.spec.receive_pin
    }

    /// Returns the cycles of a bit (table 20-1).
    fn cycles_per_bit(&self, io: &Io) -> u64 {
        let samples = if io.register(self.spec.status) & U2X == 0 { 16 } else { 8 };
        (u64::from(self.baud) + 1) * samples
    }

    /// Returns the number of data bits in a frame (table 20-11).
    fn data_bits(&self) -> u8 {
        match (self.enable & UCSZ2 != 0, self.format >> 1 & 3) {
            (true, _) => 9,
            (false, size) => 5 + size,
        }
    }

    pub fn read(&mut self, reg: Reg, io: &mut Io) -> u8 {
        self.advance_to_now(io);
        match reg {
            Reg::Data => {
                if self.fifo.is_empty() {
                    return 0;
                }
                let byte = self.fifo.remove(0);
                if self.fifo.is_empty() {
                    io.clear_flag(self.spec.received);
                }
                byte
            }
            Reg::Status => io.register(self.spec.status),
            Reg::Enable => self.enable,
            Reg::Format => self.format,
            Reg::Baud => self.baud as u8,
            Reg::BaudHigh => (self.baud >> 8) as u8,
        }
    }

    pub fn write(&mut self, reg: Reg, value: u8, io: &mut Io) {
        self.advance_to_now(io);
        match reg {
            Reg::Data => self.send(value, io),
            Reg::Status => {
                // TXC is cleared by writing a one to it; only the hardware changes the other flags.
                let flags = io.register(self.spec.status) & (RXC | TXC | UDRE | DOR | 0x14) & !(value & TXC);
                io.set_register(self.spec.status, flags | value & (U2X | 1));
                io.update_pending();
            }
            Reg::Enable => {
                self.enable = value;
                io.set_register(self.spec.enable, value);
                let takes = value & TXEN != 0;
                io.override_pin(self.spec.output, takes.then_some(true), takes, io.clock.now);
                if value & RXEN == 0 {
                    self.fifo.clear();
                    io.clear_flag(self.spec.received);
                }
                io.update_pending();
            }
            Reg::Format => self.format = value,
            Reg::Baud => {
                self.baud = self.baud & 0xf00 | u16::from(value);
                self.zero = io.clock.now;
            }
            Reg::BaudHigh => self.baud = self.baud & 0xff | u16::from(value & 0xf) << 8,
        }
    }

    /// Executes a write of UDR: buffers the byte, or starts its frame at the next edge of the bit clock.
    fn send(&mut self, value: u8, io: &mut Io) {
        if self.enable & TXEN == 0 || self.buffer.is_some() {
            return;
        }
        self.buffer = Some(u16::from(value) | u16::from(self.enable & 1) << 8);
        if self.sending.is_none() {
            let bit = self.cycles_per_bit(io);
            let edges = (io.clock.now - self.zero) / bit + 1;
            self.start_frame(self.zero + edges * bit, io);
        } else {
            io.clear_flag(self.spec.empty);
        }
    }

    /// Moves the buffer into the shift register as a frame whose start bit begins at `start`.
    fn start_frame(&mut self, start: u64, io: &mut Io) {
        let Some(data) = self.buffer.take() else { return };
        let width = self.data_bits();
        let data = u32::from(data) & ((1 << width) - 1);
        let mut levels = data << 1;
        let mut count = 1 + width;
        if self.format & 0x20 != 0 {
            let odd = data.count_ones() & 1 ^ u32::from(self.format >> 4 & 1);
            levels |= odd << count;
            count += 1;
        }
        let stops = 1 + (self.format >> 3 & 1);
        levels |= (1u32 << stops).wrapping_sub(1) << count;
        self.sending = Some(Frame { levels, bits_left: count + stops, next: start });
        io.log.serial.push(data as u8);
        io.raise_flag(self.spec.empty, io.clock.now);
    }

    /// True if a frame is being sent.
    pub fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// Returns the cycle at which a bit begins, ends or is sampled next; `u64::MAX` if none is.
    pub fn next_event_cycle(&self, io: &Io) -> u64 {
        let sends = match self.sending {
            Some(frame) if io.ports.is_observed(self.spec.output) => frame.next,
            Some(frame) => frame.next + u64::from(frame.bits_left) * self.cycles_per_bit(io),
            None => u64::MAX,
        };
        let receives = self.receiving.map_or(u64::MAX, |(start, bits, _)| self.sample_time(start, bits, io));
        sends.min(receives)
    }

    /// Sends and receives until now.
    pub fn advance_to_now(&mut self, io: &mut Io) {
        while let Some(frame) = self.sending.filter(|frame| frame.next <= io.clock.now) {
            let bit = self.cycles_per_bit(io);
            if frame.bits_left > 0 {
                io.override_pin(self.spec.output, Some(frame.levels & 1 != 0), true, frame.next);
                let (levels, bits_left, next) = (frame.levels >> 1, frame.bits_left - 1, frame.next + bit);
                self.sending = Some(Frame { levels, bits_left, next });
            } else if self.buffer.is_some() {
                // "... or immediately after the last stop bit of the previous frame is transmitted" (section 20.6.1)
                self.start_frame(frame.next, io);
            } else {
                self.sending = None;
                io.raise_flag(self.spec.sent, frame.next);
            }
        }
        while let Some((start, bits, data)) = self.receiving {
            let time = self.sample_time(start, bits, io);
            if time > io.clock.now {
                break;
            }
            self.sample_bit(start, bits, data, time, io);
        }
    }

    /// Returns the cycle of the middle of bit number `bits` of a frame that began at `start`.
    fn sample_time(&self, start: u64, bits: u8, io: &Io) -> u64 {
        let bit = self.cycles_per_bit(io);
        start + bit / 2 + u64::from(bits) * bit
    }

    /// Samples a bit of the frame being received, and passes on the byte with the last one.
    fn sample_bit(&mut self, start: u64, bits: u8, data: u16, time: u64, io: &mut Io) {
        let high = io.ports.level(self.spec.receive_pin);
        let width = self.data_bits();
        let parity = u8::from(self.format & 0x20 != 0);
        self.receiving = if bits == 0 && high {
            None // no start bit, but noise
        } else if bits <= width + parity {
            let data = if (1..=width).contains(&bits) { data | u16::from(high) << (bits - 1) } else { data };
            Some((start, bits + 1, data))
        } else {
            if self.fifo.len() < 2 {
                self.fifo.push(data as u8);
                io.raise_flag(self.spec.received, time);
            } else {
                io.data[usize::from(self.spec.status)] |= DOR;
            }
            None
        };
    }

    /// Starts a frame at a falling edge of RXDn.
    pub fn handle_pin_change(&mut self, high: bool, cycle: u64) {
        if !high && self.enable & RXEN != 0 && self.receiving.is_none() {
            self.receiving = Some((cycle, 0, 0));
        }
    }
}
