//! Mistakes answered with the likely intention: habits from other tools, values without their unit.

use std::fs::{self, File};
use std::io::Read;
use std::process;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use jitterlab_model::Error;
use jitterlab_model::units::{NoUnit, parse_duration_ns};
use jitterlab_report::dictionary::entry;
use jitterlab_report::usage_hints::{
    DOCUMENTS, FORMATS, MEASURE_FIRST, file_hint, suggest_option, thread_name_hint, unit_hint,
};

use crate::exit::Status;
use crate::output;

/// Prints requested help, or the error in the arguments with the likely intention, and ends the program.
pub fn print_and_exit(error: clap::Error) -> ! {
    let error = with_suggestion(error);
    let terminal = output::terminal(false);
    let said = terminal.printable(error.render().to_string());
    match error.use_stderr() {
        // Help without the characters of others has no colours either.
        false if terminal.ascii && output::print(&said).is_ok() => process::exit(Status::Fine as i32),
        false => error.exit(),
        true => {}
    }
    // The usage shows that there is help.
    let message = said.split("\n\nFor more information").next().unwrap_or_default();
    output::print_note(message.trim_end());
    process::exit(Status::BadUse as i32)
}

/// Replaces the error's suggestions by the likely intention where that is known, not merely spelt alike.
fn with_suggestion(mut error: clap::Error) -> clap::Error {
    let given = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let meant = match error.kind() {
        ErrorKind::UnknownArgument => {
            let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
            given(ContextKind::InvalidArg).and_then(|argument| suggest_for_argument(&argument, &usage))
        }
        ErrorKind::InvalidSubcommand => given(ContextKind::InvalidSubcommand).and_then(|name| {
            let tool = entry("tool", &name).map(str::to_owned);
            tool.or_else(|| suggest_for_file(&name))
                .or_else(|| suggest_option(&name, ""))
                .or_else(|| suggest_reordered_command(&name))
        }),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let option = given(ContextKind::InvalidArg).unwrap_or_default();
            let option = option.split(' ').next().unwrap_or_default().to_owned();
            given(ContextKind::InvalidValue).and_then(|value| suggest_for_value(&option, &value))
        }
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => suggest_for_missing(missing),
            _ => None,
        },
        _ => None,
    };
    if let Some(meant) = meant {
        for alike in
            [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        {
            // The usage belongs to the suggestion that is spelt alike.
            if error.remove(alike).is_some() && alike == ContextKind::SuggestedArg {
                error.remove(ContextKind::Usage);
            }
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![meant.into()]));
    }
    error
}

/// Suggests `run`, `why` or `mcu` for its letters in another order, which clap does not.
fn suggest_reordered_command(name: &str) -> Option<String> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let meant = ["run", "why", "mcu"].into_iter().find(|command| letters(command) == letters(name));
    meant.map(|command| format!("did you mean {command}?"))
}

/// Suggests a command for a name that is a file; `None` if there is no such file.
fn suggest_for_file(name: &str) -> Option<String> {
    fs::metadata(name).ok().filter(fs::Metadata::is_file)?;
    let mut begin = [0; 4];
    let read = File::open(name).and_then(|mut file| file.read(&mut begin)).unwrap_or(0);
    Some(file_hint(name, begin[..read] == *b"\x7fELF" || begin.starts_with(b"#!")))
}

/// Suggests how to get a required argument that is missing; `None` if that is unknown.
fn suggest_for_missing(missing: &[String]) -> Option<String> {
    let is_run = |name: &String| ["<RUN", "<FILE"].iter().any(|begin| name.starts_with(begin));
    match () {
        () if missing.iter().any(is_run) => Some(MEASURE_FIRST.to_owned()),
        () if missing.iter().any(|name| name.starts_with("--as")) => Some(FORMATS.to_owned()),
        () if missing.iter().any(|name| name.starts_with("<DOCUMENT")) => Some(DOCUMENTS.to_owned()),
        () => None,
    }
}

