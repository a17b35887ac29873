//! The torque a motor has left at speed: the ideal curve under a current limit.
//!
//! It is an upper bound: iron loss, saturation and the chopper's ripple take more.

use std::f64::consts::SQRT_2;

use serde::{Deserialize, Serialize};

use jitterlab_model::Error;

use super::motor::Motor;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Supply {
    pub voltage_v: f64,
    /// Current of each phase with both phases on, in A; the peak while microstepping is sqrt(2) of it.
    pub current_a: f64,
}

struct Winding {
    km: f64,
    resistance: f64,
    /// Reactance for each rad/s of the shaft, Nr L.
    reactance: f64,
}

fn winding(motor: &Motor) -> Result<Winding, Error> {
    let purpose = "the torque at speed";
    Ok(Winding {
        km: motor.torque_constant().ok_or_else(|| motor.missing_figure("current", purpose))?,
        resistance: motor.resistance_ohm.ok_or_else(|| motor.missing_figure("resistance", purpose))?,
        reactance: motor.pole_pairs()
            * motor.inductance_h.ok_or_else(|| motor.missing_figure("inductance", purpose))?,
    })
}

/// Largest torque at a shaft speed within the current and voltage of the supply; zero where none drives the motor. The
/// phase currents have an amplitude of at most sqrt(2) I and the voltages of V, over all current phasors (so including
/// field weakening): the highest quadrature current in the intersection of two discs.
pub fn limited_torque_nm(motor: &Motor, supply: Supply, shaft_rad_per_s: f64) -> Result<f64, Error> {
    let w = winding(motor)?;
    let peak = SQRT_2 * supply.current_a;
    let x = shaft_rad_per_s * w.reactance;
    let emf = w.km * shaft_rad_per_s;
    let z2 = w.resistance.powi(2) + x.powi(2);
    // |v| <= V, with v = (R + jX) i + j e, is a disc of currents around -j e/(R + jX) with the radius V/Z.
    let (d, q, radius) = (-emf * x / z2, -emf * w.resistance / z2, supply.voltage_v / z2.sqrt());
    let inside_voltage = |i: (f64, f64)| (i.0 - d).hypot(i.1 - q) <= radius;
    let distance = d.hypot(q);
    let quadrature = if inside_voltage((0.0, peak)) {
        peak
    } else if d.hypot(q + radius) <= peak {
        q + radius
    } else if distance >= radius + peak {
        0.0
    } else {
        // The upper of the two points where the circles cross.
        let along = (peak.powi(2) - radius.powi(2) + distance.powi(2)) / (2.0 * distance);
        let across = (peak.powi(2) - along.powi(2)).max(0.0).sqrt();
        (q * along + d.abs() * across) / distance
    };
    Ok((w.km * quadrature).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use std::f64::consts::TAU;

    fn as1050() -> Motor {
        catalog::find_device("as1050", None).unwrap()
    }

    /// Pull-out torque when both phases are fed with sinusoidal voltages of amplitude V and nothing limits the
    /// current: Km V/Z - Km^2 w R/Z^2 with Z^2 = R^2 + (Nr w L)^2 (Acarnley, Stepping Motors, chapter 5; Kenjo).
    fn voltage_fed_torque_nm(voltage_v: f64, shaft_rad_per_s: f64) -> f64 {
        let w = winding(&as1050()).unwrap();
        let z2 = w.resistance.powi(2) + (shaft_rad_per_s * w.reactance).powi(2);
        w.km * voltage_v / z2.sqrt() - w.km.powi(2) * shaft_rad_per_s * w.resistance / z2
    }

    #[test]
    fn voltage_fed_pull_out_of_the_independent_computation() {
        let curve = [(10.0, 2.93028), (15.0, 1.95917), (20.0, 1.47087), (25.0, 1.17725), (30.0, 0.98130)];
        for (rev, nm) in curve {
            assert!((voltage_fed_torque_nm(48.0, TAU * rev) - nm).abs() < 1e-5);
        }
    }

    #[test]
    fn the_curve_under_a_current_limit() {
        let supply = Supply { voltage_v: 48.0, current_a: 5.0 };
        // The published check values come from a search over a grid of phasors and lie up to 4.5e-4 below the
        // true maximum (at 25 rev/s 1.13997 against 1.14048); the closed form may only be above them.
        let grid =
            [(5.0, 1.2), (20.0, 1.2), (22.0, 1.19813), (25.0, 1.13997), (30.0, 0.98125), (40.0, 0.73586)];
        for (rev, nm) in grid {
            let torque = limited_torque_nm(&as1050(), supply, TAU * rev).unwrap();
            assert!((-1e-9..5e-4 * nm).contains(&(torque - nm)), "{rev} rev/s: {torque}");
        }
        // Maxima over four million phasors on the boundary of the current and of the voltage limit.
        for (rev, nm) in [(22.0, 1.19815), (25.0, 1.14048), (30.0, 0.98130), (40.0, 0.73616)] {
            let torque = limited_torque_nm(&as1050(), supply, TAU * rev).unwrap();
            assert!((torque - nm).abs() < 6e-6, "{rev} rev/s: {torque}");
        }
    }

    #[test]
    fn without_the_current_in_the_way_both_curves_are_one() {
        let plenty = Supply { voltage_v: 48.0, current_a: 500.0 };
        for rev in [10.0, 30.0, 60.0] {
            let fed = voltage_fed_torque_nm(48.0, TAU * rev);
            assert!((limited_torque_nm(&as1050(), plenty, TAU * rev).unwrap() - fed).abs() < 1e-12);
        }
    }

    #[test]
    fn a_supply_too_weak_for_the_current_gives_less_torque() {
        let supply = Supply { voltage_v: 1.0, current_a: 5.0 };
        assert!(limited_torque_nm(&as1050(), supply, 0.0).unwrap() < 1.2);
        assert_eq!(limited_torque_nm(&as1050(), supply, TAU * 500.0).unwrap(), 0.0);
    }
}
