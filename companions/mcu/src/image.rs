//! Firmware files (ELF, Intel HEX or UF2), read into an image for the chip.

use std::ops::Range;
use std::path::Path;

use jitterlab_chip::Image;
use jitterlab_chip::arm::rp2040;
use jitterlab_model::Error;
use jitterlab_model::firmware::FirmwareSize;
use jitterlab_trace::source;
use object::elf::{FileHeader32, PT_LOAD, ProgramHeader32};
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};

use super::uf2;

/// A firmware with the data in its file about itself.
#[derive(Debug, Clone, Default)]
pub struct FirmwareFile {
    pub image: Image,
    /// The chip's name: from avr-libc's note, or simavr's section.
    pub mcu: Option<String>,
    /// The clock's frequency in Hz: from simavr's section.
    pub clock_hz: Option<u32>,
    pub size: FirmwareSize,
    pub is_avr: bool,
    /// The file's bytes, if it is an ELF file, for names of functions and lines.
    pub elf: Option<Vec<u8>>,
}

/// Address ranges of avr-gcc for everything but flash: see its linker scripts.
pub(super) const DATA: u32 = 0x80_0000;
const EEPROM: u32 = 0x81_0000;
const FUSES: u32 = 0x82_0000;
const LOCK: u32 = 0x83_0000;
/// Size of the largest file; most of it is debug data.
const LARGEST_BYTES: u64 = 64 << 20;

/// Reads a firmware file in any of the formats.
pub fn read_firmware(path: &Path) -> Result<FirmwareFile, Error> {
    let bytes = source::read(path, LARGEST_BYTES).map_err(Error::file("read", path))?;
    let refused =
        |message: String| Error::damaged(format!("{} cannot be simulated: {message}", path.display()));
    if bytes.starts_with(b"\x7fELF") {
        from_elf(bytes).map_err(refused)
    } else if uf2::is_uf2(&bytes) {
        uf2::read_blocks(&bytes)
            .and_then(|flash| from_flash_image(Image { flash, ..Image::default() }))
            .map_err(refused)
    } else if bytes.first() == Some(&b':') {
        from_hex(&String::from_utf8_lossy(&bytes)).map_err(refused)
    } else {
        Err(Error::damaged(format!("{} is neither an ELF file, Intel HEX nor UF2", path.display()))
            .remedy("give what the linker wrote (.elf), or what is flashed (.hex, .uf2)"))
    }
}

fn from_elf(bytes: Vec<u8>) -> Result<FirmwareFile, String> {
    let file = ElfFile32::<LittleEndian>::parse(bytes.as_slice()).map_err(|e| e.to_string())?;
    let header: &FileHeader32<LittleEndian> = file.elf_header();
    let machine = header.e_machine(LittleEndian);
    match machine {
        object::elf::EM_AVR => {}
        object::elf::EM_ARM => {
            let (image, size) = arm_image(&file, &bytes)?;
            let mcu = Some(rp2040::NAME.into());
            return Ok(FirmwareFile { image, size, mcu, elf: Some(bytes), ..FirmwareFile::default() });
        }
        other => return Err(super::error::other_processor(other)),
    }
    let mut image = Image::default();
    let segments = loaded_segments(&file, &bytes)?;
    let mut size =
        FirmwareSize { ram: bytes_taken_in_memory(&segments, DATA..EEPROM), ..FirmwareSize::default() };
    for Segment { load_at, data, .. } in segments.into_iter().filter(|segment| !segment.data.is_empty()) {
        match load_at {
            ..DATA => {
                size.flash += data.len() as u32;
                image.flash.push((load_at, data.to_vec()));
            }
            EEPROM..FUSES => image.eeprom.push((load_at - EEPROM, data.to_vec())),
            FUSES..LOCK if data.len() >= 3 => image.fuses = Some([data[0], data[1], data[2]]),
            _ => {}
        }
    }
    if image.flash.is_empty() {
        return Err(super::error::NO_CODE.to_owned());
    }
    let end = file.symbols().find(|symbol| symbol.name() == Ok("_end"));
    image.variables_end = end.and_then(|symbol| u32::try_from(symbol.address()).ok()?.checked_sub(DATA));
    let section = |name: &str| file.section_by_name(name).and_then(|s| s.data().ok());
    let (mut mcu, mut clock_hz) = section(".mmcu").map_or((None, None), chip_and_clock_from_simavr);
    mcu = mcu.or_else(|| chip_from_note(section(".note.gnu.avr.deviceinfo")?));
    clock_hz = clock_hz.filter(|hz| *hz > 0);
    Ok(FirmwareFile { image, mcu, clock_hz, size, is_avr: true, elf: Some(bytes) })
}

