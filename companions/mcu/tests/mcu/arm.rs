//! The RP2040: built firmware keeps its periods to the cycle, and other firmware is measured as on the other chips.

use std::fs;
use std::path::Path;

use jitterlab_mcu::{
    Board, Compiler, Firmware, Program, Recording, Setup, SimulationLength, StimulusSpec, Strategy,
    is_missing, simulate, sweep,
};

use super::skip;

const HZ: u32 = 125_000_000;

fn board(strategy: Strategy, period_us: u32, clock_hz: u32) -> Board {
    let prescaler = if strategy == Strategy::Periodic { 1 } else { (clock_hz / 1_000_000) as u16 };
    Board {
        inexact: false,
        ..Board::with_ideal_timing(strategy, prescaler, period_us).with_chip("rp2040", clock_hz)
    }
}

fn bench() -> Option<Compiler> {
    match Compiler::for_board(&board(Strategy::Anchored, 1_000, HZ)) {
        Ok(compiler) => Some(compiler),
        Err(error) if is_missing(&error) => skip(&error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// Returns a setup for a firmware that runs for `ms` milliseconds, with the chip and clock that it names.
fn setup_for_ms(elf: &Path, pins: &[&str], ms: u64) -> Setup {
    let pins = pins.iter().map(|pin| pin.parse().unwrap()).collect();
    Setup { pins, length: SimulationLength::Time(ms * 1_000_000), ..Setup::new(elf, 0) }
}

/// A user's source file.
fn build_source(compiler: &Compiler, directory: &Path, source: &str) -> Firmware {
    let file = directory.join("own.cc");
    fs::write(&file, source).unwrap();
    compiler
        .build_file(file.to_str().unwrap(), &Program::EMPTY, &board(Strategy::Anchored, 1_000, HZ))
        .unwrap()
}

fn simulate_alarm(compiler: &Compiler, board: &Board, period_us: u32, events: u32) -> Recording {
    let firmware = compiler.build(&Program::with_events("periodic_alarm", period_us, events), board).unwrap();
    let ms = u64::from(period_us) * u64::from(events + 3) / 1_000 + 10;
    simulate(&setup_for_ms(&firmware.elf, &["GP2", "GP3"], ms)).unwrap()
}

/// Every event but the last (which takes another way, since none follows) lies a whole number of periods from
/// the first, to the cycle: the timer's microseconds are 125 cycles, or as many as the clock has, and the way
/// to the handler is constant. None is early.
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
        let recording = simulate_alarm(&compiler, &board(strategy, period_us, hz), period_us, events);
        let context = format!("{strategy} {period_us} us at {hz} Hz: {:?}", recording.log.vectors);
        assert_eq!((recording.clock_hz, recording.mcu.as_str()), (hz, "rp2040"), "{context}");
        assert_eq!(recording.warnings, [], "{context}");
        let starts: Vec<u64> = recording.log.edge_cycles(0, true).collect();
        let requested = recording.log.edge_cycles(1, true).next().unwrap();
        let period = u64::from(period_us) * u64::from(hz / 1_000_000);
        assert_eq!(starts.len() as u32, events, "{context}");
        let last = starts.len() - 1;
        for (k, start) in starts[..last].iter().enumerate() {
            assert_eq!(start - starts[0], k as u64 * period, "event {k}, {context}");
        }
        assert!((starts[last] - starts[0]).abs_diff(last as u64 * period) < 100, "{context}");
        // The first event comes at least an interval after the request, and at most a count, a tick and the
        // way to it later.
        let tick = if strategy == Strategy::Periodic { period } else { u64::from(hz / 1_000_000) };
        assert!((period..period + tick + 400).contains(&(starts[0] - requested)), "{context}");
    }
}

#[test]
fn what_a_firmware_does_is_told_as_on_other_chips() {
    let Some(compiler) = bench() else { return };
    let recording = simulate_alarm(&compiler, &board(Strategy::Anchored, 1_000, HZ), 1_000, 20);
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

    // The flashed image has no names, and begins at its lowest address.
    let firmware = compiler
        .build(&Program::with_events("periodic_alarm", 1_000, 20), &board(Strategy::Anchored, 1_000, HZ));
    let elf = firmware.unwrap().elf;
    let hex = elf.with_extension("hex");
    let copied =
        std::process::Command::new("arm-none-eabi-objcopy").args(["-O", "ihex"]).args([&elf, &hex]).status();
    assert!(copied.unwrap().success());
    let from_hex = simulate(&setup_for_ms(&hex, &["GP2", "GP3"], 40)).unwrap();
    assert_eq!(from_hex.log.edges, recording.log.edges);
}

/// Clock, delay, chronometer and threads are the same as on the other processors.
#[test]
fn time_services_and_threads_work() {
    let Some(compiler) = bench() else { return };
    for strategy in [Strategy::Anchored, Strategy::Periodic] {
        let program = Program::with_events("time_services", 10_000, 20);
        let firmware = compiler.build(&program, &board(strategy, 10_000, HZ)).unwrap();
        let recording = simulate(&setup_for_ms(&firmware.elf, &["GP2"], 400)).unwrap();
        let sent = &recording.report.sent;
        let elapsed = sent.lines().find_map(|line| line.strip_prefix("Elapsed time: ")).unwrap();
        // A delay of 21 periods, and a tick already begun.
        let elapsed: u32 = elapsed.parse().unwrap();
        assert!((210_000..=220_100).contains(&elapsed), "{strategy}: {sent}");
        assert!(sent.contains("Handler calls: 2") && sent.contains("Current Time: 0"), "{strategy}: {sent}");

        let program = Program::with_period("glowing_leds", 1_000).with_macro("MCU_EMPTY_HANDLER");
        let firmware = compiler.build(&program, &board(strategy, 1_000, HZ)).unwrap();
        let recording = simulate(&setup_for_ms(&firmware.elf, &["GP2"], 20)).unwrap();
        let rounds = recording.log.edge_cycles(0, true).count();
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
    let firmware = build_source(&compiler, directory.path(), source);
    let spec: StimulusSpec = "GP4:1ms:10us".parse().unwrap();
    let setup =
        Setup { stimuli: spec.read_stimuli().unwrap(), ..setup_for_ms(&firmware.elf, &["GP2", "GP4"], 20) };
    let log = simulate(&setup).unwrap().log;
    let (out, into): (Vec<u64>, Vec<u64>) =
        (log.edge_cycles(0, true).collect(), log.edge_cycles(1, true).collect());
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
        let firmware = build_source(&compiler, directory.path(), &source);
        simulate(&setup_for_ms(&firmware.elf, &["GP2"], 5))
            .map(|r| r.warnings)
            .map_err(|error| error.to_string())
    };
    let store = "uint32_t at = 0x20000001;\n__asm__ volatile(\"str %0, [%0]\" : : \"r\"(at));";
    let unaligned = crash(store).unwrap_err();
    assert!(unaligned.contains("memory at 0x20000001") && unaligned.contains("own.cc:4"), "{unaligned}");
    let even = crash("reinterpret_cast<void (*)()>(0x20000000)();").unwrap_err();
    assert!(even.contains("even address"), "{even}");
    let unhandled = crash("*reinterpret_cast<volatile uint32_t*>(0xe000ed04) = 1u << 28;").unwrap_err();
    assert!(unhandled.contains("no_handler"), "{unhandled}");
    for (address, part) in [
        (0x5000_0000u32, "Dma"),
        (0x4004_c000, "Adc"),
        (0xd000_0054, "SecondCore"),
        (0x4001_2004, "SecondCore"),
    ] {
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
    let elf =
        build_source(&compiler, directory.path(), "int main() { for (;;) __asm__ volatile(\"wfi\"); }\n").elf;
    let message = |setup: Setup| simulate(&setup).unwrap_err().to_string();
    let no_pin = message(setup_for_ms(&elf, &["GP30"], 5));
    assert!(no_pin.contains("rp2040 has no pin GP30"), "{no_pin}");
    let other_chip =
        message(Setup { mcu: Some("atmega328p".into()), clock_hz: Some(1), ..setup_for_ms(&elf, &[], 5) });
    assert!(other_chip.contains("atmega328p") && other_chip.contains("another chip"), "{other_chip}");
    // A firmware of another chip with an ARM: its flash has other addresses.
    let mut bytes = fs::read(&elf).unwrap();
    let headers = u32::from_le_bytes(bytes[28..32].try_into().unwrap()) as usize;
    bytes[headers + 12..headers + 16].copy_from_slice(&0x0800_0000u32.to_le_bytes());
    let moved = directory.path().join("stm32.elf");
    fs::write(&moved, bytes).unwrap();
    let moved = message(setup_for_ms(&moved, &[], 5));
    assert!(moved.contains("rp2040") && moved.contains("another one"), "{moved}");
}

/// Steps before a part is used, as in the SDK: out of reset, a function for each pin.
const SET_UP: &str = "
    #include <stdint.h>
    #define AT(address) (*(volatile uint32_t*)(address))
    static void use(uint32_t pin, uint32_t function) { AT(0x40014004 + 8 * pin) = function; }
    static void out_of_reset(uint32_t parts) { AT(0x4000f000) = parts; while ((AT(0x4000c008) & parts) != parts) {} }
";

/// A servo's pulse: 20 ms of microsecond counts, of which 1500 are high. Period and width follow the data
/// sheet's formula (4.5.2.6) to the cycle, and continue while the processor sleeps.
#[test]
fn a_slice_makes_a_servos_pulse() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    for (control, period, high) in [(1, 2_500_000, 187_500), (3, 5_000_000, 375_000)] {
        let program = format!(
            "{SET_UP} int main() {{
                out_of_reset(1 << 14 | 1 << 5); use(3, 4);
                volatile uint32_t* slice = &AT(0x40050014);
                slice[1] = 125 << 4; slice[4] = 19999; slice[3] = 1500 << 16; slice[0] = {control};
                for (;;) __asm__ volatile(\"wfi\");
            }}"
        );
        let elf = build_source(&compiler, directory.path(), &program).elf;
        let recording = simulate(&setup_for_ms(&elf, &["GP3"], 300)).unwrap();
        let [rises, falls] = [true, false].map(|high| recording.log.edge_cycles(0, high).collect::<Vec<_>>());
        assert!(
            rises.len() >= 7 && rises.windows(2).skip(1).all(|pair| pair[1] - pair[0] == period),
            "{rises:?}"
        );
        assert!(rises[1..].iter().all(|at| falls.contains(&(at + high))), "{rises:?} {falls:?}");
    }
}

