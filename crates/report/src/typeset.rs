//! Times in words as figures have them: terminals say "3 us" and commands "500us", where a page says "3 µs", "500 µs".

/// Microseconds with their letter: "3 us" becomes "3 µs".
pub(crate) fn microseconds(text: &str) -> String {
    replaced(text, |before, after| {
        before.ends_with(' ').then(|| after.strip_prefix("us")).flatten().map(|r| ("µs", r))
    })
}

/// The same, and times as options take them: "period 500us" becomes "period 500 µs". Not for text that holds commands.
pub(crate) fn times(text: &str) -> String {
    let tight = |before: &str| {
        let number = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        before.len() > number.len() && (number.is_empty() || number.ends_with([' ', '(']))
    };
    let spaced = replaced(text, |before, after| {
        let units = [("ns", " ns"), ("us", " µs"), ("ms", " ms"), ("s", " s")];
        let (unit, shown) = units.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        tight(before).then(|| (shown, &after[unit.len()..]))
    });
    microseconds(&spaced)
}

/// Replaces units behind numbers. `unit` is asked at every place that is behind a number (and a space), with the text
/// before and after it, for what to put there and the text behind.
fn replaced<'a>(text: &'a str, unit: impl Fn(&str, &'a str) -> Option<(&'static str, &'a str)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let is_number = out.trim_end_matches(' ').ends_with(|c: char| c.is_ascii_digit());
        match unit(&out, rest).filter(|(_, behind)| is_number && ends_here(behind)) {
            Some((shown, behind)) => {
                out.push_str(shown);
                rest = behind;
            }
            None => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    out
}

/// Whether a word ends before this text. A point with a letter behind it belongs to a file's name.
fn ends_here(behind: &str) -> bool {
    let mut letters = behind.chars();
    match letters.next() {
        Some('.') => letters.next().is_none_or(|c| !c.is_alphanumeric()),
        next => next.is_none_or(|c| !c.is_alphanumeric() && c != '_'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_spelled_as_on_the_axes() {
        assert_eq!(
            times("period 500us, 3 us late; 2.5ms (10s), A = 50 us."),
            "period 500 µs, 3 µs late; 2.5 ms (10 s), A = 50 µs."
        );
        assert_eq!(microseconds("up to -3 us, with --period 500us"), "up to -3 µs, with --period 500us");
    }

    #[test]
    fn names_stay_names() {
        let text = "run-20s.parquet: load 2s.parquet, cpu:2+40%, task 3ms_loop, in us, 99.9 % used";
        assert_eq!(times(text), text);
    }

    proptest! {
        #[test]
        fn nothing_else_is_touched(text in "[a-z .:%µ0-9-]{0,40}") {
            let plain = |text: &str| text.replace('µ', "u").replace(' ', "");
            prop_assert_eq!(plain(&times(&text)), plain(&text));
        }
    }
}
