//! Removal of wrappings around a tool's output: compression, a terminal's control sequences, a build server's time or a
//! program's name before each line, the quoting of mails and of Markdown.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use jitterlab_model::Error;

use super::LONGEST;
use super::text::untrimmed_lines;
use crate::error::output_too_long;

/// The content of a gzip file; `None` if it is none. A small file can be made that would fill any memory.
///
/// # Errors
/// It is damaged, or too long.
pub(super) fn gunzip(path: &Path, bytes: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(None);
    }
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(LONGEST + 1)
        .read_to_end(&mut unpacked)
        .map_err(Error::file("unpack", path))?;
    if unpacked.len() as u64 > LONGEST {
        return Err(output_too_long(path, LONGEST));
    }
    Ok(Some(unpacked))
}

/// The bytes as text without a terminal's control sequences; nothing if they are no text.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    let text = match bytes {
        // Encoding of files that a shell on Windows redirects.
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16_to_string(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16_to_string(rest, u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8_lossy(rest),
        _ if is_unmarked_utf16(bytes, 1) => Cow::Owned(utf16_to_string(bytes, u16::from_le_bytes)),
        _ if is_unmarked_utf16(bytes, 0) => Cow::Owned(utf16_to_string(bytes, u16::from_be_bytes)),
        _ if bytes.contains(&0) => Cow::Borrowed(""),
        _ => utf8_lossy(bytes),
    };
    let text = if text.contains('\u{1b}') { Cow::Owned(without_controls(&text)) } else { text };
    // Live displays return to the beginning of a line, and pages on the net have blanks of their own.
    let text = match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => text,
    };
    if text.contains('\u{a0}') { Cow::Owned(text.replace('\u{a0}', " ")) } else { text }
}

/// Text of UTF-8 with marks for invalid bytes: it is checked first, since replacing them takes several times as long.
fn utf8_lossy(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Returns true if it looks like UTF-16 without a byte order mark, where byte `empty` of each pair is 0.
fn is_unmarked_utf16(bytes: &[u8], empty: usize) -> bool {
    let begin = bytes.get(..bytes.len().min(256)).unwrap_or_default();
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) || matches!(byte, b'\t' | b'\n' | b'\r');
    let pairs = begin.as_chunks::<2>().0;
    bytes.len().is_multiple_of(2)
        && pairs.len() >= 8
        && pairs.iter().all(|pair| pair[empty] == 0 && plain(pair[1 - empty]))
}

fn utf16_to_string(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    char::decode_utf16(units.iter().map(|two| unit(*two))).map(|c| c.unwrap_or('\u{fffd}')).collect()
}

/// Leaves out sequences such as `ESC [ 4 A`, by which live displays move the cursor.
fn without_controls(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        kept.push_str(before);
        let parameters = after.strip_prefix('[').unwrap_or(after);
        let end = parameters.find(|c: char| c.is_ascii_alphabetic()).map_or(parameters.len(), |at| at + 1);
        rest = &parameters[end..];
    }
    kept + rest
}

/// The text without one, two and more layers of fences or line prefixes, until none is left.
pub(super) fn unwrapped_layers(text: &str) -> Vec<String> {
    const MOST: usize = 4;
    let mut layers: Vec<String> = Vec::new();
    while let Some(bare) =
        unwrap_layer(layers.last().map_or(text, String::as_str)).filter(|_| layers.len() < MOST)
    {
        layers.push(bare);
    }
    layers
}

/// Removes one layer of fences and line prefixes; `None` if the text has neither.
fn unwrap_layer(text: &str) -> Option<String> {
    let is_fence = |line: &&str| line.trim_ascii_start().starts_with("```") || line.trim_ascii() == "~~~";
    let lines =
        || untrimmed_lines(text).filter(|line| !line.trim_ascii().is_empty() && !is_fence(line)).take(200);
    let of_kind = |(kind, _): &LinePrefix| lines().filter(|line| kind(line).is_some()).count();
    let most = LINE_PREFIXES.into_iter().max_by_key(of_kind);
    let kind = most.filter(|kind| of_kind(kind) * 10 >= lines().count() * 8 && of_kind(kind) >= kind.1);
    if kind.is_none() && !untrimmed_lines(text).any(|line| is_fence(&line)) {
        return None;
    }
    let kind = |line| kind.and_then(|(kind, _)| kind(line)).unwrap_or(line);
    Some(concat_lines(untrimmed_lines(text).filter(|line| !is_fence(line)).map(kind), text.len()))
}

