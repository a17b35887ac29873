//! UF2, the format for flashing the Raspberry Pi Pico: blocks of 512 bytes, each with its address
//! (Microsoft's "USB Flashing Format").

use super::error;

/// Marks at the beginning and end of a block, and the identifier of its chip family.
const BEGIN: [u8; 8] = *b"UF2\nWQ]\x9e";
const END: u32 = 0x0ab1_6f30;
const RP2040: u32 = 0xe48b_ff56;
/// Flag of blocks that are not for the main memory.
const NOT_MAIN: u32 = 1;
/// Position of the data in a block, and their largest length.
const DATA: usize = 32;
const LONGEST: usize = 476;

pub(super) fn is_uf2(bytes: &[u8]) -> bool {
    bytes.starts_with(&BEGIN)
}

/// Flash contents of a file for the RP2040: addresses and bytes, adjoining blocks joined.
pub(super) fn read_blocks(bytes: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, String> {
    let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
    let (blocks, rest) = bytes.as_chunks::<512>();
    for block in blocks {
        let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
        let size = word(16) as usize;
        if !is_uf2(block) || word(508) != END || size > LONGEST {
            return Err(error::CUT_OFF.to_owned());
        }
        if word(8) & NOT_MAIN != 0 {
            continue;
        }
        if word(28) != RP2040 {
            return Err(error::OTHER_ARM.to_owned());
        }
        let data = &block[DATA..DATA + size];
        match pieces.last_mut() {
            Some((at, before)) if at.checked_add(before.len() as u32) == Some(word(12)) => {
                before.extend(data);
            }
            _ => pieces.push((word(12), data.to_vec())),
        }
    }
    if rest.is_empty() { Ok(pieces) } else { Err(error::CUT_OFF.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(at: u32, data: &[u8], family: u32) -> Vec<u8> {
        let mut block = BEGIN.to_vec();
        for word in [0x2000, at, data.len() as u32, 0, 1, family] {
            block.extend(word.to_le_bytes());
        }
        block.extend(data);
        block.resize(508, 0);
        block.extend(END.to_le_bytes());
        block
    }

    #[test]
    fn blocks_are_put_together() {
        let file = [block(0x1000_0000, &[1; 256], RP2040), block(0x1000_0100, &[2; 4], RP2040)].concat();
        assert_eq!(read_blocks(&file).unwrap(), [(0x1000_0000, [vec![1; 256], vec![2; 4]].concat())]);
        assert!(read_blocks(&file[..700]).unwrap_err().contains("cut off"));
        assert!(read_blocks(&block(0x1000_0000, &[1; 4], 1)).unwrap_err().contains("another one"));
    }
}
