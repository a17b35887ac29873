//! The torque that jitter takes: Proctor and Shackleford (NIST, 2001), equations 4 to 7, and the exact torque
//! at a load.

use std::f64::consts::{FRAC_PI_2, PI};

use serde::Serialize;

use jitterlab_model::Error;

use super::step_loss::load_angle_rad;

/// Torque that jitter costs at a speed in full steps per second, by NIST equation 7. There it collapses to dT = (pi/2)
/// h f dt, in the unit of h. Positive for a positive `jitter_s`.
pub fn linear_torque_nm(holding_torque_nm: f64, steps_per_s: f64, jitter_s: f64) -> f64 {
    FRAC_PI_2 * holding_torque_nm * steps_per_s * jitter_s
}

/// Torque of NIST equation 7 as a share of an available torque of half the holding torque (NIST table 1): pi f dt. 0.01 is 1 %.
pub fn linear_share(steps_per_s: f64, jitter_s: f64) -> f64 {
    PI * steps_per_s * jitter_s
}

/// The speed in full steps per second at which [`linear_share`] reaches `share`; infinite without jitter.
pub fn speed_at_linear_share(share: f64, jitter_s: f64) -> f64 {
    share / (PI * jitter_s)
}

/// Exact effect of a displacement of one step pulse by `jitter_s` on a loaded motor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JitterTorque {
    /// NIST equation 7.
    pub linear_nm: f64,
    /// The pulse comes early: the load angle is larger for that time, and so is the torque.
    pub early_nm: f64,
    /// The pulse comes late: the load angle is smaller; negative.
    pub late_nm: f64,
}

/// Torque of a jitter around the load angle, linear and exact. T = h sin(delta) at delta_0 = asin(T_L/h), displaced by
/// (pi/2) f dt.
pub fn jitter_torque(
    holding_torque_nm: f64,
    load_torque_nm: f64,
    steps_per_s: f64,
    jitter_s: f64,
) -> Result<JitterTorque, Error> {
    let angle = load_angle_rad(load_torque_nm / holding_torque_nm)?;
    let shift = FRAC_PI_2 * steps_per_s * jitter_s;
    let at = |delta: f64| holding_torque_nm * (delta.sin() - angle.sin());
    Ok(JitterTorque {
        linear_nm: linear_torque_nm(holding_torque_nm, steps_per_s, jitter_s),
        early_nm: at(angle + shift),
        late_nm: at(angle - shift),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::OZ_IN;

    /// Holding torque (oz-in), speed (full steps/s), and dT in oz-in at 3.6 us, share of h/2 in %, and both at
    /// 0.098 us. Independent computation.
    const ROWS: [(f64, f64, [f64; 4]); 3] = [
        (23.0, 6000.0, [0.780372, 6.78584, 0.021243, 0.18473]),
        (80.0, 2680.0, [1.212403, 3.03101, 0.033004, 0.08251]),
        (500.0, 6000.0, [16.964600, 6.78584, 0.461814, 0.18473]),
    ];

    #[test]
    fn equation_7_gives_the_independent_values() {
        for (h, f, expected) in ROWS {
            let uncompensated = linear_torque_nm(h, f, 3.6e-6);
            let compensated = linear_torque_nm(h, f, 0.098e-6);
            let got = [
                uncompensated,
                100.0 * linear_share(f, 3.6e-6),
                compensated,
                100.0 * linear_share(f, 0.098e-6),
            ];
            for (g, e) in got.iter().zip(expected) {
                assert!((g - e).abs() <= 6e-6 * e.max(1.0), "{h} oz-in: {g} {e}");
            }
        }
    }

    #[test]
    fn table_1_at_the_jitters_that_may_stand_behind_it() {
        // 0.0988 us is the text's figure; 4.08 us gives the table's uncompensated columns, cut: 0.88, 1.3, 19.
        let compensated = [(0.021417, 0.18623), (0.033274, 0.08318), (0.465584, 0.18623)];
        let uncompensated = [0.8844, 1.3741, 19.227];
        for (((h, f, _), (torque, percent)), other) in ROWS.iter().zip(compensated).zip(uncompensated) {
            assert!((linear_torque_nm(*h, *f, 0.0988e-6) - torque).abs() < 6e-7);
            assert!((100.0 * linear_share(*f, 0.0988e-6) - percent).abs() < 6e-6);
            assert!((linear_torque_nm(*h, *f, 4.08e-6) - other).abs() < 6e-5 * other.max(1.0));
        }
    }

    #[test]
    fn torques_in_si_and_the_share_of_a_base_period_of_50_us() {
        for (h, f, nm) in
            [(23.0, 6000.0, 5.510635e-3), (80.0, 2680.0, 8.561450e-3), (500.0, 6000.0, 119.796404e-3)]
        {
            assert!((linear_torque_nm(h * OZ_IN, f, 3.6e-6) - nm).abs() < 1e-9);
        }
        assert!((linear_share(6000.0, 50e-6) - 0.9425).abs() < 5e-5);
    }

    #[test]
    fn at_half_load_the_exact_torque_is_smaller() {
        let row = jitter_torque(23.0, 11.5, 6000.0, 3.6e-6).unwrap();
        assert!((row.early_nm - 0.669073).abs() < 1e-6);
        assert!((row.late_nm + 0.682311).abs() < 1e-6);
        assert!((row.linear_nm - 0.780372).abs() < 1e-6);
    }

    #[test]
    fn the_speed_for_a_share_inverts_the_share() {
        let f = speed_at_linear_share(0.1, 35e-6);
        assert!((linear_share(f, 35e-6) - 0.1).abs() < 1e-15);
    }
}
