//! Small helpers for reading columns of numbers.

use super::Mistake;
use crate::error::{Unreadable, Wanted};

/// The lines with their numbers, counted from 1, without surrounding blanks.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().zip(1..).map(|(line, number)| (number, line.trim()))
}

/// All blank-separated words of a line as numbers; `None` if one is not.
pub(super) fn numbers<T: std::str::FromStr>(line: &str) -> Option<Vec<T>> {
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// The same, where anything else is a mistake in the file.
pub(super) fn expect_numbers<T: std::str::FromStr>(line: usize, text: &str) -> Result<Vec<T>, Mistake> {
    numbers(text).ok_or_else(|| Unreadable::not(text, Wanted::Numbers).at(line))
}

/// The longest time any output may plausibly hold: 36 years. Differences and sums of such fit into i64.
const LONGEST_NS: i64 = i64::MAX / 8;

/// A time in microseconds as whole nanoseconds, within +-36 years.
pub(super) fn us(value: f64) -> i64 {
    ((value * 1_000.0).round() as i64).clamp(-LONGEST_NS, LONGEST_NS)
}

/// A number in a unit as nanoseconds, within +-36 years.
pub(super) fn ns(value: i64, unit_ns: i64) -> i64 {
    value.saturating_mul(unit_ns).clamp(-LONGEST_NS, LONGEST_NS)
}

/// The word after `key` in a line, such as 1000 after `-i` in `cyclictest -q -i 1000`.
pub(super) fn word_after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    words.find(|w| *w == key)?;
    words.next()
}
