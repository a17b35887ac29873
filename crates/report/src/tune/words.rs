//! Knobs in words.

use jitterlab_analysis::tune::{Judgement, KnobFound, LeftOut, Step, USUAL};
use jitterlab_model::{Fitness, Knob};

use crate::dictionary;
use crate::section::Cell;
use crate::why::cause;
use crate::words::share;

/// Effect of setting a knob, as the end of "setting ...".
pub fn does(knob: Knob) -> &'static str {
    dictionary::named("knob", &knob)
}

/// One thing that a knob sets, as it could be typed.
pub(super) fn step(step: &Step) -> String {
    dictionary::of_event("knob-step", step)
}

pub(super) fn judgement(judgement: Judgement) -> Cell {
    let (fitness, text) = match judgement {
        Judgement::Helps => (Fitness::Good, "helps"),
        Judgement::NotNeeded => return Cell::from("not needed"),
        Judgement::HelpsAndHarms => (Fitness::Limited, "helps, HARMS"),
        Judgement::Undecided => (Fitness::CannotTell, "not decided"),
        Judgement::NoMatter => return Cell::from("no matter"),
        Judgement::Harms => (Fitness::Unfit, "HARMS"),
    };
    Cell::Verdict { fitness, text: text.into() }
}

/// Why a knob was tried.
pub(super) fn reason(found: &KnobFound) -> String {
    match &found.remedies {
        Some(of) => {
            let verb = if of.own { "remedies" } else { "may shorten" };
            format!(
                "{verb} {} and the like ({} of what delayed the latest starts)",
                cause(&of.cause),
                share(of.share)
            )
        }
        None if USUAL.contains(&found.offered.knob) => "a usual first step".into(),
        None => "asked for".into(),
    }
}

/// Why a knob was not tried.
pub(super) fn left(why: &LeftOut) -> String {
    dictionary::of_event("left-out", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_has_its_words() {
        for knob in Knob::ALL {
            assert!(!does(knob).is_empty(), "{knob}");
        }
    }
}
