//! Intervals of the figures of one run: quantiles, mean, missed share, execution time.

use jitterlab_model::Distribution;

use super::interval_arithmetic::{ClusteredEvents, TAIL, interval_around, share_interval};
use super::{Basis, NoInterval};
use crate::dependent_variance::{
    CorrelationTime, NORMAL_FROM, participation, student_quantile, variance_of_sum,
};
use crate::exact_binomial::{binomial_lower, binomial_upper};
use crate::scan::{Part, TaskScan, Ticks};

/// Fewest parts from which dependence can be estimated.
const FEWEST_PARTS: usize = 32;
/// Fewest parts of equal weight that must carry the variation: fewer are a burst or two.
const PARTICIPATING: f64 = 10.0;
/// Correlation times (1 + 2 r_1 + ...) in a run above which it almost always determines a mean
/// (`docs/evidence/calibration.md`).
const ENOUGH: f64 = 100.0;
/// Correlation time above which parts count as dependent.
const DEPENDENT: f64 = 1.5;

/// Shortest execution time compared; below it, the time is mostly that of reading the clock.
const SHORTEST_EXECUTION_NS: f64 = 1_000.0;
/// Largest relative excess of a histogram's quantile over the true one.
const BIN: f64 = 0.008;

/// A figure of a distribution: of the latency, unless it names another quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Figure {
    Mean,
    StandardDeviation,
    MedianExecution,
    Quantile(f64),
    MissedShare,
}

/// Figures whose dependence decides for all: a change of the body or the tail shows in one of them.
const LEADING: [Figure; 4] =
    [Figure::Mean, Figure::Quantile(0.5), Figure::Quantile(0.9), Figure::Quantile(0.99)];

/// A run with the basis of its figures.
pub(super) struct RunSample {
    pub whole: Part,
    pub basis: Basis,
    execution: Distribution,
    parts: Vec<Part>,
    ticks: Ticks,
    extremes: [f64; 2],
    /// Width of the bins in which the source counted latencies; 0 if it has each latency.
    bin_ns: f64,
    /// Figures that its source does not have.
    unknown: Vec<Figure>,
}

impl RunSample {
    pub fn from_scan(scan: &TaskScan) -> Self {
        let (length, parts) = scan.parts();
        let mut whole = Part::default();
        parts.iter().for_each(|(_, part)| whole.merge(part));
        let parts = parts.into_iter().map(|p| p.1).collect();
        let latency = &scan.timing.latency;
        let mut sample = RunSample {
            whole,
            basis: Basis::TooShort,
            execution: scan.timing.execution.clone(),
            parts,
            ticks: scan.ticks(),
            extremes: [
                latency.min_ns().map_or(f64::NEG_INFINITY, |ns| ns as f64),
                latency.max_ns().map_or(f64::INFINITY, |ns| ns as f64),
            ],
            bin_ns: latency.bin_width_ns() as f64,
            unknown: unknown_figures(scan),
        };
        let part_ns = length as f64 * scan.timing.period_ns() as f64;
        sample.basis = match sample.basis(scan.is_complete(), part_ns) {
            Basis::Dependence { .. } if scan.has_long_memory() => Basis::LongMemory,
            basis => basis,
        };
        sample
    }

    /// Determines what intervals rest on, from the correlation of the parts.
    fn basis(&self, complete: bool, part_ns: f64) -> Basis {
        match self.parts.len() {
            0..=1 if !complete => return Basis::IfIndependent,
            0..FEWEST_PARTS => return Basis::TooShort,
            _ => {}
        }
        let series = LEADING.iter().filter_map(|figure| self.excess_by_part(*figure));
        let longest =
            series.map(|y| CorrelationTime::from_series(&y)).reduce(CorrelationTime::with_larger_limit);
        let Some(time) = longest else { return Basis::TooShort };
        let correlation_ns = time.parts * part_ns;
        let Some(degrees) = time.degrees_of_freedom(self.parts.len()) else {
            return Basis::TooDependent { correlation_ns, needs_ns: ENOUGH * correlation_ns };
        };
        let n = self.whole.count as f64;
        let effective =
            self.excess_by_part(Figure::Mean).zip(self.whole.variance()).map(|(residuals, variance)| {
                let of_mean = variance_of_sum(&residuals, degrees) / (n * n);
                if of_mean > 0.0 { (variance / of_mean).min(n) } else { n }
            });
        let correlation_ns = (time.parts >= DEPENDENT).then_some(correlation_ns);
        Basis::Dependence { degrees, effective: effective.unwrap_or(n), part_ns, correlation_ns }
    }

