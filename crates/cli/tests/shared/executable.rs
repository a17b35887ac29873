//! Programs that a test makes and starts. Another program writes them: a file that is open for writing in a process that
//! another test starts meanwhile could not be run.

use std::path::Path;
use std::process::Command;

/// Copies a program to where every user may start it.
pub fn copy(from: impl AsRef<Path>, to: &Path) {
    let mut install = Command::new("install");
    assert!(install.args(["-m", "755"]).arg(from.as_ref()).arg(to).status().unwrap().success());
}

/// Writes a program of the shell, its first line included.
pub fn script(path: &Path, text: &str) {
    let mut write = Command::new("sh");
    write.args(["-c", r#"printf %s "$2" >"$1" && chmod 755 "$1""#, "sh"]).arg(path).arg(text);
    assert!(write.status().unwrap().success());
}

/// True if a program that a test needs works: skipped without it, unless everything is required (`JITTERLAB_REQUIRE_ALL`).
pub fn has(program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    assert!(
        found || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(),
        "{program} {arguments:?} is required"
    );
    if !found {
        eprintln!("skipped: {program} {arguments:?} does not work here (./test installs it)");
    }
    found
}
