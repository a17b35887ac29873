//! Timers of 8 and 16 bits with up to three compare units.
//!
//! Sources: ATmega328P data sheet (DS40002061), chapters 15 "8-bit Timer/Counter0", 16 "16-bit Timer/Counter1", 17 "Prescalers", 18
//! "8-bit Timer/Counter2"; ATmega128 data sheet (2467), the same chapters for the older registers.

use std::collections::VecDeque;

use super::compare_behind_counter::{CompareDistance, CompareWrites};
use super::crystal::{self, RegisterSynchroniser};
use super::io::Io;
use super::sources::SourceId;
use super::waveform::{self, ClockSource, CountingMode, Top};
use crate::Pin;
use crate::log::FindingKind;

/// A register of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reg {
    /// TCCRnA.
    ControlA,
    /// TCCRnB.
    ControlB,
    /// TCCRnC.
    ControlC,
    /// TCCRn of the timers of 8 bits of older chips.
    Control,
    /// TCNTn, or its low byte.
    Count,
    /// The high byte of TCNTn.
    CountHigh,
    /// OCRnA, B, C, or their low byte.
    Compare(u8),
    /// Their high byte.
    CompareHigh(u8),
    /// The low byte of ICRn.
    Capture,
    /// The high byte of ICRn.
    CaptureHigh,
}

/// Description of a timer of the chip.
#[derive(Debug, Clone)]
pub struct Spec {
    pub number: u8,
    /// True for 16 bits, false for 8.
    pub wide: bool,
    /// True if it also divides by 32 and 128, and can count a watch crystal (timer 2; on the ATmega128 timer 0).
    pub fine: bool,
    pub overflow: SourceId,
    /// Compare matches.
    pub matches: [SourceId; 3],
    /// Number of its compare units.
    pub units: usize,
    /// Input capture.
    pub capture: SourceId,
    /// Pins of the compare units.
    pub outputs: [Option<Pin>; 3],
    /// The pin whose edges it can count.
    pub counted: Option<Pin>,
    /// The pin of the input capture.
    pub captured: Option<Pin>,
}

#[derive(Debug, Clone)]
pub struct Timer {
    spec: Spec,
    control: [u8; 2],
    source: ClockSource,
    /// True if it counts a watch crystal; its time is then that of the oscillator.
    asynchronous: bool,
    crystal: RegisterSynchroniser<Reg>,
    /// True if its clock is switched off (PRR).
    off: bool,
    wave: CountingMode,
    top: Top,
    count: u16,
    down: bool,
    compare: [u16; 3],
    buffer: [u16; 3],
    capture: u16,
    /// Cycle in which an edge of the captured pin arrives.
    capture_at: Option<u64>,
    /// Cycle of the captured pin's last change, and the level that the noise canceler had passed by then.
    captured_at: u64,
    quiet: bool,
    /// Cycles in which edges of the counted pin arrive.
    counted_at: VecDeque<u64>,
    temporary: u8,
    /// Compare values written behind the counter.
    compare_writes: CompareWrites,
    /// A write to the counter keeps the next tick from matching (section 16.7.2).
    blocked: bool,
    output: [bool; 3],
    /// Time at which the prescaler was zero, and ticks counted since then.
    zero: u64,
    counted: u64,
}

/// ICESn and ICNCn, and cycles for which the noise canceler samples the pin.
const RISING: u8 = 0x40;
const CANCEL_NOISE: u8 = 0x80;
const CANCELER: u64 = 4;
/// Cycles from an edge at a pin until it is counted or captured: 2.5 to 3.5 (section 17.2; captures "the same", section 16.6.1).
const EDGE_DETECTOR: u64 = 3;

impl Timer {
    pub fn new(spec: Spec) -> Self {
        Timer {
            spec,
            control: [0; 2],
            source: ClockSource::Stopped,
            asynchronous: false,
            crystal: RegisterSynchroniser::new(),
            off: false,
            wave: CountingMode::Up,
            top: Top::Fixed(0xff),
            count: 0,
            down: false,
            compare: [0; 3],
            buffer: [0; 3],
            capture: 0,
            capture_at: None,
            captured_at: 0,
            quiet: false,
            counted_at: VecDeque::new(),
            temporary: 0,
            compare_writes: CompareWrites::default(),
            blocked: false,
            output: [false; 3],
            zero: 0,
            counted: 0,
        }
        .with_configuration()
    }

