//! Causes of late activations, from kernel events: each latency is split into parts that add up to it. The
//! method, its evidence and its limits: `docs/evidence/causes.md`.
//!
//! [`Explainer`] takes events and activations as they arrive. [`Processor`](processor::Processor) has the
//! occupants of a processor over time, [`Thread`](thread::Thread) the states of a task; [`split`] combines the
//! two. [`verdict`] names the causes of the rest beyond the [usual way](usual::Usual), [`gather`] adds them up.

pub mod event;
mod explainer;
mod gather;
mod inversion;
mod machine;
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

pub use event::{Call, Event, EventKind, Handler, HandlerKind, Leaves, Name, Names, same_clock};
pub use explainer::Explainer;
pub use machine::{Below, Limits, Machine};
pub use why::{CauseRow, EventPart, LateEvent, ListedEvents, RanBeside, RunWhy, TaskWhy, is_unusual};
