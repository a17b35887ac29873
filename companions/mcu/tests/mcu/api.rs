//! Further features of alarms: moments, phases, contexts, events left out, work outside of the interrupt; and
//! the timers that support them.

use std::fs;

use jitterlab_mcu::{Board, Compiler, Firmware, Program, Setup, Strategy, simulate};
use jitterlab_model::Error;

use super::{bench, test_source};

#[test]
fn moments_phases_contexts_and_deferred_work() {
    let Some(compiler) = bench() else { return };
    for prescaler in [8, 64] {
        let board = Board {
            inexact: false,
            ..Board::with_ideal_timing(Strategy::Anchored, prescaler, 100_000)
                .with_chip("atmega328p", 16_000_000)
        };
        let firmware = compiler.build_file(&test_source("api"), &Program::EMPTY, &board).unwrap();
        let setup = Setup {
            mcu: Some(board.mcu.clone()),
            clock_hz: Some(board.clock_hz),
            pins: ["B0", "B1", "B2", "B3", "B4"].map(|pin| pin.parse().unwrap()).into(),
            ..Setup::new(&firmware.elf, 16_000_000)
        };
        let log = simulate(&setup).unwrap().log;
        let of = |pin| log.edge_cycles(pin, true).collect::<Vec<u64>>();
        let (exact, asked, single, skipping, deferred) = (of(0), of(1)[0], of(2), of(3), of(4));
        let context = format!("prescaler {prescaler}: {:?}", log.vectors);
        let counts = u64::from(prescaler);

        // From that moment on every 2 ms, except while a lock of 5 ms delays them; the pin moved soon after
        // the clock was read.
        let first = exact[0] - asked;
        assert!((1_000 * counts - 100..1_000 * counts + 900).contains(&first), "{first}: {context}");
        let late = |at: &u64| (at - exact[0] + 16_000) % 32_000;
        let grid: Vec<u64> = exact.iter().map(late).collect();
        let on_time = grid.iter().filter(|late| (15_000..17_000).contains(*late)).count();
        assert!(on_time >= exact.len() - 2 && exact.len() > 15, "{grid:?}: {context}");
        assert_eq!(single.len(), 1);
        assert!(
            (1_500 * counts - 100..1_500 * counts + 900).contains(&(single[0] - asked)),
            "{single:?}: {context}"
        );

        // The phase: 3 ms, then every 10 ms, three times, each once.
        assert_eq!(deferred.len(), 3, "{context}");

        let sent = String::from_utf8(log.serial.clone()).unwrap();
        let numbers: Vec<u64> = sent.lines().map(|line| line.parse().unwrap()).collect();
        let [missed, refused] = numbers[..] else { panic!("{sent}") };
        assert_eq!(refused, 1, "a moment that has passed");
        assert!((3..=5).contains(&missed), "{missed}: {context}");
        let due = (skipping[skipping.len() - 1] - asked + 8_000) / 16_000;
        assert_eq!(due, skipping.len() as u64 + missed, "what is left out leaves its place: {context}");
    }
}

/// Without a start time would stand still: nothing is armed, no delay waits, and both are told.
#[test]
fn a_forgotten_start_is_refused_and_told() {
    let Some(compiler) = bench() else { return };
    for strategy in Strategy::ALL {
        let board = Board::with_ideal_timing(strategy, 64, 10_000);
        let firmware = compiler.build_file(&test_source("not_started"), &Program::EMPTY, &board).unwrap();
        let setup = Setup {
            mcu: Some(board.mcu.clone()),
            clock_hz: Some(board.clock_hz),
            ..Setup::new(&firmware.elf, 1_000_000)
        };
        let sent = String::from_utf8(simulate(&setup).unwrap().log.serial).unwrap();
        assert_eq!(sent.lines().collect::<Vec<_>>(), ["1 0 2", "1 1 2"], "{strategy}");
    }
}

