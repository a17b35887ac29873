//! Words and sentences by the name of what they are about, from the files in `dictionary/`.
//!
//! In a sentence `{name}` is replaced by the quantity of that name, `{name:form}` by the quantity in another form
//! than its own ([`format_quantity`]). Of a part `[A||B]` in brackets A is taken if all its quantities are known, else B; without
//! `||B` it is left out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jitterlab_model::CpuSet;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json;
use crate::words::{count, cpus_text, exact_time, list, plural, share, time};

/// Files of words, each with what its tables' names begin with.
const FILES: [(&str, &str); 15] = [
    ("", include_str!("dictionary/causes.toml")),
    ("", include_str!("dictionary/caveats.toml")),
    ("", include_str!("dictionary/doctor.toml")),
    ("", include_str!("dictionary/figures.toml")),
    ("", include_str!("dictionary/knobs.toml")),
    ("", include_str!("dictionary/names.toml")),
    ("", include_str!("dictionary/warnings.toml")),
    ("check.", include_str!("dictionary/checks/clock.toml")),
    ("check.", include_str!("dictionary/checks/interrupts.toml")),
    ("check.", include_str!("dictionary/checks/isolation.toml")),
    ("check.", include_str!("dictionary/checks/kernel.toml")),
    ("check.", include_str!("dictionary/checks/memory.toml")),
    ("check.", include_str!("dictionary/checks/permissions.toml")),
    ("check.", include_str!("dictionary/checks/platform.toml")),
    ("check.", include_str!("dictionary/checks/power.toml")),
];

/// Fields in which serde writes the name of an event, in the order in which they are looked for.
const NAMES: [&str; 8] = ["about", "id", "by", "class", "sets", "reason", "what", "why"];

/// Tables of words by their names, those within others as `outer.inner`.
type Tables = BTreeMap<String, BTreeMap<String, String>>;

/// All tables. A file that cannot be read leaves names in place of words; a test reads all of them.
static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables::new();
    for (prefix, file) in FILES {
        for (name, table) in file.parse::<toml::Table>().unwrap_or_default() {
            add_table(&format!("{prefix}{name}"), table, &mut tables);
        }
    }
    tables
});

/// Adds a table, and those within it.
fn add_table(name: &str, table: toml::Value, tables: &mut Tables) {
    let toml::Value::Table(entries) = table else { return };
    for (entry, value) in entries {
        match value {
            toml::Value::String(text) => {
                tables.entry(name.into()).or_default().insert(entry, text);
            }
            inner => add_table(&format!("{name}.{entry}"), inner, tables),
        }
    }
}

/// Tables whose names begin with `prefix`, each with the rest of its name.
pub(crate) fn tables_below(
    prefix: &'static str,
) -> impl Iterator<Item = (&'static str, &'static BTreeMap<String, String>)> {
    TABLES.iter().filter_map(move |(name, table)| Some((name.strip_prefix(prefix)?, table)))
}

/// Text of the entry of this name in a table; `None` if there is none.
pub fn entry(table: &str, name: &str) -> Option<&'static str> {
    TABLES.get(table)?.get(name).map(String::as_str)
}

/// The name that a value serialises to; empty for one that is no name.
pub(crate) fn serialized_name(value: &impl Serialize) -> String {
    json::to_value(value).as_str().unwrap_or_default().to_owned()
}

/// Text of a value that serialises to a name in this table; `unknown` for another.
pub(crate) fn display_text(table: &str, value: &impl Serialize) -> &'static str {
    entry(table, &serialized_name(value)).unwrap_or("unknown")
}

/// Serialised fields of an event; its name alone where it has none.
pub(crate) fn event_fields(event: &impl Serialize) -> Map<String, Value> {
    match json::to_value(event) {
        Value::Object(fields) => fields,
        name => [(NAMES[0].to_owned(), name)].into_iter().collect(),
    }
}

/// The name of an event: the field that tells its kind.
pub(crate) fn event_name<'a>(fields: &'a Map<String, Value>, kind: &str) -> &'a str {
    fields.get(kind).and_then(Value::as_str).unwrap_or("unknown")
}

/// The sentence of an event.
pub(crate) fn event_sentence(table: &str, event: &impl Serialize) -> String {
    sentence_from_fields(table, &event_fields(event))
}

/// Sentence of the entry that one of these fields names, with the others filled in.
pub(crate) fn sentence_from_fields(table: &str, fields: &Map<String, Value>) -> String {
    let name = NAMES.iter().find_map(|name| fields.get(*name)?.as_str());
    sentence(table, name.unwrap_or_default(), fields)
}

/// Sentence of an entry, with these quantities filled in.
pub(crate) fn sentence(table: &str, name: &str, quantities: &Map<String, Value>) -> String {
    fill_template(entry(table, name).unwrap_or(name), &|name, form| {
        format_quantity(quantities.get(name)?, form)
    })
}

