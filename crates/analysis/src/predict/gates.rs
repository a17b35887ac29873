//! The conditions under which a tail may be extrapolated (theory D6, step 2), each at a level of 1 %.
//!
//! They can refuse but not prove: a cause that did not occur in the run passes them all.

use serde::Serialize;

use super::Tail;
use crate::Caveat;
use crate::exact_binomial::chi_squared_quantile;
use crate::extremes::cluster_index::{cluster_gap, decluster};
use crate::extremes::gpd::{Gpd, coefficient_of_variation};
use crate::extremes::intervals_index;
use crate::least_squares::{interpolated, median};
use crate::scan::Ticks;
use crate::stationarity::{kpss, mid_ranks};

const LEVEL: f64 = 0.01;
/// Exceedances of the main fit.
pub(super) const MAIN_FIT: usize = 300;
/// Largest values examined for a cluster of their own.
const TOP: usize = 30;
/// Heaviest tail, by its shape; the bounds of a heavier one are too wide to be useful.
const HEAVIEST_SHAPE: f64 = 0.4;
/// Extremal index above which exceedances count as independent; clusters lower it below 1.
const INDEPENDENT_INDEX: f64 = 0.8;

/// One condition and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    /// The condition tested.
    #[serde(flatten)]
    pub condition: Condition,
    /// True if the run meets it.
    pub passed: bool,
    /// The test statistic; `None` if it is not finite, which fails.
    pub statistic: Option<f64>,
    /// Largest statistic that passes ([`Condition::Size`]: smallest).
    pub critical: f64,
}

/// Condition tested by a gate, with findings beyond its statistic.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Condition {
    /// There are enough independent exceedances. Statistic: their number.
    Size {
        /// The extremal index, if exceedances come in clusters, each of which counts once.
        clustered: Option<f64>,
    },
    /// They spread evenly over the run. Statistic: chi-squared of their counts in equal parts of it.
    Dispersion {
        /// Number of exceedances.
        latencies: usize,
        /// Number of parts of the run in which they were counted.
        parts: usize,
    },
    /// Clusters of exceedances are of one kind. Statistic: the size of the largest.
    ClusterSizes {
        /// The number of clusters; `None` if exceedances are independent.
        clusters: Option<usize>,
        /// The extremal index.
        extremal_index: f64,
    },
    /// The tail has the fitted shape. Statistic: Anderson and Darling's.
    GoodnessOfFit {
        /// Number of the largest latencies fitted; `None` if they are all equal, so that there is no tail.
        latencies: Option<usize>,
    },
    /// The tail is not so heavy that a bound would be meaningless. Statistic: its shape xi.
    Shape {
        /// Standard deviation over mean of the exceedances, 1 for an exponential tail.
        variation: Option<f64>,
    },
    /// No group of the largest latencies is separate from the rest. Statistic: the largest spacing over the median one.
    TopCluster {
        /// Number of the largest latencies.
        latencies: usize,
    },
    /// Both halves of the run have equally many of the largest latencies. Statistic: the difference in
    /// standard deviations.
    Halves {
        /// Number of the largest latencies.
        latencies: usize,
        /// Number of them in the first half.
        first_half: usize,
    },
    /// The maxima of equal parts of the run have a constant level. Statistic: KPSS.
    Level {
        /// Number of parts.
        parts: usize,
    },
    /// The task stayed on one processor. Statistic: number of migrations.
    Migrations,
    /// No event on the machine that may not recur, or become more frequent. Statistic: the number of events.
    Machine {
        /// The events.
        events: Vec<Caveat>,
    },
}

impl Condition {
    /// Returns the name, as in JSON.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Condition::Size { .. } => "size",
            Condition::Dispersion { .. } => "dispersion",
            Condition::ClusterSizes { .. } => "cluster-sizes",
            Condition::GoodnessOfFit { .. } => "goodness-of-fit",
            Condition::Shape { .. } => "shape",
            Condition::TopCluster { .. } => "top-cluster",
            Condition::Halves { .. } => "halves",
            Condition::Level { .. } => "level",
            Condition::Migrations => "migrations",
            Condition::Machine { .. } => "machine",
        }
    }

    /// Creates a gate that passes if the statistic does not exceed the critical value.
    fn gate_with_limit(self, statistic: f64, critical: f64) -> Gate {
        let passed = statistic <= critical;
        Gate { condition: self, passed, statistic: Some(statistic).filter(|s| s.is_finite()), critical }
    }
}