    /// True if it has its own prescaler, which also divides by 32 and 128, instead of the shared one.
    pub fn has_own_prescaler(&self) -> bool {
        self.spec.fine
    }

    /// True if the counter wrapped around shortly before, and its overflow flag is still set.
    pub fn is_overflow_pending(&self, io: &Io) -> bool {
        let waits = io.sources.is_raised(self.spec.overflow, &io.data) && io.is_enabled(self.spec.overflow);
        waits && self.count < self.top_count() / 2 + 1
    }

    pub fn is_asynchronous(&self) -> bool {
        self.asynchronous
    }

    /// Pins whose edges it captures or counts.
    pub fn observed_pins(&self) -> impl Iterator<Item = Pin> {
        [self.spec.captured, self.spec.counted].into_iter().flatten()
    }

    /// Largest value of the counter's register.
    fn max_count(&self) -> u16 {
        if self.spec.wide { 0xffff } else { 0xff }
    }

    /// Value at which the counter turns or restarts in its mode.
    fn top_count(&self) -> u16 {
        match self.top {
            Top::Fixed(top) => top,
            Top::Compare => self.compare[0],
            Top::Capture => self.capture,
        }
    }

    /// Timer with its control registers applied.
    fn with_configuration(mut self) -> Self {
        self.apply_control_registers();
        self
    }

    /// Derives mode, top and clock source from the control registers (tables 15-8, 16-4, 18-8).
    fn apply_control_registers(&mut self) {
        let low = self.control[0] & 3;
        let high = self.control[1] >> 3 & if self.spec.wide { 3 } else { 1 };
        let mode = high << 2 | low;
        (self.wave, self.top) = waveform::mode_and_top(self.spec.wide, mode);
        if !matches!(self.wave, CountingMode::Phase(_)) {
            self.down = false;
        }
        if self.wave == CountingMode::Up {
            self.compare = self.buffer;
        }
        self.source = ClockSource::from_clock_select(self.control[1] & 7, self.spec.fine);
    }

    /// Current time: the oscillator's if it counts a watch crystal, else the processor's cycle.
    fn now(&self, io: &Io) -> u64 {
        if self.asynchronous { io.clock.wall() } else { io.clock.now }
    }

    /// Ticks from the prescaler's zero to a moment.
    fn ticks_until(&self, time: u64, divider: u64, io: &Io) -> u64 {
        let passed = time.saturating_sub(self.zero);
        if self.asynchronous { crystal::edges_until(passed, &io.clock) / divider } else { passed / divider }
    }

    /// Time of a tick.
    fn time_of_tick(&self, tick: u64, divider: u64, io: &Io) -> u64 {
        if self.asynchronous {
            self.zero + crystal::moment_of_edge(tick * divider, &io.clock)
        } else {
            self.zero + tick * divider
        }
    }

    /// Counts ticks from this time on, after the clock was selected or the prescaler reset.
    fn restart_ticks(&mut self, time: u64, io: &Io) {
        if let ClockSource::Divided(divider) = self.source {
            self.counted = self.ticks_until(time, divider, io);
        }
    }

    /// Counts all ticks until now.
    pub fn advance_to_now(&mut self, io: &mut Io) {
        while let Some((at, reg, value)) = self.crystal.take_arrived(&io.clock) {
            self.advance_to(at, io);
            self.set_register(reg, value, at, io);
        }
        self.capture_if_due(io);
        while let Some(cycle) = self.counted_at.front().copied().filter(|cycle| *cycle <= io.clock.now) {
            self.counted_at.pop_front();
            self.perform_tick(cycle, io);
        }
        self.advance_to(self.now(io), io);
    }

