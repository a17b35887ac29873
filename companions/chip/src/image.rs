//! What is written into a chip's memory before it starts.

/// A firmware: bytes at addresses, as the chip's own bus sees them (of an AVR: flash from 0, EEPROM apart; of an ARM: flash and RAM).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Code and constants: address in flash and bytes.
    pub flash: Vec<(u32, Vec<u8>)>,
    /// Address in the EEPROM and bytes.
    pub eeprom: Vec<(u32, Vec<u8>)>,
    /// Where the file says that it begins, for chips that can start anywhere.
    pub entry: Option<u32>,
    /// Where the firmware's variables end and the stack must not reach, where it is known: a data address.
    pub variables_end: Option<u32>,
    /// The three fuse bytes, low, high and extended, where the firmware brings them.
    pub fuses: Option<[u8; 3]>,
}

impl Image {
    /// The first address behind what is written into flash.
    pub fn flash_end(&self) -> u32 {
        self.flash.iter().map(|(at, bytes)| at.saturating_add(bytes.len() as u32)).max().unwrap_or(0)
    }
}
