//! Measurements of systems under the loads of a document. Conclusions that a document draws from one run each are decided by
//! stretches: each run is cut into equal ones, so that a number comes with an interval. Stretches count as independent of each
//! other.

use jitterlab_analysis::Summary;
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_model::Activation;
use serde::Serialize;

/// Stretches that a run is cut into: enough for a narrow interval of their median.
pub const STRETCHES: usize = 20;

/// Times that each measurement on this machine is repeated, in turns with the others: one alone does not show how it varies.
pub const TURNS: usize = 3;

/// The timing that a document speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// From the due time to the start.
    Latency,
    /// From one start to the next.
    LoopDuration,
}

impl Timing {
    /// The values of a run's activations, in order.
    #[must_use]
    pub fn values(self, activations: &[Activation]) -> Vec<f64> {
        match self {
            Timing::Latency => activations.iter().map(|one| one.latency_ns() as f64).collect(),
            Timing::LoopDuration => {
                activations.windows(2).map(|pair| (pair[1].start_ns - pair[0].start_ns) as f64).collect()
            }
        }
    }
}

/// The timing of one measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    pub min_ns: i64,
    pub mean_ns: f64,
    pub sd_ns: f64,
    pub max_ns: i64,
    /// Activations that ran.
    pub executed: u64,
    /// Activations that were missed.
    pub missed: u64,
}

impl Spread {
    /// Of a task; `None` where nothing was measured.
    pub fn from_summary(timing: Timing, summary: &Summary) -> Option<Self> {
        let (values, more_ns) = match timing {
            Timing::Latency => (&summary.latency, 0),
            Timing::LoopDuration => (&summary.period_error, summary.period_ns),
        };
        Some(Spread {
            min_ns: more_ns + values.min_ns?,
            mean_ns: more_ns as f64 + values.mean_ns?,
            sd_ns: values.sd_ns?,
            max_ns: more_ns + values.max_ns?,
            executed: summary.executed.exactly()?,
            missed: summary.missed.exactly()?,
        })
    }

    /// The figures of both runs together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let all = (self.executed + other.executed) as f64;
        let [here, there] = [self, other].map(|of| of.executed as f64 / all);
        let mean_ns = here * self.mean_ns + there * other.mean_ns;
        let square = |of: Self| of.sd_ns.powi(2) + (of.mean_ns - mean_ns).powi(2);
        Spread {
            min_ns: self.min_ns.min(other.min_ns),
            mean_ns,
            sd_ns: (here * square(self) + there * square(other)).sqrt(),
            max_ns: self.max_ns.max(other.max_ns),
            executed: self.executed + other.executed,
            missed: self.missed + other.missed,
        }
    }

    pub fn range_ns(&self) -> i64 {
        self.max_ns.saturating_sub(self.min_ns)
    }
}

/// The timing in one stretch of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    pub mean_ns: f64,
    pub sd_ns: f64,
    pub range_ns: f64,
}

/// Cuts the values of a run into equal stretches; the values behind the last are left out.
pub fn stretches(values: &[f64]) -> impl Iterator<Item = Stretch> {
    values.chunks_exact((values.len() / STRETCHES).max(2)).take(STRETCHES).map(|stretch| {
        let n = stretch.len() as f64;
        let mean_ns = stretch.iter().sum::<f64>() / n;
        let squares: f64 = stretch.iter().map(|ns| (ns - mean_ns).powi(2)).sum();
        let [low, high] = stretch
            .iter()
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], ns| [low.min(*ns), high.max(*ns)]);
        Stretch { mean_ns, sd_ns: (squares / (n - 1.0)).sqrt(), range_ns: high - low }
    })
}

/// One measurement of a document, repeated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderLoad {
    /// Name of the condition in tables and files.
    pub condition: String,
    /// The load of the measurement, as `--load` takes it.
    pub load: String,
    /// Intensity that each run of the load reached.
    pub done: Vec<String>,
    /// Result of all runs together; `None` if nothing was measured.
    pub found: Option<Spread>,
    /// Stretches of all runs.
    #[serde(skip)]
    pub stretches: Vec<Stretch>,
    /// Values of the first run, in order.
    #[serde(skip)]
    pub first: Vec<f64>,
}

/// A system under the loads of a document, from none to most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemUnderLoads {
    /// Name of the system in tables and files.
    pub system: String,
    pub loads: Vec<UnderLoad>,
}

