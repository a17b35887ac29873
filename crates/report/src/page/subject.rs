//! Subjects of the first screen: the quantity of a verdict, with the limits of its purpose, on one scale.

use jitterlab_analysis::purposes::{Limit, Measure};
use jitterlab_analysis::scan::series::QUANTITIES;
use jitterlab_analysis::verdict::{PurposeVerdict, Verdict};
use jitterlab_model::{Distribution, Gap, Quantity};

use crate::chart::Axis;
use crate::figure::series::{Column, columns};
use crate::head::spoken_of;
use crate::run_view::{PageRun, PageTask};
use crate::words::{exact, time};

/// The task of a run that its first screen shows.
pub struct Subject<'a> {
    pub run: &'a PageRun,
    pub task: &'a PageTask,
    pub judged: Option<PurposeVerdict>,
    /// True if the quantity is the period error, false if it is the lateness of starts.
    pub is_off: bool,
    /// Values without their sign, the smallest first: from, to, count.
    pub sizes: Vec<(i64, i64, u64)>,
    pub count: u64,
    pub worst_ns: i64,
    /// True if the sizes show every value, so that quantiles and steps are true.
    pub has_shape: bool,
}

impl<'a> Subject<'a> {
    /// The task and quantity of the verdict on the run, or of its verdict on this purpose; `None` if nothing
    /// was timed.
    pub fn new(run: &'a PageRun, verdict: Option<&Verdict>, purpose: Option<&str>) -> Option<Self> {
        let judged = match purpose {
            Some(name) => verdict.and_then(|verdict| verdict.purposes.iter().find(|of| of.purpose == name)),
            None => verdict.and_then(spoken_of),
        };
        let judged = judged.filter(|of| of.decided_by.is_some()).cloned();
        let decided = judged.as_ref().and_then(|of| of.decided_by.as_ref());
        let named = |task: &&PageTask| decided.is_none_or(|by| by.task == task.measured.summary.task);
        let measure = decided.map(|by| by.limit.measure);
        let is_off = matches!(measure, Some(Measure::Interval | Measure::PeriodDeviation));
        let find = |quantity: Quantity| {
            let tasks = run.tasks.iter().filter(named);
            tasks
                .map(|task| (task, task.scan.timing.of(quantity).into_owned()))
                .find(|(_, values)| values.count() > 0)
        };
        let wanted = if is_off { Quantity::PeriodError } else { Quantity::Latency };
        let ((task, values), is_off) = match find(wanted) {
            Some(found) => (found, is_off),
            None => (find(Quantity::PeriodError)?, true),
        };
        let sizes = sizes(&values, is_off);
        let ends = [values.min_ns().filter(|_| is_off), values.max_ns()];
        let worst_ns =
            ends.into_iter().flatten().map(|ns| if is_off { ns.saturating_abs() } else { ns }).max()?;
        let has_shape = values.has_percentiles() && values.has_shape();
        Some(Subject { run, task, judged, is_off, sizes, count: values.count(), worst_ns, has_shape })
    }

    pub fn quantity(&self) -> Quantity {
        if self.is_off { Quantity::PeriodError } else { Quantity::Latency }
    }

    pub fn limit(&self) -> Option<Limit> {
        Some(self.judged.as_ref()?.decided_by.as_ref()?.limit)
    }

    /// The limit of single values: the standard deviation and the missed have none that could be drawn.
    pub fn drawn(&self) -> Option<Limit> {
        self.limit().filter(|limit| matches!(limit.measure, Measure::Interval | Measure::Latency))
    }

    /// The size that a share of all values does not exceed, where ten values or more lie beyond it.
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        let rank = (share * self.count as f64).ceil() as u64;
        if !self.has_shape || self.count < rank + 10 {
            return None;
        }
        let mut below = 0;
        let found = self.sizes.iter().find(|(_, _, count)| {
            below += count;
            below >= rank
        });
        found.map(|(_, to, _)| (*to).min(self.worst_ns))
    }

    /// The period, where it is known and a line for it belongs to the quantity.
    pub fn period_ns(&self) -> Option<i64> {
        let summary = &self.task.measured.summary;
        let is_known = ![Gap::Period, Gap::Grid].iter().any(|gap| summary.unknown.contains(gap));
        (is_known && !self.is_off).then_some(summary.period_ns)
    }

    /// The series in at most `most` columns: begin, smallest size, and largest.
    pub fn columns(&self, most: usize) -> Vec<(i64, i64, i64)> {
        let row = QUANTITIES.iter().position(|quantity| *quantity == self.quantity()).unwrap_or(0);
        let origin_ns = self.run.origin_ns();
        let column = |Column { due_ns, extent, .. }: &Column| {
            let (low, high) = match self.is_off {
                true => (0, extent.max_ns.saturating_abs().max(extent.min_ns.saturating_abs())),
                false => (extent.min_ns, extent.max_ns),
            };
            (due_ns - origin_ns, low, high)
        };
        columns(&self.task.series, row, most).iter().map(column).collect()
    }
}

