//! Debian's packages without installing them: fetched with `apt-get download`, kept and unpacked in a cache.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a package cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// No apt or dpkg here.
    #[error(
        "{program} is not here: Debian's kernels are fetched with apt-get, apt-cache, dpkg-deb and tar, so this needs Debian or a derivative; elsewhere give the path of a kernel image"
    )]
    NoApt {
        /// The program that is missing.
        program: String,
    },
    /// The package lists do not know it.
    #[error(
        "the package lists of this machine know no {package} (this needs Debian's own archive in /etc/apt/sources.list, and `sudo apt-get update` once): {answer}"
    )]
    Unknown {
        /// The package.
        package: String,
        /// What apt said.
        answer: String,
    },
    /// It could not be fetched.
    #[error("{package} {version} is not in the cache {cache} and could not be fetched; is this machine offline, or are its package lists old (`sudo apt-get update`)? apt-get says: {answer}", cache = cache.display())]
    NotFetched {
        /// The package.
        package: String,
        /// Its version.
        version: String,
        /// Where it would have been kept.
        cache: PathBuf,
        /// What apt said.
        answer: String,
    },
    /// A package that does not unpack.
    #[error("{} does not unpack (remove it and try again): {answer}", package.display())]
    NotUnpacked {
        /// The package file.
        package: PathBuf,
        /// What dpkg-deb or tar said.
        answer: String,
    },
    /// No place to keep it.
    #[error("there is no cache directory: set HOME or XDG_CACHE_HOME")]
    NoCache,
    /// The cache cannot be written.
    #[error("cannot write the cache {}: {error}", path.display())]
    Cache {
        /// The directory or file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
}

/// A package in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The package file.
    file: PathBuf,
}

/// Where packages are kept: `$XDG_CACHE_HOME/jitterlab`, by default `~/.cache/jitterlab`.
fn cache() -> Result<PathBuf, DebianError> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("jitterlab/debian"))
        .ok_or(DebianError::NoCache)
}

/// Runs a program to its end; its output if it went well, otherwise what it said.
fn output(
    program: &str,
    arguments: &[&str],
    directory: &Path,
) -> Result<Result<String, String>, DebianError> {
    let answer = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|_| DebianError::NoApt { program: program.into() })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(if answer.status.success() { Ok(text(&answer.stdout)) } else { Err(text(&answer.stderr)) })
}

/// The package beginning with `prefix` that `package` depends on: what a meta-package stands for.
///
/// # Errors
/// No apt, or a package that the lists do not know.
pub fn dependency(package: &str, prefix: &str) -> Result<String, DebianError> {
    let unknown = |answer: String| DebianError::Unknown { package: package.into(), answer };
    let listed =
        output("apt-cache", &["depends", "--important", package], Path::new("/"))?.map_err(unknown)?;
    depends(&listed, prefix)
        .next()
        .map(String::from)
        .ok_or_else(|| unknown(format!("it depends on no {prefix}*")))
}

/// The packages of libraries that `package` depends on, but for the C library, which every Debian has.
///
/// # Errors
/// As [`dependency`].
pub fn library_dependencies(package: &str) -> Result<Vec<String>, DebianError> {
    let unknown = |answer: String| DebianError::Unknown { package: package.into(), answer };
    let listed =
        output("apt-cache", &["depends", "--important", package], Path::new("/"))?.map_err(unknown)?;
    let libraries = depends(&listed, "lib").filter(|name| !["libc6", "libgcc-s1"].contains(name));
    Ok(libraries.map(String::from).collect())
}

/// The dependencies with that prefix in the answer of `apt-cache depends`.
fn depends<'a>(listed: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let dependencies = listed.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    dependencies.map(str::trim).filter(move |name| name.starts_with(prefix))
}

/// The newest version of a package that the lists know, from the cache or else from the archive. `note` is
/// told of a download.
///
/// # Errors
/// No apt, a package that the lists do not know, no network, a cache that cannot be written.
pub fn fetch(package: &str, note: &mut dyn FnMut(&str)) -> Result<Package, DebianError> {
    let unknown = |answer: String| DebianError::Unknown { package: package.into(), answer };
    let shown =
        output("apt-cache", &["show", "--no-all-versions", package], Path::new("/"))?.map_err(unknown)?;
    let version = shown.lines().find_map(|line| line.strip_prefix("Version: "));
    let version = version.ok_or_else(|| unknown("it has no version".into()))?.to_owned();
    let cache = cache()?;
    // An epoch's colon is written as apt writes it, so that the name is a plain one.
    let file = cache.join(format!("{package}_{}.deb", version.replace(':', "%3a")));
    let in_cache = Package { name: package.into(), version: version.clone(), file: file.clone() };
    if file.exists() {
        return Ok(in_cache);
    }
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error| DebianError::Cache { path, error }
    };
    fs::create_dir_all(&cache).map_err(failed(&cache))?;
    note(&format!("fetching {package} {version}"));
    // Into a directory of its own, removed whatever happens; then moved in place in one step.
    let incoming = Scratch::new(&cache)?;
    let wanted = format!("{package}={version}");
    output("apt-get", &["download", &wanted], &incoming.0)?.map_err(|answer| {
        let (package, version) = (package.into(), version.clone());
        let answer = answer.lines().filter(|line| !line.starts_with("W:")).collect::<Vec<_>>().join(" ");
        DebianError::NotFetched { package, version, cache: cache.clone(), answer }
    })?;
    let fetched = fs::read_dir(&incoming.0).map_err(failed(&incoming.0))?.flatten().next();
    let fetched = fetched.map(|entry| entry.path()).unwrap_or_else(|| incoming.0.join(&wanted));
    fs::rename(&fetched, &file).map_err(failed(&file))?;
    Ok(in_cache)
}

