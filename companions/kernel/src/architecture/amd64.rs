//! 64-bit PCs.

use object::elf::EM_X86_64;

use super::{Architecture, Flavour};

pub static AMD64: Architecture = Architecture {
    name: "amd64",
    rust: "x86_64",
    triple: "x86_64-unknown-linux-gnu",
    multiarch: "x86_64-linux-gnu",
    elf: EM_X86_64,
    emulator: "qemu-system-x86_64",
    emulator_package: "qemu-system-x86",
    machine: "pc",
    cpu: "qemu64",
    console: "ttyS0",
    // The second serial line, which is the one way out that every PC kernel has built in: the same driver as the console's.
    answer: "ttyS1",
    answer_device: &["-serial", "chardev:answer"],
    clock: None,
    time_slice_device: Some("qemu64-x86_64-cpu"),
    kernels: &[
        (Flavour::Rt, "linux-image-rt-amd64"),
        (Flavour::Generic, "linux-image-amd64"),
        (Flavour::Cloud, "linux-image-cloud-amd64"),
    ],
    version,
};

/// Release and version from a kernel image's setup header; `None` for other data.
/// Documentation/arch/x86/boot.rst of the kernel: `HdrS` at 0x202, at 0x20e the position of the version text less 0x200.
fn version(image: &[u8]) -> Option<String> {
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let at = u16::from_le_bytes(image.get(0x20e..0x210)?.try_into().ok()?);
    let text = image.get(usize::from(at) + 0x200..)?;
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    // A position of 0 means that the image has no version.
    Some(if at == 0 { String::new() } else { String::from_utf8_lossy(text).into_owned() })
}
