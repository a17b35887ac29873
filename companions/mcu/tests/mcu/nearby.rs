//! Soft, smart and firm timers compared with a tick and single shots, on the simulated chip.

use jitterlab_mcu::{TimerKind, epos_related_timers};

use super::bench;

/// Cycles beyond the permitted lateness: two other handlers, and the way to the own one.
const WAY_US: f64 = 150.0;

#[test]
fn lenient_timers_are_never_early_and_no_later_than_granted() {
    let Some(compiler) = bench() else { return };
    for kind in TimerKind::ALL {
        let of = epos_related_timers::measure(kind, &compiler).unwrap();
        // Three alarms, every 10 ms for 5 s, the first ones after 10 ms.
        assert!((1_494..=1_500).contains(&of.events), "{of:?}");
        assert!(kind == TimerKind::Tick || of.earliest_us > 0.0, "{of:?}");
        // A delay never ends early, so it takes a tick more than it has: rounded, up to two.
        let ticks = if kind == TimerKind::Tick { 2.0 } else { 1.0 };
        let lenient = ticks * f64::from(of.lenient_us.unwrap_or(0));
        assert!(of.latest_us < lenient + WAY_US, "{of:?}");
        let interrupts = match kind {
            TimerKind::Tick | TimerKind::Soft => 990.0..=1_001.0,
            TimerKind::SingleShot => 298.0..=301.0,
            // One for the three that are due by then.
            TimerKind::Smart => 99.0..=101.0,
            // The program asks more often than once in the grace.
            TimerKind::Firm => 0.0..=1.0,
        };
        assert!(interrupts.contains(&of.interrupts_per_s), "{of:?}");
    }
}
