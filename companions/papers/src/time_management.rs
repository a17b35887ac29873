//! The delay in the EPOS paper's introduction, 15 ms, under each way to manage time: the strategies of a microcontroller, and
//! Linux in virtual time, with and without a tick, with and without high-resolution timers.

use serde::Serialize;
use serde_json::json;

use crate::Reproducer;
use crate::statement::Evidence;
use crate::systems::Kernels;
use crate::words::{Reproduction, WITHOUT_CORES};
use jitterlab_kernel::job::Step;
use jitterlab_kernel::session::jitterlab_run_step;
use jitterlab_kernel::{GuestRun, Machine};
use jitterlab_mcu::{Compiler, DelayFigures, Strategy, delays};
use jitterlab_model::{Error, Policy, TaskSpec, WakeMethod, Work};
use jitterlab_runs::{Hints, Run};

/// The delay that is asked for, in microseconds.
pub const ASKED_US: f64 = 15_000.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ManagedDelay {
    /// A strategy of the 8-bit microcontroller, or Linux as it is booted.
    pub system: String,
    /// Distance of the ticks that end a delay in microseconds; `None` where no tick does.
    pub tick_us: Option<f64>,
    pub delays: u64,
    pub shortest_us: f64,
    pub longest_us: f64,
    /// Interrupts of the timer for each delay; `None` where they were not counted.
    pub interrupts: Option<f64>,
}

/// Boot parameters for every way of Linux to manage time, the one of the paper's time first.
const LINUX: [&str; 4] =
    ["highres=off nohz=off", "highres=off nohz=on", "highres=on nohz=off", "highres=on nohz=on"];

fn avr_system_name(strategy: Strategy) -> String {
    format!("AVR, {strategy}")
}

fn linux_system_name(parameters: &str) -> String {
    format!("Linux, {parameters}")
}

#[derive(Debug, Serialize)]
pub struct ManagedDelays(pub Vec<ManagedDelay>);

pub fn delays_from_avr(all: &[DelayFigures]) -> Vec<ManagedDelay> {
    let one = |of: &DelayFigures| ManagedDelay {
        system: avr_system_name(of.strategy),
        tick_us: of.tick_us.map(f64::from),
        delays: of.delays,
        shortest_us: of.shortest_us,
        longest_us: of.longest_us,
        interrupts: Some(of.interrupts_per_delay),
    };
    all.iter().map(one).collect()
}

/// Evidence on statements about delays and ticks, as far as the microcontroller and Linux were measured.
pub fn delay_evidence(all: &[ManagedDelay]) -> Vec<Evidence> {
    let find = |system: String| all.iter().find(|of| of.system == system);
    let [ticking, quiet] = [Strategy::Periodic, Strategy::SingleShot].map(|of| find(avr_system_name(of)));
    let [old, .., new] = LINUX.map(|parameters| find(linux_system_name(parameters)));
    let mut evidence = tick_evidence("8-bit AVR", ticking, quiet);
    evidence.extend(tick_evidence("Linux", old, new));
    evidence.extend(old.zip(new).map(|(old, new)| {
        let late = [old, new].map(|of| (of.longest_us - ASKED_US) * 1e3);
        let times = late[0] / late[1].max(1.0);
        Evidence::new("adaptive-tick", "times", json!({ "times": times, "late": late }))
    }));
    evidence
}

/// Evidence on delays and overhead with a tick, against a system without one.
fn tick_evidence(name: &str, ticking: Option<&ManagedDelay>, quiet: Option<&ManagedDelay>) -> Vec<Evidence> {
    let Some(ticking) = ticking else { return Vec::new() };
    let ticks = ticking.tick_us.map(|tick_us| (ticking.longest_us - ASKED_US) / tick_us);
    let tick = ticking.tick_us.map(|us| us * 1e3);
    let took = [ticking.shortest_us, ticking.longest_us].map(|us| us * 1e3);
    let delay = json!({ "system": name, "ticks": ticks, "tick": tick, "took": took });
    let interrupts = [Some(ticking), quiet].map(|of| of?.interrupts);
    let more = interrupts[0].zip(interrupts[1]).map(|(ticking, quiet)| ticking / quiet);
    let overhead = json!({ "system": name, "times": more, "interrupts": interrupts });
    vec![Evidence::new("tick-delay", "ticks", delay), Evidence::new("tick-overhead", "times", overhead)]
}

/// Work before a delay, so that each is asked for at another place between two ticks, in microseconds.
const PLACES_US: [i64; 8] = [200, 700, 1_200, 1_700, 2_200, 2_700, 3_200, 3_700];
const DELAYS_PER_PLACE: u64 = 6;
/// Delays of a run without work, few and many: what starting and closing a run interrupts is in both, once the guest has run it.
const FEW_AND_MANY: [u64; 2] = [4, 260];
/// Counts of interrupts: before both runs, between them, and behind them.
const COUNTED: [&str; 3] = ["counted-0", "counted-1", "counted-2"];

