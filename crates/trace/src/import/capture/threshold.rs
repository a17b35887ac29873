//! From voltages to levels: thresholds, and times of changes between two samples.

use std::fmt;
use std::str::FromStr;

use jitterlab_model::{Error, Warning};

use super::super::Import;
use super::Channel;

/// A voltage below `low` is low, above `high` it is high; in between the level stays as before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// Lower threshold in volts.
    pub low: f64,
    /// Upper threshold in volts, not below `low`.
    pub high: f64,
}

impl FromStr for Threshold {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let volts = |text: &str| {
            let number = text.trim().trim_end_matches(['V', 'v']).trim().parse::<f64>().ok();
            number.filter(|volts| volts.is_finite())
        };
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let both = volts(low).zip(volts(high)).filter(|(low, high)| low <= high);
        both.map(|(low, high)| Threshold { low, high }).ok_or_else(|| {
            Error::bad_use(format!("{text:?} is no threshold"))
                .remedy("write volts, such as 1.5V, or what is low and what is high, 0.8V..2V")
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}V..{}V", self.low, self.high)
    }
}

/// Samples of a voltage: when, in ns, and volts.
pub(super) type Samples = Vec<(f64, f64)>;

/// Channel of a voltage, with a change wherever the line between two samples crosses the threshold.
pub(super) fn channel_of_voltage(
    import: &mut Import,
    name: &str,
    samples: &Samples,
    said: Option<Threshold>,
) -> Channel {
    let mut channel = Channel::new(name);
    let Some(threshold) = said.or_else(|| threshold_from_range(import, name, samples)) else {
        return channel;
    };
    let mut before: Option<(f64, f64)> = None;
    for &(at, volts) in samples {
        let level = if volts > threshold.high {
            Some(true)
        } else if volts < threshold.low {
            Some(false)
        } else {
            channel.level
        };
        let crossed = if level == Some(true) { threshold.high } else { threshold.low };
        let when = before.map_or(at, |(then, last)| {
            let share = ((crossed - last) / (volts - last)).clamp(0.0, 1.0);
            if share.is_finite() { then + share * (at - then) } else { at }
        });
        channel.set_level(when.round() as i64, level);
        before = Some((at, volts));
    }
    channel
}

/// Threshold from 40 to 60 % of the range, with a warning of it; `None` if nothing changes. Noise of a tenth does not
/// cross it twice.
fn threshold_from_range(import: &mut Import, name: &str, samples: &Samples) -> Option<Threshold> {
    let lowest = samples.iter().map(|(_, volts)| *volts).fold(f64::INFINITY, f64::min);
    let highest = samples.iter().map(|(_, volts)| *volts).fold(f64::NEG_INFINITY, f64::max);
    let range = highest - lowest;
    if !(range > 0.0 && range.is_finite()) {
        return None;
    }
    let threshold = Threshold { low: lowest + 0.4 * range, high: lowest + 0.6 * range };
    let Threshold { low, high } = threshold;
    let mv = |volts: f64| (volts * 1e3).round() as i64;
    import.warn(Warning::ThresholdFound { channel: name.into(), low_mv: mv(low), high_mv: mv(high) });
    Some(threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_within_the_hysteresis_is_no_edge_and_edges_lie_between_samples() {
        let volts = [0.0, 0.1, 1.5, 1.2, 1.7, 3.3, 3.2, 1.6, 1.4, 1.6, 0.0, 0.1];
        let samples: Samples = volts.iter().enumerate().map(|(k, v)| (k as f64 * 1_000.0, *v)).collect();
        let mut import = Import::new("scope", "unknown");
        let threshold = "0.8V..2V".parse().unwrap();
        let edges = channel_of_voltage(&mut import, "CH1", &samples, Some(threshold)).changes;
        assert_eq!(edges.len(), 2, "{edges:?}");
        assert_eq!((edges[0].at, edges[0].high), (4_188, true));
        assert_eq!((edges[1].at, edges[1].high), (9_500, false));
        assert!(import.info.warnings.is_empty());
        let found = channel_of_voltage(&mut import, "CH1", &samples, None);
        assert_eq!((found.changes.len(), import.info.warnings.len()), (2, 1));
        for bad in ["", "high", "2V..1V", "nan", "1V..inf"] {
            assert!(bad.parse::<Threshold>().is_err(), "{bad}");
        }
    }
}
