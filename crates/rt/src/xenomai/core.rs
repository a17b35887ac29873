//! The Xenomai cores.

use std::fmt;
use std::path::{Path, PathBuf};

use jitterlab_model::WakeMethod;

/// A real-time core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// Xenomai 3's.
    Cobalt,
    /// Xenomai 4's.
    Evl,
}

impl Core {
    /// Cobalt and EVL.
    pub const ALL: [Core; 2] = [Core::Cobalt, Core::Evl];

    /// The core that a wake-up method runs on, if it is one of Xenomai's.
    pub fn for_wake(wake: WakeMethod) -> Option<Core> {
        match wake {
            WakeMethod::Cobalt => Some(Core::Cobalt),
            WakeMethod::Evl => Some(Core::Evl),
            _ => None,
        }
    }

    /// The file names of the library that a program talks to it with, in the order they are looked for. Functions that
    /// are needed here are the same in all of them, or are missed when it is loaded.
    pub const fn libraries(self) -> &'static [&'static str] {
        match self {
            Core::Cobalt => &["libcobalt.so.2"],
            // The first one comes with the files for developers only.
            Core::Evl => &["libevl.so", "libevl.so.5", "libevl.so.4"],
        }
    }

    /// Returns the folders where the core's own build installs that library. The dynamic linker rarely knows
    /// them; on Debian it is one named after the processor.
    pub fn library_folders(self) -> [PathBuf; 2] {
        let folder = Path::new(match self {
            Core::Cobalt => "/usr/xenomai/lib",
            Core::Evl => "/usr/evl/lib",
        });
        let processor = match std::env::consts::ARCH {
            "arm" => "arm-linux-gnueabihf".into(),
            "x86" => "i386-linux-gnu".into(),
            other => format!("{other}-linux-gnu"),
        };
        [folder.into(), folder.join(processor)]
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Core::Cobalt => "Cobalt",
            Core::Evl => "EVL",
        })
    }
}
