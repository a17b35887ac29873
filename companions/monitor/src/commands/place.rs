//! Where a monitor keeps what it measures.

use std::env;
use std::path::PathBuf;

use jitterlab_monitor::folder::Folder;

/// Where the service keeps it.
const OF_SERVICE: &str = "/var/lib/jitterlab-monitor";

/// The folder.
#[derive(clap::Args)]
pub struct PlaceArgs {
    /// Where it keeps what it measures [default: what systemd gives it, else /var/lib/jitterlab-monitor for root and
    /// .local/state/jitterlab-monitor for others]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Where hours for a fleet go [default: outbox in the folder]
    #[arg(long, value_name = "DIR")]
    outbox: Option<PathBuf>,
}

impl PlaceArgs {
    /// The folder that was named, or the usual one.
    pub fn folder(&self) -> Folder {
        let named = self.folder.clone().or_else(|| env::var_os("STATE_DIRECTORY").map(PathBuf::from));
        let folder = named.unwrap_or_else(|| {
            let of_service = PathBuf::from(OF_SERVICE);
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
