//! No interval, strategy, prescaler or clock gives a wrong period: the period is kept or refused.

use std::sync::atomic::{AtomicUsize, Ordering};

use jitterlab_mcu::{
    Board, Compiler, FailureCase, Firmware, Program, Setup, SimulationLength, Strategy, TimerKind,
    epos_related_timers, firmware, simulate,
};
use jitterlab_model::Error;

use super::{bench, test_source};

const HOUR_US: u32 = 3_600_000_000;
/// Address at which the program reads its interval.
const ADDRESS: u16 = 0x600;
/// Largest difference in cycles between two ways from an event to its handler: with an intermediate stop, at
/// an overflow of the counter.
const WAYS: u64 = 400;

fn board(strategy: Strategy, clock_hz: u32, prescaler: u16, max_period_us: u32) -> Board {
    Board {
        max_period_us,
        tick_us: 1_000,
        inexact: false,
        ..Board::with_ideal_timing(strategy, prescaler, 1_000).with_chip("atmega328p", clock_hz)
    }
}

/// A way of timing alarms: a strategy on a timer.
struct Way {
    board: Board,
    /// The class of timer 2, if not timer 1 is used.
    timer_2: Option<&'static str>,
    /// Soft, or Anchored with GRACE, in the place of the board's strategy.
    kind: Option<TimerKind>,
    /// Counts of it in a second.
    counts_hz: f64,
    /// Cycles by which an event may be later than another: the tick of Soft, the grace, the delay of a
    /// crystal's registers.
    late: u64,
}

impl Way {
    fn from_board(board: Board) -> Self {
        let (counts_hz, late) = (board.timer_hz(), u64::from(board.prescaler) + WAYS);
        Way { board, timer_2: None, kind: None, counts_hz, late }
    }

    /// Every tick of a millisecond takes an interrupt, or every 96 counts of 8 bits: hours of that are long to simulate.
    fn is_long(&self, interval_us: u32) -> bool {
        let eight_bits = self.timer_2.is_some();
        let interrupts = match self.kind == Some(TimerKind::Soft) || self.board.strategy == Strategy::Periodic
        {
            true => f64::from(interval_us) / 1e3,
            false if eight_bits => f64::from(interval_us) / 1e6 * self.counts_hz / 96.0,
            false => 0.0,
        };
        interrupts > 10_000.0
    }

    fn build(&self, compiler: &Compiler) -> Result<Firmware, Error> {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("interval.cc");
        let interval = test_source("interval");
        let timer_2 = self.timer_2.map_or(String::new(), |class| {
            format!(
                "#include <mcu/device/avr_timer2_crystal.h>\n#define TEST_DEVICE mcu::{class}\n\
                 #define TEST_INTERRUPTS MCU_INTERRUPTS_OF(Time, TIMER2_COMPA_vect, TIMER2_OVF_vect)\n"
            )
        });
        let text = format!("{timer_2}#include \"{interval}\"\n");
        std::fs::write(&source, text).unwrap();
        let program = self.kind.map_or(Program::EMPTY, epos_related_timers::program);
        compiler.build_file(source.to_str().unwrap(), &program, &self.board)
    }
}

/// Returns the longest period that fits into 31 bits of counts, at most an hour.
fn longest_us(clock_hz: u32, prescaler: u16) -> u32 {
    (0x7eff_0000 * u64::from(prescaler) * 1_000_000 / u64::from(clock_hz)).min(HOUR_US.into()) as u32
}

/// Intervals from 10 us to an hour, evenly in their logarithm, with whole milliseconds and borders among them.
fn intervals(way: &Way, seed: u64) -> Vec<u32> {
    let board = &way.board;
    let mut state = seed | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut all =
        vec![10, 11, 100, 300_000, 1_500_000, board.max_period_us, board.max_period_us.saturating_add(1)];
    let many = if way.kind.is_some() || way.timer_2.is_some() { 32 } else { 80 };
    while all.len() < many {
        let power = random() % 1_000;
        let us = (10.0 * (f64::from(HOUR_US) / 10.0).powf(power as f64 / 1_000.0)) as u32;
        all.push(if random() % 2 == 0 { us } else { us.div_ceil(1_000) * 1_000 });
    }
    all.retain(|us| !way.is_long(*us));
    all
}

