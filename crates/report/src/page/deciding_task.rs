//! Tasks that decide verdicts, for the first screen: the quantity of a verdict, with the limits of its purpose, on one scale.

use jitterlab_analysis::purposes::{Limit, Measure};
use jitterlab_analysis::scan::series::QUANTITIES;
use jitterlab_analysis::verdict::{PurposeVerdict, Verdict};
use jitterlab_model::{Distribution, Gap, Quantity};

use crate::chart::Axis;
use crate::conclusion::quoted_purpose;
use crate::figure::series::{SeriesColumn, series_columns};
use crate::run_view::{PageRun, PageTask};
use crate::words::{exact_time, time};

/// The task of a run that its first screen shows.
pub struct DecidingTask<'a> {
    pub run: &'a PageRun,
    pub task: &'a PageTask,
    pub judged: Option<PurposeVerdict>,
    /// True if the quantity is the period error, false if it is the lateness of starts.
    pub is_period_error: bool,
    /// Values without their sign, the smallest first: from, to, count.
    pub magnitudes: Vec<(i64, i64, u64)>,
    pub count: u64,
    pub worst_ns: i64,
    /// True if the magnitudes show every value, so that quantiles and steps are true.
    pub has_shape: bool,
}

impl<'a> DecidingTask<'a> {
    /// Chooses the task and quantity that decide the verdict, or that on this purpose; `None` if nothing is known.
    pub fn new(run: &'a PageRun, verdict: Option<&Verdict>, purpose: Option<&str>) -> Option<Self> {
        let judged = match purpose {
            Some(name) => verdict.and_then(|verdict| verdict.purposes.iter().find(|of| of.purpose == name)),
            None => verdict.and_then(quoted_purpose),
        };
        let judged = judged.filter(|of| of.decided_by.is_some()).cloned();
        let decided = judged.as_ref().and_then(|of| of.decided_by.as_ref());
        let named = |task: &&PageTask| decided.is_none_or(|by| by.task == task.measured.summary.task);
        let measure = decided.map(|by| by.limit.measure);
        let is_period_error = matches!(measure, Some(Measure::Interval | Measure::PeriodDeviation));
        let find = |quantity: Quantity| {
            let tasks = run.tasks.iter().filter(named);
            tasks
                .map(|task| (task, task.scan.timing.distribution(quantity).into_owned()))
                .find(|(_, values)| values.count() > 0)
        };
        let wanted = if is_period_error { Quantity::PeriodError } else { Quantity::Latency };
        let ((task, values), is_period_error) = match find(wanted) {
            Some(found) => (found, is_period_error),
            None => (find(Quantity::PeriodError)?, true),
        };
        let magnitudes = magnitudes(&values, is_period_error);
        let ends = [values.min_ns().filter(|_| is_period_error), values.max_ns()];
        let worst_ns = ends
            .into_iter()
            .flatten()
            .map(|ns| if is_period_error { ns.saturating_abs() } else { ns })
            .max()?;
        let has_shape = values.has_percentiles() && values.has_shape();
        Some(DecidingTask {
            run,
            task,
            judged,
            is_period_error,
            magnitudes,
            count: values.count(),
            worst_ns,
            has_shape,
        })
    }

    pub fn quantity(&self) -> Quantity {
        if self.is_period_error { Quantity::PeriodError } else { Quantity::Latency }
    }

    pub fn limit(&self) -> Option<Limit> {
        Some(self.judged.as_ref()?.decided_by.as_ref()?.limit)
    }

    /// Limit of single values; `None` for limits of the standard deviation and of missed due times.
    pub fn drawable_limit(&self) -> Option<Limit> {
        self.limit().filter(|limit| matches!(limit.measure, Measure::Interval | Measure::Latency))
    }

    /// The size that a share of all values does not exceed; `None` unless ten values or more lie beyond it.
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        let rank = (share * self.count as f64).ceil() as u64;
        if !self.has_shape || self.count < rank + 10 {
            return None;
        }
        let mut below = 0;
        let found = self.magnitudes.iter().find(|(_, _, count)| {
            below += count;
            below >= rank
        });
        found.map(|(_, to, _)| (*to).min(self.worst_ns))
    }

    /// The period; `None` if it is unknown or the quantity is an error of it.
    pub fn period_ns(&self) -> Option<i64> {
        let summary = &self.task.measured.summary;
        let is_known = summary.knows(Gap::Period) && summary.knows(Gap::Grid);
        (is_known && !self.is_period_error).then_some(summary.period_ns)
    }

    /// The series in at most `most` columns: begin, smallest size, and largest.
    pub fn columns(&self, most: usize) -> Vec<(i64, i64, i64)> {
        let row = QUANTITIES.iter().position(|quantity| *quantity == self.quantity()).unwrap_or(0);
        let origin_ns = self.run.origin_ns();
        let column = |SeriesColumn { due_ns, extent, .. }: &SeriesColumn| {
            let (low, high) = match self.is_period_error {
                true => (0, extent.max_ns.saturating_abs().max(extent.min_ns.saturating_abs())),
                false => (extent.min_ns, extent.max_ns),
            };
            (due_ns - origin_ns, low, high)
        };
        series_columns(&self.task.series, row, most).iter().map(column).collect()
    }
}

/// Bins of absolute values, the smallest first: from, to, count.
fn magnitudes(values: &Distribution, is_period_error: bool) -> Vec<(i64, i64, u64)> {
    let size = |low: i64, high: i64| match () {
        () if !is_period_error || low >= 0 => (low, high),
        () if high <= 0 => (-high, -low),
        () => (0, high.max(-low)),
    };
    let mut magnitudes: Vec<(i64, i64, u64)> = values
        .bins()
        .map(|bin| {
            let (from, to) = size(bin.low_ns, bin.high_ns);
            (from, to, bin.count)
        })
        .collect();
    magnitudes.sort_unstable_by_key(|(_, to, _)| *to);
    magnitudes
}

