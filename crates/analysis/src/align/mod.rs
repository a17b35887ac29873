//! Comparison of a run with a witness: pulses on a pin, one per activation, captured by another clock.
//!
//! Nothing is known of the other clock: its beginning, its rate, or the activation of the first pulse. The
//! pattern of the jitter decides, which both series must show. Where several shifts explain the pulses about
//! as well, the pulses are not assigned at all. A constant delay between a time stamp and its pulse cannot be
//! separated from the beginning of the other clock, and stays unknown.

mod pairs;
mod search;
mod shift_scorer;
mod track;

#[cfg(test)]
mod tests;

use jitterlab_model::Warning;
use serde::Serialize;

use crate::least_squares::median;
use track::ClockTimes;

/// The fewest activations and pulses that are matched.
pub const FEWEST: usize = 60;

/// A task's activations as its own clock saw them.
#[derive(Debug, Clone, Default)]
pub struct TaskTimes {
    /// The time stamps that the pulses are of, in ascending order.
    pub stamps_ns: Vec<i64>,
    /// The number of each on the task's grid.
    pub indices: Vec<u64>,
    /// The task's period, in ns.
    pub period_ns: i64,
}

/// A run and the capture of it by a witness.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunAlignment {
    /// The run's file.
    pub file: String,
    /// The witness's file.
    pub witness: String,
    /// Each channel of the witness.
    pub channels: Vec<ChannelAlignment>,
    /// Warnings about the two files.
    pub warnings: Vec<Warning>,
}

/// A channel of a witness.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelAlignment {
    /// Name.
    pub channel: String,
    /// The task that its pulses were compared with: their own task, if they belong to one.
    pub task: String,
    /// Pulses matched to the activations of the task.
    pub alignment: Alignment,
}

/// The pulses of a channel compared with the activations of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alignment {
    /// Activations of the run.
    pub activations: u64,
    /// Pulses of the capture.
    pub pulses: u64,
    /// The step of the capture's times: no pulse is known better.
    #[serde(rename = "grain_ns")]
    pub resolution_ns: f64,
    /// The assignment of pulses to activations, or the reason why there is none.
    pub found: AlignmentOutcome,
}

/// Outcome of an alignment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum AlignmentOutcome {
    /// There are too few pulses or activations.
    TooFew {
        /// Fewest activations and fewest pulses needed.
        needs: u64,
    },
    /// Several shifts explain the pulses about as well, or none does.
    Ambiguous(Ambiguous),
    /// One shift explains them better than every other.
    Matched(Box<Matched>),
}

/// Pulses that cannot be assigned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ambiguous {
    /// Distances of the shifts that explain the pulses about as well as the best one, in activations from it,
    /// in ascending order.
    pub shifts: Vec<i64>,
    /// Share of the disagreement of an arbitrary shift that the best one leaves (0 to 1).
    pub left: f64,
}

/// Pulses assigned to activations, and how far the two clocks' times differ then.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matched {
    /// Pulses that are of an activation.
    pub pairs: u64,
    /// Activations between the first and the last of them that have no pulse.
    pub silent: u64,
    /// Activations before the first and behind the last of them, which the capture does not show.
    pub unseen: u64,
    /// Pulses that are of no activation, between the first and the last that are.
    pub extra: u64,
    /// Pulses before the first and behind the last that are of an activation.
    pub outside: u64,
    /// The number of the first activation that has a pulse.
    pub first_index: u64,
    /// The time of that pulse in the capture, in ns.
    pub first_pulse_ns: i64,
    /// Relative excess of the capture's clock rate over the run's, in millionths.
    pub rate_ppm: f64,
    /// Half the width of the 95 % interval of the rate, estimated from stretches of the capture.
    pub rate_uncertainty_ppm: f64,
    /// Pulse less time stamp about the straight line of two clocks of constant rate.
    pub steady: Spread,
    /// Pulse less time stamp after subtracting slow changes of the two clocks.
    pub followed: Spread,
    /// Activations over which slow changes are followed.
    pub stretch: u64,
    /// The period error by the run's time stamps and by the pulses, of consecutive activations that both have
    /// a pulse; `None` for too few.
    pub period_error: Option<[Spread; 2]>,
}

/// Spread of values about their usual one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Standard deviation, in ns.
    pub sd_ns: f64,
    /// The 99th percentile of the absolute values, in ns.
    pub p99_ns: f64,
    /// The smallest value, in ns.
    pub min_ns: f64,
    /// The largest value, in ns.
    pub max_ns: f64,
}

impl Spread {
    /// Computes the spread of values about 0; `None` for no values.
    fn from_values(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let mut sizes: Vec<f64> = values.iter().map(|v| v.abs()).collect();
        let place = (0.99 * count).ceil() as usize;
        let p99_ns = *sizes.get_mut(..)?.select_nth_unstable_by(place.checked_sub(1)?, f64::total_cmp).1;
        Some(Spread {
            sd_ns: (squares / count).sqrt(),
            p99_ns,
            min_ns: values.iter().copied().fold(f64::INFINITY, f64::min),
            max_ns: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// Assigns pulses to activations, and measures how far the times of the two differ. Both are in ascending order.
pub fn align(own: &TaskTimes, pulses_ns: &[i64]) -> Alignment {
    let resolution_ns = resolution_ns(pulses_ns);
    let found = |found| Alignment {
        activations: own.stamps_ns.len() as u64,
        pulses: pulses_ns.len() as u64,
        resolution_ns,
        found,
    };
    let series = (ClockTimes::from_times(&own.stamps_ns), ClockTimes::from_times(pulses_ns));
    let (Some(stamps), Some(pulses)) = series else {
        return found(AlignmentOutcome::TooFew { needs: FEWEST as u64 });
    };
    found(match search::best_path(&stamps, &pulses, resolution_ns) {
        Err(ambiguous) => AlignmentOutcome::Ambiguous(ambiguous),
        Ok(path) => match pairs::match_figures(own, pulses_ns, &path) {
            Some(matched) => AlignmentOutcome::Matched(Box::new(matched)),
            None => AlignmentOutcome::TooFew { needs: FEWEST as u64 },
        },
    })
}

/// Sample rates of logic analysers whose samples are not on whole nanoseconds, in Hz.
const ODD_RATES: [f64; 9] = [3e6, 6e6, 12e6, 16e6, 24e6, 32e6, 48e6, 64e6, 96e6];

/// Returns the step of times: their greatest common divisor, or the sample of a usual rate, in ns.
fn resolution_ns(times_ns: &[i64]) -> f64 {
    let whole = crate::scan::Ticks::from_values(times_ns.iter().copied()).step_ns;
    let Some(first) = times_ns.first().filter(|_| whole == 1) else { return whole as f64 };
    let on_grid = |rate: &&f64| {
        let step = 1e9 / **rate;
        times_ns.iter().all(|at| {
            let samples = at.wrapping_sub(*first) as f64 / step;
            (samples - samples.round()).abs() * step <= 1.01
        })
    };
    ODD_RATES.iter().find(on_grid).map_or(1.0, |rate| 1e9 / rate)
}

/// Returns the median distance between neighbours of ascending times; `None` unless it is above 0.
fn median_distance(times: &[f64]) -> Option<f64> {
    let mut distances: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    median(&mut distances).filter(|usual| *usual > 0.0)
}
