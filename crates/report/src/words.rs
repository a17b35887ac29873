//! Notation of quantities for people: one form each for shares, counts and times, wherever they are shown.
//!
//! Values that options take (`500us`) are written by [`Exact`](jitterlab_model::units::Exact); all others,
//! which are only read, by this module.

use jitterlab_model::CpuSet;
use jitterlab_model::Known;
use jitterlab_model::units::Human;

/// A count in groups of three digits: `1 234 567`.
///
/// ```
/// # use jitterlab_report::words::count;
/// assert_eq!((count(999), count(1_234_567)), ("999".into(), "1 234 567".into()));
/// ```
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A text with its first letter in upper case.
pub fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A count as far as it is known: `12`, `12 or more`, `unknown`.
///
/// ```
/// # use jitterlab_model::Known;
/// # use jitterlab_report::words::known_count;
/// assert_eq!(known_count(Known::Exactly(12_000)), "12 000");
/// assert_eq!(known_count(Known::AtLeast { at_least: 3 }), "3 or more");
/// assert_eq!(known_count(Known::Unknown), "unknown");
/// ```
pub fn known_count(known: Known<u64>) -> String {
    match known {
        Known::Exactly(value) => count(value),
        Known::Between { at_least, at_most } => format!("{} to {}", count(at_least), count(at_most)),
        Known::AtLeast { at_least } => format!("{} or more", count(at_least)),
        Known::Unknown => "unknown".into(),
    }
}

/// A share (0 to 1) in percent, below 0.001 % as a power of ten; never rounded to 0 % or 100 %. It is more than 1 where
/// parts overlap, negative for a saving.
///
/// ```
/// # use jitterlab_report::words::share;
/// assert_eq!((share(0.5), share(0.0123), share(0.0)), ("50 %".into(), "1.2 %".into(), "0 %".into()));
/// assert_eq!((share(0.9991), share(-0.03)), ("99.9 %".into(), "-3.0 %".into()));
/// assert_eq!((share(0.99999), share(1e-9)), ("more than 99.9 %".into(), "1.00e-9".into()));
/// ```
pub fn share(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => "-".into(),
        p if p < 0.0 => format!("-{}", self::share(-share)),
        p if p >= 99.95 && share < 1.0 => "more than 99.9 %".into(),
        p if p >= 99.5 && share < 1.0 => format!("{p:.1} %"),
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 1.0 => format!("{p:.1} %"),
        0.0 => "0 %".into(),
        p if p >= 0.001 => {
            let decimals = (1.0 - p.log10().floor()) as usize;
            format!("{p:.decimals$} %")
        }
        _ => format!("{share:.2e}"),
    }
}

/// A time in nanoseconds with three significant digits and the unit that suits its size.
///
/// ```
/// # use jitterlab_report::words::time;
/// assert_eq!((time(98.0), time(10_000_000.0)), ("98 ns".into(), "10 ms".into()));
/// ```
pub fn time(ns: f64) -> String {
    Human(ns).to_string()
}

/// A time to the nanosecond, in the unit that suits its size: for requested rather than measured times.
///
/// ```
/// # use jitterlab_report::words::exact_time;
/// assert_eq!([250_000, 1_500_000, 10_000_000_000].map(exact_time), ["250 µs", "1.5 ms", "10 s"]);
/// assert_eq!([0, -7, 333_333_333].map(exact_time), ["0 ns", "-7 ns", "333.333333 ms"]);
/// ```
pub fn exact_time(ns: i64) -> String {
    const UNITS: [(&str, u64); 7] = [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("min", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("µs", 1_000),
        ("ns", 1),
    ];
    let size = ns.unsigned_abs();
    // Above a second, only units that divide evenly: 90 s rather than 1.5 min.
    let suits = |(_, per): &(&str, u64)| size >= *per && (*per <= 1_000_000_000 || size.is_multiple_of(*per));
    let (unit, per) = UNITS.into_iter().find(suits).unwrap_or(("ns", 1));
    let digits = per.ilog10() as usize;
    let number = format!("{}.{:0digits$}", size / per, size % per);
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// Names as a sentence lists them: `a`, `a and b`, `a, b and c`.
///
/// ```
/// # use jitterlab_report::words::list;
/// assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
/// ```
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Number of tasks from which on they are sorted, and their common facts are given once.
pub(crate) const MANY_TASKS: usize = 4;

/// Number of tasks that are shown at once; those of more are folded, but for the worst.
pub(crate) const SHOWN_TASKS: usize = 8;

/// Names as a sentence lists them, of more than four only three and the number of others.
pub fn list_some(names: &[String]) -> String {
    const NAMED: usize = 3;
    match names.get(..NAMED).filter(|_| names.len() > NAMED + 1) {
        Some(first) => {
            let more = format!("{} more", count((names.len() - NAMED) as u64));
            list(&[first, &[more]].concat())
        }
        None => list(names),
    }
}

/// CPUs as a sentence names them: `CPU 3`, `CPUs 2-3`.
pub fn cpus_text(cpus: &CpuSet) -> String {
    if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") }
}

/// A count with its thing, in the plural unless it is 1: `1 run`, `2 runs`.
///
/// ```
/// # use jitterlab_report::words::plural;
/// assert_eq!((plural(1, "run"), plural(12_000, "run")), ("1 run".into(), "12 000 runs".into()));
/// ```
pub fn plural(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Microseconds with three significant digits, for tables, no finer than the value's bins (0 if exact). They are not
/// below 0.01 µs.
///
/// ```
/// # use jitterlab_report::words::microseconds_of_bins;
/// assert_eq!([80.0, 3_944.0, -904_200.0].map(|ns| microseconds_of_bins(ns, 0.0)), ["0.08", "3.94", "-904"]);
/// assert_eq!([16_600.0, 5_000.0].map(|ns| microseconds_of_bins(ns, 1_000.0)), ["17", "5"]);
/// ```
pub fn microseconds_of_bins(ns: f64, bin_ns: f64) -> String {
    let us = ns / 1e3;
    let decimals: usize = match us.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let of_bins = if bin_ns > 0.0 { (3.0 - bin_ns.log10()).ceil().max(0.0) as usize } else { decimals };
    let decimals = decimals.min(of_bins);
    let text = format!("{us:.decimals$}");
    // No minus before a value that rounds to zero.
    if text.trim_start_matches(['-', '0', '.']).is_empty() {
        text.trim_start_matches('-').into()
    } else {
        text
    }
}

/// A relative change with its sign: `-97 %`, `+3.1 %`.
///
/// ```
/// # use jitterlab_report::words::signed_percent;
/// assert_eq!([-0.97, 0.031, 0.0].map(signed_percent), ["-97 %", "+3.1 %", "0 %"]);
/// ```
pub fn signed_percent(change: f64) -> String {
    if change > 0.0 { format!("+{}", share(change)) } else { share(change) }
}

/// A clause as a sentence, with a capital and a full stop.
///
/// ```
/// # use jitterlab_report::words::sentence;
/// assert_eq!([sentence("the run was short"), sentence("It was.")], ["The run was short.", "It was."]);
/// ```
pub fn sentence(clause: &str) -> String {
    format!("{}.", capitalize(clause).trim_end_matches('.'))
}
