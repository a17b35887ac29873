//! A companion's commands and options as data, so that help, manual and completions of `jitterlab` show one program.

use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, Command, ValueHint};
use serde::{Deserialize, Serialize};

use crate::RELEASE;

/// A companion's release and its commands.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    pub release: String,
    command: CommandDescription,
}

#[derive(Debug, Serialize, Deserialize)]
struct CommandDescription {
    name: String,
    about: Option<String>,
    long_about: Option<String>,
    is_hidden: bool,
    needs_command: bool,
    arguments: Vec<ArgumentDescription>,
    commands: Vec<CommandDescription>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ArgumentDescription {
    id: String,
    short: Option<char>,
    long: Option<String>,
    help: Option<String>,
    long_help: Option<String>,
    heading: Option<String>,
    value_names: Vec<String>,
    values: Vec<ValueDescription>,
    default: Vec<String>,
    delimiter: Option<char>,
    takes_values: bool,
    is_path: bool,
    is_repeated: bool,
    is_required: bool,
    is_hidden: bool,
    conflicts: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ValueDescription {
    name: String,
    help: Option<String>,
}

impl Description {
    /// Describes the commands of this program.
    pub fn from_command(command: &Command) -> Self {
        Description { release: RELEASE.into(), command: CommandDescription::from_command(command) }
    }

    /// Builds clap's definition of the commands, for help and completions.
    pub fn into_command(self) -> Command {
        self.command.into_command()
    }
}

impl CommandDescription {
    fn from_command(command: &Command) -> Self {
        CommandDescription {
            name: command.get_name().into(),
            about: command.get_about().map(ToString::to_string),
            long_about: command.get_long_about().map(ToString::to_string),
            is_hidden: command.is_hide_set(),
            needs_command: command.is_subcommand_required_set(),
            arguments: command.get_arguments().map(|arg| ArgumentDescription::new(arg, command)).collect(),
            commands: command.get_subcommands().map(CommandDescription::from_command).collect(),
        }
    }

    fn into_command(self) -> Command {
        let mut command = Command::new(leak(self.name))
            .hide(self.is_hidden)
            .subcommand_required(self.needs_command)
            .args(self.arguments.into_iter().map(ArgumentDescription::into_arg))
            .subcommands(self.commands.into_iter().map(CommandDescription::into_command));
        if let Some(about) = self.about {
            command = command.about(about);
        }
        if let Some(about) = self.long_about {
            command = command.long_about(about);
        }
        command
    }
}

impl ArgumentDescription {
    fn new(arg: &Arg, command: &Command) -> Self {
        let takes_values = arg.get_action().takes_values();
        let values =
            arg.get_possible_values().into_iter().filter(|value| takes_values && !value.is_hide_set());
        let default = arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
        ArgumentDescription {
            id: arg.get_id().to_string(),
            short: arg.get_short(),
            long: arg.get_long().map(Into::into),
            help: arg.get_help().map(ToString::to_string),
            long_help: arg.get_long_help().map(ToString::to_string),
            heading: arg.get_help_heading().map(Into::into),
            value_names: arg.get_value_names().into_iter().flatten().map(ToString::to_string).collect(),
            values: values.map(|value| ValueDescription::from_value(&value)).collect(),
            default: default.filter(|_| takes_values).collect(),
            delimiter: arg.get_value_delimiter(),
            takes_values,
            is_path: arg.get_value_hint() == ValueHint::AnyPath,
            is_repeated: matches!(arg.get_action(), ArgAction::Append),
            is_required: arg.is_required_set(),
            is_hidden: arg.is_hide_set(),
            conflicts: command
                .get_arg_conflicts_with(arg)
                .iter()
                .map(|arg| arg.get_id().to_string())
                .collect(),
        }
    }

    fn into_arg(self) -> Arg {
        let action = match (self.takes_values, self.is_repeated) {
            (false, _) => ArgAction::SetTrue,
            (true, false) => ArgAction::Set,
            (true, true) => ArgAction::Append,
        };
        let mut arg = Arg::new(leak(self.id))
            .short(self.short)
            .long(self.long.map(leak))
            .action(action)
            .value_hint(if self.is_path { ValueHint::AnyPath } else { ValueHint::Unknown })
            .required(self.is_required)
            .hide(self.is_hidden)
            .help_heading(self.heading.map(leak))
            .value_delimiter(self.delimiter)
            .default_values(self.default.into_iter().map(leak))
            .conflicts_with_all(self.conflicts.into_iter().map(leak));
        if let Some(help) = self.help {
            arg = arg.help(help);
        }
        if let Some(help) = self.long_help {
            arg = arg.long_help(help);
        }
        if !self.value_names.is_empty() {
            arg = arg.value_names(self.value_names.into_iter().map(leak));
        }
        if !self.values.is_empty() {
            let values = self.values.into_iter().map(ValueDescription::into_value);
            arg = arg.value_parser(ValueParser::from(PossibleValuesParser::new(values)));
        }
        arg
    }
}

impl ValueDescription {
    fn from_value(value: &PossibleValue) -> Self {
        ValueDescription { name: value.get_name().into(), help: value.get_help().map(ToString::to_string) }
    }

    fn into_value(self) -> PossibleValue {
        let value = PossibleValue::new(leak(self.name));
        match self.help {
            Some(help) => value.help(help),
            None => value,
        }
    }
}

/// Makes a name last as long as the program, as clap wants it; names are read once, before the program ends.
fn leak(text: String) -> &'static str {
    text.leak()
}
