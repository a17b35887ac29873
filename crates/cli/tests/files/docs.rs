//! The documents name commands, options, files and headings that exist.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the documents has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every Markdown file a user reads.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md"), root.join("ARCHITECTURE.md"), root.join("mcu/README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The words of each `jitterlab ...` command in backticks or on an indented line.
fn commands(text: &str) -> Vec<Vec<String>> {
    let quoted = text.split('`').skip(1).step_by(2);
    let indented = text.lines().filter_map(|l| l.strip_prefix("    "));
    quoted
        .chain(indented)
        .filter_map(|code| {
            code.trim().strip_prefix("jitterlab ").or(code.trim().strip_prefix("cargo run --release -- "))
        })
        .map(|rest| {
            let rest = rest.split(['|', '#', ';', '>']).next().unwrap_or("");
            rest.split_whitespace().take_while(|word| *word != "--").map(str::to_owned).collect()
        })
        .collect()
}

fn help_of(words: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_jitterlab")).args(words).arg("--help").output().unwrap();
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn every_command_and_option_in_the_documents_exists() {
    let mut checked = 0;
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    for path in documents() {
        for words in commands(&fs::read_to_string(&path).unwrap()) {
            let Some(command) =
                words.first().filter(|w| w.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
            else {
                continue; // a placeholder such as COMMAND
            };
            if command.starts_with('-') {
                continue;
            }
            let help = helps.entry(command.clone()).or_insert_with(|| {
                let own =
                    help_of(&[command]).unwrap_or_else(|| panic!("{}: no command {command}", path.display()));
                // Sub-commands have options of their own.
                let of_subs = own.lines().filter_map(|line| {
                    let name = line.strip_prefix("  ")?.split_whitespace().next()?;
                    name.chars()
                        .all(|c| c.is_ascii_lowercase() || c == '-')
                        .then(|| help_of(&[command, name]))?
                });
                let of_subs: String = of_subs.collect();
                own + &of_subs
            });
            for option in words.iter().filter(|w| w.starts_with("--")) {
                let name = option.split('=').next().unwrap_or(option).trim_end_matches(',');
                assert!(help.contains(name), "{}: {command} has no option {name}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked >= 10, "only {checked} commands found");
}

/// The name by which a link leads to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let others = ["CHANGELOG.md", "SECURITY.md"].map(|name| root.join(name));
    for path in documents().into_iter().chain(others) {
        let text = fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: there is no {link}", path.display());
            let text = if heading.is_empty() { String::new() } else { fs::read_to_string(&target).unwrap() };
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            let found = headings.any(|line| anchor(line.trim_start_matches('#').trim()) == heading);
            assert!(heading.is_empty() || found, "{}: no heading for {link}", path.display());
        }
    }
}

#[test]
fn every_document_that_a_source_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = ["crates", "companions", "mcu", "packaging"].map(|name| root.join(name)).to_vec();
    let mut checked = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else { continue }; // not a text
            for rest in text.split("docs/").skip(1) {
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '.');
                let name = rest.split(|c| !is_part(c)).next().unwrap().trim_end_matches('.');
                if name.ends_with(".md") {
                    assert!(root.join("docs").join(name).exists(), "{}: no docs/{name}", path.display());
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 10, "only {checked} documents named");
}
