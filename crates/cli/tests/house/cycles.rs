//! Files of a crate that name each other's items, and circles among them.
//!
//! A file and the files below it (`a.rs` or `a/mod.rs`, and `a/b.rs`) may name each other: they are one thing in parts.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Source;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The circles of all crates: the files of each.
pub fn of_crates(sources: &[Source]) -> Vec<Vec<String>> {
    let mut crates: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for Source { path, text, .. } in sources {
        let (name, rest) = path.split_once("/src/").unwrap();
        crates.entry(name).or_default().push((module(rest), text));
    }
    let mut found = Vec::new();
    for (name, files) in crates {
        let graph = graph(&files);
        found.extend(
            circles(&graph).into_iter().map(|circle| {
                circle.into_iter().map(|module| format!("{name}: {module}")).collect::<Vec<_>>()
            }),
        );
    }
    found
}

/// `a/b.rs` is `a::b`; `a/mod.rs` is `a`; `lib.rs` and `main.rs` are the root, "".
fn module(path: &str) -> String {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(path, "lib" | "main" | "mod") { String::new() } else { path.replace('/', "::") }
}

fn graph(files: &[(String, &str)]) -> Graph {
    let modules: BTreeSet<&str> = files.iter().map(|(module, _)| module.as_str()).collect();
    let arrows = files.iter().map(|(module, text)| {
        let named = paths(text, module).into_iter().filter_map(|path| {
            // The longest part of the path that is a file.
            let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
            ends.map(|end| &path[..end])
                .filter(|part| modules.contains(part))
                .max_by_key(|p| p.len())
                .map(str::to_owned)
        });
        let apart = named.filter(|other| !is_within(other, module) && !is_within(module, other));
        (module.clone(), apart.collect())
    });
    arrows.collect()
}

/// True if a module is the other one, or below it.
fn is_within(module: &str, other: &str) -> bool {
    other.is_empty()
        || module == other
        || module.strip_prefix(other).is_some_and(|rest| rest.starts_with("::"))
}

/// The paths within the crate that a file names, absolute.
fn paths(text: &str, module: &str) -> Vec<String> {
    let parent = |module: &str| module.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned();
    let join =
        |base: &str, rest: &str| if base.is_empty() { rest.to_owned() } else { format!("{base}::{rest}") };
    let mut found = Vec::new();
    for (start, base) in
        [("crate::", String::new()), ("super::super::", parent(&parent(module))), ("super::", parent(module))]
    {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &text[at + start.len()..];
            if rest.starts_with("super::") {
                continue;
            }
            found.extend(expanded(rest).into_iter().map(|rest| join(&base, &rest)));
        }
    }
    found
}

/// `a::{b, c::d}` as `a::b`, `a::c::d`; nested braces too.
fn expanded(text: &str) -> Vec<String> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    if !(head.is_empty() || head.ends_with("::")) || !rest.starts_with('{') {
        return vec![head.trim_end_matches(':').to_owned()];
    }
    let mut depth = 0;
    let mut begin = 1;
    let mut found = Vec::new();
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (c == ',' && depth == 1) || depth == 0 {
            let part = rest[begin..at].trim();
            if !part.is_empty() {
                found.extend(expanded(part).into_iter().map(|part| format!("{head}{part}")));
            }
            begin = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// The strongly connected parts of more than one file.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, to) in &reach {
        let circle: Vec<String> = to
            .iter()
            .filter(|other| reach.get(*other).is_some_and(|back| back.contains(from)))
            .map(|m| (*m).clone())
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

fn reachable<'a>(graph: &'a Graph, from: &'a String) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut left = vec![from];
    while let Some(next) = left.pop() {
        for other in graph.get(next).into_iter().flatten() {
            if seen.insert(other) {
                left.push(other);
            }
        }
    }
    seen
}

#[test]
fn a_circle_is_found_and_a_line_is_none() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into(), lines: 0 };
    let line = [
        source("x/src/a.rs", "use crate::b::{C, d::E};"),
        source("x/src/b.rs", ""),
        source("x/src/b/d.rs", "use super::C;"),
    ];
    assert!(of_crates(&line).is_empty());
    let circle = [source("x/src/a.rs", "use crate::b::C;"), source("x/src/b.rs", "fn f() { super::a::g() }")];
    assert_eq!(of_crates(&circle), [["x: a", "x: b"]]);
}
