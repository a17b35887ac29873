//! Hostile inputs: values at and beyond all bounds, and inputs that were changed at random.

mod extremes;
mod fuzz;
mod memory;
