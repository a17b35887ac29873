//! `libjitterlab`: the library that a program in C or C++ links to have jitterlab's loop, probe and recording. Every
//! ability is that of another crate; this one has only the calls. `include/jitterlab.h` documents them.

mod error;
mod handle;
mod kind;
mod loops;
mod probes;
mod runs;
mod text;
