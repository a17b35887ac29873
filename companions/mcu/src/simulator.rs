//! A firmware on its simulated chip.

use std::path::{Path, PathBuf};

use jitterlab_chip::arm::rp2040;
use jitterlab_chip::avr::chips;
use jitterlab_chip::{Chip, Log, Pin, Stimulus, Stop};
use jitterlab_model::firmware::{FirmwareReport, Place};
use jitterlab_model::{Error, Warning};

use super::error::{Trouble, asleep};
use super::image::{self, Loaded};
use super::names::Names;
use super::{error, report};

/// What is simulated.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The firmware.
    pub firmware: PathBuf,
    /// The chip; `None` if the firmware names it itself.
    pub mcu: Option<String>,
    /// Its clock; `None` if the firmware names it itself.
    pub clock_hz: Option<u32>,
    /// The pins whose edges are recorded, as [`jitterlab_chip::Edge::pin`] counts them.
    pub pins: Vec<Pin>,
    /// What comes to pins from outside.
    pub stimuli: Vec<Stimulus>,
    /// Simulated time at most.
    pub length: Length,
    /// Edges at most.
    pub edges: Option<u64>,
    /// Whether each interrupt's entry is recorded with the address it interrupts.
    pub entries: bool,
    /// Bytes written to data memory before the first instruction: address and value.
    pub pokes: Vec<(u16, u8)>,
}

/// How long to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Cycles of the chip's oscillator.
    Cycles(u64),
    /// Nanoseconds.
    Time(u64),
}

impl Setup {
    /// A firmware on its chip for a number of cycles.
    pub fn new(firmware: &Path, cycles: u64) -> Self {
        Setup {
            firmware: firmware.into(),
            mcu: None,
            clock_hz: None,
            pins: Vec::new(),
            stimuli: Vec::new(),
            length: Length::Cycles(cycles),
            edges: None,
            entries: false,
            pokes: Vec::new(),
        }
    }
}

/// What happened.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The chip.
    pub mcu: String,
    /// Its clock.
    pub clock_hz: u32,
    /// What it did.
    pub log: Log,
    /// The same for a person, but for the activations.
    pub report: FirmwareReport,
    /// What a person has to know about it.
    pub warnings: Vec<Warning>,
    /// Where the program was at the end.
    pub end: Place,
}

impl Recording {
    /// A cycle's time in nanoseconds since reset, rounded to the nearest.
    pub fn ns(&self, cycle: u64) -> i64 {
        report::nanoseconds(cycle, self.clock_hz)
    }

    /// Its pin showed too little.
    pub(super) fn silent(&self, pin: &str, edges: usize) -> Error {
        Error::not_measured(format!(
            "pin {pin} changed {edges} times in {:.3} s of simulated time: too little to \
             measure",
            self.ns(self.log.cycles) as f64 / 1e9
        ))
        .remedy(format!(
            "is it the right pin, and is the time long enough? At the end the program was \
             at {}{}",
            error::At(Box::new(self.end.clone())),
            asleep(self.log.asleep_share())
        ))
        .case(Trouble::Silent(self.warnings.clone()))
    }
}

