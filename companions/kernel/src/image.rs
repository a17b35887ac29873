//! Choice of the kernel to boot: an image file, or one of Debian's by name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jitterlab_model::Error;
use jitterlab_trace::source;

use super::architecture::{Architecture, Flavour};
use super::debian::{Package, PackageArchive};
use super::elf::LARGEST_BYTES;

/// A kernel as a user names it: a path, or `debian:` with a flavour (`rt`, `generic`, `cloud`), an architecture (`arm64`,
/// whose ordinary kernel it is), or both (`rt-arm64`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelChoice {
    File(PathBuf),
    /// The newest kernel of that flavour that the package lists know; of this program's own architecture unless another is named.
    Debian(Flavour, Option<&'static Architecture>),
}

fn no_kernel_error(word: &str) -> Error {
    Error::bad_use(format!("Debian has no kernel {word:?} here")).remedy(
        "use debian:rt, debian:generic, debian:cloud, for another processor debian:rt-arm64 and so on (amd64, arm64, \
         armhf), or the path of a kernel image",
    )
}

impl FromStr for KernelChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("debian:") {
            None if text == "debian" => Err(no_kernel_error("")),
            None if Flavour::ALL.iter().any(|flavour| flavour.name() == text) => {
                Err(Error::bad_use(format!("{text:?} is no kernel image"))
                    .remedy(format!("did you mean debian:{text}? (a file of that name is ./{text})")))
            }
            None => Ok(KernelChoice::File(text.into())),
            Some(word) => parse_debian_kernel(word).ok_or_else(|| no_kernel_error(word)),
        }
    }
}

/// Parses `rt`, `arm64` or `rt-arm64`; `None` for a kernel that Debian does not have.
fn parse_debian_kernel(word: &str) -> Option<KernelChoice> {
    let (flavour, architecture) = match (word.split_once('-'), architecture_by_name(word)) {
        (Some((flavour, architecture)), _) => (flavour, Some(architecture_by_name(architecture)?)),
        (None, Some(architecture)) => (Flavour::Generic.name(), Some(architecture)),
        (None, None) => (word, None),
    };
    let flavour = Flavour::ALL.into_iter().find(|one| one.name() == flavour)?;
    architecture.unwrap_or_else(Architecture::own_or_default).kernel_package(flavour)?;
    Some(KernelChoice::Debian(flavour, architecture))
}

fn architecture_by_name(name: &str) -> Option<&'static Architecture> {
    Architecture::ALL.into_iter().find(|one| one.name == name)
}

impl fmt::Display for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelChoice::File(path) => write!(f, "{}", path.display()),
            KernelChoice::Debian(flavour, None) => write!(f, "debian:{}", flavour.name()),
            KernelChoice::Debian(flavour, Some(architecture)) => {
                write!(f, "debian:{}-{}", flavour.name(), architecture.name)
            }
        }
    }
}

/// A kernel image on this machine.
#[derive(Debug, Clone)]
pub struct Image {
    pub name: String,
    pub path: PathBuf,
    pub architecture: &'static Architecture,
    /// `uname -r`, such as `6.1.0-56-rt-amd64`.
    pub release: String,
    /// The rest of its version line: who built it, `#1 SMP PREEMPT_RT ...`.
    pub version: String,
    pub package: Option<Package>,
}

impl Image {
    /// True if a real-time core (Cobalt, EVL) can take this kernel's interrupts before it: the version line
    /// of kernels with the Dovetail interrupt pipeline names it.
    pub fn has_interrupt_pipeline(&self) -> bool {
        self.version.split_whitespace().any(|word| matches!(word, "IRQPIPE" | "IRQ_PIPELINE"))
    }
}

impl KernelChoice {
    /// Finds the image; fetches Debian's package if the cache lacks it. `note` is called before work that takes time.
    pub fn find_image(&self, note: &mut dyn FnMut(&str)) -> Result<Image, Error> {
        let (path, package) = match self {
            KernelChoice::File(path) => (path.clone(), None),
            KernelChoice::Debian(flavour, architecture) => {
                let architecture = architecture.unwrap_or_else(Architecture::own_or_default);
                let meta =
                    architecture.kernel_package(*flavour).ok_or_else(|| no_kernel_error(flavour.name()))?;
                let archive = PackageArchive::for_architecture(architecture, note)?;
                let package = archive.fetch_newest(&archive.dependency(meta, "linux-image-")?, note)?;
                (find_vmlinuz(&package)?, Some(package))
            }
        };
        let (architecture, release, version) = architecture_and_version(&path)?;
        Ok(Image { name: self.to_string(), path, architecture, release, version, package })
    }
}

