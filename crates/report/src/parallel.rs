//! Work of a page on two processors.

use std::panic::resume_unwind;
use std::thread;

/// Runs two computations at once, the second in a thread if one can be made; returns both results.
pub(crate) fn run_in_parallel<A, B: Send>(
    first: impl FnOnce() -> A,
    second: impl Fn() -> B + Sync,
) -> (A, B) {
    thread::scope(|scope| {
        let beside = thread::Builder::new().spawn_scoped(scope, &second);
        let first = first();
        let second = beside
            .map_or_else(|_| second(), |thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (first, second)
    })
}
