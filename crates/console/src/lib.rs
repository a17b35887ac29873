//! Command-line parts that jitterlab and its companions share, so that they look like one program.

pub mod companion;
pub mod description;
pub mod exit;
pub mod interrupt;
pub mod kept_parts;
pub mod measure_args;
pub mod memory;
pub mod mistakes;
pub mod output;
pub mod purpose_args;
pub mod task_args;

/// The release, and how it was built.
pub const BUILT: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("JITTERLAB_BUILT_COMMIT"),
    "\ntarget: ",
    env!("JITTERLAB_BUILT_TARGET"),
    "\nprofile: ",
    env!("JITTERLAB_BUILT_PROFILE"),
    "\ncompiler: ",
    env!("JITTERLAB_BUILT_RUSTC"),
);

/// The release alone: programs of another one are refused.
pub const RELEASE: &str = concat!(env!("CARGO_PKG_VERSION"), ", commit ", env!("JITTERLAB_BUILT_COMMIT"));
