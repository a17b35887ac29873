//! A task's counters rebuilt from a journal, for a run that was not closed.

use jitterlab_model::{Activation, Flags, TaskResult};

use crate::slices::Slice;

/// Counters that rows or slices determine.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    period_ns: i64,
    result: TaskResult,
    last: Option<Activation>,
    from_slices: bool,
}

impl Tally {
    pub(crate) fn new(period_ns: i64) -> Self {
        Tally { period_ns, ..Tally::default() }
    }

    fn extend_range(&mut self, first_due_ns: i64, last_end_ns: i64, min_ns: i64, max_ns: i64) {
        let r = &mut self.result;
        if r.executed == 0 {
            (r.first_due_ns, r.min_latency_ns, r.max_latency_ns) = (first_due_ns, min_ns, max_ns);
        }
        r.last_end_ns = last_end_ns;
        r.min_latency_ns = r.min_latency_ns.min(min_ns);
        r.max_latency_ns = r.max_latency_ns.max(max_ns);
    }

    /// Counts a row, unless slices hold the figures already.
    pub(crate) fn add_row(&mut self, a: &Activation) {
        if self.from_slices {
            return;
        }
        self.extend_range(a.due_ns, a.end_ns, a.latency_ns(), a.latency_ns());
        let r = &mut self.result;
        if let Some(last) = self.last {
            let due_times = a.index.wrapping_sub(last.index);
            if a.flags.contains(Flags::AFTER_GAP) {
                // It is unknown whether a lost record's due time was served; it counts as served and dropped.
                let lost = due_times.saturating_sub(1 + u64::from(last.missed));
                r.executed = r.executed.saturating_add(lost);
                r.dropped = r.dropped.saturating_add(lost);
            }
            if a.flags.contains(Flags::RE_PHASED) {
                let foretold = last.due_ns.wrapping_add(self.period_ns.wrapping_mul(due_times as i64));
                r.phase_loss_ns = r.phase_loss_ns.wrapping_add(a.due_ns.wrapping_sub(foretold));
            }
        }
        r.executed = r.executed.saturating_add(1);
        r.missed = r.missed.saturating_add(u64::from(a.missed));
        self.last = Some(*a);
    }

    /// Counts a slice; from then on rows are ignored, since the slices hold them too.
    pub(crate) fn add_slice(&mut self, slice: &Slice) {
        if !self.from_slices {
            (self.from_slices, self.result) = (true, TaskResult::default());
        }
        let latency = slice.stored[0].moments;
        self.extend_range(slice.first_due_ns, slice.last_end_ns, latency.min_ns, latency.max_ns);
        self.result.executed = self.result.executed.saturating_add(latency.count);
        self.result.missed = self.result.missed.saturating_add(slice.missed);
    }

    /// The counters; `None` if nothing was counted.
    pub(crate) fn result(&self) -> Option<TaskResult> {
        (self.result.executed > 0).then(|| self.result.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_records_and_shifted_grids_are_counted() {
        let row = |index: u64, due_ns: i64, missed, flags| Activation {
            index,
            due_ns,
            start_ns: due_ns + 7,
            end_ns: due_ns + 9,
            missed,
            flags,
            ..Activation::default()
        };
        let mut tally = Tally::new(100);
        tally.add_row(&row(0, 1_000, 2, Flags(0)));
        tally.add_row(&row(3, 1_300, 0, Flags(0)));
        tally.add_row(&row(8, 1_800, 0, Flags::AFTER_GAP));
        tally.add_row(&row(9, 1_930, 0, Flags::RE_PHASED));
        let r = tally.result().unwrap();
        assert_eq!((r.executed, r.missed, r.dropped), (8, 2, 4));
        assert_eq!((r.first_due_ns, r.last_end_ns, r.phase_loss_ns), (1_000, 1_939, 30));
        let due_times = (r.last_end_ns - r.first_due_ns - r.phase_loss_ns) / 100 + 1;
        assert_eq!(r.executed + r.missed, due_times as u64);
    }
}
