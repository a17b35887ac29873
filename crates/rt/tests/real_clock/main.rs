//! Every way to wait, and tasks on threads of their own, on the real clock.

mod conformance;
mod task_threads;
