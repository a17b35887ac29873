//! Simulation of a firmware on its chip.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jitterlab_chip::arm::rp2040;
use jitterlab_chip::avr::chips;
use jitterlab_chip::{Blocker, Chip, Edge, Log, Pin, Stimulus, Stop};
use jitterlab_model::firmware::{CodeLocation, FirmwareFinding, FirmwareReport, LateStartCause};
use jitterlab_model::{EdgeKind, Error, Warning};

use super::disturbance::DelaySource;
use super::error::{FailureCase, sleeping_hint};
use super::image::{self, FirmwareFile};
use super::stimulus::SerialText;
use super::symbols::Symbols;
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
    pub stimuli: Vec<Stimulus>,
    pub serial: Option<SerialText>,
    pub length: SimulationLength,
    pub max_edges: Option<u64>,
    /// True if each interrupt's entry is recorded, with the interrupted address.
    pub record_entries: bool,
    pub record_spans: bool,
    /// Bytes written to data memory before the first instruction: address and value.
    pub initial_bytes: Vec<(u16, u8)>,
}

/// Length of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimulationLength {
    Cycles(u64),
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
            length: SimulationLength::Cycles(cycles),
            max_edges: None,
            record_entries: false,
            record_spans: false,
            initial_bytes: Vec::new(),
        }
    }
}

/// Result of a simulation.
#[derive(Debug, Clone)]
pub struct Recording {
    pub mcu: String,
    pub clock_hz: u32,
    pub log: Log,
    /// Report for the user, without the activations.
    pub report: FirmwareReport,
    pub warnings: Vec<Warning>,
    pub end: CodeLocation,
    pub pins: Vec<Pin>,
    /// Locations of the recorded handlers, and of the instructions that turn interrupts off.
    pub places: BTreeMap<Blocker, CodeLocation>,
}

impl Recording {
    /// Time of a cycle in nanoseconds since reset, rounded to the nearest.
    pub fn ns(&self, cycle: u64) -> i64 {
        report::cycle_to_ns(cycle, self.clock_hz)
    }

    /// Label of a pin on the board of the chip, if it has one.
    pub(super) fn board_label(&self, pin: Pin) -> Option<String> {
        boards::arduino_board(Chip::by_name(&self.mcu)?)?.pin_label(pin)
    }

    pub(super) fn vector_name(&self, number: u8) -> Option<String> {
        self.log.vectors.iter().find(|of| of.number == number).map(|of| of.name.clone())
    }

    /// Cause of late starts with its location.
    pub(super) fn late_start_cause(&self, blame: &DelaySource) -> LateStartCause {
        let vector = match blame.blocker {
            Blocker::Handler(number) => self.vector_name(number),
            Blocker::Lock(_) => None,
        };
        let place = self.places.get(&blame.blocker).cloned();
        let place = place.unwrap_or(CodeLocation { address: 0, function: None, line: None });
        LateStartCause { vector, place, starts: blame.starts, worst_cycles: blame.worst }
    }

    /// Indices of the pins that the firmware moves often enough to be measured, without those of serial output.
    pub(super) fn driven_pins(&self, edge: EdgeKind) -> Vec<usize> {
        let mut begins = vec![0; self.pins.len()];
        for change in self.log.edges.iter().filter(|change| edge.begins_activation(change.high)) {
            begins[change.pin] += 1;
        }
        (0..self.pins.len())
            .filter(|index| begins[*index] >= 3 && !self.is_serial_output(self.pins[*index]))
            .collect()
    }

    /// True if a serial port sends by a pin.
    fn is_serial_output(&self, pin: Pin) -> bool {
        !self.log.serial.is_empty() && Chip::by_name(&self.mcu).is_some_and(|chip| chip.is_transmit_pin(pin))
    }

    pub(super) fn no_driven_pin_error(&self) -> Error {
        let counts = |edge: &&Edge| !self.is_serial_output(self.pins[edge.pin]);
        let mut moved: Vec<String> =
            self.log.edges.iter().filter(counts).map(|edge| self.pins[edge.pin].to_string()).collect();
        let edges = moved.len();
        moved.sort();
        moved.dedup();
        let named = if moved.is_empty() { String::new() } else { format!(" ({})", moved.join(", ")) };
        let but = if self.log.serial.is_empty() { "" } else { " but serial ports'" };
        self.too_few_edges_error(&format!("all pins{but} together{named}"), edges)
    }

    pub(super) fn silent_pin_error(&self, pin: &str, edges: usize) -> Error {
        self.too_few_edges_error(&format!("pin {pin}"), edges)
    }

    fn too_few_edges_error(&self, what: &str, edges: usize) -> Error {
        Error::not_measured(format!(
            "{what} changed {edges} times in {:.3} s of simulated time: too little to \
             measure",
            self.ns(self.log.cycles) as f64 / 1e9
        ))
        .remedy(format!(
            "is it the right pin, and is the time long enough? At the end the program was \
             at {}{}",
            error::LocationText(Box::new(self.end.clone())),
            sleeping_hint(self.log.asleep_share())
        ))
        .case(FailureCase::Silent(self.warnings.clone()))
    }
}

