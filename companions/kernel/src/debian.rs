//! Debian's packages without installing them: fetched with `apt-get download`, kept and unpacked in a cache
//! of the user's own. Every unpacked package matches the archive's index, whose signature apt has verified.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use sha2::{Digest, Sha256};

use super::architecture::Architecture;
use jitterlab_host::child::EndWithParent;
use jitterlab_host::scratch::{ScratchFolder, package_cache};
use jitterlab_model::Error;

/// A package in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    file: PathBuf,
    /// Its checksum in the archive's index, in hexadecimal.
    sha256: String,
}

/// The cache's folder ([`package_cache`]), created for this user alone.
fn package_folder() -> Result<PathBuf, Error> {
    let cache = package_cache()
        .ok_or_else(|| Error::refused("there is no cache directory").remedy("set HOME or XDG_CACHE_HOME"))?;
    cache.parent().map_or(Ok(()), create_private_folder)?;
    create_private_folder(&cache)?;
    Ok(cache)
}

/// Creates a folder for this user alone; an error if it is a link, another user's, or others can write to it.
fn create_private_folder(folder: &Path) -> Result<(), Error> {
    let failed = cache_error(folder);
    let made = || {
        match DirBuilder::new().recursive(true).mode(0o700).create(folder) {
            // A file, or a link that leads nowhere: the checks below decide.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => fs::symlink_metadata(folder),
        }
    };
    let found = made().map_err(&failed)?;
    if !found.is_dir() {
        return Err(Error::refused(format!(
            "the cache {} is a link or a file instead of a folder",
            folder.display()
        ))
        .remedy("set XDG_CACHE_HOME to a folder of your own"));
    }
    if found.uid() != geteuid().as_raw() {
        return Err(Error::refused(format!("the cache {} belongs to another user", folder.display()))
            .remedy("set XDG_CACHE_HOME to a folder of your own"));
    }
    if found.mode() & 0o022 != 0 {
        return Err(Error::refused(format!(
            "others could write to the cache {}, so what is in it cannot be trusted",
            folder.display()
        ))
        .remedy("remove it, and it is fetched again"));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(&failed)?;
    }
    Ok(())
}

fn no_apt_error(program: &str) -> Error {
    Error::refused(format!(
        "{program} is not here: Debian's kernels are fetched with apt-get, apt-cache, dpkg-deb and tar, so this needs Debian or \
         a derivative"
    ))
    .remedy("elsewhere give the path of a kernel image")
}

fn cache_error(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_path_buf();
    move |error| Error::file("write", path.clone())(error)
}

/// Runs a program to its end; returns its output if it succeeded, otherwise its error output.
fn run_program(
    program: &str,
    arguments: &[impl AsRef<OsStr>],
    directory: &Path,
) -> Result<Result<String, String>, Error> {
    let answer = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .end_with_parent(Signal::SIGKILL)
        .output()
        .map_err(|_| no_apt_error(program))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(if answer.status.success() { Ok(text(&answer.stdout)) } else { Err(text(&answer.stderr)) })
}

/// Debian's archive for one kind of processor, as this machine's list of sources has it.
#[derive(Debug, Clone)]
pub struct PackageArchive {
    architecture: &'static Architecture,
    /// Options of apt, if the lists are not this machine's.
    options: Vec<String>,
    /// The command that makes the lists new.
    update: String,
}

impl PackageArchive {
    /// Opens the archive for a kind of processor. The lists for another processor than this machine's are fetched
    /// into the cache the first time; `note` is called for that.
    pub fn for_architecture(
        architecture: &'static Architecture,
        note: &mut dyn FnMut(&str),
    ) -> Result<PackageArchive, Error> {
        if Architecture::own() == Some(architecture) {
            return Ok(PackageArchive {
                architecture,
                options: Vec::new(),
                update: "sudo apt-get update".into(),
            });
        }
        let lists = package_folder()?.join(format!("lists-{}", architecture.name));
        if !lists.exists() {
            note(&format!("fetching {} lists", architecture.name));
            fetch_lists(architecture, &lists)?;
        }
        let update = format!("rm -r {}", lists.display());
        Ok(PackageArchive { architecture, options: apt_options(architecture, &lists), update })
    }

