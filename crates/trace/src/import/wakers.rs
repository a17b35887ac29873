//! rt-tests' ptsematest, svsematest, pmqtest and sigwaittest: how long a thread takes to wake up when another one wakes it
//! by a semaphore, a message or a signal. As JSON (`--json`), and as they print it.

use std::collections::BTreeMap;

use serde::Deserialize;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::histogram::Histogram;
use super::rt_tests::{self, Report};
use super::text::{json, lines, number_after};
use super::{Hints, Import, Input, Mistake, Peer, Period, Told};
use crate::error::Unreadable;

pub(super) const JSON: Peer =
    Peer { name: "ptsematest and relatives --json", recognise: is_json, parse: parse_json };
pub(super) const TEXT: Peer =
    Peer { name: "ptsematest and relatives", recognise: is_text, parse: parse_text };

#[derive(Deserialize)]
struct Pair {
    sender: Sender,
    receiver: Receiver,
}

#[derive(Deserialize)]
struct Sender {
    samples: u64,
}

#[derive(Deserialize)]
struct Receiver {
    cpu: Option<i64>,
    min: f64,
    avg: f64,
    max: f64,
}

fn is_json(input: &Input) -> bool {
    matches!(rt_tests::program(input), Some("ptsematest" | "svsematest" | "pmqtest" | "sigwaittest"))
}

fn parse_json(input: &Input, _: &Hints) -> Result<Import, Mistake> {
    let report: Report<Pair> = json(input.text)?;
    let mut import = report.import("monotonic");
    let (tool, unit_ns) = (report.program().to_owned(), report.unit_ns());
    for (name, Pair { sender, receiver }) in report.into_threads() {
        let extremes = [receiver.min, receiver.avg, receiver.max];
        add(
            &mut import,
            &name,
            rt_tests::cpu(receiver.cpu),
            &Histogram::of_extremes(extremes, sender.samples, unit_ns),
        );
    }
    finish(import, tool)
}

/// Receiver and figures of `#1 -> #0, Min    6, Cur   10, Avg    8, Max   41`; these count from the start.
fn figures_of(line: &str) -> Option<(u64, [f64; 3])> {
    let (receiver, _) = line.strip_prefix('#')?.split_once(" -> #")?;
    let figure = |name: &str| number_after(line, name);
    Some((receiver.parse().ok()?, [figure("Min")?, figure("Avg")?, figure("Max")?]))
}

/// A thread that is woken.
#[derive(Clone, Copy)]
struct Woken {
    id: f64,
    cpu: i64,
    cycles: u64,
}

/// The receiver in `#2: ID20362, P79, CPU1, I1500; #3: ID20367, P79, CPU1, TO 0, Cycles 131`, with its number.
fn threads_of(line: &str) -> Option<(u64, Woken)> {
    let receiver = line.strip_prefix('#')?.split_once("; #")?.1;
    let figure = |name: &str| number_after(receiver, name);
    let woken = Woken { id: figure("ID")?, cpu: figure("CPU")? as i64, cycles: figure("Cycles")? as u64 };
    Some((receiver.split(':').next()?.parse().ok()?, woken))
}

fn is_text(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| figures_of(line).is_some())
        && lines(input.text).any(|(_, line)| threads_of(line).is_some())
}

fn parse_text(input: &Input, _: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("rt-tests", "monotonic");
    // Live displays print both kinds of lines again and again: the last counts.
    let mut threads: BTreeMap<u64, Woken> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        let Some((thread, woken)) = threads_of(line) else { continue };
        if threads.insert(thread, woken).is_some_and(|before| before.id != woken.id) {
            return Err(Unreadable::Second.at(number));
        }
    }
    let figures: BTreeMap<_, _> = lines(input.text).filter_map(|(_, line)| figures_of(line)).collect();
    for (receiver, extremes) in figures {
        let Some(Woken { cpu, cycles, .. }) = threads.get(&receiver).copied() else { continue };
        let histogram = Histogram::of_extremes(extremes, cycles, 1_000);
        add(&mut import, &(receiver / 2).to_string(), rt_tests::cpu(Some(cpu)), &histogram);
    }
    finish(import, "it".into())
}

fn add(import: &mut Import, thread: &str, cpu: Option<u16>, histogram: &Histogram) {
    let told = Told::new(format!("thread{thread}"), Period::None).on(cpu);
    import.task(told, histogram.latency(Period::None.ns()));
}

fn finish(mut import: Import, tool: String) -> Result<Import, Mistake> {
    import.warn(Warning::OnlyExtremes);
    import.warn(Warning::NoPeriod { tool, measures: Aperiodic::Wakers });
    import.complete()
}
