//! Purposes of a machine's timing, and the limits that each requires.
//!
//! Limits are those published in the field; where sources differ, the stricter one. To add a purpose: its
//! entry in [`PURPOSES`], its name and its reason among the report's words.

use serde::{Deserialize, Serialize};

use crate::exact_binomial::tries_without_event;

/// Largest share of activations that may break a limit for a purpose to be served. A run shows this by
/// [`activations_needed`] activations without a breach, if breaches are independent.
pub const OPEN_SHARE: f64 = 1e-3;
/// Confidence with which a run must exclude a larger share.
pub const CONFIDENCE: f64 = 0.95;

/// Returns the fewest activations without a breach that show a share below [`OPEN_SHARE`] at [`CONFIDENCE`].
#[must_use]
pub fn activations_needed() -> u64 {
    tries_without_event(OPEN_SHARE, CONFIDENCE)
}

/// A quantity that decides whether a purpose is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The largest absolute deviation of an interval between two starts from the period, in ns: LinuxCNC's max jitter.
    Interval,
    /// The largest latency, in ns.
    Latency,
    /// The standard deviation of the periods, in ns.
    PeriodDeviation,
    /// The number of missed due times.
    Missed,
}

/// Limit of a quantity for a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The quantity.
    pub measure: Measure,
    /// Largest good value.
    pub good: i64,
    /// Largest value with which the purpose is served with restrictions; above it, it is not served.
    pub limited: i64,
}

/// A purpose of a periodic task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose {
    /// Name, for options and programs.
    pub name: &'static str,
    /// The period of its task, in ns.
    pub period_ns: i64,
    /// Limits; the gravest verdict decides.
    pub limits: &'static [Limit],
    /// Sources of the limits, as addresses.
    pub sources: &'static [&'static str],
}

/// "Less than about 15-20 us ... nice results with software stepping", "30-50 us ... good results, but your maximum step
/// rate might be a little disappointing", above that only with step hardware.
const LATENCY_TEST: &str = "https://linuxcnc.org/docs/html/install/latency-test.html";
/// "20 us for software step generation", "below 100 us (500 us)" for FPGA cards; the base period is the latency plus the
/// longest of the drive's times, 5 us for the usual one.
const PRINT_NC: &str = "https://wiki.printnc.info/en/controllers/linuxcnc/hardware-and-latency";
/// Standard deviation of the controller manager's rate: 5 Hz warns, 10 Hz is an error; at 1 kHz that is 5 and 10 us.
const ROS2_CONTROL: &str = "https://github.com/ros-controls/ros2_control/blob/master/controller_manager/src/controller_manager_parameters.yaml";
/// "The maximum jitter should be less than 100 us"; "calculation times plus maximum jitter < period".
const OST_ETHERCAT: &str = "https://wiki.bu.ost.ch/infoportal/embedded_systems/ethercat/test_and_tune_rt";
/// Buffers of two periods: one late period is audible.
const ALSA: &str = "https://www.alsa-project.org/wiki/FramesPeriods";
/// The default task of a CODESYS controller: 10 ms with a watchdog of 11 ms.
const CECX: &str = "https://www.easymanua.ls/festo/cecx-x-c1-series/manual?p=45";

const fn interval_limit(good: i64, limited: i64) -> Limit {
    Limit { measure: Measure::Interval, good, limited }
}

const fn latency_limit(good: i64, limited: i64) -> Limit {
    Limit { measure: Measure::Latency, good, limited }
}

/// Limit that allows no missed due time.
const NONE_MISSED: Limit = Limit { measure: Measure::Missed, good: 0, limited: 0 };

