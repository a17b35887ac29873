//! Periodic loops in running programs: kernel events in, activations out.
//!
//! [`WaitTracker`](wait_tracker::WaitTracker) tracks one thread from wait to wait; [`find`] finds the periodic wait;
//! [`Follower`] makes an activation of each wait. Method: `docs/evidence/causes.md`.

mod audit;
mod find;
mod follow;
mod system_state;
#[cfg(test)]
mod tests;
mod wait_tracker;

pub use audit::Audit;
pub use find::{Found, Irregular, find};
pub use follow::Follower;
pub use system_state::SystemState;
pub use wait_tracker::{Wait, WaitKey, WaitTracker, Waker};
