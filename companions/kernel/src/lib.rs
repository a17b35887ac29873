//! A kernel image in QEMU's virtual time as a bench.
//!
//! QEMU's software emulation can count instructions and make every one last a nanosecond. A kernel booted that
//! way shows which code runs between a timer's interrupt and the first instruction of a task, on any machine,
//! without the hardware, and the same to the nanosecond each time. It shows nothing of caches and memory.
//!
//! [`image`] finds the kernel, [`initramfs`] makes the guest's file system around jitterlab and this program
//! ([`programs`]), [`qemu`] boots it, [`guest`] runs inside, [`job`] is the interface of both sides.

pub mod architecture;
pub mod cpio;
pub mod debian;
pub mod devices;
pub mod elf;
pub mod guest;
mod guest_network;
pub mod image;
pub mod initramfs;
pub mod job;
mod kept_files;
pub mod machine;
pub mod modules;
pub mod programs;
pub mod qemu;
mod qemu_arguments;
mod qmp;
pub mod session;

pub use devices::{Devices, NetworkCard};
pub use image::KernelChoice;
pub use machine::{GuestTime, Machine};
pub use qemu::GuestProgress;
pub use session::{GuestRun, KernelSession};
