//! What an interrupt's entry costs: the simulator alone says nothing, the datasheet 4 cycles and 4 more from sleep.

use jitterlab_bench::mcu::{Board, Program, Setup, StopCause, Strategy};

use super::{bench, test_source};

fn counts_at_the_first_instruction(charge_entries: bool) -> Option<Vec<u8>> {
    let (compiler, simulator) = bench()?;
    let board = Board { mcu: "atmega328p".into(), ..Board::ideal(Strategy::Anchored, 64, 1_000) };
    let firmware = compiler.build_file(&test_source("entry_latency"), &Program::Empty, &board).unwrap();
    let recording = simulator
        .run(&Setup { charge_entries, mcu: Some(board.mcu), ..Setup::new(&firmware.elf, 1_000_000) })
        .unwrap();
    assert_eq!(recording.stop, StopCause::Done);
    assert_eq!((recording.entries, recording.entries_asleep), (2, 1));
    Some(recording.uart)
}

/// The vector's JMP takes 3 cycles. Uncharged, simavr shows these alone, and one of its own from sleep.
#[test]
fn a_naked_handler_sees_the_entry_charged_as_on_the_chip() {
    let Some(uncharged) = counts_at_the_first_instruction(false) else { return };
    assert_eq!(uncharged, [3, 3 + 1]);
    let charged = counts_at_the_first_instruction(true).unwrap();
    assert_eq!(charged, [4 + 3, 4 + 4 + 3]);
}
