//! Thumb instructions, written down for the tests.

#![allow(dead_code, reason = "each test uses some of them")]

pub const NOP: u16 = 0xbf00;
pub const BKPT: u16 = 0xbe00;
pub const BX_LR: u16 = 0x4770;
pub const CPSID: u16 = 0xb672;
pub const CPSIE: u16 = 0xb662;
pub const WFI: u16 = 0xbf30;
pub const ISB: [u16; 2] = [0xf3bf, 0x8f6f];

pub const fn movs(register: u16, value: u8) -> u16 {
    0x2000 | register << 8 | value as u16
}

pub const fn adds(register: u16, value: u8) -> u16 {
    0x3000 | register << 8 | value as u16
}

pub const fn lsls(to: u16, from: u16, by: u16) -> u16 {
    by << 6 | from << 3 | to
}

/// STR and LDR with an offset in bytes.
pub const fn store(register: u16, base: u16, offset: u16) -> u16 {
    0x6000 | (offset / 4) << 6 | base << 3 | register
}

pub const fn load(register: u16, base: u16, offset: u16) -> u16 {
    0x6800 | (offset / 4) << 6 | base << 3 | register
}

/// MOV between any two registers.
pub const fn mov(to: u16, from: u16) -> u16 {
    0x4600 | from << 3 | to & 7 | (to & 8) << 4
}

/// A number into a low register, without a literal.
pub fn set(register: u16, value: u32) -> Vec<u16> {
    let [a, b, c, d] = value.to_be_bytes();
    let mut words = vec![movs(register, a)];
    for byte in [b, c, d] {
        words.extend([lsls(register, register, 8), adds(register, byte)]);
    }
    words
}

/// A number into a place in memory, by R0 and R1.
pub fn poke(address: u32, value: u32) -> Vec<u16> {
    [set(0, address), set(1, value), vec![store(1, 0, 0)]].concat()
}

pub fn bytes(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
