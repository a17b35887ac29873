//! Firmware, and what comes to its pins from outside.

use std::path::Path;

use jitterlab_mcu::{Setup, StimulusSpec, image, simulate};

/// A processor that jumps to itself for ever.
const IDLE: &[u8] = b":02000000FFCF30\n:00000001FF\n";

fn on_a_chip(firmware: &Path) -> Setup {
    Setup { mcu: Some("atmega328p".into()), clock_hz: Some(16_000_000), ..Setup::new(firmware, 2_000) }
}

/// On the chip that the file is for, where that is the RP2040.
fn on_a_pico(firmware: &Path) -> Setup {
    Setup { clock_hz: Some(125_000_000), ..Setup::new(firmware, 2_000) }
}

/// As a value change dump, and as pulses; what takes long: whatever pins it names are driven.
pub fn stimuli(folder: &Path, data: &[u8], long: bool) {
    let dump = super::file(folder, "stimulus.vcd", data);
    let text = std::str::from_utf8(data).unwrap_or_default();
    // What is named like a file is none of ours.
    let pulses = text.parse().ok().filter(|spec| matches!(spec, StimulusSpec::Pulses { .. }));
    for spec in [Some(StimulusSpec::File(dump)), pulses].into_iter().flatten() {
        if let Some(stimuli) = spec.read_stimuli().ok().filter(|_| long) {
            let idle = super::file(folder, "idle.hex", IDLE);
            let _ = simulate(&Setup { stimuli, ..on_a_chip(&idle) });
        }
    }
}

/// As a firmware; what takes long: it runs for 2 000 cycles.
pub fn firmware(folder: &Path, data: &[u8], long: bool) {
    let path = super::file(folder, "firmware", data);
    let Ok(loaded) = image::read_firmware(&path) else { return };
    if long {
        let is_pico = loaded.mcu.as_deref() == Some("rp2040");
        let _ = simulate(&if is_pico { on_a_pico(&path) } else { on_a_chip(&path) });
    }
}
