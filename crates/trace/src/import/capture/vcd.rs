//! Value change dumps (IEEE 1364): simulators, sigrok, many logic analysers.

use std::collections::HashMap;

use vcd::{Command, IdCode, Parser, ScopeItem, SimulationCommand, TimescaleUnit, Value, VarType};

use super::super::{Hints, Import, Input, Mistake, Peer};
use super::threshold::{self, Samples};
use super::{Captured, Channel};
use crate::error::Unreadable;

pub(in crate::import) const PEER: Peer = Peer {
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

/// What a variable showed.
enum Seen {
    Levels(Channel),
    Volts(String, Samples),
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, Mistake> {
    let mut parser = Parser::new(input.text.as_bytes());
    let header = parser.parse_header().map_err(|error| damaged(&error))?;
    let (scale, unit) = header.timescale.unwrap_or((1, TimescaleUnit::S));
    let mut places: HashMap<IdCode, usize> = HashMap::new();
    let mut seen: Vec<Seen> = Vec::new();
    variables(&header.items, &mut places, &mut seen);
    let mut now = 0u64;
    let mut now_ns = 0i64;
    while let Some(command) = parser.next() {
        let line = usize::try_from(parser.line()).ok();
        let mistake = |why| Mistake { line, why };
        match command.map_err(|error| damaged(&error))? {
            Command::Timestamp(at) if at < now => return Err(mistake(Unreadable::Backwards)),
            Command::Timestamp(at) => {
                now = at;
                now_ns = ns(at, scale, unit).ok_or_else(|| mistake(Unreadable::Nothing))?;
            }
            Command::ChangeScalar(id, value) => see(&places, &mut seen, id, now_ns, value),
            Command::ChangeVector(id, bits) if bits.len() == 1 => {
                see(&places, &mut seen, id, now_ns, bits.get(0).unwrap_or(Value::X));
            }
            Command::ChangeReal(id, volts) => {
                if let Some(Seen::Volts(_, samples)) = places.get(&id).and_then(|at| seen.get_mut(*at)) {
                    samples.push((now_ns as f64, volts));
                }
            }
            // While a dump is off nothing is known.
            Command::Begin(SimulationCommand::Dumpoff) => seen.iter_mut().for_each(|seen| {
                if let Seen::Levels(channel) = seen {
                    channel.see(now_ns, None);
                }
            }),
            Command::Date(_) | Command::Version(_) | Command::Enddefinitions | Command::VarDef(..) => {
                return Err(mistake(Unreadable::Second));
            }
            _ => {}
        }
    }
    let tool = header.version.unwrap_or_else(|| "a value change dump".into());
    let mut import = Import::new(&tool, "capture");
    let threshold = hints.capture.threshold;
    let channels = seen.into_iter().map(|seen| match seen {
        Seen::Levels(channel) => channel,
        Seen::Volts(name, samples) => threshold::channel(&mut import, &name, &samples, threshold),
    });
    let channels = channels.collect();
    Ok(Captured::of_edges(import, channels, hints))
}

fn damaged(error: &std::io::Error) -> Mistake {
    let line = error.get_ref().and_then(|inner| inner.downcast_ref::<vcd::ParseError>());
    let line = line.and_then(|error| usize::try_from(error.line()).ok());
    Mistake { line, why: Unreadable::Damaged { what: error.to_string() } }
}

/// Those of one bit, and numbers.
fn variables(items: &[ScopeItem], places: &mut HashMap<IdCode, usize>, seen: &mut Vec<Seen>) {
    for item in items {
        match item {
            ScopeItem::Scope(scope) => variables(&scope.items, places, seen),
            ScopeItem::Var(var) if !places.contains_key(&var.code) => {
                let index = var.index.map_or_else(String::new, |index| index.to_string());
                let name = format!("{}{index}", var.reference);
                places.insert(var.code, seen.len());
                match var.var_type {
                    VarType::Real => seen.push(Seen::Volts(name, Vec::new())),
                    _ if var.size == 1 => seen.push(Seen::Levels(Channel::new(name))),
                    _ => drop(places.remove(&var.code)),
                }
            }
            _ => {}
        }
    }
}

fn see(places: &HashMap<IdCode, usize>, seen: &mut [Seen], id: IdCode, at: i64, value: Value) {
    if let Some(Seen::Levels(channel)) = places.get(&id).and_then(|place| seen.get_mut(*place)) {
        let level = match value {
            Value::V0 => Some(false),
            Value::V1 => Some(true),
            Value::X | Value::Z => None,
        };
        channel.see(at, level);
    }
}

/// A time as nanoseconds, rounded; `None` beyond 292 years.
fn ns(at: u64, scale: u32, unit: TimescaleUnit) -> Option<i64> {
    let of_a_second = u128::from(unit.divisor());
    let scaled = u128::from(at) * u128::from(scale) * 1_000_000_000;
    i64::try_from((scaled + of_a_second / 2) / of_a_second).ok().filter(|ns| *ns < i64::MAX / 4)
}
