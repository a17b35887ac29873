//! The frequency at which a rotor rings, the one at which periodic timing errors are amplified.

use std::f64::consts::TAU;

use jitterlab_model::Error;

use super::motor::Motor;
use super::step_loss::load_angle_rad;

/// Small-signal frequency of the rotor in its magnetic spring, at standstill on a full step. It is sqrt((Nr h cos d + 4
/// Nr T_d cos 4d) / J) / 2 pi, with the load angle d at which h sin d + T_d sin 4d = T_L (Acarnley, Stepping Motors,
/// chapter 4, with the detent torque as a fourth-harmonic spring).
///
/// `extra_inertia_kg_m2` moves with the rotor. An unknown detent torque counts as zero.
pub fn ring_frequency_hz(motor: &Motor, load_torque_nm: f64, extra_inertia_kg_m2: f64) -> Result<f64, Error> {
    let rotor = motor
        .rotor_inertia_kg_m2
        .ok_or_else(|| motor.missing_figure("rotor_inertia", "the ring frequency"))?;
    let (h, detent) = (motor.holding_torque_nm, motor.detent_torque_nm.unwrap_or(0.0));
    let mut angle = load_angle_rad(load_torque_nm / h)?;
    for _ in 0..50 {
        let excess = h * angle.sin() + detent * (4.0 * angle).sin() - load_torque_nm;
        angle -= excess / (h * angle.cos() + 4.0 * detent * (4.0 * angle).cos());
    }
    let stiffness = motor.pole_pairs() * (h * angle.cos() + 4.0 * detent * (4.0 * angle).cos());
    if !(stiffness.is_finite() && stiffness > 0.0) {
        return Err(Error::bad_use(format!(
            "{} does not hold {load_torque_nm} N m at a stable angle: lower the load torque",
            motor.name
        )));
    }
    Ok((stiffness / (rotor + extra_inertia_kg_m2)).sqrt() / TAU)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn as1050_rings_as_computed_independently() {
        let with_detent: Motor = catalog::find_device("as1050", None).unwrap();
        let without = Motor { detent_torque_nm: None, ..with_detent.clone() };
        let rotor = with_detent.rotor_inertia_kg_m2.unwrap();
        for (motor, load, extra, hz) in [
            (&without, 0.0, 0.0, 205.468148),
            (&with_detent, 0.0, 0.0, 222.564150),
            (&without, 0.0, rotor, 145.287921),
            (&without, 0.6, 0.0, 191.209657),
        ] {
            let found = ring_frequency_hz(motor, load, extra).unwrap();
            assert!((found - hz).abs() < 1e-4 * hz.min(1.0), "{found} {hz}");
        }
    }

    /// Jones, *Control of Stepping Motors*: f = sqrt(h / (8 pi mu S)) with the moment of inertia mu and the step S in rad.
    #[test]
    fn jones_s_formula_is_the_same() {
        for name in ["as1030", "as1050", "as1060"] {
            let motor = Motor { detent_torque_nm: None, ..catalog::find_device(name, None).unwrap() };
            let step_rad = motor.step_angle_deg.to_radians();
            let inertia = motor.rotor_inertia_kg_m2.unwrap() * 3.0;
            let jones = (motor.holding_torque_nm / (8.0 * std::f64::consts::PI * inertia * step_rad)).sqrt();
            let found = ring_frequency_hz(&motor, 0.0, inertia * 2.0 / 3.0).unwrap();
            assert!((found / jones - 1.0).abs() < 1e-12, "{name}: {found} {jones}");
        }
    }

    #[test]
    fn a_motor_without_inertia_says_what_to_add() {
        let motor: Motor = catalog::find_device("nist-23", None).unwrap();
        let message = ring_frequency_hz(&motor, 0.0, 0.0).unwrap_err().to_string();
        assert!(message.contains("rotor_inertia = \"0.3 kg cm2\""));
    }
}
