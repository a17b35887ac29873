//! Contents of a chip's memories before it starts.

/// A firmware: bytes at addresses as on the chip's own bus (AVR: flash from 0, EEPROM separate; ARM: flash and RAM).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Code and constants: address in flash and bytes.
    pub flash: Vec<(u32, Vec<u8>)>,
    /// Address in the EEPROM and bytes.
    pub eeprom: Vec<(u32, Vec<u8>)>,
    /// Entry address from the file, for chips that can start anywhere.
    pub entry: Option<u32>,
    /// End of the firmware's variables, which the stack must not reach, if known: a data address.
    pub variables_end: Option<u32>,
    /// The three fuse bytes, low, high and extended, if the firmware has them.
    pub fuses: Option<[u8; 3]>,
}

impl Image {
    /// Returns the first address behind the contents of the flash.
    pub fn flash_end(&self) -> u32 {
        self.flash.iter().map(|(at, bytes)| at.saturating_add(bytes.len() as u32)).max().unwrap_or(0)
    }
}
