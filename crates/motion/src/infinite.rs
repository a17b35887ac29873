//! Numbers that may have no end, in JSON: `null` stands for what is infinite (an unstable loop's cost, the share of a
//! torque of which nothing is left), and is read back as infinity.

use serde::{Deserialize as _, Deserializer, Serialize, Serializer};

/// A number, or `null`.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

/// A number, or infinity for `null`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// The same for a list of them.
pub mod list {
    use super::{Deserializer, Serializer};
    use serde::Deserialize as _;

    /// Numbers, or `null`.
    pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|v| v.is_finite().then_some(*v)))
    }

    /// Numbers, or infinity for `null`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f64::INFINITY)).collect())
    }
}