/// One state machine toggles its pin every 32 steps of a divided clock; another gets the length of a pulse
/// from the processor.
#[test]
fn a_state_machine_makes_a_square_wave() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    // set pins, 1 [31]; set pins, 0 [30]; and the jump of the wrap costs nothing.
    let program = format!(
        "{SET_UP} int main() {{
            out_of_reset(1 << 10 | 1 << 5); use(2, 6);
            AT(0x50200048) = 0xff01; AT(0x5020004c) = 0xfe00;
            AT(0x502000cc) = 1 << 12; AT(0x502000dc) = 1 << 26 | 2 << 5; AT(0x502000c8) = 125 << 16;
            AT(0x502000d8) = 0xe081; AT(0x50200000) = 1;
            for (;;) __asm__ volatile(\"wfi\");
        }}"
    );
    let elf = build_source(&compiler, directory.path(), &program).elf;
    let recording = simulate(&setup_for_ms(&elf, &["GP2"], 20)).unwrap();
    let rises: Vec<u64> = recording.log.edge_cycles(0, true).collect();
    let falls: Vec<u64> = recording.log.edge_cycles(0, false).collect();
    assert!(
        rises.len() > 300 && rises.windows(2).all(|pair| pair[1] - pair[0] == 63 * 125),
        "{:?}",
        &rises[..9]
    );
    assert!(falls.iter().zip(&rises).all(|(fall, rise)| fall - rise == 32 * 125), "{:?}", &falls[..9]);
    assert!(recording.warnings.iter().all(|warning| !format!("{warning:?}").contains("NotSimulated")));
}

