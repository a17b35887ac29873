//! `jitterlab monitor install` and `uninstall`.

use std::path::PathBuf;

use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::output;
use jitterlab_model::Error;
use jitterlab_monitor::{service_unit, words};

/// Make the monitor a service that begins with the machine (root)
#[derive(clap::Args)]
pub struct InstallArgs {
    /// Options of the monitor, after --
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
    /// Let it look for causes and watch other programs: it runs as root then
    #[arg(long)]
    causes: bool,
    /// Where the system is [default: /]
    #[arg(long, hide = true, default_value = "/")]
    root: PathBuf,
}

/// Stop the service and remove it; what was measured stays
#[derive(clap::Args)]
pub struct UninstallArgs {
    /// Where the system is [default: /]
    #[arg(long, hide = true, default_value = "/")]
    root: PathBuf,
}

/// Installs and starts the service.
pub fn install(args: &InstallArgs) -> CommandResult {
    let program =
        std::env::current_exe().map_err(|error| Error::refused("cannot find this program").because(error))?;
    let done = service_unit::install(&args.root, &program, &args.options, args.causes)?;
    output::print(&words::service_change_text(&done, true))?;
    Ok(Status::Fine)
}

/// Stops and removes the service.
pub fn uninstall(args: &UninstallArgs) -> CommandResult {
    let done = service_unit::uninstall(&args.root)?;
    output::print(&words::service_change_text(&done, false))?;
    Ok(Status::Fine)
}
