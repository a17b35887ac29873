//! The commands of `jitterlab monitor`.

mod place;
mod service;
mod status;
pub mod watch;

use clap::Subcommand;
use jitterlab_console::exit::CommandResult;

/// What is done with what was measured, and with the service.
#[derive(Subcommand)]
pub enum Action {
    Status(status::Args),
    Pack(status::PackArgs),
    Install(service::InstallArgs),
    Uninstall(service::UninstallArgs),
}

/// Does it.
pub fn execute(action: &Action) -> CommandResult {
    match action {
        Action::Status(args) => status::execute(args),
        Action::Pack(args) => status::pack(args),
        Action::Install(args) => service::install(args),
        Action::Uninstall(args) => service::uninstall(args),
    }
}
