//! Work distributed over all processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use jitterlab_model::Error;

/// Works on the items on all processors; returns the results in their order, or the first error.
/// `done` is called with the number finished and the number of all.
pub(super) fn map_in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Error> + Sync,
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<R>, Error> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let failure = Mutex::new(None);
    let work = || {
        while let Some((index, item)) = Some(next.fetch_add(1, Ordering::Relaxed))
            .and_then(|index| items.get(index).map(|item| (index, item)))
        {
            match work(item) {
                Ok(result) => {
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                    done(finished.fetch_add(1, Ordering::Relaxed) + 1, items.len());
                }
                Err(error) => {
                    next.store(items.len(), Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            // If a thread cannot start, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}