/// The same program on every timer and unit that a chip has.
#[test]
fn every_timer_and_unit_keeps_a_period() {
    let Some(compiler) = bench() else { return };
    let of_newer = [("1", "A"), ("1", "B"), ("2", "A")];
    let large = [("1", "A"), ("1", "B"), ("3", "A"), ("3", "B"), ("4", "A"), ("5", "B"), ("2", "A")];
    for (mcu, units) in [
        ("atmega328p", &of_newer[..]),
        ("atmega2560", &large),
        ("atmega1284p", &[("1", "B"), ("3", "A"), ("3", "B"), ("2", "A")]),
        ("atmega32u4", &[("1", "A"), ("3", "A"), ("3", "B")]),
        ("atmega128", &[("1", "B"), ("3", "A")]),
    ] {
        for (timer, unit) in units {
            let starts = alarm_starts(&compiler, mcu, timer, unit);
            assert_eq!(starts.len(), 100, "{mcu}, timer {timer} {unit}");
            let off = starts.windows(2).map(|w| (w[1] - w[0]).abs_diff(16_000)).max();
            // The handler's way differs by a station; no event is a count late.
            assert!(off < Some(250), "{mcu}, timer {timer} {unit}: {off:?}");
            assert!((starts[99] - starts[0]).abs_diff(99 * 16_000) < 250, "{mcu}, timer {timer} {unit}");
        }
    }
}

/// To bind another interrupt than that of the timer would leave all alarms silent.
#[test]
fn a_wrong_interrupt_does_not_compile() {
    let Some(compiler) = bench() else { return };
    let build = |vector| {
        let error = build_for(&compiler, "atmega328p", ("1", "A"), vector).err();
        error.map(|error| error.to_string())
    };
    assert_eq!(build("TIMER1_COMPA"), None);
    for vector in ["TIMER1_COMPB", "TIMER2_COMPA"] {
        let error = build(vector).unwrap_or_default();
        assert!(error.contains("another interrupt than the one bound here"), "{vector}: {error}");
    }
}

/// The cycles at which an alarm every millisecond at 16 MHz has its events.
fn alarm_starts(compiler: &Compiler, mcu: &str, timer: &str, unit: &str) -> Vec<u64> {
    let vector = format!("TIMER{timer}_COMP{unit}");
    let firmware = build_for(compiler, mcu, (timer, unit), &vector).unwrap();
    let setup = Setup {
        mcu: Some(mcu.into()),
        clock_hz: Some(16_000_000),
        pins: vec!["B0".parse().unwrap()],
        max_edges: Some(200),
        ..Setup::new(&firmware.elf, 3_200_000)
    };
    simulate(&setup).unwrap().log.edge_cycles(0, true).collect()
}

/// Builds that alarm on a timer's unit, with a vector bound to it.
fn build_for(
    compiler: &Compiler,
    mcu: &str,
    (timer, unit): (&str, &str),
    vector: &str,
) -> Result<Firmware, Error> {
    let eight_bits = timer == "2";
    let (header, device) = match eight_bits {
        true => ("avr_timer2", "AVR_Timer2".to_owned()),
        false => ("avr_timer16", format!("AVR_Timer{timer}_{unit}")),
    };
    let program = format!(
        "#include <mcu/device/{header}.h>\n#include <mcu/services.h>\n\
         struct Board : mcu::Default_Traits {{\n\
         static constexpr uint32_t CLOCK = F_CPU, MAX_PERIOD = 10000;\n\
         static constexpr uint16_t PRESCALER = 64;\n\
         static constexpr bool TIME_STAMPS = true;\n\
         typedef mcu::{device}<PRESCALER> Device;\n\
         template <class Traits> using Strategy = mcu::Anchored<Traits>;\n\
         }};\n\
         typedef mcu::Services<Board> Time;\n\
         MCU_INTERRUPTS_OF(Time, {vector}_vect, TIMER{timer}_OVF_vect);\n\
         static void pulse() {{ PORTB |= 1; PORTB &= 0xfe; }}\n\
         int main() {{\n\
         DDRB = 1;\n\
         Time::start();\n\
         mcu::Handler_Function handler(&pulse);\n\
         Time::Alarm alarm(1000, &handler, 100);\n\
         Time::Alarm::delay(10000);\n\
         for (;;) {{}}\n\
         }}\n"
    );
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("timer.cc");
    fs::write(&source, program).unwrap();
    let board = Board::with_ideal_timing(Strategy::Anchored, 64, 10_000).with_chip(mcu, 16_000_000);
    compiler.build_file(source.to_str().unwrap(), &Program::EMPTY, &board)
}
