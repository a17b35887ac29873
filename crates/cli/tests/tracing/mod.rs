//! Whether the kernel's events can be recorded here, and what `why` says of a run.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::known::answered;

/// Whether the kernel's events can be recorded: with CAP_SYS_ADMIN, as root on the machine itself has it.
pub fn may_trace() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let granted = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    let may = u64::from_str_radix(granted.trim(), 16).unwrap() & SYS_ADMIN != 0;
    if !may {
        println!("skipped: needs the right to trace");
    }
    may
}

/// The result of `jitterlab why`.
pub fn why(folder: &Path, file: &str) -> Value {
    let document: Value = serde_json::from_str(&answered(folder, &["why", "--json", file])).unwrap();
    assert_eq!(document["kind"], "why");
    document["result"].clone()
}
