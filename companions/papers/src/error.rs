//! Errors of repeating a document that several places make.

use std::path::Path;

use jitterlab_model::Error;
use jitterlab_rt::xenomai::Core;

pub(crate) fn path_in_the_way_error(path: &Path) -> Error {
    Error::refused(format!("{} is in the way", path.display()))
        .remedy("remove it, or choose another directory with --output")
}

/// Error of a kernel that lacks the core it is given for.
pub(crate) fn kernel_without_core_error(kernel: &str, release: &str, core: Core) -> Error {
    Error::bad_use(format!("{kernel} (Linux {release}) has no core that takes interrupts before Linux"))
        .remedy(format!(
            "give --{} a kernel that was built with it; its version line says IRQPIPE",
            core.to_string().to_lowercase()
        ))
}

/// Error of a core's library that neither this machine nor `--with` has.
pub(crate) fn missing_core_library_error(core: Core) -> Error {
    let name = core.libraries().first().cloned().unwrap_or_default();
    Error::bad_use(format!("{core} needs {name}, which is not among the libraries here"))
        .remedy(format!("give its path: --with /usr/xenomai/lib/{name}"))
}
