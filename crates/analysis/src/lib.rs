//! What a trace of activations says.
