//! What a run file keeps: all activations, or spikes only.

use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Keep, TaskSpec};

use crate::error::CliError;

/// The default spike threshold, when a run is too long to keep whole.
const SPIKE_ABOVE_NS: i64 = 100_000;
/// Runs longer than this many bytes of file keep spikes only, unless told otherwise.
const KEEP_ALL_BYTES: i64 = 2_000_000_000;
const BYTES_PER_ACTIVATION: i64 = 4;

/// Reads `all`, `spikes` or `spikes:TIME`.
pub fn parse(text: &str) -> Result<Keep, String> {
    match text.split_once(':') {
        None if text == "all" => Ok(Keep::All),
        None if text == "spikes" => Ok(Keep::Spikes { above_ns: SPIKE_ABOVE_NS }),
        Some(("spikes", time)) => {
            parse_duration_ns(time).map(|above_ns| Keep::Spikes { above_ns }).map_err(|e| e.to_string())
        }
        _ => Err(CliError::NotKept(text.into()).to_string()),
    }
}

/// Everything, while the file stays of a size that is pleasant to keep and to send.
pub fn by_default(tasks: &[TaskSpec], duration_ns: Option<i64>) -> Keep {
    let rows: i64 = tasks.iter().map(|t| duration_ns.unwrap_or(0) / t.period_ns).sum();
    if rows.saturating_mul(BYTES_PER_ACTIVATION) <= KEEP_ALL_BYTES {
        Keep::All
    } else {
        Keep::Spikes { above_ns: SPIKE_ABOVE_NS }
    }
}
