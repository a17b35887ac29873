//! Start of a run, as other tools count time.

use std::time::UNIX_EPOCH;

use jitterlab_model::RunInfo;

/// Start in seconds of the Unix epoch; `None` if the run does not give it.
pub(super) fn started(info: &RunInfo) -> Option<f64> {
    let began = humantime::parse_rfc3339_weak(&info.started).ok()?;
    began.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}
