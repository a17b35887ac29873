//! What the programs of rt-tests have in common when they write JSON (`--json`): a head whose keys end with a colon, and
//! figures by thread.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::word_after;
use super::{Import, Input};

/// The file of one program; `T` is what it says of a thread.
#[derive(Deserialize)]
pub(super) struct Report<T> {
    #[serde(rename = "cmdline:", default)]
    command: String,
    #[serde(rename = "rt_test_version:", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    /// 1 if values are in nanoseconds, 0 (or nothing) if in microseconds.
    #[serde(default)]
    resolution_in_ns: u8,
    thread: BTreeMap<String, T>,
}

/// The program that wrote a file, if it is of rt-tests.
pub(super) fn program<'a>(input: &Input<'a>) -> Option<&'a str> {
    let text = input.text.trim_start();
    if !text.starts_with('{') || !text.contains("\"rt_test_version:\"") {
        return None;
    }
    let (_, command) = text.split_once("\"cmdline:\"")?;
    let (_, command) = command.split_once('"')?;
    name(command.split('"').next()?)
}

/// The program of a command line, without its folder.
fn name(command: &str) -> Option<&str> {
    command.split_whitespace().next()?.rsplit('/').next()
}

impl<T> Report<T> {
    /// An import that says which program ran, how and when.
    pub(super) fn import(&self, clock: &str) -> Import {
        let mut import = Import::new(&format!("{} {}", self.program(), self.version), clock);
        import.info.command = self.command.split_whitespace().map(str::to_owned).collect();
        import.info.started = self.start_time.clone();
        import
    }

    pub(super) fn program(&self) -> &str {
        name(&self.command).unwrap_or("rt-tests")
    }

    pub(super) fn unit_ns(&self) -> i64 {
        if self.resolution_in_ns == 1 { 1 } else { 1_000 }
    }

    /// The number that an option was given: `-i 1000`, `-i1000`, `--interval 1000` or `--interval=1000`.
    pub(super) fn option(&self, short: &str, long: &str) -> Option<i64> {
        let words = || self.command.split_whitespace();
        let number = |text: &str| text.parse::<i64>().ok();
        word_after(&self.command, short)
            .or_else(|| word_after(&self.command, long))
            .and_then(number)
            .or_else(|| words().find_map(|word| number(word.strip_prefix(long)?.strip_prefix('=')?)))
            .or_else(|| words().find_map(|word| number(word.strip_prefix(short)?)))
    }

    /// What is said of each thread, with its number, in their order.
    pub(super) fn into_threads(self) -> Vec<(String, T)> {
        let mut threads: Vec<_> = self.thread.into_iter().collect();
        threads.sort_by_key(|(name, _)| name.parse::<usize>().unwrap_or(usize::MAX));
        threads
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = &T> {
        self.thread.values()
    }
}

/// A processor's number; some programs write -1 where a thread was bound to none.
pub(super) fn cpu(number: Option<i64>) -> Option<u16> {
    number.and_then(|number| u16::try_from(number).ok())
}
