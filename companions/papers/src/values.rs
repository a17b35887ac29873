//! Values of results, as JSON has them, in texts of the documents' data: a field `{name:kind}` or `{of.name:kind}` is replaced by
//! the value of that name, in words of that kind.

use jitterlab_mcu::words::format_period;
use jitterlab_report::section::Cell;
use jitterlab_report::words::{count, exact_time, share, time};
use serde::Serialize;
use serde_json::Value;

/// Stands for a number without a bound: JSON has no infinity.
pub const UNBOUNDED: f64 = f64::MAX;

/// A result as JSON has it; null for one that JSON cannot hold.
pub fn to_json(of: impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// Replaces the fields of a text, such as `{name:kind}`, with these values.
pub fn fill_fields(text: &str, values: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (field, after))) =
        rest.split_once('{').and_then(|(before, behind)| Some((before, behind.split_once('}')?)))
    {
        let (value, kind) = find_field(field, values);
        out.push_str(before);
        out.push_str(&format_value(value, kind));
        rest = after;
    }
    out + rest
}

/// Fills a cell of a table. The value of a single field is left to the renderers where they know its kind.
pub fn fill_cell(text: &str, values: &Value) -> Cell {
    let field = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let Some(field) = field.filter(|field| !field.contains('}')) else {
        return fill_fields(text, values).into();
    };
    let (value, kind) = find_field(field, values);
    match (kind, value.as_f64()) {
        _ if value.is_null() => Cell::Nothing,
        ("time", Some(ns)) => Cell::time(ns),
        ("us", Some(us)) => Cell::time(us * 1e3),
        ("share", Some(share)) => Cell::Share(share),
        ("count", Some(number)) => Cell::Count(number.round() as u64),
        _ => format_value(value, kind).into(),
    }
}

/// The value of a field, null where there is none, and its kind.
fn find_field<'a>(field: &'a str, values: &'a Value) -> (&'a Value, &'a str) {
    let (path, kind) = field.split_once(':').unwrap_or((field, ""));
    (values.pointer(&format!("/{}", path.replace('.', "/"))).unwrap_or(&Value::Null), kind)
}

/// Formats a value, several one after the other, or a median with its interval: `1 µs, unknown, 3 µs (2 µs to 4 µs)`.
fn format_value(value: &Value, kind: &str) -> String {
    match value {
        Value::Null => "unknown".into(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(|one| format_value(one, kind)).collect::<Vec<_>>().join(", "),
        Value::Object(_) => match (&value["median"], &value["interval"]) {
            (middle, _) if middle.as_f64() == Some(UNBOUNDED) => "an unbounded amount".into(),
            (middle, Value::Null) => format!("{} (no interval)", format_value(middle, kind)),
            (middle, interval) => {
                let [low, high] = [0, 1].map(|end| format_value(&interval[end], kind));
                format!("{} ({low} to {high})", format_value(middle, kind))
            }
        },
        _ => format_number(value.as_f64().unwrap_or_default(), kind),
    }
}

fn format_number(value: f64, kind: &str) -> String {
    let digits = |digits: usize| format!("{value:.digits$}");
    match kind {
        "time" => time(value),
        "exact" => exact_time(value as i64),
        "period" => format_period(value as u32),
        "ms" => format!("{:.4}", value / 1e6),
        "us4" => format!("{:.4}", value / 1e3),
        "us3" => format!("{:.3}", value / 1e3),
        "share" => share(value),
        "percent1" => format!("{:.1}%", value * 100.0),
        "percent3" => format!("{:.3}%", value * 100.0),
        "count" => count(value as u64),
        "plain" => value.to_string(),
        "signed" => format_signed(value),
        "few" => jitterlab_mcu::words::format_number(value),
        "tenth" => digits(1),
        "factor" => digits(2),
        "percent4" => digits(4),
        _ => digits(kind.parse().unwrap_or(0)),
    }
}

/// Formats a difference with its sign and few digits.
fn format_signed(value: f64) -> String {
    match value.abs() {
        size if size < 0.005 => "0".into(),
        size if size < 99.995 => format!("{value:+.2}"),
        _ => format!("{value:+.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_filled_with_its_values_and_says_what_is_unknown() {
        let interval = |of: Option<(f64, f64)>| json!({"median": 2.0, "interval": of});
        let values = json!({
            "sds": [21e3, null],
            "growth": [null, interval(Some((1.0, 3.0))), interval(None)],
            "of": {"system": "evl", "end": {"median": UNBOUNDED, "interval": [1.0, UNBOUNDED]}},
        });
        assert_eq!(
            fill_fields(
                "{of.system}: {sds:time}; {growth:factor}, {none:ms} ms, 1.05 or not, {of.end:share}",
                &values
            ),
            "evl: 21 µs, unknown; unknown, 2.00 (1.00 to 3.00), 2.00 (no interval), unknown ms, 1.05 or not, an unbounded amount"
        );
    }

    #[test]
    fn a_field_alone_is_a_value_of_its_kind_in_a_table() {
        let values = json!({"ns": 1_500.0, "us": 1.5, "rounds": 1_000, "none": null, "error": -0.001});
        let cells =
            ["{ns:time}", "{us:us}", "{rounds:count}", "{none:time}", "{error:signed}", "{ns:us3} to {us:1}"];
        let text = |text: &str| Cell::Text(text.into());
        assert_eq!(
            cells.map(|text| fill_cell(text, &values)),
            [
                Cell::time(1_500.0),
                Cell::time(1_500.0),
                Cell::Count(1_000),
                Cell::Nothing,
                text("0"),
                text("1.500 to 1.5")
            ]
        );
    }
}
