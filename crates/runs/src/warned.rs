//! A value that is available only with its warnings.

use jitterlab_model::Warning;

/// A value read from a run, with the warnings for its reader.
///
/// The value is available only together with the warnings ([`Warned::into_parts`]), so that leaving them out takes a
/// decision at the place where it is done.
///
/// ```
/// use jitterlab_model::Warning;
/// use jitterlab_runs::Warned;
///
/// let (latency_us, warnings) = Warned::new(41, vec![Warning::StillRecording]).into_parts();
/// assert_eq!((latency_us, warnings.len()), (41, 1));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Warned<T> {
    value: T,
    warnings: Vec<Warning>,
}

impl<T> Warned<T> {
    /// Joins a value with its warnings, the gravest first.
    pub fn new(value: T, warnings: Vec<Warning>) -> Self {
        Warned { value, warnings }
    }

    /// Returns the value and the warnings.
    pub fn into_parts(self) -> (T, Vec<Warning>) {
        (self.value, self.warnings)
    }

    /// Changes the value and keeps the warnings.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Warned<U> {
        Warned { value: change(self.value), warnings: self.warnings }
    }
}
