//! The full motor model against the equal-area criterion and the published bands.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::f64::consts::{FRAC_PI_2, SQRT_2, TAU};

use jitterlab_model::Overrun;
use jitterlab_motion::catalog;
use jitterlab_motion::stepper::{Axis, AxisFacts, Motor, PulseTrain, simulate};

/// AS1050 on 48 V, 10 microsteps, J = 2 Jr, B = 5e-4 N m s, half load, no detent torque.
fn axis() -> Axis {
    driven(10, 5e-4, 0.6)
}

fn driven(microsteps: u32, friction: f64, load_torque_nm: f64) -> Axis {
    let motor = Motor { detent_torque_nm: Some(0.0), ..catalog::find_device("as1050", None).unwrap() };
    let facts = AxisFacts {
        voltage_v: Some(48.0),
        microsteps: Some(microsteps),
        load_torque_nm: Some(load_torque_nm),
        load_inertia_kg_m2: Some(3.6e-5),
        friction: Some(friction),
        ..AxisFacts::default()
    };
    Axis::new(motor, None, facts).unwrap()
}

/// A uniform train that loses `lost_steps` full steps of time at `stall_s`; with `burst`, the pulses of that time
/// come back to back at the end of the stall.
fn train(full_steps_per_s: f64, lost_steps: f64, burst: bool, stall_s: f64, end_s: f64) -> Vec<i64> {
    let period = 1e9 / (10.0 * full_steps_per_s);
    let stall = (stall_s * 1e9 / period).ceil();
    let lost = lost_steps * 10.0 * period;
    let mut last = i64::MIN;
    (0..(end_s * 1e9 / period) as i64)
        .map(|n| {
            let ideal = n as f64 * period;
            let late = if n as f64 <= stall {
                0.0
            } else if burst {
                (stall * period + lost - ideal).max(0.0)
            } else {
                lost
            };
            last = ((ideal + late) as i64).max(last + 2_000);
            last
        })
        .collect()
}

fn keeps_steps(full_steps_per_s: f64, lost_steps: f64, burst: bool) -> bool {
    let pulses = train(full_steps_per_s, lost_steps, burst, 1.2, 2.0);
    simulate(&axis(), full_steps_per_s, pulses, 0.8).unwrap().lost_no_step()
}

fn critical_loss(full_steps_per_s: f64, burst: bool, mut high: f64) -> f64 {
    let mut low = 0.2;
    assert!(keeps_steps(full_steps_per_s, low, burst), "{full_steps_per_s}");
    assert!(!keeps_steps(full_steps_per_s, high, burst), "{full_steps_per_s}");
    while high - low > 0.005 {
        let middle = 0.5 * (low + high);
        if keeps_steps(full_steps_per_s, middle, burst) { low = middle } else { high = middle }
    }
    low
}

#[test]
fn a_lost_time_costs_steps_in_the_band_of_the_equal_area_criterion() {
    for f in [1000.0, 2000.0, 3000.0, 4000.0] {
        let critical = critical_loss(f, false, 1.5);
        println!("{f} full steps/s: D_crit {critical:.3} full steps");
        assert!((0.6..0.85).contains(&critical), "{f}: {critical}");
    }
}

#[test]
fn catching_up_in_a_burst_survives_longer_stalls() {
    // Published: 1.29, 1.86 and, "indicative", more than 5 for the others. The rotor coasts through such a
    // stall for more than a cycle before the burst makes the command catch up with it.
    for (f, band) in [(1000.0, 1.2..1.4), (2000.0, 1.7..2.1), (3000.0, 4.6..5.5), (4000.0, 4.6..6.0)] {
        let critical = critical_loss(f, true, 6.0);
        println!("{f} full steps/s, burst: D_crit {critical:.3} full steps");
        assert!(band.contains(&critical), "{f}: {critical}");
    }
}

/// Peak-to-peak ripple in full steps: half-stepping, J = 2 Jr, B = 2e-3, quarter load, without detent torque.
fn half_step_ripple(full_steps_per_s: f64, base_period_ns: i64) -> f64 {
    let axis = driven(2, 2e-3, 0.3);
    let ticks = (2e9 / base_period_ns as f64) as usize;
    let latencies = std::iter::repeat_n(0, ticks);
    let pulses = PulseTrain::new(latencies, base_period_ns, 2.0 * full_steps_per_s, Overrun::Skip);
    simulate(&axis, full_steps_per_s, pulses.map(|p| p.time_ns), 1.0).unwrap().ripple_steps
}