/// First address of an ARM's writable memory.
const RAM: u32 = 0x2000_0000;

/// End of an ARM's stack, or of the variables below it, as named by linker scripts: the Pico's SDK, and others.
const STACK_END_SYMBOLS: [&str; 5] = ["__StackBottom", "_end", "end", "__end__", "__bss_end__"];

/// Image for a chip with an ARM whose memories contain its addresses, and the size it takes in them.
fn arm_image(file: &ElfFile32<'_, LittleEndian>, bytes: &[u8]) -> Result<(Image, FirmwareSize), String> {
    let header: &FileHeader32<LittleEndian> = file.elf_header();
    let mut image = Image { entry: Some(header.e_entry(LittleEndian)), ..Image::default() };
    let segments = loaded_segments(file, bytes)?;
    let mut size =
        FirmwareSize { ram: bytes_taken_in_memory(&segments, RAM..u32::MAX), ..FirmwareSize::default() };
    for Segment { load_at, data, .. } in segments.into_iter().filter(|segment| !segment.data.is_empty()) {
        if load_at < RAM {
            size.flash = size.flash.saturating_add(data.len() as u32);
        }
        image.flash.push((load_at, data.to_vec()));
    }
    if image.flash.is_empty() {
        return Err(super::error::NO_CODE.to_owned());
    }
    if !rp2040::is_rp2040_image(&image) {
        return Err(super::error::OTHER_ARM.to_owned());
    }
    let address =
        |name: &str| file.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address());
    image.variables_end =
        STACK_END_SYMBOLS.into_iter().find_map(address).and_then(|end| u32::try_from(end).ok());
    Ok((image, size))
}

/// A part of an ELF file that is loaded.
struct Segment<'a> {
    run_at: u32,
    /// Bytes that it takes where the program runs.
    taken: u32,
    load_at: u32,
    data: &'a [u8],
}

/// Parts that are loaded; each byte of the file is used once, or a small file could need much memory.
fn loaded_segments<'a>(
    file: &ElfFile32<'_, LittleEndian>,
    bytes: &'a [u8],
) -> Result<Vec<Segment<'a>>, String> {
    let mut left = bytes.len();
    let loaded = file.elf_program_headers().iter().filter(|header| header.p_type(LittleEndian) == PT_LOAD);
    let segment = |header: &ProgramHeader32<LittleEndian>| {
        let data = header.data(LittleEndian, bytes).map_err(|()| super::error::CUT_OFF.to_owned())?;
        left = left.checked_sub(data.len()).ok_or(super::error::OVERLAPS)?;
        let (run_at, taken) = (header.p_vaddr(LittleEndian), header.p_memsz(LittleEndian));
        Ok(Segment { run_at, taken, load_at: header.p_paddr(LittleEndian), data })
    };
    loaded.map(segment).collect()
}

/// Bytes in memory of the segments that begin at these addresses.
fn bytes_taken_in_memory(segments: &[Segment<'_>], addresses: Range<u32>) -> u32 {
    let taken = segments.iter().filter(|segment| addresses.contains(&segment.run_at));
    taken.fold(0, |sum, segment| sum.saturating_add(segment.taken))
}

/// Chip in the note of avr-libc's start-up code; `None` if it names none.
/// It has a header of 16 bytes, the bounds of three memories, a table of offsets and strings.
fn chip_from_note(note: &[u8]) -> Option<String> {
    const MEMORIES: usize = 16 + 6 * 4;
    let word = |at: usize| Some(u32::from_le_bytes(note.get(at..at + 4)?.try_into().ok()?) as usize);
    let strings = MEMORIES + word(MEMORIES)?;
    let name = note.get(strings + word(MEMORIES + 4)?..)?;
    zero_terminated_name(name)
}

/// Name up to a zero byte; `None` if it is empty or not alphanumeric.
fn zero_terminated_name(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let name = String::from_utf8(bytes[..end].to_vec()).ok()?;
    (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric())).then_some(name)
}

