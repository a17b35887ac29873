//! Simulation of a firmware on its chip.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jitterlab_chip::arm::rp2040;
use jitterlab_chip::avr::chips;
use jitterlab_chip::{Chip, Edge, Keeper, Log, Pin, Stimulus, Stop};
use jitterlab_model::firmware::{CodeLocation, Disturbance, Finding, FirmwareReport};
use jitterlab_model::{EdgeKind, Error, Warning};

use super::disturbance::DelaySource;
use super::error::{Trouble, asleep};
use super::image::{self, Loaded};
use super::names::Names;
use super::stimulus::SerialText;
use super::{boards, error, report};

/// Input of a simulation.
#[derive(Debug, Clone)]
pub struct Setup {
    pub firmware: PathBuf,
    /// The chip; `None` if the firmware names it.
    pub mcu: Option<String>,
    /// Its clock in Hz; `None` if the firmware names it.
    pub clock_hz: Option<u32>,
    /// Pins whose edges are recorded; [`jitterlab_chip::Edge::pin`] is an index into them. On an Arduino's
    /// chip they may also be numbers of the board.
    pub pins: Vec<Pin>,
    /// True if all pins of the chip are recorded, except those with levels from outside.
    pub all_pins: bool,
    /// Levels at pins from outside.
    pub stimuli: Vec<Stimulus>,
    /// Text received by the first serial port.
    pub serial: Option<SerialText>,
    /// Largest simulated time.
    pub length: Length,
    /// Largest number of edges.
    pub edges: Option<u64>,
    /// True if each interrupt's entry is recorded, with the interrupted address.
    pub entries: bool,
    /// True if each handler and each lock is recorded.
    pub spans: bool,
    /// Bytes written to data memory before the first instruction: address and value.
    pub pokes: Vec<(u16, u8)>,
}

/// Length of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Cycles of the chip's oscillator.
    Cycles(u64),
    /// Nanoseconds.
    Time(u64),
}

impl Setup {
    /// Creates a setup for a firmware on its chip, for a number of cycles.
    pub fn new(firmware: &Path, cycles: u64) -> Self {
        Setup {
            firmware: firmware.into(),
            mcu: None,
            clock_hz: None,
            pins: Vec::new(),
            all_pins: false,
            stimuli: Vec::new(),
            serial: None,
            length: Length::Cycles(cycles),
            edges: None,
            entries: false,
            spans: false,
            pokes: Vec::new(),
        }
    }
}

/// Result of a simulation.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The chip.
    pub mcu: String,
    pub clock_hz: u32,
    /// Log of the chip.
    pub log: Log,
    /// Report for the user, without the activations.
    pub report: FirmwareReport,
    /// Warnings about it.
    pub warnings: Vec<Warning>,
    /// Location of the program at the end.
    pub end: CodeLocation,
    /// The pins whose edges were recorded.
    pub pins: Vec<Pin>,
    /// Locations of the recorded handlers, and of the instructions that turn interrupts off.
    pub places: BTreeMap<Keeper, CodeLocation>,
}

impl Recording {
    /// Returns a cycle's time in nanoseconds since reset, rounded to the nearest.
    pub fn ns(&self, cycle: u64) -> i64 {
        report::nanoseconds(cycle, self.clock_hz)
    }

    /// Returns a pin's name on the board of the chip.
    pub(super) fn on_board(&self, pin: Pin) -> Option<String> {
        boards::arduino_board(Chip::named(&self.mcu)?)?.number(pin)
    }

    /// Returns the name of a vector whose handler ran.
    pub(super) fn vector(&self, number: u8) -> Option<String> {
        self.log.vectors.iter().find(|of| of.number == number).map(|of| of.name.clone())
    }

    /// Describes the starts that a handler or lock made late, with its location.
    pub(super) fn disturbance(&self, blame: &DelaySource) -> Disturbance {
        let vector = match blame.keeper {
            Keeper::Handler(number) => self.vector(number),
            Keeper::Lock(_) => None,
        };
        let place = self.places.get(&blame.keeper).cloned();
        let place = place.unwrap_or(CodeLocation { address: 0, function: None, line: None });
        Disturbance { vector, place, starts: blame.starts, worst_cycles: blame.worst }
    }

    /// Returns the indices of the pins that the firmware moves often enough to be measured, except those of
    /// serial output.
    pub(super) fn driven(&self, edge: EdgeKind) -> Vec<usize> {
        let mut begins = vec![0; self.pins.len()];
        for change in self.log.edges.iter().filter(|change| edge.begins(change.high)) {
            begins[change.pin] += 1;
        }
        (0..self.pins.len())
            .filter(|index| begins[*index] >= 3 && !self.sends_by(self.pins[*index]))
            .collect()
    }

    /// True if a serial port sends by a pin.
    fn sends_by(&self, pin: Pin) -> bool {
        !self.log.serial.is_empty() && Chip::named(&self.mcu).is_some_and(|chip| chip.sends_by(pin))
    }

    /// Returns the error that no pin showed enough.
    pub(super) fn silent_everywhere(&self) -> Error {
        let counts = |edge: &&Edge| !self.sends_by(self.pins[edge.pin]);
        let mut moved: Vec<String> =
            self.log.edges.iter().filter(counts).map(|edge| self.pins[edge.pin].to_string()).collect();
        let edges = moved.len();
        moved.sort();
        moved.dedup();
        let named = if moved.is_empty() { String::new() } else { format!(" ({})", moved.join(", ")) };
        let but = if self.log.serial.is_empty() { "" } else { " but serial ports'" };
        self.little(&format!("all pins{but} together{named}"), edges)
    }