/// Reads a firmware and simulates it. Several threads may at once.
///
/// # Errors
/// A firmware, chip or pin that cannot be simulated; [`Trouble::Crashed`] for firmware that does what no processor can.
pub fn simulate(setup: &Setup) -> Result<Recording, Error> {
    let loaded = image::load(&setup.firmware)?;
    let (chip, clock_hz) = board(setup, &loaded)?;
    let size = loaded.image.flash_end();
    if matches!(chip, Chip::Rp2040) != (rp2040::holds(&loaded.image) && !loaded.is_avr) {
        let message = error::elsewhere(chip.name());
        return Err(Error::damaged(format!("{} cannot be simulated: {message}", setup.firmware.display())));
    }
    if matches!(chip, Chip::Avr(_)) && size > chip.flash() {
        let takes = error::Takes::Flash(size);
        return Err(Error::not_measured(format!(
            "the firmware does not fit: it takes {takes}, {} has {} bytes",
            chip.name(),
            chip.flash()
        )));
    }
    let driven: Vec<Pin> = setup.stimuli.iter().map(Stimulus::pin).collect();
    for pin in setup.pins.iter().chain(&driven) {
        if !chip.has(*pin) {
            return Err(Error::bad_use(format!("{} has no pin {}", chip.name(), *pin)));
        }
    }
    let cycles = match setup.length {
        Length::Cycles(cycles) => cycles,
        Length::Time(ns) => (u128::from(ns) * u128::from(clock_hz) / 1_000_000_000) as u64,
    };
    let Loaded { image, elf, size, .. } = loaded;
    let chip_setup = jitterlab_chip::Setup {
        image,
        clock_hz,
        watch: setup.pins.clone(),
        stimuli: setup.stimuli.clone(),
        cycles,
        edges: setup.edges,
        entries: setup.entries,
        pokes: setup.pokes.clone(),
    };
    let log = chip.run(&chip_setup);
    let names = Names::new(elf.as_deref(), |number| chip.vector_name(number));
    if let Stop::Crashed { fault, address, from } = log.stop {
        let seconds = report::nanoseconds(log.cycles, clock_hz) as f64 / 1e9;
        let place = |address| error::At(Box::new(names.place(address)));
        return Err(Error::not_measured(format!(
            "the firmware crashed after {seconds:.6} s: at {}, reached from {}, {}",
            place(address),
            place(from),
            error::Fault(fault)
        ))
        .case(Trouble::Crashed));
    }
    let report = report::report(&log, chip.name(), clock_hz, size, &names);
    let warnings = report::warnings(&log, clock_hz, chip, &names);
    let end = names.place(log.address);
    Ok(Recording { mcu: chip.name().into(), clock_hz, log, report, warnings, end })
}

/// The chip and its clock: as asked for, else as the firmware says.
fn board(setup: &Setup, loaded: &Loaded) -> Result<(Chip, u32), Error> {
    let name = setup.mcu.as_ref().or(loaded.mcu.as_ref()).ok_or_else(|| {
        Error::bad_use(format!("{} does not name its chip", setup.firmware.display()))
            .remedy("say it, such as --mcu atmega328p or --mcu rp2040")
    })?;
    let chip = Chip::named(name).ok_or_else(|| unknown(name))?;
    let told = setup.clock_hz.or(loaded.clock_hz).or_else(|| match chip {
        // Firmware sets the clock itself.
        Chip::Rp2040 if rp2040::holds(&loaded.image) => {
            Some(rp2040::clock_of(&loaded.image).unwrap_or(rp2040::CLOCK_HZ))
        }
        Chip::Rp2040 => Some(rp2040::CLOCK_HZ),
        Chip::Avr(_) => None,
    });
    Ok((
        chip,
        told.ok_or_else(|| {
            Error::bad_use(format!("{} does not tell its clock's frequency", setup.firmware.display()))
                .remedy("say it, such as --clock 16MHz")
        })?,
    ))
}

fn unknown(name: &str) -> Error {
    Error::bad_use(format!(
        "the chip {name} is not simulated; these are: {}",
        Chip::names().collect::<Vec<_>>().join(", ")
    ))
}

/// A chip with an AVR by its name.
///
/// # Errors
/// There is none of that name, or it has another processor.
pub(super) fn avr_chip(name: &str) -> Result<&'static chips::Chip, Error> {
    match Chip::named(name) {
        Some(Chip::Avr(chip)) => Ok(chip),
        Some(Chip::Rp2040) => Err(Error::bad_use(format!(
            "this is measured on chips with an AVR only, such as atmega328p; on the {name}, \
             `jitterlab mcu run` measures one alarm at a time"
        ))),
        None => Err(unknown(name)),
    }
}
