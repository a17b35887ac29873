//! The time services under `mcu/`, carried inside this crate so that an installed jitterlab can build firmware.

use std::fs;
use std::path::Path;

use super::McuError;

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../mcu/", $path)))),*]
    };
}

/// Every file that firmware is made of, with its path under `mcu/`.
pub(super) const SOURCES: &[(&str, &str)] = sources![
    "include/mcu/alarm.h",
    "include/mcu/arithmetic.h",
    "include/mcu/chronometer.h",
    "include/mcu/clock.h",
    "include/mcu/cpu.h",
    "include/mcu/device/avr_cpu.h",
    "include/mcu/device/avr_rtc.h",
    "include/mcu/device/avr_timer1.h",
    "include/mcu/device/avr_uart.h",
    "include/mcu/device/posix_board.h",
    "include/mcu/device/posix_cpu.h",
    "include/mcu/device/posix_timer.h",
    "include/mcu/handler.h",
    "include/mcu/handler_semaphore.h",
    "include/mcu/handler_thread.h",
    "include/mcu/ostream.h",
    "include/mcu/period.h",
    "include/mcu/relative_queue.h",
    "include/mcu/semaphore.h",
    "include/mcu/services.h",
    "include/mcu/strategy/anchored.h",
    "include/mcu/strategy/countdown.h",
    "include/mcu/strategy/free_running.h",
    "include/mcu/strategy/periodic.h",
    "include/mcu/strategy/single_shot.h",
    "include/mcu/thread.h",
    "include/mcu/tick.h",
    "include/mcu/timer.h",
    "include/mcu/traits.h",
    "include/mcu/tsc.h",
    "programs/arduino_millis.cc",
    "programs/board.h",
    "programs/empty.cc",
    "programs/glowing_leds.cc",
    "programs/one_alarm.cc",
    "programs/periodic_alarm.cc",
    "programs/reprogramming.cc",
    "programs/time_services.cc",
];

/// Lays them out in a directory.
pub(super) fn write_to(directory: &Path) -> Result<(), McuError> {
    for (path, text) in SOURCES {
        let file = directory.join(path);
        let parent = file.parent().unwrap_or(directory);
        fs::create_dir_all(parent).map_err(McuError::io(format!("creating {}", parent.display())))?;
        fs::write(&file, text).map_err(McuError::io(format!("writing {}", file.display())))?;
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
        let mut open = vec![root.join("include"), root.join("programs")];
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
