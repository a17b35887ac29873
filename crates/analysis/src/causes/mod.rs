//! Causes of late activations, from kernel events: each latency is split into parts that add up to it. The
//! method, its evidence and its limits: `docs/evidence/causes.md`.
//!
//! [`Explainer`] takes events and activations as they arrive. [`Processor`](processor::Processor) has the
//! occupants of a processor over time, [`Thread`](thread::Thread) the states of a task; `fragments`
//! combines the two. `fragment_cause` names the causes of the rest beyond the typical steps, `cause_sums` adds them up.

mod cause_sums;
pub mod event;
mod explainer;
mod fragment_cause;
mod fragments;
mod inversion;
mod machine;
mod merge;
mod not_runnable;
mod own_work;
mod paths;
mod periods;
mod processor;
mod ready;
mod silence;
#[cfg(test)]
mod tests;
mod thread;
mod timeline;
mod typical_steps;
mod why;

pub use event::{Call, Event, EventKind, Handler, HandlerKind, NameId, NameTable, PrevState, is_same_clock};
pub use explainer::Explainer;
pub use machine::{Limits, Machine, Platform};
pub use merge::{main_cause, merge};
pub use paths::{ClusterWithPath, ClustersWithPaths};
pub use why::{CauseRow, EventPart, LateEvent, ListedEvents, OccupantSpan, RunWhy, TaskWhy, is_unusual};
