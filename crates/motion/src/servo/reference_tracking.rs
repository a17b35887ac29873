//! References followed with ideal and with recorded timing, through the worst event of a run.

use serde::Serialize;

use super::closed_loop::Loop;
use super::response::{DrivenLoop, Reference, ResponsePoint, Tracking, tracking_errors};
use super::timing::Moment;

/// One reference followed with ideal and with recorded timing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FollowedReference {
    pub reference: Reference,
    pub ideal: Tracking,
    pub recorded: Tracking,
    /// Largest distance of the two from each other, as a share of the reference's size.
    #[serde(with = "crate::Infinite")]
    pub apart: f64,
    /// Largest distance of the two as a share of the largest error with ideal timing, or of 1 % of the reference's size.
    #[serde(with = "crate::Infinite")]
    pub of_error: f64,
    pub ideal_points: Vec<ResponsePoint>,
    /// The response with the recorded timing, at the same times.
    pub recorded_points: Vec<ResponsePoint>,
}

pub(super) const POINTS: i64 = 1_200;
/// Most activations around the worst event.
const MOST_ROWS: u64 = 200_000;

/// A move and a sine for a loop to follow, by the frequency of its slowest crossover. The move is 1 from rest to rest
/// in ten times its time, the sine has an amplitude of 1 at a tenth of it.
pub fn default_references(crossover_rad_per_s: f64) -> [Reference; 2] {
    // As many digits as are written: 60 and not 59.8716, 0.3 and not 0.30000000000000004.
    let digits = |value: f64, more: usize| format!("{value:.more$e}").parse().unwrap_or(value);
    let time_s: f64 = digits(10.0 / digits(crossover_rad_per_s, 0), 5);
    let frequency_hz = digits(crossover_rad_per_s / 10.0 / std::f64::consts::TAU, 0);
    let time_ns = (time_s * 1e9).round().max(1.0) as i64;
    [Reference::Move { distance: 1.0, time_ns }, Reference::Sine { amplitude: 1.0, frequency_hz }]
}

/// A stretch of time before and after the worst event, in ns.
pub(super) struct EventWindow {
    pub before_ns: i64,
    pub length_ns: i64,
}

impl EventWindow {
    /// Places the worst event in the rise of a step, or a quarter into two cycles of a sine.
    pub fn new(reference: Reference, crossover_rad_per_s: f64, period_ns: i64) -> EventWindow {
        let rise_s = 1.0 / crossover_rad_per_s;
        let (before_s, length_s) = match reference {
            Reference::Sine { frequency_hz, .. } => (0.5 / frequency_hz, 2.0 / frequency_hz),
            Reference::Step(_) | Reference::Ramp(_) => (0.5 * rise_s, 20.0 * rise_s),
            Reference::Move { time_ns, .. } => {
                let time_s = time_ns as f64 * 1e-9;
                (0.0, time_s + 10.0 * rise_s)
            }
        };
        let most_ns = MOST_ROWS as i64 / 2 * period_ns;
        EventWindow {
            before_ns: ((before_s * 1e9) as i64).min(most_ns),
            length_ns: ((length_s * 1e9) as i64).max(40 * period_ns).min(most_ns),
        }
    }
}

/// Follows a reference for the window's length through punctual and through recorded moments.
pub(super) fn compare_responses(
    closed: &Loop,
    reference: Reference,
    length_ns: i64,
    punctual: Vec<Moment>,
    recorded: Vec<Moment>,
    points: i64,
) -> FollowedReference {
    let step_ns = (length_ns / points).max(1);
    let driven =
        |moments: Vec<Moment>| DrivenLoop::new(closed, reference).drive_through(moments, step_ns, length_ns);
    let (ideal_points, recorded_points) = (driven(punctual), driven(recorded));
    let size = ideal_points.iter().map(|p| p.reference.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let distances = ideal_points.iter().zip(&recorded_points).flat_map(|(a, b)| {
        a.outputs.iter().zip(&b.outputs).map(|(a, b)| (a - b).abs()).collect::<Vec<f64>>()
    });
    let apart = distances.fold(0.0, |most: f64, d| if d.is_nan() { f64::INFINITY } else { most.max(d) });
    let ideal = tracking_errors(&ideal_points);
    FollowedReference {
        reference,
        ideal,
        recorded: tracking_errors(&recorded_points),
        apart: apart / size,
        of_error: apart / ideal.max_error.max(0.01 * size),
        ideal_points,
        recorded_points,
    }
}
