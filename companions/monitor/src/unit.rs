//! The monitor as a service of systemd.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_model::Error;

/// Name of the service.
pub const SERVICE: &str = "jitterlab-monitor.service";
/// The unit, which the Debian package carries, too.
const UNIT: &str = include_str!("../../../packaging/systemd/jitterlab-monitor.service");
/// Its line that lets it read who limits idle states.
const GROUP: &str = "SupplementaryGroups=jitterlab\n";
/// Drop-in with the rights that causes need beyond the unit.
const WHY: &str = include_str!("../../../packaging/systemd/why.conf");
/// Where a package puts it, and where this program does.
const PACKAGED: &str = "usr/lib/systemd/system";
const OWN: &str = "etc/systemd/system";

/// Change to the system's services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Files that were written or removed.
    pub files: Vec<PathBuf>,
    /// Whether systemd runs here, and was told.
    pub told: bool,
}

/// Writes the unit below `root` where no package has, for this program and these options, and starts it.
pub fn install(root: &Path, program: &Path, options: &[String], with_causes: bool) -> Result<Done, Error> {
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
    if !options.is_empty() {
        put(
            drop_ins.join("options.conf"),
            &format!("[Service]\nEnvironment=\"OPTIONS={}\"\n", options.join(" ")),
        )?;
    }
    if with_causes {
        put(drop_ins.join("why.conf"), WHY)?;
    }
    let told = tell(root, &[&["daemon-reload"], &["enable", SERVICE], &["restart", SERVICE]])?;
    Ok(Done { files, told })
}

/// Stops the service and removes what [`install`] wrote; what was measured stays.
pub fn uninstall(root: &Path) -> Result<Done, Error> {
    let told = tell(root, &[&["disable", "--now", SERVICE]])?;
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
    tell(root, &[&["daemon-reload"]])?;
    Ok(Done { files, told })
}

/// Tells systemd where it runs this machine.
fn tell(root: &Path, calls: &[&[&str]]) -> Result<bool, Error> {
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
