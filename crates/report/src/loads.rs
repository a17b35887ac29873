//! Loads in words: the effect of each, for `--load help`, and the load of a run.

use jitterlab_model::{Bench, RunInfo};

use crate::dictionary::entry;
use crate::wrap::paragraph;

/// Column of a load's text.
const INDENT: usize = 25;

/// Effect of a kind of load, in half a sentence; `None` for an unknown kind.
pub fn kind_text(name: &str) -> Option<&'static str> {
    entry("load", name)
}

/// Origin of a preset; `None` for an unknown one.
pub fn preset_text(name: &str) -> Option<&'static str> {
    entry("preset", name)
}

/// Every kind (its name and how it is written) and every preset (its name and loads), a line each.
pub fn load_help<'a>(
    kinds: impl Iterator<Item = (&'a str, &'a str)>,
    presets: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let line = |name: &str, what: &str| {
        let text = paragraph(what, INDENT, INDENT);
        format!("  {name:22} {}", text.trim_start())
    };
    let kinds = kinds.map(|(name, usage)| line(usage, kind_text(name).unwrap_or_default()));
    let presets = presets
        .map(|(name, loads)| line(name, &format!("{loads} ({})", preset_text(name).unwrap_or_default())));
    kinds.chain(presets).collect()
}

/// The load of a run, with the throughput of each part if it is known.
pub fn run_load_text(info: &RunInfo) -> String {
    match info.loads.as_slice() {
        [] if info.bench == Bench::Mcu => "the firmware's own".into(),
        [] => info.load.to_string(),
        ran => ran.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}