    /// Returns a figure, if the run's source has the data for it.
    pub fn value(&self, figure: Figure) -> Option<f64> {
        if self.unknown.contains(&figure) {
            return None;
        }
        match figure {
            Figure::Mean => self.whole.mean_ns(),
            Figure::StandardDeviation => self.whole.variance().map(f64::sqrt),
            Figure::MedianExecution => {
                let median = self.execution.quantile_ns(0.5).map(|ns| ns as f64);
                median.filter(|ns| *ns >= SHORTEST_EXECUTION_NS)
            }
            Figure::MissedShare => {
                let due = self.whole.count + self.whole.missed;
                (due > 0).then(|| self.whole.missed as f64 / due as f64)
            }
            // Rounded to the step of the run's time stamps, if that is coarser than a bin.
            Figure::Quantile(p) => {
                let place = self.whole.quantile_position(p)?;
                let on_grid = self.ticks.only_value_in(&self.whole.bins[place.bin]);
                // A bin may reach beyond the extremes.
                let [min, max] = self.extremes;
                Some(on_grid.or_else(|| self.whole.quantile_ns(p))?.clamp(min, max))
            }
        }
    }

    /// Returns how far below and above its value a figure may lie because latencies were counted in bins. A quantile is
    /// the upper edge of its bin, a mean is computed from the middles.
    pub fn bin_uncertainty(&self, figure: Figure) -> [f64; 2] {
        match figure {
            Figure::Mean => [self.bin_ns / 2.0; 2],
            Figure::Quantile(_) => [self.bin_ns, 0.0],
            Figure::StandardDeviation | Figure::MedianExecution | Figure::MissedShare => [0.0; 2],
        }
    }

    /// Returns the interval of a figure, which misses it with probability `level`, or the reason why it has none.
    pub fn interval(&self, figure: Figure, level: f64) -> Result<[f64; 2], NoInterval> {
        let n = self.whole.count as f64;
        match figure {
            Figure::Mean => {
                let value = self.value(figure).ok_or(NoInterval::Unknown)?;
                let (error, t) = match self.basis {
                    Basis::IfIndependent => {
                        let sd = self.value(Figure::StandardDeviation).ok_or(NoInterval::Unknown)?;
                        (sd / n.sqrt(), student_quantile(level, self.whole.count.saturating_sub(1) as usize))
                    }
                    _ => {
                        let (variance, degrees) = self.variance_of_sum(figure)?;
                        (variance.sqrt() / n, student_quantile(level, degrees))
                    }
                };
                Ok(interval_around(value, t * error))
            }
            Figure::MedianExecution => self.median_execution_interval(level),
            // No method tried gives the standard deviation of bursty latencies a valid interval.
            Figure::StandardDeviation => Err(NoInterval::NoMethod),
            Figure::MissedShare => self.missed_events(level)?.share(level).ok_or(NoInterval::FewEvents),
            // The share above it, read back through the histogram (Woodruff, J. Am. Stat. Assoc. 1952).
            Figure::Quantile(p) => {
                let [low, high] = self.share_interval_of(figure, 1.0 - p, n, level)?;
                let at = |above: f64| self.value(Figure::Quantile(1.0 - above)).ok_or(NoInterval::Unknown);
                Ok([at(high)?, at(low)?])
            }
        }
    }

    /// Returns the interval of the median execution time, counting each part as one value. The dependence of execution
    /// times within a part is unknown. Rare values, however large, move it only slightly.
    fn median_execution_interval(&self, level: f64) -> Result<[f64; 2], NoInterval> {
        self.value(Figure::MedianExecution).ok_or(NoInterval::Unknown)?;
        self.degrees_of_freedom()?;
        let mean = self.whole.mean_execution_ns().unwrap_or_default();
        let sums = self.parts.iter().map(|part| part.execution_sum_ns as f64 - mean * part.count as f64);
        let time = CorrelationTime::from_series(&sums.collect::<Vec<f64>>());
        let degrees = time.degrees_of_freedom(self.parts.len()).ok_or(NoInterval::TooDependent)?;
        let reach = student_quantile(level, degrees) * 0.5 / (self.parts.len() as f64 / time.at_most).sqrt();
        if reach >= 0.5 {
            return Err(NoInterval::TooShort);
        }
        let at = |p: f64| self.execution.quantile_ns(p).map(|ns| ns as f64).ok_or(NoInterval::Unknown);
        Ok([at(0.5 - reach)? * (1.0 - BIN), at(0.5 + reach)?])
    }

    /// Returns the missed due times with how many count as one independent event, or why that is unknown.
    pub fn missed_events(&self, level: f64) -> Result<ClusteredEvents, NoInterval> {
        let share = self.value(Figure::MissedShare).ok_or(NoInterval::Unknown)?;
        let observed = self.whole.missed as f64;
        let singly = observed * (1.0 - share);
        let together = match self.basis {
            Basis::IfIndependent => 1.0,
            _ if singly == 0.0 => self.degrees_of_freedom().map(|_| 1.0)?,
            _ => {
                let (variance, degrees) = self.variance_of_sum(Figure::MissedShare)?;
                let wider = student_quantile(level, degrees) / student_quantile(level, NORMAL_FROM);
                (variance / singly).max(1.0) * wider * wider
            }
        };
        Ok(ClusteredEvents { observed, tries: observed + self.whole.count as f64, together })
    }