    /// Counts all ticks until a time.
    fn advance_to(&mut self, time: u64, io: &mut Io) {
        let ClockSource::Divided(divider) = self.source else { return };
        let until = self.ticks_until(time, divider, io);
        if self.off {
            self.counted = until;
            return;
        }
        while self.counted < until {
            let event = self.ticks_to_event();
            let left = until - self.counted;
            if event > left {
                self.skip_ticks(left);
                self.counted = until;
            } else {
                self.skip_ticks(event - 1);
                self.counted += event;
                let time = self.time_of_tick(self.counted, divider, io);
                self.perform_tick(time, io);
            }
        }
    }

    /// Next event with an effect in each kind of time: a cycle, and a moment of the oscillator.
    pub fn next_event_times(&self, io: &Io) -> (u64, u64) {
        let counts = self.counted_at.front().copied().unwrap_or(u64::MAX);
        let captures = self.capture_at.unwrap_or(u64::MAX).min(counts);
        let never = (captures, self.crystal.next_arrival(&io.clock));
        let ClockSource::Divided(divider) = self.source else { return never };
        let drives = (0..self.spec.units).any(|unit| self.match_action(unit) != 0);
        let interrupts = self.spec.matches.iter().any(|id| io.is_enabled(*id))
            || io.is_enabled(self.spec.overflow)
            || io.is_enabled(self.spec.capture);
        if self.off || !(drives || interrupts) {
            return never;
        }
        let time = self.time_of_tick(self.counted + self.ticks_to_event(), divider, io);
        if self.asynchronous { (u64::MAX, time.min(never.1)) } else { (time.min(captures), u64::MAX) }
    }

    /// Value at which the counter ends its way up or down. A top that was lowered below the
    /// counter is missed, as the data sheet says of CTC and fast PWM (sections 16.9.2, 16.9.3): the counter
    /// goes on to its maximum and wraps around. The data sheet does not say this of the phase correct modes;
    /// their counter is assumed to do the same, since it compares in the same way.
    fn turning_count(&self) -> u16 {
        let top = self.top_count();
        match self.down {
            true => 0,
            false if self.count <= top => top,
            false => self.max_count(),
        }
    }

    /// Ticks to the next one with an effect beyond counting, itself included.
    fn ticks_to_event(&self) -> u64 {
        if self.blocked {
            return 1;
        }
        let count = self.count;
        let mut near = count.abs_diff(self.turning_count());
        for compare in &self.compare[..self.spec.units] {
            let far = if self.down { count.checked_sub(*compare) } else { compare.checked_sub(count) };
            near = near.min(far.unwrap_or(u16::MAX));
        }
        u64::from(near) + 1
    }

    /// Skips ticks that only count.
    fn skip_ticks(&mut self, ticks: u64) {
        if ticks > 0 {
            let ticks = ticks as u16;
            self.count = if self.down { self.count - ticks } else { self.count + ticks };
        }
    }

    /// Performs one tick with all its effects. A flag is set at the tick with which the counter leaves its
    /// value (figures 16-10 to 16-13).
    fn perform_tick(&mut self, time: u64, io: &mut Io) {
        let was = self.count;
        let down = self.down;
        if !std::mem::take(&mut self.blocked) {
            for unit in 0..self.spec.units {
                if self.compare[unit] == was {
                    self.report_compare_behind(unit, time, io);
                    self.raise_flag(self.spec.matches[unit], time, io);
                    self.set_output_at_match(unit, down, time, io);
                }
            }
        }
        let top = self.top_count();
        let turns = was == self.turning_count();
        if turns && was > top {
            self.report_compare_behind(0, time, io);
        }
        match self.wave {
            CountingMode::Up | CountingMode::Fast => {
                self.count = if turns { 0 } else { was + 1 };
                let overflows =
                    if self.wave == CountingMode::Fast { was == top } else { was == self.max_count() };
                if overflows {
                    self.raise_flag(self.spec.overflow, time, io);
                }
                if was == top && self.top == Top::Capture {
                    self.raise_flag(self.spec.capture, time, io);
                }
                if self.count == 0 && self.wave == CountingMode::Fast {
                    self.compare = self.buffer;
                    self.set_outputs_at_bottom(time, io);
                }
            }
            CountingMode::Phase(late) => {
                if !turns {
                    self.count = if down { was - 1 } else { was + 1 };
                } else if down || was != top {
                    self.down = false;
                    self.raise_flag(self.spec.overflow, time, io);
                    if late {
                        self.compare = self.buffer;
                    }
                    self.count = if down { self.top_count().min(1) } else { 0 };
                } else {
                    self.down = true;
                    self.count = was.saturating_sub(1);
                    if self.top == Top::Capture {
                        self.raise_flag(self.spec.capture, time, io);
                    }
                    if !late {
                        self.compare = self.buffer;
                    }
                }
            }
        }
    }