impl Package {
    /// Unpacks one directory of the package, such as `./boot`, and says below which directory it now lies. What
    /// was unpacked before is not unpacked again.
    ///
    /// # Errors
    /// A damaged package, or a cache that cannot be written.
    pub fn unpacked(&self, member: &str) -> Result<PathBuf, DebianError> {
        let part = member.trim_start_matches("./").replace('/', "-");
        let stem = self.file.with_extension("");
        let target =
            PathBuf::from(format!("{}.{}", stem.display(), if part.is_empty() { "all" } else { &part }));
        if target.exists() {
            return Ok(target);
        }
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |error| DebianError::Cache { path, error }
        };
        let broken = |answer| DebianError::NotUnpacked { package: self.file.clone(), answer };
        let incoming = Scratch::new(self.file.parent().unwrap_or(Path::new(".")))?;
        let missing = |program: &str| {
            let program = program.to_owned();
            move |_| DebianError::NoApt { program }
        };
        let mut unpacking = Command::new("dpkg-deb")
            .arg("--fsys-tarfile")
            .arg(&self.file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(missing("dpkg-deb"))?;
        let tarball = unpacking.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let extracted =
            Command::new("tar").args(["-x", "-C"]).arg(&incoming.0).arg(member).stdin(tarball).output();
        let read = unpacking.wait().map_err(failed(&self.file))?;
        let extracted = extracted.map_err(missing("tar"))?;
        if !extracted.status.success() || !read.success() {
            return Err(broken(String::from_utf8_lossy(&extracted.stderr).trim().to_owned()));
        }
        // Another jitterlab may have been faster; then its copy is as good.
        fs::rename(&incoming.0, &target)
            .or_else(|error| if target.exists() { Ok(()) } else { Err(error) })
            .map_err(failed(&target))?;
        Ok(target)
    }
}

/// A directory that goes away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(below: &Path) -> Result<Self, DebianError> {
        let path = below.join(format!("incoming-{}-{:?}", std::process::id(), std::thread::current().id()));
        fs::create_dir_all(&path).map_err(|error| DebianError::Cache { path: path.clone(), error })?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_package_stands_for_its_dependency() {
        let listed = "linux-image-rt-amd64\n  Depends: linux-image-6.1.0-56-rt-amd64\n  Depends: other\n";
        assert_eq!(depends(listed, "linux-image-").collect::<Vec<_>>(), ["linux-image-6.1.0-56-rt-amd64"]);
        assert_eq!(depends(listed, "linux-headers-").next(), None);
    }

    #[test]
    fn a_package_is_unpacked_once_and_by_parts() {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            println!("skipped: no dpkg-deb here");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path().join("tree");
        for (path, content) in [
            (
                "DEBIAN/control",
                "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: me <me@example.org>\nDescription: a\n",
            ),
            ("boot/vmlinuz-1", "kernel"),
            ("lib/modules/1/a.ko", "module"),
        ] {
            fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
            fs::write(tree.join(path), content).unwrap();
        }
        let file = directory.path().join("a_1.deb");
        let built = Command::new("dpkg-deb").arg("--build").arg(&tree).arg(&file).output().unwrap();
        assert!(built.status.success(), "{built:?}");
        let package = Package { name: "a".into(), version: "1".into(), file: file.clone() };
        let boot = package.unpacked("./boot").unwrap();
        assert_eq!(fs::read(boot.join("boot/vmlinuz-1")).unwrap(), b"kernel");
        assert!(!boot.join("lib").exists());
        assert!(package.unpacked("./lib").unwrap().join("lib/modules/1/a.ko").exists());
        fs::write(&file, "damaged").unwrap();
        assert_eq!(package.unpacked("./boot").unwrap(), boot, "unpacked before");
        assert!(matches!(package.unpacked("./usr"), Err(DebianError::NotUnpacked { .. })));
        let left = fs::read_dir(directory.path()).unwrap().flatten();
        assert!(left.map(|e| e.file_name().into_string().unwrap()).all(|name| !name.starts_with("incoming")));
    }
}
