//! Which kernel is booted: an image file, or one of Debian's by name.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::debian::{self, DebianError, Package};

/// Debian's kernels for 64-bit PCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// With PREEMPT_RT.
    Rt,
    /// The ordinary one.
    Generic,
    /// The one for virtual machines.
    Cloud,
}

impl Flavour {
    /// All of them.
    pub const ALL: [Flavour; 3] = [Flavour::Rt, Flavour::Generic, Flavour::Cloud];

    /// The word after `debian:`.
    pub const fn name(self) -> &'static str {
        match self {
            Flavour::Rt => "rt",
            Flavour::Generic => "generic",
            Flavour::Cloud => "cloud",
        }
    }

    /// The package that depends on the newest kernel of this flavour.
    const fn meta_package(self) -> &'static str {
        match self {
            Flavour::Rt => "linux-image-rt-amd64",
            Flavour::Generic => "linux-image-amd64",
            Flavour::Cloud => "linux-image-cloud-amd64",
        }
    }
}

/// A kernel as a user names it: a path, or `debian:rt`, `debian:generic`, `debian:cloud`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelChoice {
    /// An image file.
    File(PathBuf),
    /// The newest kernel of that flavour that the package lists know.
    Debian(Flavour),
}

/// Why a kernel cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A word after `debian:` that is no flavour.
    #[error(
        "Debian has no kernel {0:?} here: use debian:rt, debian:generic, debian:cloud, or the path of a kernel image"
    )]
    UnknownFlavour(String),
    /// A flavour without `debian:`.
    #[error("{0:?} is no kernel image: did you mean debian:{0}? (a file of that name is ./{0})")]
    BareFlavour(String),
    /// It could not be read.
    #[error("cannot read the kernel image {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// It is something else.
    #[error(
        "{0} is not an x86 Linux kernel image: give a bzImage, as in /boot/vmlinuz-* or arch/x86/boot/bzImage of a kernel tree"
    )]
    NotAKernel(PathBuf),
    /// A package that holds no kernel.
    #[error("the package {0} holds no boot/vmlinuz-*")]
    EmptyPackage(String),
    /// Debian's package could not be fetched or unpacked.
    #[error(transparent)]
    Debian(#[from] DebianError),
}

impl FromStr for KernelChoice {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        match text.strip_prefix("debian:") {
            None if text == "debian" => Err(ImageError::UnknownFlavour(String::new())),
            None if Flavour::ALL.iter().any(|flavour| flavour.name() == text) => {
                Err(ImageError::BareFlavour(text.into()))
            }
            None => Ok(KernelChoice::File(text.into())),
            Some(word) => Flavour::ALL
                .into_iter()
                .find(|flavour| flavour.name() == word)
                .map(KernelChoice::Debian)
                .ok_or_else(|| ImageError::UnknownFlavour(word.into())),
        }
    }
}

impl fmt::Display for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelChoice::File(path) => write!(f, "{}", path.display()),
            KernelChoice::Debian(flavour) => write!(f, "debian:{}", flavour.name()),
        }
    }
}

/// A kernel image on this machine.
#[derive(Debug, Clone)]
pub struct Image {
    /// The kernel as it was named.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// `uname -r`, such as `6.1.0-56-rt-amd64`.
    pub release: String,
    /// The rest of its version line: who built it, `#1 SMP PREEMPT_RT ...`.
    pub version: String,
    /// The package it came in.
    pub package: Option<Package>,
}

impl Image {
    /// Whether a real-time core (Cobalt, EVL) can take this kernel's interrupts before it: kernels with the Dovetail
    /// interrupt pipeline say so in their version line.
    pub fn pipelines_interrupts(&self) -> bool {
        self.version.split_whitespace().any(|word| matches!(word, "IRQPIPE" | "IRQ_PIPELINE"))
    }
}

