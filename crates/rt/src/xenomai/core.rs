//! Which cores there are.

use std::fmt;

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
    /// The core that a wake-up method runs on, if it is one of Xenomai's.
    pub fn of(wake: WakeMethod) -> Option<Core> {
        match wake {
            WakeMethod::Cobalt => Some(Core::Cobalt),
            WakeMethod::Evl => Some(Core::Evl),
            _ => None,
        }
    }

    /// The file name of the library that a program talks to it with.
    pub const fn library(self) -> &'static str {
        match self {
            Core::Cobalt => "libcobalt.so.2",
            Core::Evl => "libevl.so",
        }
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
