//! Knobs in words.

use jitterlab_analysis::tune::{KnobResult, LeftOut, SettingVerdict, Step, USUAL};
use jitterlab_model::{Fitness, Knob};

use crate::dictionary::entry;
use crate::section::Cell;
use crate::why::cause_text;
use crate::words::share;

/// Effect of setting a knob, as the end of "setting ...".
pub fn effect_text(knob: Knob) -> &'static str {
    entry("knob", knob.name()).unwrap_or("a setting that this jitterlab does not know")
}

/// One thing that a knob sets, as it could be typed.
pub(super) fn step_text(step: &Step) -> String {
    match step {
        Step::File { file, value } => format!("{value} in {file}"),
        Step::Interrupts { to } => format!("interrupts to CPU {to}"),
        Step::Threads { to } => format!("threads to CPU {to}"),
        Step::Siblings { off, to } => format!("threads of CPU {off} to CPU {to}"),
        Step::Cpuset { to } => format!("control groups of other programs to CPU {to}"),
        Step::KernelThreads { priority } => format!("kernel threads above it to priority {priority}"),
        Step::IdleLatency { us } => format!("{us} in /dev/cpu_dma_latency while the task runs"),
        Step::Task { parts } => format!("--task with {parts}"),
    }
}

pub(super) fn verdict_cell(judgement: SettingVerdict) -> Cell {
    let (fitness, text) = match judgement {
        SettingVerdict::Helps => (Fitness::Good, "helps"),
        SettingVerdict::NotNeeded => return Cell::from("not needed"),
        SettingVerdict::HelpsAndHarms => (Fitness::Limited, "helps, HARMS"),
        SettingVerdict::Undecided => (Fitness::CannotTell, "not decided"),
        SettingVerdict::NoMatter => return Cell::from("no matter"),
        SettingVerdict::Harms => (Fitness::Unfit, "HARMS"),
    };
    Cell::Verdict { fitness, text: text.into() }
}

/// Reason for trying a knob: its causes, a usual first step, or the request.
pub(super) fn tried_reason(found: &KnobResult) -> String {
    match &found.remedies {
        Some(of) => {
            let verb = if of.own { "remedies" } else { "may shorten" };
            format!(
                "{verb} {} and the like ({} of what delayed the latest starts)",
                cause_text(&of.cause),
                share(of.share)
            )
        }
        None if USUAL.contains(&found.offered.knob) => "a usual first step".into(),
        None => "asked for".into(),
    }
}

pub(super) fn untried_reason(why: &LeftOut) -> String {
    match why {
        LeftOut::Absent => "not on this machine".into(),
        LeftOut::NotOfTask => "of no use to a task that waits and runs like this one".into(),
        LeftOut::Already => "set already".into(),
        LeftOut::Refused { error } => format!("refused ({error})"),
        LeftOut::NoCause => "no remedy of what made the task late (--only tries it)".into(),
        LeftOut::OfProgram => {
            "the program's own, which is only watched: set it there (chrt, --policy) and ask again".into()
        }
        LeftOut::NoTime => "no time for it: raise --budget".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_has_its_words() {
        for knob in Knob::ALL {
            assert!(!effect_text(knob).contains("does not know"), "{knob}");
        }
    }
}
