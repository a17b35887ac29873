//! Wake-up method, clocks and compensation of a task. As text, parts of a task's description:
//! `wake=timerfd,clock=tai,read=tsc,compensate=margin:20us`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{COMPENSATIONS, Error, invalid_value};
use crate::units::{Exact, parse_period_ns};
use crate::words;

words! {
    /// Method of waiting for the due time.
    #[derive(Default)]
    #[non_exhaustive]
    WakeMethod, "wake-up method":
    /// `clock_nanosleep` to the absolute due time.
    #[default]
    Nanosleep = "nanosleep",
    /// `clock_nanosleep` for one period after each activation, as many programs do: it drifts.
    NanosleepRelative = "nanosleep-relative",
    /// A POSIX timer whose signal is waited for with `sigwaitinfo`.
    TimerSignal = "timer-signal",
    /// A timer read as a file.
    Timerfd = "timerfd",
    /// The kernel releases a SCHED_DEADLINE thread at each of its own periods.
    Deadline = "deadline",
    /// Never waits: reads the clock until the due time.
    Spin = "spin",
    /// Sleeps as a thread of Xenomai 3's Cobalt core, on its clock.
    Cobalt = "cobalt",
    /// Sleeps as a thread of Xenomai 4's EVL core, on its clock.
    Evl = "evl",
}

/// Differences between a wake-up method and an ordinary sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WakeTraits {
    /// The clocks it can sleep on.
    pub clocks: &'static [SleepClock],
    /// It never waits: it reads the clock all the time.
    pub polls: bool,
    /// It waits for a period after each activation instead of for a due time.
    pub drifts: bool,
    /// The kernel releases it under SCHED_DEADLINE.
    pub deadline: bool,
    /// It runs on a Xenomai core, whose own clock it sleeps on and reads.
    pub core: bool,
}

impl WakeMethod {
    /// Returns its differences from an ordinary sleep.
    pub const fn traits(self) -> WakeTraits {
        const ORDINARY: WakeTraits = WakeTraits {
            clocks: &SleepClock::ALL,
            polls: false,
            drifts: false,
            deadline: false,
            core: false,
        };
        const MONOTONIC: &[SleepClock] = &[SleepClock::Monotonic];
        match self {
            WakeMethod::Nanosleep | WakeMethod::TimerSignal => ORDINARY,
            WakeMethod::NanosleepRelative => WakeTraits { drifts: true, ..ORDINARY },
            WakeMethod::Timerfd => {
                WakeTraits { clocks: &[SleepClock::Monotonic, SleepClock::Realtime], ..ORDINARY }
            }
            WakeMethod::Deadline => WakeTraits { clocks: MONOTONIC, deadline: true, ..ORDINARY },
            WakeMethod::Spin => WakeTraits { clocks: MONOTONIC, polls: true, ..ORDINARY },
            WakeMethod::Cobalt | WakeMethod::Evl => WakeTraits { clocks: MONOTONIC, core: true, ..ORDINARY },
        }
    }

    /// Returns the methods of Linux itself, which every machine has; the others need a Xenomai kernel.
    pub fn linux_methods() -> impl Iterator<Item = WakeMethod> {
        Self::ALL.into_iter().filter(|method| !method.traits().core)
    }
}

words! {
    /// The clock that a task sleeps on.
    #[derive(Default)]
    SleepClock, "clock to sleep on":
    /// CLOCK_MONOTONIC: never stepped.
    #[default]
    Monotonic = "monotonic",
    /// CLOCK_REALTIME: civil time, may be stepped.
    Realtime = "realtime",
    /// CLOCK_TAI: civil time without leap seconds, may be stepped.
    Tai = "tai",
}

words! {
    /// The clock that a task's start and end are read from. All of them are stated in nanoseconds of
    /// CLOCK_MONOTONIC, the two others through a fit whose error is recorded.
    #[derive(Default)]
    ReadClock, "clock to read":
    /// CLOCK_MONOTONIC, the clock that due times are on.
    #[default]
    Monotonic = "monotonic",
    /// CLOCK_MONOTONIC_RAW: not slewed by NTP.
    MonotonicRaw = "monotonic-raw",
    /// The processor's counter: the time stamp counter of x86, the virtual counter of ARM.
    Tsc = "tsc",
}

/// A probability in billionths, so that it can be compared and stored exactly. Text: `1e-4` or `0.0001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probability {
    billionths: u32,
}

impl Probability {
    /// The nearest probability that can be stored; `None` unless it then lies strictly between 0 and 1.
    pub fn new(p: f64) -> Option<Self> {
        let billionths = (p * 1e9).round();
        (1.0..1e9).contains(&billionths).then_some(Probability { billionths: billionths as u32 })
    }

    /// Its value, strictly between 0 and 1.
    pub fn value(self) -> f64 {
        f64::from(self.billionths) / 1e9
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e}", self.value())
    }
}