/// The exceedances for an extrapolation.
#[derive(Debug, Clone)]
pub(super) struct Exceedances {
    /// Independent values, in ns, the largest first: all exceedances, or the largest of each cluster of them.
    pub values: Vec<f64>,
    /// Their positions on the grid with the measured latencies, the largest first.
    places: Vec<(u64, i64)>,
    /// Extremal index of the exceedances; used if it is below the limit.
    pub theta: f64,
    /// True if exceedances were grouped into clusters.
    pub declustered: bool,
    /// Exceedances of the largest cluster.
    largest_cluster: u64,
}

/// Returns the largest latencies as independent exceedances, one of each cluster; `None` if there are too few.
pub(super) fn declustered_exceedances(tail: &Tail) -> Option<Exceedances> {
    let size = super::TAIL_SIZE.min(usize::try_from(tail.count() / 100).ok()?).min(tail.peaks.len());
    if size < 2 * TOP {
        return None;
    }
    let mut in_time: Vec<(u64, i64)> = tail.peaks[..size].iter().map(|p| (p.index, p.latency_ns)).collect();
    in_time.sort_unstable();
    let positions: Vec<u64> = in_time.iter().map(|p| p.0).collect();
    let theta = intervals_index(&positions)?;
    let declustered = theta < INDEPENDENT_INDEX;
    let mut largest_cluster = 1;
    let mut exceedances = in_time;
    if declustered {
        let clusters = decluster(&exceedances, cluster_gap(&positions, theta));
        largest_cluster = clusters.iter().map(|c| c.exceedances).max().unwrap_or(1);
        exceedances = clusters.iter().map(|c| (c.first, c.max_ns)).collect();
    }
    exceedances.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let step = Ticks::from_values(exceedances.iter().map(|of| of.1)).step_ns as f64;
    // Time stamps have a resolution: equal values are spread over it, by an amount that depends only on the position.
    let mut values: Vec<f64> =
        exceedances.iter().map(|(at, ns)| *ns as f64 + step * (hash_to_unit_interval(*at) - 0.5)).collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    Some(Exceedances { values, places: exceedances, theta, declustered, largest_cluster })
}

/// Returns a number in 0..1 that depends only on the position.
fn hash_to_unit_interval(place: u64) -> f64 {
    (crate::scan::position_hash(place) >> 11) as f64 / (1u64 << 53) as f64
}

impl Exceedances {
    /// Returns the excesses of the `k` largest values over the next one, ascending, and that one; `None` for too few.
    pub fn excesses(&self, k: usize) -> Option<(Vec<f64>, f64)> {
        let threshold = *self.values.get(k)?;
        Some((self.values[..k].iter().rev().map(|v| v - threshold).collect(), threshold))
    }
}

/// Tests every condition of an extrapolation but events on the machine, and returns the gates.
pub(super) fn gates_of_tail(tail: &Tail, exceedances: Option<&Exceedances>) -> Vec<Gate> {
    let have = exceedances.map_or(0, |p| p.values.len());
    let mut gates = vec![size_gate(have, exceedances)];
    let Some(exceedances) = exceedances else { return gates };
    gates.push(dispersion_gate(tail, exceedances));
    gates.push(cluster_sizes_gate(exceedances));
    if let Some((excesses, _)) = exceedances.excesses(MAIN_FIT) {
        match Gpd::fit_l_moments(&excesses) {
            Some(fit) => {
                gates.push(goodness_of_fit_gate(&fit, &excesses));
                gates.push(shape_gate(&fit, &excesses));
                gates.push(top_cluster_gate(&exceedances.values, &fit, excesses.len()));
            }
            None => gates.push(no_fit_gate()),
        }
    }
    gates.extend([halves_gate(tail, exceedances), level_gate(tail)].into_iter().flatten());
    gates.push(migrations_gate(tail));
    gates
}

