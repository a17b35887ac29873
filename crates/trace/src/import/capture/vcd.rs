//! Value change dumps (IEEE 1364): simulators, sigrok, many logic analysers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use vcd::{Command, IdCode, Parser, SimulationCommand, TimescaleUnit, Value, VarType};

use super::super::{Hints, Import, ImportError, Importer, Input};
use super::threshold::{self, Samples};
use super::{Captured, Channel};
use crate::error::Unreadable;

pub(in crate::import) const IMPORTER: Importer = Importer {
    name: "value change dump (VCD)",
    recognise,
    parse: |input, hints| read(input, hints)?.import(hints),
};

fn recognise(input: &Input) -> bool {
    let begins = input.text.trim_start();
    const WORDS: [&str; 7] =
        ["$date", "$version", "$timescale", "$comment", "$scope", "$var", "$enddefinitions"];
    WORDS.iter().any(|word| begins.starts_with(word)) && input.text.contains("$enddefinitions")
}

/// Values of a variable.
enum VariableValues {
    Levels(Channel),
    Volts(String, Samples),
}

/// The dump as far as it is read.
struct Dump {
    version: Option<String>,
    scale: (u32, TimescaleUnit),
    /// The definitions are complete.
    defined: bool,
    places: HashMap<IdCode, usize>,
    variables: Vec<VariableValues>,
    now: u64,
    now_ns: i64,
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, ImportError> {
    // Command by command: scopes may be nested as deep as a file is long.
    let mut parser = Parser::new(input.text.as_bytes());
    let mut dump = Dump {
        version: None,
        scale: (1, TimescaleUnit::S),
        defined: false,
        places: HashMap::new(),
        variables: Vec::new(),
        now: 0,
        now_ns: 0,
    };
    while let Some(command) = parser.next() {
        let command = command.map_err(|error| damaged(&error))?;
        dump.apply_command(command)
            .map_err(|why| ImportError { line: usize::try_from(parser.line()).ok(), why })?;
    }
    let tool = dump.version.unwrap_or_else(|| "a value change dump".into());
    let mut import = Import::new(&tool, "capture");
    let threshold = hints.capture.threshold;
    let channels = dump.variables.into_iter().map(|variables| match variables {
        VariableValues::Levels(channel) => Channel { until: dump.now_ns, ..channel },
        VariableValues::Volts(name, samples) => {
            threshold::channel_of_voltage(&mut import, &name, &samples, threshold)
        }
    });
    let channels = channels.collect();
    Captured::from_edges(import, channels, hints)
}

impl Dump {
    fn apply_command(&mut self, command: Command) -> Result<(), Unreadable> {
        let Dump { places, variables, now_ns, .. } = self;
        match command {
            Command::Version(_) | Command::Timescale(..) | Command::VarDef(..) | Command::Enddefinitions
                if self.defined =>
            {
                return Err(Unreadable::SecondMeasurement);
            }
            Command::Version(version) => self.version = Some(version),
            Command::Timescale(scale, unit) => self.scale = (scale, unit),
            Command::VarDef(kind, bits, code, name, index) => {
                let index = index.map_or_else(String::new, |index| index.to_string());
                self.define(kind, bits, code, format!("{name}{index}"));
            }
            Command::Enddefinitions => self.defined = true,
            Command::Timestamp(at) if at < self.now => return Err(Unreadable::Backwards),
            Command::Timestamp(at) => {
                self.now = at;
                *now_ns = timestamp_ns(at, self.scale.0, self.scale.1).ok_or(Unreadable::Samples)?;
            }
            Command::ChangeScalar(id, value) => record_level(places, variables, id, *now_ns, value),
            Command::ChangeVector(id, bits) if bits.len() == 1 => {
                record_level(places, variables, id, *now_ns, bits.get(0).unwrap_or(Value::X));
            }
            Command::ChangeReal(id, volts) => {
                if let Some(VariableValues::Volts(_, samples)) =
                    places.get(&id).and_then(|at| variables.get_mut(*at))
                {
                    samples.push((*now_ns as f64, volts));
                }
            }
            // While a dump is off nothing is known.
            Command::Begin(SimulationCommand::Dumpoff) => variables.iter_mut().for_each(|variables| {
                if let VariableValues::Levels(channel) = variables {
                    channel.set_level(*now_ns, None);
                }
            }),
            _ => {}
        }
        Ok(())
    }

    /// Adds a variable of one bit, or a number; a second name of a known one is ignored.
    fn define(&mut self, kind: VarType, bits: u32, code: IdCode, name: String) {
        let variables = match kind {
            VarType::Real => VariableValues::Volts(name, Vec::new()),
            _ if bits == 1 => VariableValues::Levels(Channel::new(name)),
            _ => return,
        };
        if let Entry::Vacant(place) = self.places.entry(code) {
            place.insert(self.variables.len());
            self.variables.push(variables);
        }
    }
}

fn damaged(error: &std::io::Error) -> ImportError {
    let line = error.get_ref().and_then(|inner| inner.downcast_ref::<vcd::ParseError>());
    let line = line.and_then(|error| usize::try_from(error.line()).ok());
    ImportError { line, why: Unreadable::Damaged { what: error.to_string() } }
}

fn record_level(
    places: &HashMap<IdCode, usize>,
    variables: &mut [VariableValues],
    id: IdCode,
    at: i64,
    value: Value,
) {
    if let Some(VariableValues::Levels(channel)) = places.get(&id).and_then(|place| variables.get_mut(*place))
    {
        let level = match value {
            Value::V0 => Some(false),
            Value::V1 => Some(true),
            Value::X | Value::Z => None,
        };
        channel.set_level(at, level);
    }
}

/// A time as nanoseconds, rounded; `None` beyond 292 years.
fn timestamp_ns(at: u64, scale: u32, unit: TimescaleUnit) -> Option<i64> {
    let of_a_second = u128::from(unit.divisor());
    let scaled = u128::from(at) * u128::from(scale) * 1_000_000_000;
    i64::try_from((scaled + of_a_second / 2) / of_a_second).ok().filter(|ns| *ns < i64::MAX / 4)
}
