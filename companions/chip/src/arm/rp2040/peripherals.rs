//! Addresses of the peripherals' registers (data sheet, 2.2), and the parts that are not simulated.

use jitterlab_model::firmware::Part;

use super::{Now, Rp2040};

/// Cycles of the data phase behind the APB bridge.
const READ: u64 = 3;
const WRITE: u64 = 4;

/// Kind of a register write: by its address and its aliases (2.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    Plain,
    Flip,
    Set,
    Clear,
}

impl Write {
    /// Returns the new value of a register of plain bits.
    pub fn onto(self, old: u32, value: u32) -> u32 {
        match self {
            Write::Plain => value,
            Write::Flip => old ^ value,
            Write::Set => old | value,
            Write::Clear => old & !value,
        }
    }
}

impl Rp2040 {
    /// Reads a register; also returns the cycles of its data phase.
    pub(super) fn read_register(&mut self, address: u32, now: Now) -> (u32, u64) {
        if address >> 24 == 0xd0 {
            return (self.read_sio(address & 0xfff, now), 0);
        }
        let register = address & 0xfff;
        // Aliases read as the register itself.
        let plain = address & !0x3000;
        let value = match address & !0x3fff {
            0x4000_0000 => match register {
                0x00 => 0x2000_2927, // the third revision, B2
                0x04 => 2,
                _ => 0,
            },
            0x4000_8000 | 0x4000_c000 | 0x4002_4000 | 0x4002_8000 | 0x4002_c000 | 0x4006_0000 => {
                self.clocks.read(address & !0x3000)
            }
            0x4001_0000 if register == 0x0c => 0x1_ffff,
            0x4001_4000 => self.pins.read_bank(register),
            0x4001_c000 => self.pins.read_pad(register),
            0x4003_4000 => self.uarts[0].read(register, now.cycle),
            0x4003_8000 => self.uarts[1].read(register, now.cycle),
            0x4005_0000 => {
                self.settle_pwm(now.cycle);
                self.pwm.read(register)
            }
            0x5020_0000 | 0x5030_0000 => {
                self.settle_pios(now.cycle);
                self.pios[pio_of(address)].read(register)
            }
            0x4005_4000 => self.timer.read(register, now.cycle),
            0x4005_8000 if register == 0x2c => self.clocks.read(plain),
            0x4006_c000 => u32::from(register == 0),
            // The flash's serial interface: nothing to send, nothing received, not busy.
            0x1800_0000 if register == 0x28 => 6,
            _ => {
                self.warn_of(address, now);
                self.plain.get(&plain).copied().unwrap_or_default()
            }
        };
        (value, if address >> 24 == 0x40 { READ } else { 1 })
    }

