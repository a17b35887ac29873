//! Linker errors for a program that does not fit on its chip.

use jitterlab_chip::avr::chips::Chip;
use jitterlab_model::Error;

use super::error::{FailureCase, MemoryNeed};

/// Text of avr-ld if variables do not fit. The address before it is where they would end, with the following
/// constant added as for all data addresses.
const VARIABLES: &str = "within region `data'";
const DATA: u32 = 0x80_0000;
const CODE: &str = "fit in region `text'";

/// Turns a linker's error on memory into one that the firmware does not fit; returns others unchanged.
pub(super) fn explain_linker_error(error: Error, mcu: &str) -> Error {
    let Some(FailureCase::NotCompiled(message)) = error.case_of() else { return error };
    let Some(chip) = Chip::by_name(mcu) else { return error };
    let ends = message.lines().filter(|line| line.contains(VARIABLES)).filter_map(|line| {
        let (_, address) = line.split_once("address 0x")?;
        let end = u32::from_str_radix(address.split_whitespace().next()?, 16).ok()?;
        end.checked_sub(DATA + u32::from(chip.ram_start))
    });
    let too_large = |takes, there| {
        Error::not_measured(format!(
            "the firmware does not fit: it takes {takes}, {} has {there} bytes",
            chip.name
        ))
    };
    match ends.max() {
        Some(size) => too_large(MemoryNeed::Variables(size), chip.ram.into()),
        None if message.contains(CODE) => too_large(MemoryNeed::MoreFlash, chip.flash),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    #[test]
    fn what_does_not_fit_is_said_in_words() {
        let said = |message: &str| {
            let error = tools::not_compiled_error("avr-g++", "x", message.into());
            explain_linker_error(error, "atmega328p").to_string()
        };
        let data = "ld: address 0x800cb8 of x.elf section `.data' is not within region `data'\n\
                    ld: address 0x800ccc of x.elf section `.bss' is not within region `data'";
        assert!(
            said(data).contains("takes 3020 bytes of memory for its variables, atmega328p has 2048 bytes")
        );
        let text = "ld: x.elf section `.text' will not fit in region `text'";
        assert!(
            said(text).contains("takes more flash than there is, atmega328p has 32768 bytes"),
            "{}",
            said(text)
        );
        assert!(said("x.c:1: error").contains("x.c:1: error"));
    }
}
