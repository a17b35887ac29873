//! Installed parts: companions, the Debian packages and the Python package.

#[path = "../shared/mod.rs"]
mod shared;

mod companions;
mod guides;
mod package;
mod python;
mod service;
