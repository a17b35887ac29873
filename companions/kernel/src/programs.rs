//! The programs of jitterlab's that a guest is made of: jitterlab itself, which measures in it, and the companion that makes the
//! guest, which is its first process.

use std::io;
use std::path::{Path, PathBuf};

use super::architecture::Architecture;
use super::elf;

/// Why a guest has nothing to measure with.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// This program is not found on the disk.
    #[error("cannot find this program's own file: {0}")]
    NoOwn(io::Error),
    /// There is no jitterlab.
    #[error("the guest measures with jitterlab, which is not beside {}: install it there", .0.display())]
    NoJitterlab(PathBuf),
    /// None for the guest's processor.
    #[error(
        "this jitterlab cannot run on {kernel}: give one that was built for it with --program FILE, and {companion} beside it; \
         from the sources, `packaging/cross {triple} cargo build --release -p jitterlab -p {companion}` builds both, into \
         target/{triple}/release"
    )]
    OtherProcessor {
        /// The kernel's processor.
        kernel: &'static str,
        /// What programs for it are built for.
        triple: &'static str,
        /// The companion's name.
        companion: String,
    },
}

/// This program, as the companion of a session.
///
/// # Errors
/// It is not found on the disk.
pub fn own() -> Result<PathBuf, ProgramError> {
    std::env::current_exe().map_err(ProgramError::NoOwn)
}

/// The programs for one guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// What measures.
    pub jitterlab: PathBuf,
    /// The first process.
    pub companion: PathBuf,
}

impl Programs {
    /// For a guest with this processor: jitterlab is the one given or the one installed with the companion, the companion the one
    /// beside the jitterlab given or `companion` itself. For another processor both may be where cargo built them beside those.
    ///
    /// # Errors
    /// One of them is nowhere.
    pub fn find(
        companion: &Path,
        given: Option<&Path>,
        architecture: &Architecture,
    ) -> Result<Self, ProgramError> {
        let name = companion.file_name().unwrap_or_default();
        let folder = companion.parent().unwrap_or(Path::new(""));
        let built = || Some(folder.parent()?.join(architecture.triple).join(folder.file_name()?));
        let fits = |path: &PathBuf| elf::machine_of(path) == Some(architecture.elf);
        let first = |places: [Option<PathBuf>; 4]| places.into_iter().flatten().find(fits);
        let jitterlab = first([
            given.map(Path::to_owned),
            Some(folder.join("jitterlab")),
            // Packages have it in /usr/bin, and companions in /usr/lib/jitterlab.
            Some(folder.join("../../bin/jitterlab")),
            built().map(|folder| folder.join("jitterlab")),
        ]);
        let companion = first([
            given.map(|given| given.with_file_name(name)),
            Some(companion.to_owned()),
            built().map(|folder| folder.join(name)),
            None,
        ]);
        match (jitterlab, companion) {
            (Some(jitterlab), Some(companion)) => Ok(Programs { jitterlab, companion }),
            (None, Some(companion)) if Architecture::own() == Some(architecture) => {
                Err(ProgramError::NoJitterlab(companion))
            }
            _ => Err(ProgramError::OtherProcessor {
                kernel: architecture.name,
                triple: architecture.triple,
                companion: name.to_string_lossy().into_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::architecture::ARM64;
    use super::*;

    #[test]
    fn jitterlab_is_found_beside_the_companion_or_where_packages_have_it() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
            path
        };
        let own = Architecture::own().unwrap();
        let installed = put("usr/lib/jitterlab/jitterlab-kernel");
        let missing = Programs::find(&installed, None, own).unwrap_err().to_string();
        assert!(missing.contains("not beside"), "{missing}");
        put("usr/bin/jitterlab");
        let found = Programs::find(&installed, None, own).unwrap();
        assert_eq!(found.companion, installed);
        assert!(found.jitterlab.ends_with("bin/jitterlab"), "{found:?}");
        let given = put("given");
        assert_eq!(Programs::find(&installed, Some(&given), own).unwrap().jitterlab, given);
        let beside = put("usr/lib/jitterlab/jitterlab");
        assert_eq!(Programs::find(&installed, None, own).unwrap().jitterlab, beside);
        let other = Programs::find(&installed, None, &ARM64).unwrap_err().to_string();
        assert!(other.contains("-p jitterlab-kernel"), "{other}");
    }
}
