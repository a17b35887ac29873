//! A ring between a writing and a reading thread, neither of which ever waits for the other. Both count their values
//! from 0 on and never back; a count's remainder is the next slot. (The writer does as little as possible: it is the
//! measured thread. A library's ring costs it twice as many instructions.)
#![expect(unsafe_code, reason = "two threads share the slots")]

use std::sync::atomic::Ordering::{Acquire, Release};
#[cfg(not(loom))]
use std::sync::{Arc, atomic::AtomicU64, atomic::fence};

#[cfg(loom)]
use loom::sync::{Arc, atomic::AtomicU64, atomic::fence};

#[cfg(loom)]
use loom::cell::UnsafeCell;

/// Stand-in for loom's cell, which checks that nobody reads a value while another writes it.
#[cfg(not(loom))]
#[derive(Debug, Default)]
struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// A count on cache lines of its own: the two threads would slow each other down otherwise.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

#[derive(Debug)]
struct Shared<T> {
    /// Slots; their number is a power of two.
    slots: Box<[UnsafeCell<T>]>,
    /// The number of the last one.
    mask: usize,
    written: Count,
    taken: Count,
}

// SAFETY: a slot is written while only the writer knows of it, read while only the reader may, and handed over by the counts:
// stored after the access with Release, loaded before the other's with Acquire.
unsafe impl<T: Send> Sync for Shared<T> {}

/// The end that writes.
#[derive(Debug)]
pub(crate) struct Writer<T> {
    shared: Arc<Shared<T>>,
    capacity: u64,
    written: u64,
    /// There is room below this count, and maybe beyond: where the reader was when it was last looked at.
    room_until: u64,
}

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Reader<T> {
    shared: Arc<Shared<T>>,
    capacity: usize,
    taken: u64,
}

/// Creates both ends of a ring with room for `capacity` values, at least one. All its memory has been written.
pub(crate) fn ring<T: Copy + Default>(capacity: usize) -> (Writer<T>, Reader<T>) {
    let capacity = capacity.max(1);
    let slots: Box<[_]> = (0..capacity.next_power_of_two()).map(|_| UnsafeCell::new(T::default())).collect();
    for slot in &slots {
        // Volatile, for memory that is nothing but zeros may be promised instead of written: using it would fault.
        slot.with_mut(|slot| {
            // SAFETY: nobody else knows of the slots yet.
            unsafe { slot.write_volatile(T::default()) };
        });
    }
    let mask = slots.len() - 1;
    let shared = Arc::new(Shared { slots, mask, written: Count::default(), taken: Count::default() });
    let writer =
        Writer { shared: shared.clone(), capacity: capacity as u64, written: 0, room_until: capacity as u64 };
    (writer, Reader { shared, capacity, taken: 0 })
}

impl<T> Shared<T> {
    #[inline(always)]
    fn slot(&self, count: u64) -> &UnsafeCell<T> {
        // SAFETY: there is at least one slot, and no number is larger after it was masked with the number of the last one.
        unsafe { self.slots.get_unchecked(count as usize & self.mask) }
    }
}

impl<T: Copy> Writer<T> {
    /// Stores a value and returns true, if there is room as far as the writer knows.
    #[inline]
    pub(crate) fn push(&mut self, value: &T) -> bool {
        if self.written == self.room_until {
            return false;
        }
        self.shared.slot(self.written).with_mut(|slot| {
            // SAFETY: the reader was past this slot when it was last looked at, and comes back to it only once it is counted.
            unsafe { *slot = *value };
        });
        self.written += 1;
        self.shared.written.0.store(self.written, Release);
        true
    }

    /// Reads the position of the reader again, and returns true if there is room now.
    pub(crate) fn refresh_room(&mut self) -> bool {
        self.room_until = self.shared.taken.0.load(Acquire) + self.capacity;
        self.written != self.room_until
    }
}

impl<T: Copy> Reader<T> {
    /// Returns the number of waiting values.
    pub(crate) fn waiting(&self) -> usize {
        (self.shared.written.0.load(Acquire) - self.taken) as usize
    }

    /// Returns the number of values that fit.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Appends up to `at_most` waiting values to `into`, and returns their number.
    pub(crate) fn pop_into(&mut self, into: &mut Vec<T>, at_most: usize) -> usize {
        let waiting = self.waiting().min(at_most);
        let counts = self.taken..self.taken + waiting as u64;
        into.extend(counts.map(|count| {
            self.shared.slot(count).with(|slot| {
                // SAFETY: it was counted as written before, and the writer comes back to it only once it is counted as taken.
                unsafe { *slot }
            })
        }));
        self.taken += waiting as u64;
        self.shared.taken.0.store(self.taken, Release);
        waiting
    }

    /// Returns true if the writer is gone and nothing is left.
    pub(crate) fn is_finished(&self) -> bool {
        let is_alone = Arc::strong_count(&self.shared) == 1;
        // In this order: values written before the end are visible once the end is.
        fence(Acquire);
        is_alone && self.waiting() == 0
    }
}

/// In every order that the memory model allows, as far as loom knows it: see `./test`.
#[cfg(all(test, loom))]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_what_was_written_in_its_order() {
        loom::model(|| {
            let (mut writer, mut reader) = ring::<u64>(2);
            let writing = loom::thread::spawn(move || {
                (1..=3).filter(|value| writer.refresh_room() && writer.push(value)).collect::<Vec<_>>()
            });
            let mut taken = Vec::new();
            for _ in 0..2 {
                reader.pop_into(&mut taken, 1);
            }
            let written = writing.join().unwrap();
            reader.pop_into(&mut taken, usize::MAX);
            assert_eq!(taken, written);
        });
    }
}
