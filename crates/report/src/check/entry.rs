//! What there is to say of one check.

/// The words of one check.
pub(super) struct Words {
    /// The check they are for.
    pub id: &'static str,
    /// What it looks at.
    pub title: &'static str,
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// What may be found.
    pub found: &'static [(&'static str, &'static str)],
    /// What may be advised.
    pub advice: &'static [(&'static str, &'static str)],
}
