//! Answers about files that exist already, mistakes that a user can make, and the documents. Nothing is measured for long, and no
//! right is needed.

#[path = "../shared/mod.rs"]
mod shared;

mod bad_use;
mod docs;
mod explain;
mod export;
mod kept;
mod schema;
mod servo;
mod stepper;
mod widths;
