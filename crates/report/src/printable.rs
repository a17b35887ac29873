//! Foreign text (names of tasks, files and machines, other programs' output) made harmless where it leaves the program:
//! on the terminal and in a drawing.

use std::borrow::Cow;

/// The backgrounds of tables, from good to bad (256-colour palette).
pub(crate) const SHADE_CODES: [u8; 5] = [78, 148, 220, 208, 203];

/// True if a character acts on the terminal, or changes the direction of the text after it.
fn is_terminal_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape_where(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if harmful(c) {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// A name in one line, its control characters shown as `\u001b`.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape_where(text, is_terminal_control)
}

/// Escapes control characters of a drawing or page, but for line feeds and tabs, as JSON does. XML cannot hold them,
/// and HTML should not.
pub fn printable_drawing(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| is_terminal_control(c) && !matches!(c, '\n' | '\t'))
}

/// A text with the special characters of HTML and XML escaped.
pub fn escape_markup(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut markup = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => markup += "&amp;",
            '<' => markup += "&lt;",
            '>' => markup += "&gt;",
            '"' => markup += "&quot;",
            '\'' => markup += "&#x27;",
            c => markup.push(c),
        }
    }
    Cow::Owned(markup)
}

/// A name without tabs and control characters, for tables that other programs read.
pub fn printable_name(text: &str) -> String {
    printable_drawing(text).replace('\t', " ")
}

/// A text in plain ASCII; characters without an equivalent become `?`.
///
/// ```
/// # use jitterlab_report::printable::to_ascii;
/// assert_eq!(to_ascii("−3 µs ± 1 µs of ß"), "-3 us +- 1 us of ?");
/// ```
pub fn to_ascii(text: &str) -> String {
    const SPELLED: [(char, &str); 10] = [
        ('µ', "u"),
        ('−', "-"),
        ('–', "-"),
        ('±', "+-"),
        ('×', "x"),
        ('≤', "<="),
        ('≥', ">="),
        ('…', "..."),
        ('\u{202f}', " "),
        ('\u{a0}', " "),
    ];
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match SPELLED.iter().find(|(special, _)| *special == c) {
            Some((_, spelled)) => plain.push_str(spelled),
            None => plain.push(if c.is_ascii() { c } else { '?' }),
        }
    }
    plain
}

/// Escapes control characters as JSON does, except line feeds, tabs and this program's colours. Only in its strings can
/// JSON have such characters.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| is_terminal_control(c) && !matches!(c, '\n' | '\t');
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        shown.push_str(&escape_where(&rest[..at], harmful));
        let colour = colour_code_length(&rest[at..]);
        match colour {
            0 => shown.push_str("\\u001b"),
            length => shown.push_str(&rest[at..at + length]),
        }
        rest = &rest[at + colour.max(1)..];
    }
    shown.push_str(&escape_where(rest, harmful));
    Cow::Owned(shown)
}

/// Length of the code of this program's colours that a text begins with, 0 if there is none. Other codes might hide the
/// text after them.
fn colour_code_length(text: &str) -> usize {
    let code = text.strip_prefix("\x1b[").and_then(|rest| rest.split_once('m'));
    let is_shade = |number: &str| SHADE_CODES.iter().any(|shade| number == shade.to_string());
    match code {
        Some((code @ ("0" | "2" | "31;1" | "32;1" | "33;1"), _)) => code.len() + 3,
        Some((code, _)) if code.strip_prefix("30;48;5;").is_some_and(is_shade) => code.len() + 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_and_what_is_seen_stays() {
        assert_eq!(printable("Größe 5 µs"), "Größe 5 µs");
        assert_eq!(
            printable("a\x1b]0;b\x07\n\u{9b}2J\u{202e}c"),
            "a\\u001b]0;b\\u0007\\u000a\\u009b2J\\u202ec"
        );
        assert_eq!(printable_lines("\x1b[31;1mfail\x1b[0m\n\tok"), "\x1b[31;1mfail\x1b[0m\n\tok");
        assert_eq!(
            printable_lines("\x1b[2J\x1b[8mx\x1b[30;40m\x1b[33;1m\r\x1b"),
            "\\u001b[2J\\u001b[8mx\\u001b[30;40m\x1b[33;1m\\u000d\\u001b"
        );
    }

    #[test]
    fn json_stays_json() {
        let text = serde_json::to_string_pretty(&["a\u{9b}\u{7f}\x1b[2J\u{202e}"]).unwrap();
        let shown = printable_lines(&text);
        assert!(!shown.chars().any(|c| is_terminal_control(c) && c != '\n'), "{shown}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), ["a\u{9b}\u{7f}\x1b[2J\u{202e}"]);
    }
}
