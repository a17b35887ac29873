//! Firmware on a simulated microcontroller, as a user meets it.

#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use std::path::Path;
use std::process::{Command, Output};

use jitterlab_model::Bench;
use jitterlab_report::document::Document;
use jitterlab_report::page;
use jitterlab_runs::{Hints, Run};

fn mcu(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jitterlab-mcu")).args(arguments).output().unwrap()
}

/// A run that was saved or written as edges, opened again.
fn open_run(file: &str) -> Run {
    Run::open(file, &Hints::default()).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// True if the cross compiler is installed, which it must be if all tools are required.
fn has_compiler() -> bool {
    let there = Command::new("avr-g++").arg("--version").output().is_ok();
    let required =
        std::env::var("CI").is_ok_and(|v| v == "true") || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some();
    assert!(there || !required, "gcc-avr or avr-libc is not installed");
    if !there {
        eprintln!("skipped: gcc-avr or avr-libc is not installed");
    }
    there
}

#[test]
fn a_simulated_alarm_is_an_ordinary_run() {
    if !has_compiler() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("alarm.parquet");
    let file = file.to_str().unwrap();
    let measured = mcu(&["run", "--period", "2ms", "-n", "20", "-o", file, "--details"]);
    assert_eq!(measured.status.code(), Some(0), "{}", said(&measured));
    let text = said(&measured).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("simulated atmega128, cycles at 7372800") && text.contains("TIMER1_COMPA"),
        "{text}"
    );
    let run = open_run(file);
    assert_eq!((run.info().bench, run.info().tasks[0].result.as_ref().unwrap().executed), (Bench::Mcu, 20));
    // The same answer comes first wherever the file is read.
    let analysed = Document::new(&run.analysis(None, Vec::new(), false, None).unwrap()).head.unwrap();
    assert!(text.contains(&analysed.verdict) && text.contains(&analysed.number), "{analysed:?}\n{text}");
    let shown = page::render(&page::read_page_runs(&[run], None).unwrap(), &[]).unwrap();
    assert!(shown.contains("<p class=\"verdict "), "{shown}");
    let again = mcu(&["run", "--period", "2ms", "-n", "20", "-o", file]);
    assert_eq!(again.status.code(), Some(2), "a measurement is never overwritten: {}", said(&again));
}

