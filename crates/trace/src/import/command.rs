//! Command lines in an output: after a prompt, in a log, or in a field of JSON.

use memchr::memmem;

/// A tool's options, as its command line gives them.
#[derive(Debug, Clone, Default)]
pub(super) struct Command<'a> {
    /// Names without dashes, each with its value.
    options: Vec<(&'a str, Option<&'a str>)>,
}

/// Short options of cyclictest and its relatives that take a value.
pub(super) const RT_TESTS: &str = "abcdDFhHilopt";

/// Most processors of a machine.
const MOST_CPUS: usize = 1 << 16;

impl<'a> Command<'a> {
    /// The command line of a program in a text, where there is one: the program's name with options behind it. Of short
    /// options, `valued` take a value.
    pub(super) fn find_in_text(text: &'a str, program: &str, valued: &str) -> Option<Self> {
        memmem::find_iter(text.as_bytes(), program).find_map(|at| {
            let before = text[..at].chars().next_back();
            let words = text[at + program.len()..].lines().next()?;
            let is_command = before.is_none_or(|c| c.is_whitespace() || "/`'\"$#>".contains(c))
                && words.starts_with(' ')
                && words.trim_start().starts_with('-');
            is_command.then(|| Self::new(words, valued))
        })
    }

    /// Parses the options of a command line; of short options, `valued` take a value.
    pub(super) fn new(words: &'a str, valued: &str) -> Self {
        let words = words.split(['|', ';', '>', '&']).next().unwrap_or_default();
        let mut words = words.split_whitespace().map(|word| word.trim_matches(['`', '\'', '"'])).peekable();
        let mut options = Vec::new();
        while let Some(word) = words.next() {
            let mut next = || words.next_if(|word| !word.starts_with('-'));
            if let Some(long) = word.strip_prefix("--") {
                match long.split_once('=') {
                    Some((name, value)) => options.push((name, Some(value))),
                    None => options.push((long, next())),
                }
            } else if let Some(short) = word.strip_prefix('-') {
                for (at, letter) in short.char_indices() {
                    let (name, rest) = (&short[at..at + letter.len_utf8()], &short[at + letter.len_utf8()..]);
                    if valued.contains(letter) {
                        options.push((name, Some(rest).filter(|rest| !rest.is_empty()).or_else(&mut next)));
                        break;
                    }
                    options.push((name, None));
                }
            }
        }
        Command { options }
    }

    /// Value of an option: `None` if it is not given, `Some(None)` if it is given without one.
    pub(super) fn option_value(&self, names: [&str; 2]) -> Option<Option<&'a str>> {
        self.options.iter().rev().find(|(name, _)| names.contains(name)).map(|(_, value)| *value)
    }

    pub(super) fn has_option(&self, names: [&str; 2]) -> bool {
        self.option_value(names).is_some()
    }

    pub(super) fn option_number(&self, names: [&str; 2]) -> Option<i64> {
        self.option_value(names)??.parse().ok()
    }

    /// All numbers of an option's list such as `2,4-6`; `None` if it has no such list.
    pub(super) fn option_list(&self, names: [&str; 2]) -> Option<Vec<u16>> {
        let mut all = Vec::new();
        for part in self.option_value(names)??.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
            // Damaged text may list the same ones for ever.
            all.extend((first..=last).take(MOST_CPUS - all.len().min(MOST_CPUS)));
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_the_tool_reads_them() {
        let text =
            "user@cnc:~$ sudo cyclictest -mSp95 -h60 -i200 -D 10m --interval=500 -a 2,4-6 -N | tee log -d 7";
        let command = Command::find_in_text(text, "cyclictest", RT_TESTS).unwrap();
        assert_eq!(
            (command.option_number(["p", "priority"]), command.option_number(["h", "histogram"])),
            (Some(95), Some(60))
        );
        assert_eq!(command.option_number(["i", "interval"]), Some(500), "the last one counts");
        assert_eq!(command.option_list(["a", "affinity"]), Some(vec![2, 4, 5, 6]));
        assert!(
            command.has_option(["N", "nsecs"])
                && command.has_option(["S", "smp"])
                && !command.has_option(["d", "distance"])
        );
        for text in ["cyclictest says nothing", "my-cyclictest -N", "cyclictest-v -N"] {
            assert!(Command::find_in_text(text, "cyclictest", RT_TESTS).is_none(), "{text}");
        }
    }
}
