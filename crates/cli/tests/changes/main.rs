//! Commands that change the machine, and leave it as it was: root.

#[path = "../shared/mod.rs"]
mod shared;
#[path = "../shared/storm.rs"]
mod storm;

mod isolation;
mod killed;
mod tune;
mod tuned;
