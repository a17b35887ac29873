#![doc = include_str!("../README.md")]

mod figures;
mod fitting;
mod loops;
mod probes;
mod recording;
mod shared;

pub use figures::Figures;
pub use jitterlab_model::Error;
pub use jitterlab_rt::sys::origin;
pub use loops::{BegunActivation, Loop};
pub use probes::TaskProbe;
pub use recording::Recording;
pub use shared::forked_process_error;
