//! A trace in spans of equal length on the task's grid: a long run over time, in bounded memory.

use std::collections::BTreeMap;

use jitterlab_model::Activation;
use serde::Serialize;

use super::BlockSketch;

/// Latencies of one span. Its JSON has the extremes and the missed due times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Span {
    /// Activations that ran.
    #[serde(skip)]
    pub count: u64,
    /// Due times missed.
    pub missed: u64,
    /// Sum of the latencies, in ns.
    #[serde(skip)]
    pub sum_ns: i128,
    /// Smallest latency, in ns.
    pub min_ns: i64,
    /// Largest latency, in ns.
    pub max_ns: i64,
}

impl Span {
    pub(super) const EMPTY: Span =
        Span { count: 0, missed: 0, sum_ns: 0, min_ns: i64::MAX, max_ns: i64::MIN };

    /// Returns the mean latency in ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    fn merge(&mut self, other: &Span) {
        self.count += other.count;
        self.missed += other.missed;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// A trace in at most `limit` spans. The spans' length doubles as the run grows; their edges are multiples of
/// it, so that any split of the trace gives the same spans.
#[derive(Debug, Clone, PartialEq)]
pub struct Spans {
    limit: usize,
    shift: u32,
    spans: BTreeMap<u64, Span>,
    /// The span being filled, kept out of the map for speed.
    current: (u64, Span),
}

impl Spans {
    /// Creates an empty collection.
    pub fn new(limit: usize) -> Self {
        Spans { limit: limit.max(2), shift: 0, spans: BTreeMap::new(), current: (0, Span::EMPTY) }
    }

    /// Takes the next activation: its position on the grid, its latency, and the due times missed after it.
    #[inline]
    pub fn push(&mut self, index: u64, latency_ns: i64, missed: u32) {
        let number = index >> self.shift;
        if number != self.current.0 {
            self.begin_span(index);
        }
        let span = &mut self.current.1;
        span.count += 1;
        span.missed += u64::from(missed);
        span.sum_ns += i128::from(latency_ns);
        span.min_ns = span.min_ns.min(latency_ns);
        span.max_ns = span.max_ns.max(latency_ns);
    }

    /// Takes the next few activations, as [`Spans::push`] for each.
    pub fn push_few(&mut self, few: &[Activation], sketch: &BlockSketch) {
        if [few.first(), few.last()].iter().flatten().all(|a| a.index >> self.shift == self.current.0) {
            self.current.1.merge(&sketch.span);
        } else {
            few.iter().for_each(|a| self.push(a.index, a.latency_ns(), a.missed));
        }
    }

    /// Takes a stretch that is known by this summary only, from a position on the grid on.
    pub fn push_span(&mut self, index: u64, span: &Span) {
        self.begin_span(index);
        self.current.1.merge(span);
    }

    fn begin_span(&mut self, index: u64) {
        self.store_span();
        self.shrink();
        self.current = (index >> self.shift, Span::EMPTY);
    }

    fn store_span(&mut self) {
        let (number, span) = self.current;
        if span.count > 0 {
            self.spans.entry(number).or_insert(Span::EMPTY).merge(&span);
            self.current.1 = Span::EMPTY;
        }
    }

    /// Doubles the spans' length until the range from the first to the last fits the limit.
    fn shrink(&mut self) {
        while let (Some((first, _)), Some((last, _))) =
            (self.spans.first_key_value(), self.spans.last_key_value())
        {
            if last - first < self.limit as u64 {
                break;
            }
            self.lengthen_spans_to(self.shift + 1);
        }
    }

    fn lengthen_spans_to(&mut self, shift: u32) {
        let by = shift - self.shift;
        let mut longer: BTreeMap<u64, Span> = BTreeMap::new();
        for (number, span) in &self.spans {
            longer.entry(number >> by).or_insert(Span::EMPTY).merge(span);
        }
        (self.spans, self.shift) = (longer, shift);
    }

