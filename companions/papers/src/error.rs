//! Errors of repeating a document that several places make.

use std::path::Path;

use jitterlab_model::Error;

/// A file that would be replaced.
pub(crate) fn in_the_way(path: &Path) -> Error {
    Error::refused(format!("{} is in the way", path.display()))
        .remedy("remove it, or choose another directory with --output")
}

/// A kernel that lacks the core it is given for.
pub(crate) fn without_core(kernel: &str, release: &str, core: &str) -> Error {
    Error::bad_use(format!("{kernel} (Linux {release}) has no core that takes interrupts before Linux"))
        .remedy(format!("give --{core} a kernel that was built with it; its version line says IRQPIPE"))
}
