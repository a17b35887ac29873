//! A block of programmable input and output: four state machines over one memory of 32 instructions (data sheet, 3.2 to 3.7).
//!
//! An instruction of a machine changes its pins in the cycle in which it begins.

use super::peripherals::WriteKind;
use super::state_machine::{PioSharedState, StateMachine};

/// A PIO block.
#[derive(Debug, Clone)]
pub struct Pio {
    machines: [StateMachine; 4],
    shared: PioSharedState,
    enabled: [u32; 2],
    forced: [u32; 2],
    stalled: u32,
}

impl Pio {
    pub fn new() -> Self {
        Pio {
            machines: std::array::from_fn(|number| StateMachine::new(number as u32)),
            shared: PioSharedState::default(),
            enabled: [0; 2],
            forced: [0; 2],
            stalled: 0,
        }
    }

    /// Returns the output levels of its machines, and the pins that they drive.
    pub const fn outputs(&self) -> (u32, u32) {
        (self.shared.out, self.shared.enabled)
    }

    pub fn is_any_machine_on(&self) -> bool {
        self.machines.iter().any(|machine| machine.is_on())
    }

    pub fn interrupt_lines(&self) -> [bool; 2] {
        let raw = self.raw_interrupts();
        [0, 1].map(|line| raw & self.enabled[line] | self.forced[line] != 0)
    }

    pub fn is_any_interrupt_enabled(&self) -> bool {
        self.enabled != [0; 2]
    }

    /// Returns the cycle of the next step of a machine.
    pub fn next_step_cycle(&self) -> u64 {
        self.machines.iter().map(StateMachine::next_step_cycle).min().unwrap_or(u64::MAX)
    }

    /// Executes a step of each machine that has one by this cycle, with these input levels of the pins.
    pub fn step_machines(&mut self, cycle: u64, input: u32) {
        self.shared.input = input;
        for machine in &mut self.machines {
            if machine.next_step_cycle() <= cycle {
                machine.step(&mut self.shared);
            }
        }
    }

    /// INTR, before the masks: for each machine data received and room to send; flags.
    fn raw_interrupts(&self) -> u32 {
        let each = |of: fn(&StateMachine) -> bool, at: u32| -> u32 {
            (0..).zip(&self.machines).map(|(number, machine)| u32::from(of(machine)) << (number + at)).sum()
        };
        each(|m| !m.received.is_empty(), 0)
            | each(|m| m.to_send.len() < m.send_capacity(), 4)
            | u32::from(self.shared.flags & 15) << 8
    }

    /// Returns FSTAT: for each machine, full and empty FIFOs.
    fn fifo_status(&self) -> u32 {
        let each = |of: fn(&StateMachine) -> bool, at: u32| -> u32 {
            (0..).zip(&self.machines).map(|(number, machine)| u32::from(of(machine)) << (number + at)).sum()
        };
        each(|m| m.received.len() >= m.receive_capacity(), 0)
            | each(|m| m.received.is_empty(), 8)
            | each(|m| m.to_send.len() >= m.send_capacity(), 16)
            | each(|m| m.to_send.is_empty(), 24)
    }

    pub fn read(&mut self, register: u32) -> u32 {
        match register {
            0x00 => (0..).zip(&self.machines).map(|(n, machine)| u32::from(machine.is_on()) << n).sum(),
            0x04 => self.fifo_status(),
            0x08 => self.stalled,
            0x0c => {
                let levels = |of: &StateMachine| (of.to_send.len() | of.received.len() << 4) as u32;
                (0..).zip(&self.machines).map(|(n, machine)| levels(machine) << (8 * n)).sum()
            }
            0x20..0x30 => {
                self.machines[(register >> 2 & 3) as usize].received.pop_front().unwrap_or_default()
            }
            0x30 => u32::from(self.shared.flags),
            0x3c => self.shared.out,
            0x40 => self.shared.enabled,
            0x44 => 32 << 16 | 4 << 8 | 4,
            0xc8..0x128 => {
                let (number, which) = machine_and_register(register);
                self.machines[number].read(which, &self.shared)
            }
            0x128 => self.raw_interrupts(),
            0x12c | 0x138 => self.enabled[interrupt_line_index(register)],
            0x130 | 0x13c => self.forced[interrupt_line_index(register)],
            0x134 | 0x140 => {
                let line = interrupt_line_index(register);
                self.raw_interrupts() & self.enabled[line] | self.forced[line]
            }
            _ => 0,
        }
    }

