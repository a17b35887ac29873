//! 64-bit ARM: boards such as a Raspberry Pi, as far as a kernel's code paths go.

use std::io::Read;

use object::elf::EM_AARCH64;

use super::{Architecture, Flavour, version_banner};

pub static ARM64: Architecture = Architecture {
    name: "arm64",
    rust: "aarch64",
    triple: "aarch64-unknown-linux-gnu",
    multiarch: "aarch64-linux-gnu",
    elf: EM_AARCH64,
    emulator: "qemu-system-aarch64",
    emulator_package: "qemu-system-arm",
    machine: "virt",
    // The core of a Raspberry Pi 4; its counter runs at 1 GHz instead of the emulator's 62.5 MHz, so that it
    // counts nanoseconds.
    cpu: "cortex-a72,cntfrq=1000000000",
    console: "ttyAMA0",
    // The machine has one serial line; the driver of this one is built into distributions' kernels.
    answer: "ttyS0",
    answer_device: &["-device", "pci-serial,chardev=answer"],
    clock: Some("0x9010000"),
    time_slice_device: None,
    kernels: &[
        (Flavour::Rt, "linux-image-rt-arm64"),
        (Flavour::Generic, "linux-image-arm64"),
        (Flavour::Cloud, "linux-image-cloud-arm64"),
    ],
    version,
};

const LARGEST_BYTES: u64 = 1 << 28;

/// Version banner of an arm64 image, compressed or not; `None` for other data.
/// Documentation/arch/arm64/booting.rst of the kernel.
fn version(image: &[u8]) -> Option<String> {
    if image.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(image).take(LARGEST_BYTES).read_to_end(&mut plain).ok()?;
        return uncompressed_version(&plain);
    }
    uncompressed_version(image)
}

fn uncompressed_version(image: &[u8]) -> Option<String> {
    (image.get(0x38..0x3c)? == b"ARM\x64").then(|| version_banner(image).unwrap_or_default())
}