    /// Runs apt-cache about a package, and returns its output.
    fn run_apt_cache(&self, words: &[&str], package: &str) -> Result<String, Error> {
        let arguments: Vec<&str> =
            self.options.iter().map(String::as_str).chain(words.iter().copied()).chain([package]).collect();
        run_program("apt-cache", &arguments, Path::new("/"))?
            .map_err(|answer| self.unknown_package_error(package, &answer))
    }

    fn unknown_package_error(&self, package: &str, answer: &str) -> Error {
        Error::refused(format!(
            "the package lists of this machine know no {package} (this needs Debian's own \
             archive in /etc/apt/sources.list, and `{}` once): {answer}",
            self.update
        ))
    }

    /// Package beginning with `prefix` that `package` depends on: the real package behind a meta-package.
    pub fn dependency(&self, package: &str, prefix: &str) -> Result<String, Error> {
        let listed = self.run_apt_cache(&["depends", "--important"], package)?;
        dependencies_with_prefix(&listed, prefix)
            .next()
            .map(String::from)
            .ok_or_else(|| self.unknown_package_error(package, &format!("it depends on no {prefix}*")))
    }

    /// Fetches the newest version of a package in the lists, unless the cache has it; `note` is called before.
    pub fn fetch_newest(&self, package: &str, note: &mut dyn FnMut(&str)) -> Result<Package, Error> {
        let shown = self.run_apt_cache(&["show", "--no-all-versions"], package)?;
        let field = |name: &str| shown.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let version = field("Version:")
            .ok_or_else(|| self.unknown_package_error(package, "it has no version"))?
            .to_owned();
        let sha256 = field("SHA256:").map(str::to_owned).ok_or_else(|| {
            Error::refused(format!(
                "the package lists of this machine have no SHA256 of {package}, so it cannot be \
                 verified: update them with `{}`",
                self.update
            ))
        })?;
        let cache = package_folder()?;
        // An epoch's colon is written as apt writes it, so that the name is a plain one.
        let name = format!("{package}_{}_{}.deb", version.replace(':', "%3a"), self.architecture.name);
        let file = cache.join(name);
        let in_cache = Package { name: package.into(), version: version.clone(), file: file.clone(), sha256 };
        // A file in the cache may have been cut short by a full disk; a sound one need not be fetched.
        // (Reading a FIFO in its place would never end.)
        if file.is_file() && in_cache.open_verified().is_ok() {
            return Ok(in_cache);
        }
        note(&format!("fetching {package} {version}"));
        // Into a folder of its own, removed whatever happens; then moved in place in one step.
        let incoming = ScratchFolder::new_in(&cache).map_err(cache_error(&cache))?;
        let wanted = format!("{package}={version}");
        let options = self.options.iter().map(String::as_str);
        let arguments: Vec<&str> = options.chain(["download", &wanted]).collect();
        run_program("apt-get", &arguments, incoming.path())?.map_err(|answer| {
            let package = format!("{package} {version}");
            let answer = answer.lines().filter(|line| !line.starts_with("W:")).collect::<Vec<_>>().join(" ");
            let update = self.update.clone();
            Error::refused(format!(
                "no sound {package} is in the cache {}, and it could not be fetched",
                cache.display()
            ))
            .remedy(format!(
                "is this machine offline, or are its package lists old (`{update}`)? apt-get \
                 says: {answer}"
            ))
        })?;
        let fetched = fs::read_dir(incoming.path()).map_err(cache_error(incoming.path()))?.flatten().next();
        let fetched = fetched.map(|entry| entry.path()).unwrap_or_else(|| incoming.path().join(&wanted));
        Package { file: fetched.clone(), ..in_cache.clone() }.open_verified()?;
        fs::rename(&fetched, &file).map_err(cache_error(&file))?;
        Ok(in_cache)
    }
}

