//! The user's own firmware, and messages about its errors.

use std::fs;

use jitterlab_mcu::run::PinTask;
use jitterlab_mcu::{Board, FailureCase, McuRun, Pin, Program, Setup, Strategy, simulate};
use jitterlab_model::firmware::FirmwareFinding;
use jitterlab_model::{EdgeKind, Warning};

use super::bench;

#[test]
fn firmware_that_toggles_a_pin_is_measured() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("toggle.cc");
    let program = "#include <avr/io.h>\n#include <util/delay.h>\n\
                   int main() { DDRD = 32; for (;;) { PORTD ^= 32; _delay_us(500); } }\n";
    fs::write(&source, program).unwrap();
    let board = Board { mcu: "atmega328p".into(), ..Board::with_ideal_timing(Strategy::Anchored, 64, 1_000) };
    let firmware = compiler.build_file(source.to_str().unwrap(), &Program::EMPTY, &board).unwrap();
    let pin: Pin = "D5".parse().unwrap();
    let setup = Setup {
        mcu: Some("atmega328p".into()),
        clock_hz: Some(7_372_800),
        pins: vec![pin],
        ..Setup::new(&firmware.elf, 7_372_800)
    };
    let recording = simulate(&setup).unwrap();
    let run = McuRun::new(&recording, pin, &PinTask { edge: EdgeKind::Both, ..PinTask::default() }).unwrap();
    let period = run.info.tasks[0].spec.period_ns;
    assert!((500_000..503_000).contains(&period), "{period}");
    assert!(run.activations.len() > 1_900);

    let silent = McuRun::new(&recording, "B0".parse().unwrap(), &PinTask { pin: 1, ..PinTask::default() });
    assert!(silent.is_err_and(|e| matches!(e.case_of(), Some(FailureCase::Silent(_)))));
    let message = |setup: Setup| simulate(&setup).unwrap_err().to_string();
    let unknown = message(Setup { mcu: Some("atmega9999".into()), ..setup.clone() });
    assert!(unknown.contains("atmega9999") && unknown.contains("atmega328p"), "{unknown}");
    let no_port = message(Setup { pins: vec!["L1".parse().unwrap()], ..setup.clone() });
    assert!(no_port.contains("atmega328p has no pin L1"), "{no_port}");
    let no_clock = message(Setup { mcu: Some("atmega128".into()), clock_hz: None, ..setup.clone() });
    assert!(no_clock.contains("--clock 16MHz"), "{no_clock}");
    fs::write(directory.path().join("text.elf"), "no firmware").unwrap();
    let text = message(Setup { firmware: directory.path().join("text.elf"), ..setup.clone() });
    assert!(text.contains("text.elf") && text.contains("Intel HEX"), "{text}");
    let own = std::env::current_exe().unwrap();
    let own = message(Setup { firmware: own, ..setup });
    assert!(own.contains("this computer") || own.contains("cannot be simulated"), "{own}");
}

/// A flashed image can be measured as well: it has no names, but nothing else is missing.
#[test]
fn a_hex_file_is_measured_like_its_elf_file() {
    let Some(compiler) = bench() else { return };
    let board = Board::with_ideal_timing(Strategy::Anchored, 64, 1_000).with_chip("atmega328p", 16_000_000);
    let program = Program::with_events("periodic_alarm", 1_000, 50);
    let firmware = compiler.build(&program, &board).unwrap();
    let hex = firmware.elf.with_extension("hex");
    let copied = std::process::Command::new("avr-objcopy")
        .args(["-O", "ihex", "-R", ".eeprom"])
        .args([&firmware.elf, &hex])
        .status()
        .unwrap();
    assert!(copied.success());
    let setup = Setup {
        mcu: Some("atmega328p".into()),
        clock_hz: Some(16_000_000),
        pins: vec!["B0".parse().unwrap()],
        ..Setup::new(&firmware.elf, 16_000_000)
    };
    let from_elf = simulate(&setup).unwrap().log;
    let from_hex = simulate(&Setup { firmware: hex, ..setup }).unwrap().log;
    assert_eq!(from_elf.edges.len(), 100);
    assert_eq!((from_elf.edges, from_elf.vectors), (from_hex.edges, from_hex.vectors));
}

#[test]
fn a_crash_is_told() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("crash.cc");
    // Jumps behind its own end, to an address without code.
    fs::write(&source, "int main() { ((void (*)())0x3f00)(); }\n").unwrap();
    let board = Board { mcu: "atmega328p".into(), ..Board::with_ideal_timing(Strategy::Anchored, 64, 1_000) };
    let firmware = compiler.build_file(source.to_str().unwrap(), &Program::EMPTY, &board).unwrap();
    let setup = Setup { mcu: Some("atmega328p".into()), ..Setup::new(&firmware.elf, 1_000_000) };
    let error = simulate(&Setup { clock_hz: Some(8_000_000), ..setup }).unwrap_err();
    assert!(matches!(error.case_of(), Some(FailureCase::Crashed)), "{error}");
    assert!(error.to_string().contains("no code"), "{error}");
}

