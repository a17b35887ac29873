//! Stability under any sequence of missed periods that a weakly hard requirement allows (Bernat, Burns and Llamosi 2001).

mod graph;
mod guarantee;
mod norms;
mod requirement;
mod step_set;

pub use graph::{Step, StepGraph, Transition};
pub use guarantee::{Certificate, GrowthBounds, Guarantee, StoppingRule, growth_bounds};
pub use requirement::{MissCounter, WeaklyHard};
pub use step_set::{MissedJobs, StabilityUnderMisses, StepSet};
