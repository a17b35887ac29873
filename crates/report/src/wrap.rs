//! Sentences broken into lines for the terminal.

use std::cell::Cell;

/// Default width of lines.
const DEFAULT_COLUMNS: usize = 80;
/// Longer lines are no joy to read, however wide the terminal is.
const WIDEST: usize = 120;

thread_local! {
    static COLUMNS: Cell<usize> = const { Cell::new(DEFAULT_COLUMNS) };
}

/// Calls `write` with lines that break at this width, 20 to 120 columns; they have 80 by default.
pub fn with_columns<T>(columns: usize, write: impl FnOnce() -> T) -> T {
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            COLUMNS.set(self.0);
        }
    }
    let _before = Before(COLUMNS.replace(columns.clamp(20, WIDEST)));
    write()
}

/// Current width of lines, in columns.
pub fn columns() -> usize {
    COLUMNS.get()
}

/// Breaks a sentence into lines, the further ones indented.
pub fn wrap(sentence: &str) -> String {
    wrap_indented(sentence, "")
}

/// A sentence broken into lines, the first indented by `first` and the others by `rest`.
pub(crate) fn paragraph(text: &str, first: usize, rest: usize) -> String {
    let lines = break_lines(text, columns().saturating_sub(first.max(rest)));
    format!("{:first$}{}\n", "", lines.join(&format!("\n{:rest$}", "")))
}

fn wrap_indented(sentence: &str, before: &str) -> String {
    format!(
        "{before}{}\n",
        fill_lines(sentence, columns().saturating_sub(before.len()), columns() - 2).join("\n  ")
    )
}

/// Words in lines of at most `first` columns, and then of `rest`; a longer word has its own.
fn fill_lines(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in unbreakable_words(text) {
        let room = if lines.len() == 1 { first } else { rest };
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&word),
            Some(line) if display_width(line) + 1 + display_width(&word) <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The words of a sentence; a number is one with its unit and with its other digits.
pub(crate) fn unbreakable_words(sentence: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in sentence.split_whitespace() {
        match words.last_mut() {
            Some(last) if is_part_of_number(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Units that stay with their number, besides rates such as `rev/min`.
const UNITS: [&str; 24] = [
    "ns", "µs", "us", "ms", "s", "min", "h", "d", "%", "×", "Hz", "kHz", "MHz", "A", "V", "N", "mm", "deg",
    "B", "kB", "MB", "GB", "CPU", "CPUs",
];

/// True if a word is a unit, or further digits, of the number that ends here.
fn is_part_of_number(before: &str, word: &str) -> bool {
    let word = word.trim_end_matches([',', '.', ';', ':', ')']);
    let is_group = word.len() == 3 && word.bytes().all(|c| c.is_ascii_digit());
    let is_rate = ["/s", "/min", "/rev"].iter().any(|rate| word.ends_with(rate));
    let is_torque = word == "m" && before.ends_with(" N");
    let is_number = before.ends_with(|c: char| c.is_ascii_digit());
    is_torque || is_number && (is_group || is_rate || UNITS.contains(&word))
}

/// Breaks words into lines of at most `columns` columns; a longer word has its own. A number stays with its
/// unit.
pub fn break_lines(text: &str, columns: usize) -> Vec<String> {
    if display_width(text) <= columns {
        return vec![text.to_owned()];
    }
    fill_lines(text, columns, columns)
}

/// Breaks long lines of a text; those of tables and commands stay, since their blanks matter.
pub fn break_long_lines(text: &str) -> String {
    let is_set = |line: &str| line.trim_start().contains("  ") || line.starts_with("    ");
    let broken = |line: &str| match display_width(line) > columns() && !is_set(line) {
        true => {
            let indent = line.len() - line.trim_start().len();
            wrap_indented(line, &line[..indent]).trim_end().to_owned()
        }
        false => line.to_owned(),
    };
    text.lines().map(broken).collect::<Vec<_>>().join("\n")
}

/// Columns that a line takes; codes of colours take none.
pub fn display_width(line: &str) -> usize {
    let mut in_code = false;
    let is_seen = |c: &char| {
        let was_in_code = in_code;
        in_code = if in_code { !c.is_ascii_alphabetic() } else { *c == '\x1b' };
        !was_in_code && !in_code
    };
    line.chars().filter(is_seen).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_terminal_is_used_and_a_number_keeps_its_unit() {
        let text = with_columns(100, || wrap(&"jitter ".repeat(30)));
        assert!(text.lines().count() == 3 && text.lines().all(|l| l.chars().count() <= 100), "{text}");
        assert_eq!(columns(), DEFAULT_COLUMNS);
        let late = with_columns(20, || wrap("it came up to 1 234 567 µs, late by 3.1 %"));
        assert_eq!(late, "it came up to\n  1 234 567 µs, late\n  by 3.1 %\n");
        let motor = with_columns(20, || wrap("a motor of up to 0.95 N m at 2.8 A or 4 rev/s"));
        assert_eq!(motor, "a motor of up to\n  0.95 N m at 2.8 A\n  or 4 rev/s\n");
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        let text = wrap(&"jitter ".repeat(30));
        assert!(text.lines().count() == 3 && text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}
