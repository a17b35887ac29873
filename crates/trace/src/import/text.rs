//! Small helpers for reading columns of numbers.

use std::iter;

use memchr::memchr;
use serde::de::DeserializeOwned;

use super::ImportError;
use crate::error::Unreadable;

/// Parts of a text between separator bytes (characters of ASCII). Long outputs are read byte by byte:
/// searching for characters takes several times as long in a build for size.
pub(super) fn split_at_byte(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let text = rest?;
        let end = memchr(separator, text.as_bytes());
        rest = end.map(|at| &text[at + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// Lines with their blanks, without an empty one at the end.
pub(super) fn untrimmed_lines(text: &str) -> impl Iterator<Item = &str> {
    let ended = text.strip_suffix('\n').unwrap_or(text);
    split_at_byte(ended, b'\n').take(if text.is_empty() { 0 } else { usize::MAX })
}

/// The lines with their numbers, counted from 1, without surrounding blanks.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    untrimmed_lines(text).zip(1..).map(|(line, number)| (number, line.trim_ascii()))
}

/// Error if a second line `begins` a measurement: its counts would be added to the first, or lost.
pub(super) fn check_single_measurement(text: &str, begins: impl Fn(&str) -> bool) -> Result<(), ImportError> {
    match lines(text).filter(|(_, line)| begins(line)).nth(1) {
        Some((line, _)) => Err(Unreadable::SecondMeasurement.at_line(line)),
        None => Ok(()),
    }
}

/// Parses a text of JSON; anything behind the value is an error.
pub(super) fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, ImportError> {
    let mut values = serde_json::Deserializer::from_slice(text.as_bytes()).into_iter::<T>();
    let first = values.next().ok_or(Unreadable::Nothing)??;
    let (read, rest) = text.split_at(values.byte_offset());
    match rest.find(|c: char| !c.is_whitespace()) {
        Some(at) => Err(Unreadable::SecondMeasurement
            .at_line(1 + (read.matches('\n').count() + rest[..at].matches('\n').count()))),
        None => Ok(first),
    }
}

/// All blank-separated words of a line as numbers; `None` if one is not.
pub(super) fn numbers<T: std::str::FromStr>(line: &str) -> Option<Vec<T>> {
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// Reads the words of a line as numbers; any other word is an error in the file.
pub(super) fn expect_numbers<T: std::str::FromStr>(line: usize, text: &str) -> Result<Vec<T>, ImportError> {
    numbers(text).ok_or_else(|| Unreadable::unexpected(text, "a row of numbers").at_line(line))
}

/// The longest time any output may plausibly hold: 73 years, since some count from 1970. Differences and sums of such fit
/// into i64.
const LONGEST_NS: i64 = i64::MAX / 4;

/// A time in microseconds as whole nanoseconds, within +-73 years.
pub(super) fn us(value: f64) -> i64 {
    ((value * 1_000.0).round() as i64).clamp(-LONGEST_NS, LONGEST_NS)
}

/// Nanoseconds of a decimal number of a unit, cut below one; `None` if it is none, or beyond +-73 years.
pub(super) fn decimal_ns(text: &str, unit_ns: i64) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let (mut whole, mut fraction, mut decimals, mut has_point) = (0i64, 0, 0, false);
    for &byte in digits {
        let digit = i64::from(byte.wrapping_sub(b'0'));
        match byte {
            // Beyond 9 digits of a second nothing is left of a nanosecond.
            b'0'..=b'9' if decimals == 9 => {}
            b'0'..=b'9' if has_point => (fraction, decimals) = (10 * fraction + digit, decimals + 1),
            b'0'..=b'9' => whole = whole.saturating_mul(10).saturating_add(digit),
            b'.' if !has_point && digits.len() > 1 => has_point = true,
            _ => return float_to_ns(text, unit_ns),
        }
    }
    if digits.is_empty() {
        return None;
    }
    let part = fraction.saturating_mul(unit_ns) / 10i64.pow(decimals);
    let value = whole.checked_mul(unit_ns)?.checked_add(part).filter(|value| *value <= LONGEST_NS)?;
    Some(if negative { -value } else { value })
}

fn float_to_ns(text: &str, unit_ns: i64) -> Option<i64> {
    let value = text.parse::<f64>().ok()? * unit_ns as f64;
    (value.abs() <= LONGEST_NS as f64).then_some(value.round() as i64)
}

/// Nanoseconds of a value in a unit, limited to +-73 years.
pub(super) fn clamped_ns(value: i64, unit_ns: i64) -> i64 {
    value.saturating_mul(unit_ns).clamp(-LONGEST_NS, LONGEST_NS)
}

/// The number that follows a name in a line, with blanks or a colon between them: 41 after `Max` in `Avg 8, Max   41`.
pub(super) fn number_after(line: &str, name: &str) -> Option<f64> {
    let (_, rest) = line.split_once(name)?;
    let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e');
    let rest = rest.trim_start_matches([' ', '\t', ':']);
    rest.split(|c| !number(c)).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_nanosecond() {
        let read = |text| decimal_ns(text, 1_000_000_000);
        assert_eq!(read("1700000000.123456789"), Some(1_700_000_000_123_456_789));
        assert_eq!(
            (read("-.5"), read("+2."), read("1e-3")),
            (Some(-500_000_000), Some(2_000_000_000), Some(1_000_000))
        );
        assert_eq!(decimal_ns("0.1234567891", 1_000), Some(123));
        assert_eq!(read("00000000000000000000001e1"), Some(10_000_000_000));
        for text in ["", ".", "-", "x", "1.2.3", "1e300", "99999999999999999999", "nan", "inf"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
