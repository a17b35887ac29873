//! Measurements of systems under the loads of a document. Conclusions that a document draws from one run each are decided by
//! stretches: each run is cut into equal ones, so that a number comes with an interval. Stretches count as independent of each
//! other.

use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_model::Activation;
use serde::Serialize;

/// Stretches that a run is cut into: enough for a narrow interval of their median.
pub const STRETCHES: usize = 20;

/// Times that each measurement on this machine is repeated, interleaved with the others: one alone does not show how it varies.
pub const REPETITIONS: usize = 3;

/// A function that takes a document's values from a run's activations: [`latencies`], [`loop_durations`], [`execution_times`].
pub type Extract = fn(&[Activation]) -> Vec<f64>;

pub fn latencies(activations: &[Activation]) -> Vec<f64> {
    activations.iter().map(|one| one.latency_ns() as f64).collect()
}

pub fn loop_durations(activations: &[Activation]) -> Vec<f64> {
    activations.windows(2).map(|pair| (pair[1].start_ns - pair[0].start_ns) as f64).collect()
}

pub fn execution_times(activations: &[Activation]) -> Vec<f64> {
    activations.iter().map(|one| one.execution_ns() as f64).collect()
}

/// The timing of one measurement, or of a stretch of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimingSpread {
    pub min_ns: i64,
    pub mean_ns: f64,
    pub sd_ns: f64,
    pub max_ns: i64,
    pub executed: u64,
    pub missed: u64,
}

impl TimingSpread {
    /// Timing by the values of a measurement without missed activations; `None` for fewer than two.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean_ns = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|ns| (ns - mean_ns).powi(2)).sum();
        let [low, high] = [f64::min, f64::max].map(|pick| values.iter().copied().reduce(pick));
        let (min_ns, max_ns) = (low? as i64, high? as i64);
        let sd_ns = (squares / (n - 1.0)).sqrt();
        let executed = values.len() as u64;
        (executed > 1).then_some(TimingSpread { min_ns, mean_ns, sd_ns, max_ns, executed, missed: 0 })
    }

    pub fn range_ns(&self) -> i64 {
        self.max_ns.saturating_sub(self.min_ns)
    }
}

/// Timing of each equal stretch of a run's values; those behind the last stretch are left out.
pub fn stretch_timings(values: &[f64]) -> impl Iterator<Item = TimingSpread> {
    let length = (values.len() / STRETCHES).max(2);
    values.chunks_exact(length).take(STRETCHES).filter_map(TimingSpread::from_values)
}

/// Result of a system under one load, all its runs together.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LoadResult {
    pub condition: String,
    /// The load of the measurement, as `--load` takes it.
    pub load: String,
    /// Intensity that each run of the load reached.
    pub done: Vec<String>,
    /// Result of all runs together; `None` if nothing was measured.
    pub found: Option<TimingSpread>,
    /// Stretches of all runs.
    #[serde(skip)]
    pub stretches: Vec<TimingSpread>,
    /// Values of the first run, in order.
    #[serde(skip)]
    pub first: Vec<f64>,
}

/// Results of a system under the loads of a document, from none to most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemResults {
    pub system: String,
    pub loads: Vec<LoadResult>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LoadFigures {
    pub systems: Vec<SystemResults>,
    /// Time of an instruction in virtual time; `None` for real time.
    pub ns_per_instruction: Option<u32>,
}

/// A statistic of a measurement or of a stretch: [`MEAN`], [`SD`], [`RANGE`].
pub type Statistic = fn(&TimingSpread) -> f64;

pub const MEAN: Statistic = |of| of.mean_ns;
pub const SD: Statistic = |of| of.sd_ns;
pub const RANGE: Statistic = |of| of.range_ns() as f64;

/// Compares a statistic in the stretches of two loads: [`ratio`] or [`difference`].
type Comparison = fn(&LoadResult, &LoadResult, Statistic) -> Option<MedianInterval>;

impl LoadResult {
    pub fn statistic(&self, number: Statistic) -> Option<f64> {
        self.found.as_ref().map(number)
    }
}

impl SystemResults {
    /// The statistic under each load.
    pub fn by_load(&self, number: Statistic) -> Vec<Option<f64>> {
        self.loads.iter().map(|load| load.statistic(number)).collect()
    }

    pub fn find_load(&self, condition: &str) -> Option<&LoadResult> {
        self.loads.iter().find(|load| load.condition == condition)
    }

    /// Compares a statistic of each further load with that of the first load, by their stretches.
    pub fn compare_with_first(&self, compare: Comparison, number: Statistic) -> Vec<Option<MedianInterval>> {
        let Some((first, others)) = self.loads.split_first() else { return Vec::new() };
        others.iter().map(|load| compare(first, load, number)).collect()
    }
}

/// Median ratio of a statistic, `to` over `of`, over pairs of stretches, with its interval; `None` without any.
pub fn ratio(of: &LoadResult, to: &LoadResult, number: Statistic) -> Option<MedianInterval> {
    let pairs = of.stretches.iter().zip(&to.stretches).map(|(of, to)| (number(of), number(to)));
    MedianInterval::from_values(pairs.filter(|(of, _)| *of > 0.0).map(|(of, to)| to / of))
}

/// Median difference of a statistic, `to` less `of`, over pairs of their stretches; `None` without any.
pub fn difference(of: &LoadResult, to: &LoadResult, number: Statistic) -> Option<MedianInterval> {
    let pairs = of.stretches.iter().zip(&to.stretches);
    MedianInterval::from_values(pairs.map(|(of, to)| number(to) - number(of)))
}

#[cfg(test)]
pub(crate) use tests::example_load;

#[cfg(test)]
mod tests {
    use super::*;

    /// A measurement with this standard deviation and range, for tests; `None` for one that failed.
    pub(crate) fn example_load(condition: &str, sd_ns: Option<f64>) -> LoadResult {
        let found = |sd_ns: f64| TimingSpread {
            min_ns: 900_000,
            mean_ns: 1e6,
            sd_ns,
            max_ns: 900_000 + sd_ns as i64,
            executed: 5_000,
            missed: 0,
        };
        LoadResult {
            condition: condition.into(),
            load: "none".into(),
            done: Vec::new(),
            found: sd_ns.map(found),
            stretches: sd_ns.map_or_else(Vec::new, |sd_ns| vec![found(sd_ns); 10]),
            first: vec![1e6, 1.26e6, 0.98e6],
        }
    }

    #[test]
    fn stretches_are_equal_and_of_successive_values() {
        let starts = |count: i64| {
            let start = |k: i64| Activation { start_ns: k * 1_000_000 + k % 2 * 10, ..Activation::default() };
            loop_durations(&(0..=count).map(start).collect::<Vec<_>>())
        };
        assert_eq!(stretch_timings(&starts(1)).count(), 0);
        let all: Vec<TimingSpread> = stretch_timings(&starts(400)).collect();
        assert_eq!(all.len(), STRETCHES);
        assert!(all.iter().all(|of| (of.mean_ns - 1e6).abs() < 1e-6 && of.range_ns() == 20));
        assert!(all.iter().all(|of| (of.sd_ns - 10.0 * (20f64 / 19.0).sqrt()).abs() < 1e-6));
    }
}