/// The scale that values of all runs share: logarithmic where the worst, or a limit, is far from the middle.
pub struct SharedScale {
    pub axis: Axis,
    low: f64,
    high: f64,
    /// Smaller values are drawn at its lower end.
    pub is_cut: bool,
}

/// Multiple of the median from which on a value is far from it.
const FAR_FROM_MEDIAN: f64 = 10.0;

impl SharedScale {
    /// Scale for all of these tasks, logarithmic if their worst lies far above a median; `None` without values.
    pub fn for_tasks(deciding_tasks: &[DecidingTask<'_>]) -> Option<Self> {
        let middle = |of: &DecidingTask<'_>| {
            let mut below = 0;
            let found = of.magnitudes.iter().find(|(_, _, count)| {
                below += count;
                2 * below >= of.count
            });
            found.map(|(_, to, _)| *to)
        };
        let all = |each: &dyn Fn(&DecidingTask<'_>) -> Option<i64>| -> Vec<f64> {
            deciding_tasks.iter().filter_map(each).map(|ns| ns as f64).filter(|ns| *ns > 0.0).collect()
        };
        let most = |values: Vec<f64>| values.into_iter().reduce(f64::max);
        let worst = most(all(&|of| Some(of.worst_ns)))?;
        let limit = most(all(&|of| of.drawable_limit().map(|limit| limit.limited))).unwrap_or(0.0);
        // A line far above everything would press the rest together; the largest limit is always seen.
        let period =
            most(all(&|of| of.period_ns())).filter(|ns| *ns <= 3.0 * worst.max(limit)).unwrap_or(0.0);
        let high = worst.max(limit).max(period);
        let middle = all(&middle).into_iter().reduce(f64::min).unwrap_or(worst);
        if high <= FAR_FROM_MEDIAN * middle {
            let axis = Axis::linear("").time();
            return Some(SharedScale {
                axis,
                low: 0.0,
                high: round_to_1_2_5(1.1 * high, true),
                is_cut: false,
            });
        }
        let smallest = all(&|of| of.magnitudes.first().map(|(from, ..)| *from)).into_iter().reduce(f64::min);
        let whole = deciding_tasks.iter().all(|of| of.magnitudes.first().is_some_and(|(from, ..)| *from > 0));
        // Deviations reach down to 0: there is no lower edge to be seen.
        let below = if deciding_tasks.iter().all(|of| of.is_period_error) { 3.0 } else { FAR_FROM_MEDIAN };
        let low = round_to_1_2_5((middle / below).max(smallest.unwrap_or(0.0)).max(1.0), false);
        let is_cut = !whole || smallest.is_some_and(|ns| ns < low);
        Some(SharedScale { axis: Axis::log("").time(), low, high: round_to_1_2_5(1.05 * high, true), is_cut })
    }

    pub fn is_log(&self) -> bool {
        self.low > 0.0
    }

    /// Position of a value, from 0 at the lower end to 1 at the upper one.
    pub fn position(&self, ns: f64) -> f64 {
        let [low, high, at] =
            [self.low, self.high, ns.max(self.low)].map(|ns| self.axis.position(ns).unwrap_or(0.0));
        ((at - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Number of factors of ten that the scale spans; 1 for a linear one.
    pub fn decades(&self) -> f64 {
        if self.is_log() { (self.high / self.low).log10() } else { 1.0 }
    }

    /// About `about` ticks from the lower end up: position from 0 to 1, and words.
    pub fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        let [low, high] = [self.low, self.high].map(|ns| self.axis.position(ns).unwrap_or(0.0));
        let ticks =
            self.axis.ticks((low, high), about).into_iter().map(|(position, _)| self.axis.value_at(position));
        let words = |ns: f64| match ns {
            ns if self.is_cut && ns <= 1.001 * self.low => format!("≤ {}", time(ns)),
            0.0 => "0".into(),
            ns => exact_time(ns.round() as i64),
        };
        ticks.map(|ns| (self.position(ns), words(ns))).collect()
    }
}

/// The next of 1, 2 and 5 times a power of ten, upwards or downwards.
fn round_to_1_2_5(ns: f64, up: bool) -> f64 {
    let power = 10f64.powf(ns.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    match up {
        true => steps.into_iter().find(|step| *step >= 0.999 * ns).unwrap_or(10.0 * power),
        false => steps.into_iter().rfind(|step| *step <= 1.001 * ns).unwrap_or(power),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_values() {
        assert_eq!(
            [97.0, 100.0, 101.0, 230.0].map(|ns| round_to_1_2_5(ns, true)),
            [100.0, 100.0, 200.0, 500.0]
        );
        assert_eq!([97.0, 100.0, 230.0].map(|ns| round_to_1_2_5(ns, false)), [50.0, 100.0, 200.0]);
    }

    #[test]
    fn sizes_of_both_signs_lie_in_one_order() {
        let mut values = Distribution::new();
        [-90, -5, 3, 80].into_iter().for_each(|ns| values.record(ns));
        let of = |is_period_error| {
            magnitudes(&values, is_period_error).into_iter().map(|(_, to, _)| to).collect::<Vec<_>>()
        };
        assert_eq!(of(true), [3, 5, 80, 90]);
        assert_eq!(of(false), [-90, -5, 3, 80]);
    }
}
