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
//! The drive is an ideal chopper: it moves each phase current towards its microstep value with a time constant of
//! 25 us (a 20 to 40 kHz chopper) as far as the supply voltage allows.
//!
//! Why the solver is here and not a library's: between two pulses lie only one or two steps, and the clamped
//! voltage has kinks, so neither dense output nor error control pays. Measured for 10 000 pulses a second on one
//! core: the ode_solvers crate's Dormand-Prince restarted at each pulse reaches 25 times real time, its
//! Runge-Kutta of order 4 (same steps) 90 times. The same method below, with one sine a step (the stages rotate
//! it), passes 100 times with room.

use std::f64::consts::{FRAC_PI_2, SQRT_2, TAU};

use super::axis::Axis;
use crate::error::MotionError;

/// Time constant of the drive's current loop.
const CHOPPER_S: f64 = 25e-6;
/// Longest solver step: one time constant of the current loop, far inside the method's stability (2.78).
const LONGEST_STEP_S: f64 = 25e-6;

/// A motor on its drive, with its rotor turning.
#[derive(Debug, Clone)]
pub(super) struct TwoPhase {
    km: f64,
    resistance: f64,
    inverse_inductance: f64,
    loop_gain: f64,
    pairs: f64,
    inverse_inertia: f64,
    detent: f64,
    friction: f64,
    load: f64,
    voltage: f64,
    /// Phase currents wanted at each microstep of one electrical cycle.
    table: Vec<(f64, f64)>,
    /// Commanded microstep within the cycle.
    command: i64,
    state: State,
}

/// Phase currents in A, shaft speed in rad/s, electrical rotor angle in rad (whole cycles are taken from it and
/// from the command together, so both stay small).
#[derive(Debug, Clone, Copy)]
struct State {
    a: f64,
    b: f64,
    speed: f64,
    angle: f64,
}

impl TwoPhase {
    /// The motor running at a steady rate, at the load angle of its load: a start without much of a transient.
    pub fn running(axis: &Axis, full_steps_per_s: f64) -> Result<TwoPhase, MotionError> {
        let motor = &axis.motor;
        let purpose = "the simulation";
        let inductance = motor.inductance_h.ok_or_else(|| motor.lacks("inductance", purpose))?;
        let rotor = motor.rotor_inertia_kg_m2.ok_or_else(|| motor.lacks("rotor_inertia", purpose))?;
        let km = motor.torque_constant().ok_or_else(|| motor.lacks("current", purpose))?;
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
            resistance: motor.resistance_ohm.ok_or_else(|| motor.lacks("resistance", purpose))?,
            inverse_inductance: 1.0 / inductance,
            loop_gain: inductance / CHOPPER_S,
            pairs: motor.pole_pairs(),
            inverse_inertia: 1.0 / (rotor + axis.load_inertia_kg_m2),
            detent: motor.detent_torque_nm.unwrap_or(0.0),
            friction: axis.friction,
            load: axis.load_torque_nm,
            voltage: axis.supply.voltage_v,
            state: State { a: table[0].0, b: table[0].1, speed, angle },
            table,
            command: 0,
        })
    }

    /// A step pulse, or several at once (negative: backwards).
    pub fn command(&mut self, microsteps: i64) {
        self.command += microsteps;
    }

    /// Commanded minus actual electrical angle, in full steps: the load angle.
    pub fn load_angle_steps(&self) -> f64 {
        let commanded = self.command as f64 * TAU / self.table.len() as f64;
        (commanded - self.state.angle) / FRAC_PI_2
    }

    /// Lets time pass; `seen` gets the length of each solver step after it was made.
    pub fn advance(&mut self, time_s: f64, mut seen: impl FnMut(&TwoPhase, f64)) {
        if time_s <= 0.0 {
            return;
        }
        let cycle = self.table.len() as i64;
        let reference = self.table[self.command.rem_euclid(cycle) as usize];
        let steps = (time_s / LONGEST_STEP_S - 1e-9).ceil().max(1.0);
        let step = time_s / steps;
        for _ in 0..steps as u64 {
            self.runge_kutta(reference, step);
            if self.state.angle > TAU {
                self.state.angle -= TAU;
                self.command -= cycle;
            } else if self.state.angle < -TAU {
                self.state.angle += TAU;
                self.command += cycle;
            }
            seen(self, step);
        }
    }

    /// The classical method of order 4.
    fn runge_kutta(&mut self, reference: (f64, f64), h: f64) {
        let x = self.state;
        let base = x.angle.sin_cos();
        let k1 = self.rates(&x, base, reference);
        let after = |k: &State, h: f64| State {
            a: x.a + h * k.a,
            b: x.b + h * k.b,
            speed: x.speed + h * k.speed,
            angle: x.angle + h * k.angle,
        };
        let rates = |y: &State| self.rates(y, rotated(base, y.angle - x.angle), reference);
        let k2 = rates(&after(&k1, 0.5 * h));
        let k3 = rates(&after(&k2, 0.5 * h));
        let k4 = rates(&after(&k3, h));
        let sixth = h / 6.0;
        self.state = State {
            a: x.a + sixth * (k1.a + 2.0 * (k2.a + k3.a) + k4.a),
            b: x.b + sixth * (k1.b + 2.0 * (k2.b + k3.b) + k4.b),
            speed: x.speed + sixth * (k1.speed + 2.0 * (k2.speed + k3.speed) + k4.speed),
            angle: x.angle + sixth * (k1.angle + 2.0 * (k2.angle + k3.angle) + k4.angle),
        };
    }

    #[inline(always)]
    fn rates(&self, x: &State, (sin, cos): (f64, f64), reference: (f64, f64)) -> State {
        let emf = self.km * x.speed;
        let phase = |i: f64, wanted: f64, emf: f64| {
            let opposing = self.resistance * i + emf;
            let voltage = (opposing + self.loop_gain * (wanted - i)).clamp(-self.voltage, self.voltage);
            (voltage - opposing) * self.inverse_inductance
        };
        let (sin2, cos2) = (2.0 * sin * cos, 1.0 - 2.0 * sin * sin);
        let torque = self.km * (x.b * cos - x.a * sin) - self.detent * 2.0 * sin2 * cos2;
        State {
            a: phase(x.a, reference.0, -emf * sin),
            b: phase(x.b, reference.1, emf * cos),
            speed: (torque - self.friction * x.speed - self.load) * self.inverse_inertia,
            angle: self.pairs * x.speed,
        }
    }
}

