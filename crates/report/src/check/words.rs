//! The words of a check: its title, why it matters, the finding and the remedy, by their ids. The texts are in a file for
//! each topic in `dictionary/checks/`.
//!
//! `{name}` in a text is replaced by the quantity of that name, `{name:form}` by the quantity in another form
//! than its own; a part in brackets is left out if one of its quantities is unknown.

use std::collections::BTreeMap;

use jitterlab_model::CpuSet;
use jitterlab_model::check::{Action, Check, Remedy, RemedyKind, Status, Value};

use crate::dictionary::{self, entry};
use crate::words::{cpus_text, share};

pub fn title(check: &Check) -> &str {
    entry(&format!("check.{}", check.id), "title").unwrap_or(&check.id)
}

/// Reason why a check matters, in one sentence.
pub fn reason(check: &Check) -> &'static str {
    entry(&format!("check.{}", check.id), "why").unwrap_or_default()
}

/// Sentence on the finding of a check.
pub fn finding(check: &Check) -> String {
    let text = entry(&format!("check.{}.found", check.id), &check.found);
    let text = fill_quantities(text.unwrap_or(&check.found), check);
    // Advice that only the host can follow, where nothing could be found out here.
    let on_host = check.remedies.iter().any(|remedy| remedy.kind == RemedyKind::Host);
    if check.status == Status::NotApplicable && on_host {
        format!("{text}: only the host knows")
    } else {
        text
    }
}

/// Command or advice of a remedy.
pub fn remedy_text(check: &Check, remedy: &Remedy) -> String {
    match &remedy.action {
        Action::Exact(text) => text.clone(),
        Action::Set { value, files } if files.contains('{') => format!("echo {value} | tee {files}"),
        Action::Set { value, files } => format!("echo {value} > {files}"),
        Action::Sysctl { name, value } => format!("sysctl -w {name}={value}"),
        Action::Advice(id) => {
            let text = entry(&format!("check.{}.advice", check.id), id);
            fill_quantities(text.unwrap_or(id), check)
        }
    }
}

/// Scope of a remedy in words.
pub fn remedy_kind_text(kind: RemedyKind) -> &'static str {
    match kind {
        RemedyKind::Command => "now",
        RemedyKind::Lasting => "permanently",
        RemedyKind::KernelParameter => "kernel parameter",
        RemedyKind::Host => "on the host",
        RemedyKind::Machine => "on the machine",
        RemedyKind::Option => "for one run",
    }
}

pub fn status_text(status: Status) -> &'static str {
    match status {
        Status::Fail => "fail",
        Status::Warn => "warn",
        Status::Pass => "pass",
        Status::NotApplicable => "n/a",
    }
}

/// Every finding and every piece of advice that there are words for, as `check: id`.
#[doc(hidden)]
pub fn all_ids() -> Vec<String> {
    let ids = |(table, words): (&'static str, &'static BTreeMap<String, String>)| {
        let check = table.strip_suffix(".found").or_else(|| table.strip_suffix(".advice"))?;
        Some(words.keys().map(move |id| format!("{check}: {id}")))
    };
    dictionary::tables_below("check.").filter_map(ids).flatten().collect()
}

/// A text with the check's quantities.
fn fill_quantities(text: &str, check: &Check) -> String {
    dictionary::fill_template(text, &|name, form| Some(format_value(check.values.get(name)?, form)))
}

fn format_value(value: &Value, form: &str) -> String {
    match (value, form) {
        (Value::Whole(bytes), "mib") => (bytes >> 20).to_string(),
        (Value::Whole(bytes), "kib") => (bytes >> 10).to_string(),
        (Value::Whole(hz), "mhz") => (hz / 1_000_000).to_string(),
        (Value::Whole(ns), "us") => (ns / 1_000).to_string(),
        (Value::Whole(number), _) => number.to_string(),
        (Value::Real(part), "share") => share(*part),
        (Value::Real(number), "one") => format!("{number:.1}"),
        (Value::Real(number), _) => format!("{number:.2}"),
        (Value::Text(cpus), "cpus" | "are" | "it") => {
            let cpus: CpuSet = cpus.parse().unwrap_or_default();
            match (form, cpus.len()) {
                ("are", 1) => format!("{} is", cpus_text(&cpus)),
                ("are", _) => format!("{} are", cpus_text(&cpus)),
                ("it", 1) => "it is".into(),
                ("it", _) => "they are".into(),
                _ => cpus_text(&cpus),
            }
        }
        (Value::Text(text), _) => text.clone(),
        (Value::List(names), "and") => names.join(" and "),
        (Value::List(names), "some") if names.len() > 4 => {
            format!("{} and {} more", names[..3].join(", "), names.len() - 3)
        }
        (Value::List(names), _) => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_stand_in_their_places_and_what_is_unknown_is_left_out() {
        let check = |values: &[(&str, Value)]| Check {
            id: "smi".into(),
            topic: "interrupts".into(),
            status: Status::Warn,
            found: "counted".into(),
            values: values.iter().map(|(name, value)| ((*name).into(), value.clone())).collect(),
            remedies: Vec::new(),
        };
        let with_rate = check(&[("count", Value::Whole(951)), ("an_hour", Value::Real(171.21))]);
        assert_eq!(finding(&with_rate), "951 since the start, 171.2 an hour");
        assert_eq!(finding(&check(&[("count", Value::Whole(951))])), "951 since the start");
    }

    #[test]
    fn every_check_has_a_title_and_a_reason_of_one_sentence() {
        let checks = dictionary::tables_below("check.").filter(|(table, _)| !table.contains('.'));
        for (id, words) in checks {
            let why = &words["why"];
            assert!(why.ends_with('.') && !why.contains(". "), "{id}: {why}");
            assert!(words.contains_key("title") && words.len() == 2, "{id}");
        }
        for (table, _) in dictionary::tables_below("check.").filter(|(table, _)| table.contains('.')) {
            let (check, kind) = table.split_once('.').unwrap();
            assert!(
                entry(&format!("check.{check}"), "title").is_some() && ["found", "advice"].contains(&kind),
                "{table}"
            );
        }
    }
}