/// Measurements of several systems.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LoadFigures {
    pub systems: Vec<SystemUnderLoads>,
    /// True for virtual time; `ns_per_instruction` is then the time of an instruction.
    pub in_virtual_time: bool,
    pub ns_per_instruction: Option<u32>,
}

/// Compares a number in the stretches of two loads: [`factor`] or [`change`].
type Comparison = fn(&[Stretch], &[Stretch], fn(&Stretch) -> f64) -> Option<MedianInterval>;

impl SystemUnderLoads {
    /// A number of each measurement; `None` where nothing was measured.
    pub fn each(&self, number: impl Fn(&Spread) -> f64) -> Vec<Option<f64>> {
        self.loads.iter().map(|load| load.found.as_ref().map(&number)).collect()
    }

    /// The measurement under this condition.
    pub fn under(&self, condition: &str) -> Option<&UnderLoad> {
        self.loads.iter().find(|load| load.condition == condition)
    }

    /// Compares a number in the stretches of each load with that of the first, load by load.
    pub fn against_first(
        &self,
        compare: Comparison,
        number: fn(&Stretch) -> f64,
    ) -> Vec<Option<MedianInterval>> {
        let Some((first, others)) = self.loads.split_first() else { return Vec::new() };
        others.iter().map(|load| compare(&first.stretches, &load.stretches, number)).collect()
    }
}

/// Factor of a number in the stretches of `to` over that in the stretches of `of`, stretch by stretch.
pub fn factor(of: &[Stretch], to: &[Stretch], number: fn(&Stretch) -> f64) -> Option<MedianInterval> {
    let pairs = of.iter().zip(to).map(|(of, to)| (number(of), number(to)));
    MedianInterval::from_values(pairs.filter(|(of, _)| *of > 0.0).map(|(of, to)| to / of))
}

/// Difference of a number in the stretches of `to` from that in the stretches of `of`, stretch by stretch.
pub fn change(of: &[Stretch], to: &[Stretch], number: fn(&Stretch) -> f64) -> Option<MedianInterval> {
    MedianInterval::from_values(of.iter().zip(to).map(|(of, to)| number(to) - number(of)))
}

/// A measurement with this standard deviation and range, for tests; `None` for one that failed.
#[cfg(test)]
pub(crate) fn under(condition: &str, sd_ns: Option<f64>) -> UnderLoad {
    let found = |sd_ns: f64| Spread {
        min_ns: 900_000,
        mean_ns: 1e6,
        sd_ns,
        max_ns: 900_000 + sd_ns as i64,
        executed: 5_000,
        missed: 0,
    };
    let stretch = |sd_ns: f64| Stretch { mean_ns: 1e6, sd_ns, range_ns: sd_ns };
    UnderLoad {
        condition: condition.into(),
        load: "none".into(),
        done: Vec::new(),
        found: sd_ns.map(found),
        stretches: sd_ns.map_or_else(Vec::new, |sd_ns| vec![stretch(sd_ns); 10]),
        first: vec![1e6, 1.26e6, 0.98e6],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_equal_and_of_successive_values() {
        let starts = |count: i64| {
            let start = |k: i64| Activation { start_ns: k * 1_000_000 + k % 2 * 10, ..Activation::default() };
            Timing::LoopDuration.values(&(0..=count).map(start).collect::<Vec<_>>())
        };
        assert_eq!(stretches(&starts(1)).count(), 0);
        let all: Vec<Stretch> = stretches(&starts(400)).collect();
        assert_eq!(all.len(), STRETCHES);
        assert!(all.iter().all(|of| (of.mean_ns - 1e6).abs() < 1e-6 && of.range_ns == 20.0));
        assert!(all.iter().all(|of| (of.sd_ns - 10.0 * (20f64 / 19.0).sqrt()).abs() < 1e-6));
    }

    #[test]
    fn two_runs_together_have_the_deviation_of_all_their_loops() {
        let times = |mean_ns, sd_ns| Spread {
            mean_ns,
            sd_ns,
            min_ns: mean_ns as i64 - 5,
            max_ns: mean_ns as i64 + 5,
            executed: 100,
            missed: 1,
        };
        let both = times(10.0, 3.0).with(times(20.0, 4.0));
        assert_eq!((both.mean_ns, both.min_ns, both.max_ns, both.range_ns()), (15.0, 5, 25, 20));
        assert!((both.sd_ns - 37.5f64.sqrt()).abs() < 1e-9 && both.executed == 200 && both.missed == 2);
    }
}
