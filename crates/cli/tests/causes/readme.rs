//! The README's first answers, typed as printed there.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::shared::tracing::may_trace;

#[test]
fn the_first_answers_of_the_readme_go_from_nothing_to_a_page() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let (_, after) = text.split_once("## First answers").unwrap();
    let typed: Vec<&str> = after
        .lines()
        .map_while(|line| match line.strip_prefix("    ") {
            Some(typed) => Some(Some(typed)),
            None if line.is_empty() => Some(None),
            None => None,
        })
        .flatten()
        .collect();
    assert!(typed.len() >= 5, "{typed:?}");
    let folder = TempDir::new().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_jitterlab"));
    let may_trace = may_trace();
    for line in typed.into_iter().filter(|line| may_trace || !line.contains("why")) {
        let path =
            std::env::join_paths([program.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")])
                .unwrap();
        let command = line.trim_start_matches("sudo ");
        let output =
            Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(&folder).output().unwrap();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{line}: {code:?} {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(fs::read_to_string(folder.path().join("report.html")).unwrap().contains("class=\"tiles\""));
}
