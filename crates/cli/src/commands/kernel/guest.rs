//! What the executable does as the first process of a guest.

use crate::exit::{Ending, Failure};

/// Does the guest's job; comes back only outside a guest.
pub fn execute() -> Ending {
    match jitterlab_kernel::guest::run() {
        Ok(never) => match never {},
        Err(error) => Err(Failure::bad_use(error)),
    }
}
