//! Smallest jump of the commanded angle that loses steps: the equal-area criterion of the swing equation.
//!
//! With the electrical load angle d, J/Nr d'' = T_L - h sin d (undamped). After a sudden jump of the command the
//! rotor swings; it falls back to the same step if its energy stays below the next unstable equilibrium at
//! pi - delta_0, with the potential U(x) = -cos x - (T_L/h) x. The same criterion decides the stability of
//! synchronous generators.

use std::f64::consts::{FRAC_PI_2, PI};

use jitterlab_model::Error;

use crate::error;

/// delta_0 = asin(T_L/h): load angle of the rotor at rest under a load.
pub fn load_angle_rad(load_ratio: f64) -> Result<f64, Error> {
    if (0.0..1.0).contains(&load_ratio) {
        Ok(load_ratio.asin())
    } else {
        Err(error::out_of_range("load torque / motor torque", load_ratio, error::BELOW_TORQUE))
    }
}

/// Largest jump in full steps by which the command may fall behind at a load of `load_ratio` = T_L/h. Pulses came late
/// or never. At constant speed and without damping: D with U(delta_0 - D) = U(pi - delta_0).
pub fn critical_jump(load_ratio: f64) -> Result<f64, Error> {
    let angle = load_angle_rad(load_ratio)?;
    let potential = |x: f64| -x.cos() - load_ratio * x;
    let barrier = potential(PI - angle);
    // U rises from the equilibrium backwards to its top at -pi - delta_0, which is at least as high as the barrier.
    let (mut low, mut high) = (0.0, PI + 2.0 * angle);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if potential(angle - middle) < barrier { low = middle } else { high = middle }
    }
    Ok(low / FRAC_PI_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_jumps_of_the_independent_computation() {
        // Load, load angle in degrees, critical jump in radians and full steps.
        for (ratio, degrees, late_rad, late) in [
            (0.25, 14.478, 1.705915, 1.086019),
            (0.50, 30.000, 1.198808, 0.763185),
            (0.75, 48.590, 0.765208, 0.487147),
            (0.90, 64.158, 0.460610, 0.293233),
        ] {
            let jump = critical_jump(ratio).unwrap();
            assert!((load_angle_rad(ratio).unwrap().to_degrees() - degrees).abs() < 6e-4);
            assert!((jump - late).abs() < 1e-6, "{ratio}: {jump}");
            // A full step is a quarter of an electrical cycle.
            assert!((jump * FRAC_PI_2 - late_rad).abs() < 1e-6, "{ratio}: {jump}");
        }
    }

    #[test]
    fn an_unloaded_rotor_survives_two_steps() {
        assert!((critical_jump(0.0).unwrap() - 2.0).abs() < 1e-6);
    }

    #[test]
    fn a_load_that_cannot_be_held_is_refused() {
        assert!(critical_jump(1.0).unwrap_err().to_string().contains("below the torque"));
        assert!(critical_jump(f64::NAN).is_err());
    }
}
