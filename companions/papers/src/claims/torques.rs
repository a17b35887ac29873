//! NIST's table 1, recomputed: Proctor and Shackleford, "Real-time Operating System Timing Jitter and its Impact
//! on Motor Control" (2001), section 4.

use crate::claims::Tested;
use serde::Serialize;

use jitterlab_motion::stepper::torque::{linear_share, linear_torque_nm};

/// One motor of the table as printed: torques in oz-in, shares in % of the available torque.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

pub const TABLE_1: [PrintedRow; 3] = [
    PrintedRow {
        holding_oz_in: 23.0,
        step_deg: 0.9,
        rev_per_s: 15.0,
        uncompensated_oz_in: (0.88, 0.01),
        uncompensated_percent: 7.6,
        compensated_oz_in: (0.021, 0.001),
        compensated_percent: 0.18,
    },
    PrintedRow {
        holding_oz_in: 80.0,
        step_deg: 0.9,
        rev_per_s: 6.7,
        uncompensated_oz_in: (1.3, 0.1),
        uncompensated_percent: 3.2,
        compensated_oz_in: (0.033, 0.001),
        compensated_percent: 0.082,
    },
    PrintedRow {
        holding_oz_in: 500.0,
        step_deg: 0.9,
        rev_per_s: 15.0,
        uncompensated_oz_in: (19.0, 1.0),
        uncompensated_percent: 7.6,
        compensated_oz_in: (0.46, 0.01),
        compensated_percent: 0.18,
    },
];

/// The jitter the text states for the uncompensated task, in seconds.
pub const STATED_UNCOMPENSATED_S: f64 = 3.60e-6;
/// The jitter the text states for the compensated task, in seconds (the caption has 0.0988 us).
pub const STATED_COMPENSATED_S: f64 = 0.098e-6;
/// A jitter from which the uncompensated column does follow, in seconds.
pub const FOUND_UNCOMPENSATED_S: f64 = 4.08e-6;

/// The table recomputed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NistTorques {
    /// The motors of the table.
    pub rows: Vec<TorqueRow>,
    /// Statements of the paper about it, tested.
    pub claims: Vec<Tested<Claim>>,
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
    /// The jitter in seconds.
    pub jitter_s: f64,
    pub oz_in: f64,
    /// Its share of the available torque in %.
    pub percent: f64,
}

/// Statement of the paper about the table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "says", rename_all = "kebab-case")]
pub enum Claim {
    /// The compensated torques follow from the stated jitter.
    CompensatedFollows {
        /// The stated jitter in seconds.
        stated_s: f64,
        /// The jitter from which they follow, from inclusive to exclusive.
        behind_s: Option<(f64, f64)>,
    },
    /// The uncompensated torques follow from the stated jitter.
    UncompensatedFollows {
        /// The stated jitter in seconds.
        stated_s: f64,
        /// The jitter from which they follow, from inclusive to exclusive.
        behind_s: Option<(f64, f64)>,
    },
    /// Jitter takes less than 10 % of the torque.
    BelowTenPercent {
        /// The largest share by any of these jitters, in %.
        largest_percent: f64,
    },
}

impl NistTorques {
    /// Computes the table by the paper's equation 7 and tests the paper's statements.
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
        let holds = |behind: Option<(f64, f64)>, stated| {
            behind.is_some_and(|(from, to)| from <= stated && stated < to)
        };
        let (compensated, uncompensated) =
            (jitter_behind(|row| row.compensated_oz_in), jitter_behind(|row| row.uncompensated_oz_in));
        let most_s = uncompensated.map_or(FOUND_UNCOMPENSATED_S, |(_, to)| to);
        let largest_percent = TABLE_1.iter().map(|row| row.percent(most_s)).fold(0.0, f64::max);
        NistTorques {
            rows: TABLE_1.map(row).into(),
            claims: vec![
                Tested::new(
                    Claim::CompensatedFollows { stated_s: STATED_COMPENSATED_S, behind_s: compensated },
                    Some(holds(compensated, STATED_COMPENSATED_S)),
                ),
                Tested::new(
                    Claim::UncompensatedFollows { stated_s: STATED_UNCOMPENSATED_S, behind_s: uncompensated },
                    Some(holds(uncompensated, STATED_UNCOMPENSATED_S)),
                ),
                Tested::new(Claim::BelowTenPercent { largest_percent }, Some(largest_percent < 10.0)),
            ],
        }
    }
}

impl PrintedRow {
    /// Full steps per second.
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

/// The range of jitter (seconds, from inclusive to exclusive) from which every printed torque of a column
/// follows when digits are cut off, not rounded; `None` if no jitter gives all of them.
///
/// The compensated column follows from 0.0980 to 0.0997 us, so from the stated jitter; the uncompensated one only
/// from 4.060 to 4.106 us, not from the stated 3.60 us. 4.08/0.0988 is the text's "about 40 times".
pub fn jitter_behind(column: impl Fn(&PrintedRow) -> (f64, f64)) -> Option<(f64, f64)> {
    let ranges = TABLE_1.iter().map(|row| {
        let (printed, place) = column(row);
        let per_second = row.torque_oz_in(1.0);
        (printed / per_second, (printed + place) / per_second)
    });
    let (from, to) =
        ranges.fold((0.0, f64::INFINITY), |all: (f64, f64), one| (all.0.max(one.0), all.1.min(one.1)));
    (from < to).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut((value, place): (f64, f64), computed: f64) -> bool {
        value <= computed + 1e-12 && computed < value + place
    }

    #[test]
    fn the_table_is_the_one_of_the_source_document() {
        let csv = include_str!("../../tests/data/nist-table1.csv");
        for (line, row) in csv.lines().skip(1).zip(TABLE_1) {
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
        for row in TABLE_1 {
            assert!(cut(row.compensated_oz_in, row.torque_oz_in(STATED_COMPENSATED_S)));
            assert!(!cut(row.uncompensated_oz_in, row.torque_oz_in(STATED_UNCOMPENSATED_S)));
            assert!(cut(row.uncompensated_oz_in, row.torque_oz_in(4.08e-6)));
            assert!(row.percent(4.11e-6) < 10.0, "the paper's conclusion holds either way");
        }
    }

    #[test]
    fn the_columns_come_from_these_ranges() {
        let (from, to) = jitter_behind(|row| row.uncompensated_oz_in).unwrap();
        assert!((from * 1e6 - 4.060).abs() < 1e-3 && (to * 1e6 - 4.106).abs() < 1e-3, "{from} {to}");
        let (from, to) = jitter_behind(|row| row.compensated_oz_in).unwrap();
        assert!((from * 1e6 - 0.09799).abs() < 1e-5 && (to * 1e6 - 0.09974).abs() < 1e-5, "{from} {to}");
    }

    #[test]
    fn the_table_s_claims_are_decided() {
        use crate::claims::StatementVerdict::{DoesNotHold, Holds};
        let standings = NistTorques::compute().claims.iter().map(|claim| claim.standing).collect::<Vec<_>>();
        assert_eq!(standings, [Holds, DoesNotHold, Holds]);
    }

    #[test]
    fn printed_percentages_are_cut_ratios_of_the_printed_torques() {
        for row in TABLE_1 {
            let ratio = 100.0 * row.uncompensated_oz_in.0 / (row.holding_oz_in / 2.0);
            assert_eq!((ratio * 10.0 + 1e-9).floor() / 10.0, row.uncompensated_percent);
        }
    }
}
