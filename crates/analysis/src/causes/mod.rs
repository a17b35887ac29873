//! Why activations were late: events of the kernel in, latencies in parts that add up out. The method, its evidence and
//! its limits: `docs/evidence/causes.md`.
//!
//! [`Explainer`] takes events and activations as they come. [`Processor`](processor::Processor) knows what ran on a
//! processor at any time, [`Thread`](thread::Thread) what a task did; [`split`] lays the one over the other,
//! [`verdict`] names what is left over when the [usual way](usual::Usual) is taken off, [`gather`] adds up.

pub mod event;
mod explainer;
mod gather;
mod inversion;
mod machine;
mod merge;
mod off;
mod periods;
mod processor;
mod split;
#[cfg(test)]
mod tests;
mod thread;
mod track;
mod usual;
mod verdict;
mod why;

pub use event::{Call, Event, Handler, HandlerKind, Leaves, Name, Names, What, same_clock};
pub use explainer::Explainer;
pub use machine::{Below, Limits, Machine};
pub use merge::{main_cause, merge};
pub use why::{CauseRow, EventPart, LateEvent, RanBeside, RunWhy, TaskWhy, Told, is_unusual};
