//! `jitterlab man`: the manual, made from the definition of the options.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{self, Stdio};

use clap::Command;
use clap_mangen::Man;
use jitterlab_model::Error;

use crate::exit::{CommandResult, Status};
use crate::output;

/// Print the manual page, or write one for each command
///
/// On a terminal `man` shows it, where that is installed.
#[derive(clap::Args)]
pub struct Args {
    /// Where to write jitterlab.1, jitterlab-run.1 and so on
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

/// Shows the manual page, or writes those of all commands into a directory.
pub fn execute(args: &Args, mut command: Command) -> CommandResult {
    command.build();
    match &args.directory {
        None => show_page(&render_page("jitterlab", command)?)?,
        Some(directory) => {
            fs::create_dir_all(directory)?;
            for (name, command) in command_pages(&command, "jitterlab") {
                output::write_file(
                    &directory.join(format!("{name}.1")),
                    render_page(&name, command)?.as_bytes(),
                )?;
            }
        }
    }
    Ok(Status::Fine)
}

/// Shows the page to a person by `man`, or prints it as it is where that is not wanted or not there.
fn show_page(page: &str) -> Result<(), Error> {
    let reader = || {
        let mut man = process::Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn().ok()?;
        // A reader that is left early needs no more of it.
        let _ = man.stdin.take()?.write_all(page.as_bytes());
        man.wait().ok().filter(|status| status.success())
    };
    if io::stdout().is_terminal() && reader().is_some() {
        return Ok(());
    }
    Ok(output::print(page)?)
}

/// A command and those below it, with the names of their pages.
fn command_pages(command: &Command, name: &str) -> Vec<(String, Command)> {
    let own = (name.to_owned(), command.clone());
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    let below = below.flat_map(|below| command_pages(below, &format!("{name}-{}", below.get_name())));
    std::iter::once(own).chain(below).collect()
}

fn render_page(name: &str, command: Command) -> Result<String, Error> {
    let mut text = Vec::new();
    Man::new(command).title(name).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
