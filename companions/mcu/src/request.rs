//! One firmware to be measured: somebody's own by its pins, or an alarm of the time services.

use std::path::{Path, PathBuf};

use jitterlab_chip::arm::rp2040;
use jitterlab_chip::log::Rest;
use jitterlab_chip::{Pin, Stop};
use jitterlab_model::units::Exact;
use jitterlab_model::{EdgeKind, Error};

use super::firmware::{Board, Compiler, Program};
use super::run::{McuPins, McuRun, Reading};
use super::simulator::{Length, Setup, simulate};
use super::sweep::{self, Cell};
use super::{StimulusSpec, Strategy};

/// The prescaler where none is asked for.
const PRESCALER: u16 = 64;
/// The period of an alarm where none is asked for, in ns.
const PERIOD_NS: i64 = 10_000_000;
/// The simulated time of somebody's own firmware where none is asked for, in ns.
const DURATION_NS: i64 = 10_000_000_000;

/// What the firmware is made of.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A program with one periodic alarm of the time services.
    OwnAlarm,
    /// Somebody's firmware, measured by its pins.
    Elf(PathBuf, Vec<Pin>),
    /// Somebody's program in C++, built with the time services and measured by its pins.
    Source(PathBuf, Vec<Pin>),
}

/// A measurement of one firmware. What is `None` is set ideally, or taken from the firmware.
#[derive(Debug, Clone)]
pub struct McuRequest {
    /// What is measured.
    pub subject: Subject,
    /// Which edges begin an activation.
    pub edge: EdgeKind,
    /// The chip.
    pub mcu: Option<String>,
    /// Its clock.
    pub clock_hz: Option<u32>,
    /// The period, in ns: one for all pins, or one for each; none takes the mean distance of the edges.
    pub periods_ns: Vec<i64>,
    /// What comes to pins from outside, of somebody's own firmware.
    pub stimuli: Vec<StimulusSpec>,
    /// Simulated time at most, in ns, of somebody's own firmware.
    pub duration_ns: Option<i64>,
    /// How the time services use the timer.
    pub strategy: Strategy,
    /// Divides the clock for timer 1; none is 64, or what the RP2040's timers have.
    pub prescaler: Option<u16>,
    /// The trait `TICK`, in us.
    pub tick_us: Option<u32>,
    /// The trait `MAX_PERIOD`, in us.
    pub max_period_us: Option<u32>,
    /// Events of the alarm.
    pub events: u32,
}

impl McuRequest {
    /// Builds what has to be built, and simulates it.
    ///
    /// # Errors
    /// Something is not installed, the firmware does not build or run, or its pin shows too little.
    pub fn measure(&self) -> Result<McuPins, Error> {
        match &self.subject {
            Subject::Elf(elf, pins) => self.by_pins(elf, elf, pins, None),
            Subject::Source(source, pins) => {
                let program = match self.periods_ns.first() {
                    Some(_) => Program::PeriodicAlarm { period_us: self.period_us()?, events: self.events },
                    None => Program::Empty,
                };
                let board = self.board()?;
                // What it builds goes with it.
                let compiler = Compiler::of(&board)?;
                let firmware = compiler.build_file(&source.display().to_string(), &program, &board)?;
                self.by_pins(source, &firmware.elf, pins, Some(&board))
            }
            Subject::OwnAlarm => {
                let cell = Cell { board: self.board()?, period_us: self.period_us()?, events: self.events };
                let mut run = sweep::measure(&cell, &Compiler::of(&cell.board)?)?.run;
                run.info.count = Some(u64::from(self.events));
                Ok(run)
            }
        }
    }