/// The packages of the C library and of the compiler's runtime.
pub(super) const C_LIBRARY: [&str; 2] = ["libc6", "libgcc-s1"];

/// Options of apt that keep lists for another processor in a folder of their own.
fn apt_options(architecture: &Architecture, folder: &Path) -> Vec<String> {
    let place = |part: &str| folder.join(part).display().to_string();
    [
        ("APT::Architecture", architecture.name.into()),
        ("APT::Architectures", architecture.name.into()),
        ("APT::Sandbox::User", String::new()),
        ("Acquire::Languages", "none".into()),
        ("Dir::State", place("state")),
        ("Dir::State::status", place("status")),
        ("Dir::Cache", place("cache")),
    ]
    .map(|(key, value)| format!("-o{key}={value}"))
    .into()
}

/// Fetches the package lists for a kind of processor into a folder.
fn fetch_lists(architecture: &'static Architecture, lists: &Path) -> Result<(), Error> {
    let cache = lists.parent().unwrap_or(Path::new("."));
    let scratch = ScratchFolder::new_in(cache).map_err(cache_error(cache))?;
    let incoming = scratch.path().join("lists");
    let failed = cache_error(&incoming);
    for part in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(incoming.join(part)).map_err(&failed)?;
    }
    File::create(incoming.join("status")).map_err(&failed)?;
    let arguments: Vec<String> =
        apt_options(architecture, &incoming).into_iter().chain(["update".into()]).collect();
    let updated = run_program("apt-get", &arguments, Path::new("/"))?;
    // Of several sources some may have nothing for this processor, which is an error of the whole.
    let found = fs::read_dir(incoming.join("state/lists")).map_err(&failed)?.flatten();
    if !found.into_iter().any(|list| list.file_name().to_string_lossy().contains("_Packages")) {
        let answer = updated.unwrap_or_else(|answer| answer);
        return Err(Error::refused(format!("package lists for {} could not be fetched", architecture.name))
            .remedy(format!("is this machine offline? apt-get says: {answer}")));
    }
    fs::rename(&incoming, lists)
        .or_else(|error| if lists.exists() { Ok(()) } else { Err(error) })
        .map_err(cache_error(lists))
}

/// Dependencies with a prefix in the output of `apt-cache depends`.
fn dependencies_with_prefix<'a>(listed: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let dependencies = listed.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    dependencies.map(str::trim).filter(move |name| name.starts_with(prefix))
}

impl Package {
    /// Unpacks one directory of the package, such as `./boot`, and returns the directory above it. A
    /// directory that was unpacked before is not unpacked again.
    pub fn unpack(&self, member: &str) -> Result<PathBuf, Error> {
        let part = match member.trim_start_matches("./").replace('/', "-") {
            part if part.is_empty() => "all".into(),
            part => part,
        };
        let target = PathBuf::from(format!("{}.{part}", self.file.with_extension("").display()));
        if target.exists() {
            return Ok(target);
        }
        let broken = |answer| {
            Error::refused(format!(
                "{} does not unpack (remove it and try again): {answer}",
                self.file.display()
            ))
        };
        let cache = self.file.parent().unwrap_or(Path::new("."));
        let scratch = ScratchFolder::new_in(cache).map_err(cache_error(cache))?;
        let incoming = scratch.path().join(&part);
        fs::create_dir(&incoming).map_err(cache_error(&incoming))?;
        let package = self.open_verified()?;
        let missing = |program: &str| {
            let program = program.to_owned();
            move |_| no_apt_error(&program)
        };
        let mut unpacking = Command::new("dpkg-deb")
            .args(["--fsys-tarfile", "/dev/stdin"])
            .stdin(package)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .end_with_parent(Signal::SIGKILL)
            .spawn()
            .map_err(missing("dpkg-deb"))?;
        let tarball = unpacking.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut extracting = Command::new("tar");
        extracting.args(["-x", "-C"]).arg(&incoming).arg(member).stdin(tarball);
        let extracted = extracting.end_with_parent(Signal::SIGKILL).output();
        let read = unpacking.wait().map_err(cache_error(&self.file))?;
        let extracted = extracted.map_err(missing("tar"))?;
        if !extracted.status.success() || !read.success() {
            return Err(broken(String::from_utf8_lossy(&extracted.stderr).trim().to_owned()));
        }
        // Another jitterlab may have been faster; then its copy is as good.
        fs::rename(&incoming, &target)
            .or_else(|error| if target.exists() { Ok(()) } else { Err(error) })
            .map_err(cache_error(&target))?;
        Ok(target)
    }

