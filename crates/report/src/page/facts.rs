//! The full system facts as a tree that folds.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::PageRun;
use crate::json;
use crate::section::Piece;

/// Folded table of all facts of a run's machine, before and after; `None` if there are none. Unreadable facts are left
/// out.
pub fn machine_facts(run: &PageRun) -> Option<Piece> {
    let read = |facts: &Option<_>| {
        let mut rows = Vec::new();
        push_leaf_values("", &json::to_value(facts.as_ref()?), &mut rows);
        Some(rows)
    };
    let (before, after) = (read(&run.info.facts_before), read(&run.info.facts_after));
    let ends: HashMap<&String, &str> =
        after.iter().flatten().map(|(path, end)| (path, end.as_str())).collect();
    let known: HashSet<&String> = before.iter().flatten().map(|(path, _)| path).collect();
    let came = after.iter().flatten().filter(|(path, _)| !known.contains(path));
    let came = came.map(|(path, value)| [path.as_str(), "", value.as_str()]);
    let rows = before.iter().flatten().map(|(path, value)| {
        let end = ends.get(path).copied().unwrap_or("-");
        [path.as_str(), value.as_str(), if end == value || after.is_none() { "" } else { end }]
    });
    let rows: Vec<[&str; 3]> = rows.chain(came).collect();
    let heading = format!("{}: the machine ({} facts)", run.label, rows.len());
    let header = ["fact", "before the run", "after it, where another"];
    let rows = rows.into_iter().map(Vec::from).collect::<Vec<_>>();
    (!rows.is_empty()).then(|| Piece::details(heading, vec![Piece::table("", &header, rows)]))
}

/// Appends every leaf of a JSON value with its dotted path.
fn push_leaf_values(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(map) => map.iter().for_each(|(key, value)| push_leaf_values(&below(key), value, rows)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| push_leaf_values(&below(&i.to_string()), item, rows));
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            rows.push((path.into(), items.iter().map(json_text).collect::<Vec<_>>().join(", ")));
        }
        value => rows.push((path.into(), json_text(value))),
    }
}

fn json_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_has_its_path() {
        let mut rows = Vec::new();
        push_leaf_values(
            "",
            &serde_json::json!({"a": {"b": 1, "c": null}, "d": [1, 2], "e": [{"f": "x"}]}),
            &mut rows,
        );
        let rows: Vec<_> = rows.iter().map(|(path, value)| format!("{path}={value}")).collect();
        assert_eq!(rows, ["a.b=1", "d=1, 2", "e.0.f=x"]);
    }
}
