//! One firmware to be measured: somebody's own by one of its pins, or an alarm of the time services.

use std::path::{Path, PathBuf};

use jitterlab_chip::Pin;
use jitterlab_model::EdgeKind;
use jitterlab_model::units::Exact;

use super::firmware::{Board, Compiler, Program};
use super::run::{McuRun, Reading};
use super::simulator::{Length, Setup, simulate};
use super::sweep::{self, Cell};
use super::{McuError, Strategy};

/// The period of an alarm where none is asked for, in ns.
const PERIOD_NS: i64 = 10_000_000;
/// The simulated time of somebody's own firmware where none is asked for, in ns.
const DURATION_NS: i64 = 10_000_000_000;

/// What the firmware is made of.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A program with one periodic alarm of the time services.
    OwnAlarm,
    /// Somebody's firmware, measured by one of its pins.
    Elf(PathBuf, Pin),
    /// Somebody's program in C++, built with the time services and measured by one of its pins.
    Source(PathBuf, Pin),
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
    /// The period, in ns.
    pub period_ns: Option<i64>,
    /// Simulated time at most, in ns, of somebody's own firmware.
    pub duration_ns: Option<i64>,
    /// How the time services use the timer.
    pub strategy: Strategy,
    /// Divides the clock for timer 1.
    pub prescaler: u16,
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
    pub fn measure(&self) -> Result<McuRun, McuError> {
        match &self.subject {
            Subject::Elf(elf, pin) => self.by_pin(elf, elf, *pin, None),
            Subject::Source(source, pin) => {
                let program = match self.period_ns {
                    Some(_) => Program::PeriodicAlarm { period_us: self.period_us()?, events: self.events },
                    None => Program::Empty,
                };
                let board = self.board()?;
                // What it builds goes with it.
                let compiler = Compiler::new()?;
                let firmware = compiler.build_file(&source.display().to_string(), &program, &board)?;
                self.by_pin(source, &firmware.elf, *pin, Some(&board))
            }
            Subject::OwnAlarm => {
                let cell = Cell { board: self.board()?, period_us: self.period_us()?, events: self.events };
                let mut run = sweep::measure(&cell, &Compiler::new()?)?.run;
                run.info.count = Some(u64::from(self.events));
                Ok(run)
            }
        }
    }

    fn by_pin(&self, named: &Path, elf: &Path, pin: Pin, board: Option<&Board>) -> Result<McuRun, McuError> {
        let duration_ns = self.duration_ns.unwrap_or(DURATION_NS);
        let recording = simulate(&Setup {
            mcu: board.map(|board| board.mcu.clone()).or(self.mcu.clone()),
            clock_hz: board.map(|board| board.clock_hz).or(self.clock_hz),
            pins: vec![pin],
            length: Length::Time(duration_ns.unsigned_abs()),
            ..Setup::new(elf, 0)
        })?;
        let name = named.file_stem().map_or("firmware".into(), |stem| stem.to_string_lossy().into_owned());
        let reading = Reading { name, edge: self.edge, period_ns: self.period_ns, ..Reading::default() };
        let mut run = McuRun::new(&recording, pin, &reading)?;
        run.info.duration_ns = Some(duration_ns);
        Ok(run)
    }

    fn period_us(&self) -> Result<u32, McuError> {
        whole_us(self.period_ns.unwrap_or(PERIOD_NS))
    }

    /// The traits asked for: what is not asked for is set ideally for the period.
    fn board(&self) -> Result<Board, McuError> {
        let ideal = Board::ideal(self.strategy, self.prescaler, self.period_us()?);
        let board = Board {
            tick_us: self.tick_us.unwrap_or(ideal.tick_us),
            max_period_us: self.max_period_us.unwrap_or(ideal.max_period_us),
            inexact: false,
            ..ideal
        };
        let mcu = self.mcu.clone().unwrap_or(board.mcu.clone());
        let clock_hz = self.clock_hz.unwrap_or(board.clock_hz);
        Ok(board.on(&mcu, clock_hz))
    }
}

/// A period in whole microseconds, as the alarms take it.
///
/// # Errors
/// It is no such period.
pub fn whole_us(ns: i64) -> Result<u32, McuError> {
    match u32::try_from(ns / 1_000) {
        Ok(us) if us > 0 && ns % 1_000 == 0 => Ok(us),
        _ => Err(McuError::NotAPeriod(Exact(ns))),
    }
}
