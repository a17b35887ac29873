//! NIST's table 1, recomputed: Proctor and Shackleford, "Real-time Operating System Timing Jitter and its Impact
//! on Motor Control" (2001), section 4.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::paper::Paper;
use crate::statement::Evidence;

use jitterlab_motion::stepper::jitter_torque::{linear_share, linear_torque_nm};

/// One motor of the table as printed: torques in oz-in, shares in % of the available torque.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Motor {
    /// Holding torque h in oz-in.
    pub holding_oz_in: f64,
    /// Step angle S in degrees.
    pub step_deg: f64,
    /// Speed in revolutions per second, where the motor has half its holding torque.
    pub rev_per_s: f64,
    /// T_u: torque due to the uncompensated jitter; and its last printed digit's place value.
    pub uncompensated_oz_in: (f64, f64),
    pub uncompensated_percent: f64,
    /// T_c: torque due to the compensated jitter; and its last printed digit's place value.
    pub compensated_oz_in: (f64, f64),
    pub compensated_percent: f64,
}

pub fn printed_motors() -> Vec<Motor> {
    Paper::Nist.data_part("motors")
}

/// The jitter the text states for the uncompensated task, in seconds.
pub const STATED_UNCOMPENSATED_S: f64 = 3.60e-6;
/// The jitter the text states for the compensated task, in seconds (the caption has 0.0988 us).
pub const STATED_COMPENSATED_S: f64 = 0.098e-6;
/// A jitter from which the uncompensated column does follow, in seconds.
pub const FOUND_UNCOMPENSATED_S: f64 = 4.08e-6;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TorqueRow {
    pub printed: Motor,
    /// Torque in oz-in and its share in %: from the stated uncompensated jitter, from the one that gives the printed torques, and
    /// from the stated compensated one.
    pub computed: [(f64, f64); 3],
    /// Speed in rad/s, displacement in urad, spring constant in oz-in/rad, and the torque by equations 5 and 7 in oz-in, for the
    /// stated uncompensated jitter.
    pub equations: [f64; 5],
}

pub fn recompute_table() -> Vec<TorqueRow> {
    let row = |printed: Motor| {
        let jitters_s = [STATED_UNCOMPENSATED_S, FOUND_UNCOMPENSATED_S, STATED_COMPENSATED_S];
        let computed = jitters_s.map(|s| (printed.torque_oz_in(s), printed.torque_percent(s)));
        let speed = 2.0 * PI * printed.rev_per_s;
        let displacement = speed * STATED_UNCOMPENSATED_S;
        let spring_oz_in = PI / 2.0 * printed.holding_oz_in / printed.step_deg.to_radians();
        let torques = [-spring_oz_in * displacement, -computed[0].0];
        let equations = [speed, displacement * 1e6, spring_oz_in, torques[0], torques[1]];
        TorqueRow { printed, computed, equations }
    };
    printed_motors().into_iter().map(row).collect()
}

/// Evidence on the paper's statements about the table, which its own numbers decide.
pub fn evidence() -> impl Iterator<Item = Evidence> {
    let statements =
        ["table-1-compensated", "table-1-uncompensated", "below-ten-percent", "below-one-percent"];
    statements.into_iter().filter_map(|statement| Paper::Nist.printed_evidence(statement))
}

impl Motor {
    pub fn steps_per_s(&self) -> f64 {
        self.rev_per_s * 360.0 / self.step_deg
    }

    /// Torque due to a jitter by equation 7, in oz-in.
    pub fn torque_oz_in(&self, jitter_s: f64) -> f64 {
        linear_torque_nm(self.holding_oz_in, self.steps_per_s(), jitter_s)
    }

