//! Instructions and what they take, held against the manuals' tables and against simulators that others wrote.

mod arm;
mod qemu;
mod simavr;
mod thumb;
