//! This machine as a bench: its facts and its tasks.
