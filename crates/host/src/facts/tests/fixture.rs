//! Makes the `/proc` and `/sys` of another machine from a description in one text file.
//!
//! `=== NAME` begins a file, whose text follows. `=== NAME -> TARGET` is a symbolic link, and `=== NAME
//! hex@N` a file whose bytes follow in hexadecimal, at offset N. `{0-7}` in a name makes a file for each
//! number n; `{n}`, `{n%4}`, `{n/4}` and `{n%4+4}` in it or in its text are replaced by their values.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use crate::facts::Root;

/// A machine's tree, gone when dropped.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// Names of all machines that this crate's tests describe.
    pub(crate) const ALL: &[&str] =
        &["cnc-rt", "laptop", "vm", "container", "arm-board", "server", "hostile"];

    /// Makes the tree of one of them.
    pub(crate) fn named(name: &str) -> Machine {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.txt"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Machine::from_text(&text)
    }

    /// Makes the tree a text describes.
    pub(crate) fn from_text(text: &str) -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        machine.add(text);
        machine
    }

    /// Adds or replaces files.
    pub(crate) fn add(&self, text: &str) {
        for section in text.split("\n=== ").flat_map(|s| s.strip_prefix("=== ").or(Some(s))) {
            let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
            if !heading.starts_with('#') && !heading.is_empty() {
                self.section(heading, body);
            }
        }
    }

    /// Takes a file away.
    pub(crate) fn without(&self, name: &str) {
        fs::remove_file(self.folder.path().join(name)).unwrap();
    }

    /// Root of the machine's tree.
    pub(crate) fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    fn section(&self, heading: &str, body: &str) {
        let range =
            heading.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(range, _)| range);
        let Some(cpus) = range else { return self.file(heading, body) };
        for n in cpus.parse::<jitterlab_model::CpuSet>().unwrap().iter() {
            let heading = heading.replace(&format!("{{{cpus}}}"), &n.to_string());
            self.file(&filled(&heading, n), &filled(body, n));
        }
    }

    fn file(&self, heading: &str, body: &str) {
        let mut words = heading.split_whitespace();
        let path = self.folder.path().join(words.next().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match words.next() {
            None => fs::write(&path, body).unwrap(),
            Some("->") => {
                let _ = fs::remove_file(&path);
                symlink(words.next().unwrap(), &path).unwrap();
            }
            Some(hex) => {
                let offset = hex.strip_prefix("hex@").unwrap().parse().unwrap();
                let bytes: Vec<u8> =
                    body.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()).collect();
                fs::File::create(&path).unwrap().write_all_at(&bytes, offset).unwrap();
            }
        }
    }
}

/// Replaces `{n}`, `{n%4}`, `{n/4}` and `{n%4+4}`.
fn filled(text: &str, n: u16) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{n") {
        let (formula, after) = after.split_once('}').unwrap();
        let (formula, plus) = formula.split_once('+').unwrap_or((formula, "0"));
        let value = match formula.split_at_checked(1) {
            Some(("%", by)) => n % by.parse::<u16>().unwrap(),
            Some(("/", by)) => n / by.parse::<u16>().unwrap(),
            _ => n,
        };
        out += before;
        out += &(value + plus.parse::<u16>().unwrap()).to_string();
        rest = after;
    }
    out + rest
}
