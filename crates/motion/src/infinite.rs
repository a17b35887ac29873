//! Numbers that may be infinite, in JSON: infinity (an unstable loop's cost, the share of a torque that is
//! used up) is written as `null` and read back as infinity.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

// A finite number is written as itself, an infinite one as `null`. (As a doc comment, this would replace the
// number's own description in the schema.)
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Option<f64>"))]
pub(crate) enum Infinite {}

impl Infinite {
    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}

// The same for a list of them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Vec<Option<f64>>"))]
pub(crate) enum Infinites {}

impl Infinites {
    pub(crate) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|v| v.is_finite().then_some(*v)))
    }
}
