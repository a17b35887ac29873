//! ROM functions for firmware (data sheet, 2.8.3): looked up by two letters, and rewritten here in the
//! simplest way. They take longer than the chip's own, whose cycles are not published.
//!
//! Floating-point functions are missing: a firmware that calls them jumps to an address without code.

use super::{Width, read_little_endian};

/// From address 0x10 on: a mark, the addresses of the two tables and of the search function.
const HEAD: [u16; 6] = [0x754d, 0x0301, 0x0040, 0x0070, 0x0101, 0];

/// From 0x40 on: two letters and an address for each function, and an end mark.
const FUNCTIONS: [u16; 18] = [
    table_code(b"P3"),
    POPCOUNT,
    table_code(b"R3"),
    REVERSE,
    table_code(b"L3"),
    LEADING,
    table_code(b"T3"),
    TRAILING,
    table_code(b"MS"),
    SET,
    table_code(b"S4"),
    SET,
    table_code(b"MC"),
    COPY,
    table_code(b"C4"),
    COPY,
    0,
    0,
];

const CODE_AT: usize = 0x100;
const POPCOUNT: u16 = 0x117;
const REVERSE: u16 = 0x125;
const LEADING: u16 = 0x137;
const TRAILING: u16 = 0x143;
const SET: u16 = 0x157;
const COPY: u16 = 0x167;

/// From 0x100 on.
const CODE: [u16; 60] = [
    // Searching: R0 the table, R1 the letters.
    0x8802, 0x2a00, 0xd003, 0x428a, 0xd003, 0x3004, 0xe7f8, 0x2000, 0x4770, 0x8840, 0x4770,
    // Counting ones.
    0x2100, 0x0840, 0xd300, 0x3101, 0x2800, 0xd1fa, 0xe016, // Turning bits round.
    0x2100, 0x2220, 0x1849, 0x0840, 0xd300, 0x3101, 0x3a01, 0xd1f9, 0xe00d, // Leading zeros.
    0x2120, 0x2800, 0xd00a, 0x3901, 0x0840, 0xe7fa, // Trailing zeros.
    0x2120, 0x2800, 0xd004, 0x2100, 0x0840, 0xd201, 0x3101, 0xe7fb,
    // End of these: R1 is the result.
    0x0008, 0x4770, // Setting memory.
    0x1882, 0x0003, 0x4293, 0xd202, 0x7019, 0x3301, 0xe7fa, 0x4770, // Copying memory.
    0xb510, 0x2300, 0x4293, 0xd203, 0x5ccc, 0x54c4, 0x3301, 0xe7f9, 0xbd10,
];

const fn table_code(pair: &[u8; 2]) -> u16 {
    u16::from_le_bytes(*pair)
}

/// Reads from the ROM's 16 KiB; `None` beyond them.
pub fn read(address: u32, width: Width) -> Option<u32> {
    const SIZE: u32 = 0x4000;
    let half = |at: u32| {
        let at = at as usize / 2;
        let of =
            |table: &[u16], from: usize| at.checked_sub(from / 2).and_then(|index| table.get(index)).copied();
        of(&CODE, CODE_AT).or(of(&FUNCTIONS, 0x40)).or(of(&HEAD, 0x10)).unwrap_or_default().to_le_bytes()
    };
    if address >= SIZE {
        return None;
    }
    let word = address & !3;
    let ([a, b], [c, d]) = (half(word), half(word + 2));
    read_little_endian(&[a, b, c, d], address & 3, width)
}
