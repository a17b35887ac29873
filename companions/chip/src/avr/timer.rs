//! Timers of 8 and 16 bits with up to three compare units.
//!
//! Sources: ATmega328P data sheet (DS40002061), chapters 15 "8-bit Timer/Counter0", 16 "16-bit Timer/Counter1", 17 "Prescalers", 18
//! "8-bit Timer/Counter2"; ATmega128 data sheet (2467), the same chapters for the older registers.

use std::collections::VecDeque;

use super::compare_behind_counter::{Ahead, Laps};
use super::crystal::{self, Crystal};
use super::io::Io;
use super::sources::Id;
use super::waveform::{self, Source, Top, Wave};
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
    pub overflow: Id,
    /// Compare matches.
    pub matches: [Id; 3],
    /// Number of its compare units.
    pub units: usize,
    /// Input capture.
    pub capture: Id,
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
    source: Source,
    /// True if it counts a watch crystal; its time is then that of the oscillator.
    asynchronous: bool,
    crystal: Crystal<Reg>,
    /// True if its clock is switched off (PRR).
    off: bool,
    wave: Wave,
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
    laps: Laps,
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
    /// Creates a timer at reset.
    pub fn new(spec: Spec) -> Self {
        Timer {
            spec,
            control: [0; 2],
            source: Source::Stopped,
            asynchronous: false,
            crystal: Crystal::new(),
            off: false,
            wave: Wave::Up,
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
            laps: Laps::default(),
            blocked: false,
            output: [false; 3],
            zero: 0,
            counted: 0,
        }
        .configured()
    }

    /// True if it has its own prescaler, which also divides by 32 and 128, instead of the shared one.
    pub fn is_fine(&self) -> bool {
        self.spec.fine
    }

    /// True if it wrapped around shortly before, and its handler has not run yet.
    pub fn overflow_waits(&self, io: &Io) -> bool {
        let waits = io.sources.is_raised(self.spec.overflow, &io.data) && io.is_enabled(self.spec.overflow);
        waits && self.count < self.top() / 2 + 1
    }

    /// True if it counts a watch crystal.
    pub fn is_asynchronous(&self) -> bool {
        self.asynchronous
    }

    /// Returns the pins whose edges it captures or counts.
    pub fn pins(&self) -> impl Iterator<Item = Pin> {
        [self.spec.captured, self.spec.counted].into_iter().flatten()
    }

    fn max(&self) -> u16 {
        if self.spec.wide { 0xffff } else { 0xff }
    }

    fn top(&self) -> u16 {
        match self.top {
            Top::Fixed(top) => top,
            Top::Compare => self.compare[0],
            Top::Capture => self.capture,
        }
    }

    /// Applies the control registers (tables 15-8, 16-4, 18-8).
    fn configured(mut self) -> Self {
        self.configure();
        self
    }

    fn configure(&mut self) {
        let low = self.control[0] & 3;
        let high = self.control[1] >> 3 & if self.spec.wide { 3 } else { 1 };
        let mode = high << 2 | low;
        (self.wave, self.top) = waveform::of_mode(self.spec.wide, mode);
        if !matches!(self.wave, Wave::Phase(_)) {
            self.down = false;
        }
        if self.wave == Wave::Up {
            self.compare = self.buffer;
        }
        self.source = Source::selected(self.control[1] & 7, self.spec.fine);
    }

    /// Returns the current time in the unit that this timer counts.
    fn now(&self, io: &Io) -> u64 {
        if self.asynchronous { io.clock.wall() } else { io.clock.now }
    }

    /// Returns the ticks from the prescaler's zero to a moment.
    fn ticks_until(&self, time: u64, divider: u64, io: &Io) -> u64 {
        let passed = time.saturating_sub(self.zero);
        if self.asynchronous { crystal::edges(passed, &io.clock) / divider } else { passed / divider }
    }

    /// Returns the moment of a tick.
    fn time_of(&self, tick: u64, divider: u64, io: &Io) -> u64 {
        if self.asynchronous {
            self.zero + crystal::moment(tick * divider, &io.clock)
        } else {
            self.zero + tick * divider
        }
    }

    /// Counts ticks anew from this time on: the clock was selected, or the prescaler reset.
    fn restart(&mut self, time: u64, io: &Io) {
        if let Source::Divided(divider) = self.source {
            self.counted = self.ticks_until(time, divider, io);
        }
    }

    /// Counts all ticks until now.
    pub fn settle(&mut self, io: &mut Io) {
        while let Some((at, reg, value)) = self.crystal.arrived(&io.clock) {
            self.settle_until(at, io);
            self.set(reg, value, at, io);
        }
        self.take_capture(io);
        while let Some(cycle) = self.counted_at.front().copied().filter(|cycle| *cycle <= io.clock.now) {
            self.counted_at.pop_front();
            self.tick(cycle, io);
        }
        self.settle_until(self.now(io), io);
    }

    /// Counts all ticks until a moment.
    fn settle_until(&mut self, time: u64, io: &mut Io) {
        let Source::Divided(divider) = self.source else { return };
        let until = self.ticks_until(time, divider, io);
        if self.off {
            self.counted = until;
            return;
        }
        while self.counted < until {
            let event = self.ticks_to_event();
            let left = until - self.counted;
            if event > left {
                self.skip(left);
                self.counted = until;
            } else {
                self.skip(event - 1);
                self.counted += event;
                let time = self.time_of(self.counted, divider, io);
                self.tick(time, io);
            }
        }
    }

    /// Returns the time to settle next: a cycle, and a moment of the oscillator.
    pub fn next(&self, io: &Io) -> (u64, u64) {
        let counts = self.counted_at.front().copied().unwrap_or(u64::MAX);
        let captures = self.capture_at.unwrap_or(u64::MAX).min(counts);
        let never = (captures, self.crystal.next(&io.clock));
        let Source::Divided(divider) = self.source else { return never };
        let drives = (0..self.spec.units).any(|unit| self.action(unit) != 0);
        let interrupts = self.spec.matches.iter().any(|id| io.is_enabled(*id))
            || io.is_enabled(self.spec.overflow)
            || io.is_enabled(self.spec.capture);
        if self.off || !(drives || interrupts) {
            return never;
        }
        let time = self.time_of(self.counted + self.ticks_to_event(), divider, io);
        if self.asynchronous { (u64::MAX, time.min(never.1)) } else { (time.min(captures), u64::MAX) }
    }

    /// Returns the value at which the counter ends its way up or down. A top that was lowered below the
    /// counter is missed, as the data sheet says of CTC and fast PWM (sections 16.9.2, 16.9.3): the counter
    /// goes on to its maximum and wraps around. The data sheet does not say this of the phase correct modes;
    /// their counter is assumed to do the same, since it compares in the same way.
    fn turn(&self) -> u16 {
        let top = self.top();
        match self.down {
            true => 0,
            false if self.count <= top => top,
            false => self.max(),
        }
    }

    /// Returns the ticks to the next one with an effect beyond counting, itself included.
    fn ticks_to_event(&self) -> u64 {
        if self.blocked {
            return 1;
        }
        let count = self.count;
        let mut near = count.abs_diff(self.turn());
        for compare in &self.compare[..self.spec.units] {
            let far = if self.down { count.checked_sub(*compare) } else { compare.checked_sub(count) };
            near = near.min(far.unwrap_or(u16::MAX));
        }
        u64::from(near) + 1
    }

    /// Skips ticks that only count.
    fn skip(&mut self, ticks: u64) {
        if ticks > 0 {
            let ticks = ticks as u16;
            self.count = if self.down { self.count - ticks } else { self.count + ticks };
        }
    }

    /// Performs one tick with all its effects. A flag is set at the tick with which the counter leaves its
    /// value (figures 16-10 to 16-13).
    fn tick(&mut self, time: u64, io: &mut Io) {
        let was = self.count;
        let down = self.down;
        if !std::mem::take(&mut self.blocked) {
            for unit in 0..self.spec.units {
                if self.compare[unit] == was {
                    self.tell_lap(unit, time, io);
                    self.raise(self.spec.matches[unit], time, io);
                    self.match_output(unit, down, time, io);
                }
            }
        }
        let top = self.top();
        let turns = was == self.turn();
        if turns && was > top {
            self.tell_lap(0, time, io);
        }
        match self.wave {
            Wave::Up | Wave::Fast => {
                self.count = if turns { 0 } else { was + 1 };
                let overflows = if self.wave == Wave::Fast { was == top } else { was == self.max() };
                if overflows {
                    self.raise(self.spec.overflow, time, io);
                }
                if was == top && self.top == Top::Capture {
                    self.raise(self.spec.capture, time, io);
                }
                if self.count == 0 && self.wave == Wave::Fast {
                    self.compare = self.buffer;
                    self.bottom_outputs(time, io);
                }
            }
            Wave::Phase(late) => {
                if !turns {
                    self.count = if down { was - 1 } else { was + 1 };
                } else if down || was != top {
                    self.down = false;
                    self.raise(self.spec.overflow, time, io);
                    if late {
                        self.compare = self.buffer;
                    }
                    self.count = if down { self.top().min(1) } else { 0 };
                } else {
                    self.down = true;
                    self.count = was.saturating_sub(1);
                    if self.top == Top::Capture {
                        self.raise(self.spec.capture, time, io);
                    }
                    if !late {
                        self.compare = self.buffer;
                    }
                }
            }
        }
    }

    fn raise(&mut self, id: Id, time: u64, io: &mut Io) {
        if self.asynchronous {
            io.raise_at(id, time);
            if io.is_enabled(id) {
                self.crystal.raised(id, time, &io.clock);
            }
        } else {
            io.raise(id, time);
        }
    }

    /// Returns COMnx1:0 of a unit.
    fn action(&self, unit: usize) -> u8 {
        self.control[0] >> (6 - 2 * unit) & 3
    }

    /// Moves a unit's pin at a match (tables 16-1 to 16-3). A compare value at an end of the way keeps the
    /// pin constant: high at the top, low at the bottom of the phase correct modes, the opposite if inverted
    /// (sections 16.9.3, 16.9.4).
    fn match_output(&mut self, unit: usize, down: bool, time: u64, io: &mut Io) {
        let at_top = self.compare[unit] == self.top();
        let level = match (self.action(unit), self.wave) {
            (0, _) => return,
            (1, Wave::Up) => !self.output[unit],
            (1, _) if unit == 0 && self.top == Top::Compare => !self.output[0],
            (1, Wave::Fast) if unit == 0 && self.top == Top::Capture => !self.output[0],
            (1, _) => return,
            (action, Wave::Fast) if at_top => action == 2,
            (action, Wave::Up | Wave::Fast) => action == 3,
            (action, Wave::Phase(_)) => (action == 3) != (at_top || down && self.compare[unit] != 0),
        };
        self.set_output(unit, level, time, io);
    }

    /// Sets the outputs at the bottom of fast PWM.
    fn bottom_outputs(&mut self, time: u64, io: &mut Io) {
        for unit in 0..self.spec.units {
            if self.action(unit) >= 2 {
                self.set_output(unit, self.action(unit) == 2, time, io);
            }
        }
    }

    fn set_output(&mut self, unit: usize, level: bool, time: u64, io: &mut Io) {
        self.output[unit] = level;
        let Some(pin) = self.spec.outputs[unit] else { return };
        let cycle = if self.asynchronous { io.clock.cycle_at(time) } else { time };
        io.override_value(pin, (self.action(unit) != 0).then_some(level), false, cycle);
    }

    /// Returns the part of a lap from the counter to a unit's compare value, and the distance of that from
    /// the previous value; zero in modes whose matches work differently.
    fn ahead(&self, unit: usize, before: u16) -> Ahead {
        let part = |ticks: u16| f64::from(ticks & self.max()) / (f64::from(self.max()) + 1.0);
        let compare = self.compare[unit];
        match self.top {
            // The top of CTC: one below the counter is missed for certain.
            Top::Compare if unit == 0 => {
                Ahead { of_lap: f64::from(u8::from(compare < self.count)), step: 0.0 }
            }
            Top::Fixed(top) if top == self.max() => Ahead {
                of_lap: part(compare.wrapping_sub(self.count)),
                step: part(compare.wrapping_sub(before)),
            },
            _ => Ahead::default(),
        }
    }

    /// Reports a match whose compare value had been written behind the counter.
    fn tell_lap(&mut self, unit: usize, time: u64, io: &mut Io) {
        let Some((at, address)) = self.laps.matched(unit) else { return };
        let Source::Divided(divider) = self.source else { return };
        let lap = (u64::from(self.max()) + 1) * divider;
        let missed_top = self.top == Top::Compare && unit == 0;
        let is_lost = missed_top || time.saturating_sub(at) > lap - lap / 8;
        if io.is_enabled(self.spec.matches[unit]) && is_lost {
            let (timer, unit) = (self.spec.number, unit as u8);
            io.log.find(FindingKind::CompareBehind { timer, unit, lap }, io.clock.wall_at(at), address);
        }
    }

    /// Handles a read of a register.
    pub fn read(&mut self, reg: Reg, io: &mut Io) -> u8 {
        self.settle(io);
        // Of the others "the value in the temporary storage register is read" (section 18.9).
        if let Some(value) = self.crystal.on_its_way(reg).filter(|_| reg != Reg::Count) {
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

    /// Handles a write of a register.
    pub fn write(&mut self, reg: Reg, value: u8, io: &mut Io) {
        self.settle(io);
        if self.asynchronous {
            self.crystal.write(reg, value, io);
        } else {
            self.set(reg, value, io.clock.now, io);
        }
    }

    /// Sets a register, at a time in the unit that this timer counts.
    fn set(&mut self, reg: Reg, value: u8, time: u64, io: &mut Io) {
        let word = |timer: &Timer| match timer.spec.wide {
            true => u16::from(timer.temporary) << 8 | u16::from(value),
            false => u16::from(value),
        };
        match reg {
            Reg::ControlA => self.reconfigure([value, self.control[1]], time, io),
            Reg::ControlB => {
                self.reconfigure(
                    [self.control[0], if self.spec.wide { value } else { value & 0xf }],
                    time,
                    io,
                );
                if !self.spec.wide {
                    self.force(value, io);
                }
            }
            Reg::ControlC => self.force(value, io),
            Reg::Control => {
                let a = value >> 6 & 1 | value >> 2 & 2 | (value & 0x30) << 2;
                self.reconfigure([a, value & 7], time, io);
                self.force(value & 0x80, io);
            }
            Reg::Count => {
                self.count = word(self);
                self.blocked = true;
                self.laps = Laps::default();
            }
            Reg::Compare(unit) => {
                // With a fixed top "the unused bits are masked to zero" (sections 16.9.3, 16.9.4).
                let mask = match self.top {
                    Top::Fixed(top) if self.wave != Wave::Up => top,
                    _ => u16::MAX,
                };
                self.buffer[usize::from(unit)] = word(self) & mask;
                if self.wave == Wave::Up {
                    let unit = usize::from(unit);
                    let before = std::mem::replace(&mut self.compare, self.buffer)[unit];
                    let runs = matches!(self.source, Source::Divided(_)) && !self.off;
                    self.laps.written(unit, self.ahead(unit, before), (time, io.address), runs);
                }
            }
            // ICRn can be written only if it is the top (section 16.6).
            Reg::Capture if self.top == Top::Capture => self.capture = word(self),
            Reg::Capture => {}
            Reg::CountHigh | Reg::CompareHigh(_) | Reg::CaptureHigh => self.temporary = value,
        }
    }

    fn reconfigure(&mut self, control: [u8; 2], time: u64, io: &mut Io) {
        let before = self.source;
        // An edge on its way does not count under a new setting.
        if (self.control[1] ^ control[1]) & (RISING | CANCEL_NOISE) != 0 {
            self.capture_at = None;
        }
        self.control = control;
        self.configure();
        self.capture_at = self.capture_at.filter(|_| self.top != Top::Capture);
        if self.source != before {
            self.restart(time, io);
            self.counted_at.clear();
        }
        let now = io.clock.now;
        for unit in 0..self.spec.units {
            let Some(pin) = self.spec.outputs[unit] else { continue };
            let value = (self.action(unit) != 0).then_some(self.output[unit]);
            io.override_value(pin, value, false, now);
        }
    }

    /// FOCnx: applies the pin's match action without a match.
    fn force(&mut self, value: u8, io: &mut Io) {
        if self.wave != Wave::Up {
            return;
        }
        let now = self.now(io);
        for unit in 0..self.spec.units {
            if value & 0x80 >> unit != 0 {
                self.match_output(unit, false, now, io);
            }
        }
    }

    /// Handles a change of a captured or counted pin.
    pub fn pin_changed(&mut self, pin: Pin, high: bool, cycle: u64, io: &mut Io) {
        if self.spec.counted == Some(pin) && self.source == Source::Edges(high) && !self.off {
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
            self.settle(io);
        }
    }

    /// Captures the count if an edge has arrived.
    fn take_capture(&mut self, io: &mut Io) {
        if let Some(cycle) = self.capture_at.take_if(|cycle| *cycle <= io.clock.now) {
            self.settle_until(cycle, io);
            self.capture = self.count;
            io.raise(self.spec.capture, cycle);
        }
    }

    /// Sets the prescaler to zero.
    pub fn reset_prescaler(&mut self, io: &mut Io) {
        self.settle(io);
        self.zero = self.now(io);
        self.counted = 0;
    }

    /// Switches its clock off or on.
    pub fn switch(&mut self, off: bool, io: &mut Io) {
        self.settle(io);
        self.off = off;
    }

    /// Makes it count a watch crystal, or the processor's clock again.
    pub fn set_asynchronous(&mut self, asynchronous: bool, io: &mut Io) {
        if self.asynchronous != asynchronous {
            self.settle(io);
            self.asynchronous = asynchronous;
            self.crystal = Crystal::new();
            self.zero = 0;
            self.restart(self.now(io), io);
        }
    }

    /// Returns the registers that are busy passing on a written value.
    pub fn busy(&self) -> impl Iterator<Item = Reg> + '_ {
        self.crystal.busy()
    }

    /// Begins a sleep that stops the processor's clock.
    pub fn fall_asleep(&mut self, io: &mut Io) {
        if !self.asynchronous {
            return;
        }
        self.settle(io);
        let again = self.crystal.fall_asleep(self.count as u8, &io.clock);
        if let Some(again) = again.filter(|again| !io.sources.is_raised(*again, &io.data)) {
            io.raise_at(again, io.clock.wall());
        }
    }

    /// Ends the sleep.
    pub fn wake(&mut self, io: &Io) {
        self.crystal.wake(&io.clock);
    }
}

#[cfg(test)]
#[path = "timer_tests.rs"]
mod tests;