/// Returns true if the interval is kept, false if the program refused it.
fn is_kept(elf: &std::path::Path, way: &Way, interval_us: u32) -> bool {
    let board = &way.board;
    let events: u64 = if interval_us <= 10_000 { 200 } else { 4 };
    let time_ns = (events + 2) * u64::from(interval_us) * 1_000 + 10_000_000;
    let pokes = (ADDRESS..).zip(interval_us.to_le_bytes()).collect();
    let recording = simulate(&Setup {
        mcu: Some(board.mcu.clone()),
        clock_hz: Some(board.clock_hz),
        pins: ["B0", "B2"].map(|pin| pin.parse().unwrap()).into(),
        length: SimulationLength::Time(time_ns),
        max_edges: Some(events * 2),
        initial_bytes: pokes,
        ..Setup::new(elf, 0)
    })
    .unwrap();
    let starts: Vec<u64> = recording.log.edge_cycles(0, true).collect();
    if recording.log.edge_cycles(1, true).next().is_some() {
        assert!(starts.is_empty(), "{interval_us} us is refused and comes: {board:?}");
        return false;
    }
    assert!(
        starts.len() as u64 >= events,
        "{interval_us} us: {} events of {events}: {board:?}",
        starts.len()
    );
    for (k, start) in (0u64..).zip(&starts) {
        let due = u128::from(k) * u128::from(interval_us) * u128::from(board.clock_hz) / 1_000_000;
        let off = u128::from(start - starts[0]).abs_diff(due) as u64;
        assert!(off <= way.late, "{interval_us} us: event {k} is {off} cycles off: {board:?}");
    }
    true
}

#[test]
fn every_interval_is_kept_or_refused() {
    let Some(compiler) = bench() else { return };
    let mut ways = Vec::new();
    for clock_hz in [1_000_000, 7_372_800, 16_000_000] {
        for prescaler in firmware::PRESCALERS {
            let longest = longest_us(clock_hz, prescaler);
            for max_period_us in [20_000, longest] {
                ways.push(Way::from_board(board(Strategy::Anchored, clock_hz, prescaler, max_period_us)));
            }
            ways.push(Way::from_board(board(Strategy::Periodic, clock_hz, prescaler, longest)));
            let soft = Way::from_board(board(Strategy::Anchored, clock_hz, prescaler, longest));
            let late = soft.late + u64::from(clock_hz) / 1_000;
            ways.push(Way { kind: Some(TimerKind::Soft), late, ..soft });
            let smart = Way::from_board(board(Strategy::Anchored, clock_hz, prescaler, longest));
            ways.push(Way { kind: Some(TimerKind::Smart), late, ..smart });
        }
    }
    ways.push(Way::from_board(board(Strategy::SingleShot, 16_000_000, 64, 1_000_000)));
    // 8 bits: with a prescaler of 1 a quarter of the range is less than an event takes.
    for prescaler in [1, 8, 32, 128, 1024] {
        let clock_hz = 16_000_000;
        let way =
            Way::from_board(board(Strategy::Anchored, clock_hz, prescaler, longest_us(clock_hz, prescaler)));
        ways.push(Way { timer_2: Some("AVR_Timer2"), ..way });
        // A watch crystal: a count, the shortest distance of a write, the wait for a write.
        let (clock_hz, edge) = (8_000_000, 245);
        let way = Way::from_board(board(Strategy::Anchored, clock_hz, prescaler, HOUR_US));
        let late = edge * u64::from(prescaler) * if prescaler == 1 { 4 } else { 2 } + 3 * edge + 2 * WAYS;
        let counts_hz = 32_768.0 / f64::from(prescaler);
        ways.push(Way { timer_2: Some("AVR_Timer2_Crystal"), counts_hz, late, ..way });
    }
    let (kept, refused, next) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((seed, way)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, ways.get(n)?)))
                {
                    try_all(&compiler, way, seed as u64, &kept, &refused);
                }
            });
        }
    });
    let (kept, refused) = (kept.into_inner(), refused.into_inner());
    eprintln!("{kept} kept, {refused} refused");
    assert!(kept > 1_000 && refused > 500, "{kept} kept, {refused} refused");
}