fn size_gate(have: usize, exceedances: Option<&Exceedances>) -> Gate {
    let needed = MAIN_FIT + 1;
    Gate {
        condition: Condition::Size { clustered: exceedances.filter(|p| p.declustered).map(|p| p.theta) },
        passed: have >= needed,
        statistic: Some(have as f64),
        critical: needed as f64,
    }
}

/// (a) Tests whether exceedances spread over the run as independent ones would, by their counts in blocks.
fn dispersion_gate(tail: &Tail, exceedances: &Exceedances) -> Gate {
    let count = exceedances.places.len();
    let blocks = (count / 10).max(2);
    let length = (tail.last - tail.first + 1) as f64 / blocks as f64;
    let mut counts = vec![0.0; blocks];
    for (position, _) in &exceedances.places {
        let block = ((position - tail.first) as f64 / length) as usize;
        counts[block.min(blocks - 1)] += 1.0;
    }
    let mean = count as f64 / blocks as f64;
    let statistic: f64 = counts.iter().map(|n| (n - mean) * (n - mean) / mean).sum();
    let critical = chi_squared_quantile(blocks as f64 - 1.0, 1.0 - LEVEL);
    Condition::Dispersion { latencies: count, parts: blocks }.gate_with_limit(statistic, critical)
}

/// (b) Tests that the largest cluster is no larger than clusters of one kind. A few large ones among many small ones
/// have another cause, too rare to show its own tail. Sizes of one kind are geometric with mean 1 / theta.
fn cluster_sizes_gate(exceedances: &Exceedances) -> Gate {
    let clusters = exceedances.values.len() as f64;
    let (theta, size) = (exceedances.theta, exceedances.largest_cluster as f64);
    let critical =
        if exceedances.declustered { 1.0 + (LEVEL / clusters).ln() / (1.0 - theta).ln() } else { 1.0 };
    let clusters = exceedances.declustered.then_some(exceedances.values.len());
    Condition::ClusterSizes { clusters, extremal_index: theta }.gate_with_limit(size, critical)
}

/// 99 % quantiles of the Anderson-Darling statistic of 300 excesses against their own fit by L-moments, by shape
/// (parametric bootstrap of 20 000 samples each; reproduced in the tests).
const ANDERSON_DARLING: [(f64, f64); 6] =
    [(-0.6, 1.40), (-0.5, 1.38), (-0.25, 1.24), (0.0, 1.13), (0.25, 1.28), (0.4, 1.38)];

/// (c) Tests whether the tail has the fitted shape.
fn goodness_of_fit_gate(fit: &Gpd, excesses: &[f64]) -> Gate {
    let statistic = fit.anderson_darling(excesses);
    Condition::GoodnessOfFit { latencies: Some(excesses.len()) }
        .gate_with_limit(statistic, critical_anderson_darling(fit.shape))
}

fn critical_anderson_darling(shape: f64) -> f64 {
    interpolated(&ANDERSON_DARLING.map(|(shape, quantile)| (shape, quantile.ln())), shape).exp()
}

/// (d) Tests that the tail is not too heavy for a meaningful bound.
fn shape_gate(fit: &Gpd, excesses: &[f64]) -> Gate {
    Gate {
        condition: Condition::Shape { variation: coefficient_of_variation(excesses) },
        passed: fit.shape < HEAVIEST_SHAPE,
        statistic: Some(fit.shape),
        critical: HEAVIEST_SHAPE,
    }
}

/// Condition on the goodness of fit where no tail could be fitted: it fails.
fn no_fit_gate() -> Gate {
    Condition::GoodnessOfFit { latencies: None }.gate_with_limit(f64::INFINITY, 0.0)
}

/// (e) Tests that no group of the largest 30 values is separate, by their spacings i (X_(i) - X_(i+1)). These have
/// equal distributions for an exponential tail (Renyi), here after transforming the fitted tail to an exponential one.
fn top_cluster_gate(values: &[f64], fit: &Gpd, k: usize) -> Gate {
    let threshold = values[k];
    // Spacings of a bounded tail only shrink towards its end: without the transform they cause no false refusal.
    let tail = Gpd { shape: fit.shape.max(0.0), ..*fit };
    let exponential = |v: f64| -tail.survival(v - threshold).max(1e-300).ln();
    let spacings: Vec<f64> =
        (1..=TOP).map(|i| i as f64 * (exponential(values[i - 1]) - exponential(values[i]))).collect();
    let middle = median(&mut spacings.clone()).unwrap_or(0.0);
    let largest = spacings.iter().copied().fold(0.0, f64::max);
    let statistic = if middle > 0.0 { largest / middle } else { f64::INFINITY };
    Condition::TopCluster { latencies: TOP }.gate_with_limit(statistic, TOP_SPACING)
}

