//! Companions: programs of their own that are called as commands of this one.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;

use clap::Command;
use jitterlab_console::RELEASE;
use jitterlab_console::companion::{CALLER, DESCRIBE};
use jitterlab_console::description::Description;
use jitterlab_host::programs::is_privileged;
use jitterlab_model::Error;

use crate::exit::CommandResult;
use crate::output;

/// A command that is a program of its own.
pub struct Companion {
    command: &'static str,
    /// The program, and the package that it is built from.
    program: &'static str,
}

/// Kernels in QEMU.
pub const KERNEL: Companion = Companion { command: "kernel", program: "jitterlab-kernel" };

/// Firmware, simulated.
pub const MCU: Companion = Companion { command: "mcu", program: "jitterlab-mcu" };

/// One machine, for months.
pub const MONITOR: Companion = Companion { command: "monitor", program: "jitterlab-monitor" };

/// Many machines over years.
pub const FLEET: Companion = Companion { command: "fleet", program: "jitterlab-fleet" };

/// The source documents, repeated.
pub const REPRODUCE: Companion = Companion { command: "reproduce", program: "jitterlab-papers" };

const ALL: [&Companion; 5] = [&FLEET, &KERNEL, &MCU, &MONITOR, &REPRODUCE];

/// Folder in which packages install companions.
const INSTALLED: &str = "/usr/lib/jitterlab";

/// What a companion is called with.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

impl Companion {
    /// Replaces this process by the companion; returns only if that fails.
    pub fn execute(&self, args: &Args) -> CommandResult {
        let program = self.find_program().ok_or_else(|| {
            Error::bad_use(format!(
                "jitterlab {} is a package of its own that is not installed: cargo build \
                 --release -p {}",
                self.command, self.program
            ))
        })?;
        let error = process::Command::new(&program).args(&args.arguments).env(CALLER, RELEASE).exec();
        Err(Error::refused(format!("cannot run {}", program.display())).because(error))
    }

    fn find_program(&self) -> Option<PathBuf> {
        let own = env::current_exe().ok();
        let path = env::var_os("PATH").filter(|_| !is_privileged()).unwrap_or_default();
        companion_folders(own.as_deref(), &path)
            .map(|folder| folder.join(self.program))
            .find(|path| is_program(path))
    }

    /// Runs the companion to learn the definition of its commands.
    fn ask_for_commands(&self, program: &Path) -> Result<Command, Error> {
        let failed = || {
            Error::damaged(format!(
                "{} does not describe its commands, which are left out",
                program.display()
            ))
            .remedy("install it again, of the same release")
        };
        let answer = process::Command::new(program).arg(DESCRIBE).output().map_err(|_| failed())?;
        let description: Description = serde_json::from_slice(&answer.stdout).map_err(|_| failed())?;
        if description.release != RELEASE {
            return Err(Error::damaged(format!(
                "the commands of {} are left out: it is of {}",
                program.display(),
                description.release
            ))
            .remedy("install the release of this jitterlab"));
        }
        Ok(description.into_command().name(self.command))
    }
}

/// Rewrites `help mcu run` as `mcu run --help`: a companion's help is its own.
pub fn with_own_help(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_companion = |word: &OsString| ALL.iter().any(|companion| word == companion.command);
    if arguments.get(1).is_some_and(|word| word == "help") && arguments.get(2).is_some_and(is_companion) {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

/// Adds the commands of installed companions to the definition; warns where that fails.
pub fn with_companion_commands(command: Command) -> Command {
    command.mut_subcommands(|listed| {
        let companion = ALL.iter().find(|companion| listed.get_name() == companion.command);
        let found = companion.and_then(|companion| Some((companion, companion.find_program()?)));
        match found.map(|(companion, program)| companion.ask_for_commands(&program)) {
            None => listed,
            Some(Ok(own)) => own.display_order(listed.get_display_order()),
            Some(Err(error)) => {
                output::print_warning(&error.to_string());
                listed
            }
        }
    })
}

/// Folders of companions: that of the program, that of packages, and those in `path`.
fn companion_folders(own: Option<&Path>, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let beside = own.and_then(Path::parent).map(Path::to_owned);
    let in_path: Vec<PathBuf> = env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    beside.into_iter().chain([PathBuf::from(INSTALLED)]).chain(in_path)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_companion_is_looked_for_beside_the_program_first_and_never_in_the_current_folder() {
        let found: Vec<PathBuf> =
            companion_folders(Some(Path::new("/opt/bin/jitterlab")), OsStr::new("/usr/bin::.:/bin"))
                .collect();
        let expected = ["/opt/bin", INSTALLED, "/usr/bin", "/bin"].map(PathBuf::from);
        assert_eq!(found, expected);
    }
}