/// The lines, each ended by a line feed.
fn concat_lines<'a>(lines: impl Iterator<Item = &'a str>, capacity: usize) -> String {
    let mut all = String::with_capacity(capacity);
    for line in lines {
        all.push_str(line);
        all.push('\n');
    }
    all
}

/// Versions of a text, each without a prefix that most lines share, such as a machine's name and a colon. The shortest
/// prefix first, since tools print such themselves.
pub(super) fn without_prefixes(text: &str) -> impl Iterator<Item = String> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty()).take(200);
    let count = lines().count();
    let common =
        move |prefix: &&str| lines().filter(|line| line.starts_with(*prefix)).count() * 10 >= count * 8;
    // A long text is none that somebody pasted.
    const LONG: usize = 16 << 20;
    let middle = lines().nth(count / 2).filter(|_| count >= 3 && text.len() < LONG).unwrap_or_default();
    let ends = middle.match_indices(['|', ':', '>', ']', '\t']).map(|(at, end)| {
        let behind = at + end.len();
        behind + usize::from(middle[behind..].starts_with(' '))
    });
    let prefixes = ends.take(4).map(|end| &middle[..end]).filter(common);
    prefixes.map(|prefix| {
        concat_lines(untrimmed_lines(text).map(|line| line.strip_prefix(prefix).unwrap_or(line)), text.len())
    })
}

/// Returns the rest of a line behind its beginning; and how many lines have to begin so.
type LinePrefix = (fn(&str) -> Option<&str>, usize);

/// A tool's own columns may look like a time, but none of its lines like a quote: a status line alone is quoted, too.
const LINE_PREFIXES: [LinePrefix; 5] = [
    (after_date_and_time, 3),
    (after_time, 3),
    (after_syslog_head, 3),
    (after_uptime, 3),
    (after_quote_mark, 1),
];

/// Text after `> `, as mails quote.
fn after_quote_mark(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('>')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// Text after `2026-11-22T16:44:41.1234567Z `, as GitHub and GitLab log (these with `00O ` behind it), in brackets as Jenkins does.
fn after_date_and_time(line: &str) -> Option<&str> {
    let open = line.strip_prefix('[').unwrap_or(line);
    let rest = after_number(open, 4)?.strip_prefix('-')?;
    let rest = after_number(after_number(rest, 2)?.strip_prefix('-')?, 2)?.strip_prefix(['T', ' '])?;
    let rest = after_clock(rest)?;
    let rest = rest.strip_prefix('Z').or_else(|| after_zone_offset(rest)).unwrap_or(rest);
    let rest = strip_leading_blank(rest.strip_prefix(']').unwrap_or(rest))?;
    let stream = after_number(rest, 2)
        .and_then(|r| r.strip_prefix(['O', 'E']))
        .and_then(|r| r.strip_prefix([' ', '+']));
    Some(stream.unwrap_or(rest))
}

/// Text after `16:44:41.123 `, in brackets or not.
fn after_time(line: &str) -> Option<&str> {
    let rest = after_clock(line.strip_prefix('[').unwrap_or(line))?;
    strip_leading_blank(rest.strip_prefix(']').unwrap_or(rest))
}

/// Text after `Nov 22 16:44:41 host program[123]: `, or only up to the time as `ts` writes it.
fn after_syslog_head(line: &str) -> Option<&str> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (month, rest) = line.split_at_checked(3)?;
    MONTHS.find(month).filter(|at| at % 3 == 0)?;
    let day = rest.trim_start();
    let rest = after_number(day, 2).or_else(|| after_number(day, 1))?;
    let rest = strip_leading_blank(after_clock(rest.strip_prefix(' ')?)?)?;
    let named = rest.split_once("]: ").filter(|(before, _)| {
        let program = before.split_once(' ').and_then(|(_, program)| program.split_once('['));
        program.is_some_and(|(name, id)| !name.contains(' ') && id.bytes().all(|b| b.is_ascii_digit()))
    });
    Some(named.map_or(rest, |(_, after)| after))
}

