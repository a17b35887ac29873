//! From the measured thread to everybody else: a preallocated ring of fixed-size records.

use jitterlab_model::{Activation, Flags};

use crate::ring::{self, Reader, Writer};

/// Creates the writing and the reading end of a ring for `capacity` activations, its memory made present. At least one record fits.
///
/// ```
/// use std::time::Duration;
/// use jitterlab_rt::{PeriodicLoop, record};
///
/// let (recorder, mut drain) = record::ring(1_024);
/// let mut task = PeriodicLoop::every(Duration::from_millis(1)).count(3).recorder(recorder).build()?;
/// while task.wait().is_some() {}
/// let mut activations = Vec::new();
/// assert_eq!(drain.pop_into(&mut activations, usize::MAX), 3);
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
pub fn ring(capacity: usize) -> (Recorder, Drain) {
    let (writer, reader) = ring::ring(capacity);
    (Recorder { writer, dropped: 0, gap: false }, Drain { reader })
}

/// The measured thread's end: takes records, never blocks, never allocates.
#[derive(Debug)]
pub struct Recorder {
    writer: Writer<Activation>,
    dropped: u64,
    gap: bool,
}

impl Recorder {
    /// Stores one record, and returns true if it did. If the ring is full the record is dropped and counted, and the
    /// next one that fits is marked [`Flags::AFTER_GAP`].
    #[inline]
    pub fn push(&mut self, activation: &Activation) -> bool {
        self.push_if_room(activation) || self.push_after_full(activation)
    }

    /// Stores one record if there was room when that was last looked at, and returns true if it did.
    #[inline]
    pub(crate) fn push_if_room(&mut self, activation: &Activation) -> bool {
        self.writer.push(activation)
    }

    /// Stores one record, or drops and counts it, where the ring was full when it was last looked at.
    #[cold]
    fn push_after_full(&mut self, activation: &Activation) -> bool {
        let is_lost = !self.writer.refresh_room();
        self.dropped += u64::from(is_lost);
        let after_gap = std::mem::replace(&mut self.gap, is_lost);
        let flags = if after_gap { activation.flags.with(Flags::AFTER_GAP) } else { activation.flags };
        !is_lost && self.writer.push(&Activation { flags, ..*activation })
    }

    /// Number of records lost so far.
    #[inline]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// The other end: takes records out, in order.
#[derive(Debug)]
pub struct Drain {
    reader: Reader<Activation>,
}

impl Drain {
    /// Appends up to `at_most` waiting records to `into`, and returns their number.
    pub fn pop_into(&mut self, into: &mut Vec<Activation>, at_most: usize) -> usize {
        self.reader.pop_into(into, at_most)
    }

    /// Returns the number of waiting records.
    pub fn waiting(&self) -> usize {
        self.reader.waiting()
    }

    /// Returns the number of records that fit.
    pub fn capacity(&self) -> usize {
        self.reader.capacity()
    }

    /// Returns true if the task has ended and nothing is left to take.
    pub fn is_finished(&self) -> bool {
        self.reader.is_finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(records: &[Activation]) -> Vec<u64> {
        records.iter().map(|a| a.index).collect()
    }

    #[test]
    fn a_full_ring_drops_counts_and_marks_the_gap() {
        let (mut recorder, mut drain) = ring(3);
        let mut out = Vec::new();
        for index in 0..5 {
            recorder.push(&Activation { index, ..Activation::default() });
        }
        assert_eq!((recorder.dropped(), drain.waiting(), drain.capacity()), (2, 3, 3));
        assert_eq!(drain.pop_into(&mut out, 2), 2);
        recorder.push(&Activation { index: 5, ..Activation::default() });
        recorder.push(&Activation { index: 6, ..Activation::default() });
        drop(recorder);
        assert!(!drain.is_finished());
        drain.pop_into(&mut out, usize::MAX);
        assert_eq!(indexes(&out), [0, 1, 2, 5, 6]);
        let gaps: Vec<bool> = out.iter().map(|a| a.flags.contains(Flags::AFTER_GAP)).collect();
        assert_eq!(gaps, [false, false, false, true, false]);
        assert!(drain.is_finished());
    }
}