    /// Sets the flag of an interrupt source, at a time in the unit that this timer counts.
    fn raise_flag(&mut self, id: SourceId, time: u64, io: &mut Io) {
        if self.asynchronous {
            io.raise_flag_at_moment(id, time);
            if io.is_enabled(id) {
                self.crystal.record_flag(id, time, &io.clock);
            }
        } else {
            io.raise_flag(id, time);
        }
    }

    /// Returns COMnx1:0 of a unit.
    fn match_action(&self, unit: usize) -> u8 {
        self.control[0] >> (6 - 2 * unit) & 3
    }

    /// Moves a unit's pin at a match (tables 16-1 to 16-3). A compare value at an end of the way keeps the
    /// pin constant: high at the top, low at the bottom of the phase correct modes, the opposite if inverted
    /// (sections 16.9.3, 16.9.4).
    fn set_output_at_match(&mut self, unit: usize, down: bool, time: u64, io: &mut Io) {
        let at_top = self.compare[unit] == self.top_count();
        let level = match (self.match_action(unit), self.wave) {
            (0, _) => return,
            (1, CountingMode::Up) => !self.output[unit],
            (1, _) if unit == 0 && self.top == Top::Compare => !self.output[0],
            (1, CountingMode::Fast) if unit == 0 && self.top == Top::Capture => !self.output[0],
            (1, _) => return,
            (action, CountingMode::Fast) if at_top => action == 2,
            (action, CountingMode::Up | CountingMode::Fast) => action == 3,
            (action, CountingMode::Phase(_)) => (action == 3) != (at_top || down && self.compare[unit] != 0),
        };
        self.set_output(unit, level, time, io);
    }

    /// Sets the outputs at the bottom of fast PWM.
    fn set_outputs_at_bottom(&mut self, time: u64, io: &mut Io) {
        for unit in 0..self.spec.units {
            if self.match_action(unit) >= 2 {
                self.set_output(unit, self.match_action(unit) == 2, time, io);
            }
        }
    }

    fn set_output(&mut self, unit: usize, level: bool, time: u64, io: &mut Io) {
        self.output[unit] = level;
        let Some(pin) = self.spec.outputs[unit] else { return };
        let cycle = if self.asynchronous { io.clock.cycle_at(time) } else { time };
        io.override_pin(pin, (self.match_action(unit) != 0).then_some(level), false, cycle);
    }

    /// Distance from the counter to a unit's compare value, and from the previous value to it, in laps.
    /// Zero in modes whose matches work differently.
    fn compare_distance(&self, unit: usize, before: u16) -> CompareDistance {
        let part = |ticks: u16| f64::from(ticks & self.max_count()) / (f64::from(self.max_count()) + 1.0);
        let compare = self.compare[unit];
        match self.top {
            // The top of CTC: one below the counter is missed for certain.
            Top::Compare if unit == 0 => {
                CompareDistance { laps: f64::from(u8::from(compare < self.count)), step: 0.0 }
            }
            Top::Fixed(top) if top == self.max_count() => CompareDistance {
                laps: part(compare.wrapping_sub(self.count)),
                step: part(compare.wrapping_sub(before)),
            },
            _ => CompareDistance::default(),
        }
    }

    /// Reports a match whose compare value had been written behind the counter.
    fn report_compare_behind(&mut self, unit: usize, time: u64, io: &mut Io) {
        let Some((at, address)) = self.compare_writes.take_write_behind(unit) else { return };
        let ClockSource::Divided(divider) = self.source else { return };
        let lap = (u64::from(self.max_count()) + 1) * divider;
        let missed_top = self.top == Top::Compare && unit == 0;
        let is_lost = missed_top || time.saturating_sub(at) > lap - lap / 8;
        if io.is_enabled(self.spec.matches[unit]) && is_lost {
            let (timer, unit) = (self.spec.number, unit as u8);
            io.log.report_finding(
                FindingKind::CompareBehind { timer, unit, lap },
                io.clock.wall_at(at),
                address,
            );
        }
    }