/// Returns the likely intention of an argument that the command of this usage refuses; `None` if unknown.
fn suggest_for_argument(argument: &str, usage: &str) -> Option<String> {
    let unit = || parse_duration_ns(&format!("1{argument}")).is_ok() || argument == "%";
    let command =
        usage.split_once("jitterlab ").map_or("", |(_, rest)| rest.split(' ').next().unwrap_or_default());
    let of = |name: &str| command == name;
    match entry("option", argument) {
        Some(ours) => Some(ours.to_owned()),
        None if argument.starts_with('-') => None,
        None if !argument.starts_with(|c: char| c.is_ascii_digit()) && unit() => Some(unit_hint(argument)),
        None if of("watch") && argument.parse::<u32>().is_ok() => {
            Some(format!("did you mean --pid {argument}?"))
        }
        None if of("watch") => {
            let own = suggest_option(argument, command).filter(|meant| meant.contains(" watch "));
            own.or_else(|| Some(format!("did you mean -- {argument}?")))
        }
        None => suggest_for_file(argument).or_else(|| suggest_option(argument, command)),
    }
}

/// Returns the likely intention of a value that an option refuses; `None` if unknown.
fn suggest_for_value(option: &str, value: &str) -> Option<String> {
    let lower = value.to_ascii_lowercase();
    let several = || join_units(value).map(|time| format!("did you mean {time}?"));
    let meant = match option {
        "--policy" => suggest_policy(&lower),
        "--work" => parse_duration_ns(value).is_ok().then(|| format!("spin:{value}")),
        "--clock" => value.parse::<u32>().is_ok().then(|| format!("{value}MHz")),
        "--pid" => return Some(thread_name_hint(value)),
        _ => None,
    };
    entry(option, &lower)
        .map(|meant| format!("did you mean {meant}?"))
        .or_else(|| meant.map(|meant| format!("did you mean {meant}?")))
        .or_else(several)
}

/// Spells `fifo80`, `FIFO:80`, `80` or `fifo:100` as a policy, `fifo:80`; `None` for other words.
fn suggest_policy(word: &str) -> Option<String> {
    let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let name = if word.contains("rr") { "rr" } else { "fifo" };
    let known = ["fifo", "rr", "sched_fifo", "sched_rr", "rt", ""];
    let begins = word[..word.len() - digits.len()].trim_end_matches([':', '=', '-', ' ', '/']);
    let priority: u32 = digits.parse().ok()?;
    known.contains(&begins).then(|| format!("{name}:{}", priority.clamp(1, 99)))
}

/// Converts a time in several units, such as `5min30s`, to one; `None` if it has one unit already.
fn join_units(text: &str) -> Option<String> {
    let (mut ns, mut parts, mut rest) = (0i64, 0, text.trim());
    while !rest.is_empty() {
        let unit = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let end = rest[unit..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |next| unit + next);
        ns = ns.checked_add(parse_duration_ns(&rest[..end]).ok()?)?;
        (parts, rest) = (parts + 1, rest[end..].trim_start());
    }
    (parts > 1).then(|| match ns {
        ns if ns % 1_000_000_000 == 0 => format!("{}s", ns / 1_000_000_000),
        ns => format!("{ns}ns"),
    })
}

/// Reads a duration in ns; a number alone is refused, with the remedy to add `s`.
pub fn parse_duration(text: &str) -> Result<i64, Error> {
    parse_duration_ns(text).map_err(|error| match error.is(NoUnit) {
        true => Error::bad_use(format!("{:?} has no unit (ns, us, ms, s, m, h or d)", text.trim()))
            .remedy(format!("did you mean {}s?", text.trim())),
        false => error,
    })
}

/// Reads the number of one processor.
pub fn parse_processor(text: &str) -> Result<u16, Error> {
    text.trim().parse().map_err(|_| {
        Error::bad_use(format!(
            "{text:?} is not the number of a processor, such as 1; jitterlab matrix \
             measures all of them"
        ))
    })
}
