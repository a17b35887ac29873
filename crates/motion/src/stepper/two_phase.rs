//! The two-phase motor's equations, and one step of their solution.
//!
//! Electrical and mechanical equations of a hybrid stepper motor (as Simscape's Stepper Motor block states them,
//! without iron loss):
//!
//! ```text
//! e_A = -Km w sin(Nr th)                 e_B = Km w cos(Nr th)
//! L di_A/dt = v_A - R i_A - e_A          L di_B/dt = v_B - R i_B - e_B
//! J dw/dt = Km (-i_A sin(Nr th) + i_B cos(Nr th)) - T_d sin(4 Nr th) - B w - T_L
//! ```
//!
//! The drive is an ideal chopper (see [`Chopper`]): it moves each phase current towards its microstep value as far
//! as the supply voltage allows.
//!
//! A step of the solution takes the currents exactly, with the back-EMF of the middle of each half, and moves the
//! rotor with the Runge-Kutta-Nystrom method of order 4 on them.
//!
//! Why the solver is here and not a library's: between two pulses lie only one or two steps, and the supply's
//! limit makes corners, so neither dense output nor error control pays. Measured for 10 000 pulses a second on one
//! core: the ode_solvers crate's Dormand-Prince restarted at each pulse reaches 25 times real time, its
//! Runge-Kutta of order 4 in steps of 25 us 90 times.

use std::f64::consts::{FRAC_PI_2, SQRT_2, TAU};

use jitterlab_model::Error;

use super::axis::Axis;
use super::chopper::{CHOPPER_S, Chopper, ChopperStep};

/// Longest solver step: two time constants of the current loop, and a little for the jitter of a base period of 50 us.
const LONGEST_STEP_S: f64 = 55e-6;

/// A motor on its drive, with its rotor turning.
#[derive(Debug, Clone)]
pub(super) struct TwoPhase {
    km: f64,
    chopper: Chopper,
    pairs: f64,
    inverse_inertia: f64,
    detent: f64,
    friction: f64,
    load: f64,
    /// Reference currents of the phases at each microstep of one electrical cycle.
    table: Vec<(f64, f64)>,
    /// Size of a microstep in full steps.
    microstep: f64,
    /// Commanded microstep within the cycle.
    command: i64,
    state: MotorState,
}

/// Phase currents in A, shaft speed in rad/s, electrical rotor angle in rad (whole cycles are taken from it and
/// from the command together, so both stay small).
#[derive(Debug, Clone, Copy)]
struct MotorState {
    a: f64,
    b: f64,
    speed: f64,
    angle: f64,
}

impl TwoPhase {
    /// Motor running at a steady rate, at the load angle of its load: a start without much of a transient.
    pub fn with_steady_speed(axis: &Axis, full_steps_per_s: f64) -> Result<TwoPhase, Error> {
        let motor = &axis.motor;
        let purpose = "the simulation";
        let resistance = motor.resistance_ohm.ok_or_else(|| motor.missing_figure("resistance", purpose))?;
        let inductance = motor.inductance_h.ok_or_else(|| motor.missing_figure("inductance", purpose))?;
        let rotor =
            motor.rotor_inertia_kg_m2.ok_or_else(|| motor.missing_figure("rotor_inertia", purpose))?;
        let km = motor.torque_constant().ok_or_else(|| motor.missing_figure("current", purpose))?;
        let microsteps = i64::from(axis.microsteps);
        let peak = SQRT_2 * axis.supply.current_a;
        let table: Vec<(f64, f64)> = (0..4 * microsteps)
            .map(|n| (n as f64 * FRAC_PI_2 / microsteps as f64).sin_cos())
            .map(|(s, c)| (peak * c, peak * s))
            .collect();
        let torque = axis.torque_at(full_steps_per_s)?.min(km * peak);
        let speed = axis.shaft_rad_per_s(full_steps_per_s);
        let wanted = axis.load_torque_nm + axis.friction * speed;
        // The current follows its reference late by the chopper's time constant, and the rotor follows the current.
        let lag = (motor.pole_pairs() * speed * CHOPPER_S).atan();
        let angle = -(wanted / torque).clamp(-1.0, 1.0).asin() - lag;
        Ok(TwoPhase {
            km,
            chopper: Chopper::new(resistance, inductance, axis.supply.voltage_v),
            pairs: motor.pole_pairs(),
            inverse_inertia: 1.0 / (rotor + axis.load_inertia_kg_m2),
            detent: motor.detent_torque_nm.unwrap_or(0.0),
            friction: axis.friction,
            load: axis.load_torque_nm,
            state: MotorState { a: table[0].0, b: table[0].1, speed, angle },
            table,
            microstep: 1.0 / microsteps as f64,
            command: 0,
        })
    }