    /// Opens the package file; an error if it does not match the checksum in the archive's index.
    fn open_verified(&self) -> Result<File, Error> {
        let failed = cache_error(&self.file);
        let mut file = File::open(&self.file).map_err(&failed)?;
        let (mut digest, mut part) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut part).map_err(&failed)? {
                0 => break,
                n => digest.update(&part[..n]),
            }
        }
        let found: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found != self.sha256 {
            return Err(Error::refused(format!(
                "{} is not the package that the archive's signed index describes: its SHA-256 \
                 is {found} instead of {}",
                self.file.display(),
                self.sha256
            ))
            .remedy("remove it and try again"));
        }
        io::Seek::rewind(&mut file).map_err(&failed)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_package_stands_for_its_dependency() {
        let listed = "linux-image-rt-amd64\n  Depends: linux-image-6.1.0-56-rt-amd64\n  Depends: other\n";
        assert_eq!(
            dependencies_with_prefix(listed, "linux-image-").collect::<Vec<_>>(),
            ["linux-image-6.1.0-56-rt-amd64"]
        );
        assert_eq!(dependencies_with_prefix(listed, "linux-headers-").next(), None);
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
        let whole = fs::read(&file).unwrap();
        let sha256 = Sha256::digest(&whole).iter().map(|byte| format!("{byte:02x}")).collect();
        let package = Package { name: "a".into(), version: "1".into(), file: file.clone(), sha256 };
        let boot = package.unpack("./boot").unwrap();
        assert_eq!(fs::read(boot.join("boot/vmlinuz-1")).unwrap(), b"kernel");
        assert!(!boot.join("lib").exists());
        assert!(package.unpack("./lib").unwrap().join("lib/modules/1/a.ko").exists());
        assert!(package.unpack("./").unwrap().join("boot/vmlinuz-1").exists());
        assert!(package.unpack("./usr").is_err_and(|e| e.to_string().contains("does not unpack")));
        // One byte more is another package, though dpkg-deb would unpack it all the same.
        fs::write(&file, [&whole[..], b"\n"].concat()).unwrap();
        assert_eq!(package.unpack("./boot").unwrap(), boot, "unpacked before");
        assert!(package.unpack("./usr").is_err_and(|e| e.to_string().contains("is not the package")));
        let left = fs::read_dir(directory.path()).unwrap().flatten();
        assert!(left.map(|e| e.file_name().into_string().unwrap()).all(|name| !name.starts_with('.')));
    }

    #[test]
    fn the_cache_is_for_its_user_alone() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("cache");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        create_private_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let link = above.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(
            create_private_folder(&link).is_err_and(|e| e.to_string().contains("is a link or a file")),
            "a link may be another's"
        );
        let (nowhere, file) = (above.path().join("nowhere"), above.path().join("file"));
        std::os::unix::fs::symlink(above.path().join("none"), &nowhere).unwrap();
        fs::write(&file, "").unwrap();
        assert!([nowhere, file].iter().all(|it| {
            create_private_folder(it).is_err_and(|e| e.to_string().contains("is a link or a file"))
        }));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o775)).unwrap();
        assert!(create_private_folder(&folder).is_err_and(|e| e.to_string().contains("others could write")));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o775, "as it was, to be looked at");
    }
}