/// 99 % quantile of the largest of 30 exponential spacings over their median (reproduced in the tests).
const TOP_SPACING: f64 = 14.0;

/// (f) Tests whether both halves of the run have equally many of the largest latencies; `None` without any. All as
/// large as the last of them count, since equal ones have no order.
fn halves_gate(tail: &Tail, exceedances: &Exceedances) -> Option<Gate> {
    let (_, least_ns) = exceedances.places.get(MAIN_FIT.min(exceedances.places.len()).checked_sub(1)?)?;
    let largest = exceedances.places.iter().take_while(|(_, ns)| ns >= least_ns);
    let middle = tail.first + (tail.last - tail.first) / 2;
    let (m, early) = largest.fold((0, 0), |(m, early), (at, _)| (m + 1, early + usize::from(*at <= middle)));
    // Values drawn without replacement scatter less.
    let share = m as f64 / (tail.count() as f64).max(1.0);
    let sd = (m as f64 * (1.0 - share).max(f64::MIN_POSITIVE) / 4.0).sqrt();
    let statistic = (early as f64 - m as f64 / 2.0).abs() / sd;
    Some(Condition::Halves { latencies: m, first_half: early }.gate_with_limit(statistic, 2.575_829))
}

/// (f) Tests that the level of the blocks' maxima does not wander (KPSS on ranks); `None` if untestable.
fn level_gate(tail: &Tail) -> Option<Gate> {
    let maxima = &tail.block_maxima_ns;
    let found = kpss(&mid_ranks(maxima), 4)?;
    Some(Gate {
        condition: Condition::Level { parts: maxima.len() },
        passed: found.p >= LEVEL,
        statistic: Some(found.eta),
        critical: 0.739,
    })
}

fn migrations_gate(tail: &Tail) -> Gate {
    Condition::Migrations.gate_with_limit(tail.migrations as f64, 0.0)
}

/// (g) Tests that there was no event on the machine that may not recur, or become more frequent.
pub(super) fn events_gate(events: &[Caveat]) -> Gate {
    Condition::Machine { events: events.to_vec() }.gate_with_limit(events.len() as f64, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn quantile_99(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() * 99 / 100]
    }

    #[test]
    fn critical_values_of_the_fit_are_reproduced() {
        let mut random = Random::new(1);
        for (shape, critical) in ANDERSON_DARLING {
            let gpd = Gpd { scale: 3.0, shape };
            let statistics = (0..2_000).filter_map(|_| {
                let mut x: Vec<f64> =
                    (0..MAIN_FIT).map(|_| gpd.excess_exceeded_with(random.uniform())).collect();
                x.sort_by(f64::total_cmp);
                Some(Gpd::fit_l_moments(&x)?.anderson_darling(&x))
            });
            let found = quantile_99(statistics.collect());
            assert!((found / critical - 1.0).abs() < 0.12, "{shape}: {found} {critical}");
        }
        for (shape, critical) in [(0.125, (1.13f64 * 1.28).sqrt()), (-3.0, 1.40), (3.0, 1.38)] {
            assert!((critical_anderson_darling(shape) - critical).abs() < 1e-9);
        }
    }

    #[test]
    fn the_critical_spacing_is_reproduced() {
        let mut random = Random::new(2);
        let ratios = (0..40_000).map(|_| {
            let mut spacings: Vec<f64> = (0..TOP).map(|_| random.exponential(1.0)).collect();
            let largest = spacings.iter().copied().fold(0.0, f64::max);
            largest / median(&mut spacings).unwrap()
        });
        let found = quantile_99(ratios.collect());
        assert!((found / TOP_SPACING - 1.0).abs() < 0.03, "{found}");
    }
}
