//! Words and sentences by the name of what they are about, from `dictionary.toml`.
//!
//! In a sentence `{name}` is replaced by the quantity of that name, `{name:form}` by the quantity in another form
//! than its own; a part in brackets is left out if one of its quantities is unknown.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::words::{count, exact, plural, share, time};

const TEXT: &str = include_str!("dictionary.toml");

/// Tables of words. A file that cannot be read leaves names in place of words; a test reads it.
static TABLES: LazyLock<BTreeMap<String, BTreeMap<String, String>>> =
    LazyLock::new(|| toml::from_str(TEXT).unwrap_or_default());

/// The words of this name in a table.
pub fn word(table: &str, name: &str) -> Option<&'static str> {
    TABLES.get(table)?.get(name).map(String::as_str)
}

/// The words for a value that is written as a name.
pub(crate) fn named(table: &str, value: &impl Serialize) -> &'static str {
    let name = serde_json::to_value(value).unwrap_or_default();
    name.as_str().and_then(|name| word(table, name)).unwrap_or("unknown")
}

/// The quantities of an event: its fields.
pub(crate) fn fields(event: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(event) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The name of an event: the field that tells its kind.
pub(crate) fn tag<'a>(fields: &'a Map<String, Value>, kind: &str) -> &'a str {
    fields.get(kind).and_then(Value::as_str).unwrap_or("unknown")
}

/// The sentence of this name with its quantities.
pub(crate) fn sentence(table: &str, name: &str, quantities: &Map<String, Value>) -> String {
    filled(word(table, name).unwrap_or(name), &|name, form| shown(quantities.get(name)?, form))
}

fn shown(value: &Value, form: &str) -> Option<String> {
    let whole = || value.as_u64().unwrap_or_default();
    Some(match (value, form) {
        (Value::Null, _) => return None,
        (Value::Bool(so), words) => {
            let (yes, no) = words.split_once('|')?;
            if *so { yes.into() } else { no.into() }
        }
        (Value::String(text), "") => text.clone(),
        (Value::String(name), table) => word(table, name).unwrap_or(name).into(),
        (Value::Number(number), "") => number.to_string(),
        (_, "count") => count(whole()),
        (_, "ns") => time(value.as_f64()?),
        (_, "exact") => exact(value.as_i64()?),
        (_, "share") => share(value.as_f64()?),
        (_, "hex") => format!("{:#x}", whole()),
        (_, "mhz") => (value.as_f64()? / 1e6).to_string(),
        (_, "mib") => whole().div_ceil(1 << 20).to_string(),
        (_, "often") if whole() == 1 => "once".into(),
        (_, "often") => format!("{} times", count(whole())),
        (_, thing) => plural(whole(), thing),
    })
}

/// A text with its quantities, each by its name and form; where one is unknown, its name stays.
pub(crate) fn filled(text: &str, quantity: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let Some((before, rest)) = text.split_once('[') else { return substituted(text, quantity).0 };
    let (part, after) = rest.split_once(']').unwrap_or((rest, ""));
    let (part, is_known) = substituted(part, quantity);
    let part = if is_known { part.as_str() } else { "" };
    format!("{}{part}{}", substituted(before, quantity).0, filled(after, quantity))
}

fn substituted(text: &str, quantity: &dyn Fn(&str, &str) -> Option<String>) -> (String, bool) {
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
    fn the_file_is_read_and_quantities_have_their_forms() {
        let tables: BTreeMap<String, BTreeMap<String, String>> = toml::from_str(TEXT).unwrap();
        assert!(tables.len() > 5);
        let quantities = fields(&serde_json::json!({ "n": 1, "ns": 5_000, "so": true, "none": null }));
        let text = "{n:time}, {n:often}[, {none}], {so:yes|no}, {ns:ns}, {ns:hex}, {other}";
        let filled = filled(text, &|name, form| shown(quantities.get(name)?, form));
        assert_eq!(filled, "1 time, once, yes, 5 µs, 0x1388, {other}");
    }
}
