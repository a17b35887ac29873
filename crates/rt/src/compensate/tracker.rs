//! A margin that follows the latencies: the quantile tracking of Robbins and Monro (1951) with a constant step.

/// Follows the 1 - p quantile of the latency X: after each sleep `m += step (1{X > m} - p)`, kept between nothing
/// and a longest margin. It only needs to know whether the task was late.
#[derive(Debug, Clone)]
pub struct QuantileTracker {
    late: f64,
    step_ns: f64,
    margin_ns: f64,
    longest_ns: f64,
    history: MarginHistory,
}

impl QuantileTracker {
    /// Aims at the share `late` of late starts, beginning with `margin_ns`. The size of the step is how far one
    /// late start moves the margin, and how much it wavers in the end.
    pub fn new(late: f64, margin_ns: i64, step_ns: f64, longest_ns: i64) -> Self {
        QuantileTracker {
            late,
            step_ns,
            margin_ns: margin_ns as f64,
            longest_ns: longest_ns as f64,
            history: MarginHistory::new(),
        }
    }

    /// Moves the margin by the end of the sleep for `due_ns`: late or in time.
    pub fn observe(&mut self, due_ns: i64, late: bool) {
        self.history.push(due_ns, self.margin_ns());
        let moved = self.step_ns * (f64::from(u8::from(late)) - self.late);
        self.margin_ns = (self.margin_ns + moved).clamp(0.0, self.longest_ns);
    }

    /// The margin for the next sleep.
    pub fn margin_ns(&self) -> i64 {
        self.margin_ns as i64
    }

    /// Margins through the run: (due time, margin), evenly thinned out to at most [`HISTORY_POINTS`].
    pub fn margin_history(&self) -> Vec<(i64, i64)> {
        self.history.points.clone()
    }
}

/// A step for latencies in increasing order: from their median to their 90th percentile, at least 1 µs.
pub(super) fn default_step_ns(latencies: &[i64]) -> f64 {
    let at = |share: f64| latencies.get((latencies.len() as f64 * share) as usize).copied().unwrap_or(0);
    (at(0.9) - at(0.5)).max(1_000) as f64
}

/// Most points of a course.
pub const HISTORY_POINTS: usize = 1_024;

/// Every n-th margin, with n doubled whenever there is no more room: constant memory, the whole run.
#[derive(Debug, Clone)]
struct MarginHistory {
    points: Vec<(i64, i64)>,
    every: u64,
    until_next: u64,
}

impl MarginHistory {
    fn new() -> Self {
        MarginHistory { points: Vec::with_capacity(HISTORY_POINTS), every: 1, until_next: 0 }
    }

    fn push(&mut self, due_ns: i64, margin_ns: i64) {
        if self.until_next > 0 {
            self.until_next -= 1;
            return;
        }
        if self.points.len() == HISTORY_POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every *= 2;
        }
        self.points.push((due_ns, margin_ns));
        self.until_next = self.every - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator of NIST SP 1065, to have the same numbers everywhere.
    fn lehmer(n: &mut u64) -> f64 {
        *n = *n * 16_807 % 2_147_483_647;
        *n as f64 / 2_147_483_647.0
    }

    #[test]
    fn the_margin_finds_the_quantile_and_follows_when_it_moves() {
        let mut n = 1_234_567_890;
        let mut tracker = QuantileTracker::new(0.01, 0, 2_000.0, 500_000);
        let mut late = 0;
        for k in 0..200_000i64 {
            // X = 3 us + Exp(1 us), and 20 us more in the second half.
            let base = if k < 100_000 { 3_000.0 } else { 23_000.0 };
            let x = base - 1_000.0 * (1.0 - lehmer(&mut n)).ln();
            let is_late = x > tracker.margin_ns() as f64;
            late += u32::from(is_late && k % 100_000 >= 50_000);
            tracker.observe(k, is_late);
            if k == 99_999 || k == 199_999 {
                // The 99 % quantile of Exp(1) is ln 100 = 4.6.
                let quantile = base + 4_605.0;
                assert!((tracker.margin_ns() as f64 - quantile).abs() < 2_500.0, "{}", tracker.margin_ns());
            }
        }
        let share = f64::from(late) / 100_000.0;
        assert!((0.009..0.011).contains(&share), "{share}");
    }

    #[test]
    fn the_margin_stays_within_its_bounds() {
        let mut tracker = QuantileTracker::new(0.5, 100, 1_000.0, 2_000);
        (0..10).for_each(|k| tracker.observe(k, false));
        assert_eq!(tracker.margin_ns(), 0);
        (0..10).for_each(|k| tracker.observe(k, true));
        assert_eq!(tracker.margin_ns(), 2_000);
    }

    #[test]
    fn the_course_covers_the_whole_run_in_constant_memory() {
        let mut tracker = QuantileTracker::new(0.1, 1_000, 10.0, 2_000);
        (0..1_000_000).for_each(|k| tracker.observe(k, k % 10 == 0));
        let course = tracker.margin_history();
        assert!(course.len() > HISTORY_POINTS / 2 && course.len() <= HISTORY_POINTS);
        assert_eq!(course[0].0, 0);
        assert!(course.last().is_some_and(|(due, _)| *due > 990_000));
        let distance = course[1].0;
        assert!(course.windows(2).all(|p| p[1].0 - p[0].0 == distance));
    }
}
