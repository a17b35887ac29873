//! Outputs of other tools with values at the limits of their formats, and beyond.

use std::fs;
use std::path::{Path, PathBuf};

/// Numbers that a format's own numbers are replaced by.
const NUMBERS: [&str; 9] = [
    "0",
    "-1",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e30",
    "-1e30",
    "nan",
];

/// The samples of each tool that the importers are tested with.
fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/peers");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|path| path.is_file());
    found.sort();
    found
}

/// The numbers of a text: their places.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut begin = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let part = c.is_ascii_digit() || c == '.' && begin.is_some();
        match begin {
            None if part => begin = Some(at),
            Some(from) if !part => {
                found.push((from, at));
                begin = None;
            }
            _ => {}
        }
    }
    found
}

/// Each sample with single numbers replaced, at a few places that differ from sample to sample.
pub fn extremes() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for sample in samples() {
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(&sample) else { continue };
        let places = numbers(&text);
        if places.is_empty() {
            continue;
        }
        for (n, number) in NUMBERS.iter().enumerate() {
            let (from, to) = places[(n * 0x9e37 + name.len()) % places.len()];
            all.push((format!("{n}-{name}"), format!("{}{number}{}", &text[..from], &text[to..])));
        }
    }
    all
}