    fn by_pins(
        &self,
        named: &Path,
        elf: &Path,
        pins: &[Pin],
        board: Option<&Board>,
    ) -> Result<McuPins, Error> {
        let period_of = |pin: usize| match self.periods_ns.as_slice() {
            [] => Ok(None),
            [all] => Ok(Some(*all)),
            each if each.len() == pins.len() => Ok(Some(each[pin])),
            each => Err(Error::bad_use(format!("{} periods for {} pins", each.len(), pins.len()))
                .remedy("give one for all of them, or one for each")),
        };
        let duration_ns = self.duration_ns.unwrap_or(DURATION_NS);
        let mut stimuli = Vec::new();
        for spec in &self.stimuli {
            stimuli.extend(spec.read()?);
        }
        let recording = simulate(&Setup {
            mcu: board.map(|board| board.mcu.clone()).or(self.mcu.clone()),
            clock_hz: board.map(|board| board.clock_hz).or(self.clock_hz),
            pins: pins.to_vec(),
            stimuli,
            length: Length::Time(duration_ns.unsigned_abs()),
            ..Setup::new(elf, 0)
        })?;
        let of_file =
            || named.file_stem().map_or("firmware".into(), |stem| stem.to_string_lossy().into_owned());
        // What jitterlab builds ends by itself after its events; other firmware that falls silent has failed.
        let ends_itself = board.is_some() && recording.log.stop == Stop::Asleep(Rest::Done);
        let mut runs = Vec::new();
        for (number, pin) in pins.iter().enumerate() {
            let name = if pins.len() == 1 { of_file() } else { pin.to_string() };
            let period_ns = period_of(number)?;
            let reading = Reading {
                name,
                pin: number,
                edge: self.edge,
                period_ns,
                due_until_ns: (!ends_itself).then_some(duration_ns),
                ..Reading::default()
            };
            runs.push(McuRun::new(&recording, *pin, &reading)?);
        }
        let mut run = McuPins::new(runs).ok_or_else(|| {
            Error::bad_use("no pin was given").remedy("say which one shows the activations, such as --pin B0")
        })?;
        run.info.duration_ns = Some(duration_ns);
        Ok(run)
    }

    fn period_us(&self) -> Result<u32, Error> {
        whole_us(self.periods_ns.first().copied().unwrap_or(PERIOD_NS))
    }

    /// The traits asked for: what is not asked for is set ideally for the period.
    fn board(&self) -> Result<Board, Error> {
        let mcu = self.mcu.as_deref().unwrap_or_default();
        let (prescaler, usual_hz) = match mcu == rp2040::NAME {
            true => (self.rp2040_prescaler()?, Some(rp2040::CLOCK_HZ)),
            false => (self.prescaler.unwrap_or(PRESCALER), None),
        };
        let ideal = Board::ideal(self.strategy, prescaler, self.period_us()?);
        let board = Board {
            tick_us: self.tick_us.unwrap_or(ideal.tick_us),
            max_period_us: self.max_period_us.unwrap_or(ideal.max_period_us),
            inexact: false,
            ..ideal
        };
        let mcu = self.mcu.clone().unwrap_or(board.mcu.clone());
        let clock_hz = self.clock_hz.or(usual_hz).unwrap_or(board.clock_hz);
        Ok(board.on(&mcu, clock_hz))
    }

    /// Its timer counts microseconds, and SysTick, for the strategy periodic, cycles.
    fn rp2040_prescaler(&self) -> Result<u16, Error> {
        if self.prescaler.is_some() {
            return Err(Error::bad_use(format!("the timers of the {} have no prescaler", rp2040::NAME))
                .remedy("leave --prescaler out"));
        }
        let hz = self.clock_hz.unwrap_or(rp2040::CLOCK_HZ);
        match self.strategy {
            Strategy::Periodic => Ok(1),
            Strategy::SingleShot | Strategy::Anchored => {
                Ok(u16::try_from(hz / 1_000_000).unwrap_or(u16::MAX).max(1))
            }
        }
    }
}

/// A period in whole microseconds, as the alarms take it.
///
/// # Errors
/// It is no such period.
pub fn whole_us(ns: i64) -> Result<u32, Error> {
    match u32::try_from(ns / 1_000) {
        Ok(us) if us > 0 && ns % 1_000 == 0 => Ok(us),
        _ => Err(Error::bad_use(format!(
            "{} is no period of an alarm: it must be whole microseconds, at most 4294 s",
            Exact(ns)
        ))),
    }
}
