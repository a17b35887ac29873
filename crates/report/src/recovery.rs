//! Result of recovering a journal.

use std::path::{Path, PathBuf};

use jitterlab_model::warning::Warning;

use crate::warnings::warning_sentence;
use crate::words::{count, list, plural};

/// Message about a recovered run: its size, its damaged parts, and its journal if that is kept.
pub fn recovery_text(
    run: &Path,
    rows: u64,
    bytes: u64,
    damaged: &[Warning],
    journal: Option<&Path>,
) -> String {
    let mut text =
        format!("{}: {} recovered, {} bytes\n", run.display(), plural(rows, "activation"), count(bytes));
    for part in damaged {
        text.push_str(&format!("  {}\n", warning_sentence(part)));
    }
    if let Some(journal) = journal {
        text.push_str(&format!("  {} is kept\n", journal.display()));
    }
    text
}

/// Message about what was restored for each process that is gone, and what else was removed. A process has its number,
/// the changes undone, and the failures.
pub fn restoration_text<'a>(
    processes: impl Iterator<Item = (u32, usize, &'a [String])>,
    recordings: usize,
    left: &[PathBuf],
) -> String {
    let mut text = String::new();
    for (process, changes, problems) in processes {
        text.push_str(&format!("process {process}: {} undone\n", plural(changes as u64, "change")));
        for problem in problems {
            text.push_str(&format!("  could not be restored: {problem}\n"));
        }
    }
    if recordings > 0 {
        text.push_str(&format!("{} of the kernel's events ended\n", plural(recordings as u64, "recording")));
    }
    for path in left {
        text.push_str(&format!("removed {}, which a killed process left\n", path.display()));
    }
    if text.is_empty() { "nothing to restore\n".into() } else { text }
}

/// Message that killed processes left the machine changed, and how to put it back.
pub fn restore_hint(processes: &[u32]) -> String {
    let processes: Vec<String> = processes.iter().map(ToString::to_string).collect();
    let noun = if processes.len() == 1 { "process" } else { "processes" };
    format!(
        "note: a killed jitterlab ({noun} {}) left settings of this machine changed; put them back: sudo jitterlab restore",
        list(&processes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_put_back_is_named_under_its_process() {
        assert_eq!(restoration_text(std::iter::empty(), 0, &[]), "nothing to restore\n");
        let problem = ["cpu1 is gone".to_owned()];
        let processes = [(7, 1, &[][..]), (8, 2, &problem)];
        assert_eq!(
            restoration_text(processes.into_iter(), 1, &[PathBuf::from("left")]),
            "process 7: 1 change undone\nprocess 8: 2 changes undone\n  could not be restored: cpu1 is gone\n\
             1 recording of the kernel's events ended\nremoved left, which a killed process left\n"
        );
    }
}
