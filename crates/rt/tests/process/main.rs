//! What is the whole process's or the whole machine's: limits, handlers, civil time. Apart from other tests, which would see it.

mod clock_set;
mod unasked;
