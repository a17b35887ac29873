//! `libjitterlab`: what a program in C or C++ links to have jitterlab's loop, probe and recording. Every ability is that of
//! another crate; here are only the calls. What they promise stands in `include/jitterlab.h`.

mod error;
mod handle;
mod kind;
mod loops;
mod probes;
mod runs;
mod text;