/// Returns chip and clock from the section of `AVR_MCU(speed, name)` in simavr's header: bytes of tag, length, value.
fn chip_and_clock_from_simavr(mut section: &[u8]) -> (Option<String>, Option<u32>) {
    const NAME: u8 = 1;
    const FREQUENCY: u8 = 2;
    let (mut mcu, mut clock_hz) = (None, None);
    while let [tag, length, rest @ ..] = section {
        let (value, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        match *tag {
            NAME => mcu = zero_terminated_name(value),
            FREQUENCY => clock_hz = value.try_into().ok().map(u32::from_le_bytes),
            _ => {}
        }
        section = rest;
    }
    (mcu, clock_hz)
}

fn from_hex(content: &str) -> Result<FirmwareFile, String> {
    let mut image = Image::default();
    let mut base = 0u32;
    for record in ihex::Reader::new(content) {
        match record.map_err(|error| error.to_string())? {
            ihex::Record::Data { offset, value } => {
                let at = base + u32::from(offset);
                match image.flash.last_mut() {
                    Some((first, bytes)) if u64::from(*first) + bytes.len() as u64 == u64::from(at) => {
                        bytes.extend(value);
                    }
                    _ => image.flash.push((at, value)),
                }
            }
            ihex::Record::ExtendedSegmentAddress(segment) => base = u32::from(segment) << 4,
            ihex::Record::ExtendedLinearAddress(high) => base = u32::from(high) << 16,
            ihex::Record::EndOfFile => break,
            _ => {}
        }
    }
    from_flash_image(image)
}

/// Creates a firmware from a file that has only the flash contents.
fn from_flash_image(image: Image) -> Result<FirmwareFile, String> {
    if image.flash.is_empty() {
        return Err(super::error::NO_CODE.to_owned());
    }
    let size = FirmwareSize { flash: image.flash.iter().map(|(_, bytes)| bytes.len() as u32).sum(), ram: 0 };
    let mcu = rp2040::is_rp2040_image(&image).then(|| rp2040::NAME.into());
    Ok(FirmwareFile { image, mcu, size, ..FirmwareFile::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hex_file_is_read_with_its_addresses() {
        let text = ":020000040000FA\n:040000001122334452\n:0200040055663F\n:020000021000EC\n:010000007788\n:00000001FF\n";
        let loaded = from_hex(text).unwrap();
        assert_eq!(
            loaded.image.flash,
            [(0, vec![0x11, 0x22, 0x33, 0x44, 0x55, 0x66]), (0x1_0000, vec![0x77])]
        );
        assert_eq!(loaded.size, FirmwareSize { flash: 7, ram: 0 });
        assert!(from_hex(&text.replace("55", "56")).is_err(), "a sum that is wrong");
    }

    #[test]
    fn bytes_at_the_end_of_all_addresses_are_more_than_a_chip_holds() {
        let text = ":02000004FFFFFC\n:10FFF0000000000000000000000000000000000001\n:00000001FF\n";
        assert_eq!(from_hex(text).unwrap().image.flash_end(), u32::MAX);
    }

    #[test]
    fn segments_that_hold_more_than_the_file_are_refused() {
        let mut elf = std::fs::read("../../fuzz/corpus/firmware/timer.elf").unwrap();
        let at = |elf: &[u8], field: usize| usize::from(elf[field]) | usize::from(elf[field + 1]) << 8;
        let (headers, length, count) = (at(&elf, 28), at(&elf, 42), at(&elf, 44));
        let first = elf[headers..headers + length].to_vec();
        assert!(from_elf(elf.clone()).is_ok());
        // The same segment, again and again.
        let many = 40_000 / first.len();
        let end = elf.len() as u32;
        elf[28..32].copy_from_slice(&end.to_le_bytes());
        elf[44..46].copy_from_slice(&(many as u16).to_le_bytes());
        assert!(count < many);
        let mut whole = first;
        let length_of_file = end + (many * length) as u32;
        whole[4..8].fill(0);
        whole[16..20].copy_from_slice(&length_of_file.to_le_bytes());
        (0..many).for_each(|_| elf.extend(&whole));
        assert_eq!(from_elf(elf).unwrap_err(), super::super::error::OVERLAPS);
    }

    #[test]
    fn simavrs_section_names_chip_and_clock() {
        let mut section = vec![1, 64];
        section.extend(b"atmega88");
        section.resize(2 + 64, 0);
        section.extend([2, 4, 0x00, 0x12, 0x7a, 0x00, 0, 0]);
        assert_eq!(chip_and_clock_from_simavr(&section), (Some("atmega88".into()), Some(8_000_000)));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = chip_and_clock_from_simavr(&bytes);
            let _ = chip_from_note(&bytes);
            let _ = from_hex(&String::from_utf8_lossy(&bytes));
            let mut elf = b"\x7fELF\x01\x01\x01".to_vec();
            elf.extend(bytes);
            let _ = from_elf(elf);
        }
    }
}
