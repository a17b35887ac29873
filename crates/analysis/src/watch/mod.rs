//! Periodic loops in running programs: kernel events in, activations out.
//!
//! [`WaitTracker`](wait_tracker::WaitTracker) tracks one thread from wait to wait;
//! [`find_periodic_wait`] finds the periodic wait; [`LoopFollower`] makes an activation of each wait.
//! Method: `docs/evidence/causes.md`.

mod call_audit;
mod follow;
mod periodic_wait;
mod system_state;
#[cfg(test)]
mod tests;
mod wait_tracker;

pub use call_audit::CallAudit;
pub use follow::LoopFollower;
pub use periodic_wait::{NoPeriodicWait, PeriodicWait, find_periodic_wait};
pub use system_state::SystemState;
pub use wait_tracker::{Wait, WaitKey, WaitTracker, Waker};
