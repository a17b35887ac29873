//! Fitness for a purpose.

use serde::{Deserialize, Serialize};

/// Fitness for a purpose: the verdict of every command that judges, from the best to the worst.
///
/// ```
/// # use jitterlab_model::Fitness;
/// let parts = [Fitness::Good, Fitness::CannotTell, Fitness::Limited];
/// assert_eq!(parts.into_iter().max(), Some(Fitness::CannotTell));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// It serves the purpose as far as was tested.
    Good,
    /// It serves the purpose with a restriction that is named.
    Limited,
    /// The measurement does not suffice, or the source lacks the deciding figure.
    CannotTell,
    /// It does not serve the purpose.
    Unfit,
}