    /// Adds step pulses to the command at once (negative: backwards).
    pub fn add_pulses(&mut self, microsteps: i64) {
        self.command += microsteps;
    }

    /// Commanded minus actual electrical angle, in full steps: the load angle.
    pub fn load_angle_steps(&self) -> f64 {
        self.command as f64 * self.microstep - self.state.angle * (1.0 / FRAC_PI_2)
    }

    fn reference_currents(&self) -> (f64, f64) {
        self.table[self.command.rem_euclid(self.table.len() as i64) as usize]
    }

    /// Simulates `time_s`; calls `observe` with the motor and the step length after each solver step.
    pub fn advance(&mut self, time_s: f64, mut observe: impl FnMut(&TwoPhase, f64)) {
        if time_s <= 0.0 {
            return;
        }
        let cycle = self.table.len() as i64;
        let reference = self.reference_currents();
        let steps = (time_s / LONGEST_STEP_S - 1e-9).ceil().max(1.0);
        let step = time_s / steps;
        let half = ChopperStep::new(0.5 * step);
        for _ in 0..steps as u64 {
            self.integrate_step(reference, step, half);
            if self.state.angle > TAU {
                self.state.angle -= TAU;
                self.command -= cycle;
            } else if self.state.angle < -TAU {
                self.state.angle += TAU;
                self.command += cycle;
            }
            observe(self, step);
        }
    }

    /// One Runge-Kutta step of `h` seconds; `half` is the current loop's settling in half of it.
    #[inline(always)]
    fn integrate_step(&mut self, reference: (f64, f64), h: f64, half: ChopperStep) {
        let x = self.state;
        let base = x.angle.sin_cos();
        let k1 = self.acceleration((x.a, x.b), x.speed, base);
        let turned = |time: f64, k: f64| rotate_by(base, self.pairs * time * (x.speed + 0.5 * time * k));
        let currents = |(a, b): (f64, f64), time: f64| {
            let (sin, cos) = turned(time, k1);
            let emf = self.km * (x.speed + time * k1);
            (
                self.chopper.current_after(half, a, reference.0, -emf * sin),
                self.chopper.current_after(half, b, reference.1, emf * cos),
            )
        };
        let middle = currents((x.a, x.b), 0.25 * h);
        let end = currents(middle, 0.75 * h);
        let at_middle = turned(0.5 * h, k1);
        let k2 = self.acceleration(middle, x.speed + 0.5 * h * k1, at_middle);
        let k3 = self.acceleration(middle, x.speed + 0.5 * h * k2, at_middle);
        let k4 = self.acceleration(end, x.speed + h * k3, turned(h, k3));
        self.state = MotorState {
            a: end.0,
            b: end.1,
            speed: x.speed + h * (1.0 / 6.0) * (k1 + 2.0 * (k2 + k3) + k4),
            angle: x.angle + self.pairs * h * (x.speed + h * (1.0 / 6.0) * (k1 + k2 + k3)),
        };
    }

