//! Periodic loops in programs that run anyway: events of the kernel in, activations out.
//!
//! [`Passes`](pass::Passes) follows one thread from wait to wait; [`find`] tells which of its waits come back
//! periodically; [`Follower`] makes an activation of each. How: `docs/evidence/causes.md`.

mod audit;
mod find;
mod follow;
mod pass;
#[cfg(test)]
mod tests;

pub use audit::Audit;
pub use find::{Found, Irregular, find};
pub use follow::Follower;
pub use pass::{Pass, Passes, WaitKey};