    /// Adds the spans of another part of the trace.
    pub fn merge(&mut self, other: &Spans) {
        let mut other = other.clone();
        other.store_span();
        self.store_span();
        let shift = self.shift.max(other.shift);
        self.lengthen_spans_to(shift);
        other.lengthen_spans_to(shift);
        for (number, span) in &other.spans {
            self.spans.entry(*number).or_insert(Span::EMPTY).merge(span);
        }
        self.shrink();
        self.current = (u64::MAX, Span::EMPTY);
    }

    /// Returns the spans' length in due times, and all of them from the first to the last; `None` where nothing ran.
    pub fn all(&self) -> (u64, Vec<Option<Span>>) {
        self.at_most(self.limit)
    }

    /// Returns [`Spans::all`], joined to at most `limit`.
    pub fn at_most(&self, limit: usize) -> (u64, Vec<Option<Span>>) {
        let mut whole = Spans { limit, ..self.clone() };
        whole.store_span();
        whole.shrink();
        let (Some((&first, _)), Some((&last, _))) =
            (whole.spans.first_key_value(), whole.spans.last_key_value())
        else {
            return (1 << whole.shift, Vec::new());
        };
        (1 << whole.shift, (first..=last).map(|number| whole.spans.get(&number).copied()).collect())
    }

    /// Returns spans joined to `wanted` or more of equal length, without empty and partly filled ones. They are less
    /// than twice as many (fewer if there are not that many): series for tests that need equal lengths.
    pub fn joined(&self, wanted: usize) -> Vec<Span> {
        let (length, all) = self.all();
        self.stretches(length * (all.len() / wanted.max(1)).max(1) as u64)
    }

    /// Returns spans joined to stretches of this many due times, without empty and partly filled ones. `due_times` is a
    /// multiple of the spans' length.
    pub fn stretches(&self, due_times: u64) -> Vec<Span> {
        let (length, all) = self.all();
        let joint = (due_times / length).max(1);
        let join = |group: &[Option<Span>]| {
            let mut span = Span::EMPTY;
            group.iter().flatten().for_each(|b| span.merge(b));
            let due = span.count + span.missed;
            (due * 10 >= 9 * length * joint && span.count > 0).then_some(span)
        };
        all.chunks(joint as usize).filter_map(join).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_split_gives_the_same_spans(
            steps in prop::collection::vec((1u64..5, -50i64..50), 1..200), cut in 0usize..200, limit in 2usize..20
        ) {
            let (mut whole, mut early, mut late) = (Spans::new(limit), Spans::new(limit), Spans::new(limit));
            let mut at_once = Spans::new(limit);
            let mut rows = Vec::new();
            let mut index = 0;
            for (i, (step, latency)) in steps.iter().enumerate() {
                whole.push(index, *latency, (*step - 1) as u32);
                if i < cut { &mut early } else { &mut late }.push(index, *latency, (*step - 1) as u32);
                let missed = (*step - 1) as u32;
                rows.push(Activation { index, start_ns: *latency, missed, ..Activation::default() });
                index += step;
            }
            early.merge(&late);
            prop_assert_eq!(early.all(), whole.all());
            rows.chunks(7).for_each(|few| at_once.push_few(few, &BlockSketch::new(few, 0)));
            prop_assert_eq!(at_once.all(), whole.all());
            let (length, spans) = whole.all();
            prop_assert!(spans.len() <= limit && length.is_power_of_two());
            prop_assert_eq!(spans.iter().flatten().map(|b| b.count).sum::<u64>(), steps.len() as u64);
            let max = steps.iter().map(|s| s.1).max();
            prop_assert_eq!(spans.iter().flatten().map(|b| b.max_ns).max(), max);
        }
    }

    #[test]
    fn joined_spans_are_whole() {
        let mut spans = Spans::new(1_024);
        (0..1_000).for_each(|k| spans.push(k, 5, 0));
        let joined = spans.joined(10);
        assert_eq!((joined.len(), joined[0].count), (10, 100));
        assert!(joined.iter().all(|b| b.count == 100 && b.mean_ns() == Some(5.0)));
    }
}
