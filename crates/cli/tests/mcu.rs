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
    let output = jitterlab(&["mcu", "recommend", "--need", "20ms:50us", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let choices = &document["result"]["choices"];
    assert_eq!(choices[0]["fits"], true);
    assert!(choices[0]["worst_us"].as_f64().unwrap() <= 50.0);
    assert!(choices.as_array().unwrap().len() >= 8);
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