fn try_all(compiler: &Compiler, way: &Way, seed: u64, kept: &AtomicUsize, refused: &AtomicUsize) {
    let intervals = intervals(way, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    match way.build(compiler) {
        // A tick of a fractional number of counts or above a quarter of the range, a range of which an event
        // takes a quarter.
        Err(error) if matches!(error.case_of(), Some(FailureCase::NotCompiled(_))) => {
            let message = error.to_string();
            assert!(
                message.contains("choose another TICK") || message.contains("choose a larger prescaler"),
                "{message}"
            );
            assert!(
                way.board.strategy == Strategy::Periodic || way.kind.is_some() || way.timer_2.is_some(),
                "{:?}",
                way.board
            );
            refused.fetch_add(intervals.len(), Ordering::Relaxed);
        }
        Err(other) => panic!("{other}"),
        Ok(firmware) => {
            for interval_us in intervals {
                let count = if is_kept(&firmware.elf, way, interval_us) { kept } else { refused };
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Periods that were once silently changed are kept or refused.
#[test]
fn periods_that_were_wrong_are_right_or_refused() {
    let Some(compiler) = bench() else { return };
    let expect = |strategy, max_period_us, interval_us, kept| {
        let way = Way::from_board(board(strategy, 8_000_000, 64, max_period_us));
        let elf = way.build(&compiler).unwrap().elf;
        assert_eq!(is_kept(&elf, &way, interval_us), kept, "{interval_us} us: {:?}", way.board);
    };
    expect(Strategy::Anchored, 20_000, 300_000, false);
    expect(Strategy::SingleShot, 1_000_000, 1_000, true);
    expect(Strategy::Periodic, 1_000_000, 1_500, false);
    expect(Strategy::Periodic, 1_000_000, 100, false);
    expect(Strategy::Periodic, 1_000_000, 2_000, true);
}

/// A constant interval that cannot be kept does not compile, with the reason in the message.
#[test]
fn a_constant_interval_is_refused_by_the_compiler() {
    let Some(compiler) = bench() else { return };
    let build = |period_us| {
        let board = board(Strategy::Periodic, 8_000_000, 64, 1_000_000);
        compiler.build(&Program::with_period("one_alarm", period_us), &board)
    };
    assert!(build(2_000).is_ok());
    for period_us in [1_500, 100, 2_000_000] {
        let error = build(period_us).unwrap_err().to_string();
        assert!(error.contains("this interval is not kept exactly"), "{period_us} us: {error}");
    }
}

/// With the trait `CHECKS` the program reports its own errors: pins B2 to B4, one for each kind.
#[test]
fn a_debug_build_says_what_was_broken() {
    let Some(compiler) = bench() else { return };
    // A turn takes 5 cycles. A quarter of the counter's range has 16 384 cycles, a tick 16 000.
    for (strategy, prescaler, turns) in [(Strategy::Anchored, 1, 6_000), (Strategy::Periodic, 64, 3_840)] {
        let board = board(strategy, 16_000_000, prescaler, 20_000);
        let program = Program::with_events("periodic_alarm", 2_000, turns);
        let firmware = compiler.build_file(&test_source("checks"), &program, &board).unwrap();
        for wrong in 0..4u8 {
            let setup = Setup {
                mcu: Some(board.mcu.clone()),
                clock_hz: Some(board.clock_hz),
                pins: ["B2", "B3", "B4"].map(|pin| pin.parse().unwrap()).into(),
                initial_bytes: vec![(ADDRESS, wrong)],
                ..Setup::new(&firmware.elf, 1_600_000)
            };
            let log = simulate(&setup).unwrap().log;
            let said: Vec<usize> = (0..3)
                .filter(|pin| log.edge_cycles(*pin, true).next().is_some())
                .map(|pin| pin + 1)
                .collect();
            let expected: Vec<usize> = (wrong != 0).then_some(wrong.into()).into_iter().collect();
            assert_eq!(said, expected, "{strategy}, {wrong}");
        }
    }
}
