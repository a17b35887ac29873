//! Run files and journals written, read, damaged and recovered, and the outputs of other tools.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod full_disk;
mod import;
mod kill;
mod limits;
mod round_trip;
mod statements;
