//! Ranges over even steps, on the terminal.

use std::fmt::Write as _;

use jitterlab_model::units::Human;

/// Lines of a figure, axes not counted.
const LINES: usize = 14;
/// Columns left of the figure, for the values.
const LABEL: usize = 10;

/// A bar from low to high in every column, half lines told apart.
pub(crate) fn grid(ranges: &[(f64, f64)], ends: (&str, &str), ascii: bool) -> String {
    let low = ranges.iter().map(|r| r.0).fold(f64::INFINITY, f64::min);
    let high = ranges.iter().map(|r| r.1).fold(f64::NEG_INFINITY, f64::max);
    let span = (high - low).max(1.0);
    let half = |value: f64| (((value - low) / span) * (2 * LINES - 1) as f64).round() as usize;
    let mut text = String::new();
    for line in (0..LINES).rev() {
        let value = if line == LINES - 1 { high } else { low + span * line as f64 / (LINES - 1) as f64 };
        let label = if line % 4 == 1 || line == 0 || line == LINES - 1 {
            Human(value).to_string()
        } else {
            String::new()
        };
        let _ = write!(text, "{label:>LABEL$} {}", if ascii { '|' } else { '│' });
        for &(from, to) in ranges {
            let covers = |at: usize| (half(from)..=half(to)).contains(&at);
            text.push(match (covers(2 * line + 1), covers(2 * line), ascii) {
                (true, true, false) => '█',
                (true, false, false) => '▀',
                (false, true, false) => '▄',
                (false, false, _) => ' ',
                (_, _, true) => '#',
            });
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let rule = if ascii { "-" } else { "─" };
    let gap = ranges.len().saturating_sub(ends.0.chars().count() + ends.1.chars().count());
    let _ = writeln!(text, "{:LABEL$} {}{}", "", if ascii { "+" } else { "└" }, rule.repeat(ranges.len()));
    let _ = writeln!(text, "{:LABEL$}  {}{}{}", "", ends.0, " ".repeat(gap), ends.1);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_spike_has_its_column() {
        let mut ranges = vec![(2_000.0, 3_000.0); 60];
        ranges[17] = (2_000.0, 900_000.0);
        let text = grid(&ranges, ("0 s", "10 s"), true);
        let top = text.lines().next().unwrap();
        assert_eq!(top.chars().filter(|c| *c == '#').count(), 1, "{text}");
        assert_eq!(top.find('#'), Some(LABEL + 2 + 17), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= LABEL + 2 + 60) && text.is_ascii());
    }
}
