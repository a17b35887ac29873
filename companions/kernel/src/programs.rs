//! The programs of jitterlab in a guest: jitterlab itself, which measures, and the companion that makes the
//! guest, which is its first process.
use std::path::{Path, PathBuf};

use jitterlab_model::Error;

use super::architecture::Architecture;
use super::elf;

/// Returns this program's own file, as the companion of a guest.
pub fn own_executable() -> Result<PathBuf, Error> {
    let path = std::env::current_exe()
        .map_err(|cause| Error::refused("cannot find this program's own file").because(cause))?;
    // Of a file that is gone the kernel returns another name.
    match path.is_file() {
        true => Ok(path),
        false => Err(Error::refused("this program's own file was replaced or removed while it runs")
            .remedy("start it again")),
    }
}

/// The programs for one guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    pub jitterlab: PathBuf,
    pub companion: PathBuf,
}

impl Programs {
    /// Finds the programs for a guest with this processor. Jitterlab is the given one, or the one installed
    /// with the companion. The companion is the one next to the given jitterlab, or `companion` itself. For
    /// another processor both may be in cargo's folder for its target.
    pub fn find(companion: &Path, given: Option<&Path>, architecture: &Architecture) -> Result<Self, Error> {
        let name = companion.file_name().unwrap_or_default();
        let folder = companion.parent().unwrap_or(Path::new(""));
        let built = || Some(folder.parent()?.join(architecture.triple).join(folder.file_name()?));
        let fits = |path: &PathBuf| elf::elf_machine(path) == Some(architecture.elf);
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
            (None, Some(companion)) if Architecture::own() == Some(architecture) => Err(Error::refused(
                format!("the guest measures with jitterlab, which is not beside {}", companion.display()),
            )
            .remedy("install it there")),
            _ => Err(Error::refused(format!("this jitterlab cannot run on {}", architecture.name)).remedy(
                format!(
                    "give one that was built for it with --program FILE, and {} beside it; from the \
                     sources, `packaging/cross {} cargo build --release -p jitterlab -p {}` builds \
                     both, into target/{}/release",
                    name.to_string_lossy().into_owned(),
                    architecture.triple,
                    name.to_string_lossy().into_owned(),
                    architecture.triple
                ),
            )),
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