    /// Writes a register; returns the cycles of its data phase.
    pub(super) fn write_register(&mut self, address: u32, value: u32, now: Now) -> u64 {
        if address >> 24 == 0xd0 {
            self.write_sio(address & 0xfff, value, now);
            self.update_lines();
            return 0;
        }
        let register = address & 0xfff;
        let plain = address & !0x3000;
        let how = match address >> 12 & 3 {
            0 => Write::Plain,
            1 => Write::Flip,
            2 => Write::Set,
            _ => Write::Clear,
        };
        let held = self.clocks.holds_in_reset(address & !0x3fff);
        match address & !0x3fff {
            _ if held => {}
            0x4000_8000 | 0x4000_c000 | 0x4002_4000 | 0x4002_8000 | 0x4002_c000 | 0x4006_0000 => {
                self.timer.settle(now.cycle);
                let value = how.onto(self.clocks.read(plain), value);
                self.clocks.write(plain, value);
                self.after_reset();
                self.timer.rebase(now.cycle, &self.clocks);
            }
            0x4005_0000 => {
                self.settle_pwm(now.cycle);
                if !self.pwm.write(register, how, value, now.cycle) {
                    self.not_simulated(Part::Pwm, now);
                }
                self.show_pwm(now.cycle);
            }
            0x5020_0000 | 0x5030_0000 => {
                self.settle_pios(now.cycle);
                let number = pio_of(address);
                let pio = &mut self.pios[number];
                pio.write(register, how, value, now.cycle);
                self.pins.set_function(super::PIO_FUNCTIONS[number], pio.outputs(), now.cycle, &mut self.log);
            }
            0x4001_4000 => self.pins.write_bank(register, how, value, now.cycle, &mut self.log),
            0x4001_c000 => self.pins.write_pad(register, how, value, now.cycle, &mut self.log),
            0x4003_4000 => self.write_uart(0, register, how, value, now),
            0x4003_8000 => self.write_uart(1, register, how, value, now),
            0x4005_4000 => {
                self.timer.settle(now.cycle);
                self.timer.write(register, how, value, now, &self.clocks, &mut self.log);
            }
            0x4005_8000 if register == 0x2c => {
                self.timer.settle(now.cycle);
                let value = how.onto(self.clocks.read(plain), value);
                self.clocks.write(plain, value);
                self.timer.rebase(now.cycle, &self.clocks);
            }
            _ => {
                self.warn_of(address, now);
                if address & !0x3fff == 0x4005_8000
                    && register == 0
                    && value & 0xc000_0000 != 0
                    && how != Write::Clear
                {
                    self.not_simulated(Part::Watchdog, now);
                }
                let old = self.plain.get(&plain).copied().unwrap_or_default();
                self.plain.insert(plain, how.onto(old, value));
            }
        }
        self.update_lines();
        if address >> 24 == 0x40 { WRITE } else { 1 }
    }

    /// Writes a register of a serial port, which only sends here.
    fn write_uart(&mut self, number: usize, register: u32, how: Write, value: u32, now: Now) {
        let peripheral_hz = self.clocks.peripheral_hz();
        let hz = self.clocks.hz;
        let sent = self.uarts[number].write(register, how, value, now.cycle, (hz, peripheral_hz));
        self.log.serial.extend(sent);
        if self.uarts[number].interrupts() {
            self.not_simulated(Part::SerialInterrupts, now);
        }
    }

    /// Restores the initial state of parts that are put into reset.
    fn after_reset(&mut self) {
        if self.clocks.holds_in_reset(0x4005_4000) {
            self.timer = super::Timer::default();
        }
        if self.clocks.holds_in_reset(0x4005_0000) {
            self.pwm = super::Pwm::new();
        }
        for (number, base) in [(0, 0x5020_0000), (1, 0x5030_0000)] {
            if self.clocks.holds_in_reset(base) {
                self.pios[number] = super::Pio::new();
            }
        }
        for (number, base) in [(0, 0x4003_4000), (1, 0x4003_8000)] {
            if self.clocks.holds_in_reset(base) {
                self.uarts[number] = super::Uart::default();
            }
        }
    }

    /// Reports parts that are not simulated.
    fn warn_of(&mut self, address: u32, now: Now) {
        let part = match address & !0x3fff {
            // The second core is forced off, before it begins.
            0x4001_0000 if address & 0xfff == 4 => Part::SecondCore,
            0x4003_c000 | 0x4004_0000 => Part::Spi,
            0x4004_4000 | 0x4004_8000 => Part::TwoWire,
            0x4004_c000 => Part::Adc,
            0x4005_c000 => Part::RealTimeClock,
            0x1800_0000 => Part::WritingFlash,
            base if base >> 16 == 0x5000 => Part::Dma,
            // Its controller is turned on; turning its pins off is usual.
            0x5011_0000 if address & 0xfff == 0x40 => Part::Usb,
            _ => return,
        };
        self.not_simulated(part, now);
    }
}

/// Returns the index of the block of state machines at an address.
const fn pio_of(address: u32) -> usize {
    if address >> 20 == 0x502 { 0 } else { 1 }
}
