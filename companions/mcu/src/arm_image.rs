//! Firmware for a chip with an ARM, from its ELF file.

use jitterlab_chip::Image;
use jitterlab_chip::arm::rp2040;
use jitterlab_model::firmware::Size;
use object::elf::{FileHeader32, PT_LOAD};
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol};

use super::error;

/// First address of writable memory.
const RAM: u32 = 0x2000_0000;

/// End of the stack, or of the variables below it, as named by linker scripts: the Pico's SDK, and others.
const ENDS: [&str; 5] = ["__StackBottom", "_end", "end", "__end__", "__bss_end__"];

/// Returns the image for a chip whose memories contain its addresses, and the size it takes in them.
pub(super) fn read(file: &ElfFile32<'_, LittleEndian>, bytes: &[u8]) -> Result<(Image, Size), String> {
    let header: &FileHeader32<LittleEndian> = file.elf_header();
    let mut image = Image { entry: Some(header.e_entry(LittleEndian)), ..Image::default() };
    let mut size = Size::default();
    for segment in file.elf_program_headers() {
        if segment.p_type(LittleEndian) != PT_LOAD {
            continue;
        }
        if segment.p_vaddr(LittleEndian) >= RAM {
            size.ram = size.ram.saturating_add(segment.p_memsz(LittleEndian));
        }
        let data = segment.data(LittleEndian, bytes).map_err(|()| error::CUT_OFF.to_owned())?;
        if data.is_empty() {
            continue;
        }
        let at = segment.p_paddr(LittleEndian);
        if at < RAM {
            size.flash = size.flash.saturating_add(data.len() as u32);
        }
        image.flash.push((at, data.to_vec()));
    }
    if image.flash.is_empty() {
        return Err(error::NO_CODE.to_owned());
    }
    if !rp2040::holds(&image) {
        return Err(error::OTHER_ARM.to_owned());
    }
    let address =
        |name: &str| file.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address());
    image.variables_end = ENDS.into_iter().find_map(address).and_then(|end| u32::try_from(end).ok());
    Ok((image, size))
}
