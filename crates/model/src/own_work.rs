//! Work of a task that the caller supplies.

/// The caller's own work, for a task whose thread jitterlab makes.
pub trait OwnWork: Send {
    /// The work of one activation that was due and started at these times of CLOCK_MONOTONIC. `now_ns` reads the same
    /// clock. Runs on the measured thread: it must not allocate, lock or print.
    fn activate(&mut self, due_ns: i64, start_ns: i64, now_ns: &dyn Fn() -> i64);
}
