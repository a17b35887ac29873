//! What a command says while it measures.

use std::path::Path;

use jitterlab_analysis::trial::TrialStep;
use jitterlab_model::units::Human;

use crate::words::plural;

/// A step and how long, in seconds, all will still take.
#[must_use]
pub fn left(step: &str, left_s: f64) -> String {
    format!("{step}, about {left_s:.0} s left")
}

/// A way to wait, tried with a control loop; all will still take `left_ns`.
#[must_use]
pub fn live_way(name: &str, load: &str, left_ns: f64) -> String {
    format!("{name} under load {load}, {} left", Human(left_ns))
}

/// What a command says that was stopped and is called again.
#[must_use]
pub fn goes_on(parts: usize, file: &Path) -> String {
    format!(
        "going on behind the {} that an earlier call of this command has measured ({}; remove it to begin anew)",
        plural(parts as u64, "part"),
        file.display()
    )
}

/// What it says when it is stopped.
pub const GOES_ON_LATER: &str = "what was measured is kept: the same command goes on from here";

/// A step of a session of measurements.
#[must_use]
pub fn step(step: TrialStep) -> String {
    match step {
        TrialStep::EarlySleeps => "measuring latencies of early sleeps".into(),
        TrialStep::WakeUpCost => "measuring what waking early costs".into(),
        TrialStep::MarginPolling => "measuring how much margins poll".into(),
        TrialStep::Proof => "proving it: uncompensated and compensated blocks in turns".into(),
        TrialStep::Ways { count } => format!("measuring {count} ways to wait in turns"),
        TrialStep::Causes => "finding out what makes it late".into(),
        TrialStep::Measuring => "measuring".into(),
        TrialStep::KnobRound { round, of } => {
            format!("trying settings in turns, round {round} of at most {of}")
        }
        TrialStep::ThisStart => "this start of the machine".into(),
        TrialStep::KnobProof { knobs } => {
            format!("proving {} against the start in turns", plural(knobs as u64, "setting"))
        }
        TrialStep::NistSeries => "figures 1 and 2: series of the time stamp counter".into(),
        TrialStep::NistCalls => "figure 4: one activation with its early calls".into(),
        TrialStep::NistLoad => "figure 5: the load of repeated early wake-ups".into(),
        TrialStep::NistTurns => "figure 6: uncompensated and compensated in turns".into(),
    }
}
