//! The commands of `jitterlab monitor`.

mod folder_args;
mod service;
mod status;
pub mod watch;

use clap::Subcommand;
use jitterlab_console::exit::CommandResult;

/// Commands beside measuring itself.
#[derive(Subcommand)]
pub enum Action {
    Status(status::Args),
    Pack(status::PackArgs),
    Install(service::InstallArgs),
    Uninstall(service::UninstallArgs),
}

/// Executes a command.
pub fn execute(action: &Action) -> CommandResult {
    match action {
        Action::Status(args) => status::execute(args),
        Action::Pack(args) => status::pack(args),
        Action::Install(args) => service::install(args),
        Action::Uninstall(args) => service::uninstall(args),
    }
}
