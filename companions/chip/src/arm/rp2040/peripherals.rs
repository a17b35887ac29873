//! Addresses of the peripherals' registers (data sheet, 2.2), and the parts that are not simulated.

use jitterlab_model::firmware::UnsimulatedPart;

use super::{InstructionPoint, Rp2040};

/// Cycles of the data phase behind the APB bridge.
const APB_READ_CYCLES: u64 = 3;
const APB_WRITE_CYCLES: u64 = 4;

/// Kind of a register write, by the alias of its address (2.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteKind {
    Plain,
    Flip,
    Set,
    Clear,
}

impl WriteKind {
    /// Returns the value of a register with `old` in it after a write of `value` of this kind.
    pub fn new_value(self, old: u32, value: u32) -> u32 {
        match self {
            WriteKind::Plain => value,
            WriteKind::Flip => old ^ value,
            WriteKind::Set => old | value,
            WriteKind::Clear => old & !value,
        }
    }
}

impl Rp2040 {
    /// Reads a register; also returns the cycles of its data phase.
    pub(super) fn read_register(&mut self, address: u32, now: InstructionPoint) -> (u32, u64) {
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
            0x4001_4000 => self.pins.read_io_bank(register),
            0x4001_c000 => self.pins.read_pad(register),
            0x4003_4000 => self.uarts[0].read(register, now.cycle),
            0x4003_8000 => self.uarts[1].read(register, now.cycle),
            0x4005_0000 => {
                self.advance_pwm_to(now.cycle);
                self.pwm.read(register)
            }
            0x5020_0000 | 0x5030_0000 => {
                self.advance_pios_to(now.cycle);
                self.pios[pio_index(address)].read(register)
            }
            0x4005_4000 => self.timer.read(register, now.cycle),
            0x4005_8000 if register == 0x2c => self.clocks.read(plain),
            0x4006_c000 => u32::from(register == 0),
            // The flash's serial interface: nothing to send, nothing received, not busy.
            0x1800_0000 if register == 0x28 => 6,
            _ => {
                self.report_unsimulated_register(address, now);
                self.plain_registers.get(&plain).copied().unwrap_or_default()
            }
        };
        (value, if address >> 24 == 0x40 { APB_READ_CYCLES } else { 1 })
    }

    /// Writes a register; returns the cycles of its data phase.
    pub(super) fn write_register(&mut self, address: u32, value: u32, now: InstructionPoint) -> u64 {
        if address >> 24 == 0xd0 {
            self.write_sio(address & 0xfff, value, now);
            self.update_interrupt_lines();
            return 0;
        }
        let register = address & 0xfff;
        let plain = address & !0x3000;
        let kind = match address >> 12 & 3 {
            0 => WriteKind::Plain,
            1 => WriteKind::Flip,
            2 => WriteKind::Set,
            _ => WriteKind::Clear,
        };
        let held = self.clocks.is_in_reset(address & !0x3fff);
        match address & !0x3fff {
            _ if held => {}
            0x4000_8000 | 0x4000_c000 | 0x4002_4000 | 0x4002_8000 | 0x4002_c000 | 0x4006_0000 => {
                self.timer.advance_to(now.cycle);
                let value = kind.new_value(self.clocks.read(plain), value);
                self.clocks.write(plain, value);
                self.reset_peripherals();
                self.timer.update_tick(now.cycle, &self.clocks);
            }
            0x4005_0000 => {
                self.advance_pwm_to(now.cycle);
                if !self.pwm.write(register, kind, value, now.cycle) {
                    self.report_not_simulated(UnsimulatedPart::Pwm, now);
                }
                self.drive_pwm_pins(now.cycle);
            }
            0x5020_0000 | 0x5030_0000 => {
                self.advance_pios_to(now.cycle);
                let number = pio_index(address);
                let pio = &mut self.pios[number];
                pio.write(register, kind, value, now.cycle);
                self.pins.set_function_outputs(
                    super::PIO_FUNCTIONS[number],
                    pio.outputs(),
                    now.cycle,
                    &mut self.log,
                );
            }
            0x4001_4000 => self.pins.write_io_bank(register, kind, value, now.cycle, &mut self.log),
            0x4001_c000 => self.pins.write_pad(register, kind, value, now.cycle, &mut self.log),
            0x4003_4000 => self.write_uart(0, register, kind, value, now),
            0x4003_8000 => self.write_uart(1, register, kind, value, now),
            0x4005_4000 => {
                self.timer.advance_to(now.cycle);
                self.timer.write(register, kind, value, now, &self.clocks, &mut self.log);
            }
            0x4005_8000 if register == 0x2c => {
                self.timer.advance_to(now.cycle);
                let value = kind.new_value(self.clocks.read(plain), value);
                self.clocks.write(plain, value);
                self.timer.update_tick(now.cycle, &self.clocks);
            }
            _ => {
                self.report_unsimulated_register(address, now);
                if address & !0x3fff == 0x4005_8000
                    && register == 0
                    && value & 0xc000_0000 != 0
                    && kind != WriteKind::Clear
                {
                    self.report_not_simulated(UnsimulatedPart::Watchdog, now);
                }
                let old = self.plain_registers.get(&plain).copied().unwrap_or_default();
                self.plain_registers.insert(plain, kind.new_value(old, value));
            }
        }
        self.update_interrupt_lines();
        if address >> 24 == 0x40 { APB_WRITE_CYCLES } else { 1 }
    }

    /// Writes a register of a serial port, which only sends here.
    fn write_uart(
        &mut self,
        number: usize,
        register: u32,
        kind: WriteKind,
        value: u32,
        now: InstructionPoint,
    ) {
        let peripheral_hz = self.clocks.peripheral_hz();
        let hz = self.clocks.hz;
        let sent = self.uarts[number].write(register, kind, value, now.cycle, (hz, peripheral_hz));
        self.log.serial.extend(sent);
        if self.uarts[number].is_any_interrupt_enabled() {
            self.report_not_simulated(UnsimulatedPart::SerialInterrupts, now);
        }
    }

    /// Restores the initial state of parts that are put into reset.
    fn reset_peripherals(&mut self) {
        if self.clocks.is_in_reset(0x4005_4000) {
            self.timer = super::Timer::default();
        }
        if self.clocks.is_in_reset(0x4005_0000) {
            self.pwm = super::Pwm::new();
        }
        for (number, base) in [(0, 0x5020_0000), (1, 0x5030_0000)] {
            if self.clocks.is_in_reset(base) {
                self.pios[number] = super::Pio::new();
            }
        }
        for (number, base) in [(0, 0x4003_4000), (1, 0x4003_8000)] {
            if self.clocks.is_in_reset(base) {
                self.uarts[number] = super::Uart::default();
            }
        }
    }

    /// Reports the unsimulated part that a register belongs to, if it belongs to one.
    fn report_unsimulated_register(&mut self, address: u32, now: InstructionPoint) {
        let part = match address & !0x3fff {
            // The second core is forced off, before it begins.
            0x4001_0000 if address & 0xfff == 4 => UnsimulatedPart::SecondCore,
            0x4003_c000 | 0x4004_0000 => UnsimulatedPart::Spi,
            0x4004_4000 | 0x4004_8000 => UnsimulatedPart::TwoWire,
            0x4004_c000 => UnsimulatedPart::Adc,
            0x4005_c000 => UnsimulatedPart::RealTimeClock,
            0x1800_0000 => UnsimulatedPart::WritingFlash,
            base if base >> 16 == 0x5000 => UnsimulatedPart::Dma,
            // Its controller is turned on; turning its pins off is usual.
            0x5011_0000 if address & 0xfff == 0x40 => UnsimulatedPart::Usb,
            _ => return,
        };
        self.report_not_simulated(part, now);
    }
}

/// Returns the index of the block of state machines at an address.
const fn pio_index(address: u32) -> usize {
    if address >> 20 == 0x502 { 0 } else { 1 }
}
