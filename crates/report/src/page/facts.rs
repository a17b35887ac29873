//! The full system facts as a tree that folds.

use serde_json::Value;

use super::PageRun;
use super::html::{Html, html};

/// All facts of a run, before and after, by their top-level group. Unreadable facts are left out.
pub fn build(run: &PageRun) -> Vec<Html> {
    let sides = [("before", &run.info.facts_before), ("after", &run.info.facts_after)];
    sides
        .into_iter()
        .filter_map(|(when, facts)| facts.as_ref().map(|facts| (when, facts)))
        .filter_map(|(when, facts)| {
            let mut rows = Vec::new();
            // Facts are plain data; should they ever fail to serialise, the page lacks them and stays right otherwise.
            flatten("", &serde_json::to_value(facts).ok()?, &mut rows);
            Some(group(&format!("{}: the machine {when} the run", run.label), &rows))
        })
        .collect()
}

/// A group of facts, each with its path and value.
fn group(heading: &str, rows: &[(String, String)]) -> Html {
    let row = |(path, value): &(String, String)| {
        html!("<tr><th scope=\"row\">{path}</th><td>{value}</td></tr>\n", path = path, value = value)
    };
    html!(
        "<details><summary>{heading} ({count} facts)</summary>
<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{heading}\"><table class=\"facts\"><thead><tr><th scope=\"col\">fact</th><th scope=\"col\">value</th></tr></thead><tbody>
{rows}</tbody></table></div></details>
",
        heading = heading,
        count = rows.len(),
        rows = rows.iter().map(row).collect::<Html>()
    )
}

fn flatten(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(map) => map.iter().for_each(|(key, value)| flatten(&below(key), value, rows)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().enumerate().for_each(|(i, item)| flatten(&below(&i.to_string()), item, rows));
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            rows.push((path.into(), items.iter().map(plain).collect::<Vec<_>>().join(", ")));
        }
        value => rows.push((path.into(), plain(value))),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_has_its_path() {
        let mut rows = Vec::new();
        flatten(
            "",
            &serde_json::json!({"a": {"b": 1, "c": null}, "d": [1, 2], "e": [{"f": "x"}]}),
            &mut rows,
        );
        let rows: Vec<_> = rows.iter().map(|(path, value)| format!("{path}={value}")).collect();
        assert_eq!(rows, ["a.b=1", "d=1, 2", "e.0.f=x"]);
    }
}
