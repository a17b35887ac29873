//! Statements of a document in words, with their verdicts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::paper::Paper;
use crate::statement::{Evidence, StatementVerdict, Values};
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_report::matrix::observation;
use jitterlab_report::section::Piece;
use jitterlab_report::words::{count, share, time};

/// A statement of a document, tested on the measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tested {
    /// The item of the document with the statement.
    pub item: String,
    pub says: String,
    pub standing: StatementVerdict,
    /// The numbers that decide, in words.
    pub numbers: String,
    pub values: BTreeMap<&'static str, Values>,
}

/// The statements of a document that there is evidence on.
pub fn tested(paper: Paper, all: Vec<Evidence>) -> Vec<Tested> {
    let statements = paper.statements();
    let one = |evidence: Evidence| {
        let statement = statements.iter().find(|statement| statement.name == evidence.statement)?;
        Some(Tested {
            item: statement.item().into(),
            says: filled(&statement.says, &evidence.values),
            standing: statement.verdict(&evidence),
            numbers: filled(&statement.numbers, &evidence.values),
            values: evidence.values,
        })
    };
    all.into_iter().filter_map(one).collect()
}

/// Statements as a table.
pub(super) fn table(caption: &str, all: &[&Tested]) -> Piece {
    Piece::table(
        caption,
        &["the document says", "here", "numbers that decide"],
        all.iter().map(|of| vec![of.says.clone(), standing(of.standing).into(), of.numbers.clone()]),
    )
}

pub(super) fn standing(standing: StatementVerdict) -> &'static str {
    match standing {
        StatementVerdict::Holds => "holds",
        StatementVerdict::DoesNotHold => "DOES NOT HOLD",
        StatementVerdict::CannotBeTold => "cannot be told",
    }
}

pub(super) fn outcome(tested: &Tested) -> String {
    format!("{}: {} ({})", tested.says, standing(tested.standing), tested.numbers)
}

/// A text whose `{name}` and `{name:kind}` are replaced by the values of that name.
fn filled(text: &str, values: &BTreeMap<&'static str, Values>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (field, after))) =
        rest.split_once('{').and_then(|(before, behind)| Some((before, behind.split_once('}')?)))
    {
        out.push_str(before);
        let (name, kind) = field.split_once(':').unwrap_or((field, ""));
        out.push_str(&values.get(name).map_or_else(|| "unknown".into(), |values| shown(values, kind)));
        rest = after;
    }
    out + rest
}

/// Values of one kind for a sentence: `1 us, unknown, 3 us`.
fn shown(values: &Values, kind: &str) -> String {
    let unknown = || "unknown".to_owned();
    match values {
        Values::Exact(all) => {
            let each = all.iter().map(|value| value.map_or_else(unknown, |value| number(value, kind)));
            each.collect::<Vec<_>>().join(", ")
        }
        Values::Medians(all) => {
            let each = all.iter().map(|of| of.as_ref().map_or_else(unknown, |of| median(of, kind)));
            each.collect::<Vec<_>>().join(", ")
        }
        Values::Observed(of) => {
            of.as_ref().as_ref().map_or_else(|| "nothing was measured".into(), |of| observation("here:", of))
        }
        Values::Printed(lines) => {
            lines.as_ref().map_or_else(|| "nothing: it does not compile".into(), |lines| lines.join(" "))
        }
        Values::Text(text) => text.clone(),
    }
}

fn median(of: &MedianInterval, kind: &str) -> String {
    if of.median.is_infinite() {
        return "an unbounded amount".into();
    }
    let middle = number(of.median, kind);
    match of.interval {
        Some((low, high)) => format!("{middle} ({} to {})", number(low, kind), number(high, kind)),
        None => format!("{middle} (no interval)"),
    }
}

fn number(value: f64, kind: &str) -> String {
    match kind {
        "time" => time(value),
        "ms" => format!("{:.4}", value / 1e6),
        "us4" => format!("{:.4}", value / 1e3),
        "share" => share(value),
        "count" => count(value as u64),
        "factor" => format!("{value:.2}"),
        "tenth" => format!("{value:.1}"),
        "percent4" => format!("{value:.4}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_filled_with_its_values_and_says_what_is_unknown() {
        let interval = |of| Some(MedianInterval { median: 2.0, interval: of });
        let values: BTreeMap<&'static str, Values> = [
            ("sds", vec![Some(21e3), None].into()),
            ("growth", vec![None, interval(Some((1.0, 3.0))), interval(None)].into()),
            ("system", Values::Text("evl".into())),
        ]
        .into();
        assert_eq!(
            filled("{system}: {sds:time}; {growth:factor}, {none:ms} ms, 1.05 or not", &values),
            "evl: 21 µs, unknown; unknown, 2.00 (1.00 to 3.00), 2.00 (no interval), unknown ms, 1.05 or not"
        );
    }

    #[test]
    fn the_texts_of_all_statements_name_kinds_that_there_are() {
        let kinds = ["time", "ms", "us4", "share", "count", "factor", "tenth", "percent4", "number"];
        for paper in Paper::ALL {
            for statement in paper.statements() {
                for field in statement.numbers.split('{').skip(1) {
                    let (field, _) = field.split_once('}').unwrap();
                    let kind = field.split_once(':').map(|(_, kind)| kind);
                    assert!(kind.is_none_or(|kind| kinds.contains(&kind)), "{field}");
                }
            }
        }
    }
}
