//! Programs, kernel images, and archives.

use std::path::Path;
use std::sync::LazyLock;

use jitterlab_kernel::cpio;
use jitterlab_kernel::elf::{self, LibraryPath};
use jitterlab_kernel::image::KernelChoice;
use jitterlab_kernel::job::Answer;

/// Asked for once: it takes longer than all the rest.
static LIBRARIES: LazyLock<LibraryPath> = LazyLock::new(LibraryPath::from_this_machine);

/// As an ELF file, a kernel image and an archive.
pub fn programs(folder: &Path, data: &[u8], _long: bool) {
    let path = super::file(folder, "program", data);
    let _ = elf::dependency_closure(std::slice::from_ref(&path), &LIBRARIES);
    let slim = elf::without_debug_information(data.to_vec());
    assert!(slim.len() <= data.len());
    let _ = KernelChoice::File(path).find_image(&mut |_| ());
    if let Ok(files) = cpio::read(data) {
        assert!(files.iter().map(|file| file.content.len()).sum::<usize>() <= data.len());
    }
    let _ = Answer::from_bytes(data);
}
