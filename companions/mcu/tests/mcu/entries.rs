//! Cost of an interrupt's entry: the data sheets' minimum, and twice that from sleep.

use jitterlab_mcu::{Board, FinalSleep, Program, Setup, Stop, Strategy, simulate};

use super::{bench, test_source};

/// The handler's first instruction reads the counter: since the match it has counted the entry, the vector's JMP and the first cycle of LDS.
#[test]
fn a_naked_handler_sees_the_entry_charged_as_on_the_chip() {
    let Some(compiler) = bench() else { return };
    for (mcu, entry) in [("atmega328p", 4), ("atmega1284p", 4), ("atmega2560", 5)] {
        let board = Board::with_ideal_timing(Strategy::Anchored, 64, 1_000).with_chip(mcu, 16_000_000);
        let firmware = compiler.build_file(&test_source("entry_latency"), &Program::EMPTY, &board).unwrap();
        let setup = Setup { clock_hz: Some(16_000_000), ..Setup::new(&firmware.elf, 1_000_000) };
        let log = simulate(&setup).unwrap().log;
        assert_eq!(log.stop, Stop::Asleep(FinalSleep::Done));
        assert_eq!((log.entry_count, log.entries_from_sleep), (2, 1));
        assert_eq!(log.serial, [entry + 4, entry + entry + 4], "{mcu}");
    }
}
