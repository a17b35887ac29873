//! NIST, sections 3 and 4: the jitter of each computer, and what it takes from a stepper motor without feedback and from a servo
//! loop with it; and that of a microcontroller, with interrupts on and off.

use serde::Serialize;
use serde_json::json;

use crate::Reproducer;
use crate::loads::LoadFigures;
use crate::nist_jitter::PERIOD_NS;
use crate::statement::Evidence;
use crate::torques::printed_motors;
use jitterlab_mcu::{Compiler, is_missing, polled_wait};
use jitterlab_model::{Error, TimingStats};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Plant, Record, SingleTaskLoop};
use jitterlab_runs::{Hints, OneTask, Run};

/// Smallest increase of a loop's cost that counts as one.
const LEAST_COST: f64 = 1e-6;

/// Jitter of a computer, and its cost for a motor and a loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlRow {
    pub computer: String,
    pub jitter_ns: f64,
    /// Share of the first motor's torque by equation 7.
    pub torque: f64,
    /// Part of a servo loop's cost that the variation of the starts adds.
    pub loop_cost: f64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NistControl {
    pub rows: Vec<ControlRow>,
    /// Jitter of a microcontroller that polls for its due time, with interrupts on and off.
    pub polled_ns: Vec<f64>,
    pub without_microcontroller: Option<String>,
}

impl NistControl {
    pub fn evidence(&self) -> [Evidence; 2] {
        let each = |value: fn(&ControlRow) -> f64| self.rows.iter().map(value).collect::<Vec<_>>();
        let ratio = each(|row| row.torque / row.loop_cost.max(LEAST_COST));
        let (torque, cost) = (each(|row| row.torque), each(|row| row.loop_cost));
        let less = match self.polled_ns[..] {
            [on, off] => Some(on / off.max(1.0)),
            _ => None,
        };
        [
            Evidence::new("open-loop", "ratio", json!({ "ratio": ratio, "torque": torque, "cost": cost })),
            Evidence::new("interrupts-off", "less", json!({ "less": less, "polled": self.polled_ns })),
        ]
    }
}

/// Activations of the microcontroller: a second.
const ACTIVATIONS: usize = 2_000;

/// Jitter and control cost of figure 3's systems, by their first runs under this load, and of a microcontroller.
/// The microcontroller is simulated, if its compiler is there.
pub fn measure(at: &Reproducer<'_>, loads: &LoadFigures, load: &str) -> Result<NistControl, Error> {
    let mut found = NistControl::default();
    for system in &loads.systems {
        let file = at.run_file(&format!("{}-{load}", system.system));
        let task = OneTask::new(Run::open(&file, &Hints::default())?, None, |_| ())?;
        let jitter_ns = task.stats.latency.peak_to_peak_ns().unwrap_or_default();
        found.rows.push(control_row(format!("{}, {load} load", system.system), jitter_ns, &task)?);
    }
    let compiler = match Compiler::new() {
        Err(error) if is_missing(&error) => {
            return Ok(NistControl { without_microcontroller: Some(error.to_string()), ..found });
        }
        compiler => compiler?,
    };
    for locked in [false, true] {
        let run = polled_wait::measure((PERIOD_NS / 1_000) as u32, locked, ACTIVATIONS, &compiler)?;
        let mut stats = TimingStats::new(PERIOD_NS);
        run.activations.iter().for_each(|activation| stats.push(activation));
        let jitter_ns = stats.latency.peak_to_peak_ns().unwrap_or_default();
        let interrupts = if locked { "off" } else { "on" };
        let name = format!("ATmega328P at 16 MHz, interrupts {interrupts}");
        found.rows.push(control_row(name, jitter_ns, run.activations.as_slice())?);
        found.polled_ns.push(jitter_ns as f64);
    }
    Ok(found)
}

/// Row of a computer: its jitter, the motor torque this takes, and the cost of its record for a servo loop.
fn control_row<R: Record + ?Sized>(computer: String, jitter_ns: i64, run: &R) -> Result<ControlRow, Error> {
    let plant: Plant = catalog::known_device("dc-servo")?;
    let evaluation = SingleTaskLoop::new(plant, PERIOD_NS).evaluate(run)?;
    let motor = printed_motors().into_iter().next();
    let torque = motor.map_or(0.0, |motor| motor.torque_percent(jitter_ns as f64 * 1e-9) / 100.0);
    Ok(ControlRow { computer, jitter_ns: jitter_ns as f64, torque, loop_cost: evaluation.loss().jitter })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use crate::statement::StatementVerdict::{self, CannotBeTold, DoesNotHold, Holds};

    #[test]
    fn both_statements_can_hold_fail_and_stay_undecided() {
        let verdicts = |found: NistControl| -> Vec<StatementVerdict> {
            let statements = Paper::Nist.statements();
            let verdict = |evidence: &Evidence| {
                statements.iter().find(|of| of.name == evidence.statement).unwrap().verdict(evidence)
            };
            found.evidence().iter().map(verdict).collect()
        };
        let row = |torque, loop_cost| ControlRow { computer: "a".into(), jitter_ns: 1e3, torque, loop_cost };
        let found = |rows, polled_ns: &[f64]| NistControl {
            rows,
            polled_ns: polled_ns.to_vec(),
            without_microcontroller: None,
        };
        assert_eq!(verdicts(found(vec![row(0.1, 0.01), row(0.1, -0.01)], &[3e3, 500.0])), [Holds; 2]);
        assert_eq!(verdicts(found(vec![row(0.1, 0.2)], &[500.0, 500.0])), [DoesNotHold; 2]);
        assert_eq!(verdicts(NistControl::default()), [CannotBeTold; 2]);
    }
}
