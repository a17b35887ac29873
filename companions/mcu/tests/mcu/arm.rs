//! The RP2040: what is built for it keeps its periods to the cycle, and firmware is measured as on the other chips.

use std::fs;
use std::path::Path;

use jitterlab_mcu::{
    Board, Compiler, Firmware, Length, Program, Recording, Setup, StimulusSpec, Strategy, is_missing,
    simulate, sweep,
};

use super::skip;

const HZ: u32 = 125_000_000;

fn board(strategy: Strategy, period_us: u32, clock_hz: u32) -> Board {
    let prescaler = if strategy == Strategy::Periodic { 1 } else { (clock_hz / 1_000_000) as u16 };
    Board { inexact: false, ..Board::ideal(strategy, prescaler, period_us).on("rp2040", clock_hz) }
}

fn bench() -> Option<Compiler> {
    match Compiler::of(&board(Strategy::Anchored, 1_000, HZ)) {
        Ok(compiler) => Some(compiler),
        Err(error) if is_missing(&error) => skip(&error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// A firmware for so many milliseconds, with the chip and its clock as it says itself.
fn watched(elf: &Path, pins: &[&str], ms: u64) -> Setup {
    let pins = pins.iter().map(|pin| pin.parse().unwrap()).collect();
    Setup { pins, length: Length::Time(ms * 1_000_000), ..Setup::new(elf, 0) }
}

/// A source of one's own.
fn built(compiler: &Compiler, directory: &Path, source: &str) -> Firmware {
    let file = directory.join("own.cc");
    fs::write(&file, source).unwrap();
    compiler
        .build_file(file.to_str().unwrap(), &Program::Empty, &board(Strategy::Anchored, 1_000, HZ))
        .unwrap()
}

fn alarm(compiler: &Compiler, board: &Board, period_us: u32, events: u32) -> Recording {
    let firmware = compiler.build(&Program::PeriodicAlarm { period_us, events }, board).unwrap();
    let ms = u64::from(period_us) * u64::from(events + 3) / 1_000 + 10;
    simulate(&watched(&firmware.elf, &["GP2", "GP3"], ms)).unwrap()
}

/// Every event but the last (which takes another way, since none follows) lies a whole number of periods from the first, to the cycle: the
/// timer's microseconds are 125 cycles, or as many as the clock has, and the way to the handler is always the same. None is early.
#[test]
fn an_alarm_keeps_its_period_to_the_cycle() {
    let Some(compiler) = bench() else { return };
    for (strategy, period_us, events, hz) in [
        (Strategy::Anchored, 1_000, 1_000, HZ),
        (Strategy::Periodic, 1_000, 1_000, HZ),
        (Strategy::SingleShot, 250, 300, HZ),
        (Strategy::Anchored, 7, 500, HZ),
        (Strategy::Anchored, 999, 300, 133_000_000),
        (Strategy::Anchored, 1_000, 300, 48_000_000),
        (Strategy::Anchored, 2_000, 300, 12_000_000),
        (Strategy::Periodic, 300_000, 5, HZ), // beyond SysTick's 24 bits
    ] {
        let recording = alarm(&compiler, &board(strategy, period_us, hz), period_us, events);
        let context = format!("{strategy} {period_us} us at {hz} Hz: {:?}", recording.log.vectors);
        assert_eq!((recording.clock_hz, recording.mcu.as_str()), (hz, "rp2040"), "{context}");
        assert_eq!(recording.warnings, [], "{context}");
        let starts: Vec<u64> = recording.log.edges_of(0, true).collect();
        let requested = recording.log.edges_of(1, true).next().unwrap();
        let period = u64::from(period_us) * u64::from(hz / 1_000_000);
        assert_eq!(starts.len() as u32, events, "{context}");
        let last = starts.len() - 1;
        for (k, start) in starts[..last].iter().enumerate() {
            assert_eq!(start - starts[0], k as u64 * period, "event {k}, {context}");
        }
        assert!((starts[last] - starts[0]).abs_diff(last as u64 * period) < 100, "{context}");
        // The first comes an interval after it was asked for at least: and a count, a tick, and the way to it at most.
        let tick = if strategy == Strategy::Periodic { period } else { u64::from(hz / 1_000_000) };
        assert!((period..period + tick + 400).contains(&(starts[0] - requested)), "{context}");
    }
}

#[test]
fn what_a_firmware_does_is_told_as_on_other_chips() {
    let Some(compiler) = bench() else { return };
    let recording = alarm(&compiler, &board(Strategy::Anchored, 1_000, HZ), 1_000, 20);
    let report = &recording.report;
    let [timer] = report.interrupts.as_slice() else { panic!("{report:?}") };
    assert_eq!((timer.vector.as_str(), timer.count, timer.lost), ("TIMER_IRQ_0", 20, 0));
    assert!((15..=17).contains(&timer.min_latency_cycles), "{timer:?}");
    let off = report.off.as_ref().unwrap();
    assert!(off.cycles < 250 && off.from.line.is_some() && off.from.function.is_some(), "{off:?}");
    let stack = report.stack.unwrap();
    assert!((100..1_000).contains(&stack.deepest) && stack.room > Some(200_000), "{stack:?}");
    assert!(report.size.ram > 1_000 && report.size.flash == 0, "{report:?}");
    assert_eq!(report.sent.lines().filter(|line| *line == "1000").count(), 19, "{}", report.sent);

    // What is flashed holds no names, and begins where it lies.
    let firmware = compiler.build(
        &Program::PeriodicAlarm { period_us: 1_000, events: 20 },
        &board(Strategy::Anchored, 1_000, HZ),
    );
    let elf = firmware.unwrap().elf;
    let hex = elf.with_extension("hex");
    let copied =
        std::process::Command::new("arm-none-eabi-objcopy").args(["-O", "ihex"]).args([&elf, &hex]).status();
    assert!(copied.unwrap().success());
    let from_hex = simulate(&watched(&hex, &["GP2", "GP3"], 40)).unwrap();
    assert_eq!(from_hex.log.edges, recording.log.edges);
}

/// Clock, delay, chronometer and threads are those of the other processors.
#[test]
fn time_services_and_threads_work() {
    let Some(compiler) = bench() else { return };
    for strategy in [Strategy::Anchored, Strategy::Periodic] {
        let program = Program::TimeServices { period_us: 10_000, events: 20 };
        let firmware = compiler.build(&program, &board(strategy, 10_000, HZ)).unwrap();
        let recording = simulate(&watched(&firmware.elf, &["GP2"], 400)).unwrap();
        let sent = &recording.report.sent;
        let elapsed = sent.lines().find_map(|line| line.strip_prefix("Elapsed time: ")).unwrap();
        // A delay of 21 periods, and a tick that had begun.
        let elapsed: u32 = elapsed.parse().unwrap();
        assert!((210_000..=220_100).contains(&elapsed), "{strategy}: {sent}");
        assert!(sent.contains("Handler calls: 2") && sent.contains("Current Time: 0"), "{strategy}: {sent}");

        let program = Program::GlowingLeds { period_us: 1_000, empty_handler: true };
        let firmware = compiler.build(&program, &board(strategy, 1_000, HZ)).unwrap();
        let recording = simulate(&watched(&firmware.elf, &["GP2"], 20)).unwrap();
        let rounds = recording.log.edges_of(0, true).count();
        assert!(rounds > 3_000, "{strategy}: a thread on its own stack goes on: {rounds}");
        let count = recording.report.interrupts[0].count;
        assert!((18..=20).contains(&count), "{strategy}: {count}");
    }
}

/// An interrupt of a pin, with pulses from outside.
#[test]
fn pulses_from_outside_reach_the_firmware() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = "#include <stdint.h>\n\
        static volatile uint32_t& at(uintptr_t a) { return *reinterpret_cast<volatile uint32_t*>(a); }\n\
        extern \"C\" void IO_IRQ_BANK0_Handler() { at(0x400140f0) = 8u << 16; at(0xd0000014) = 4; at(0xd0000018) = 4; }\n\
        int main() {\n\
            at(0x40014014) = 5; at(0xd0000024) = 4;\n\
            at(0x40014100) = 8u << 16; at(0xe000e100) = 1u << 13;\n\
            for (;;) __asm__ volatile(\"wfi\");\n\
        }\n";
    let firmware = built(&compiler, directory.path(), source);
    let spec: StimulusSpec = "GP4:1ms:10us".parse().unwrap();
    let setup = Setup { stimuli: spec.read().unwrap(), ..watched(&firmware.elf, &["GP2", "GP4"], 20) };
    let log = simulate(&setup).unwrap().log;
    let (out, into): (Vec<u64>, Vec<u64>) =
        (log.edges_of(0, true).collect(), log.edges_of(1, true).collect());
    assert_eq!(into.len(), 20);
    // 15 cycles of entry and the instructions before the pin is moved.
    let ways: Vec<u64> = out.iter().zip(&into).map(|(out, into)| out - into).collect();
    assert!(ways.len() >= 19 && ways.iter().all(|way| *way == ways[0] && (20..50).contains(way)), "{ways:?}");
}

#[test]
fn what_goes_wrong_is_told_in_words() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    let crash = |body: &str| {
        let source = format!("#include <stdint.h>\nint main() {{\n{body}\n}}\n");
        let firmware = built(&compiler, directory.path(), &source);
        simulate(&watched(&firmware.elf, &["GP2"], 5)).map(|r| r.warnings).map_err(|error| error.to_string())
    };
    let store = "uint32_t at = 0x20000001;\n__asm__ volatile(\"str %0, [%0]\" : : \"r\"(at));";
    let unaligned = crash(store).unwrap_err();
    assert!(unaligned.contains("memory at 0x20000001") && unaligned.contains("own.cc:4"), "{unaligned}");
    let even = crash("reinterpret_cast<void (*)()>(0x20000000)();").unwrap_err();
    assert!(even.contains("even address"), "{even}");
    let unhandled = crash("*reinterpret_cast<volatile uint32_t*>(0xe000ed04) = 1u << 28;").unwrap_err();
    assert!(unhandled.contains("no_handler"), "{unhandled}");
    for (address, part) in
        [(0x5020_0000u32, "Pio"), (0x5000_0000, "Dma"), (0x4005_0000, "Pwm"), (0xd000_0054, "SecondCore")]
    {
        let body = format!(
            "*reinterpret_cast<volatile uint32_t*>({address}u) = 1;\nfor (;;) __asm__ volatile(\"\");"
        );
        let warned = format!("{:?}", crash(&body).unwrap());
        assert!(warned.contains(part) && warned.contains("own.cc:3"), "{part}: {warned}");
    }
    let deep = crash("volatile uint8_t bytes[300000];\nbytes[0] = 1; for (;;) __asm__ volatile(\"\");");
    assert!(format!("{deep:?}").contains("StackOverflow") || deep.is_err(), "{deep:?}");

    let cell = sweep::Cell { board: board(Strategy::Anchored, 1_000, HZ), period_us: 1_000, events: 3 };
    let refused = sweep::measure_all(&[cell], &compiler, &|_, _| {}).err().unwrap();
    assert!(refused.is_bad_use() && refused.to_string().contains("AVR only"), "{refused}");
    let elf = built(&compiler, directory.path(), "int main() { for (;;) __asm__ volatile(\"wfi\"); }\n").elf;
    let message = |setup: Setup| simulate(&setup).unwrap_err().to_string();
    let no_pin = message(watched(&elf, &["GP30"], 5));
    assert!(no_pin.contains("rp2040 has no pin GP30"), "{no_pin}");
    let other_chip =
        message(Setup { mcu: Some("atmega328p".into()), clock_hz: Some(1), ..watched(&elf, &[], 5) });
    assert!(other_chip.contains("atmega328p") && other_chip.contains("another chip"), "{other_chip}");
    // A firmware of another chip with an ARM: its flash lies elsewhere.
    let mut bytes = fs::read(&elf).unwrap();
    let headers = u32::from_le_bytes(bytes[28..32].try_into().unwrap()) as usize;
    bytes[headers + 12..headers + 16].copy_from_slice(&0x0800_0000u32.to_le_bytes());
    let moved = directory.path().join("stm32.elf");
    fs::write(&moved, bytes).unwrap();
    let moved = message(watched(&moved, &[], 5));
    assert!(moved.contains("rp2040") && moved.contains("another one"), "{moved}");
}