/// Compensation of the wake-up's jitter: the task wakes early and polls the clock up to the due time.
/// Text: `none`, `repeat:TIME`, `margin:TIME`, `late:P`, `cost:RATIO`, `adaptive:P`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub enum Compensation {
    /// No compensation.
    #[default]
    None,
    /// The way of the NIST paper (Proctor and Shackleford, section 3): wake every A, go back to sleep if the due
    /// time is further away than A, else poll.
    Repeat {
        /// A.
        every_ns: i64,
    },
    /// One sleep that ends this much before the due time, then poll.
    Margin {
        /// m.
        margin_ns: i64,
    },
    /// As margin, chosen before the run from the measured latencies of early sleeps so that this share of the
    /// activations starts late.
    Late {
        /// The requested share of late starts.
        late: Probability,
    },
    /// As margin, chosen before the run as the newsvendor quantile F(m) = r / (r + 1).
    Cost {
        /// r: how many times as much a nanosecond of being late costs as a nanosecond of polling, 1 or more.
        ratio: u32,
    },
    /// As late, and followed through the run by quantile tracking (Robbins and Monro).
    Adaptive {
        /// The requested share of late starts.
        late: Probability,
    },
}

impl Compensation {
    /// Share of late starts that it aims at, 0 to 1; `None` if its margin does not follow from one.
    pub fn target_late_share(self) -> Option<f64> {
        match self {
            Compensation::Late { late } | Compensation::Adaptive { late } => Some(late.value()),
            Compensation::Cost { ratio } => Some(1.0 / (f64::from(ratio) + 1.0)),
            Compensation::None | Compensation::Repeat { .. } | Compensation::Margin { .. } => None,
        }
    }
}

impl FromStr for Compensation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || invalid_value("compensation", text, COMPENSATIONS);
        let time = |t: &str| parse_period_ns(t).map_err(|error| error.within("compensate"));
        let probability = |p: &str| p.parse().ok().and_then(Probability::new).ok_or_else(bad);
        match text.split_once(':') {
            None if text == "none" => Ok(Compensation::None),
            Some(("repeat", t)) => time(t).map(|every_ns| Compensation::Repeat { every_ns }),
            Some(("margin", t)) => time(t).map(|margin_ns| Compensation::Margin { margin_ns }),
            Some(("late", p)) => probability(p).map(|late| Compensation::Late { late }),
            Some(("adaptive", p)) => probability(p).map(|late| Compensation::Adaptive { late }),
            Some(("cost", r)) => match r.parse() {
                Ok(ratio @ 1..) => Ok(Compensation::Cost { ratio }),
                _ => Err(bad()),
            },
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Compensation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compensation::None => write!(f, "none"),
            Compensation::Repeat { every_ns } => write!(f, "repeat:{}", Exact(*every_ns)),
            Compensation::Margin { margin_ns } => write!(f, "margin:{}", Exact(*margin_ns)),
            Compensation::Late { late } => write!(f, "late:{late}"),
            Compensation::Cost { ratio } => write!(f, "cost:{ratio}"),
            Compensation::Adaptive { late } => write!(f, "adaptive:{late}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_word_is_read_back() {
        for m in WakeMethod::ALL {
            assert_eq!(m.to_string().parse(), Ok(m));
            assert_eq!(serde_json::to_string(&m).unwrap(), format!("\"{m}\""));
        }
        assert_eq!(WakeMethod::linux_methods().count() + 2, WakeMethod::ALL.len());
        for c in SleepClock::ALL {
            assert_eq!(c.to_string().parse(), Ok(c));
        }
        for c in ReadClock::ALL {
            assert_eq!(c.to_string().parse(), Ok(c));
            assert_eq!(serde_json::to_string(&c).unwrap(), format!("\"{c}\""));
        }
    }

    #[test]
    fn wanted_shares_of_late_starts() {
        let wanted = |text: &str| text.parse::<Compensation>().unwrap().target_late_share();
        assert_eq!(wanted("late:1e-4"), Some(1e-4));
        assert_eq!(wanted("adaptive:0.01"), Some(0.01));
        assert_eq!(wanted("cost:9"), Some(0.1));
        assert_eq!(wanted("margin:20us"), None);
    }

    #[test]
    fn mistakes_are_named() {
        for text in ["late:0", "late:1", "late:nan", "late:-1", "cost:0", "often", "margin", "late:"] {
            assert!(text.parse::<Compensation>().unwrap_err().to_string().contains("margin:20us"), "{text}");
        }
        assert!("margin:0us".parse::<Compensation>().is_err());
        assert!("repeat:50".parse::<Compensation>().unwrap_err().to_string().contains("no unit"));
    }

    proptest! {
        #[test]
        fn a_compensation_written_is_the_one_read(kind in 0..5, n in 1u32..1_000_000_000) {
            let late = Probability { billionths: n };
            let c = match kind {
                0 => Compensation::Repeat { every_ns: i64::from(n) },
                1 => Compensation::Margin { margin_ns: i64::from(n) },
                2 => Compensation::Late { late },
                3 => Compensation::Cost { ratio: n },
                _ => Compensation::Adaptive { late },
            };
            prop_assert_eq!(c.to_string().parse(), Ok(c));
        }

        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "\\PC{0,20}") {
            let _ = text.parse::<Compensation>();
            let _ = format!("late:{text}").parse::<Compensation>();
        }
    }
}
