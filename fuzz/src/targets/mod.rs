//! What takes input from outside, as functions of any bytes: each must come to an end without a panic, whatever it is
//! given. Files are written to a folder of the caller's.

mod causes;
mod devices;
mod programs;
mod results;
mod runs;
mod stimuli;
mod texts;

use std::path::Path;

/// Takes a folder for files and the input.
pub type Target = fn(&Path, &[u8]);

/// All of them, with the names of their corpora.
pub const TARGETS: [(&str, Target); 11] = [
    ("run-file", runs::run_file),
    ("journal", runs::journal),
    ("values", runs::values),
    ("import", runs::import),
    ("causes", causes::causes),
    ("devices", devices::devices),
    ("texts", texts::texts),
    ("programs", programs::programs),
    ("results", results::results),
    ("stimuli", stimuli::stimuli),
    ("firmware", stimuli::firmware),
];