    /// Torque due to a jitter, as a share of half the holding torque in %.
    pub fn torque_percent(&self, jitter_s: f64) -> f64 {
        100.0 * linear_share(self.steps_per_s(), jitter_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts_to((value, place): (f64, f64), computed: f64) -> bool {
        value <= computed + 1e-12 && computed < value + place
    }

    #[test]
    fn the_table_is_the_one_of_the_source_document() {
        let csv = include_str!("../tests/data/nist-table1.csv");
        for (line, row) in csv.lines().skip(1).zip(printed_motors()) {
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
        for row in printed_motors() {
            assert!(cuts_to(row.compensated_oz_in, row.torque_oz_in(STATED_COMPENSATED_S)));
            assert!(!cuts_to(row.uncompensated_oz_in, row.torque_oz_in(STATED_UNCOMPENSATED_S)));
            assert!(cuts_to(row.uncompensated_oz_in, row.torque_oz_in(4.08e-6)));
            assert!(row.torque_percent(4.11e-6) < 10.0, "the paper's conclusion holds either way");
        }
    }

    /// The range of jitter in seconds from which every printed torque of a column follows when digits are cut off, not rounded; its
    /// end lies before its beginning if no jitter gives all of them.
    ///
    /// The compensated column follows from 0.0980 to 0.0997 us, so from the stated jitter; the uncompensated one only
    /// from 4.060 to 4.106 us, not from the stated 3.60 us. 4.08/0.0988 is the text's "about 40 times".
    fn jitter_behind(table: &[Motor], column: impl Fn(&Motor) -> (f64, f64)) -> (f64, f64) {
        let ranges = table.iter().map(|row| {
            let (printed, place) = column(row);
            let per_second = row.torque_oz_in(1.0);
            (printed / per_second, (printed + place) / per_second)
        });
        ranges.fold((0.0, f64::INFINITY), |all: (f64, f64), one| (all.0.max(one.0), all.1.min(one.1)))
    }

    #[test]
    fn the_columns_come_from_these_ranges() {
        let (from, to) = jitter_behind(&printed_motors(), |row| row.uncompensated_oz_in);
        assert!((from * 1e6 - 4.060).abs() < 1e-3 && (to * 1e6 - 4.106).abs() < 1e-3, "{from} {to}");
        let (from, to) = jitter_behind(&printed_motors(), |row| row.compensated_oz_in);
        assert!((from * 1e6 - 0.09799).abs() < 1e-5 && (to * 1e6 - 0.09974).abs() < 1e-5, "{from} {to}");
    }

    #[test]
    fn the_table_s_statements_are_decided_by_its_numbers() {
        use crate::statement::StatementVerdict::{DoesNotHold, Holds};
        let statements = Paper::Nist.statements();
        let all: Vec<Evidence> = evidence().collect();
        let verdict = |evidence: &Evidence| {
            statements.iter().find(|of| of.name == evidence.statement).unwrap().verdict(evidence)
        };
        assert_eq!(all.iter().map(verdict).collect::<Vec<_>>(), [Holds, DoesNotHold, Holds, Holds]);
        let motors = printed_motors();
        let compensated = jitter_behind(&motors, |motor| motor.compensated_oz_in);
        let uncompensated = jitter_behind(&motors, |motor| motor.uncompensated_oz_in);
        let largest = |s| motors.iter().map(|motor| motor.torque_percent(s)).fold(0.0, f64::max);
        // Distance of the stated jitter from those that give the printed torques.
        let off = |stated_s: f64, (from_s, to_s): (f64, f64)| {
            (from_s - stated_s).max(stated_s - to_s).max(0.0) * 1e9
        };
        for (number, name, computed) in [
            (0, "from", compensated.0 * 1e9),
            (0, "to", compensated.1 * 1e9),
            (0, "off", off(STATED_COMPENSATED_S, compensated)),
            (1, "from", uncompensated.0 * 1e9),
            (1, "to", uncompensated.1 * 1e9),
            (1, "off", off(STATED_UNCOMPENSATED_S, uncompensated)),
            (2, "largest", largest(uncompensated.1)),
            (3, "largest", largest(compensated.1)),
        ] {
            let printed = all[number].values[name].as_f64().unwrap();
            assert!((printed - computed).abs() < 0.05, "{number}, {name}: {printed}, {computed}");
        }
    }

    #[test]
    fn printed_percentages_are_cut_ratios_of_the_printed_torques() {
        for row in printed_motors() {
            let ratio = 100.0 * row.uncompensated_oz_in.0 / (row.holding_oz_in / 2.0);
            assert_eq!((ratio * 10.0 + 1e-9).floor() / 10.0, row.uncompensated_percent);
        }
    }
}
