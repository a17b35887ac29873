//! NIST's statements on control: without feedback and with it, on general processors and on a microcontroller, with interrupts
//! on and off.

use serde::Serialize;

use crate::statement::Evidence;

/// Smallest increase of a loop's cost that counts as one.
const LEAST_COST: f64 = 1e-6;

/// One computer: its jitter, and what that takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlRow {
    pub computer: String,
    /// Range of its latency.
    pub jitter_ns: f64,
    /// Share of the first motor's torque by equation 7.
    pub torque: f64,
    /// Part of a servo loop's cost that the variation of the starts adds.
    pub loop_cost: f64,
}

/// Every computer.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NistControl {
    pub rows: Vec<ControlRow>,
    /// Jitter of a microcontroller that polls for its due time, with interrupts on and off.
    pub polled_ns: Vec<f64>,
    /// Reason why there is no microcontroller.
    pub without_microcontroller: Option<String>,
}

impl NistControl {
    pub fn evidence(&self) -> [Evidence; 2] {
        let each =
            |value: fn(&ControlRow) -> f64| self.rows.iter().map(|row| Some(value(row))).collect::<Vec<_>>();
        let ratios = each(|row| row.torque / row.loop_cost.max(LEAST_COST));
        let less = match self.polled_ns[..] {
            [on, off] => Some(on / off.max(1.0)),
            _ => None,
        };
        [
            Evidence::decided_by("open-loop", "ratio", ratios)
                .and("torque", each(|row| row.torque))
                .and("cost", each(|row| row.loop_cost)),
            Evidence::decided_by("interrupts-off", "less", less)
                .and("polled", self.polled_ns.iter().copied().map(Some).collect::<Vec<_>>()),
        ]
    }
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