/// Sine and cosine of an angle that is `by` further. Within a solver step that is a fraction of a radian, for
/// which the series to order 7 is exact to 1e-9; beyond (a rotor gone wild) the library's sine is taken.
#[inline(always)]
fn rotated((sin, cos): (f64, f64), by: f64) -> (f64, f64) {
    let (s, c) = if by.abs() < 0.4 {
        let q = by * by;
        (
            by * (1.0 - q / 6.0 * (1.0 - q / 20.0 * (1.0 - q / 42.0))),
            1.0 - q / 2.0 * (1.0 - q / 12.0 * (1.0 - q / 30.0 * (1.0 - q / 56.0))),
        )
    } else {
        by.sin_cos()
    };
    (sin * c + cos * s, cos * c - sin * s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::stepper::{AxisOptions, Motor, ring_frequency_hz};

    #[test]
    fn the_rotated_sine_is_the_sine() {
        for n in -40..=40 {
            let by = f64::from(n) * 0.01;
            let (s, c) = rotated(1.0f64.sin_cos(), by);
            assert!((s - (1.0 + by).sin()).abs() < 1e-9 && (c - (1.0 + by).cos()).abs() < 1e-9);
        }
    }

    /// Rings the rotor at standstill with a small push and counts its swings.
    fn simulated_ring_hz(axis: &Axis) -> f64 {
        let mut motor = TwoPhase::running(axis, 0.0).unwrap();
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
        let with_detent: Motor = catalog::find("as1050", None).unwrap();
        let without = Motor { detent_torque_nm: Some(0.0), ..with_detent.clone() };
        for (motor, hz) in [(with_detent, 222.564150), (without, 205.468148)] {
            let axis = Axis::new(AxisOptions {
                load_torque_nm: Some(0.0),
                load_inertia_kg_m2: Some(0.0),
                friction: Some(0.0),
                voltage_v: Some(48.0),
                ..AxisOptions::new(motor)
            })
            .unwrap();
            assert!((ring_frequency_hz(&axis.motor, 0.0, 0.0).unwrap() - hz).abs() < 1e-4);
            let found = simulated_ring_hz(&axis);
            assert!((found - hz).abs() < 1e-4 * hz, "{found} {hz}");
        }
    }
}