    /// Returns the sums of the run over equal blocks in order; `None` if it has too few parts.
    pub fn equal_blocks(&self, number: usize) -> Option<Vec<Part>> {
        let n = self.parts.len();
        (n >= FEWEST_PARTS).then(|| {
            let merged = |k: usize| {
                let mut block = Part::default();
                self.parts[k * n / number..(k + 1) * n / number].iter().for_each(|part| block.merge(part));
                block
            };
            (0..number).map(merged).collect()
        })
    }

    /// Returns the most by which a true latency may exceed the recorded one, in ns, by its clock or histogram.
    pub fn resolution_ns(&self) -> f64 {
        self.bin_ns + (self.ticks.step_ns - 1) as f64
    }

    /// Returns the interval of a share of `n` values, or why there is none.
    fn share_interval_of(
        &self,
        figure: Figure,
        share: f64,
        n: f64,
        level: f64,
    ) -> Result<[f64; 2], NoInterval> {
        if self.basis == Basis::IfIndependent {
            let confidence = 1.0 - level / 2.0;
            let limits = [binomial_lower(share * n, n, confidence), binomial_upper(share * n, n, confidence)];
            return if limits[0] > 0.0 { Ok(limits) } else { Err(NoInterval::FewEvents) };
        }
        let (variance, degrees) = self.variance_of_sum(figure)?;
        share_interval(share, variance.sqrt() / n, student_quantile(level, degrees))
            .ok_or(NoInterval::FewEvents)
    }

    /// Returns the degrees of freedom that dependence leaves, or why there are none.
    fn degrees_of_freedom(&self) -> Result<usize, NoInterval> {
        match self.basis {
            Basis::Dependence { degrees, .. } => Ok(degrees),
            Basis::TooDependent { .. } => Err(NoInterval::TooDependent),
            Basis::LongMemory => Err(NoInterval::LongMemory),
            Basis::TooShort | Basis::IfIndependent => Err(NoInterval::TooShort),
        }
    }

    /// Returns the variance of the sum of a figure's residuals and its degrees of freedom, or why it has none.
    fn variance_of_sum(&self, figure: Figure) -> Result<(f64, usize), NoInterval> {
        let degrees = self.degrees_of_freedom()?;
        let residuals = self.excess_by_part(figure).ok_or(NoInterval::Unknown)?;
        if residuals.iter().all(|r| *r == 0.0) && figure != Figure::MissedShare {
            return Ok((0.0, degrees)); // all values are equal
        }
        let participation = participation(&residuals);
        if participation.equal < PARTICIPATING {
            return Err(NoInterval::FewEvents);
        }
        // A part holds at most one value of the tail, and one with three is outstanding by chance: in the
        // tail, events are counted.
        let body = match figure {
            Figure::Quantile(p) => (TAIL..=1.0 - TAIL).contains(&p),
            _ => figure == Figure::Mean,
        };
        let may_add = if body { participation.may_add } else { 0.0 };
        // The run's own correlation time determined the number of cosines, which costs one degree of freedom.
        Ok((variance_of_sum(&residuals, degrees) + may_add, degrees - 1))
    }

    /// Returns each part's excess of a figure over the whole run's; their sum is 0. `None` for other figures.
    fn excess_by_part(&self, figure: Figure) -> Option<Vec<f64>> {
        let centred = |value: f64, of: &dyn Fn(&Part) -> (f64, u64)| {
            let of = self.parts.iter().map(of);
            of.map(|(sum, count)| sum - value * count as f64).collect::<Vec<f64>>()
        };
        match figure {
            Figure::Mean => Some(centred(self.value(figure)?, &|part| (part.sum_ns as f64, part.count))),
            Figure::MissedShare => {
                Some(centred(self.value(figure)?, &|part| (part.missed as f64, part.count + part.missed)))
            }
            Figure::Quantile(p) => {
                let place = self.whole.quantile_position(p)?;
                let edge_ns = self.whole.bins[place.bin].low_ns;
                Some(centred(1.0 - p, &|part| (part.count_above(edge_ns, place.within), part.count)))
            }
            Figure::StandardDeviation | Figure::MedianExecution => None,
        }
    }
}

/// Returns the figures that the source of a run does not have.
fn unknown_figures(scan: &TaskScan) -> Vec<Figure> {
    let latency = &scan.timing.latency;
    let lacking = [
        (Figure::Mean, latency.mean_ns().is_none()),
        (Figure::StandardDeviation, latency.standard_deviation_ns().is_none()),
        (Figure::MissedShare, scan.timing.missed().exactly().is_none()),
    ];
    lacking.into_iter().filter(|(_, lacks)| *lacks).map(|(figure, _)| figure).collect()
}
