//! rt-tests' ptsematest, svsematest, pmqtest and sigwaittest as text: how long a thread takes to wake up when another one wakes it
//! by a semaphore, a message or a signal.

use std::collections::BTreeMap;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::statement::Statements;
use super::text::{lines, number_after};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "ptsematest and relatives", recognise, parse };

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

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| figures_of(line).is_some())
        && lines(input.text).any(|(_, line)| threads_of(line).is_some())
}

fn parse(input: &Input, _: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("rt-tests", "monotonic");
    // Live displays print both kinds of lines again and again: the last counts.
    let mut threads: BTreeMap<u64, Woken> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        let Some((thread, woken)) = threads_of(line) else { continue };
        if threads.insert(thread, woken).is_some_and(|before| before.id != woken.id) {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
    }
    let figures: BTreeMap<_, _> = lines(input.text).filter_map(|(_, line)| figures_of(line)).collect();
    for (receiver, extremes) in figures {
        let Some(Woken { cpu, cycles, .. }) = threads.get(&receiver).copied() else { continue };
        let cpu = u16::try_from(cpu).ok();
        let details = TaskDetails::new(format!("thread{}", receiver / 2), Period::None).on_cpu(cpu);
        import.add_latencies(details, &Statements::from_extremes(extremes, cycles, 1_000));
    }
    import.warn(Warning::NoPeriod { tool: "it".into(), measures: Aperiodic::Wakers });
    import.complete()
}
