//! Location of an address in a firmware: its function, from the symbol table, and its line, from debug data
//! (DWARF, or the stabs that Debian's avr-gcc writes with plain `-g`).

use std::borrow::Cow;
use std::cell::RefCell;

use addr2line::gimli;
use jitterlab_model::firmware::CodeLocation;
use object::read::elf::ElfFile32;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SymbolKind};

type DwarfReader<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

/// Functions, variables and lines of a firmware, by their addresses.
pub struct Symbols<'a> {
    /// Addresses and names of functions, in order.
    functions: Vec<(u32, String)>,
    /// Data address, bytes and name of an AVR's variables.
    variables: Vec<(u16, u64, String)>,
    dwarf: Option<RefCell<addr2line::Context<DwarfReader<'a>>>>,
    /// Addresses, files and lines, in order.
    stabs: Vec<(u32, String, u16)>,
}

impl<'a> Symbols<'a> {
    /// Reads the names of an ELF file; `vector` returns the name of a vector. Without a file, or with a
    /// damaged one, there are no names.
    pub fn new(elf: Option<&'a [u8]>, vector: impl Fn(u8) -> Option<String>) -> Self {
        let nothing =
            Symbols { functions: Vec::new(), variables: Vec::new(), dwarf: None, stabs: Vec::new() };
        let Some(file) = elf.and_then(|bytes| ElfFile32::<LittleEndian>::parse(bytes).ok()) else {
            return nothing;
        };
        let is_arm = file.elf_header().e_machine.get(LittleEndian) == object::elf::EM_ARM;
        let code = |s: &object::read::elf::ElfSymbol32<'a, '_, LittleEndian>| {
            s.is_definition()
                && matches!(s.kind(), SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label)
        };
        let mut functions: Vec<(u32, String)> = file
            .symbols()
            .filter(code)
            .filter_map(|symbol| {
                // The last bit of an ARM's Thumb function address is set.
                let address = u32::try_from(symbol.address()).ok();
                let address = if is_arm {
                    address.map(|a| a & !1)
                } else {
                    address.filter(|a| *a < super::image::DATA)
                }?;
                let name = symbol.name().ok().filter(|n| !n.is_empty() && !n.starts_with(['.', '$']))?;
                let handler = name.strip_prefix("__vector_").and_then(|n| n.parse().ok()).and_then(&vector);
                let plain = || addr2line::demangle_auto(Cow::Borrowed(name), None).into_owned();
                Some((address, handler.unwrap_or_else(plain)))
            })
            .collect();
        functions.sort();
        let variables = file
            .symbols()
            .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Data)
            .filter_map(|symbol| {
                let address = u32::try_from(symbol.address()).ok()?.checked_sub(super::image::DATA)?;
                let name = addr2line::demangle_auto(Cow::Borrowed(symbol.name().ok()?), None).into_owned();
                Some((u16::try_from(address).ok()?, symbol.size(), name))
            })
            .collect();
        let section = |name: &str| file.section_by_name(name).and_then(|s| s.data().ok()).unwrap_or_default();
        let load = |id: gimli::SectionId| {
            Ok::<_, gimli::Error>(DwarfReader::new(section(id.name()), gimli::LittleEndian))
        };
        let has_lines = !section(".debug_line").is_empty();
        let dwarf = has_lines
            .then(|| gimli::Dwarf::load(load).and_then(addr2line::Context::from_dwarf).ok())
            .flatten();
        Symbols {
            functions,
            variables,
            dwarf: dwarf.map(RefCell::new),
            stabs: parse_stabs(section(".stab"), section(".stabstr")),
        }
    }

    pub fn location(&self, address: u32) -> CodeLocation {
        let before = self.functions.partition_point(|(begin, _)| *begin <= address);
        let function = before.checked_sub(1).map(|index| self.functions[index].1.clone());
        CodeLocation {
            address,
            function,
            line: self.dwarf_line(address).or_else(|| self.stabs_line(address)),
        }
    }

    /// Name of the variable that has exactly these bytes.
    pub fn variable_name(&self, address: u16, bytes: u8) -> Option<String> {
        let is_it = |of: &&(u16, u64, String)| of.0 == address && of.1 == u64::from(bytes);
        self.variables.iter().find(is_it).map(|(.., name)| name.clone())
    }

    fn dwarf_line(&self, address: u32) -> Option<String> {
        let context = self.dwarf.as_ref()?.borrow_mut();
        let location = context.find_location(u64::from(address)).ok()??;
        Some(format!("{}:{}", short_file_name(location.file?), location.line?))
    }

    fn stabs_line(&self, address: u32) -> Option<String> {
        let after = self.stabs.partition_point(|(begin, ..)| *begin <= address);
        let (_, file, line) = self.stabs.get(after.checked_sub(1)?)?;
        (*line > 0).then(|| format!("{}:{line}", short_file_name(file)))
    }
}

/// File name without the directories of the build.
fn short_file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Addresses, files and lines from stabs, in order of address.
/// Entries have twelve bytes; addresses of lines are relative to the function
/// they are in (the "stabs" document of binutils, chapters 2 and 6).
fn parse_stabs(entries: &[u8], strings: &[u8]) -> Vec<(u32, String, u16)> {
    const FUNCTION: u8 = 0x24;
    const LINE: u8 = 0x44;
    const SOURCE: u8 = 0x64;
    const INCLUDED: u8 = 0x84;
    let (mut lines, mut file, mut function, mut unit) = (Vec::new(), String::new(), 0, 0);
    let (entries, _) = entries.as_chunks::<12>();
    for &[s0, s1, s2, s3, kind, _, d0, d1, v0, v1, v2, v3] in entries {
        let text = || {
            let at = unit + u32::from_le_bytes([s0, s1, s2, s3]) as usize;
            let rest = strings.get(at..).unwrap_or_default();
            let end = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
            String::from_utf8_lossy(&rest[..end]).into_owned()
        };
        let value = u32::from_le_bytes([v0, v1, v2, v3]);
        match kind {
            // The first entry of a unit has the length of its strings.
            0 => unit += if lines.is_empty() && file.is_empty() { 0 } else { value as usize },
            FUNCTION if !text().is_empty() => function = value,
            LINE => lines.push((function.wrapping_add(value), file.clone(), u16::from_le_bytes([d0, d1]))),
            SOURCE | INCLUDED => file = text(),
            _ => {}
        }
    }
    lines.sort();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firmware_without_names_still_has_addresses() {
        let place = Symbols::new(None, |_| None).location(0x123);
        assert_eq!(place, CodeLocation { address: 0x123, function: None, line: None });
        assert_eq!(Symbols::new(Some(b"\x7fELF damaged"), |_| None).location(2).function, None);
        assert!(parse_stabs(&[1; 30], &[2; 3]).iter().all(|(_, file, _)| file.is_empty()));
    }

    #[test]
    fn lines_of_stabs_count_from_their_function() {
        let entry = |text: u32, kind: u8, line: u16, value: u32| {
            [&text.to_le_bytes()[..], &[kind, 0], &line.to_le_bytes(), &value.to_le_bytes()].concat()
        };
        let strings = b"\0main.c\0main:F1\0";
        let entries =
            [entry(1, 0x64, 0, 0x80), entry(8, 0x24, 3, 0x80), entry(0, 0x44, 4, 0), entry(0, 0x44, 7, 0x10)]
                .concat();
        assert_eq!(parse_stabs(&entries, strings), [(0x80, "main.c".into(), 4), (0x90, "main.c".into(), 7)]);
    }
}