/// Measures the paper's delay on the microcontroller, and on an ordinary kernel that is booted four times.
pub fn reproduce_in_virtual_time(at: &mut Reproducer<'_>, kernels: &Kernels) -> Result<Reproduction, Error> {
    if kernels.cobalt.is_some() || kernels.evl.is_some() {
        (at.announce)(WITHOUT_CORES);
    }
    let compiler = Compiler::new()?;
    let avr: Result<Vec<_>, Error> =
        Strategy::ALL.into_iter().map(|strategy| delays::measure(strategy, &compiler)).collect();
    let mut all = delays_from_avr(&avr?);
    for parameters in LINUX {
        all.push(run_delays(at, kernels, parameters)?);
    }
    let found = ManagedDelays(all);
    at.write_results(&found, delay_evidence(&found.0))
}

/// Boots the ordinary kernel with these parameters; returns how long its delays took.
fn run_delays(at: &mut Reproducer<'_>, kernels: &Kernels, parameters: &str) -> Result<ManagedDelay, Error> {
    let machine =
        Machine { parameters: parameters.split(' ').map(String::from).collect(), ..Machine::default() };
    let measured = at.boot(parameters, &kernels.ordinary, machine, guest_steps(), &[])?;
    let mut took_us = Vec::new();
    for place in PLACES_US {
        took_us.extend(delays_us(&measured, &place_step_name(place))?);
    }
    // The shortest distance of two starts that are asked for sooner than any tick comes.
    let starts_us = delays_us(&measured, "tick")?.into_iter();
    let tick_us = starts_us.reduce(f64::min).filter(|_| parameters.contains("highres=off"));
    let [before, between, behind] = COUNTED
        .map(|name| measured.step_output(name).ok().and_then(timer_interrupts).map(|count| count as f64));
    let more = || Some((behind? - between?) - (between? - before?));
    let [few, many] = FEW_AND_MANY;
    Ok(ManagedDelay {
        system: linux_system_name(parameters),
        tick_us,
        delays: took_us.len() as u64,
        shortest_us: took_us.iter().copied().fold(f64::INFINITY, f64::min),
        longest_us: took_us.iter().copied().fold(0.0, f64::max),
        interrupts: more().map(|more| more / (many - few) as f64),
    })
}

fn place_step_name(place_us: i64) -> String {
    format!("place-{place_us}")
}

/// The steps of a boot: interrupts counted around a short and a long run, delays at each place, and the shortest ones.
fn guest_steps() -> Vec<Step> {
    let run = |name: &str, period_ns: i64, work: Work, count: u64| {
        let task = TaskSpec {
            period_ns,
            work,
            cpu: Some(0),
            policy: Some(Policy::Fifo(80)),
            wake: WakeMethod::NanosleepRelative,
            ..TaskSpec::default()
        };
        jitterlab_run_step(name, &["--task".into(), task.to_string(), "--count".into(), count.to_string()])
    };
    let count = |name: &str| Step {
        name: name.into(),
        command: ["cat", "/proc/interrupts"].map(String::from).into(),
    };
    let asked_ns = (ASKED_US * 1e3) as i64;
    let [few, many] = FEW_AND_MANY;
    let [before, between, behind] = COUNTED.map(count);
    let mut steps = vec![
        run("first", asked_ns, Work::None, few),
        before,
        run("few", asked_ns, Work::None, few),
        between,
        run("many", asked_ns, Work::None, many),
        behind,
        run("tick", 100_000, Work::None, 32),
    ];
    steps.extend(PLACES_US.map(|us| {
        run(&place_step_name(us), asked_ns, Work::Spin { time_ns: us * 1_000 }, DELAYS_PER_PLACE + 1)
    }));
    steps
}

/// Each delay of a run in microseconds: from the end of an activation to the start of the next.
fn delays_us(measured: &GuestRun, step: &str) -> Result<Vec<f64>, Error> {
    let file = measured.run_file(step)?;
    let activations = Run::open(file.path(), &Hints::default())?.activations(0, 0..u64::MAX)?;
    Ok(activations.windows(2).map(|pair| (pair[1].start_ns - pair[0].end_ns) as f64 / 1e3).collect())
}

/// Sums the interrupts of all timers in `/proc/interrupts` of one processor; `None` if it names none.
fn timer_interrupts(table: &str) -> Option<u64> {
    let counts = table.lines().filter(|line| line.to_lowercase().contains("timer"));
    counts.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_of_all_timers_are_counted_and_no_others() {
        let table = "           CPU0\n  0:         30   IO-APIC   2-edge      timer\n  4:  7  IO-APIC  ttyS0\nLOC:        612   Local timer interrupts\n";
        assert_eq!(timer_interrupts(table), Some(642));
        assert_eq!(timer_interrupts("  4:  7  IO-APIC  ttyS0\n"), None);
    }

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
            delay_evidence(all).iter().filter_map(verdict).collect()
        };
        let [old, _, _, new] = LINUX.map(linux_system_name);
        let mut all = vec![
            one(avr_system_name(Strategy::Periodic), Some(10_000.0), 30_040.0, Some(2.5)),
            one(avr_system_name(Strategy::SingleShot), None, 15_060.0, Some(1.0)),
        ];
        assert_eq!(verdicts(&all), [Holds, Holds]);
        all.extend([one(old, Some(4_000.0), 18_950.0, Some(4.0)), one(new, None, 15_005.0, None)]);
        assert_eq!(verdicts(&all), [Holds, Holds, DoesNotHold, CannotBeTold, Holds]);
        assert_eq!(verdicts(&[]), []);
    }
}
