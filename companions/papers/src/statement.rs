//! Statements of the source documents, the numbers that they speak of, the verdict, which is whether those that decide lie within
//! the statement's limits, and all of it in words.

use std::collections::BTreeMap;

use jitterlab_analysis::matrix::Observation;
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_report::matrix::observation;
use jitterlab_report::words::{count, share, time};
use serde::{Deserialize, Serialize};

/// A statement as the data file of its document has it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub name: String,
    /// The document's item that it belongs to, where that has another name.
    #[serde(default)]
    item: Option<String>,
    /// Its words, with the names of values in braces.
    pub says: String,
    /// The numbers in words, with the names and kinds of values in braces.
    pub numbers: String,
    /// It holds above this value.
    above: Option<f64>,
    /// It holds below this value.
    below: Option<f64>,
    /// It holds from the first to the second value, both included.
    between: Option<[f64; 2]>,
}

/// Verdict on a statement of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementVerdict {
    Holds,
    DoesNotHold,
    /// The measurement does not decide it.
    CannotBeTold,
}

impl StatementVerdict {
    /// Of a statement that holds or not; `None` where a number that decides it is unknown.
    fn new(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => StatementVerdict::Holds,
            Some(false) => StatementVerdict::DoesNotHold,
            None => StatementVerdict::CannotBeTold,
        }
    }

    /// Of both statements together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (StatementVerdict::Holds, other) | (other, StatementVerdict::Holds) => other,
            (StatementVerdict::CannotBeTold, StatementVerdict::CannotBeTold) => self,
            _ => StatementVerdict::DoesNotHold,
        }
    }

    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            StatementVerdict::Holds => "holds",
            StatementVerdict::DoesNotHold => "DOES NOT HOLD",
            StatementVerdict::CannotBeTold => "cannot be told",
        }
    }
}

/// Values of the same kind, one for each measurement. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Values {
    Exact(Vec<Option<f64>>),
    Medians(Vec<Option<MedianInterval>>),
    /// An answer of the experiment with pairs of CPUs.
    Observed(Box<Option<Observation>>),
    /// Lines that a program prints; `None` if it does not compile.
    Printed(Option<Vec<String>>),
    Text(String),
}

impl From<f64> for Values {
    fn from(value: f64) -> Self {
        Some(value).into()
    }
}

impl From<Option<f64>> for Values {
    fn from(value: Option<f64>) -> Self {
        vec![value].into()
    }
}

impl From<Vec<Option<f64>>> for Values {
    fn from(values: Vec<Option<f64>>) -> Self {
        Values::Exact(values)
    }
}

impl From<Option<MedianInterval>> for Values {
    fn from(median: Option<MedianInterval>) -> Self {
        vec![median].into()
    }
}

impl From<Vec<Option<MedianInterval>>> for Values {
    fn from(medians: Vec<Option<MedianInterval>>) -> Self {
        Values::Medians(medians)
    }
}

impl Values {
    /// Bounds of each; `None` where they are unknown.
    fn bounds(&self) -> Vec<Option<(f64, f64)>> {
        match self {
            Values::Exact(values) => values.iter().map(|value| value.map(|value| (value, value))).collect(),
            Values::Medians(all) => all.iter().map(|one| one.as_ref()?.interval).collect(),
            Values::Observed(_) | Values::Printed(_) | Values::Text(_) => Vec::new(),
        }
    }

    /// For a sentence, numbers as those of one kind: `1 us, unknown, 3 us`.
    fn words(&self, kind: &str) -> String {
        let each: Vec<Option<String>> = match self {
            Values::Exact(all) => all.iter().map(|value| Some(number((*value)?, kind))).collect(),
            Values::Medians(all) => all.iter().map(|of| Some(median(of.as_ref()?, kind))).collect(),
            Values::Observed(of) => vec![Some(match of.as_ref() {
                Some(of) => observation("", of).trim_start().into(),
                None => "nothing was measured".into(),
            })],
            Values::Printed(lines) => {
                vec![Some(lines.as_ref().map_or("nothing: not compiled".into(), |lines| lines.join(" ")))]
            }
            Values::Text(text) => vec![Some(text.clone())],
        };
        let known = each.into_iter().map(|words| words.unwrap_or_else(|| "unknown".into()));
        known.collect::<Vec<_>>().join(", ")
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

/// The numbers of a statement, and those that decide it.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Name of the statement in its document's data.
    pub statement: &'static str,
    pub values: BTreeMap<&'static str, Values>,
    decides: Deciding,
}

#[derive(Debug, Clone, PartialEq)]
enum Deciding {
    /// These values, by the statement's limits.
    Values(Values),
    /// An answer that was found otherwise.
    Answer(Option<bool>),
}

impl Evidence {
    /// Values that decide the statement of this name, shown as `shown`.
    pub fn decided_by(statement: &'static str, shown: &'static str, values: impl Into<Values>) -> Self {
        let values = values.into();
        let decides = Deciding::Values(values.clone());
        Evidence { statement, values: BTreeMap::new(), decides }.and(shown, values)
    }

