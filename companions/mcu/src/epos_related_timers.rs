//! Timers of the EPOS paper's related work: soft, smart and firm ones, compared with a tick and single shots.
use jitterlab_model::Error;

use super::{Board, Compiler, Program, Strategy, cost, simulate};
use crate::figures::{NearbyFigures, TimerKind};

/// Period of the three alarms of the program, in microseconds.
const PERIOD_US: u32 = 10_000;
/// Requested time from arming each to its first event, in microseconds.
const FIRST_US: [u32; 3] = [10_000, 10_300, 10_600];
/// Tick of the kinds that have one, and permitted lateness of an event, in microseconds.
pub const PERMITTED_LATENESS_US: u32 = 1_000;
const SECONDS: u64 = 5;

/// Program with three alarms of 10 ms whose events are close to each other; it works meanwhile.
pub fn program(kind: TimerKind) -> Program {
    let (class, grace_us) = match kind {
        TimerKind::Tick => ("Periodic", 0),
        TimerKind::SingleShot => ("Anchored", 0),
        TimerKind::Soft => ("Soft", 0),
        TimerKind::Smart | TimerKind::Firm => ("Anchored", PERMITTED_LATENESS_US),
    };
    let program = Program::new("nearby_alarms")
        .with_macro(format!("MCU_OF_KIND={class}"))
        .with_macro(format!("MCU_GRACE={grace_us}UL"));
    if kind.is_polled() { program.with_macro("MCU_POLLS") } else { program }
}

/// Measures the lateness of three nearby alarms under a kind of timer, and the interrupts it takes.
pub fn measure(kind: TimerKind, compiler: &Compiler) -> Result<NearbyFigures, Error> {
    let board = Board {
        tick_us: PERMITTED_LATENESS_US,
        max_period_us: 2 * PERIOD_US,
        ..Board::with_ideal_timing(Strategy::Anchored, 64, PERIOD_US)
    };
    let board = board.with_chip(cost::CHIP, cost::CLOCK_HZ);
    let firmware = compiler.build(&program(kind), &board)?;
    let clock = u64::from(board.clock_hz);
    let recording = simulate(&firmware.setup(&["B0", "B1", "B2", "B3"], clock * SECONDS)?)?;
    let log = &recording.log;
    let us = |cycles: u64| cycles as f64 * 1e6 / clock as f64;
    let mut late_us: Vec<f64> = Vec::new();
    for (pin, (asked, first_us)) in log.edge_cycles(3, true).zip(FIRST_US).enumerate() {
        let due_us = |k: u32| f64::from(first_us) + f64::from(k) * f64::from(PERIOD_US);
        late_us
            .extend((0u32..).zip(log.edge_cycles(pin, true)).map(|(k, start)| us(start - asked) - due_us(k)));
    }
    late_us.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (late_us.first(), late_us.last()) else {
        return Err(recording.silent_pin_error("B0", log.edges.len()));
    };
    let in_interrupts: u64 = log.vectors.iter().map(|v| v.cycles).sum();
    Ok(NearbyFigures {
        kind,
        lenient_us: kind.is_lenient().then_some(PERMITTED_LATENESS_US),
        events: late_us.len() as u64,
        interrupts_per_s: log.entry_count as f64 / SECONDS as f64,
        interrupt_share: in_interrupts as f64 / log.cycles as f64,
        earliest_us: *least,
        median_us: late_us[late_us.len() / 2],
        latest_us: *most,
    })
}
