//! The full motor, driven by a recorded pulse train: ripple of the load angle, lost steps, torque reserve.

use std::f64::consts::FRAC_PI_2;

use serde::Serialize;

use jitterlab_model::Error;

use super::axis::Axis;
use super::two_phase::TwoPhase;

/// Response of the motor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RotorResponse {
    /// Simulated time in s, the settling included.
    pub time_s: f64,
    /// Peak-to-peak ripple of the load angle in full steps, over the time in which no step was lost.
    pub ripple_steps: f64,
    /// Mean load angle in full steps, as long as no step was lost.
    pub mean_steps: f64,
    /// Largest magnitude of the load angle in full steps; beyond 2 (half a cycle) the rotor slipped.
    pub peak_steps: f64,
    /// Smallest torque reserve in N m: the torque that the motor could still add at its largest load angle,
    /// T (1 - sin(d - l)), zero from a quarter cycle on. T is its torque at this speed and l the lag of its
    /// currents behind the pulses: the load angle of the settled rotor above that of its load,
    /// asin((T_L + B w) / T).
    pub reserve_nm: f64,
    /// Full steps the rotor ended behind (positive) or ahead of (negative) the command, in whole cycles of four.
    pub lost_steps: i64,
    /// Time at which the first cycle was lost for good, in s.
    pub lost_at_s: Option<f64>,
}

impl RotorResponse {
    pub fn lost_no_step(&self) -> bool {
        self.lost_steps == 0 && self.lost_at_s.is_none()
    }
}

/// Time after which a rotor that is still elsewhere has lost its steps, in s: several swings, and longer than most stalls.
const STAYS_S: f64 = 0.2;
/// Cycles after which a rotor counts as stalled and the simulation ends.
const STALLED_CYCLES: f64 = 50.0;

/// Simulates the axis with pulses at these times (ns, ascending), from the given full-step rate on.
pub fn simulate(
    axis: &Axis,
    full_steps_per_s: f64,
    pulses_ns: impl IntoIterator<Item = i64>,
    settle_s: f64,
) -> Result<RotorResponse, Error> {
    let torque = axis.torque_at(full_steps_per_s)?;
    if torque <= axis.load_torque_nm {
        let load_nm = axis.load_torque_nm;
        return Err(Error::bad_use(format!(
            "at {full_steps_per_s:.0} full steps/s the motor has {torque:.3} N m, less than the load of {load_nm} N m even with \
             ideal timing: lower the speed or the load, or raise the voltage"
        )));
    }
    let mut motor = TwoPhase::with_steady_speed(axis, full_steps_per_s)?;
    let wanted = axis.load_torque_nm + axis.friction * axis.shaft_rad_per_s(full_steps_per_s);
    let mut observer = RotorObserver::new(torque, wanted, settle_s, &motor);
    let mut pulses = pulses_ns.into_iter();
    let mut last_ns = pulses.next().ok_or_else(|| {
        Error::not_measured(
            "there are no step pulses: the run is too short for this speed; take a longer run or a higher speed",
        )
    })?;
    motor.add_pulses(1);
    for pulse_ns in pulses {
        motor.advance((pulse_ns - last_ns) as f64 * 1e-9, |motor, step_s| {
            observer.add_solver_step(motor, step_s);
        });
        motor.add_pulses(1);
        // The load angle is largest just now.
        observer.add_solver_step(&motor, 0.0);
        last_ns = pulse_ns;
        if observer.stalled {
            break;
        }
    }
    Ok(observer.finish())
}

struct RotorObserver {
    settle_s: f64,
    /// Torque of the motor at its speed, and the part that load and friction take of it, in N m.
    torque: f64,
    wanted: f64,
    /// Load angle of the running motor; lost cycles are counted from it.
    rest: f64,
    /// Mean load angle over the second half of the settling, and the time that half has lasted.
    settled: f64,
    settled_for: f64,
    time: f64,
    kept: LoadAngleSums,
    peak: f64,
    recent: f64,
    /// Since when the rotor has been away from its place for more than half a cycle, and the figures up to then.
    away: Option<(f64, LoadAngleSums)>,
    lost_at: Option<f64>,
    stalled: bool,
}

