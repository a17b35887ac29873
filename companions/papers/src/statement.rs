//! Statements of the source documents, the numbers that they speak of, the verdict, which is whether those that decide lie within
//! the statement's limits, and all of it in words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::values::fill_fields;

/// A statement as the data file of its document has it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub name: String,
    /// The document's item that it belongs to, where that has another name.
    #[serde(default)]
    item: Option<String>,
    /// The statement in words, with the names of values in braces.
    pub says: String,
    /// The numbers in words, with the names and kinds of values in braces.
    pub numbers: String,
    /// The document's own numbers, where they decide it; and the one of them that does.
    #[serde(default)]
    pub printed: Value,
    #[serde(default)]
    pub decides: String,
    above: Option<f64>,
    below: Option<f64>,
    /// Limits that the deciding values lie between, both included.
    between: Option<[f64; 2]>,
}

/// Verdict on a statement of a document, the gravest first: of several statements together it is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementVerdict {
    DoesNotHold,
    /// The measurement does not decide it.
    CannotBeTold,
    Holds,
}

impl StatementVerdict {
    pub const ALL: [Self; 3] = [Self::DoesNotHold, Self::CannotBeTold, Self::Holds];

    /// Verdict from whether a statement holds; `CannotBeTold` where that is open.
    fn from_answer(holds: Option<bool>) -> Self {
        match holds {
            Some(false) => Self::DoesNotHold,
            None => Self::CannotBeTold,
            Some(true) => Self::Holds,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            StatementVerdict::Holds => "holds",
            StatementVerdict::DoesNotHold => "DOES NOT HOLD",
            StatementVerdict::CannotBeTold => "cannot be told",
        }
    }
}

/// The numbers of a statement, and those that decide it. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Name of the statement in its document's data.
    pub statement: &'static str,
    pub values: Value,
    /// Numbers and medians that the statement's limits decide, or an answer that was found otherwise.
    deciding_values: Value,
}

impl Evidence {
    /// Creates evidence from these values, of which the one named `decides` decides.
    pub fn new(statement: &'static str, decides: &str, values: Value) -> Self {
        Evidence { statement, deciding_values: values[decides].clone(), values }
    }
}

impl Statement {
    pub fn item(&self) -> &str {
        self.item.as_deref().unwrap_or(&self.name)
    }

    /// Verdict on the statement: it holds if all deciding values do, and does not if one does not.
    pub fn verdict(&self, evidence: &Evidence) -> StatementVerdict {
        self.gravest_verdict(&evidence.deciding_values).unwrap_or(StatementVerdict::CannotBeTold)
    }

    /// The gravest verdict of these values; `None` if there are none.
    fn gravest_verdict(&self, value: &Value) -> Option<StatementVerdict> {
        let is_within = match value {
            Value::Bool(answer) => Some(*answer),
            Value::Array(all) => return all.iter().filter_map(|one| self.gravest_verdict(one)).min(),
            Value::Object(_) => {
                let [low, high] = [0, 1].map(|end| value["interval"][end].as_f64());
                low.zip(high).and_then(|(low, high)| self.within_limits(low, high))
            }
            value => value.as_f64().and_then(|value| self.within_limits(value, value)),
        };
        Some(StatementVerdict::from_answer(is_within))
    }

    /// True if the whole interval is within the statement's limits, false if it is outside, `None` if it crosses one.
    fn within_limits(&self, low: f64, high: f64) -> Option<bool> {
        let is_within = self.above.is_none_or(|limit| low > limit)
            && self.below.is_none_or(|limit| high < limit)
            && self.between.is_none_or(|[from, to]| low >= from && high <= to);
        let is_outside = self.above.is_some_and(|limit| high <= limit)
            || self.below.is_some_and(|limit| low >= limit)
            || self.between.is_some_and(|[from, to]| high < from || low > to);
        (is_within || is_outside).then_some(is_within)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestedStatement {
    /// The item of the document with the statement.
    pub item: String,
    pub says: String,
    #[serde(rename = "standing")]
    pub verdict: StatementVerdict,
    pub numbers: String,
    pub values: Value,
}

impl TestedStatement {
    /// Tests the statement that the evidence is on; `None` if it is none of these.
    pub fn new(statements: &[Statement], evidence: Evidence) -> Option<Self> {
        let statement = statements.iter().find(|statement| statement.name == evidence.statement)?;
        let standing = statement.verdict(&evidence);
        let values = evidence.values;
        let [says, numbers] = [&statement.says, &statement.numbers].map(|text| fill_fields(text, &values));
        Some(TestedStatement { item: statement.item().into(), says, verdict: standing, numbers, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use clap::ValueEnum as _;
    use jitterlab_analysis::median_interval::MedianInterval;
    use serde_json::json;

    fn median(low: f64, high: f64) -> Option<MedianInterval> {
        Some(MedianInterval { median: f64::midpoint(low, high), interval: Some((low, high)) })
    }

    fn holds(statement: &Statement, values: impl Serialize) -> Option<bool> {
        match statement.verdict(&Evidence::new("", "of", json!({ "of": values }))) {
            StatementVerdict::Holds => Some(true),
            StatementVerdict::DoesNotHold => Some(false),
            StatementVerdict::CannotBeTold => None,
        }
    }

    #[test]
    fn a_factor_whose_interval_holds_1_is_left_open() {
        let grows = Statement { above: Some(1.0), ..Statement::default() };
        assert_eq!(holds(&grows, median(0.7, 1.8)), None);
        assert_eq!(holds(&grows, [median(2.0, 2.0), median(0.7, 1.8)]), None);
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
