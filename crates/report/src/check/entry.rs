//! Texts of one check.

/// The words of one check.
pub(super) struct Words {
    /// The check they are for.
    pub id: &'static str,
    /// Object of the check.
    pub title: &'static str,
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// Sentences for its possible findings.
    pub found: &'static [(&'static str, &'static str)],
    /// Sentences for its possible advice.
    pub advice: &'static [(&'static str, &'static str)],
}
