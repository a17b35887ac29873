//! The conclusion of a result: the verdict and its purpose, the number that decides it, the next command. It is the
//! same on the terminal, in JSON and on the page, and sets the exit status.
//!
//! To give a kind of result a conclusion: write a function in its file of words, and call it in its `Present`.

pub(crate) mod outlook;
pub(crate) mod run;

pub(crate) use run::{quoted_purpose, untested_reason};

use jitterlab_model::Fitness;
use serde::{Deserialize, Serialize};

use crate::chart::Terminal;
use crate::words::{count, plural};
use crate::wrap::wrap;
use crate::{purpose, terminal};

/// The answer in three lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Head"))]
pub struct Conclusion {
    /// Fitness for the purpose that the verdict names.
    pub fitness: Fitness,
    /// True if the user asked for that purpose: only then the fitness sets the exit status.
    pub asked: bool,
    /// The verdict with its purpose.
    pub verdict: String,
    /// The number that decides it.
    pub number: String,
    /// The next command with its purpose.
    pub next: String,
}

impl Conclusion {
    /// The three lines, each broken where the terminal ends.
    pub fn text(&self, shown: Terminal) -> String {
        let verdict = wrap(&self.verdict);
        let (word, rest) = verdict.split_at(capitals_length(&verdict));
        let coloured = match shown.colour {
            true => format!("\x1b[{}m{word}\x1b[0m{rest}", terminal::colour_code(self.fitness)),
            false => verdict,
        };
        coloured + &wrap(&self.number) + &wrap(&format!("Next: {}", self.next))
    }
}

/// Next step if a virtual machine was not good enough.
pub(crate) const MEASURE_ON_TARGET: &str =
    "measure on the computer that will drive the machine; this one is virtual";

/// Quotes a file for a shell; standard input becomes the file in which it may be saved.
pub fn file_argument(name: &str) -> String {
    if name == STANDARD_INPUT {
        return SAVED_INPUT.into();
    }
    shell_quote(name)
}

/// Quotes a word for a shell, if needed.
pub(crate) fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    let is_plain = !word.is_empty() && word.chars().all(plain);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The path that means standard input, and the file to keep it in for another command.
const STANDARD_INPUT: &str = "-";
const SAVED_INPUT: &str = "output.txt";

/// Next step, and the way to keep pasted standard input if the step names a file.
pub(crate) fn with_saved_input(next: String, file: &str) -> String {
    match file == STANDARD_INPUT && next.contains(SAVED_INPUT) {
        true => format!("cat > {SAVED_INPUT} (paste it again, then Ctrl-D); {next}"),
        false => next,
    }
}

/// A fitness as verdicts begin with it.
#[must_use]
pub fn verdict_word(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Good => "GOOD",
        Fitness::Limited => "USABLE",
        Fitness::CannotTell => "CANNOT TELL",
        Fitness::Unfit => "NOT FIT",
    }
}

/// The verdict on several things: how many of them are as bad as the `worst`, and the others.
pub fn joint_verdict(worst: Fitness, purpose: Option<&str>, each: &[Fitness], what: &str) -> String {
    let number = |fitness: Fitness| each.iter().filter(|one| **one == fitness).count() as u64;
    let others = [Fitness::Unfit, Fitness::Limited, Fitness::Good, Fitness::CannotTell].into_iter();
    let others = others.filter(|fitness| *fitness != worst && number(*fitness) > 0);
    let others = others.map(|fitness| match fitness {
        Fitness::CannotTell => format!("; of {} it cannot be told", count(number(fitness))),
        _ => format!("; {} {}", count(number(fitness)), purpose::fitness_word(fitness)),
    });
    format!(
        "{}{}: {} of {}{}.",
        verdict_word(worst),
        purpose.map_or_else(String::new, |purpose| format!(" for {purpose}")),
        count(number(worst)),
        plural(each.len() as u64, what),
        others.collect::<String>(),
    )
}

/// Number of bytes of the words in capitals at the begin of a verdict.
fn capitals_length(verdict: &str) -> usize {
    let words = verdict.split(':').next().unwrap_or_default().split(' ');
    let capital = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
    let bytes = words.take_while(capital).map(|word| word.len() + 1).sum::<usize>();
    bytes.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_every_word_back() {
        assert_eq!(shell_quote("--period=250us"), "--period=250us");
        assert_eq!(shell_quote("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_quote(""), "''");
    }
}
