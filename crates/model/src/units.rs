//! Times and frequencies as people write them: `250us`, `1.5ms`, `1kHz`, `2h`.

use std::fmt;
use std::str::FromStr;

use crate::error::{CYCLES, Error, FREQUENCY_UNITS, PERIOD_UNITS, TIME_UNITS, invalid_value};

/// Nanoseconds in a time unit, or `None` for a unit that is not one.
fn ns_per(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" | "nsec" => 1,
        "us" | "µs" | "μs" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

/// A decimal number as written: `digits / 10^decimals`, exact.
struct Decimal {
    digits: i128,
    decimals: u32,
}

/// The case of a number without a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoUnit;

fn too_large_error(text: &str) -> Error {
    Error::bad_use(format!("{text:?} is too large: times are below 292 years"))
}

fn zero_period_error(text: &str) -> Error {
    Error::bad_use(format!("{text:?} gives a period of 0 ns: a period must be at least 1 ns"))
}

fn unknown_unit_error(text: &str, unit: &str, known: &str) -> Error {
    Error::bad_use(format!("{unit:?} in {text:?} is not a known unit")).remedy(format!("use {known}"))
}

/// Splits `1.5ms` into the exact number 1.5 and the unit `ms`.
fn split_unit(text: &str) -> Result<(Decimal, &str), Error> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let not_a_time = || {
        Error::bad_use(format!("{text:?} is not a time"))
            .remedy("write a number with a unit, such as 250us, 1.5ms or 1kHz")
    };
    let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
    if digits.is_empty() || fraction.contains('.') {
        return Err(not_a_time());
    }
    if digits.len() > 30 {
        return Err(too_large_error(text));
    }
    let decimals = fraction.chars().filter(char::is_ascii_digit).count() as u32;
    let digits = digits.parse().map_err(|_| not_a_time())?;
    Ok((Decimal { digits, decimals }, unit.trim()))
}

/// Reads a length of time with its unit (`ns us ms s m h d`) into nanoseconds.
///
/// ```
/// # use jitterlab_model::units::parse_duration_ns;
/// assert_eq!(parse_duration_ns("250us")?, 250_000);
/// assert_eq!(parse_duration_ns("1.5 ms")?, 1_500_000);
/// assert_eq!(parse_duration_ns("2m")?, 120_000_000_000);
/// assert!(parse_duration_ns("250").is_err());
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
///
/// # Errors
/// A missing or unknown unit, an invalid number, digits below a nanosecond, or more than 292 years.
/// A bare `0` needs no unit.
pub fn parse_duration_ns(text: &str) -> Result<i64, Error> {
    parse_ns(text, TIME_UNITS)
}

fn parse_ns(text: &str, known: &str) -> Result<i64, Error> {
    let (number, unit) = split_unit(text)?;
    if unit.is_empty() {
        let text = text.trim();
        let no_unit = || {
            Error::bad_use(format!("{text:?} has no unit (ns, us, ms, s, m, h or d)"))
                .remedy(format!("did you mean {text}us?"))
                .case(NoUnit)
        };
        return if number.digits == 0 { Ok(0) } else { Err(no_unit()) };
    }
    let per = ns_per(unit).ok_or_else(|| unknown_unit_error(text, unit, known))?;
    exact_ns(text, &number, per)
}

fn exact_ns(text: &str, number: &Decimal, per: i64) -> Result<i64, Error> {
    let scale = 10i128.pow(number.decimals);
    let scaled = number.digits.checked_mul(i128::from(per)).ok_or_else(|| too_large_error(text))?;
    if scaled % scale != 0 {
        return Err(Error::bad_use(format!(
            "{text:?} is finer than a nanosecond: times are whole nanoseconds"
        )));
    }
    i64::try_from(scaled / scale).map_err(|_| too_large_error(text))
}

/// Reads a period, as a time (`250us`) or as a rate (`4kHz`), into nanoseconds above zero.
///
/// ```
/// # use jitterlab_model::units::parse_period_ns;
/// assert_eq!(parse_period_ns("4kHz")?, 250_000);
/// assert_eq!(parse_period_ns("3Hz")?, 333_333_333); // rounded to the nearest nanosecond
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
///
/// # Errors
/// As [`parse_duration_ns`], and a period that is or rounds to zero.
pub fn parse_period_ns(text: &str) -> Result<i64, Error> {
    text.parse::<ExactPeriod>().map(ExactPeriod::rounded_ns)
}

/// A period as a fraction of nanoseconds, so that no rounding adds up: a third of a millisecond, 1023 cycles of 16 MHz.
///
/// ```
/// # use jitterlab_model::units::ExactPeriod;
/// let period: ExactPeriod = "1023/16MHz".parse()?;
/// assert_eq!((period.rounded_ns(), period.periods_ns(16)), (63_938, 1_023_000));
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactPeriod {
    numerator: i64,
    denominator: i64,
}

