//! What the machine was while it was measured. Filled in by the bench; every field that could not be read is
//! absent, never guessed.

use serde::{Deserialize, Serialize};

/// Everything about the machine that is known to matter for timing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemFacts {}