/// Reads a firmware and simulates it. Several threads may do so at the same time.
///
/// # Errors
/// A firmware, chip or pin that cannot be simulated; [`FailureCase::Crashed`] for firmware that does what no processor can.
pub fn simulate(setup: &Setup) -> Result<Recording, Error> {
    let loaded = image::read_firmware(&setup.firmware)?;
    let (chip, clock_hz, assumed) = chip_and_clock(setup, &loaded)?;
    let size = loaded.image.flash_end();
    if matches!(chip, Chip::Rp2040) != (rp2040::is_rp2040_image(&loaded.image) && !loaded.is_avr) {
        let message = error::outside_memories(chip.name());
        return Err(Error::damaged(format!("{} cannot be simulated: {message}", setup.firmware.display())));
    }
    if matches!(chip, Chip::Avr(_)) && size > chip.flash_bytes() {
        let takes = error::MemoryNeed::Flash(size);
        return Err(Error::not_measured(format!(
            "the firmware does not fit: it takes {takes}, {} has {} bytes",
            chip.name(),
            chip.flash_bytes()
        )));
    }
    let on_board =
        |pin: Pin| boards::arduino_board(chip).and_then(|board| board.chip_pin(chip, pin)).unwrap_or(pin);
    let stimuli: Vec<Stimulus> =
        setup.stimuli.iter().map(|one| one.clone().with_pin(on_board(one.pin()))).collect();
    let serial = setup.serial.as_ref().map(|text| {
        let pin = chip.receive_pin().ok_or_else(|| {
            Error::bad_use(format!("a serial port of the {} that receives is not simulated", chip.name()))
                .remedy("leave --serial out")
        })?;
        Ok::<_, Error>(text.to_stimulus(pin))
    });
    let stimuli: Vec<Stimulus> = stimuli.into_iter().chain(serial.transpose()?).collect();
    let driven: Vec<Pin> = stimuli.iter().map(Stimulus::pin).collect();
    let mut pins: Vec<Pin> = setup.pins.iter().copied().map(on_board).collect();
    for pin in pins.iter().chain(&driven) {
        if !chip.has_pin(*pin) {
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
        SimulationLength::Cycles(cycles) => cycles,
        SimulationLength::Time(ns) => (u128::from(ns) * u128::from(clock_hz) / 1_000_000_000) as u64,
    };
    let FirmwareFile { image, elf, size, .. } = loaded;
    let chip_setup = jitterlab_chip::Setup {
        image,
        clock_hz,
        recorded_pins: pins.clone(),
        stimuli,
        max_cycles: cycles,
        max_edges: setup.max_edges,
        record_entries: setup.record_entries,
        record_spans: setup.record_spans,
        initial_bytes: setup.initial_bytes.clone(),
    };
    let log = chip.run(&chip_setup);
    let names = Symbols::new(elf.as_deref(), |number| chip.vector_name(number));
    if let Stop::Crashed { fault, address, from } = log.stop {
        let seconds = report::cycle_to_ns(log.cycles, clock_hz) as f64 / 1e9;
        let place = |address| error::LocationText(Box::new(names.location(address)));
        return Err(Error::not_measured(format!(
            "the firmware crashed after {seconds:.6} s: at {}, reached from {}, {}",
            place(address),
            place(from),
            error::FaultText(fault)
        ))
        .case(FailureCase::Crashed));
    }
    let report = report::firmware_report(&log, chip.name(), clock_hz, size, &names);
    let mut warnings = report::warnings(&log, clock_hz, chip, &names);
    if assumed {
        warnings.push(Warning::Firmware(FirmwareFinding::ClockAssumed { hz: clock_hz }));
    }
    let (end, places) = (names.location(log.address), blocker_locations(&log, &names));
    Ok(Recording { mcu: chip.name().into(), clock_hz, log, report, warnings, end, pins, places })
}

/// Locations of handlers, and of instructions that turn interrupts off.
fn blocker_locations(log: &Log, names: &Symbols<'_>) -> BTreeMap<Blocker, CodeLocation> {
    let handlers = log.vectors.iter().map(|of| (Blocker::Handler(of.number), names.location(of.handler)));
    let locks: BTreeSet<Blocker> = log.spans.iter().map(|span| span.blocker).collect();
    let locks = locks.into_iter().filter_map(|blocker| match blocker {
        Blocker::Lock(address) => Some((blocker, names.location(address))),
        Blocker::Handler(_) => None,
    });
    handlers.chain(locks).collect()
}

/// Chip, its clock in Hz, and true if the clock is only assumed to be an Arduino's.
/// A requested one comes first, then that of the firmware.
fn chip_and_clock(setup: &Setup, loaded: &FirmwareFile) -> Result<(Chip, u32, bool), Error> {
    let name = setup.mcu.as_ref().or(loaded.mcu.as_ref()).ok_or_else(|| {
        Error::bad_use(format!("{} does not name its chip", setup.firmware.display()))
            .remedy("say it, such as --mcu atmega328p or --mcu rp2040")
    })?;
    let chip = Chip::by_name(name).ok_or_else(|| unknown_chip_error(name))?;
    let known = setup.clock_hz.or(loaded.clock_hz).or_else(|| match chip {
        // Its firmware sets the clock itself.
        Chip::Rp2040 if rp2040::is_rp2040_image(&loaded.image) => {
            Some(rp2040::clock_set_by_firmware(&loaded.image).unwrap_or(rp2040::CLOCK_HZ))
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

fn unknown_chip_error(name: &str) -> Error {
    Error::bad_use(format!(
        "the chip {name} is not simulated; these are: {}",
        Chip::names().collect::<Vec<_>>().join(", ")
    ))
}

pub(super) fn avr_chip(name: &str) -> Result<&'static chips::Chip, Error> {
    match Chip::by_name(name) {
        Some(Chip::Avr(chip)) => Ok(chip),
        Some(Chip::Rp2040) => Err(Error::bad_use(format!(
            "this is measured on chips with an AVR only, such as atmega328p; on the {name}, \
             `jitterlab mcu run` measures one alarm at a time"
        ))),
        None => Err(unknown_chip_error(name)),
    }
}
