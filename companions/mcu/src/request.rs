//! Request to measure one firmware: the user's own by its pins, or an alarm of the time services.

use std::path::{Path, PathBuf};

use jitterlab_chip::arm::rp2040;
use jitterlab_chip::log::FinalSleep;
use jitterlab_chip::{Pin, Stop};
use jitterlab_model::units::{Exact, ExactPeriod};
use jitterlab_model::{EdgeKind, Error};

use super::firmware::{Board, Compiler, Program};
use super::run::{McuPins, McuRun, PinTask};
use super::simulator::{Recording, Setup, SimulationLength, simulate};
use super::sweep::{self, Cell};
use super::{SerialText, StimulusSpec, Strategy};

const PRESCALER: u16 = 64;
const PERIOD_NS: i64 = 10_000_000;
/// Default simulated time of the user's own firmware, in ns.
const DURATION_NS: i64 = 10_000_000_000;

/// Source of the firmware.
#[derive(Debug, Clone)]
pub enum FirmwareSource {
    /// A program with one periodic alarm of the time services.
    OwnAlarm,
    /// The user's firmware, measured by its pins; an empty list means the pins that it drives.
    Elf(PathBuf, Vec<Pin>),
    /// The user's program in C++, built with the time services and measured by its pins.
    Source(PathBuf, Vec<Pin>),
}

/// A measurement of one firmware. A `None` is replaced by an ideal value, or by one from the firmware.
#[derive(Debug, Clone)]
pub struct McuRequest {
    pub subject: FirmwareSource,
    pub edge: EdgeKind,
    pub mcu: Option<String>,
    pub clock_hz: Option<u32>,
    /// The period: one for all pins, or one for each; an empty list takes the mean distance of the edges.
    pub periods: Vec<ExactPeriod>,
    pub stimuli: Vec<StimulusSpec>,
    pub serial: Option<SerialText>,
    pub duration_ns: Option<i64>,
    pub strategy: Strategy,
    /// Divider of the clock for timer 1; by default 64, or the divider of the RP2040's timers.
    pub prescaler: Option<u16>,
    pub tick_us: Option<u32>,
    /// The trait `MAX_PERIOD`, in us.
    pub max_period_us: Option<u32>,
    pub events: u32,
}

impl McuRequest {
    /// Builds the firmware if necessary, and simulates it.
    ///
    /// # Errors
    /// Something is not installed, the firmware does not build or run, or its pin shows too little.
    pub fn measure(&self) -> Result<McuPins, Error> {
        match &self.subject {
            FirmwareSource::Elf(elf, pins) => self.measure_pins(elf, elf, pins, None),
            FirmwareSource::Source(source, pins) => {
                let program = match self.periods.first() {
                    Some(_) => Program::with_events("periodic_alarm", self.period_us()?, self.events),
                    None => Program::EMPTY,
                };
                let board = self.board()?;
                // The compiler's output files are deleted with it.
                let compiler = Compiler::for_board(&board)?;
                let firmware = compiler.build_file(&source.display().to_string(), &program, &board)?;
                self.measure_pins(source, &firmware.elf, pins, Some(&board))
            }
            FirmwareSource::OwnAlarm => {
                let cell = Cell { board: self.board()?, period_us: self.period_us()?, events: self.events };
                let mut run = sweep::measure(&cell, &Compiler::for_board(&cell.board)?)?.run;
                run.info.count = Some(u64::from(self.events));
                Ok(run)
            }
        }
    }