/// Of a pin that shows nothing, the reason: an endless loop, a sleep that nothing ends, a null pointer, memory that is used up.
#[test]
fn a_silent_pin_says_where_the_program_was() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("silent.cc");
    let board = Board::with_ideal_timing(Strategy::Anchored, 64, 1_000).with_chip("atmega328p", 16_000_000);
    let build = |program: &str| {
        let head =
            "#include <avr/interrupt.h>\n#include <avr/io.h>\n#include <avr/sleep.h>\n#include <stdlib.h>\n";
        fs::write(&source, format!("{head}{program}")).unwrap();
        compiler.build_file(source.to_str().unwrap(), &Program::EMPTY, &board)
    };
    let silent = |program: &str| {
        let firmware = build(program).unwrap();
        let pin: Pin = "B0".parse().unwrap();
        let setup = Setup {
            pins: vec![pin],
            mcu: Some("atmega328p".into()),
            clock_hz: Some(16_000_000),
            ..Setup::new(&firmware.elf, 1_600_000)
        };
        let error = McuRun::new(&simulate(&setup).unwrap(), pin, &PinTask::default()).err().unwrap();
        let Some(FailureCase::Silent(warnings)) = error.case_of() else { panic!("{error}") };
        let found = warnings
            .iter()
            .filter_map(|w| if let Warning::Firmware(finding) = w { Some(finding.clone()) } else { None });
        (error.to_string(), found.collect::<Vec<_>>())
    };
    let (error, found) = silent("int main() { for (;;) {} }");
    assert!(
        error.contains("At the end the program was at")
            && error.contains("(main")
            && error.contains("slept 0 %"),
        "{error}"
    );
    assert!(found.is_empty());
    let (error, found) = silent(
        "ISR(TIMER1_OVF_vect) { PORTB ^= 1; }\nint main() { DDRB = 1; TIMSK1 = 1; TCCR1B = 1; \
         set_sleep_mode(SLEEP_MODE_PWR_DOWN); sleep_enable(); sei(); sleep_cpu(); for (;;) {} }",
    );
    assert!(matches!(found[..], [FirmwareFinding::AsleepForEver { .. }]), "{error} {found:?}");
    let (_, found) = silent("void (*volatile nowhere)() = 0;\nint main() { nowhere(); }");
    assert!(matches!(found[..], [FirmwareFinding::Restarted { vector: None, .. }]), "{found:?}");
    let (_, found) = silent(
        "int main() { for (uint8_t n = 0;; n++) { volatile uint8_t* p = (uint8_t*)malloc(100); *p = n; } }",
    );
    assert!(
        matches!(found[..], [FirmwareFinding::OutsideMemory { data: 0, written: true, .. }]),
        "{found:?}"
    );

    let too_large = build("char a[3000] = {1, 2, 3};\nint main() { for (;;) PORTB = a[TCNT1]; }")
        .unwrap_err()
        .to_string();
    assert!(too_large.contains("memory for its variables, atmega328p has 2048 bytes"), "{too_large}");
    let too_large = build(
        "#define F(n) const char a##n[20000] PROGMEM = {n};\n#include <avr/pgmspace.h>\nF(1) F(2)\n\
         int main() { for (;;) PORTB = pgm_read_byte(a1 + TCNT1) + pgm_read_byte(a2 + TCNT1); }",
    );
    let too_large = too_large.unwrap_err().to_string();
    assert!(too_large.contains("more flash than there is, atmega328p has 32768 bytes"), "{too_large}");
}

/// The program in the library's own page is a program.
#[test]
fn the_librarys_example_blinks() {
    let Some(compiler) = bench() else { return };
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcu/README.md")).unwrap();
    let code = page.lines().skip_while(|l| !l.starts_with("    #include"));
    let code: Vec<&str> = code.take_while(|l| l.is_empty() || l.starts_with("    ")).collect();
    let (program, command) = code.split_at(code.iter().position(|l| l.contains("avr-g++")).unwrap());
    assert!(!command.is_empty());
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("blink.cc");
    fs::write(&source, program.join("\n")).unwrap();
    let board = Board::with_ideal_timing(Strategy::Anchored, 64, 20_000).with_chip("atmega328p", 16_000_000);
    let firmware = compiler.build_file(source.to_str().unwrap(), &Program::EMPTY, &board).unwrap();
    let pin: Pin = "B5".parse().unwrap();
    let setup = Setup {
        mcu: Some(board.mcu),
        clock_hz: Some(board.clock_hz),
        pins: vec![pin],
        ..Setup::new(&firmware.elf, 32_000_000)
    };
    let recording = simulate(&setup).unwrap();
    let reading = PinTask { edge: EdgeKind::Both, period: Some(20_000_000.into()), ..PinTask::default() };
    let run = McuRun::new(&recording, pin, &reading).unwrap();
    assert_eq!(run.activations.len(), 99, "2 s, every 20 ms, the delay's interrupts aside");
    assert!(run.activations.iter().all(|a| a.latency_ns().abs() < 20_000), "below 20 us");
}