    pub fn read(&mut self, reg: Reg, io: &mut Io) -> u8 {
        self.advance_to_now(io);
        // Of the others "the value in the temporary storage register is read" (section 18.9).
        if let Some(value) = self.crystal.pending_value(reg).filter(|_| reg != Reg::Count) {
            return value;
        }
        match reg {
            Reg::ControlA => self.control[0],
            Reg::ControlB => self.control[1],
            Reg::ControlC => 0,
            Reg::Control => {
                let (a, b) = (self.control[0], self.control[1]);
                (a & 1) << 6 | (a >> 2 & 0x30) | (a & 2) << 2 | b & 7
            }
            Reg::Count => {
                self.temporary = (self.count >> 8) as u8;
                self.crystal.old_count(&io.clock).unwrap_or(self.count as u8)
            }
            Reg::Capture => {
                self.temporary = (self.capture >> 8) as u8;
                self.capture as u8
            }
            Reg::CountHigh | Reg::CaptureHigh => self.temporary,
            // Reading these does not use the temporary register (section 16.3).
            Reg::Compare(unit) => self.buffer[usize::from(unit)] as u8,
            Reg::CompareHigh(unit) => (self.buffer[usize::from(unit)] >> 8) as u8,
        }
    }

    pub fn write(&mut self, reg: Reg, value: u8, io: &mut Io) {
        self.advance_to_now(io);
        if self.asynchronous {
            self.crystal.write(reg, value, io);
        } else {
            self.set_register(reg, value, io.clock.now, io);
        }
    }

    /// Sets a register, at a time in the unit that this timer counts.
    fn set_register(&mut self, reg: Reg, value: u8, time: u64, io: &mut Io) {
        let word = |timer: &Timer| match timer.spec.wide {
            true => u16::from(timer.temporary) << 8 | u16::from(value),
            false => u16::from(value),
        };
        match reg {
            Reg::ControlA => self.write_control([value, self.control[1]], time, io),
            Reg::ControlB => {
                self.write_control(
                    [self.control[0], if self.spec.wide { value } else { value & 0xf }],
                    time,
                    io,
                );
                if !self.spec.wide {
                    self.force_match(value, io);
                }
            }
            Reg::ControlC => self.force_match(value, io),
            Reg::Control => {
                let a = value >> 6 & 1 | value >> 2 & 2 | (value & 0x30) << 2;
                self.write_control([a, value & 7], time, io);
                self.force_match(value & 0x80, io);
            }
            Reg::Count => {
                self.count = word(self);
                self.blocked = true;
                self.compare_writes = CompareWrites::default();
            }
            Reg::Compare(unit) => {
                // With a fixed top "the unused bits are masked to zero" (sections 16.9.3, 16.9.4).
                let mask = match self.top {
                    Top::Fixed(top) if self.wave != CountingMode::Up => top,
                    _ => u16::MAX,
                };
                self.buffer[usize::from(unit)] = word(self) & mask;
                if self.wave == CountingMode::Up {
                    let unit = usize::from(unit);
                    let before = std::mem::replace(&mut self.compare, self.buffer)[unit];
                    let runs = matches!(self.source, ClockSource::Divided(_)) && !self.off;
                    self.compare_writes.record_write(
                        unit,
                        self.compare_distance(unit, before),
                        (time, io.address),
                        runs,
                    );
                }
            }
            // ICRn can be written only if it is the top (section 16.6).
            Reg::Capture if self.top == Top::Capture => self.capture = word(self),
            Reg::Capture => {}
            Reg::CountHigh | Reg::CompareHigh(_) | Reg::CaptureHigh => self.temporary = value,
        }
    }

