//! Firmware on a simulated microcontroller, as a user meets it.

#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use std::process::{Command, Output};

fn jitterlab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jitterlab")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Whether the cross compiler is there; where everything is required it has to be.
fn installed() -> bool {
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
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("alarm.parquet");
    let file = file.to_str().unwrap();
    let measured = jitterlab(&["mcu", "run", "--period", "2ms", "-n", "20", "-o", file]);
    assert_eq!(measured.status.code(), Some(0), "{}", said(&measured));
    let text = said(&measured).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("simulated atmega128, cycles at 7372800") && text.contains("TIMER1_COMPA"),
        "{text}"
    );
    let analyzed = jitterlab(&["analyze", file, "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&analyzed.stdout).unwrap();
    assert_eq!(document["result"]["run"]["bench"], "mcu");
    assert_eq!(document["result"]["tasks"][0]["summary"]["executed"], 20);
    let again = jitterlab(&["mcu", "run", "--period", "2ms", "-n", "20", "-o", file]);
    assert_eq!(again.status.code(), Some(3), "a measurement is never overwritten: {}", said(&again));
}

#[test]
fn a_program_of_ones_own_is_built_with_the_traits_asked_for() {
    if !installed() {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcu/programs/time_services.cc");
    let own = ["mcu", "run", "--source", source, "--pin", "B0", "--period", "10ms", "-n", "10", "-d", "1s"];
    let output = jitterlab(&own);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("> Handler calls: 10"), "{}", said(&output));
    // Equation 1, in the compiler's words.
    let output =
        jitterlab(&["mcu", "run", "--strategy", "periodic", "--tick", "20s", "--max-period", "100ms"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("TICK is above the timer's longest period"), "{}", said(&output));
}

#[test]
fn what_cannot_be_measured_is_said_with_its_remedy() {
    let no_pin = jitterlab(&["mcu", "run", "--elf", "firmware.elf"]);
    assert_eq!(no_pin.status.code(), Some(2));
    assert!(said(&no_pin).contains("--pin"), "{}", said(&no_pin));
    let no_need = jitterlab(&["mcu", "recommend", "--need", "20ms"]);
    assert_eq!(no_need.status.code(), Some(2));
    assert!(said(&no_need).contains("20ms:50us"), "{}", said(&no_need));
    if !installed() {
        return;
    }
    let no_file = jitterlab(&["mcu", "run", "--elf", "no-such.elf", "--pin", "B0"]);
    assert_eq!(no_file.status.code(), Some(3));
    assert!(said(&no_file).contains("no-such.elf"), "{}", said(&no_file));
    let mut bare = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    let bare = bare.args(["mcu", "run"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(bare.status.code(), Some(3));
    assert!(said(&bare).contains("apt install gcc"), "{}", said(&bare));
}

#[test]
fn a_recommendation_is_the_first_of_what_fits() {
    if !installed() {
        return;
    }
    let needs = ["--need", "20ms:50us", "--need", "3ms:90us", "--lock", "10us", "--handler", "5us"];
    let recommend = ["mcu", "recommend", "--clock", "16MHz"];
    let output = jitterlab(&[&recommend[..], &needs, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let choices = &document["result"]["choices"];
    assert_eq!(choices[0]["fits"], true);
    assert!(choices[0]["worst_us"].as_f64().unwrap() <= 50.0);
    assert!(choices.as_array().unwrap().len() >= 5);
    assert_eq!(choices[0]["alarms"].as_array().unwrap().len(), 2);
    assert!(choices[0]["alarms"][1]["worst_us"].as_f64() >= choices[0]["alarms"][1]["seen_us"].as_f64());
    let late = jitterlab(&[&recommend[..], &needs, &["--lock", "300us", "--brief"]].concat());
    assert_eq!(late.status.code(), Some(2), "an option is given once: {}", said(&late));
    let late = jitterlab(&[&recommend[..], &needs[..4], &["--lock", "300us", "--brief"]].concat());
    assert_eq!(late.status.code(), Some(1), "{}", said(&late));
    assert!(said(&late).contains("NOT FIT"), "{}", said(&late));
    let sweep = jitterlab(&["mcu", "sweep", "--prescaler", "64", "--period", "10ms", "-n", "5", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&sweep.stdout).unwrap();
    let alarms = document["result"]["alarms"].as_array().unwrap();
    assert_eq!(
        alarms.iter().map(|a| &a["strategy"]).collect::<Vec<_>>(),
        ["periodic", "single-shot", "anchored"]
    );
    assert!(
        alarms.iter().all(|a| a["events"] == 5 && a["asleep_share"].as_f64().unwrap() > 0.9),
        "{document}"
    );
    let impossible = jitterlab(&["mcu", "recommend", "--need", "100ns:1us"]);
    assert_eq!(impossible.status.code(), Some(2), "{}", said(&impossible));
}

#[test]
fn edges_written_as_a_dump_are_read_back_as_they_were() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (run, dump) = (path("run.parquet"), path("pin.vcd"));
    let measured = jitterlab(&["mcu", "run", "--period", "2ms", "-n", "60", "-o", &run, "--vcd", &dump]);
    assert_eq!(measured.status.code(), Some(0), "{}", said(&measured));
    let starts = |file: &str| {
        let csv = jitterlab(&["export", file, "--as", "csv", "-o", "-"]);
        assert_eq!(csv.status.code(), Some(0), "{}", said(&csv));
        let text = String::from_utf8(csv.stdout).unwrap();
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let columns = ["start_ns", "end_ns"].map(|name| names.iter().position(|of| *of == name).unwrap());
        let of = |line: &str| columns.map(|column| line.split(',').nth(column).unwrap().to_owned());
        text.lines().skip(1).map(of).collect::<Vec<_>>()
    };
    let (written, read) = (starts(&run), starts(&dump));
    assert!(written.len() >= 59 && written == read, "{written:?}\n{read:?}");
}

/// Two pins, one of them moved from outside: two tasks, judged for a test system.
#[test]
fn pins_are_tasks_that_requirements_decide() {
    if !installed() {
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
    let own =
        ["mcu", "run", "--source", &source, "--pin", "B0", "--pin", "B1", "--mcu", "atmega328p", "--clock"];
    let rest = ["16MHz", "-d", "200ms", "--stimulus", "D2:5ms:1ms"];
    let with = |more: &[&str]| jitterlab(&[&own[..], &rest, more].concat());
    let met = with(&["--max-jitter", "100us", "--junit", &junit, "-o", &run, "--vcd", &dump]);
    assert_eq!(met.status.code(), Some(0), "{}", said(&met));
    assert!(said(&met).contains("pass: B1: period-error max <= 100us"), "{}", said(&met));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"0\"") && xml.contains("classname=\"B1\""), "{xml}");
    let document = |file: &str| -> serde_json::Value {
        let analyzed = jitterlab(&["analyze", file, "--json"]);
        serde_json::from_slice(&analyzed.stdout).unwrap()
    };
    for file in [&run, &dump] {
        let names: Vec<_> = document(file)["result"]["run"]["tasks"].as_array().unwrap().clone();
        assert_eq!(names.len(), 2, "{file}");
    }
    assert_eq!(document(&run)["result"]["tasks"][1]["summary"]["executed"], 39, "{}", said(&met));

    let broken = with(&["--require", "period-error max < 1ns", "--junit", &junit]);
    assert_eq!(broken.status.code(), Some(1), "{}", said(&broken));
    assert!(said(&broken).contains("NOT FIT: period-error max < 1ns of B0"), "{}", said(&broken));
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