impl ExactPeriod {
    /// The nearest whole number of nanoseconds.
    #[must_use]
    pub fn rounded_ns(self) -> i64 {
        self.periods_ns(1)
    }

    /// Length of a number of periods, rounded to the nearest nanosecond.
    #[must_use]
    pub fn periods_ns(self, periods: i64) -> i64 {
        let [numerator, denominator] = [self.numerator, self.denominator].map(i128::from);
        (i128::from(periods) * numerator + denominator / 2).div_euclid(denominator) as i64
    }

    /// Number of whole periods in a length of time.
    #[must_use]
    pub fn whole_periods(self, ns: i64) -> i64 {
        (i128::from(ns) * i128::from(self.denominator)).div_euclid(i128::from(self.numerator)) as i64
    }

    /// Nanoseconds as a fraction: numerator and denominator.
    #[must_use]
    pub const fn fraction_ns(self) -> (i64, i64) {
        (self.numerator, self.denominator)
    }
}

impl From<i64> for ExactPeriod {
    /// Whole nanoseconds, at least one.
    fn from(ns: i64) -> Self {
        ExactPeriod { numerator: ns.max(1), denominator: 1 }
    }
}

impl FromStr for ExactPeriod {
    type Err = Error;

    /// Reads a time, a rate, or cycles of a clock (`1023/16MHz`).
    fn from_str(text: &str) -> Result<Self, Error> {
        let (cycles, rest) = match text.split_once('/') {
            Some((cycles, clock)) => {
                let number = cycles.parse::<u32>().map_err(|_| invalid_value("period", text, CYCLES))?;
                (i128::from(number), clock)
            }
            None => (1, text),
        };
        let (number, unit) = split_unit(rest)?;
        let hz = match unit {
            "Hz" | "hz" => 1i128,
            "kHz" | "khz" | "KHz" => 1_000,
            "MHz" => 1_000_000,
            _ => {
                let period = parse_ns(rest, PERIOD_UNITS)?;
                return if period > 0 && cycles == 1 {
                    Ok(period.into())
                } else {
                    Err(zero_period_error(text))
                };
            }
        };
        if number.digits == 0 || cycles == 0 {
            return Err(zero_period_error(text));
        }
        let large = || too_large_error(text);
        let denominator = number.digits.checked_mul(hz).ok_or_else(large)?;
        let numerator = 10i128
            .checked_pow(number.decimals)
            .and_then(|s| s.checked_mul(1_000_000_000)?.checked_mul(cycles));
        let numerator = numerator.ok_or_else(large)?;
        let divisor = greatest_common_divisor(numerator, denominator);
        let rounded = i64::try_from((numerator + denominator / 2) / denominator).map_err(|_| large())?;
        match [numerator / divisor, denominator / divisor].map(i64::try_from) {
            _ if rounded == 0 => Err(zero_period_error(text)),
            [Ok(numerator), Ok(denominator)] => Ok(ExactPeriod { numerator, denominator }),
            // More digits than any clock has.
            _ => Ok(rounded.into()),
        }
    }
}

fn greatest_common_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Reads a frequency in whole hertz (`16MHz`, `7.3728MHz`, `32768Hz`).
///
/// ```
/// # use jitterlab_model::units::parse_frequency_hz;
/// assert_eq!(parse_frequency_hz("7.3728MHz")?, 7_372_800);
/// assert!(parse_frequency_hz("16").is_err());
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
///
/// # Errors
/// A missing or unknown unit, an invalid number, a fraction of a hertz, 0, or more than 4.29 GHz.
pub fn parse_frequency_hz(text: &str) -> Result<u32, Error> {
    let (number, unit) = split_unit(text)?;
    let per: i128 = match unit {
        "Hz" | "hz" => 1,
        "kHz" | "khz" | "KHz" => 1_000,
        "MHz" => 1_000_000,
        _ => {
            return Err(unknown_unit_error(text, unit, FREQUENCY_UNITS));
        }
    };
    let scaled = number.digits.checked_mul(per).ok_or_else(|| too_large_error(text))?;
    let scale = 10i128.pow(number.decimals);
    match u32::try_from(scaled / scale) {
        Ok(0) => Err(zero_period_error(text)),
        Ok(hz) if scaled % scale == 0 => Ok(hz),
        Ok(_) => Err(Error::bad_use(format!("{text:?} is not a whole number of hertz"))),
        Err(_) => Err(Error::bad_use(format!("{text:?} is too large: frequencies are below 4.29 GHz"))),
    }
}

