//! NIST's table 1, recomputed: Proctor and Shackleford, "Real-time Operating System Timing Jitter and its Impact
//! on Motor Control" (2001), section 4.

use serde::{Deserialize, Serialize};

use crate::paper::Paper;
use crate::statement::Evidence;

use jitterlab_motion::stepper::torque::{linear_share, linear_torque_nm};

/// One motor of the table as printed: torques in oz-in, shares in % of the available torque.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrintedRow {
    /// Holding torque h in oz-in.
    pub holding_oz_in: f64,
    /// Step angle S in degrees.
    pub step_deg: f64,
    /// Speed in revolutions per second, where the motor has half its holding torque.
    pub rev_per_s: f64,
    /// T_u: torque due to the uncompensated jitter; and its last printed digit's place value.
    pub uncompensated_oz_in: (f64, f64),
    /// T_u as a share of the available torque.
    pub uncompensated_percent: f64,
    /// T_c: torque due to the compensated jitter; and its last printed digit's place value.
    pub compensated_oz_in: (f64, f64),
    /// T_c as a share of the available torque.
    pub compensated_percent: f64,
}

pub fn table_1() -> Vec<PrintedRow> {
    Paper::Nist.part("motors")
}

/// The jitter the text states for the uncompensated task, in seconds.
pub const STATED_UNCOMPENSATED_S: f64 = 3.60e-6;
/// The jitter the text states for the compensated task, in seconds (the caption has 0.0988 us).
pub const STATED_COMPENSATED_S: f64 = 0.098e-6;
/// A jitter from which the uncompensated column does follow, in seconds.
pub const FOUND_UNCOMPENSATED_S: f64 = 4.08e-6;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistTorques {
    pub rows: Vec<TorqueRow>,
}

/// One motor of the table, printed and computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TorqueRow {
    pub printed: PrintedRow,
    /// From the stated uncompensated jitter.
    pub uncompensated: Torque,
    /// From the jitter that gives the printed uncompensated torques.
    pub uncompensated_found: Torque,
    /// From the stated compensated jitter.
    pub compensated: Torque,
}

/// Torque that a jitter takes from a motor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Torque {
    pub jitter_s: f64,
    pub oz_in: f64,
    /// Its share of the available torque in %.
    pub percent: f64,
}

impl NistTorques {
    pub fn compute() -> Self {
        let row = |printed: PrintedRow| {
            let torque = |jitter_s| Torque {
                jitter_s,
                oz_in: printed.torque_oz_in(jitter_s),
                percent: printed.percent(jitter_s),
            };
            TorqueRow {
                printed,
                uncompensated: torque(STATED_UNCOMPENSATED_S),
                uncompensated_found: torque(FOUND_UNCOMPENSATED_S),
                compensated: torque(STATED_COMPENSATED_S),
            }
        };
        NistTorques { rows: table_1().into_iter().map(row).collect() }
    }

    /// Evidence on the paper's statements about the table.
    pub fn evidence(&self) -> [Evidence; 4] {
        let printed: Vec<PrintedRow> = self.rows.iter().map(|row| row.printed).collect();
        let follows = |statement, stated_s: f64, (from_s, to_s): (f64, f64)| {
            // Distance of the stated jitter from those that give the printed torques.
            let off_s = (from_s - stated_s).max(stated_s - to_s).max(0.0);
            Evidence::decided_by(statement, "off", off_s).and("from", from_s * 1e9).and("to", to_s * 1e9)
        };
        let compensated = jitter_behind(&printed, |row| row.compensated_oz_in);
        let uncompensated = jitter_behind(&printed, |row| row.uncompensated_oz_in);
        let largest = |jitter_s| printed.iter().map(|row| row.percent(jitter_s)).fold(0.0, f64::max);
        [
            follows("table-1-compensated", STATED_COMPENSATED_S, compensated),
            follows("table-1-uncompensated", STATED_UNCOMPENSATED_S, uncompensated),
            Evidence::decided_by("below-ten-percent", "largest", largest(uncompensated.1)),
            Evidence::decided_by("below-one-percent", "largest", largest(compensated.1)),
        ]
    }
}

impl PrintedRow {
    pub fn steps_per_s(&self) -> f64 {
        self.rev_per_s * 360.0 / self.step_deg
    }