impl KernelChoice {
    /// Gets hold of the image, fetching Debian's package if the cache does not have it. `note` is told what
    /// takes time.
    ///
    /// # Errors
    /// A file that is no kernel image, or a package that cannot be had.
    pub fn image(&self, note: &mut dyn FnMut(&str)) -> Result<Image, ImageError> {
        let (path, package) = match self {
            KernelChoice::File(path) => (path.clone(), None),
            KernelChoice::Debian(flavour) => {
                let name = debian::dependency(flavour.meta_package(), "linux-image-")?;
                let package = debian::fetch(&name, note)?;
                (vmlinuz(&package)?, Some(package))
            }
        };
        let (release, version) = version_of(&path)?;
        Ok(Image { name: self.to_string(), path, release, version, package })
    }
}

/// The image in an unpacked kernel package.
fn vmlinuz(package: &Package) -> Result<PathBuf, ImageError> {
    let boot = package.unpacked("./boot")?.join("boot");
    let entries = std::fs::read_dir(&boot).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")))
        .ok_or_else(|| ImageError::EmptyPackage(package.name.clone()))
}

/// Reads release and version from a kernel image's setup header (Documentation/arch/x86/boot.rst of the kernel:
/// `HdrS` at 0x202, at 0x20e the position of the version text less 0x200).
fn version_of(path: &Path) -> Result<(String, String), ImageError> {
    let read = |error| ImageError::Read { path: path.into(), error };
    let file = File::open(path).map_err(read)?;
    let mut setup = vec![0; 0x8000];
    let mut length = 0;
    while let Some(rest) = setup.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, length as u64).map_err(read)? {
            0 => break,
            n => length += n,
        }
    }
    setup.truncate(length);
    let text = version_text(&setup).ok_or_else(|| ImageError::NotAKernel(path.into()))?;
    let (release, version) = text.split_once(' ').unwrap_or((text.as_str(), ""));
    Ok((release.into(), version.into()))
}

fn version_text(setup: &[u8]) -> Option<String> {
    if setup.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let at = u16::from_le_bytes(setup.get(0x20e..0x210)?.try_into().ok()?);
    let text = setup.get(usize::from(at) + 0x200..)?;
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    // A position of 0 means that the image does not say.
    Some(if at == 0 { String::new() } else { String::from_utf8_lossy(text).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernels_are_named_by_path_or_by_flavour() {
        for name in ["debian:rt", "debian:generic", "debian:cloud", "/boot/vmlinuz", "bzImage"] {
            assert_eq!(name.parse::<KernelChoice>().unwrap().to_string(), name);
        }
        let message = "debian:rtai".parse::<KernelChoice>().unwrap_err().to_string();
        assert!(message.contains("debian:rt,") && message.contains("rtai"), "{message}");
    }

    #[test]
    fn the_version_is_read_from_the_setup_header() {
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        image[0x300..0x312].copy_from_slice(b"6.1.0-rt (me) #1\0x");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bzImage");
        std::fs::write(&path, &image).unwrap();
        let found = KernelChoice::File(path.clone()).image(&mut |_| {}).unwrap();
        assert_eq!((found.release.as_str(), found.version.as_str()), ("6.1.0-rt", "(me) #1"));
        assert!(!found.pipelines_interrupts());
        let version = "(me@here) #2 SMP PREEMPT IRQPIPE Fri".into();
        assert!(Image { version, ..found }.pipelines_interrupts());
        std::fs::write(&path, "#!/bin/sh").unwrap();
        assert!(matches!(KernelChoice::File(path).image(&mut |_| {}), Err(ImageError::NotAKernel(_))));
        let missing = KernelChoice::File("/nonexistent/bzImage".into()).image(&mut |_| {}).unwrap_err();
        assert!(missing.to_string().contains("/nonexistent/bzImage"));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer_and_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..0x300)) {
            let _ = version_text(&bytes);
            if let Some(magic) = bytes.get_mut(0x202..0x206) {
                magic.copy_from_slice(b"HdrS");
            }
            let _ = version_text(&bytes);
        }
    }
}
