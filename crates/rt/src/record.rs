//! From the measured thread to everybody else: a preallocated ring of fixed-size records.

use jitterlab_model::{Activation, Flags};
use rtrb::{Consumer, Producer, RingBuffer};

/// Both ends of a ring for `capacity` activations, its memory made present. At least one record fits.
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
/// # Ok::<(), jitterlab_rt::BuildError>(())
/// ```
pub fn ring(capacity: usize) -> (Recorder, Drain) {
    let (mut producer, mut consumer) = RingBuffer::new(capacity.max(1));
    // Write every slot once and throw it away: from now on using the ring cannot fault.
    while producer.push(Activation::default()).is_ok() {}
    while consumer.pop().is_ok() {}
    (Recorder { producer, dropped: 0, gap: false }, Drain { consumer })
}

/// The measured thread's end: takes records, never blocks, never allocates.
#[derive(Debug)]
pub struct Recorder {
    producer: Producer<Activation>,
    dropped: u64,
    gap: bool,
}

impl Recorder {
    /// Stores one record. If the ring is full it is dropped and counted, and the next one that fits is marked
    /// [`Flags::AFTER_GAP`].
    #[inline]
    pub fn push(&mut self, mut activation: Activation) {
        if self.gap {
            activation.flags = activation.flags.with(Flags::AFTER_GAP);
        }
        self.gap = self.producer.push(activation).is_err();
        self.dropped += u64::from(self.gap);
    }

    /// Records lost so far.
    #[inline]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// The other end: takes records out, in order.
#[derive(Debug)]
pub struct Drain {
    consumer: Consumer<Activation>,
}

impl Drain {
    /// Appends up to `at_most` waiting records to `into`, and says how many.
    pub fn pop_into(&mut self, into: &mut Vec<Activation>, at_most: usize) -> usize {
        let waiting = self.consumer.slots().min(at_most);
        let Ok(chunk) = self.consumer.read_chunk(waiting) else { return 0 };
        into.extend(chunk);
        waiting
    }

    /// How many records are waiting.
    pub fn waiting(&self) -> usize {
        self.consumer.slots()
    }

    /// How many records fit.
    pub fn capacity(&self) -> usize {
        self.consumer.buffer().capacity()
    }

    /// Whether the task has ended and nothing is left to take.
    pub fn is_finished(&self) -> bool {
        // In this order: what was pushed before the end is seen once the end is seen.
        self.consumer.is_abandoned() && self.consumer.is_empty()
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
            recorder.push(Activation { index, ..Activation::default() });
        }
        assert_eq!((recorder.dropped(), drain.waiting(), drain.capacity()), (2, 3, 3));
        assert_eq!(drain.pop_into(&mut out, 2), 2);
        recorder.push(Activation { index: 5, ..Activation::default() });
        recorder.push(Activation { index: 6, ..Activation::default() });
        drop(recorder);
        assert!(!drain.is_finished());
        drain.pop_into(&mut out, usize::MAX);
        assert_eq!(indexes(&out), [0, 1, 2, 5, 6]);
        let gaps: Vec<bool> = out.iter().map(|a| a.flags.contains(Flags::AFTER_GAP)).collect();
        assert_eq!(gaps, [false, false, false, true, false]);
        assert!(drain.is_finished());
    }
}
