//! Programs of the system, which are asked for facts.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;

/// Folders of a system's programs.
const FOLDERS: [&str; 7] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/snap/bin"];

/// True if this program has more rights than its caller: then it runs no program from the caller's PATH. An
/// unknown state counts as privileged.
pub fn is_privileged() -> bool {
    /// Key of getauxval(3).
    const AT_SECURE: usize = 23;
    let word = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).unwrap_or_default();
    let is_secure = |auxiliary: Vec<u8>| {
        let pairs =
            auxiliary.chunks_exact(2 * size_of::<usize>()).map(|pair| pair.split_at(size_of::<usize>()));
        pairs.map(|(key, value)| (word(key), word(value))).any(|(key, value)| key == AT_SECURE && value != 0)
    };
    geteuid().is_root() || fs::read("/proc/self/auxv").map_or(true, is_secure)
}

/// Command that runs a system program; PATH is searched only if this program is not privileged.
pub fn system_command(name: &str) -> Command {
    if !is_privileged() {
        return Command::new(name);
    }
    let mut places = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    // A missing program is not found by its path either, which gives the usual error.
    Command::new(places.find(|place| place.is_file()).unwrap_or_else(|| Path::new(FOLDERS[0]).join(name)))
}
