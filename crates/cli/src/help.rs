//! The list of commands in `jitterlab --help`, by purpose.

use std::fmt::Write;

use clap::Command;
use clap::builder::StyledStr;
use jitterlab_report::{usage_hints, wrap};

use crate::output;

/// Every command is under one heading.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Measure", &["run", "watch", "matrix"]),
    ("Understand", &["analyze", "why", "predict"]),
    ("Judge", &["judge", "check", "compare", "stepper", "servo"]),
    ("Improve", &["doctor", "tune", "compensate", "compare-wakeups", "restore"]),
    ("Share", &["report", "plot", "export"]),
    (usage_hints::COMPANIONS, &["fleet", "kernel", "mcu", "monitor", "reproduce"]),
    ("Files and shell", &["recover", "schema", "completions", "man", "help"]),
];

/// Column at which the second column begins.
const INDENT: usize = 19;
/// As wide as lines of help become on a wide terminal.
pub const WIDEST: usize = 100;

/// Gives the command a help text that lists its commands in groups.
pub fn with_grouped_commands(command: Command) -> Command {
    let list = grouped_command_list(&command);
    let header = *command.get_styles().get_header();
    command.help_template(StyledStr::from(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    )))
}

fn grouped_command_list(command: &Command) -> String {
    let header = command.get_styles().get_header();
    // The parser adds its own command once it is built, which is not worth it for every call.
    let about = |name: &str| match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        None => usage_hints::HELP.into(),
    };
    let columns = output::terminal_columns().clamp(INDENT + 20, WIDEST) - INDENT;
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "\n{header}{heading}:{header:#}");
        for name in names {
            let lines = wrap::break_lines(&about(name), columns).join(&format!("\n{:INDENT$}", ""));
            let _ = writeln!(text, "  {name:width$}{lines}", width = INDENT - 2);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_stands_under_one_heading() {
        let mut command = crate::Cli::command();
        command.build();
        let mut listed: Vec<&str> = GROUPS.into_iter().flat_map(|(_, names)| names).copied().collect();
        let mut there: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        there.sort_unstable();
        assert_eq!(listed, there);
    }
}