    fn measure_pins(
        &self,
        named: &Path,
        elf: &Path,
        pins: &[Pin],
        board: Option<&Board>,
    ) -> Result<McuPins, Error> {
        let duration_ns = self.duration_ns.unwrap_or(DURATION_NS);
        let mut stimuli = Vec::new();
        for spec in &self.stimuli {
            stimuli.extend(spec.read_stimuli()?);
        }
        let setup = Setup {
            mcu: board.map(|board| board.mcu.clone()).or(self.mcu.clone()),
            clock_hz: board.map(|board| board.clock_hz).or(self.clock_hz),
            pins: pins.to_vec(),
            stimuli,
            serial: self.serial.clone(),
            length: SimulationLength::Time(duration_ns.unsigned_abs()),
            record_spans: true,
            ..Setup::new(elf, 0)
        };
        let (recording, shown) = match pins {
            [] => self.record_driven_pins(setup)?,
            _ => (simulate(&setup)?, (0..pins.len()).collect()),
        };
        let of_file =
            || named.file_stem().map_or("firmware".into(), |stem| stem.to_string_lossy().into_owned());
        // Firmware built by jitterlab ends by itself after its events; other firmware that falls silent has failed.
        let ends_itself = board.is_some() && recording.log.stop == Stop::Asleep(FinalSleep::Done);
        let mut runs = Vec::new();
        let mut silent = None;
        for (number, index) in shown.iter().enumerate() {
            let pin = recording.pins[*index];
            let pin_task = PinTask {
                name: if shown.len() == 1 { of_file() } else { pin.to_string() },
                pin: *index,
                edge: self.edge,
                period: self.pin_period(number, shown.len())?,
                due_until_ns: (!ends_itself).then_some(duration_ns),
                ..PinTask::default()
            };
            match McuRun::new(&recording, pin, &pin_task) {
                Ok(run) => runs.push(run),
                Err(error) => {
                    runs.push(McuRun::from_silent_pin(&recording, pin, &pin_task, duration_ns));
                    silent = silent.or(Some(error));
                }
            }
        }
        if let Some(error) = silent.filter(|_| runs.iter().all(|run| run.activations.is_empty())) {
            return Err(error);
        }
        let mut run = McuPins::new(runs).ok_or_else(|| recording.no_driven_pin_error())?;
        run.info.duration_ns = Some(duration_ns);
        Ok(run)
    }

    /// Records a firmware; returns the recording and the indices of the pins driven often enough to measure.
    fn record_driven_pins(&self, setup: Setup) -> Result<(Recording, Vec<usize>), Error> {
        /// Most edges of all pins together; if there are more, only the pins found by then are recorded, in
        /// another simulation.
        const EDGES: u64 = 1 << 21;
        let recording = simulate(&Setup { all_pins: true, max_edges: Some(EDGES), ..setup.clone() })?;
        let found = recording.driven_pins(self.edge);
        if recording.log.stop != Stop::Edges {
            return Ok((recording, found));
        }
        let pins: Vec<Pin> = found.into_iter().map(|index| recording.pins[index]).collect();
        let shown = (0..pins.len()).collect();
        Ok((simulate(&Setup { pins, ..setup })?, shown))
    }

    /// Requested period of a pin, of `pins` in all; `None` if none was requested.
    fn pin_period(&self, pin: usize, pins: usize) -> Result<Option<ExactPeriod>, Error> {
        match self.periods.as_slice() {
            [] => Ok(None),
            [all] => Ok(Some(*all)),
            each if each.len() == pins => Ok(Some(each[pin])),
            each => Err(Error::bad_use(format!("{} periods for {pins} pins", each.len()))
                .remedy("give one for all of them, or one for each")),
        }
    }

    fn period_us(&self) -> Result<u32, Error> {
        whole_us(self.periods.first().map_or(PERIOD_NS, |period| period.rounded_ns()))
    }

    /// Board with the requested traits; the others are set ideally for the period.
    fn board(&self) -> Result<Board, Error> {
        let mcu = self.mcu.as_deref().unwrap_or_default();
        let (prescaler, usual_hz) = match mcu == rp2040::NAME {
            true => (self.rp2040_prescaler()?, Some(rp2040::CLOCK_HZ)),
            false => (self.prescaler.unwrap_or(PRESCALER), None),
        };
        let ideal = Board::with_ideal_timing(self.strategy, prescaler, self.period_us()?);
        let board = Board {
            tick_us: self.tick_us.unwrap_or(ideal.tick_us),
            max_period_us: self.max_period_us.unwrap_or(ideal.max_period_us),
            inexact: false,
            ..ideal
        };
        let mcu = self.mcu.clone().unwrap_or(board.mcu.clone());
        let clock_hz = self.clock_hz.or(usual_hz).unwrap_or(board.clock_hz);
        Ok(board.with_chip(&mcu, clock_hz))
    }

    /// Divider on the RP2040: 1 for the strategy periodic, else the clock in MHz; an error if one was given.
    /// Its timer counts microseconds, its SysTick cycles.
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

/// Converts a period to whole microseconds, as the alarms take it.
pub fn whole_us(ns: i64) -> Result<u32, Error> {
    match u32::try_from(ns / 1_000) {
        Ok(us) if us > 0 && ns % 1_000 == 0 => Ok(us),
        _ => Err(Error::bad_use(format!(
            "{} is no period of an alarm: it must be whole microseconds, at most 4294 s",
            Exact(ns)
        ))),
    }
}
