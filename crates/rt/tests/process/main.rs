//! Tests of state of the whole process or machine: limits, handlers, civil time. Apart from other tests, which would
//! see it.

mod clock_set;
mod unasked;
