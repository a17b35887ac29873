//! Clues to late starts without a trace of their causes: stalls of the whole machine, a rhythm, the firmware.

use jitterlab_analysis::listed_rhythms::rhythms;
use jitterlab_model::{Fitness, RunInfo, Warning};

use crate::conclusion::Conclusion;
use crate::section::Piece;
use crate::warnings;
use crate::words::sentence;

/// Conclusion from the strongest clue among the run's warnings; `None` without one.
pub(super) fn clue_conclusion(run: &RunInfo) -> Option<Conclusion> {
    let clue =
        run.warnings.iter().filter(|warning| warning.is_clue()).min_by_key(|warning| clue_rank(warning))?;
    let (verdict, next) = match clue {
        Warning::SharedStalls { .. } => (
            "LIKELY CAUSE: the whole machine stops now and then, which no thread does.",
            "on the machine that was measured: jitterlab check smi (the firmware), then jitterlab run --why, as root",
        ),
        Warning::ManagementInterrupts { .. } => (
            "POSSIBLE CAUSE: system management interrupts, in which the firmware stops a processor; which starts they delayed is \
             unknown.",
            "on the machine that was measured: jitterlab check smi (what the firmware may be told)",
        ),
        Warning::ListedLate { at, .. } if !rhythms(at).is_empty() => (
            "LIKELY CAUSE: something that comes at even distances.",
            "on the machine that was measured: jitterlab run --why, as root (it names what runs then)",
        ),
        _ => (
            "CANNOT TELL what delayed any start: the output only lists them.",
            "on the machine that was measured: jitterlab run --why, as root",
        ),
    };
    Some(Conclusion {
        fitness: Fitness::CannotTell,
        asked: false,
        verdict: verdict.into(),
        number: format!("{}.", sentence(&warnings::warning_sentence(clue)).trim_end_matches('.')),
        next: next.into(),
    })
}

pub(super) fn clue_pieces(run: &RunInfo) -> Vec<Piece> {
    let clues: Vec<&Warning> = run.warnings.iter().filter(|warning| warning.is_clue()).collect();
    warnings::warning_sentences(&clues).iter().map(|clue| Piece::note(sentence(clue))).collect()
}

/// Rank of a clue; the strongest has 0.
fn clue_rank(clue: &Warning) -> u8 {
    match clue {
        Warning::SharedStalls { .. } => 0,
        Warning::ListedLate { at, .. } if !rhythms(at).is_empty() => 1,
        Warning::ManagementInterrupts { .. } => 2,
        _ => 3,
    }
}
