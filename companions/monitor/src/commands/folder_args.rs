//! Options for the folder of a monitor.

use std::env;
use std::path::PathBuf;

use jitterlab_monitor::folder::Folder;

/// Folder of the service.
const SERVICE_FOLDER: &str = "/var/lib/jitterlab-monitor";

/// The folder.
#[derive(clap::Args)]
pub struct FolderArgs {
    /// Where it keeps what it measures [default: what systemd gives it, else /var/lib/jitterlab-monitor for root and
    /// .local/state/jitterlab-monitor for others]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Where hours for a fleet go [default: outbox in the folder]
    #[arg(long, value_name = "DIR")]
    outbox: Option<PathBuf>,
}

impl FolderArgs {
    /// The folder of the option, else the service manager's, else the default one.
    pub fn folder(&self) -> Folder {
        let named = self.folder.clone().or_else(|| env::var_os("STATE_DIRECTORY").map(PathBuf::from));
        let folder = named.unwrap_or_else(|| {
            let of_service = PathBuf::from(SERVICE_FOLDER);
            match env::var_os("HOME") {
                Some(home) if !nix::unistd::geteuid().is_root() && !of_service.exists() => {
                    PathBuf::from(home).join(".local/state/jitterlab-monitor")
                }
                _ => of_service,
            }
        });
        Folder::new(&folder, self.outbox.as_deref())
    }
}
