//! The delay in the EPOS paper's introduction, 15 ms, under each way to manage time: the strategies of a microcontroller, and
//! Linux with and without a tick, with and without high-resolution timers.

use jitterlab_mcu::DelayFigures;
use serde::Serialize;

use crate::statement::{Evidence, Values};

/// The delay that is asked for, in microseconds.
pub const ASKED_US: f64 = 15_000.0;

/// Delays under one way to manage time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ManagedDelay {
    pub system: Managed,
    /// Distance of the ticks that end a delay in microseconds; `None` where no tick does.
    pub tick_us: Option<f64>,
    /// Number of delays.
    pub delays: u64,
    pub shortest_us: f64,
    pub longest_us: f64,
    /// Interrupts of the timer for each delay; `None` where they were not counted.
    pub interrupts: Option<f64>,
}

/// A way to manage time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "on", rename_all = "kebab-case")]
pub enum Managed {
    /// A strategy of the 8-bit microcontroller.
    Avr { strategy: jitterlab_mcu::Strategy },
    /// Linux, booted with these settings of `highres` and `nohz`.
    Linux { high_resolution: bool, tickless: bool },
}

impl Managed {
    /// Every way of Linux, the one of the paper's time first.
    pub const LINUX: [Managed; 4] =
        [linux(false, false), linux(false, true), linux(true, false), linux(true, true)];
}

const fn linux(high_resolution: bool, tickless: bool) -> Managed {
    Managed::Linux { high_resolution, tickless }
}

/// The delays of the microcontroller's strategies.
pub fn from_avr(all: &[DelayFigures]) -> Vec<ManagedDelay> {
    let one = |of: &DelayFigures| ManagedDelay {
        system: Managed::Avr { strategy: of.strategy },
        tick_us: of.tick_us.map(f64::from),
        delays: of.delays,
        shortest_us: of.shortest_us,
        longest_us: of.longest_us,
        interrupts: Some(of.interrupts_per_delay),
    };
    all.iter().map(one).collect()
}

/// Evidence on the paper's statements about delays and ticks, for the microcontroller and for Linux as far as each was measured.
pub fn evidence(all: &[ManagedDelay]) -> Vec<Evidence> {
    let find = |system: Managed| all.iter().find(|of| of.system == system);
    let avr = |strategy| find(Managed::Avr { strategy });
    let [ticking, quiet] = [jitterlab_mcu::Strategy::Periodic, jitterlab_mcu::Strategy::SingleShot].map(avr);
    let [old, .., new] = Managed::LINUX.map(find);
    let mut evidence = of_ticks("8-bit AVR", ticking, quiet);
    evidence.extend(of_ticks("Linux", old, new));
    evidence.extend(old.zip(new).map(|(old, new)| {
        let late = [old, new].map(|of| (of.longest_us - ASKED_US) * 1e3);
        Evidence::decided_by("adaptive-tick", "times", late[0] / late[1].max(1.0))
            .and("late", vec![Some(late[0]), Some(late[1])])
    }));
    evidence
}

/// Evidence on a system with a tick and without one.
fn of_ticks(name: &str, ticking: Option<&ManagedDelay>, quiet: Option<&ManagedDelay>) -> Vec<Evidence> {
    let Some(ticking) = ticking else { return Vec::new() };
    let longer = ticking.tick_us.map(|tick_us| (ticking.longest_us - ASKED_US) / tick_us);
    let delay = Evidence::decided_by("tick-delay", "ticks", longer)
        .and("tick", ticking.tick_us.map(|us| us * 1e3))
        .and("took", vec![Some(ticking.shortest_us * 1e3), Some(ticking.longest_us * 1e3)]);
    let interrupts = [Some(ticking), quiet].map(|of| of?.interrupts);
    let more = interrupts[0].zip(interrupts[1]).map(|(ticking, quiet)| ticking / quiet);
    let overhead = Evidence::decided_by("tick-overhead", "times", more)
        .and("interrupts", Values::Exact(interrupts.into()));
    [delay, overhead].map(|evidence| evidence.of_system(name)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use crate::statement::StatementVerdict::{self, CannotBeTold, DoesNotHold, Holds};

    #[test]
    fn a_tick_that_counts_from_the_next_one_and_one_that_does_not_are_told_apart() {
        let one = |system, tick_us, longest_us, interrupts| ManagedDelay {
            system,
            tick_us,
            delays: 8,
            shortest_us: 15_000.0,
            longest_us,
            interrupts,
        };
        let verdicts = |all: &[ManagedDelay]| -> Vec<StatementVerdict> {
            let statements = Paper::Epos.statements();
            let verdict = |of: &Evidence| {
                statements.iter().find(|one| one.name == of.statement).map(|one| one.verdict(of))
            };
            evidence(all).iter().filter_map(verdict).collect()
        };
        let avr = |strategy| Managed::Avr { strategy };
        let [old, _, _, new] = Managed::LINUX;
        let mut all = vec![
            one(avr(jitterlab_mcu::Strategy::Periodic), Some(10_000.0), 30_040.0, Some(2.5)),
            one(avr(jitterlab_mcu::Strategy::SingleShot), None, 15_060.0, Some(1.0)),
        ];
        assert_eq!(verdicts(&all), [Holds, Holds]);
        all.extend([one(old, Some(4_000.0), 18_950.0, Some(4.0)), one(new, None, 15_005.0, None)]);
        assert_eq!(verdicts(&all), [Holds, Holds, DoesNotHold, CannotBeTold, Holds]);
        assert_eq!(verdicts(&[]), []);
    }
}
