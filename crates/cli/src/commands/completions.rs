//! `jitterlab completions`: scripts with which a shell completes commands and options.

use clap::Command;
use clap_complete::Shell;

use crate::exit::{CommandResult, Status};
use crate::output;

/// Print the completions for a shell
///
/// For bash: jitterlab completions bash > ~/.local/share/bash-completion/completions/jitterlab
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the shell's completion script for all commands.
pub fn execute(args: &Args, mut command: Command) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "jitterlab", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Fine)
}
