//! Threads on the chip, woken by alarms: with program counters of two and of three bytes.

use jitterlab_mcu::{Board, FinalSleep, Program, Setup, Stop, Strategy, simulate};

use super::{bench, test_source};

#[test]
fn alarms_wake_threads_under_every_strategy() {
    let Some(compiler) = bench() else { return };
    for mcu in ["atmega128", "atmega328p", "atmega2560"] {
        for strategy in Strategy::ALL {
            let board =
                Board { max_period_us: 3_000, tick_us: 500, ..Board::with_ideal_timing(strategy, 8, 1_000) };
            let board = board.with_chip(mcu, 8_000_000);
            let firmware = compiler.build_file(&test_source("threads"), &Program::EMPTY, &board).unwrap();
            let setup = Setup { mcu: Some(mcu.into()), ..Setup::new(&firmware.elf, 1_000_000) };
            let recording = simulate(&Setup { clock_hz: Some(board.clock_hz), ..setup }).unwrap();
            let sent = String::from_utf8_lossy(&recording.log.serial);
            assert_eq!(
                (sent.as_ref(), recording.log.stop),
                ("5 42 3 65529\n", Stop::Asleep(FinalSleep::Done)),
                "{mcu}, {strategy}"
            );
            assert!(recording.log.asleep_share() > 0.5, "{mcu}, {strategy}: it waits awake");
        }
    }
}
