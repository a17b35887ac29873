//! Stability under any sequence of missed periods that a weakly hard requirement allows (Bernat, Burns and Llamosi 2001).

mod bounds;
mod graph;
mod norms;
mod of_loop;

pub use bounds::{Certificate, Growth, Guarantee, StoppingRule, growth};
pub use graph::{Arc, Graph, Step};
pub use of_loop::{MissedJobs, Steps, UnderMisses};