/// The usual purposes, from the shortest period to the longest.
pub const PURPOSES: [Purpose; 10] = [
    // A base period must leave time for the drive's setup: 5 us.
    Purpose {
        name: "step-25us",
        period_ns: 25_000,
        limits: &[interval_limit(20_000, 20_000)],
        sources: &[LATENCY_TEST, PRINT_NC],
    },
    Purpose {
        name: "step-50us",
        period_ns: 50_000,
        limits: &[interval_limit(20_000, 45_000)],
        sources: &[LATENCY_TEST, PRINT_NC],
    },
    Purpose {
        name: "step-100us",
        period_ns: 100_000,
        limits: &[interval_limit(20_000, 50_000)],
        sources: &[LATENCY_TEST, PRINT_NC],
    },
    // A tenth of the cycle, as 100 us is of the usual one; a frame half a cycle late collides with the next one.
    Purpose {
        name: "fieldbus-250us",
        period_ns: 250_000,
        limits: &[latency_limit(25_000, 125_000), NONE_MISSED],
        sources: &[OST_ETHERCAT],
    },
    Purpose {
        name: "fieldbus-500us",
        period_ns: 500_000,
        limits: &[latency_limit(50_000, 250_000), NONE_MISSED],
        sources: &[OST_ETHERCAT],
    },
    Purpose {
        name: "servo-thread",
        period_ns: 1_000_000,
        limits: &[interval_limit(100_000, 500_000)],
        sources: &[PRINT_NC, LATENCY_TEST],
    },
    Purpose {
        name: "fieldbus-1ms",
        period_ns: 1_000_000,
        limits: &[latency_limit(100_000, 500_000), NONE_MISSED],
        sources: &[OST_ETHERCAT],
    },
    Purpose {
        name: "robot-1khz",
        period_ns: 1_000_000,
        limits: &[Limit { measure: Measure::PeriodDeviation, good: 5_000, limited: 10_000 }, NONE_MISSED],
        sources: &[ROS2_CONTROL],
    },
    // 64 frames at 48 kHz; half of the period remains for computing, less the latency.
    Purpose {
        name: "audio",
        period_ns: 1_333_333,
        limits: &[latency_limit(666_666, 1_333_333), NONE_MISSED],
        sources: &[ALSA],
    },
    Purpose {
        name: "plc-10ms",
        period_ns: 10_000_000,
        limits: &[latency_limit(1_000_000, 10_000_000), NONE_MISSED],
        sources: &[CECX],
    },
];

/// A loop whose period no usual purpose has: its period and limits are its task's ([`Limit::period_share_limits`]).
pub const CONTROL_LOOP: Purpose =
    Purpose { name: "control-loop", period_ns: 0, limits: &[], sources: &[OST_ETHERCAT] };

impl Limit {
    /// Returns limits by a loop's period: a latency of a tenth of it is good, of half usable, and none may be missed.
    #[must_use]
    pub fn period_share_limits(period_ns: i64) -> [Limit; 2] {
        [latency_limit(period_ns / 10, period_ns / 2), NONE_MISSED]
    }
}

impl Purpose {
    /// Returns the purpose of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Purpose> {
        PURPOSES.iter().find(|purpose| purpose.name == name)
    }

    /// True if a task of this period tests this purpose: it is 3/4 to 4/3 of its own. Others meet other idle states,
    /// and leave other idle times.
    #[must_use]
    pub fn is_tested_by(&self, period_ns: i64) -> bool {
        // Within 4 to 3 either way: audio's 1.33 ms and the usual 1 ms test each other.
        period_ns > 0 && 3 * period_ns <= 4 * self.period_ns && 3 * self.period_ns <= 4 * period_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_has_a_name_of_its_own_limits_in_order_and_a_source() {
        for (n, purpose) in PURPOSES.iter().enumerate() {
            assert!(PURPOSES[..n].iter().all(|other| other.name != purpose.name));
            assert!(purpose.limits.iter().all(|limit| 0 <= limit.good && limit.good <= limit.limited));
            assert!(!purpose.limits.is_empty() && purpose.sources.iter().all(|s| s.starts_with("https://")));
            assert_eq!(Purpose::by_name(purpose.name), Some(purpose));
        }
    }

    #[test]
    fn a_period_speaks_for_its_own_purposes_and_close_ones() {
        let tested = |period_ns| PURPOSES.map(|p| p.is_tested_by(period_ns)).iter().filter(|t| **t).count();
        assert_eq!((tested(1_000_000), tested(25_000), tested(10_000_000), tested(0)), (4, 1, 1, 0));
        // The shares are those of a fieldbus.
        let fieldbus = PURPOSES.into_iter().filter(|purpose| purpose.name.starts_with("fieldbus"));
        fieldbus
            .for_each(|purpose| assert_eq!(purpose.limits, Limit::period_share_limits(purpose.period_ns)));
    }
}
