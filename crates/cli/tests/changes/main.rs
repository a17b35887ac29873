//! Commands that change the machine, and leave it as it was: root.

#[path = "../shared/mod.rs"]
mod shared;

mod isolation;
mod killed;
mod tune;
mod tuned;
