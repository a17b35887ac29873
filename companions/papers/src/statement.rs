//! Statements of the source documents, the numbers that they speak of, and the verdict: whether those that decide lie within
//! the statement's limits.

use std::collections::BTreeMap;

use jitterlab_analysis::matrix::Observation;
use jitterlab_analysis::median_interval::MedianInterval;
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
    pub fn new(holds: Option<bool>) -> Self {
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
            (StatementVerdict::DoesNotHold, _) | (_, StatementVerdict::DoesNotHold) => {
                StatementVerdict::DoesNotHold
            }
            (StatementVerdict::Holds, StatementVerdict::Holds) => StatementVerdict::Holds,
            _ => StatementVerdict::CannotBeTold,
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
    /// A name.
    Text(String),
}

impl From<f64> for Values {
    fn from(value: f64) -> Self {
        Values::Exact(vec![Some(value)])
    }
}

impl From<Option<f64>> for Values {
    fn from(value: Option<f64>) -> Self {
        Values::Exact(vec![value])
    }
}

impl From<Vec<Option<f64>>> for Values {
    fn from(values: Vec<Option<f64>>) -> Self {
        Values::Exact(values)
    }
}

impl From<Option<MedianInterval>> for Values {
    fn from(median: Option<MedianInterval>) -> Self {
        Values::Medians(vec![median])
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
