//! Why a document could not be repeated, where several say it.

use std::path::Path;

use jitterlab_model::Error;

/// A file that would be replaced.
pub(crate) fn in_the_way(path: &Path) -> Error {
    Error::refused(format!("{} is in the way", path.display()))
        .remedy("remove it, or choose another directory with --output")
}
