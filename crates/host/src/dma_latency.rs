//! `/dev/cpu_dma_latency`: the kernel's promise not to enter idle states that take longer to leave.
//!
//! cyclictest holds it at 0 while it measures and not afterwards, so the machine is better under test than in
//! use. jitterlab leaves it alone unless asked.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use jitterlab_model::Error;

/// Request to `/dev/cpu_dma_latency` for the time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DmaLatency {
    /// Leave it as it is.
    #[default]
    Keep,
    /// Ask for wake-ups from idle within this many microseconds; 0 keeps the processors out of every idle state
    /// but polling.
    Limit(i32),
}

impl FromStr for DmaLatency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match (text, text.parse()) {
            ("keep", _) => Ok(DmaLatency::Keep),
            (_, Ok(us)) if us >= 0 => Ok(DmaLatency::Limit(us)),
            _ => Err(Error::bad_use(format!(
                "{text:?} is neither keep nor a number of microseconds such as 0"
            ))),
        }
    }
}

impl fmt::Display for DmaLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DmaLatency::Keep => f.write_str("keep"),
            DmaLatency::Limit(us) => write!(f, "{us}"),
        }
    }
}

/// The request is in force while this lives.
#[derive(Debug)]
pub struct HeldDmaLatency {
    _device: Option<File>,
}

impl DmaLatency {
    /// Puts the request into force.
    ///
    /// # Errors
    /// The device cannot be opened (it belongs to root) or written.
    pub fn hold(self) -> io::Result<HeldDmaLatency> {
        self.hold_device(Path::new("/dev/cpu_dma_latency"))
    }

    fn hold_device(self, device: &Path) -> io::Result<HeldDmaLatency> {
        let DmaLatency::Limit(us) = self else { return Ok(HeldDmaLatency { _device: None }) };
        let mut file = OpenOptions::new().write(true).open(device)?;
        file.write_all(&us.to_ne_bytes())?;
        Ok(HeldDmaLatency { _device: Some(file) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_as_read() {
        assert_eq!("keep".parse(), Ok(DmaLatency::Keep));
        assert_eq!("20".parse(), Ok(DmaLatency::Limit(20)));
        assert!("-1".parse::<DmaLatency>().is_err_and(|e| e.to_string().contains("keep")));
    }

    #[test]
    fn keep_opens_nothing() {
        assert!(DmaLatency::Keep.hold_device(Path::new("/nowhere/at/all")).is_ok());
        assert!(DmaLatency::Limit(0).hold_device(Path::new("/nowhere/at/all")).is_err());
    }
}