    /// Equation 7 for this motor, in oz-in.
    pub fn torque_oz_in(&self, jitter_s: f64) -> f64 {
        linear_torque_nm(self.holding_oz_in, self.steps_per_s(), jitter_s)
    }

    /// Its share of half the holding torque in %.
    pub fn percent(&self, jitter_s: f64) -> f64 {
        100.0 * linear_share(self.steps_per_s(), jitter_s)
    }
}

/// The range of jitter in seconds from which every printed torque of a column follows when digits are cut off, not rounded; its
/// end lies before its beginning if no jitter gives all of them.
///
/// The compensated column follows from 0.0980 to 0.0997 us, so from the stated jitter; the uncompensated one only
/// from 4.060 to 4.106 us, not from the stated 3.60 us. 4.08/0.0988 is the text's "about 40 times".
pub fn jitter_behind(table: &[PrintedRow], column: impl Fn(&PrintedRow) -> (f64, f64)) -> (f64, f64) {
    let ranges = table.iter().map(|row| {
        let (printed, place) = column(row);
        let per_second = row.torque_oz_in(1.0);
        (printed / per_second, (printed + place) / per_second)
    });
    ranges.fold((0.0, f64::INFINITY), |all: (f64, f64), one| (all.0.max(one.0), all.1.min(one.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut((value, place): (f64, f64), computed: f64) -> bool {
        value <= computed + 1e-12 && computed < value + place
    }

    #[test]
    fn the_table_is_the_one_of_the_source_document() {
        let csv = include_str!("../tests/data/nist-table1.csv");
        for (line, row) in csv.lines().skip(1).zip(table_1()) {
            let n: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
            assert_eq!(
                [n[0], n[1], n[2], n[3]],
                [row.holding_oz_in, row.step_deg, row.rev_per_s, n[0] / 2.0]
            );
            assert_eq!([n[4], n[5]], [row.uncompensated_oz_in.0, row.uncompensated_percent]);
            assert_eq!([n[6], n[7]], [row.compensated_oz_in.0, row.compensated_percent]);
        }
        assert_eq!(csv.lines().count(), 4);
    }

    #[test]
    fn compensated_torques_follow_from_the_stated_jitter_and_uncompensated_ones_do_not() {
        for row in table_1() {
            assert!(cut(row.compensated_oz_in, row.torque_oz_in(STATED_COMPENSATED_S)));
            assert!(!cut(row.uncompensated_oz_in, row.torque_oz_in(STATED_UNCOMPENSATED_S)));
            assert!(cut(row.uncompensated_oz_in, row.torque_oz_in(4.08e-6)));
            assert!(row.percent(4.11e-6) < 10.0, "the paper's conclusion holds either way");
        }
    }

    #[test]
    fn the_columns_come_from_these_ranges() {
        let (from, to) = jitter_behind(&table_1(), |row| row.uncompensated_oz_in);
        assert!((from * 1e6 - 4.060).abs() < 1e-3 && (to * 1e6 - 4.106).abs() < 1e-3, "{from} {to}");
        let (from, to) = jitter_behind(&table_1(), |row| row.compensated_oz_in);
        assert!((from * 1e6 - 0.09799).abs() < 1e-5 && (to * 1e6 - 0.09974).abs() < 1e-5, "{from} {to}");
    }

    #[test]
    fn the_table_s_statements_are_decided() {
        use crate::statement::StatementVerdict::{DoesNotHold, Holds};
        let statements = Paper::Nist.statements();
        let verdict = |evidence: Evidence| {
            let statement = statements.iter().find(|of| of.name == evidence.statement).unwrap();
            statement.verdict(&evidence)
        };
        assert_eq!(NistTorques::compute().evidence().map(verdict), [Holds, DoesNotHold, Holds, Holds]);
    }

    #[test]
    fn printed_percentages_are_cut_ratios_of_the_printed_torques() {
        for row in table_1() {
            let ratio = 100.0 * row.uncompensated_oz_in.0 / (row.holding_oz_in / 2.0);
            assert_eq!((ratio * 10.0 + 1e-9).floor() / 10.0, row.uncompensated_percent);
        }
    }
}
