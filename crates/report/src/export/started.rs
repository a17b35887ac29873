//! When a run began, as other tools count time.

use std::time::UNIX_EPOCH;

use jitterlab_model::RunInfo;

/// Seconds of the Unix epoch, if the run says when it began.
pub(super) fn started(info: &RunInfo) -> Option<f64> {
    let began = humantime::parse_rfc3339_weak(&info.started).ok()?;
    began.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}
