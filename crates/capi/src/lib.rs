//! `libjitterlab`: what a program in C or C++ links to have jitterlab's loop, probe and recording. Every ability is that of
//! another crate; here are only the calls. What they promise stands in `include/jitterlab.h`.

mod error;
mod fitting;
mod loops;
mod probes;
mod recording;
mod runs;
mod text;