/// Writes a value in the form that a template asks for; `None` if it is null or of another kind. Forms are `yes|no` for
/// what is true or false, `?one/many` by the number of things, `+up/down` by a sign, the table that has its words, or
/// the thing that it counts.
fn format_quantity(value: &Value, form: &str) -> Option<String> {
    let whole = || value.as_u64().or(value.as_f64().map(|number| number.round() as u64)).unwrap_or_default();
    let choice = |mark: char| form.strip_prefix(mark).and_then(|both| both.split_once('/'));
    if let Some((one, many)) = choice('?') {
        return Some(if item_count(value) == 1 { one } else { many }.into());
    }
    if let Some((up, down)) = choice('+') {
        return Some(if value.as_f64()? > 0.0 { up } else { down }.into());
    }
    Some(match (value, form) {
        (Value::Null, _) => return None,
        (Value::Bool(so), words) => {
            let (yes, no) = words.split_once('|')?;
            if *so { yes.into() } else { no.into() }
        }
        (Value::String(text), "") => text.clone(),
        (Value::String(cpus), "cpus") => cpus_text(&cpus.parse().unwrap_or_default()),
        (Value::String(name), table) => entry(table, name).unwrap_or(name).into(),
        (Value::Array(names), _) => {
            list(&names.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
        }
        (Value::Object(fields), table) => sentence_from_fields(table, fields),
        (Value::Number(number), "") => number.to_string(),
        (_, "count") => count(whole()),
        (_, "ns") => time(value.as_f64()?),
        (_, "us") => time(value.as_f64()? * 1e3),
        (_, "exact") => exact_time(value.as_i64()?),
        (_, "hundredths") => format!("{:.2}", value.as_f64()?),
        (_, "seconds") => format!("{:.1}", value.as_f64()? / 1e9),
        (_, "mv") => (value.as_f64()? / 1e3).to_string(),
        (_, "size") if value.is_f64() => format!("{:.1}", value.as_f64()?.abs()),
        (_, "size") => time(value.as_f64()?.abs()),
        (_, "share") => share(value.as_f64()?),
        (_, "hex") => format!("{:#x}", whole()),
        (_, "mhz") => (value.as_f64()? / 1e6).to_string(),
        (_, "mib") => whole().div_ceil(1 << 20).to_string(),
        (_, "often") if whole() == 1 => "once".into(),
        (_, "often") => format!("{} times", count(whole())),
        (_, thing) => plural(whole(), thing),
    })
}

/// Number of items of a list, of CPUs of a set, or the number itself.
fn item_count(value: &Value) -> usize {
    match value {
        Value::Array(names) => names.len(),
        Value::String(cpus) => cpus.parse::<CpuSet>().map_or(0, |cpus| cpus.len()),
        number => number.as_u64().unwrap_or_default() as usize,
    }
}

/// Fills in each `{name:form}`; of a part `[known||other]`, `known` if all its quantities are.
pub(crate) fn fill_template(text: &str, quantity: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let Some((before, rest)) = text.split_once('[') else { return substitute(text, quantity).0 };
    let (part, after) = rest.split_once(']').unwrap_or((rest, ""));
    let (known, unknown) = part.split_once("||").unwrap_or((part, ""));
    let part = match substitute(known, quantity) {
        (part, true) => part,
        _ => substitute(unknown, quantity).0,
    };
    format!("{}{part}{}", substitute(before, quantity).0, fill_template(after, quantity))
}

/// Text with its quantities filled in, and true if all of them are known.
fn substitute(text: &str, quantity: &dyn Fn(&str, &str) -> Option<String>) -> (String, bool) {
    let (mut out, mut rest, mut is_known) = (String::new(), text, true);
    while let Some((before, (placeholder, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let (name, form) = placeholder.split_once(':').unwrap_or((placeholder, ""));
        out += before;
        let found = quantity(name, form);
        is_known &= found.is_some();
        out += &found.unwrap_or_else(|| format!("{{{placeholder}}}"));
        rest = after;
    }
    (out + rest, is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_and_quantities_have_their_forms() {
        fn texts(value: &toml::Value) -> usize {
            value.as_table().map_or(usize::from(value.is_str()), |table| table.values().map(texts).sum())
        }
        let read = |(_, file): (&str, &str)| texts(&toml::Value::Table(file.parse().unwrap()));
        assert_eq!(
            FILES.map(read).iter().sum::<usize>(),
            TABLES.values().map(BTreeMap::len).sum::<usize>(),
            "a word is there twice"
        );
        let quantities = event_fields(&serde_json::json!({
            "n": 1, "ns": 5_000, "so": true, "none": null, "all": ["a", "b"], "chore": "watchdogs"
        }));
        let text = "{n:time}, {n:?is/are}[, {none}][ and {none}||, nothing], {so:yes|no}, {ns:ns}, {all:list}, {chore:chore}, {other}";
        let filled = fill_template(text, &|name, form| format_quantity(quantities.get(name)?, form));
        assert_eq!(filled, "1 time, is, nothing, yes, 5 µs, a and b, watchdogs, {other}");
    }

    /// Variants of an enum, as its source has them, that have no words in a table.
    fn lacking(source: &str, name: &str, table: &str) -> Vec<String> {
        let body =
            source.split_once(&format!("pub enum {name} {{\n")).unwrap().1.split_once("\n}").unwrap().0;
        let lines = body.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
        let variants = lines.filter_map(|line| line.trim().split(['{', '(', ',', ' ']).next());
        let variants = variants.filter(|name| name.starts_with(char::is_uppercase));
        let kebab = |name: &str| {
            let mut id = String::new();
            for c in name.chars() {
                if c.is_uppercase() && !id.is_empty() {
                    id.push('-');
                }
                id.extend(c.to_lowercase());
            }
            id
        };
        variants.map(kebab).filter(|id| entry(table, id).is_none()).collect()
    }

    #[test]
    fn every_event_has_its_words() {
        let warnings = include_str!("../../model/src/warning.rs");
        let in_words = ["isolated", "devices", "kernel", "interrupt-entries", "firmware"];
        let in_words = [&in_words[..], &["contradiction", "listed-late", "traced", "other"]].concat();
        assert_eq!(lacking(warnings, "Warning", "warning"), in_words);
        let caveats = include_str!("../../analysis/src/caveats.rs");
        assert_eq!(lacking(caveats, "Caveat", "caveat"), ["overloaded", "machine", "no-load"]);
    }
}
