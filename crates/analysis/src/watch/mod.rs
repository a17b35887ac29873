//! Periodic loops in running programs: kernel events in, activations out.
//!
//! [`Passes`](pass::Passes) tracks one thread from wait to wait; [`find`] finds the periodic wait;
//! [`Follower`] makes an activation of each pass. Method: `docs/evidence/causes.md`.

mod audit;
mod find;
mod follow;
mod pass;
mod surroundings;
#[cfg(test)]
mod tests;

pub use audit::Audit;
pub use find::{Found, Irregular, find};
pub use follow::Follower;
pub use pass::{Pass, Passes, WaitKey, Waker};
pub use surroundings::Surroundings;
