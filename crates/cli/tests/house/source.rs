//! The product's sources as text: without tests, without comments.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the product.
pub struct Source {
    /// Its path below `crates/` or `companions/`.
    pub path: String,
    /// Its content up to its tests, without comments.
    pub text: String,
    /// Lines up to its tests, comments included, blank ones not.
    pub lines: usize,
}

/// The folders of all crates and companions.
pub fn rooms() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let entries =
        ["crates", "companions"].into_iter().flat_map(|part| fs::read_dir(root.join(part)).unwrap());
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// All Rust files of all crates' `src`, but for those that hold tests only.
pub fn products() -> Vec<Source> {
    let mut found = Vec::new();
    for room in rooms() {
        files_of(&room, &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 100, "the sources are not where they were");
    found
}

fn files_of(room: &Path, found: &mut Vec<Source>) {
    let mut folders = vec![room.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let whole = fs::read_to_string(&path).unwrap();
                let below = path.strip_prefix(room.parent().unwrap()).unwrap();
                let below = below.to_string_lossy().into_owned();
                found.push(Source {
                    path: below,
                    text: without_comments(code(&whole)),
                    lines: lines(code(&whole)),
                });
            }
        }
    }
}

/// The part before the tests.
fn code(whole: &str) -> &str {
    whole.split("\n#[cfg(test)]\nmod tests {").next().unwrap()
}

fn lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

fn without_comments(code: &str) -> String {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.to_owned() + "\n").collect()
}

/// Every string literal, with the text before it.
pub fn literals(text: &str) -> Vec<(&str, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            // A character, not a lifetime: closed two or three bytes on.
            b'\'' if bytes.get(at + 1) == Some(&b'\\') => {
                at += 2 + text[at + 2..].find('\'').unwrap_or(0);
            }
            b'\'' if bytes.get(at + 2) == Some(&b'\'') => at += 2,
            b'r' if text[at..].starts_with("r#\"") || text[at..].starts_with("r\"") => {
                let hashes = text[at + 1..].chars().take_while(|c| *c == '#').count();
                let begin = at + 2 + hashes;
                let end = format!("\"{}", "#".repeat(hashes));
                let length = text[begin..].find(&end).unwrap_or(0);
                found.push((&text[..at], text[begin..begin + length].to_owned()));
                at = begin + length + hashes;
            }
            b'"' => {
                let begin = at + 1;
                at = begin;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                found.push((&text[..begin - 1], text[begin..at.min(text.len())].to_owned()));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// True if the text before a literal makes it a sentence of an error: `Error::bad_use(`, `.remedy(format!(`.
pub fn is_of_an_error(before: &str) -> bool {
    const CALLS: [&str; 10] = [
        "#[error",
        "::bad_use",
        "::not_measured",
        "::refused",
        "::damaged",
        "::defect",
        "damage",
        ".while_at",
        ".remedy",
        ".within",
    ];
    let mut call = before.trim_end();
    while let Some(outer) = call.strip_suffix('(') {
        call = outer.trim_end_matches("format!").trim_end();
    }
    CALLS.iter().any(|end| call.ends_with(end))
}

/// Lines of code that are neither blank, nor attributes, nor fields of arguments, nor imports.
pub fn statements(text: &str) -> usize {
    let mut in_arguments = false;
    let counted = text.lines().filter(|line| {
        let line = line.trim();
        if line.starts_with("pub struct") || line.starts_with("struct") || line.starts_with("enum") {
            in_arguments = line.ends_with('{');
            return false;
        }
        if in_arguments {
            in_arguments = line != "}";
            return false;
        }
        !(line.is_empty() || line.starts_with('#') || line.starts_with("use ") || line.starts_with("mod "))
    });
    counted.count()
}