    /// Returns the error that a pin showed too little.
    pub(super) fn silent(&self, pin: &str, edges: usize) -> Error {
        self.little(&format!("pin {pin}"), edges)
    }

    fn little(&self, what: &str, edges: usize) -> Error {
        Error::not_measured(format!(
            "{what} changed {edges} times in {:.3} s of simulated time: too little to \
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

/// Reads a firmware and simulates it. Several threads may do so at the same time.
///
/// # Errors
/// A firmware, chip or pin that cannot be simulated; [`Trouble::Crashed`] for firmware that does what no processor can.
pub fn simulate(setup: &Setup) -> Result<Recording, Error> {
    let loaded = image::load(&setup.firmware)?;
    let (chip, clock_hz, assumed) = board(setup, &loaded)?;
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
    let on_board =
        |pin: Pin| boards::arduino_board(chip).and_then(|board| board.pin(chip, pin)).unwrap_or(pin);
    let stimuli: Vec<Stimulus> =
        setup.stimuli.iter().map(|one| one.clone().at(on_board(one.pin()))).collect();
    let serial = setup.serial.as_ref().map(|text| {
        let pin = chip.receives_by().ok_or_else(|| {
            Error::bad_use(format!("a serial port of the {} that receives is not simulated", chip.name()))
                .remedy("leave --serial out")
        })?;
        Ok::<_, Error>(text.at(pin))
    });
    let stimuli: Vec<Stimulus> = stimuli.into_iter().chain(serial.transpose()?).collect();
    let driven: Vec<Pin> = stimuli.iter().map(Stimulus::pin).collect();
    let mut pins: Vec<Pin> = setup.pins.iter().copied().map(on_board).collect();
    for pin in pins.iter().chain(&driven) {
        if !chip.has(*pin) {
            let error = Error::bad_use(format!("{} has no pin {}", chip.name(), *pin));
            return Err(
                match pin.to_string().strip_prefix('D').filter(|_| boards::arduino_board(chip).is_some()) {
                    Some(number) => error.remedy(format!("pin {number} of an Arduino is --pin {number}")),
                    None => error,
                },
            );
        }
    }
    if setup.all_pins {
        pins.extend(chip.pins().filter(|pin| !driven.contains(pin)));
    }
    let cycles = match setup.length {
        Length::Cycles(cycles) => cycles,
        Length::Time(ns) => (u128::from(ns) * u128::from(clock_hz) / 1_000_000_000) as u64,
    };
    let Loaded { image, elf, size, .. } = loaded;
    let chip_setup = jitterlab_chip::Setup {
        image,
        clock_hz,
        watch: pins.clone(),
        stimuli,
        cycles,
        edges: setup.edges,
        entries: setup.entries,
        spans: setup.spans,
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
    let mut warnings = report::warnings(&log, clock_hz, chip, &names);
    if assumed {
        warnings.push(Warning::Firmware(Finding::ClockAssumed { hz: clock_hz }));
    }
    let (end, places) = (names.place(log.address), places(&log, &names));
    Ok(Recording { mcu: chip.name().into(), clock_hz, log, report, warnings, end, pins, places })
}

/// Returns the locations of handlers, and of instructions that turn interrupts off.
fn places(log: &Log, names: &Names<'_>) -> BTreeMap<Keeper, CodeLocation> {
    let handlers = log.vectors.iter().map(|of| (Keeper::Handler(of.number), names.place(of.handler)));
    let locks: BTreeSet<Keeper> = log.spans.iter().map(|span| span.keeper).collect();
    let locks = locks.into_iter().filter_map(|keeper| match keeper {
        Keeper::Lock(address) => Some((keeper, names.place(address))),
        Keeper::Handler(_) => None,
    });
    handlers.chain(locks).collect()
}

/// Returns the chip and its clock, as requested, else from the firmware; and true if the clock is assumed to
/// be an Arduino's, without both.
fn board(setup: &Setup, loaded: &Loaded) -> Result<(Chip, u32, bool), Error> {
    let name = setup.mcu.as_ref().or(loaded.mcu.as_ref()).ok_or_else(|| {
        Error::bad_use(format!("{} does not name its chip", setup.firmware.display()))
            .remedy("say it, such as --mcu atmega328p or --mcu rp2040")
    })?;
    let chip = Chip::named(name).ok_or_else(|| unknown(name))?;
    let known = setup.clock_hz.or(loaded.clock_hz).or_else(|| match chip {
        // Its firmware sets the clock itself.
        Chip::Rp2040 if rp2040::holds(&loaded.image) => {
            Some(rp2040::clock_of(&loaded.image).unwrap_or(rp2040::CLOCK_HZ))
        }
        Chip::Rp2040 => Some(rp2040::CLOCK_HZ),
        Chip::Avr(_) => None,
    });
    let hz = known.or(boards::arduino_board(chip).map(|_| boards::CLOCK_HZ)).ok_or_else(|| {
        Error::bad_use(format!("{} does not tell its clock's frequency", setup.firmware.display()))
            .remedy("say it, such as --clock 16MHz")
    })?;
    Ok((chip, hz, known.is_none()))
}

fn unknown(name: &str) -> Error {
    Error::bad_use(format!(
        "the chip {name} is not simulated; these are: {}",
        Chip::names().collect::<Vec<_>>().join(", ")
    ))
}

/// Returns a chip with an AVR by its name.
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
