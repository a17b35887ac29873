//! The unit as systemd's own tool judges it, and what `install` writes and removes.

use std::fs;
use std::path::Path;
use std::process::Command;

use jitterlab_monitor::service_unit::{SERVICE, install, uninstall};
use tempfile::TempDir;

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd/jitterlab-monitor.service");

#[test]
fn systemd_finds_the_unit_safe() {
    let judged =
        Command::new("systemd-analyze").args(["security", "--offline=true", "--threshold=30", UNIT]).output();
    let Ok(judged) = judged else {
        println!("skipped: systemd-analyze is not here");
        return;
    };
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
}

#[test]
fn what_is_installed_is_removed_again() {
    let root = TempDir::new().unwrap();
    let root = root.path();
    let options = ["--for".into(), "servo-thread".into()];
    let done = install(root, Path::new("/opt/jitterlab-monitor"), &options, true).unwrap();
    assert!(!done.systemd_reloaded && done.files.len() == 3, "{done:?}");
    let unit = fs::read_to_string(root.join("etc/systemd/system").join(SERVICE)).unwrap();
    assert!(unit.contains("ExecStart=/opt/jitterlab-monitor $OPTIONS"), "{unit}");
    assert!(
        !unit.contains("SupplementaryGroups"),
        "systemd starts no service of a group that is not there: {unit}"
    );
    let drop_in =
        fs::read_to_string(root.join(format!("etc/systemd/system/{SERVICE}.d/options.conf"))).unwrap();
    assert!(drop_in.contains("OPTIONS=--for servo-thread"), "{drop_in}");
    uninstall(root).unwrap();
    assert_eq!(fs::read_dir(root.join("etc/systemd/system")).unwrap().count(), 0);
    // A package's unit stays the package's.
    fs::create_dir_all(root.join("usr/lib/systemd/system")).unwrap();
    fs::copy(UNIT, root.join("usr/lib/systemd/system").join(SERVICE)).unwrap();
    assert_eq!(install(root, Path::new("/opt/jitterlab-monitor"), &[], false).unwrap().files.len(), 0);
    uninstall(root).unwrap();
    assert!(root.join("usr/lib/systemd/system").join(SERVICE).exists());
}
