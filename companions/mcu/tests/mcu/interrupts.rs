//! Alarms are created and cancelled while the timer's interrupt arrives at every single cycle of these operations.

use std::collections::BTreeSet;

use jitterlab_mcu::{Board, FinalSleep, Firmware, Program, Recording, Setup, Stop, Strategy, simulate};

use super::{bench, test_source};

const HZ: u64 = 8_000_000;
const CYCLES_PER_US: i64 = 8;
const STEADY: usize = 0;
const SECOND: usize = 1;
const THIRD: usize = 2;
const OPERATION: usize = 3;

fn run(firmware: &Firmware, wait: u16) -> Recording {
    let [low, high] = wait.to_le_bytes();
    let setup = Setup {
        mcu: Some(firmware.board.mcu.clone()),
        clock_hz: Some(HZ as u32),
        pins: ["B0", "B1", "B2", "B5"].iter().map(|p| p.parse().unwrap()).collect(),
        record_entries: true,
        initial_bytes: vec![(0x4a, low), (0x4b, high)], // GPIOR1, GPIOR2
        ..Setup::new(&firmware.elf, 200_000)
    };
    let recording = simulate(&setup).unwrap();
    assert_eq!(recording.log.stop, Stop::Asleep(FinalSleep::Done), "wait {wait}: the program hangs");
    recording
}

/// Each alarm's events: none early, none lost, none twice, none late by more than locks and other handlers explain.
fn assert_events(recording: &Recording, strategy: Strategy, context: &str) {
    let rises: Vec<i64> = recording.log.edge_cycles(OPERATION, true).map(|c| c as i64).collect();
    let falls: Vec<i64> = recording.log.edge_cycles(OPERATION, false).map(|c| c as i64).collect();
    assert_eq!((rises.len(), falls.len()), (5, 5), "{context}");
    let events = |pin| recording.log.edge_cycles(pin, true).map(|c| c as i64).collect::<Vec<_>>();
    // A lock and two other events may precede an event; the tick adds up to one tick.
    let late = 1_300 + if strategy == Strategy::Periodic { 2 * 100 * CYCLES_PER_US } else { 0 };
    let follow = |name: &str, events: &[i64], period_us: i64, asked: i64| {
        for (k, at) in (1..).zip(events) {
            let due = asked + k * period_us * CYCLES_PER_US;
            // A single shot begins each interval when the last was served: it may lose that time again and again.
            let lost = if strategy == Strategy::SingleShot { k * 2 * late } else { late };
            assert!(*at >= due, "{context}: event {k} of {name} comes {} cycles early", due - at);
            assert!(*at <= due + lost, "{context}: event {k} of {name} comes {} cycles late", at - due);
        }
        for pair in events.windows(2) {
            assert!(pair[1] - pair[0] > 60, "{context}: an event of {name} comes twice");
        }
    };
    let second = events(SECOND);
    assert_eq!(second.len(), 3, "{context}");
    follow("second", &second, 100, rises[0]);
    let third = events(THIRD);
    follow("third", &third, 200, rises[1]);
    let end = falls[2];
    assert!(third.iter().all(|at| *at <= end), "{context}: third comes after it was cancelled");
    let steady = events(STEADY);
    assert!(steady.iter().all(|at| *at <= falls[4]), "{context}: steady comes after it was cancelled");
    if strategy != Strategy::SingleShot {
        // Without drift the number of events follows from the time.
        let expected = |from: i64, to: i64, period_us: i64| (to - from) / (period_us * CYCLES_PER_US);
        let close = |count: usize, expected: i64| (count as i64 - expected).abs() <= 1;
        assert!(close(third.len(), expected(rises[1], end, 200)), "{context}: {} of third", third.len());
        let grid = steady.windows(2).map(|w| w[1] - w[0] - 400 * CYCLES_PER_US);
        assert!(grid.clone().all(|error| error.abs() <= late), "{context}: steady leaves its grid");
        assert!(close(steady.len(), expected(0, falls[4], 400)), "{context}: {} of steady", steady.len());
    }
    let delay = falls[3] - rises[3];
    assert!(delay >= 1_000 * CYCLES_PER_US, "{context}: a delay of {delay} cycles is short");
}

/// The operation that itself waits. The test covers its beginning, with interrupts at this number of its cycles,
/// at once or after the lock.
const DELAY: usize = 3;
const BEGINNING: u64 = 150;
const BEGINNING_AND_LOCK: u64 = 500;

/// The operation that cancels the last alarm.
const LAST: usize = 4;

/// An interrupt waits for the end of the instruction that is under way, so the last few cycles of an operation's last one
/// are not hit; nor are some of its first ones, since one more wait is not always one cycle more.
const ENDS: u64 = 10;

/// One of the program's operations, over all waits.
#[derive(Debug, Clone, Copy, Default)]
struct Operation {
    /// Cycles it takes undisturbed.
    shortest: u64,
    /// Waits with an interrupt during it, or pending at its end.
    hit: u64,
}

impl Operation {
    fn add_run(&mut self, recording: &Recording, number: usize) {
        let begin = recording.log.edge_cycles(OPERATION, true).nth(number).unwrap();
        let end = recording.log.edge_cycles(OPERATION, false).nth(number).unwrap();
        let (length, end) =
            if number == DELAY { (BEGINNING, begin + BEGINNING_AND_LOCK) } else { (end - begin, end) };
        if self.shortest == 0 || length < self.shortest {
            self.shortest = length;
        }
        self.hit += u64::from(recording.log.entries.iter().any(|e| (begin..=end).contains(&e.cycle)));
    }
}

#[test]
fn no_interrupt_at_any_cycle_of_an_operation_breaks_the_queue() {
    let Some(compiler) = bench() else { return };
    std::thread::scope(|scope| {
        for strategy in Strategy::ALL {
            let compiler = &compiler;
            scope.spawn(move || {
                let board = Board {
                    mcu: "atmega328p".into(),
                    clock_hz: HZ as u32,
                    prescaler: 1,
                    strategy,
                    max_period_us: 1_000,
                    tick_us: 100,
                    inexact: true,
                    compare_as_paper: false,
                };
                let source = test_source("queue_operations");
                let firmware = compiler.build_file(&source, &Program::EMPTY, &board).unwrap();
                // The steady alarm is due every 3200 cycles, or some more that a single shot loses. Over more
                // than that many waits its interrupt arrives at every cycle of every operation.
                let mut interrupted = BTreeSet::new();
                let mut operations = [Operation::default(); 5];
                for wait in 2_200..6_000 {
                    let recording = run(&firmware, wait);
                    assert_events(&recording, strategy, &format!("{strategy}, wait {wait}"));
                    interrupted.extend(recording.log.entries.iter().map(|e| e.address));
                    operations.iter_mut().enumerate().for_each(|(k, o)| o.add_run(&recording, k));
                }
                // An interrupt that waits for the end of the last operation is cancelled by it, and does not show; under a
                // tick that operation always follows one.
                for (k, operation) in operations[..LAST].iter().enumerate() {
                    assert!(
                        operation.hit + ENDS >= operation.shortest,
                        "{strategy}: operation {k} takes {} cycles, and only {} interrupts came in it",
                        operation.shortest,
                        operation.hit
                    );
                }
                // Interrupts arrived at all instructions of the operations that do not block them.
                assert!(
                    interrupted.len() > 30,
                    "{strategy}: only {} places were interrupted",
                    interrupted.len()
                );
            });
        }
    });
}