/// Text after `[   12.345678] `, as the kernel logs.
fn after_uptime(line: &str) -> Option<&str> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    inside.trim().parse::<f64>().ok()?;
    strip_leading_blank(rest)
}

/// Text after `HH:MM:SS` with or without a fraction.
fn after_clock(text: &str) -> Option<&str> {
    let rest = after_number(text, 2)?.strip_prefix(':')?;
    let rest = after_number(after_number(rest, 2)?.strip_prefix(':')?, 2)?;
    Some(match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    })
}

/// Text after `+01:00` or `+0100`.
fn after_zone_offset(text: &str) -> Option<&str> {
    let rest = after_number(text.strip_prefix(['+', '-'])?, 2)?;
    after_number(rest.strip_prefix(':').unwrap_or(rest), 2)
}

/// Text after a number of `digits` digits.
fn after_number(text: &str, digits: usize) -> Option<&str> {
    let (number, rest) = text.split_at_checked(digits)?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(rest)
}

/// Text after one space or tab; empty text as it is, `None` for any other.
fn strip_leading_blank(text: &str) -> Option<&str> {
    if text.is_empty() { Some(text) } else { text.strip_prefix([' ', '\t']) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_build_servers_and_logs_are_left_out() {
        for prefix in [
            "2026-11-22T16:44:41.1234567Z ",
            "2026-11-22T16:44:41.123456Z 00O ",
            "[2026-11-22T16:44:41.123Z] ",
            "2026-11-22 16:44:41,123 ",
            "2026-11-22T16:44:41+01:00 ",
            "16:44:41 ",
            "[16:44:41] ",
            "Nov  2 16:44:41 ",
            "Nov 22 16:44:41 vm cyclictest[123]: ",
            "[    3.141593] ",
        ] {
            let text: String = (0..5).map(|n| format!("{prefix}  T: {n} (1) C: 2\n")).collect();
            let stripped = unwrapped_layers(&text).pop().unwrap_or_default();
            assert!(stripped.starts_with("  T: 0 (1) C: 2\n  T: 1"), "{prefix}{stripped}");
        }
    }

    #[test]
    fn a_table_keeps_its_first_column() {
        for text in [
            "0 00:00:01 12\n1 00:00:02 13\n2 00:00:03 14\n",
            "000009 000002\n000010 000002\n000011 000004\n",
            "",
        ] {
            assert!(unwrapped_layers(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn quotes_fences_and_names_of_machines_are_left_out() {
        let text: String = (0..5).map(|n| format!("T: {n} (1) C: 2\n")).collect();
        let before = |prefix: &str| text.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>();
        assert_eq!(unwrapped_layers(&before("> > ")).pop().as_deref(), Some(text.as_str()));
        assert_eq!(unwrapped_layers("> T: 0 (1) C: 2\n").pop().as_deref(), Some("T: 0 (1) C: 2\n"));
        assert_eq!(
            unwrapped_layers(&format!("```text\n{}```\n", before("    "))).pop(),
            Some(before("    "))
        );
        assert_eq!(
            unwrapped_layers(&format!("> ```\n{}> ```\n", before("> "))).pop().as_deref(),
            Some(text.as_str())
        );
        assert_eq!(without_prefixes(&before("vm-3 cyclictest | ")).next().as_deref(), Some(text.as_str()));
    }

    #[test]
    fn text_is_read_as_terminals_and_other_systems_leave_it() {
        assert_eq!(text_of(b"\x1b[4Apolicy: fifo\x1b[K\n"), "policy: fifo\n");
        assert_eq!(text_of(b"\xff\xfea\0b\0"), "ab");
        assert_eq!(text_of(b"\xef\xbb\xbfab"), "ab");
        assert_eq!(text_of(b"a\0b"), "");
        assert_eq!(text_of(b"cut\x1b["), "cut");
        assert_eq!(text_of(b"a\r\nb\rc"), "a\nb\nc");
        assert_eq!(text_of(b"T\0:\0 \x000\0 \0(\x001\0)\0"), "T: 0 (1)");
    }
}
