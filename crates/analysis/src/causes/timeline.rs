//! A value over time, constant between changes.

use std::collections::VecDeque;

/// Value over time, constant between changes.
#[derive(Debug, Clone)]
pub struct Timeline<T> {
    changes: VecDeque<(i64, T)>,
    /// Value before all that is remembered.
    before: T,
}

impl<T: Copy + PartialEq> Timeline<T> {
    /// Creates a track of this value since the beginning of time.
    pub fn new(value: T) -> Self {
        Timeline { changes: VecDeque::from([(i64::MIN, value)]), before: value }
    }

    /// Sets the value from `t_ns` on. Times increase; a step back counts as none.
    pub fn push(&mut self, t_ns: i64, value: T) {
        let Some((last_ns, last)) = self.changes.back_mut() else { return };
        if *last == value {
            return;
        }
        if t_ns <= *last_ns {
            *last = value;
        } else {
            self.changes.push_back((t_ns, value));
        }
    }

    /// Returns the time of the last change and the value since then.
    pub fn last(&self) -> Option<(i64, T)> {
        self.changes.back().copied()
    }

    /// Replaces the last value.
    pub fn replace_last(&mut self, value: T) {
        if let Some((_, last)) = self.changes.back_mut() {
            *last = value;
        }
    }

    /// Delays the begin of the last value to a later time; before it, the value is `until`.
    pub fn delay_last_change(&mut self, t_ns: i64, until: T) {
        let Some((_, last)) = self.last().filter(|(begin_ns, _)| t_ns > *begin_ns) else { return };
        let before = self.changes.len().checked_sub(2).and_then(|place| self.changes.get(place));
        match before.is_some_and(|(_, before)| *before == until) {
            true => drop(self.changes.pop_back()),
            false => self.replace_last(until),
        }
        self.push(t_ns, last);
    }

    /// Returns the segments between two times as (from, to, value), without gaps.
    pub fn segments(&self, from_ns: i64, to_ns: i64) -> impl Iterator<Item = (i64, i64, T)> + '_ {
        let after = self.changes.partition_point(|(t, _)| *t <= from_ns);
        let at = |i: usize| self.changes.get(i).map_or(i64::MAX, |(t, _)| *t);
        let before = (after == 0).then(|| (from_ns, at(0).min(to_ns), self.before));
        let known = (after.saturating_sub(1)..self.changes.len()).map_while(move |i| {
            let (t, value) = self.changes[i];
            let (from, to) = (t.max(from_ns), at(i + 1).min(to_ns));
            (from < to).then_some((from, to, value))
        });
        before.into_iter().filter(|(from, to, _)| from < to).chain(known)
    }

    /// Returns the time at which the value at `t_ns` begins.
    pub fn segment_begin(&self, t_ns: i64) -> i64 {
        let after = self.changes.partition_point(|(t, _)| *t <= t_ns);
        self.changes.get(after.saturating_sub(1)).map_or(i64::MIN, |(t, _)| *t)
    }

    /// Forgets everything before this time.
    pub fn forget_before(&mut self, t_ns: i64) {
        pop_superseded(&mut self.changes, |(t, _)| *t <= t_ns);
    }

    /// Returns the time of the `changes`-th change from the end; `i64::MIN` if there are fewer.
    pub fn nth_last_change(&self, changes: usize) -> i64 {
        self.changes
            .len()
            .checked_sub(changes)
            .and_then(|i| self.changes.get(i))
            .map_or(i64::MIN, |(t, _)| *t)
    }
}

/// Removes entries from the front as long as `is_over`.
pub fn pop_front_while<T>(entries: &mut VecDeque<T>, is_over: impl Fn(&T) -> bool) {
    while entries.front().is_some_and(&is_over) {
        entries.pop_front();
    }
}

/// Removes entries from the front whose successor has begun, too: the last one that has begun stays.
pub fn pop_superseded<T>(entries: &mut VecDeque<T>, has_begun: impl Fn(&T) -> bool) {
    while entries.get(1).is_some_and(&has_begun) {
        entries.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_hold_until_the_next() {
        let mut timeline = Timeline::new('a');
        for (t, value) in [(10, 'b'), (20, 'b'), (30, 'c'), (30, 'd')] {
            timeline.push(t, value);
        }
        let seen: Vec<_> = timeline.segments(5, 40).collect();
        assert_eq!(seen, [(5, 10, 'a'), (10, 30, 'b'), (30, 40, 'd')]);
        timeline.forget_before(15);
        assert_eq!(timeline.segments(15, 16).collect::<Vec<_>>(), [(15, 16, 'b')]);
        assert_eq!(
            (timeline.segment_begin(29), timeline.nth_last_change(1), timeline.nth_last_change(9)),
            (10, 30, i64::MIN)
        );
        assert_eq!(timeline.segments(7, 7).count(), 0);
        let mut moved = timeline.clone();
        moved.delay_last_change(35, 'b');
        assert_eq!(moved.segments(15, 40).collect::<Vec<_>>(), [(15, 35, 'b'), (35, 40, 'd')]);
        assert_eq!(
            timeline.segments(5, 12).collect::<Vec<_>>(),
            [(5, 10, 'a'), (10, 12, 'b')],
            "forgotten is not known"
        );
    }
}
