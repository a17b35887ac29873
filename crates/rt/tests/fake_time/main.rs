//! The periodic loop against scripted time.

mod concurrent;
mod loop_on_fake_time;
