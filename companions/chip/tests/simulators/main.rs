//! Instructions and their cycles, compared with the manuals' tables and with independent simulators.

mod arm;
mod qemu;
mod simavr;
mod thumb;
