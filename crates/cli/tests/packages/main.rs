//! What is installed: the Debian packages and the Python package.

#[path = "../shared/mod.rs"]
mod shared;

mod package;
mod python;
