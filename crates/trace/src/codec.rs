//! Activations of one task as a few bytes each, for the journal.
//!
//! Most of a row can be foretold: the index and the due time continue the grid, processor, flags and missed count
//! stay. A *segment* is a run of rows for which all that holds: it states these things once, then each row only
//! takes its latency and its execution time. A row that breaks the pattern begins a new segment.
//!
//! *v* is a number in groups of 7 bits, low ones first, the high bit set on all bytes but the last; *s* is a signed n written as
//! v(2n) if n >= 0, else v(-2n - 1). A segment is v(count), v(index), s(due), v(cpu), v(missed), v(flags), then `count` pairs
//! s(start - due), s(end - start). In it `index` grows by 1 + missed, and `due` by that times the period.

use jitterlab_model::{Activation, Flags, varint};

/// Turns rows into bytes; [`decode`] is its reverse.
#[derive(Debug)]
pub(crate) struct RowEncoder {
    period_ns: i64,
    closed: Vec<u8>,
    body: Vec<u8>,
    head: Activation,
    in_segment: u64,
    last: Option<Activation>,
    rows: u32,
}

/// Number and due time of the row after `a` if nothing unusual happens.
#[inline]
fn next_on_grid(a: &Activation, period_ns: i64) -> (u64, i64) {
    let step = 1 + u64::from(a.missed);
    (a.index.wrapping_add(step), a.due_ns.wrapping_add(period_ns.wrapping_mul(step as i64)))
}

impl RowEncoder {
    pub(crate) fn new(period_ns: i64) -> Self {
        RowEncoder {
            period_ns,
            closed: Vec::new(),
            body: Vec::new(),
            head: Activation::default(),
            in_segment: 0,
            last: None,
            rows: 0,
        }
    }

    /// Rows since the last [`RowEncoder::take_bytes`].
    pub(crate) fn row_count(&self) -> u32 {
        self.rows
    }

    #[inline]
    pub(crate) fn push(&mut self, a: &Activation) {
        let regular = self.last.is_some_and(|last| {
            (a.index, a.due_ns) == next_on_grid(&last, self.period_ns)
                && (a.cpu, a.missed, a.flags) == (last.cpu, last.missed, last.flags)
        });
        if !regular {
            self.close_segment();
            self.head = *a;
        }
        varint::put_signed(&mut self.body, a.latency_ns());
        varint::put_signed(&mut self.body, a.execution_ns());
        self.in_segment += 1;
        self.rows += 1;
        self.last = Some(*a);
    }

    fn close_segment(&mut self) {
        if self.in_segment == 0 {
            return;
        }
        let out = &mut self.closed;
        varint::put(out, self.in_segment);
        varint::put(out, self.head.index);
        varint::put_signed(out, self.head.due_ns);
        varint::put(out, u64::from(self.head.cpu));
        varint::put(out, u64::from(self.head.missed));
        varint::put(out, u64::from(self.head.flags.0));
        out.append(&mut self.body);
        self.in_segment = 0;
    }

    /// Appends the bytes of all rows so far to `out` and starts afresh; returns how many rows they are.
    pub(crate) fn take_bytes(&mut self, out: &mut Vec<u8>) -> u32 {
        self.close_segment();
        out.append(&mut self.closed);
        self.last = None;
        std::mem::take(&mut self.rows)
    }
}

/// Appends to `rows` those that [`RowEncoder::take_bytes`] wrote; `None` if the bytes are no such rows.
///
/// At most `limit` rows are accepted, so that damaged input cannot ask for unbounded memory.
pub(crate) fn decode(
    mut bytes: &[u8],
    period_ns: i64,
    limit: usize,
    rows: &mut Vec<Activation>,
) -> Option<()> {
    let input = &mut bytes;
    let mut left = limit;
    while !input.is_empty() {
        let count: usize = varint::take_as(input)?;
        left = left.checked_sub(count)?;
        let mut a = Activation {
            index: varint::take(input)?,
            due_ns: varint::take_signed(input)?,
            cpu: varint::take_as(input)?,
            missed: varint::take_as(input)?,
            flags: Flags(varint::take_as(input)?),
            ..Activation::default()
        };
        for _ in 0..count {
            a.start_ns = a.due_ns.wrapping_add(varint::take_signed(input)?);
            a.end_ns = a.start_ns.wrapping_add(varint::take_signed(input)?);
            rows.push(a);
            (a.index, a.due_ns) = next_on_grid(&a, period_ns);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::any_rows;
    use proptest::prelude::*;

    fn encode(period_ns: i64, rows: &[Activation]) -> Vec<u8> {
        let mut encoder = RowEncoder::new(period_ns);
        rows.iter().for_each(|a| encoder.push(a));
        let mut bytes = Vec::new();
        assert_eq!(encoder.take_bytes(&mut bytes) as usize, rows.len());
        bytes
    }

    #[test]
    fn regular_rows_take_their_two_times_only() {
        let rows: Vec<_> = (0..1000)
            .map(|k| Activation {
                index: k,
                due_ns: k as i64 * 25_000,
                start_ns: k as i64 * 25_000 + 3_000 + k as i64,
                end_ns: k as i64 * 25_000 + 3_030 + k as i64,
                ..Activation::default()
            })
            .collect();
        assert_eq!(encode(25_000, &rows).len(), 7 + 1000 * 3);
    }

    proptest! {
        #[test]
        fn any_rows_come_back(rows in any_rows(), period in any::<i64>()) {
            let mut back = Vec::new();
            decode(&encode(period, &rows), period, rows.len(), &mut back).unwrap();
            prop_assert_eq!(back, rows);
        }

        #[test]
        fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..60), period in any::<i64>()) {
            let mut rows = Vec::new();
            let _ = decode(&bytes, period, 1000, &mut rows);
            prop_assert!(rows.len() <= 1000);
        }

        #[test]
        fn cut_bytes_never_invent_rows(rows in any_rows(), cut in 0usize..500) {
            let bytes = encode(1_000, &rows);
            let mut back = Vec::new();
            let _ = decode(&bytes[..cut.min(bytes.len())], 1_000, rows.len(), &mut back);
            prop_assert_eq!(&back[..], &rows[..back.len()]);
        }
    }
}