    /// Sets both control registers, with the effects of their changes.
    fn write_control(&mut self, control: [u8; 2], time: u64, io: &mut Io) {
        let before = self.source;
        // An edge on its way does not count under a new setting.
        if (self.control[1] ^ control[1]) & (RISING | CANCEL_NOISE) != 0 {
            self.capture_at = None;
        }
        self.control = control;
        self.apply_control_registers();
        self.capture_at = self.capture_at.filter(|_| self.top != Top::Capture);
        if self.source != before {
            self.restart_ticks(time, io);
            self.counted_at.clear();
        }
        let now = io.clock.now;
        for unit in 0..self.spec.units {
            let Some(pin) = self.spec.outputs[unit] else { continue };
            let value = (self.match_action(unit) != 0).then_some(self.output[unit]);
            io.override_pin(pin, value, false, now);
        }
    }

    /// Executes a write of FOCnx: applies the pins' match actions without a match.
    fn force_match(&mut self, value: u8, io: &mut Io) {
        if self.wave != CountingMode::Up {
            return;
        }
        let now = self.now(io);
        for unit in 0..self.spec.units {
            if value & 0x80 >> unit != 0 {
                self.set_output_at_match(unit, false, now, io);
            }
        }
    }

    /// Schedules a capture or a count for a change of a pin, if it is one that the timer observes.
    pub fn handle_pin_change(&mut self, pin: Pin, high: bool, cycle: u64, io: &mut Io) {
        if self.spec.counted == Some(pin) && self.source == ClockSource::Edges(high) && !self.off {
            self.counted_at.push_back(cycle + EDGE_DETECTOR);
        }
        if self.spec.captured == Some(pin) {
            let cancels = self.control[1] & CANCEL_NOISE != 0;
            // The canceler passes a level after seeing it four times (section 16.6.2); an edge that reverts
            // before that is noise.
            if cycle >= self.captured_at + CANCELER {
                self.quiet = !high;
            }
            self.captured_at = cycle;
            let wanted = (self.control[1] & RISING != 0) == high && self.top != Top::Capture;
            if cancels {
                let passes = wanted && high != self.quiet;
                self.capture_at = passes.then_some(cycle + CANCELER + EDGE_DETECTOR);
            } else if wanted {
                self.capture_at = Some(cycle + EDGE_DETECTOR);
            }
            self.advance_to_now(io);
        }
    }

    /// Captures the count if an edge has arrived.
    fn capture_if_due(&mut self, io: &mut Io) {
        if let Some(cycle) = self.capture_at.take_if(|cycle| *cycle <= io.clock.now) {
            self.advance_to(cycle, io);
            self.capture = self.count;
            io.raise_flag(self.spec.capture, cycle);
        }
    }

    /// Sets the prescaler to zero.
    pub fn reset_prescaler(&mut self, io: &mut Io) {
        self.advance_to_now(io);
        self.zero = self.now(io);
        self.counted = 0;
    }

    pub fn set_clock_off(&mut self, off: bool, io: &mut Io) {
        self.advance_to_now(io);
        self.off = off;
    }

    /// Makes the timer count a watch crystal, or the processor's clock again.
    pub fn set_asynchronous(&mut self, asynchronous: bool, io: &mut Io) {
        if self.asynchronous != asynchronous {
            self.advance_to_now(io);
            self.asynchronous = asynchronous;
            self.crystal = RegisterSynchroniser::new();
            self.zero = 0;
            self.restart_ticks(self.now(io), io);
        }
    }

    /// Registers whose written values have not arrived yet.
    pub fn busy_registers(&self) -> impl Iterator<Item = Reg> + '_ {
        self.crystal.busy_registers()
    }

    /// Begins a sleep that stops the processor's clock.
    pub fn begin_sleep(&mut self, io: &mut Io) {
        if !self.asynchronous {
            return;
        }
        self.advance_to_now(io);
        let again = self.crystal.begin_sleep(self.count as u8, &io.clock);
        if let Some(again) = again.filter(|again| !io.sources.is_raised(*again, &io.data)) {
            io.raise_flag_at_moment(again, io.clock.wall());
        }
    }

    /// Ends the sleep.
    pub fn end_sleep(&mut self, io: &Io) {
        self.crystal.end_sleep(&io.clock);
    }
}

#[cfg(test)]
#[path = "timer_tests.rs"]
mod tests;