#[test]
fn a_program_of_ones_own_is_built_with_the_traits_asked_for() {
    if !has_compiler() {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcu/programs/time_services.cc");
    let own =
        ["run", "--source", source, "--pin", "B0", "--period", "10ms", "-n", "10", "-d", "1s", "--details"];
    let output = mcu(&own);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("> Handler calls: 10"), "{}", said(&output));
    // Equation 1, in the compiler's words.
    let output = mcu(&["run", "--strategy", "periodic", "--tick", "20s", "--max-period", "100ms"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("TICK is above the timer's longest period"), "{}", said(&output));
}

#[test]
fn what_cannot_be_measured_is_said_with_its_remedy() {
    let no_file = mcu(&["run", "firmware.elf"]);
    assert_eq!(no_file.status.code(), Some(2));
    assert!(said(&no_file).contains("firmware.elf"), "{}", said(&no_file));
    let no_unit = mcu(&["recommend", "--mcu", "atmega328p", "--clock", "16", "--need", "1ms:9us"]);
    assert_eq!(no_unit.status.code(), Some(2));
    assert!(said(&no_unit).contains("did you mean 16MHz?"), "{}", said(&no_unit));
    let endless = mcu(&["run", "--elf", "/dev/zero", "--pin", "B0"]);
    assert_eq!(endless.status.code(), Some(3), "{}", said(&endless));
    let no_need = mcu(&["recommend", "--need", "20ms"]);
    assert_eq!(no_need.status.code(), Some(2));
    assert!(said(&no_need).contains("20ms:50us"), "{}", said(&no_need));
    if !has_compiler() {
        return;
    }
    let no_file = mcu(&["run", "--elf", "no-such.elf", "--pin", "B0"]);
    assert_eq!(no_file.status.code(), Some(2));
    assert!(said(&no_file).contains("no-such.elf"), "{}", said(&no_file));
    let mut bare = Command::new(env!("CARGO_BIN_EXE_jitterlab-mcu"));
    let bare = bare.args(["run"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(bare.status.code(), Some(3));
    assert!(said(&bare).contains("apt install gcc"), "{}", said(&bare));
}

#[test]
fn a_recommendation_is_the_first_of_what_fits() {
    if !has_compiler() {
        return;
    }
    let needs = ["--need", "20ms:50us", "--need", "3ms:90us", "--lock", "10us", "--handler", "5us"];
    let recommend = ["recommend", "--clock", "16MHz"];
    let output = mcu(&[&recommend[..], &needs, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let choices = &document["result"]["choices"];
    assert_eq!(choices[0]["fits"], true);
    assert!(choices[0]["worst_us"].as_f64().unwrap() <= 50.0);
    assert!(choices.as_array().unwrap().len() >= 5);
    assert_eq!(choices[0]["alarms"].as_array().unwrap().len(), 2);
    assert!(choices[0]["alarms"][1]["worst_us"].as_f64() >= choices[0]["alarms"][1]["seen_us"].as_f64());
    let late = mcu(&[&recommend[..], &needs, &["--lock", "300us", "--brief"]].concat());
    assert_eq!(late.status.code(), Some(2), "an option is given once: {}", said(&late));
    let late = mcu(&[&recommend[..], &needs[..4], &["--lock", "300us", "--brief"]].concat());
    assert_eq!(late.status.code(), Some(1), "{}", said(&late));
    assert!(said(&late).contains("NOT FIT"), "{}", said(&late));
    // Removed commands name their replacement.
    for (removed, instead) in [("sweep", "jitterlab mcu recommend"), ("cost", "jitterlab reproduce epos")] {
        let output = mcu(&[removed]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(instead), "{}", said(&output));
    }
    let impossible = mcu(&["recommend", "--need", "100ns:1us"]);
    assert_eq!(impossible.status.code(), Some(2), "{}", said(&impossible));
}

#[test]
fn edges_written_as_a_dump_are_read_back_as_they_were() {
    if !has_compiler() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (run, dump) = (path("run.parquet"), path("pin.vcd"));
    let measured = mcu(&["run", "--period", "2ms", "-n", "60", "-o", &run, "--vcd", &dump]);
    assert_eq!(measured.status.code(), Some(0), "{}", said(&measured));
    let edges = |file: &str| {
        let activations = open_run(file).activations(0, 0..60).unwrap();
        activations.iter().map(|one| (one.start_ns, one.end_ns)).collect::<Vec<_>>()
    };
    let (written, read) = (edges(&run), edges(&dump));
    assert!(written.len() >= 59 && written == read, "{written:?}\n{read:?}");
}

/// Two pins, one of them moved from outside: two tasks, judged for a test system.
#[test]
fn pins_are_tasks_that_requirements_decide() {
    if !has_compiler() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (source, run, dump, junit) =
        (path("two.cc"), path("run.parquet"), path("two.vcd"), path("junit.xml"));
    // Pin B1 follows pin D2, and pin B0 changes by itself.
    let program = "#include <avr/interrupt.h>\n#include <avr/io.h>\n#include <util/delay.h>\n\
                   ISR(INT0_vect) { PORTB = (PORTB & 0xfd) | (PIND & 4) >> 1; }\n\
                   int main() { DDRB = 3; EICRA = 1; EIMSK = 1; sei(); for (;;) { PORTB ^= 1; _delay_us(500); } }\n";
    std::fs::write(&source, program).unwrap();
    let own = ["run", "--source", &source, "--pin", "B0", "--pin", "B1", "--mcu", "atmega328p", "--clock"];
    let rest = ["16MHz", "-d", "200ms", "--stimulus", "D2:5ms:1ms"];
    let with = |more: &[&str]| mcu(&[&own[..], &rest, more].concat());
    let met = with(&["--max-jitter", "100us", "--junit", &junit, "-o", &run, "--vcd", &dump]);
    assert_eq!(met.status.code(), Some(0), "{}", said(&met));
    assert!(said(&met).contains("pass: B1: period-error max <= 100us"), "{}", said(&met));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"0\"") && xml.contains("classname=\"B1\""), "{xml}");
    assert!([&run, &dump].iter().all(|file| open_run(file).info().tasks.len() == 2));
    let executed = open_run(&run).info().tasks[1].result.as_ref().unwrap().executed;
    assert_eq!(executed, 39, "{}", said(&met));

    let broken = with(&["--require", "period-error max < 1ns", "--junit", &junit]);
    assert_eq!(broken.status.code(), Some(1), "{}", said(&broken));
    assert!(said(&broken).contains("BROKEN: period-error max < 1ns of B0"), "{}", said(&broken));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(!xml.contains("failures=\"0\"") && xml.contains("<failure message="), "{xml}");

    // The dump as a stimulus: its signals are outputs here, but each is the name of a pin.
    let replayed = with(&["--stimulus", &dump]);
    assert_eq!(replayed.status.code(), Some(0), "{}", said(&replayed));
    let no_pin = with(&["--stimulus", "clock:1ms"]);
    assert_eq!(no_pin.status.code(), Some(2), "{}", said(&no_pin));
    let periods = with(&["--period", "1ms", "--period", "2ms", "--period", "3ms"]);
    assert_eq!(periods.status.code(), Some(2), "{}", said(&periods));
    assert!(said(&periods).contains("3 periods for 2 pins"), "{}", said(&periods));
    let no_requirement = with(&["--junit", &junit]);
    assert_eq!(no_requirement.status.code(), Some(2), "{}", said(&no_requirement));
}

#[test]
fn a_program_of_another_release_is_refused_and_its_own_name_is_that_of_the_command() {
    let mut called = Command::new(env!("CARGO_BIN_EXE_jitterlab-mcu"));
    let output = called.arg("run").env("JITTERLAB_CALLER", "0.0.9").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("0.0.9"), "{}", said(&output));
    for arguments in [&["run", "--help"][..], &["help", "run"], &["run", "--no-such-option"]] {
        let output = mcu(arguments);
        assert!(said(&output).contains("Usage: jitterlab mcu run"), "{}", said(&output));
    }
}

/// The ELF of a program in C for an ATmega328P.
fn compile_c(folder: &Path, name: &str, program: &str) -> String {
    let [source, elf] =
        ["c", "elf"].map(|ending| folder.join(format!("{name}.{ending}")).display().to_string());
    std::fs::write(&source, program).unwrap();
    let built = Command::new("avr-gcc").args(["-Os", "-mmcu=atmega328p", "-o", &elf, &source]).status();
    assert!(built.unwrap().success());
    elf
}

/// Firmware whose events stop long before the simulated time ends: the events due until then are missed.
#[test]
fn firmware_that_falls_silent_misses_what_is_due() {
    if !has_compiler() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (name, silence) in
        [("lock", "cli(); TIMSK1 = 0;"), ("sleep", "cli(); SMCR = 1; for (;;) __asm__ volatile(\"sleep\");")]
    {
        let path = |ending: &str| directory.path().join(format!("{name}.{ending}")).display().to_string();
        let program = format!(
            "#include <avr/io.h>\n#include <avr/interrupt.h>\n
             ISR(TIMER1_COMPA_vect) {{ static uint16_t n; PINB = 1; if (++n == 500) {{ {silence} }} }}
             int main(void) {{ DDRB = 1; OCR1A = 15999; TCCR1B = _BV(WGM12) | 1; TIMSK1 = 2; sei(); for (;;); }}"
        );
        let elf = compile_c(directory.path(), name, &program);
        for period in [&["--period", "1ms"][..], &[]] {
            let run = path(&format!("{}.parquet", period.len()));
            let mut arguments =
                vec!["run", &elf, "--mcu", "atmega328p", "--clock", "16000000", "--pin", "B0"];
            arguments.extend(["--edge", "both", "-d", "2s", "--require", "missed = 0", "-o", &run]);
            arguments.extend(period);
            let output = mcu(&arguments);
            assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
            let result = open_run(&run).info().tasks[0].result.clone().unwrap();
            assert_eq!((result.executed, result.missed), (500, 1_498), "{name}: {}", said(&output));
        }
    }
}

/// 1023 cycles at 16 MHz are 63.9375 us: equal distances have no latency, however many there are.
#[test]
fn a_period_between_two_nanoseconds_does_not_drift() {
    if !has_compiler() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("pwm.parquet").display().to_string();
    let program = "#include <avr/io.h>\n
         int main(void) { DDRB = 2; OCR1A = 1022; TCCR1A = _BV(COM1A0); TCCR1B = _BV(WGM12) | 1; for (;;); }";
    let elf = compile_c(directory.path(), "pwm", program);
    let output = mcu(&[
        "run",
        &elf,
        "--mcu",
        "atmega328p",
        "--clock",
        "16000000UL",
        "--pin",
        "B1",
        "--edge",
        "both",
        "-o",
        &run,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let result = open_run(&run).info().tasks[0].result.clone().unwrap();
    assert!(result.executed > 156_000, "{}", result.executed);
    assert_eq!((result.min_latency_ns, result.max_latency_ns, result.missed), (0, 0, 0));
}

/// One silent pin is reported and does not refuse the others: with a period it missed all due events, without
/// one nothing is decided.
#[test]
fn a_silent_pin_does_not_refuse_the_others() {
    if !has_compiler() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = "#include <avr/io.h>\n
         int main(void) { DDRB = 3; OCR1A = 7999; TCCR1A = _BV(COM1A0); TCCR1B = _BV(WGM12) | 1; for (;;); }";
    let elf = compile_c(directory.path(), "two", program);
    let with = |more: &[&str]| mcu(&[&["run", &elf, "-d", "1s"], more].concat());
    // The pin that it drives is found, and its period.
    let found = with(&["--max-jitter", "1us"]);
    assert_eq!(found.status.code(), Some(0), "{}", said(&found));
    assert!(said(&found).contains("period-error max <= 1us of two"), "{}", said(&found));
    let both = ["--pin", "9", "--pin", "B0"];
    let all = with(&both);
    assert_eq!(all.status.code(), Some(0), "{}", said(&all));
    assert!(said(&all).contains("Pin B0 changed 0 times"), "{}", said(&all));
    let missed = with(&[&both[..], &["--period", "1ms", "--require", "missed = 0"]].concat());
    assert_eq!(missed.status.code(), Some(1), "{}", said(&missed));
    assert!(said(&missed).contains("BROKEN: missed = 0 of B0"), "{}", said(&missed));
    let open = with(&[&both[..], &["--require", "missed = 0"]].concat());
    assert_eq!(open.status.code(), Some(3), "{}", said(&open));
    let nothing = with(&["--pin", "B0"]);
    assert_eq!(nothing.status.code(), Some(3), "{}", said(&nothing));
}

/// A period given in cycles of the clock has no latency either, and a wrong one drifts.
#[test]
fn a_period_may_be_cycles_of_a_clock() {
    if !has_compiler() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = "#include <avr/io.h>\n
         int main(void) { DDRB = 2; OCR1A = 1022; TCCR1A = _BV(COM1A0); TCCR1B = _BV(WGM12) | 1; for (;;); }";
    let elf = compile_c(directory.path(), "pwm", program);
    let with = |period: &str, requirement: &str| {
        mcu(&["run", &elf, "--edge", "both", "--period", period, "--require", requirement])
    };
    let exact = with("1023/16MHz", "latency max <= 0ns");
    assert_eq!(exact.status.code(), Some(0), "{}", said(&exact));
    let off = mcu(&["run", &elf, "--edge", "both", "--period", "64us"]);
    assert!(said(&off).contains("977.5 ppm"), "{}", said(&off));
    assert_eq!(with("1023/16", "missed = 0").status.code(), Some(2));
}
