//! What the executable does as the first process of a guest.

use crate::exit::{Failure, Outcome};

/// Does the guest's job; comes back only outside a guest.
pub fn execute() -> Outcome {
    match jitterlab_bench::kernel::guest::run() {
        Ok(never) => match never {},
        Err(error) => Err(Failure::bad_use(error)),
    }
}