/// Events of firmware that stops are missed until the simulated time ends, as on the other chips. A part that
/// is not simulated leaves a requirement open, and an alarm in the past is reported.
#[test]
fn silence_parts_that_are_missing_and_past_alarms_are_told() {
    let Some(compiler) = bench() else { return };
    let directory = tempfile::tempdir().unwrap();
    let timer = "
        static volatile uint32_t events;
        extern \"C\" void isr_systick() {}
        static void tick() { AT(0x4005802c) = 12 | 1 << 9; }
        static void wait(uint32_t us) { const uint32_t begin = AT(0x40054028); while (AT(0x40054028) - begin < us) {} }";
    let said = |body: &str, more: &[&str]| {
        let program = format!(
            "{SET_UP}{timer} int main() {{ out_of_reset(1 << 21 | 1 << 5); use(2, 5); AT(0xd0000024) = 4; tick(); {body} }}"
        );
        let elf = build_source(&compiler, directory.path(), &program).elf;
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_jitterlab-mcu"));
        let output =
            run.arg("run").arg(&elf).args(["--edge", "both", "-d", "2s"]).args(more).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let dies = "for (int n = 0; n < 500; n++) { AT(0xd000001c) = 4; wait(1000); } for (;;) {}";
    let (status, text) = said(dies, &["--require", "missed = 0"]);
    assert_eq!(status, Some(1), "{text}");
    let (status, text) = said(dies, &[]);
    assert!(status == Some(0) && text.starts_with("SILENT since "), "{text}");
    let second_core = "AT(0xd0000054) = 0; for (;;) { AT(0xd000001c) = 4; wait(1000); }";
    let (status, text) = said(second_core, &["--max-jitter", "1ms"]);
    assert!(status == Some(3) && text.starts_with("CANNOT TELL"), "{text}");
    let (_, text) = said(second_core, &[]);
    assert!(text.starts_with("CANNOT TELL: the firmware uses the second core"), "{text}");
    // The second core never answers: what it would have let begin is not missed for certain.
    let waits =
        "for (int n = 0; n < 500; n++) { AT(0xd000001c) = 4; wait(1000); } while (!(AT(0xd0000050) & 1)) {}";
    for more in [
        &["--require", "missed = 0"][..],
        &["--pin", "GP2", "--pin", "GP3", "--period", "1ms", "--require", "missed = 0"],
    ] {
        let (status, text) = said(waits, more);
        assert!(status == Some(3) && text.starts_with("CANNOT TELL"), "{text}");
    }
    let past = "AT(0x40054010) = AT(0x40054028) - 5; for (;;) { AT(0xd000001c) = 4; wait(1000); }";
    let (_, text) = said(past, &[]);
    assert!(
        text.contains("larm 0 was set to a time that had passed 1 time") && text.contains("by 5 µs"),
        "{text}"
    );
}
