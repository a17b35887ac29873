//! 32-bit ARM with a floating-point unit (ARMv7).

use object::elf::EM_ARM;

use super::{Architecture, Flavour};

pub static ARMHF: Architecture = Architecture {
    name: "armhf",
    rust: "arm",
    triple: "armv7-unknown-linux-gnueabihf",
    multiarch: "arm-linux-gnueabihf",
    elf: EM_ARM,
    emulator: "qemu-system-arm",
    emulator_package: "qemu-system-arm",
    // Debian's kernels for it address 4 GiB and no more: devices beyond are none.
    machine: "virt,highmem=off",
    cpu: "cortex-a15,cntfrq=1000000000",
    console: "ttyAMA0",
    answer: "ttyS0",
    answer_device: &["-device", "pci-serial,chardev=answer"],
    clock: Some("0x9010000"),
    time_slice_device: None,
    kernels: &[(Flavour::Rt, "linux-image-rt-armmp"), (Flavour::Generic, "linux-image-armmp")],
    version,
};

/// An empty version for a zImage (0x016f2818 at 0x24), whose own is compressed; `None` for other data.
fn version(image: &[u8]) -> Option<String> {
    (image.get(0x24..0x28)? == 0x016f_2818u32.to_le_bytes()).then(String::new)
}