/// A time as jitterlab's options take it, exact, in the largest unit that needs no decimals.
///
/// ```
/// # use jitterlab_model::units::Exact;
/// assert_eq!(Exact(250_000).to_string(), "250us");
/// assert_eq!(Exact(1_500_000).to_string(), "1500us");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact(pub i64);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = ["d", "h", "m", "s", "ms", "us", "ns"]
            .into_iter()
            .find_map(|u| ns_per(u).filter(|per| self.0 != 0 && self.0 % per == 0).map(|per| (u, per)));
        match unit {
            Some((unit, per)) => write!(f, "{}{unit}", self.0 / per),
            None => write!(f, "0ns"),
        }
    }
}

/// A time for people: three significant digits or more, with the unit that suits its size.
///
/// ```
/// # use jitterlab_model::units::Human;
/// assert_eq!(Human(2_314.0).to_string(), "2.31 µs");
/// assert_eq!(Human(-98.0).to_string(), "-98 ns");
/// assert_eq!(Human(81_270.0).to_string(), "81.3 µs");
/// assert_eq!(Human(9_999_900_000.0).to_string(), "10 s");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Human(
    /// Nanoseconds.
    pub f64,
);

impl fmt::Display for Human {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_finite() {
            return f.pad("-");
        }
        let size = self.0.abs();
        let (value, unit) = match size {
            s if s < 999.5 => (self.0, "ns"),
            s if s < 999.5e3 => (self.0 / 1e3, "µs"),
            s if s < 999.5e6 => (self.0 / 1e6, "ms"),
            s if s < 120e9 => (self.0 / 1e9, "s"),
            s if s < 7_200e9 => (self.0 / 60e9, "min"),
            s if s < 172_800e9 => (self.0 / 3_600e9, "h"),
            _ => (self.0 / 86_400e9, "d"),
        };
        let decimals = match value.abs() {
            v if (v - v.round()).abs() < 5e-4 && v >= 1.0 => 0,
            v if v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            0.0 => 0,
            _ => 2,
        };
        let digits = format!("{value:.decimals$}");
        let digits = digits.strip_suffix(".00").or(digits.strip_suffix(".0")).unwrap_or(&digits);
        f.pad(&format!("{digits} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_unit_is_read() {
        for (text, ns) in [
            ("7ns", 7),
            ("1us", 1_000),
            ("1µs", 1_000),
            ("2ms", 2_000_000),
            ("3s", 3_000_000_000),
            ("4m", 240_000_000_000),
            ("1h", 3_600_000_000_000),
            ("1d", 86_400_000_000_000),
            ("0.5us", 500),
            ("1_000us", 1_000_000),
            ("0", 0),
        ] {
            assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| parse_period_ns(text).unwrap_err().to_string();
        assert!(message("250").contains("no unit"));
        assert!(message("fast").contains("not a time"));
        assert!(message("1fortnight").contains("kHz"));
        assert!(message("0ms").contains("0 ns"));
        assert!(message("0Hz").contains("0 ns"));
        assert!(message("5000MHz").contains("0 ns"));
        assert!(message("-1ms").contains("not a time"));
        assert!(message("0.1ns").contains("finer"));
        assert!(message("1.2.3ms").contains("not a time"));
        assert!(message("99999999999d").contains("too large"));
    }

    #[test]
    fn frequencies_are_whole_hertz() {
        assert_eq!(parse_frequency_hz("16MHz"), Ok(16_000_000));
        assert_eq!(parse_frequency_hz("32.768 kHz"), Ok(32_768));
        let message = |text: &str| parse_frequency_hz(text).unwrap_err().to_string();
        assert!(message("8").contains("MHz"));
        assert!(message("1.5Hz").contains("whole"));
        assert!(message("9999MHz").contains("4.29"));
        assert!(message("0Hz").contains("0 ns"));
    }

    proptest! {
        #[test]
        fn any_text_as_a_frequency_never_panics(text in "[0-9._]{0,40} ?(Hz|kHz|MHz|x)?") {
            let _ = parse_frequency_hz(&text);
        }

        #[test]
        fn what_is_written_is_read_back(ns in 0i64..) {
            prop_assert_eq!(parse_duration_ns(&Exact(ns).to_string()), Ok(ns));
        }

        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,40}") {
            let _ = parse_duration_ns(&text);
            let _ = parse_period_ns(&text);
        }

        #[test]
        fn any_number_with_any_unit_never_panics(number in "[0-9._]{0,40}", unit in "(ns|us|ms|s|m|h|d|Hz|kHz|MHz)?") {
            let _ = parse_period_ns(&format!("{number}{unit}"));
        }

        #[test]
        fn people_never_see_an_empty_time(ns in any::<i64>()) {
            prop_assert!(!Human(ns as f64).to_string().is_empty());
        }
    }
}
