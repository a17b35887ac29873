//! The time services under `mcu/`, carried inside this crate so that an installed jitterlab can build firmware.

use std::fs;
use std::path::Path;

use jitterlab_model::Error;

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../mcu/", $path)))),*]
    };
}

/// Every source file of the firmware, with its path under `mcu/`.
pub(super) const SOURCES: &[(&str, &str)] = sources![
    "programs/alarms.cc",
    "programs/arduino_millis.cc",
    "programs/arduino_tone.cc",
    "programs/board.h",
    "programs/board_rp2040.h",
    "programs/by_hand.cc",
    "programs/delays.cc",
    "programs/empty.cc",
    "programs/epos.h",
    "programs/glowing_leds.cc",
    "programs/inline_alarm.cc",
    "programs/nearby_alarms.cc",
    "programs/one_alarm.cc",
    "programs/periodic_alarm.cc",
    "programs/polled_wait.cc",
    "programs/reprogramming.cc",
    "programs/rp2040/memory.ld",
    "programs/rp2040/start.cc",
    "programs/time_services.cc",
    "src/mcu.h",
    "src/mcu/alarm.h",
    "src/mcu/arithmetic.h",
    "src/mcu/chronometer.h",
    "src/mcu/clock.h",
    "src/mcu/cpu.h",
    "src/mcu/deferred.h",
    "src/mcu/device/avr_cpu.h",
    "src/mcu/device/avr_interrupts.h",
    "src/mcu/device/avr_rtc.h",
    "src/mcu/device/avr_timer16.h",
    "src/mcu/device/avr_timer2.h",
    "src/mcu/device/avr_timer2_crystal.h",
    "src/mcu/device/avr_uart.h",
    "src/mcu/device/cortex_m_cpu.h",
    "src/mcu/device/cortex_m_systick.h",
    "src/mcu/device/posix_board.h",
    "src/mcu/device/posix_cpu.h",
    "src/mcu/device/posix_timer.h",
    "src/mcu/device/rp2040_timer.h",
    "src/mcu/device/rp2040_uart.h",
    "src/mcu/handler.h",
    "src/mcu/handler_semaphore.h",
    "src/mcu/handler_thread.h",
    "src/mcu/ostream.h",
    "src/mcu/period.h",
    "src/mcu/relative_queue.h",
    "src/mcu/semaphore.h",
    "src/mcu/services.h",
    "src/mcu/strategy/absolute.h",
    "src/mcu/strategy/anchored.h",
    "src/mcu/strategy/countdown.h",
    "src/mcu/strategy/free_running.h",
    "src/mcu/strategy/periodic.h",
    "src/mcu/strategy/single_shot.h",
    "src/mcu/strategy/soft.h",
    "src/mcu/thread.h",
    "src/mcu/tick.h",
    "src/mcu/timer.h",
    "src/mcu/traits.h",
    "src/mcu/tsc.h",
];

pub(super) fn write_sources(directory: &Path) -> Result<(), Error> {
    for (path, text) in SOURCES {
        let file = directory.join(path);
        let parent = file.parent().unwrap_or(directory);
        fs::create_dir_all(parent).map_err(Error::file("make", parent))?;
        fs::write(&file, text).map_err(Error::file("write", &file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_header_and_no_program_is_forgotten() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mcu");
        let mut found = Vec::new();
        let mut open = vec![root.join("src"), root.join("programs")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found.sort();
        assert_eq!(found, SOURCES.iter().map(|s| s.0).collect::<Vec<_>>());
    }
}
