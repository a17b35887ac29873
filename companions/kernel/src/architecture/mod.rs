//! The processors that kernels are booted on, one file each: the emulated machine, the names of its devices,
//! the format of its kernel images.

mod amd64;
mod arm64;
mod armhf;

pub use amd64::AMD64;
pub use arm64::ARM64;
pub use armhf::ARMHF;

/// The kinds of kernel that Debian builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    Rt,
    Generic,
    /// The one for virtual machines.
    Cloud,
}

impl Flavour {
    pub const ALL: [Flavour; 3] = [Flavour::Rt, Flavour::Generic, Flavour::Cloud];

    pub const fn name(self) -> &'static str {
        match self {
            Flavour::Rt => "rt",
            Flavour::Generic => "generic",
            Flavour::Cloud => "cloud",
        }
    }
}

/// A kind of processor, and the machine around it.
#[derive(Debug)]
pub struct Architecture {
    /// Debian's name of it.
    pub name: &'static str,
    /// Rust's, as in [`std::env::consts::ARCH`].
    rust: &'static str,
    pub triple: &'static str,
    /// The folder below `lib` that Debian keeps its libraries in.
    pub multiarch: &'static str,
    /// The number of it in ELF files.
    pub elf: u16,
    pub emulator: &'static str,
    pub emulator_package: &'static str,
    /// QEMU's name of the machine, and of its processor.
    pub(super) machine: &'static str,
    pub(super) cpu: &'static str,
    /// The serial line of the console, and the one that the answer comes through.
    pub(super) console: &'static str,
    /// Device name in the kernel of the serial line for the answer.
    pub(super) answer: &'static str,
    /// The device of that line; `serial` is a further one of the machine's own.
    pub(super) answer_device: &'static [&'static str],
    /// Address in the machine's memory of the clock's seconds; `None`: the clock is a property of the
    /// machine.
    pub(super) clock: Option<&'static str>,
    /// QEMU's device for a further processor, where several can share time in slices.
    pub(super) time_slice_device: Option<&'static str>,
    /// Debian's packages that depend on its newest kernels.
    pub(super) kernels: &'static [(Flavour, &'static str)],
    /// Reads the version in an image file; `None` if it is no kernel of this processor.
    pub(super) version: fn(&[u8]) -> Option<String>,
}

impl PartialEq for Architecture {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Architecture {}

impl Architecture {
    pub const ALL: [&'static Architecture; 3] = [&AMD64, &ARM64, &ARMHF];

    /// The architecture that this program was built for; `None` if no kernel of it can be booted.
    pub fn own() -> Option<&'static Architecture> {
        Self::ALL.into_iter().find(|one| one.rust == std::env::consts::ARCH)
    }

    /// Returns this program's own architecture, or amd64 if its kernels cannot be booted.
    pub fn own_or_default() -> &'static Architecture {
        Self::own().unwrap_or(&AMD64)
    }

    pub fn by_elf_machine(machine: u16) -> Option<&'static Architecture> {
        Self::ALL.into_iter().find(|one| one.elf == machine)
    }

    /// Returns Debian's package that depends on its newest kernel of a flavour.
    pub(super) fn kernel_package(&self, flavour: Flavour) -> Option<&'static str> {
        self.kernels.iter().find(|(of, _)| *of == flavour).map(|(_, package)| *package)
    }
}

/// Release, builder and build from the `Linux version` text of an uncompressed image; `None` without one.
/// The rest is from `#1` on, as in x86's images. If there are two, the first is a pattern without the number.
fn version_banner(image: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"Linux version ";
    // Most bytes of an image are no `L`.
    let at = image.iter().enumerate().filter(|(_, byte)| **byte == MARK[0]).map(|(at, _)| at);
    let from = at.filter_map(|at| image.get(at..)?.strip_prefix(MARK)).next_back()?;
    let line = from.split(|byte| [0, b'\n'].contains(byte)).next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let (builder, built) = (line.find(") ")?, line.find(" #")?);
    Some(format!("{}{}", line.get(..=builder)?, line.get(built..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_tells_what_an_x86_image_tells() {
        let image = b"\0Lin\0Linux version 6.1.0-56-rt-arm64 (me@here) (gcc-12 12.2) # SMP PREEMPT_RT (2026)\n\0Linux version \
            6.1.0-56-rt-arm64 (me@here) (gcc-12 (Debian 12) 12.2, GNU ld) #1 SMP PREEMPT_RT (2026)\n\0";
        assert_eq!(version_banner(image).unwrap(), "6.1.0-56-rt-arm64 (me@here) #1 SMP PREEMPT_RT (2026)");
        assert_eq!((version_banner(b"Linux version "), version_banner(b"")), (None, None));
    }

    #[test]
    fn each_is_found_by_its_number_and_has_an_ordinary_kernel() {
        for one in Architecture::ALL {
            assert_eq!(Architecture::by_elf_machine(one.elf), Some(one));
            assert!(
                one.kernel_package(Flavour::Rt).is_some() && one.kernel_package(Flavour::Generic).is_some()
            );
        }
    }
}
