//! A run's latencies played on the full motor: the effect of its timing on the rotor.

use std::iter::repeat_n;

use jitterlab_model::{Error, Overrun};

use super::axis::Axis;
use super::pulses::PulseTrain;
use super::simulate::{RotorResponse, simulate};

/// Punctual ticks before the recorded ones, so that the start's transient is over when they come.
const SETTLE_NS: i64 = 500_000_000;

/// Simulates an axis with the latencies of a base period's ticks, as step pulses at a full-step rate. They are in
/// order; half a second of punctual ticks before them is not part of the figures.
pub fn play_latencies(
    axis: &Axis,
    full_steps_per_s: f64,
    base_period_ns: i64,
    latencies_ns: &[i64],
    policy: Overrun,
) -> Result<RotorResponse, Error> {
    let base_period_ns = base_period_ns.max(1);
    let settle = (SETTLE_NS / base_period_ns).max(1) as usize;
    let settle_s = settle as f64 * base_period_ns as f64 * 1e-9;
    let latencies = repeat_n(0, settle).chain(latencies_ns.iter().copied());
    let pulses = PulseTrain::new(latencies, base_period_ns, axis.pulses_per_s(full_steps_per_s), policy);
    simulate(axis, full_steps_per_s, pulses.map(|p| p.time_ns), settle_s)
}

/// The fastest of `speeds` (full steps per second) at which punctual ticks lose no step; `None` if none. Steps that a
/// run loses at that speed are lost by its timing.
pub fn fastest_speed_without_loss(axis: &Axis, base_period_ns: i64, speeds: &[f64]) -> Option<f64> {
    let ticks_per_s = 1e9 / base_period_ns.max(1) as f64;
    let mut speeds: Vec<f64> =
        speeds.iter().copied().filter(|f| axis.pulses_per_s(*f) <= ticks_per_s).collect();
    speeds.sort_by(|a, b| b.total_cmp(a));
    let second = vec![0; ticks_per_s.ceil() as usize];
    speeds.into_iter().find(|f| {
        play_latencies(axis, *f, base_period_ns, &second, Overrun::Skip)
            .is_ok_and(|response| response.lost_no_step())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::stepper::{AxisFacts, Motor};

    fn axis() -> Axis {
        let motor: Motor = catalog::find_device("as1050", None).unwrap();
        let facts = AxisFacts { voltage_v: Some(48.0), microsteps: Some(10), ..AxisFacts::default() };
        Axis::new(motor, None, facts).unwrap()
    }

    #[test]
    fn the_fastest_speed_is_one_the_motor_makes_when_nothing_is_late() {
        let speeds = [500.0, 1000.0, 1500.0, 50_000.0];
        let fastest = fastest_speed_without_loss(&axis(), 50_000, &speeds).unwrap();
        assert!(speeds[..3].contains(&fastest), "{fastest}");
        let punctual = play_latencies(&axis(), fastest, 50_000, &[0; 10_000], Overrun::Skip).unwrap();
        assert!(punctual.lost_no_step(), "{punctual:?}");
        assert_eq!(fastest_speed_without_loss(&axis(), 50_000, &[50_000.0]), None);
    }

    #[test]
    fn the_reserve_is_about_the_torque_less_the_load_at_every_speed() {
        // Above the knee the currents lag behind the pulses by most of a step, which takes no reserve by itself.
        let axis = axis();
        for f in [400.0, 2_000.0, 4_000.0, 4_800.0] {
            let left =
                axis.torque_at(f).unwrap() - axis.load_torque_nm - axis.friction * axis.shaft_rad_per_s(f);
            let reserve = play_latencies(&axis, f, 10_000, &[0; 50_000], Overrun::Skip).unwrap().reserve_nm;
            assert!(reserve > 0.3 * left && reserve < 1.05 * left, "{f}: {reserve} of {left}");
        }
    }

    #[test]
    fn a_late_first_tick_counts_although_the_start_s_transient_does_not() {
        let mut late = vec![0; 10_000];
        late[0] = 400_000;
        let (quiet, shaken) = (
            play_latencies(&axis(), 1000.0, 50_000, &[0; 10_000], Overrun::Skip).unwrap(),
            play_latencies(&axis(), 1000.0, 50_000, &late, Overrun::Skip).unwrap(),
        );
        assert!(shaken.ripple_steps > quiet.ripple_steps + 0.2, "{quiet:?} {shaken:?}");
    }
}