    pub fn write(&mut self, register: u32, kind: WriteKind, value: u32, cycle: u64) {
        match register {
            0x00 => {
                let on = kind.new_value(self.read(0), value);
                for (number, machine) in (0..).zip(&mut self.machines) {
                    if value >> (4 + number) & 1 != 0 && kind != WriteKind::Clear {
                        machine.restart();
                    }
                    if value >> (8 + number) & 1 != 0 && kind != WriteKind::Clear {
                        machine.restart_clock(cycle);
                    }
                    machine.resume_if_idle(cycle);
                    machine.set_on(on >> number & 1 != 0, cycle);
                }
            }
            0x08 => self.stalled &= !value,
            0x10..0x20 => {
                let machine = &mut self.machines[(register >> 2 & 3) as usize];
                if machine.to_send.len() < machine.send_capacity() {
                    machine.to_send.push_back(value);
                }
                machine.resume_if_idle(cycle);
            }
            // Ones clear.
            0x30 if kind != WriteKind::Flip => self.shared.flags &= !(value as u8),
            0x34 => self.shared.flags |= value as u8,
            0x48..0xc8 => self.shared.memory[(register as usize - 0x48) / 4] = value as u16,
            0xc8..0x128 => {
                let (number, which) = machine_and_register(register);
                self.machines[number].write(which, kind, value, cycle, &mut self.shared);
            }
            0x12c | 0x138 => {
                let line = interrupt_line_index(register);
                self.enabled[line] = kind.new_value(self.enabled[line], value) & 0xfff;
            }
            0x130 | 0x13c => {
                let line = interrupt_line_index(register);
                self.forced[line] = kind.new_value(self.forced[line], value) & 0xfff;
            }
            _ => {}
        }
    }
}

/// Returns the index of the machine of a register, and the register's offset within the machine.
const fn machine_and_register(register: u32) -> (usize, u32) {
    let at = register - 0xc8;
    ((at / 0x18) as usize, at % 0x18)
}

const fn interrupt_line_index(register: u32) -> usize {
    if register >= 0x138 { 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the levels of pin 0 of a program that machine 0 runs after these writes, with pin 0 for SET,
    /// OUT and side-set.
    fn pin_0_changes(program: &[u16], registers: &[(u32, u32)], cycles: u64) -> Vec<(u64, bool)> {
        let mut pio = Pio::new();
        for (at, word) in (0x48..).step_by(4).zip(program) {
            pio.write(at, WriteKind::Plain, u32::from(*word), 0);
        }
        let wrap = (program.len() as u32 - 1) << 12;
        let first = [(0xcc, wrap), (0xdc, 1 << 26 | 1 << 20), (0xd8, 0xe081)];
        for (register, value) in first.iter().chain(registers) {
            pio.write(*register, WriteKind::Plain, *value, 0);
        }
        pio.write(0x00, WriteKind::Plain, 1, 0);
        let (mut level, mut seen) = (false, Vec::new());
        while pio.next_step_cycle() < cycles {
            let cycle = pio.next_step_cycle();
            pio.step_machines(cycle, 0);
            let (out, enabled) = pio.outputs();
            if (out & enabled & 1 != 0) != level {
                level = !level;
                seen.push((cycle, level));
            }
        }
        seen
    }

    /// `set pins, 1 [1]`, `set pins, 0`, wrapped: three cycles of a divided clock.
    #[test]
    fn a_square_wave_takes_its_instructions_and_delays() {
        let wave = [0xe101, 0xe000];
        assert_eq!(pin_0_changes(&wave, &[], 8), [(0, true), (2, false), (3, true), (5, false), (6, true)]);
        let by_two_and_a_half = (0xc8, 2 << 16 | 128 << 8);
        assert_eq!(
            pin_0_changes(&wave, &[by_two_and_a_half], 20),
            [(0, true), (5, false), (7, true), (12, false), (15, true)]
        );
    }

    /// `pull block`, `mov x, osr`, `set pins, 1`, `jmp x--, 3`, `set pins, 0`: one pulse of the sent length.
    #[test]
    fn a_pulse_is_as_long_as_what_was_sent() {
        let program = [0x80a0, 0xa027, 0xe001, 0x0043, 0xe000];
        assert_eq!(pin_0_changes(&program, &[(0x10, 5)], 1_000), [(2, true), (9, false)]);
    }

    /// `out pins, 1` with autopull: one bit a cycle; the machine waits when none is left.
    #[test]
    fn bits_are_shifted_out_until_none_is_left() {
        let registers = [(0xd0, 1 << 17 | 1 << 19 | 4 << 25), (0x10, 0b0101), (0x10, 0b0010)];
        let seen = pin_0_changes(&[0x6001], &registers, 100);
        assert_eq!(seen, [(1, true), (2, false), (3, true), (4, false), (6, true), (7, false)]);
    }

    /// Interrupt flags: `irq 0`, then `wait 0 irq`-like handshakes leave them to the processor.
    #[test]
    fn a_machine_can_interrupt() {
        let mut pio = Pio::new();
        pio.write(0x48, WriteKind::Plain, 0xc000, 0);
        pio.write(0x12c, WriteKind::Plain, 1 << 8, 0);
        pio.write(0x00, WriteKind::Plain, 1, 0);
        assert_eq!(pio.interrupt_lines(), [false, false]);
        pio.step_machines(0, 0);
        assert_eq!((pio.interrupt_lines(), pio.read(0x30)), ([true, false], 1));
        pio.write(0x30, WriteKind::Plain, 1, 5);
        assert_eq!(pio.interrupt_lines(), [false, false]);
    }
}