#[test]
fn a_beat_at_the_resonance_more_than_doubles_the_ripple() {
    let ideal = half_step_ripple(1418.45, 1_000);
    let (at_resonance, shorter) = (half_step_ripple(1418.45, 50_000), half_step_ripple(1418.45, 25_000));
    let off_resonance = half_step_ripple(1300.0, 50_000);
    println!(
        "ripple: ideal {ideal:.3}, 50 us {at_resonance:.3}, 25 us {shorter:.3}, 1300/s {off_resonance:.3}"
    );
    // Published: 0.50, 1.16, 0.56, 0.58, without a word on the load; a quarter of the holding torque meets them.
    for (found, published) in [(ideal, 0.50), (at_resonance, 1.16), (shorter, 0.56), (off_resonance, 0.58)] {
        assert!((found - published).abs() < 0.05 * published, "{found} {published}");
    }
}

/// The same axis by the textbook: the fourth-order Runge-Kutta method in steps of 1 us on all five equations
/// at once, with the voltage of the current loop limited to the supply. True if the rotor ends at the
/// commanded step.
fn keeps_steps_by_the_textbook(full_steps_per_s: f64, pulses_ns: &[i64]) -> bool {
    const CURRENT_LOOP_S: f64 = 25e-6;
    let axis = axis();
    let motor = &axis.motor;
    let (resistance, inductance) = (motor.resistance_ohm.unwrap(), motor.inductance_h.unwrap());
    let (km, pairs, peak) =
        (motor.torque_constant().unwrap(), motor.pole_pairs(), SQRT_2 * axis.supply.current_a);
    let inertia = motor.rotor_inertia_kg_m2.unwrap() + axis.load_inertia_kg_m2;
    let rates = |[a, b, speed, angle]: [f64; 4], commanded: f64| {
        let (sin, cos) = (pairs * angle).sin_cos();
        let current = |i: f64, wanted: f64, emf: f64| {
            let asked = resistance * i + emf + inductance / CURRENT_LOOP_S * (wanted - i);
            (asked.clamp(-axis.supply.voltage_v, axis.supply.voltage_v) - resistance * i - emf) / inductance
        };
        let torque = km * (b * cos - a * sin) - axis.friction * speed - axis.load_torque_nm;
        [
            current(a, peak * commanded.cos(), -km * speed * sin),
            current(b, peak * commanded.sin(), km * speed * cos),
            torque / inertia,
            speed,
        ]
    };
    let along = |x: [f64; 4], k: [f64; 4], h: f64| [0, 1, 2, 3].map(|n| x[n] + h * k[n]);
    let microstep = FRAC_PI_2 / f64::from(axis.microsteps);
    let speed = axis.shaft_rad_per_s(full_steps_per_s);
    let mut state = [peak, 0.0, speed, -(0.6f64 / 1.2).asin() / pairs];
    let behind = |state: [f64; 4], pulses: usize| (pulses as f64 * microstep - pairs * state[3]) / TAU;
    let mut settled = 0.0;
    for (number, pair) in pulses_ns.windows(2).enumerate() {
        let time_s = (pair[1] - pair[0]) as f64 * 1e-9;
        let steps = (time_s / 1e-6).ceil();
        let h = time_s / steps;
        let commanded = (number + 1) as f64 * microstep;
        for _ in 0..steps as u64 {
            let k1 = rates(state, commanded);
            let k2 = rates(along(state, k1, 0.5 * h), commanded);
            let k3 = rates(along(state, k2, 0.5 * h), commanded);
            let k4 = rates(along(state, k3, h), commanded);
            state = [0, 1, 2, 3].map(|n| state[n] + h / 6.0 * (k1[n] + 2.0 * (k2[n] + k3[n]) + k4[n]));
        }
        if pair[0] < 1_000_000_000 {
            settled = behind(state, number + 1);
        }
    }
    (behind(state, pulses_ns.len() - 1) - settled).abs() < 0.5
}

#[test]
fn steps_are_lost_in_a_burst_where_the_textbook_loses_them() {
    for f in [1000.0, 1400.0, 2000.0, 2600.0, 3000.0, 3600.0, 4000.0] {
        // Seen once in steps of 0.1, 385 in all: none apart.
        for tenths in (5..60).step_by(6) {
            let lost = f64::from(tenths) * 0.1;
            let textbook = keeps_steps_by_the_textbook(f, &train(f, lost, true, 1.2, 2.0));
            assert_eq!(keeps_steps(f, lost, true), textbook, "{f} full steps/s, {lost} lost");
        }
    }
}