fn sizes(values: &Distribution, is_off: bool) -> Vec<(i64, i64, u64)> {
    let size = |low: i64, high: i64| match () {
        () if !is_off || low >= 0 => (low, high),
        () if high <= 0 => (-high, -low),
        () => (0, high.max(-low)),
    };
    let mut sizes: Vec<(i64, i64, u64)> = values
        .bins()
        .map(|bin| {
            let (from, to) = size(bin.low_ns, bin.high_ns);
            (from, to, bin.count)
        })
        .collect();
    sizes.sort_unstable_by_key(|(_, to, _)| *to);
    sizes
}

/// The scale that values of all runs share: logarithmic where the worst, or a limit, is far from the middle.
pub struct Scale {
    pub axis: Axis,
    low: f64,
    high: f64,
    /// Smaller values are drawn at its lower end.
    pub is_cut: bool,
}

/// Multiple of the median from which on a value is far from it.
const FAR: f64 = 10.0;

impl Scale {
    pub fn for_subjects(subjects: &[Subject<'_>]) -> Option<Self> {
        let middle = |of: &Subject<'_>| {
            let mut below = 0;
            let found = of.sizes.iter().find(|(_, _, count)| {
                below += count;
                2 * below >= of.count
            });
            found.map(|(_, to, _)| *to)
        };
        let all = |each: &dyn Fn(&Subject<'_>) -> Option<i64>| -> Vec<f64> {
            subjects.iter().filter_map(each).map(|ns| ns as f64).filter(|ns| *ns > 0.0).collect()
        };
        let most = |values: Vec<f64>| values.into_iter().reduce(f64::max);
        let worst = most(all(&|of| Some(of.worst_ns)))?;
        let limit = most(all(&|of| of.drawn().map(|limit| limit.limited))).unwrap_or(0.0);
        // A line far above everything would press the rest together; the largest limit is always seen.
        let period =
            most(all(&|of| of.period_ns())).filter(|ns| *ns <= 3.0 * worst.max(limit)).unwrap_or(0.0);
        let high = worst.max(limit).max(period);
        let middle = all(&middle).into_iter().reduce(f64::min).unwrap_or(worst);
        if high <= FAR * middle {
            let axis = Axis::linear("").time();
            return Some(Scale { axis, low: 0.0, high: round(1.1 * high, true), is_cut: false });
        }
        let smallest = all(&|of| of.sizes.first().map(|(from, ..)| *from)).into_iter().reduce(f64::min);
        let whole = subjects.iter().all(|of| of.sizes.first().is_some_and(|(from, ..)| *from > 0));
        // Deviations reach down to 0: there is no lower edge to be seen.
        let below = if subjects.iter().all(|of| of.is_off) { 3.0 } else { FAR };
        let low = round((middle / below).max(smallest.unwrap_or(0.0)).max(1.0), false);
        let is_cut = !whole || smallest.is_some_and(|ns| ns < low);
        Some(Scale { axis: Axis::log("").time(), low, high: round(1.05 * high, true), is_cut })
    }

    pub fn is_log(&self) -> bool {
        self.low > 0.0
    }

    /// Position of a value, from 0 at the lower end to 1 at the upper one.
    pub fn share(&self, ns: f64) -> f64 {
        let [low, high, at] =
            [self.low, self.high, ns.max(self.low)].map(|ns| self.axis.place(ns).unwrap_or(0.0));
        ((at - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Factors of ten that it spans.
    pub fn decades(&self) -> f64 {
        if self.is_log() { (self.high / self.low).log10() } else { 1.0 }
    }

    /// About `about` values with their words, from the lower end up.
    pub fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        let [low, high] = [self.low, self.high].map(|ns| self.axis.place(ns).unwrap_or(0.0));
        let ticks = self.axis.ticks((low, high), about).into_iter().map(|(place, _)| self.axis.value(place));
        let words = |ns: f64| match ns {
            ns if self.is_cut && ns <= 1.001 * self.low => format!("≤ {}", time(ns)),
            0.0 => "0".into(),
            ns => exact(ns.round() as i64),
        };
        ticks.map(|ns| (self.share(ns), words(ns))).collect()
    }
}

/// The next of 1, 2 and 5 times a power of ten, upwards or downwards.
fn round(ns: f64, up: bool) -> f64 {
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
        assert_eq!([97.0, 100.0, 101.0, 230.0].map(|ns| round(ns, true)), [100.0, 100.0, 200.0, 500.0]);
        assert_eq!([97.0, 100.0, 230.0].map(|ns| round(ns, false)), [50.0, 100.0, 200.0]);
    }

    #[test]
    fn sizes_of_both_signs_lie_in_one_order() {
        let mut values = Distribution::new();
        [-90, -5, 3, 80].into_iter().for_each(|ns| values.record(ns));
        let of = |is_off| sizes(&values, is_off).into_iter().map(|(_, to, _)| to).collect::<Vec<_>>();
        assert_eq!(of(true), [3, 5, 80, 90]);
        assert_eq!(of(false), [-90, -5, 3, 80]);
    }
}