/// Path of the image in a kernel package, which it unpacks.
fn find_vmlinuz(package: &Package) -> Result<PathBuf, Error> {
    let boot = package.unpack("./boot")?.join("boot");
    let entries = std::fs::read_dir(&boot).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")))
        .ok_or_else(|| Error::damaged(format!("the package {} holds no boot/vmlinuz-*", package.name)))
}

/// Architecture, release and version of an image; a release it lacks is taken from a name `vmlinuz-RELEASE`.
fn architecture_and_version(path: &Path) -> Result<(&'static Architecture, String, String), Error> {
    let image = source::read(path, LARGEST_BYTES).map_err(Error::file("read", path))?;
    let found = Architecture::ALL.into_iter().find_map(|one| Some((one, (one.version)(&image)?)));
    let (architecture, text) = found.ok_or_else(|| {
        Error::damaged(format!("{} is not a Linux kernel image of a known kind", path.display())).remedy(
            "give a bzImage (x86), an Image or Image.gz (arm64) or a zImage (arm), as in \
             /boot/vmlinuz-* or arch/*/boot of a kernel tree",
        )
    })?;
    let (release, version) = text.split_once(' ').unwrap_or((text.as_str(), ""));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let release =
        if release.is_empty() { name.strip_prefix("vmlinuz-").unwrap_or_default() } else { release };
    Ok((architecture, release.into(), version.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernels_are_named_by_path_or_by_flavour() {
        let names = [
            "debian:rt",
            "debian:generic",
            "debian:cloud-arm64",
            "debian:rt-armhf",
            "/boot/vmlinuz",
            "bzImage",
        ];
        for name in names {
            assert_eq!(name.parse::<KernelChoice>().unwrap().to_string(), name);
        }
        assert_eq!("debian:arm64".parse::<KernelChoice>().unwrap().to_string(), "debian:generic-arm64");
        for wrong in ["debian:cloud-armhf", "debian:rt-", "debian:rt-vax", "debian:-arm64"] {
            assert!(
                wrong.parse::<KernelChoice>().is_err_and(|e| e.to_string().contains("has no kernel")),
                "{wrong}"
            );
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
        let found = KernelChoice::File(path.clone()).find_image(&mut |_| {}).unwrap();
        assert_eq!((found.release.as_str(), found.version.as_str()), ("6.1.0-rt", "(me) #1"));
        assert_eq!(found.architecture.name, "amd64");
        assert!(!found.has_interrupt_pipeline());
        let version = "(me@here) #2 SMP PREEMPT IRQPIPE Fri".into();
        assert!(Image { version, ..found }.has_interrupt_pipeline());
        std::fs::write(&path, "#!/bin/sh").unwrap();
        let other = KernelChoice::File(path).find_image(&mut |_| {}).unwrap_err().to_string();
        assert!(other.contains("is not a Linux kernel image"), "{other}");
        let missing = KernelChoice::File("/nonexistent/bzImage".into()).find_image(&mut |_| {}).unwrap_err();
        assert!(missing.to_string().contains("/nonexistent/bzImage"));
    }

    #[test]
    fn images_of_other_processors_are_known_by_their_headers() {
        let directory = tempfile::tempdir().unwrap();
        let read = |name: &str, image: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, image).unwrap();
            let found = KernelChoice::File(path).find_image(&mut |_| {}).unwrap();
            (found.architecture.name, found.release)
        };
        let mut image = vec![0; 0x40];
        image[0x38..0x3c].copy_from_slice(b"ARM\x64");
        image.extend(b"Linux version 6.6-rt (me@here) (gcc 12) #1 SMP\n");
        assert_eq!(read("Image", &image), ("arm64", "6.6-rt".into()));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &image).unwrap();
        assert_eq!(read("Image.gz", &packed.finish().unwrap()), ("arm64", "6.6-rt".into()));
        image[0x24..0x28].copy_from_slice(&0x016f_2818u32.to_le_bytes());
        image[0x38] = 0;
        assert_eq!(read("vmlinuz-6.1-armmp", &image), ("armhf", "6.1-armmp".into()));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer_and_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..0x300)) {
            for (at, magic) in [(0x202, &b"HdrS"[..]), (0x38, b"ARM\x64"), (0, b"\x1f\x8b\x08\0")] {
                Architecture::ALL.iter().for_each(|one| drop((one.version)(&bytes)));
                if let Some(place) = bytes.get_mut(at..at + 4) {
                    place.copy_from_slice(magic);
                }
            }
            Architecture::ALL.iter().for_each(|one| drop((one.version)(&bytes)));
        }
    }
}
