//! Activations known only by their starts: no due times, so the phase of the grid is unknown.

use jitterlab_model::{Activation, Flags, Gap, TimingStats, Warning};

use super::{Import, Measured, TaskDetails};

/// A beginning, and an end where that is known, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start_ns: i64,
    pub(super) end_ns: Option<i64>,
}

/// Largest relative error of another clock: no quartz has more.
const CLOCK_ERROR: f64 = 3e-4;

/// Mean interval between starts, or the median if it differs from the mean because some were left out. `steps` is the
/// number of periods between the first and the last, if their numbers show it.
pub(super) fn typical_interval_ns(
    mut starts_ns: impl Iterator<Item = i64>,
    steps: Option<i64>,
) -> Option<i64> {
    let first = starts_ns.next()?;
    let mut last = first;
    let distance = |start| i64::saturating_sub(start, std::mem::replace(&mut last, start));
    let mut sorted: Vec<i64> = starts_ns.map(distance).collect();
    let middle = sorted.len() / 2;
    let median = (!sorted.is_empty()).then(|| *sorted.select_nth_unstable(middle).1)?;
    let mean = last.saturating_sub(first) / steps.filter(|steps| *steps > 0).unwrap_or(sorted.len() as i64);
    let usual = if (mean - median).abs() as f64 <= 0.01 * mean as f64 { mean } else { median };
    (usual > 0).then_some(usual)
}

impl Import {
    /// Adds a task by its starts. Where they lie on a grid, its phase is unknown, so the earliest is taken as punctual; where
    /// some due times were left out, or more activations ran than were due, only the times between two starts are known.
    pub(super) fn add_starts(
        &mut self,
        details: TaskDetails,
        spans: &[Span],
        on_grid: Option<Vec<Activation>>,
    ) {
        let period_errors = || period_errors(spans, details.period_ns());
        let (gap, measured, warning) = match on_grid {
            Some(rows) => (Gap::Phase, Measured::Rows(rows), Warning::PhaseUnknown),
            None => {
                let tool = self.info.tool.clone();
                (Gap::Missed, period_errors(), Warning::OnlyPeriodErrors { tool })
            }
        };
        self.add_task(details.with_gap(gap), measured);
        self.warn(warning);
    }
}

/// Numbers activations by the grid of their due times; true if due times are missing at which none ran. It goes from
/// one to the next, so that a clock which is a little off does not add up.
pub(super) fn snap_to_due_grid(
    times: impl Iterator<Item = Activation>,
    period_ns: i64,
) -> (Vec<Activation>, bool) {
    let (mut rows, mut has_holes) = (Vec::<Activation>::with_capacity(times.size_hint().0), false);
    for row in times {
        let (steps, index) = rows.last().map_or((1, 0), |last| {
            let distance = row.due_ns.saturating_sub(last.due_ns);
            let steps = (distance.saturating_add(period_ns / 2) / period_ns).max(1);
            (steps, last.index.saturating_add(steps as u64))
        });
        let overrun = rows.last().is_some_and(|last| last.end_ns >= row.due_ns.saturating_sub(period_ns));
        let is_hole = steps > 1 && !overrun;
        has_holes |= is_hole;
        let flags = if is_hole { Flags::AFTER_GAP } else { Flags::default() };
        rows.push(Activation { index, flags, ..row });
    }
    (rows, has_holes)
}

/// Activations with due times on a grid of this period; `None` if some are missing, or the starts drift off it.
pub(super) fn starts_on_grid(spans: &[Span], period_ns: i64, has_holes: bool) -> Option<Vec<Activation>> {
    let (first, last) = (spans.first()?, spans.last()?);
    let due_ns = |number: usize| {
        first.start_ns.saturating_add(period_ns.saturating_mul(i64::try_from(number).unwrap_or(i64::MAX)))
    };
    let off = last.start_ns.abs_diff(due_ns(spans.len() - 1)) as f64;
    let length = last.start_ns.abs_diff(first.start_ns) as f64;
    if has_holes || off > (CLOCK_ERROR * length).max(period_ns as f64 / 2.0) {
        return None;
    }
    let late = |(number, span): (usize, &Span)| span.start_ns.saturating_sub(due_ns(number));
    let earliest = spans.iter().enumerate().map(late).min().unwrap_or(0);
    let row = |(number, span): (usize, &Span)| Activation {
        index: number as u64,
        due_ns: due_ns(number).saturating_add(earliest),
        start_ns: span.start_ns,
        end_ns: span.end_ns.unwrap_or(span.start_ns),
        ..Activation::default()
    };
    Some(spans.iter().enumerate().map(row).collect())
}

/// The least-squares line through points (k, t): its value at 0 and its rise. `None` for fewer than two different k.
pub(super) fn least_squares_line(points: &[(u64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean_k = points.iter().map(|(k, _)| *k as f64).sum::<f64>() / n;
    let mean_t = points.iter().map(|(_, t)| *t).sum::<f64>() / n;
    let product = |(k, t): &(u64, f64)| (*k as f64 - mean_k) * (t - mean_t);
    let sxx = points.iter().map(|(k, _)| (*k as f64 - mean_k).powi(2)).sum::<f64>();
    let slope = points.iter().map(product).sum::<f64>() / sxx;
    (sxx > 0.0).then_some((mean_t - slope * mean_k, slope))
}

/// Period errors of starts whose due times are unknown.
fn period_errors(spans: &[Span], period_ns: i64) -> Measured {
    let mut stats = TimingStats::new(period_ns);
    let mut before: Option<i64> = None;
    for pair in spans.windows(2) {
        let error = pair[1].start_ns.saturating_sub(pair[0].start_ns).saturating_sub(period_ns);
        stats.period_error.record(error);
        if let Some(before) = before.replace(error) {
            stats.cycle_to_cycle.record(i64::try_from(error.abs_diff(before)).unwrap_or(i64::MAX));
        }
    }
    Measured::Distributions(Box::new(stats))
}