    /// An answer to the statement of this name; `None` if it cannot be told.
    pub fn answered(statement: &'static str, holds: Option<bool>) -> Self {
        Evidence { statement, values: BTreeMap::new(), decides: Deciding::Answer(holds) }
    }

    /// The same with further values to show.
    #[must_use]
    pub fn and(mut self, name: &'static str, values: impl Into<Values>) -> Self {
        self.values.insert(name, values.into());
        self
    }

    /// The same with the name of the system that the statement is about.
    #[must_use]
    pub fn of_system(self, name: &str) -> Self {
        self.and("system", Values::Text(name.into()))
    }
}

impl Statement {
    /// The document's item that it belongs to.
    pub fn item(&self) -> &str {
        self.item.as_deref().unwrap_or(&self.name)
    }

    /// Its verdict: it holds if all deciding values do, and does not if one does not.
    pub fn verdict(&self, evidence: &Evidence) -> StatementVerdict {
        let bounds = match &evidence.decides {
            Deciding::Answer(holds) => return StatementVerdict::new(*holds),
            Deciding::Values(values) => values.bounds(),
        };
        let fails = bounds.iter().flatten().any(|of| self.rules_out(*of));
        let holds = !bounds.is_empty() && bounds.iter().all(|of| of.is_some_and(|of| self.allows(of)));
        StatementVerdict::new(if fails { Some(false) } else { holds.then_some(true) })
    }

    /// True if every value in these bounds is within the limits.
    fn allows(&self, (low, high): (f64, f64)) -> bool {
        self.above.is_none_or(|limit| low > limit)
            && self.below.is_none_or(|limit| high < limit)
            && self.between.is_none_or(|[from, to]| low >= from && high <= to)
    }

    /// True if no value in these bounds is within the limits.
    fn rules_out(&self, (low, high): (f64, f64)) -> bool {
        self.above.is_some_and(|limit| high <= limit)
            || self.below.is_some_and(|limit| low >= limit)
            || self.between.is_some_and(|[from, to]| high < from || low > to)
    }
}

/// A statement of a document, tested.
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

impl Tested {
    /// The statement among these that there is evidence on.
    pub fn new(statements: &[Statement], evidence: Evidence) -> Option<Self> {
        let statement = statements.iter().find(|statement| statement.name == evidence.statement)?;
        Some(Tested {
            item: statement.item().into(),
            says: filled(&statement.says, &evidence.values),
            standing: statement.verdict(&evidence),
            numbers: filled(&statement.numbers, &evidence.values),
            values: evidence.values,
        })
    }
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
        out.push_str(&values.get(name).map_or_else(|| "unknown".into(), |values| values.words(kind)));
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use clap::ValueEnum as _;

    fn median(low: f64, high: f64) -> Option<MedianInterval> {
        Some(MedianInterval { median: f64::midpoint(low, high), interval: Some((low, high)) })
    }

    fn holds(statement: &Statement, values: impl Into<Values>) -> Option<bool> {
        match statement.verdict(&Evidence::decided_by("", "", values)) {
            StatementVerdict::Holds => Some(true),
            StatementVerdict::DoesNotHold => Some(false),
            StatementVerdict::CannotBeTold => None,
        }
    }

    #[test]
    fn a_factor_whose_interval_holds_1_is_left_open() {
        let grows = Statement { above: Some(1.0), ..Statement::default() };
        assert_eq!(holds(&grows, median(0.7, 1.8)), None);
        assert_eq!(holds(&grows, vec![median(2.0, 2.0), median(0.7, 1.8)]), None);
        assert_eq!(holds(&grows, vec![median(2.0, 2.0), median(3.0, 3.0)]), Some(true));
        assert_eq!(holds(&grows, vec![median(0.7, 1.8), median(0.9, 1.0)]), Some(false));
        assert_eq!(holds(&grows, Some(MedianInterval { median: 2.0, interval: None })), None);
        assert_eq!(holds(&grows, Vec::<Option<f64>>::new()), None);
        let less = Statement { below: Some(1.0), ..Statement::default() };
        assert_eq!([0.9, 1.0].map(|value| holds(&less, value)), [Some(true), Some(false)]);
    }

    #[test]
    fn a_change_is_small_where_all_of_its_interval_is() {
        let small = Statement { between: Some([-5.0, 5.0]), ..Statement::default() };
        assert_eq!(holds(&small, vec![median(2.0, 5.0), median(-2.0, -2.0)]), Some(true));
        assert_eq!(holds(&small, vec![median(2.0, 2.0), median(6.0, 6.0)]), Some(false));
        assert_eq!(holds(&small, median(-6.0, -5.5)), Some(false));
        assert_eq!(holds(&small, median(-2.0, 9.0)), None);
        assert_eq!(holds(&small, None::<f64>), None);
    }

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
        for paper in Paper::value_variants() {
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
