//! Delays of Linux in virtual time, with and without a tick, with and without high-resolution timers; and those of a
//! microcontroller's strategies.

use crate::claims::time_management::{ASKED_US, Managed, ManagedDelay, from_avr};
use crate::systems::{self, Kernels};
use crate::words::{Found, Step};
use jitterlab_kernel::job::Step as JobStep;
use jitterlab_kernel::session::run_step;
use jitterlab_kernel::{GuestRun, Machine};
use jitterlab_mcu::{Compiler, Strategy, delays};
use jitterlab_model::{Activation, Error, Policy, TaskSpec, WakeMethod, Work};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::Columns;

use crate::Workplace;

/// Work before a delay, so that each is asked for at another place between two ticks, in microseconds.
const PLACES_US: [i64; 8] = [200, 700, 1_200, 1_700, 2_200, 2_700, 3_200, 3_700];
/// Delays at each place.
const EACH: u64 = 6;
/// Delays of a run without work, few and many: what starting and closing a run interrupts is in both, once the guest has run it.
const FEW_AND_MANY: [u64; 2] = [4, 260];
/// Counts of interrupts: before both runs, between them, and behind them.
const COUNTED: [&str; 3] = ["counted-0", "counted-1", "counted-2"];

/// The paper's delay on the microcontroller, and on an ordinary kernel that is booted four times.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    at.make()?;
    let compiler = Compiler::new()?;
    let avr: Result<Vec<_>, Error> =
        Strategy::ALL.into_iter().map(|strategy| delays::measure(strategy, &compiler)).collect();
    let mut all = from_avr(&avr?);
    for system in Managed::LINUX {
        all.extend(on_linux(at, kernels, system)?);
    }
    Ok(Found::EposVirtual(all))
}

fn on_linux(
    at: &mut Workplace<'_>,
    kernels: &Kernels,
    system: Managed,
) -> Result<Option<ManagedDelay>, Error> {
    let Managed::Linux { high_resolution, tickless } = system else { return Ok(None) };
    let setting = |name: &str, on: bool| format!("{name}={}", if on { "on" } else { "off" });
    let parameters = vec![setting("highres", high_resolution), setting("nohz", tickless)];
    let (words, machine) = (parameters.join(" "), Machine { parameters, ..Machine::default() });
    let session = systems::session(machine, steps(), at.with)?;
    (at.tell)(&Step::Booting { system: words, kernel: kernels.ordinary.to_string() });
    let tell = &mut at.tell;
    let measured =
        session.on(&kernels.ordinary, &mut |text| tell(&Step::Preparing(text.into())), &mut |_| ())?;
    let mut took_us = Vec::new();
    for place in PLACES_US {
        took_us.extend(delays_us(&measured, &place_name(place))?);
    }
    // The shortest distance of two starts that are asked for sooner than any tick comes.
    let tick_us = delays_us(&measured, "tick")?.into_iter().reduce(f64::min).filter(|_| !high_resolution);
    let counted = COUNTED.map(|name| measured.output(name).ok().and_then(timer_interrupts));
    let [few, many] = FEW_AND_MANY;
    let interrupts = match counted {
        [Some(before), Some(between), Some(behind)] => {
            let more = (behind - between) as f64 - (between - before) as f64;
            Some(more / (many - few) as f64)
        }
        _ => None,
    };
    Ok(Some(ManagedDelay {
        system,
        tick_us,
        delays: took_us.len() as u64,
        shortest_us: took_us.iter().copied().fold(f64::INFINITY, f64::min),
        longest_us: took_us.iter().copied().fold(0.0, f64::max),
        interrupts,
    }))
}

fn place_name(place_us: i64) -> String {
    format!("place-{place_us}")
}

/// The steps of a boot: interrupts counted around a short and a long run, delays at each place, and the shortest ones.
fn steps() -> Vec<JobStep> {
    let run = |name: &str, period_ns: i64, work: Work, count: u64| {
        let task = TaskSpec {
            period_ns,
            work,
            cpu: Some(0),
            policy: Some(Policy::Fifo(80)),
            wake: WakeMethod::NanosleepRelative,
            ..TaskSpec::default()
        };
        run_step(name, &["--task".into(), task.to_string(), "--count".into(), count.to_string()])
    };
    let count = |name: &str| JobStep {
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
    steps.extend(
        PLACES_US.map(|us| run(&place_name(us), asked_ns, Work::Spin { time_ns: us * 1_000 }, EACH + 1)),
    );
    steps
}

/// Each delay of a run in microseconds: from the end of an activation to the start of the next.
fn delays_us(measured: &GuestRun, step: &str) -> Result<Vec<f64>, Error> {
    let file = measured.run_file(step)?;
    let mut activations: Vec<Activation> = Vec::new();
    Run::open(file.path(), &Hints::default())?
        .visit(0, Columns::ALL, |rows| activations.extend_from_slice(rows))?;
    Ok(activations.windows(2).map(|pair| (pair[1].start_ns - pair[0].end_ns) as f64 / 1e3).collect())
}

/// Interrupts of all timers by the kernel's table of one processor; `None` if it names none.
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
}
