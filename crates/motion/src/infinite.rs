//! Numbers that may have no end, in JSON: `null` stands for what is infinite (an unstable loop's cost, the share of a
//! torque of which nothing is left), and is read back as infinity.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

// How a number is written: itself, or `null`. (As documentation this would stand in the schema, in place of the number.)
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