    /// Acceleration of the shaft in rad/s^2.
    #[inline(always)]
    fn acceleration(&self, (a, b): (f64, f64), speed: f64, (sin, cos): (f64, f64)) -> f64 {
        let (sin2, cos2) = (2.0 * sin * cos, 1.0 - 2.0 * sin * sin);
        let torque = self.km * (b * cos - a * sin) - self.detent * 2.0 * sin2 * cos2;
        (torque - self.friction * speed - self.load) * self.inverse_inertia
    }
}

/// Sine and cosine of an angle that is `by` further. Within a solver step that is a fraction of a radian, for
/// which the series to order 9 are exact to 1e-10; beyond (a rotor gone wild) the library's sine is taken.
#[inline(always)]
fn rotate_by((sin, cos): (f64, f64), by: f64) -> (f64, f64) {
    let (s, c) = if by.abs() < 0.4 {
        // Terms in pairs, so that the processor works on them side by side.
        let q = by * by;
        let q2 = q * q;
        let odd =
            (1.0 - q * (1.0 / 6.0)) + q2 * ((1.0 / 120.0 - q * (1.0 / 5_040.0)) + q2 * (1.0 / 362_880.0));
        let even = (1.0 - q * 0.5) + q2 * ((1.0 / 24.0 - q * (1.0 / 720.0)) + q2 * (1.0 / 40_320.0));
        (by * odd, even)
    } else {
        by.sin_cos()
    };
    (sin * c + cos * s, cos * c - sin * s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::stepper::{AxisFacts, Motor, ring_frequency_hz};

    #[test]
    fn the_rotated_sine_is_the_sine() {
        for n in -40..=40 {
            let by = f64::from(n) * 0.01;
            let (s, c) = rotate_by(1.0f64.sin_cos(), by);
            assert!((s - (1.0 + by).sin()).abs() < 1e-10 && (c - (1.0 + by).cos()).abs() < 1e-10);
        }
    }

    /// Rings the rotor at standstill with a small push and counts its swings.
    fn simulated_ring_hz(axis: &Axis) -> f64 {
        let mut motor = TwoPhase::with_steady_speed(axis, 0.0).unwrap();
        motor.state.speed = 0.02;
        let rest = motor.load_angle_steps();
        let (mut time, mut crossings, mut last) = (0.0, Vec::new(), 0.0);
        motor.advance(0.5, |m, h| {
            let now = m.load_angle_steps() - rest;
            time += h;
            if last < 0.0 && now >= 0.0 {
                crossings.push(time - h * now / (now - last));
            }
            last = now;
        });
        (crossings.len() - 1) as f64 / (crossings[crossings.len() - 1] - crossings[0])
    }

    #[test]
    fn the_simulated_rotor_rings_at_the_computed_frequency() {
        let with_detent: Motor = catalog::find_device("as1050", None).unwrap();
        let without = Motor { detent_torque_nm: Some(0.0), ..with_detent.clone() };
        for (motor, hz) in [(with_detent, 222.564150), (without, 205.468148)] {
            let facts = AxisFacts {
                load_torque_nm: Some(0.0),
                load_inertia_kg_m2: Some(0.0),
                friction: Some(0.0),
                voltage_v: Some(48.0),
                ..AxisFacts::default()
            };
            let axis = Axis::new(motor, None, facts).unwrap();
            assert!((ring_frequency_hz(&axis.motor, 0.0, 0.0).unwrap() - hz).abs() < 1e-4);
            let found = simulated_ring_hz(&axis);
            assert!((found - hz).abs() < 1e-4 * hz, "{found} {hz}");
        }
    }

    /// State after a time by the plainest means: the classical method with a library's sine and steps of 0.25 us.
    fn integrate_plainly(
        motor: &TwoPhase,
        axis: &Axis,
        x: MotorState,
        reference: (f64, f64),
        time_s: f64,
    ) -> MotorState {
        let (resistance, inductance) = (axis.motor.resistance_ohm.unwrap(), axis.motor.inductance_h.unwrap());
        let voltage = axis.supply.voltage_v;
        let plus = |x: MotorState, k: &MotorState, h: f64| MotorState {
            a: x.a + h * k.a,
            b: x.b + h * k.b,
            speed: x.speed + h * k.speed,
            angle: x.angle + h * k.angle,
        };
        let rates = |x: MotorState| {
            let (sin, cos) = x.angle.sin_cos();
            let phase = |i: f64, wanted: f64, emf: f64| {
                let wish = resistance * i + emf + (wanted - i) * inductance / CHOPPER_S;
                (wish.clamp(-voltage, voltage) - resistance * i - emf) / inductance
            };
            let torque = motor.km * (x.b * cos - x.a * sin) - motor.detent * (4.0 * x.angle).sin();
            MotorState {
                a: phase(x.a, reference.0, -motor.km * x.speed * sin),
                b: phase(x.b, reference.1, motor.km * x.speed * cos),
                speed: (torque - motor.friction * x.speed - motor.load) * motor.inverse_inertia,
                angle: motor.pairs * x.speed,
            }
        };
        let steps = (time_s / 0.25e-6).ceil().max(1.0);
        let h = time_s / steps;
        (0..steps as u64).fold(x, |x, _| {
            let k1 = rates(x);
            let k2 = rates(plus(x, &k1, 0.5 * h));
            let k3 = rates(plus(x, &k2, 0.5 * h));
            let k4 = rates(plus(x, &k3, h));
            [(k1, 6.0), (k2, 3.0), (k3, 3.0), (k4, 6.0)].iter().fold(x, |x, (k, part)| plus(x, k, h / part))
        })
    }

    #[test]
    fn the_solution_is_that_of_the_plain_method_in_steps_two_hundred_times_shorter() {
        let motor: Motor = catalog::find_device("as1050", None).unwrap();
        for (voltage_v, microsteps, full_steps_per_s) in [
            (48.0, 10, 500.0),
            (48.0, 10, 1000.0),
            (48.0, 10, 2000.0),
            (48.0, 10, 3000.0),
            (48.0, 2, 1418.45),
            (24.0, 8, 1000.0),
            (24.0, 8, 2000.0),
        ] {
            let facts = AxisFacts {
                voltage_v: Some(voltage_v),
                microsteps: Some(microsteps),
                ..AxisFacts::default()
            };
            let axis = Axis::new(motor.clone(), None, facts).unwrap();
            let mut quick = TwoPhase::with_steady_speed(&axis, full_steps_per_s).unwrap();
            let mut plain = quick.clone();
            let interval_s = 1.0 / axis.pulses_per_s(full_steps_per_s);
            let (mut furthest, mut ripple) = (0.0f64, (f64::MAX, f64::MIN));
            for pulse in 0..(0.1 / interval_s) as u64 {
                // Every pulse early or late, and one much too late.
                let late_s = if pulse % 500 == 300 { 100e-6 } else { (pulse % 7) as f64 * 2e-6 - 6e-6 };
                let time_s = interval_s + late_s;
                quick.advance(time_s, |_, _| {});
                plain.state =
                    integrate_plainly(&plain, &axis, plain.state, plain.reference_currents(), time_s);
                quick.add_pulses(1);
                plain.add_pulses(1);
                let load_angle = plain.load_angle_steps();
                furthest = furthest.max((quick.load_angle_steps() - load_angle).abs());
                ripple = (ripple.0.min(load_angle), ripple.1.max(load_angle));
            }
            let ripple = ripple.1 - ripple.0;
            println!(
                "{voltage_v} V, 1/{microsteps}, {full_steps_per_s}/s: {furthest:.1e} of {ripple:.2} full steps"
            );
            assert!(furthest < 4e-3 && furthest < 5e-3 * ripple, "{furthest} {ripple}");
        }
    }
}