/// The load angle as long as no step is lost.
#[derive(Clone, Copy)]
struct LoadAngleSums {
    min: f64,
    max: f64,
    sum: f64,
    weight: f64,
}

/// Weight of the newest value in the running mean that shows the rotor's final position, per second.
const RECENT_PER_S: f64 = 100.0;

impl RotorObserver {
    fn new(torque: f64, wanted: f64, settle_s: f64, motor: &TwoPhase) -> Self {
        let rest = motor.load_angle_steps();
        RotorObserver {
            settle_s,
            torque,
            wanted,
            rest,
            settled: rest,
            settled_for: 0.0,
            time: 0.0,
            kept: LoadAngleSums { min: f64::INFINITY, max: f64::NEG_INFINITY, sum: 0.0, weight: 0.0 },
            peak: 0.0,
            recent: rest,
            away: None,
            lost_at: None,
            stalled: false,
        }
    }

    /// Takes the motor's load angle after a solver step of `step_s` seconds.
    #[inline]
    fn add_solver_step(&mut self, motor: &TwoPhase, step_s: f64) {
        let angle = motor.load_angle_steps();
        self.time += step_s;
        self.recent += (angle - self.recent) * (RECENT_PER_S * step_s).min(1.0);
        if self.time < self.settle_s {
            if self.time > 0.5 * self.settle_s && step_s > 0.0 {
                self.settled_for += step_s;
                self.settled += (angle - self.settled) * step_s / self.settled_for;
            }
            return;
        }
        self.peak = self.peak.max(angle.abs());
        let away = (angle - self.rest).abs();
        if away > 2.0 || self.away.is_some() {
            self.track_excursion(away);
        }
        self.stalled = away > 4.0 * STALLED_CYCLES;
        if self.lost_at.is_none() {
            let kept = &mut self.kept;
            kept.min = kept.min.min(angle);
            kept.max = kept.max.max(angle);
            kept.sum += angle * step_s;
            kept.weight += step_s;
        }
    }

    /// Follows a rotor that was more than half a cycle away. That alone loses nothing: it coasts on, and a burst of
    /// the missed pulses makes the command catch up with it. A cycle is lost when the rotor stays nearer to
    /// another equilibrium.
    #[cold]
    fn track_excursion(&mut self, away: f64) {
        if away > 2.0 && self.away.is_none() {
            self.away = Some((self.time, self.kept));
        } else if away < 1.0 {
            self.away = None;
        }
        let since = self.away.filter(|(since, _)| self.time - since > STAYS_S && self.lost_cycles() != 0);
        if let Some((since, kept)) = since.filter(|_| self.lost_at.is_none()) {
            (self.lost_at, self.kept) = (Some(since), kept);
        }
    }

    /// Number of whole cycles by which it is away from its equilibrium.
    fn lost_cycles(&self) -> i64 {
        ((self.recent - self.rest) / 4.0).round() as i64
    }

    fn finish(mut self) -> RotorResponse {
        // Lost at the end, or as good as lost.
        if self.lost_at.is_none() && (self.lost_cycles() != 0 || self.stalled) {
            let (since, kept) = self.away.unwrap_or((self.time, self.kept));
            (self.lost_at, self.kept) = (Some(since), kept);
        }
        let lost_steps = 4 * self.lost_cycles();
        let LoadAngleSums { min, max, sum, weight } = self.kept;
        let watched = weight > 0.0;
        let own = (self.wanted / self.torque).clamp(-1.0, 1.0).asin();
        let lag = (self.settled * FRAC_PI_2 - own).max(0.0);
        let largest = (max * FRAC_PI_2 - lag).abs().max((min * FRAC_PI_2 - lag).abs());
        let reserve = if largest < FRAC_PI_2 { self.torque * (1.0 - largest.sin()) } else { 0.0 };
        RotorResponse {
            time_s: self.time,
            ripple_steps: if watched { max - min } else { 0.0 },
            mean_steps: if watched { sum / weight } else { self.rest },
            peak_steps: self.peak,
            reserve_nm: if watched && self.lost_at.is_none() { reserve } else { 0.0 },
            lost_steps,
            lost_at_s: self.lost_at,
        }
    }
}
