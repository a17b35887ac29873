//! Cost of the library: flash, RAM, cycles; it is less than that of the usual alternatives.

use jitterlab_mcu::{Board, Program, Setup, Strategy, cost, is_missing, polled_wait, simulate};

use super::{bench, skip};

#[test]
fn the_library_with_one_alarm_is_small_and_programs_the_timer_fast() {
    let Some(compiler) = bench() else { return };
    let all = cost::measure(cost::PAPER_CONDITIONS, &compiler).unwrap();
    assert_eq!(all.len(), 6);
    for cost in &all {
        assert!(cost.size.flash <= 1_280 && (1..=64).contains(&cost.size.ram), "{cost:?}");
        assert!(cost.programming_cycles.is_none_or(|c| (1..=120).contains(&c)), "{cost:?}");
    }
    assert_eq!(all.iter().filter(|c| c.programming_cycles.is_some()).count(), 3);
    // Without ticks there are as many interrupts as events.
    let shot = all.iter().find(|c| c.name == "single-shot, up to 20 ms").unwrap();
    assert!((shot.interrupts_per_s - 50.0).abs() < 1.0, "{shot:?}");

    let arduino = match cost::measure_arduino(cost::PAPER_CONDITIONS, &compiler) {
        Err(error) if is_missing(&error) => return skip(&error.to_string()).unwrap_or_default(),
        other => other.unwrap(),
    };
    let anchored = all.iter().find(|c| c.name == "anchored, up to 20 ms").unwrap();
    assert!(anchored.interrupt_share < arduino.interrupt_share / 5.0, "{anchored:?}, {arduino:?}");
    assert!(anchored.max_error_us < arduino.max_error_us && arduino.asleep_share == 0.0, "{arduino:?}");
}

/// With its handler in the interrupt, an event of one anchored alarm takes at most 100 cycles, from the entry to the end of
/// RETI, and the program 1.2 KiB.
#[test]
fn an_inline_handler_makes_the_interrupt_short() {
    let Some(compiler) = bench() else { return };
    let under = cost::WHOLE_COUNT_CONDITIONS;
    let inline = cost::measure_inline(under, &compiler).unwrap();
    let by_hand = cost::measure_by_hand(under, &compiler).unwrap();
    let plain = cost::measure(under, &compiler).unwrap();
    let arduino = [cost::measure_tone(under, &compiler), cost::measure_arduino(under, &compiler)];
    // The table of mcu/README.md.
    for of in plain.iter().chain([&inline, &by_hand]).chain(arduino.iter().flatten()) {
        let off_us = of.min_error_us.abs().max(of.max_error_us);
        let (flash, ram, cycles) = (of.size.flash, of.size.ram, of.longest_interrupt_cycles);
        let (irq, asleep) = (of.interrupts_per_s, of.asleep_share);
        println!("{}: {flash} {ram} {cycles} {irq:.0}/s off {off_us:.2} us, asleep {asleep:.4}", of.name);
    }
    assert!(inline.longest_interrupt_cycles <= 100 && inline.size.flash <= 1_229, "{inline:?}");
    for name in ["anchored, up to 10 ms", "anchored, up to 10 s"] {
        let plain = plain.iter().find(|of| of.name == name).unwrap();
        assert!(plain.size.flash <= 1_229, "{plain:?}");
        // A call through a pointer alone makes an interrupt save 15 registers: 93 cycles for the version by hand.
        assert!(plain.longest_interrupt_cycles <= 135, "{plain:?}");
    }
    assert!(by_hand.size.flash < inline.size.flash && by_hand.max_error_us.abs() < 1.0, "{by_hand:?}");
    for (prescaler, most) in [(1, 100), (8, 100), (64, 105)] {
        let board = Board::with_ideal_timing(Strategy::Anchored, prescaler, 1_000)
            .with_chip("atmega328p", 16_000_000);
        let firmware = compiler.build(&Program::with_period("inline_alarm", 1_000), &board).unwrap();
        assert!(firmware.size.flash <= 1_120, "{:?}, interrupt vectors and start included", firmware.size);
        let setup = Setup {
            mcu: Some(board.mcu.clone()),
            clock_hz: Some(board.clock_hz),
            ..Setup::new(&firmware.elf, 1_600_000)
        };
        let log = simulate(&setup).unwrap().log;
        let [vector] = &log.vectors[..] else { panic!("{:?}", log.vectors) };
        assert!(vector.count >= 98, "{vector:?}");
        assert!(vector.max_cycles <= most, "prescaler {prescaler}: {vector:?}");
    }
}

#[test]
fn a_polled_wait_is_late_by_its_own_loop_where_interrupts_are_off() {
    let Some(compiler) = bench() else { return };
    let [on, off] = [false, true].map(|locked| {
        let run = polled_wait::measure(500, locked, 500, &compiler).unwrap();
        let late = run.activations.iter().map(|activation| activation.start_ns - activation.due_ns);
        late.clone().max().unwrap() - late.min().unwrap()
    });
    // At 16 MHz: a turn of the loop is below 16 cycles, and an interrupt comes in every 256.
    assert!(off < 1_000 && on > off + 500, "{on} {off}");
}
