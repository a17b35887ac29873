//! The monitor as a service of systemd.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_model::Error;

/// Name of the service.
pub const SERVICE: &str = "jitterlab-monitor.service";
/// Text of the unit, which the Debian package carries, too.
const UNIT: &str = include_str!("../../../packaging/systemd/jitterlab-monitor.service");
/// Line of the unit by which it may read which process limits idle states.
const GROUP: &str = "SupplementaryGroups=jitterlab\n";
/// Drop-in with the rights that causes need beyond the unit.
const WHY: &str = include_str!("../../../packaging/systemd/why.conf");
/// Folders of units that packages install, and that this program does.
const PACKAGED: &str = "usr/lib/systemd/system";
const OWN: &str = "etc/systemd/system";

/// Change to the system's services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceChange {
    /// Files that were written or removed.
    pub files: Vec<PathBuf>,
    /// True if systemd runs here and reloaded its units.
    pub systemd_reloaded: bool,
}

/// Writes the unit below `root` where no package has, for this program and these options, and starts it.
pub fn install(root: &Path, program: &Path, args: &[String], causes: bool) -> Result<ServiceChange, Error> {
    let mut files = Vec::new();
    let mut put = |path: PathBuf, text: &str| {
        let folder = path.parent().unwrap_or(root).to_owned();
        fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
        fs::write(&path, text).map_err(Error::file("write", &path))?;
        files.push(path);
        Ok::<(), Error>(())
    };
    if !root.join(PACKAGED).join(SERVICE).exists() {
        let mut unit = UNIT.replace("/usr/lib/jitterlab/jitterlab-monitor", &program.display().to_string());
        // Packages make this group.
        let groups = fs::read_to_string(root.join("etc/group")).unwrap_or_default();
        if !groups.lines().any(|line| line.starts_with("jitterlab:")) {
            unit = unit.replace(GROUP, "");
        }
        put(root.join(OWN).join(SERVICE), &unit)?;
    }
    let drop_ins = root.join(OWN).join(format!("{SERVICE}.d"));
    if !args.is_empty() {
        put(
            drop_ins.join("options.conf"),
            &format!("[Service]\nEnvironment=\"OPTIONS={}\"\n", args.join(" ")),
        )?;
    }
    if causes {
        put(drop_ins.join("why.conf"), WHY)?;
    }
    let told = call_systemctl(root, &[&["daemon-reload"], &["enable", SERVICE], &["restart", SERVICE]])?;
    Ok(ServiceChange { files, systemd_reloaded: told })
}

/// Stops the service and removes what [`install`] wrote; what was measured stays.
pub fn uninstall(root: &Path) -> Result<ServiceChange, Error> {
    let told = call_systemctl(root, &[&["disable", "--now", SERVICE]])?;
    let drop_ins = root.join(OWN).join(format!("{SERVICE}.d"));
    let mut files = Vec::new();
    for path in [root.join(OWN).join(SERVICE), drop_ins.join("options.conf"), drop_ins.join("why.conf")] {
        match fs::remove_file(&path) {
            Ok(()) => files.push(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file("remove", &path)(error)),
        }
    }
    let _ = fs::remove_dir(&drop_ins);
    call_systemctl(root, &[&["daemon-reload"]])?;
    Ok(ServiceChange { files, systemd_reloaded: told })
}

/// Calls systemctl with each list of arguments; returns false if systemd does not run this machine.
fn call_systemctl(root: &Path, calls: &[&[&str]]) -> Result<bool, Error> {
    if root != Path::new("/") || !root.join("run/systemd/system").exists() {
        return Ok(false);
    }
    for call in calls {
        let failed = || Error::refused(format!("systemctl {} failed", call.join(" ")));
        let output =
            Command::new("systemctl").args(*call).output().map_err(|error| failed().because(error))?;
        if !output.status.success() {
            return Err(failed().because(String::from_utf8_lossy(&output.stderr).trim()));
        }
    }
    Ok(true)
}
