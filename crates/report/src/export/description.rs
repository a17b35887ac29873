//! Facts of a run that every format keeps: its start, and its machine with the labels that the user gave it.

use std::time::UNIX_EPOCH;

use jitterlab_model::RunInfo;

/// Start of the run in seconds of the Unix epoch; `None` if the run does not give it.
pub(super) fn start_unix_s(info: &RunInfo) -> Option<f64> {
    let began = humantime::parse_rfc3339_weak(&info.started).ok()?;
    began.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}

/// Load, kernel, host and labels as names and values of one line, as far as they are known. A label's name is apart
/// from ours, of the letters that every format takes.
pub(super) fn machine_labels(info: &RunInfo) -> Vec<(String, String)> {
    let load = info.load.specs().map(|_| info.load.to_string());
    let kernel = info.facts_before.as_ref().and_then(|facts| facts.kernel.release.clone());
    let own = [("load", load), ("kernel", kernel), ("host", info.host.clone())];
    let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let label = |name: &str| format!("label_{}", name.chars().map(letter).collect::<String>());
    let all = own.chain(info.labels.iter().map(|(name, value)| (label(name), value.clone())));
    all.map(|(name, value)| (name, value.replace(char::is_control, " "))).collect()
}

/// Load, kernel, host and labels as lines of comments.
pub(super) fn machine_comments(info: &RunInfo) -> Vec<String> {
    machine_labels(info).into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
}
