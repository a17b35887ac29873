//! Errors of tasks that cannot be measured on this machine.

use std::io;

use jitterlab_model::{Error, Refusal};

use super::dma_latency::DmaLatency;

/// Error for an experiment that the user stopped too early.
pub(crate) fn stopped_too_early() -> Error {
    Error::not_measured("interrupted before there was anything to report")
}

/// Error for an experiment without a block to recommend from.
pub(crate) fn no_measurement() -> Error {
    Error::not_measured("no latency was measured: raise --duration")
}

/// Refusal of a requested limit of `/dev/cpu_dma_latency`, for the run's description.
pub(super) fn dma_latency_refusal(wanted: DmaLatency, error: &io::Error) -> Refusal {
    Refusal {
        what: format!("cpu_dma_latency {wanted}"),
        why: error.to_string(),
        remedy: "run as root, or let your group write it: chgrp GROUP /dev/cpu_dma_latency; chmod g+w /dev/cpu_dma_latency".into(),
    }
}
