//! The rules of the house (ARCHITECTURE.md), kept by tests that fail when one is broken.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the sources has failed")]

mod cycles;
mod source;

use std::collections::BTreeMap;
use std::fs;

use source::{Source, products};

/// As many words make a literal prose.
const PROSE: usize = 5;

/// Words of two letters or more with blanks between them: not those of paths and options.
fn words(literal: &str) -> usize {
    let mut depth = 0usize;
    let text: String = literal
        .chars()
        .map(|c| match c {
            '{' => (depth += 1, 'x').1,
            '}' => (depth = depth.saturating_sub(1), '0').1,
            _ if depth > 0 => '0',
            c => c,
        })
        .collect();
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '\'';
    let bare = text.split_whitespace().map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    bare.filter(|word| word.len() >= 2 && word.chars().all(is_letter)).count()
}

#[test]
fn words_live_in_report_and_in_errors() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let companions = ["fleet", "kernel", "mcu", "monitor", "papers"];
    for Source { path, text, .. } in products() {
        // A companion has words of its own.
        let own = companions.iter().any(|companion| path.starts_with(&format!("{companion}/src/words")));
        if path.starts_with("report/") || path.ends_with("error.rs") || own {
            continue;
        }
        for (before, literal) in source::literals(&text) {
            let before = before.trim_end();
            // A shell's loop is a command to be run, not a sentence.
            let excused =
                source::is_of_an_error(before) || before.ends_with("reason =") || literal.contains("; do ");
            if words(&literal) >= PROSE && !excused {
                found.entry(path.clone()).or_default().push(literal);
            }
        }
    }
    assert!(
        found.is_empty(),
        "prose belongs into crates/report, a companion's words, an Error's calls or files named error.rs:\n{found:#?}"
    );
}

#[test]
fn no_command_has_a_document_of_its_own() {
    let own: Vec<String> = products()
        .into_iter()
        .filter(|source| source.path.starts_with("cli/"))
        .flat_map(|Source { path, text, .. }| {
            let lines = text.lines().filter(|l| l.contains("derive(") && l.contains("Serialize"));
            lines.map(|line| format!("{path}: {}", line.trim())).collect::<Vec<_>>()
        })
        .collect();
    assert!(
        own.is_empty(),
        "results are types beside their computation, gathered in report::document: {own:#?}"
    );
}

#[test]
fn a_command_is_arguments_one_call_and_one_rendering() {
    let long: Vec<String> = products()
        .into_iter()
        .filter(|source| source.path.starts_with("cli/src/commands/"))
        .filter_map(|Source { path, text, .. }| {
            let lines = source::statements(&text);
            (lines >= 100).then(|| format!("{path}: {lines} lines"))
        })
        .collect();
    assert!(long.is_empty(), "more than arguments in, one call, one rendering: {long:#?}");
}

#[test]
fn no_file_needs_another_that_needs_it() {
    let circles = cycles::of_crates(&products());
    assert!(circles.is_empty(), "files that can only be understood together: {circles:#?}");
}

