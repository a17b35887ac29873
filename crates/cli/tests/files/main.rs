//! Answers about files that exist already, mistakes that a user can make, and the documents. Nothing is measured for long, and no
//! right is needed.

#[path = "../shared/mod.rs"]
mod shared;

mod bad_use;
mod corpus;
mod docs;
mod explain;
mod export;
mod half_done;
mod kept;
mod schema;
mod servo;
mod stepper;
mod widths;
