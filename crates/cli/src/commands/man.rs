//! `jitterlab man`: the manual, made from the definition of the options.

use std::fs;
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use jitterlab_model::Error;

use crate::exit::{Ending, Status};
use crate::output;

/// Print the manual page, or write one for each command
///
/// To read it: jitterlab man | man -l -
#[derive(clap::Args)]
pub struct Args {
    /// Where to write jitterlab.1, jitterlab-run.1 and so on
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

/// Prints or writes it from the definition of all commands.
pub fn execute(args: &Args, mut command: Command) -> Ending {
    command.build();
    match &args.directory {
        None => output::print(&page("jitterlab", command)?)?,
        Some(directory) => {
            fs::create_dir_all(directory)?;
            for (name, command) in pages(&command, "jitterlab") {
                output::write_file(&directory.join(format!("{name}.1")), page(&name, command)?.as_bytes())?;
            }
        }
    }
    Ok(Status::Fine)
}

/// A command and those below it, with the names of their pages.
fn pages(command: &Command, name: &str) -> Vec<(String, Command)> {
    let own = (name.to_owned(), command.clone());
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    let below = below.flat_map(|below| pages(below, &format!("{name}-{}", below.get_name())));
    std::iter::once(own).chain(below).collect()
}

fn page(name: &str, command: Command) -> Result<String, Error> {
    let mut text = Vec::new();
    Man::new(command).title(name).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