#[test]
fn a_file_is_read_in_one_sitting() {
    let long: Vec<String> = products()
        .into_iter()
        .filter_map(|Source { path, text, .. }| {
            let lines = text.lines().count();
            (lines > 600).then(|| format!("{path}: {lines} lines"))
        })
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

fn architecture() -> String {
    fs::read_to_string(source::rooms()[0].join("../../ARCHITECTURE.md")).unwrap()
}

#[test]
fn sources_that_the_architecture_names_exist() {
    let sources: Vec<String> = products().into_iter().map(|source| format!("/{}", source.path)).collect();
    let text = architecture();
    let named = text.split('`').skip(1).step_by(2);
    let named: Vec<&str> = named
        .filter(|name| (name.contains("src/") || name.ends_with(".rs")) && !name.contains("tests"))
        .collect();
    assert!(named.len() > 50, "{named:#?}");
    let root = source::rooms()[0].join("../..");
    let is_there = |name: &str| {
        let is_file = ["", "crates", "companions"].iter().any(|part| root.join(part).join(name).exists());
        is_file || sources.iter().any(|path| path.contains(&format!("/{name}")))
    };
    let missing: Vec<&str> = named.into_iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:#?}");
}

/// Lines that a room may differ from the budget table before that has to be renewed.
const STALE: usize = 100;

/// The table is a record to be looked at with each change, not a limit: it is no reason to write denser code.
#[test]
fn the_budget_table_says_how_large_the_rooms_are() {
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    for Source { path, lines, .. } in products() {
        let room = path.split('/').next().unwrap().to_owned();
        *rooms.entry(room).or_default() += lines;
    }
    let total = rooms.values().sum::<usize>();
    rooms.insert("all".into(), total);
    rooms.iter().for_each(|(room, lines)| println!("{room:10} {lines:7}"));
    let text = architecture();
    let table = text.split("\n## Budget\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(|cell| cell.trim().trim_matches('`'));
        let (room, _, now) = (cells.next()?, cells.next()?, cells.next()?);
        Some((room.to_owned(), now.replace(' ', "").parse::<usize>().unwrap()))
    };
    let recorded: BTreeMap<String, usize> = table.lines().filter_map(row).collect();
    let stale: Vec<String> = rooms
        .iter()
        .filter(|(room, lines)| recorded.get(*room).is_none_or(|recorded| recorded.abs_diff(**lines) > STALE))
        .map(|(room, lines)| format!("{room}: {lines}, recorded {:?}", recorded.get(room)))
        .collect();
    assert!(
        stale.is_empty(),
        "renew the budget table of ARCHITECTURE.md, and say what grew for what: {stale:#?}"
    );
    assert!(recorded.keys().all(|room| rooms.contains_key(room)), "a row without its room");
}

/// Allowed imports: others are not allowed (cargo enforces it; this keeps the manifests to it).
const IMPORTS: [(&str, &[&str]); 19] = [
    ("model", &[]),
    ("rt", &["model"]),
    ("trace", &["model"]),
    ("recording", &["model", "rt", "trace", "analysis"]),
    ("capi", &["recording"]),
    ("analysis", &["model"]),
    ("runs", &["model", "trace", "analysis"]),
    ("motion", &["model", "analysis", "runs"]),
    ("host", &["model", "rt", "trace", "analysis"]),
    ("report", &["model", "analysis", "motion", "runs"]),
    ("console", &["model", "trace", "analysis", "runs", "host", "report"]),
    ("chip", &["model"]),
    ("mcu", &["model", "trace", "analysis", "host", "report", "console", "chip"]),
    ("fleet", &["model", "trace", "analysis", "runs", "report", "console"]),
    ("monitor", &["model", "trace", "analysis", "runs", "host", "report", "console", "fleet"]),
    ("kernel", &["model", "rt", "trace", "analysis", "runs", "host", "report", "console"]),
    (
        "papers",
        &["model", "rt", "trace", "analysis", "runs", "motion", "host", "report", "console", "kernel", "mcu"],
    ),
    ("cli", &["model", "rt", "trace", "analysis", "runs", "motion", "host", "report", "console"]),
    ("python", &["model", "trace", "recording", "analysis", "runs", "motion", "host", "report"]),
];

#[test]
fn arrows_run_one_way() {
    let rooms = source::rooms();
    assert_eq!(rooms.len(), IMPORTS.len(), "a room without rules, or a rule without a room");
    for (room, allowed) in IMPORTS {
        let folder = rooms.iter().find(|folder| folder.ends_with(room)).unwrap();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let product = manifest.split("[dev-dependencies]").next().unwrap();
        let imports = product.lines().filter_map(|line| line.strip_prefix("jitterlab-"));
        for import in imports.filter_map(|rest| rest.split(['.', ' ', '=']).next()) {
            assert!(allowed.contains(&import), "{room} may not import {import}");
        }
    }
}

#[test]
fn every_test_executable_is_in_a_tier_of_the_tests() {
    let rooms = source::rooms();
    let script = fs::read_to_string(rooms[0].join("../../test")).unwrap();
    let lists = script.split("_tests=(").skip(1).map(|rest| rest.split(')').next().unwrap());
    let listed: Vec<&str> = lists.flat_map(str::split_whitespace).collect();
    for entry in rooms.iter().flat_map(|room| fs::read_dir(room.join("tests"))).flatten() {
        let path = entry.unwrap().path();
        let is_one = path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(!is_one || listed.contains(&name), "./test runs no {}", path.display());
    }
}
