//! The loops of a plant that has several: a cascade (position, velocity, current), or loops of several rates.

use serde::Deserialize;

use jitterlab_model::Error;

use super::design::{Design, DesignSheet};
use crate::error;
use crate::quantity::{Dimension, parse};

/// One loop of several: a controller from one output to one input, or to the reference of another loop.
#[derive(Debug, Clone, PartialEq)]
pub struct PlantLoop {
    /// Name; a task of that name closes the loop, unless another task is named.
    pub name: String,
    /// The output it reads, by number.
    pub reads: usize,
    pub writes: LoopOutput,
    pub design: Design,
    pub period_ns: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopOutput {
    /// An input of the plant, by number.
    Input(usize),
    /// The reference of another loop, by number.
    Loop(usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopSheet {
    name: String,
    reads: String,
    writes: String,
    period: String,
    controller: DesignSheet,
}

/// The loops of a plant with these outputs and this number of inputs, the outer ones first.
pub(super) fn parse_loops(
    name: &str,
    sheets: Vec<LoopSheet>,
    outputs: &[String],
    inputs: usize,
) -> Result<Vec<PlantLoop>, Error> {
    let names: Vec<String> = sheets.iter().map(|sheet| sheet.name.clone()).collect();
    let fail = |fault: Error| Err(fault.within(name));
    let mut all = Vec::new();
    for (place, sheet) in sheets.into_iter().enumerate() {
        if names[..place].contains(&sheet.name) {
            return fail(Error::bad_use(format!(
                "two loops are called {:?}: give each a name of its own",
                sheet.name
            )));
        }
        let Some(reads) = outputs.iter().position(|output| *output == sheet.reads) else {
            return fail(Error::bad_use(format!(
                "a loop reads {:?}, which is no output: take one of {}",
                sheet.reads,
                outputs.join(", ")
            )));
        };
        let input = match sheet.writes.strip_prefix("input") {
            Some("") if inputs == 1 => Some(0),
            Some(number) => {
                number.trim().parse::<usize>().ok().filter(|n| (1..=inputs).contains(n)).map(|n| n - 1)
            }
            None => None,
        };
        let other = names.iter().position(|other| *other == sheet.writes && *other != sheet.name);
        let Some(writes) = input.map(LoopOutput::Input).or(other.map(LoopOutput::Loop)) else {
            return fail(Error::bad_use(format!(
                "a loop writes {:?}: write \"input\" (of {inputs}, else \"input 2\"), or the name of another loop whose reference \
                 it makes",
                sheet.writes
            )));
        };
        let period = parse(Dimension::Time, "period", &sheet.period).map_err(|error| error.within(name))?;
        let period_ns = (period * 1e9).round() as i64;
        if period_ns < 1 {
            return fail(Error::bad_use(format!(
                "a loop has the period {}: it has to be a time above zero",
                sheet.period
            )));
        }
        let design = Design::from_sheet(name, sheet.controller, (1, 1, 1))?;
        if design.needs_all_states() {
            return Err(error::not_a_loop_controller(name));
        }
        if all.iter().any(|l: &PlantLoop| l.writes == writes) {
            return fail(Error::bad_use(format!(
                "two loops write {:?}: each input and each reference has one loop that writes it",
                sheet.writes
            )));
        }
        all.push(PlantLoop { name: sheet.name, reads, writes, design, period_ns });
    }
    // A loop that another one writes comes behind it.
    let mut order: Vec<usize> = Vec::new();
    while order.len() < all.len() {
        let is_next = |i: &usize| {
            let outer = (0..all.len()).filter(|o| all[*o].writes == LoopOutput::Loop(*i));
            !order.contains(i) && outer.into_iter().all(|o| order.contains(&o))
        };
        match (0..all.len()).find(is_next) {
            Some(next) => order.push(next),
            None => {
                return fail(Error::bad_use(
                    "the loops write each other's references in a circle: the outermost has a reference from outside",
                ));
            }
        }
    }
    let place = |old: usize| order.iter().position(|o| *o == old).unwrap_or(old);
    let renumbered = |l: &PlantLoop| match l.writes {
        LoopOutput::Loop(to) => PlantLoop { writes: LoopOutput::Loop(place(to)), ..l.clone() },
        LoopOutput::Input(_) => l.clone(),
    };
    Ok(order.iter().map(|old| renumbered(&all[*old])).collect())
}
