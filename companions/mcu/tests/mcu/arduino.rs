//! Five questions of Arduino users, each answered in the first five lines; sketches on its core, unmodified.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::skip;

const AVR: &str = "/usr/share/arduino/hardware/arduino/avr";

/// Builds a sketch as the Arduino tools do, for a chip and the board's variant; `None` if the core is not installed.
fn build_sketch(directory: &Path, chip: &str, variant: &str, code: &str) -> Option<PathBuf> {
    let core = format!("{AVR}/cores/arduino");
    let Ok(entries) = std::fs::read_dir(&core) else { return skip("arduino-core-avr is not installed") };
    let mut files: Vec<String> = entries.map(|entry| entry.unwrap().path().display().to_string()).collect();
    files.push(format!("{AVR}/libraries/SoftwareSerial/src/SoftwareSerial.cpp"));
    files.sort();
    let (source, elf) = (directory.join("sketch.cpp"), directory.join("sketch.elf"));
    std::fs::write(&source, format!("#include <Arduino.h>\n{code}")).unwrap();
    let mut build = Command::new("avr-g++");
    build.args(["-Os", "-g", "-w", "-std=gnu++11", "-fno-exceptions", "-fno-threadsafe-statics"]);
    build.args(["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-DF_CPU=16000000UL"]);
    build.args(["-DARDUINO=10819", "-DDECIMAL_DIG=__DECIMAL_DIG__", "-DUSB_VID=0x2341", "-DUSB_PID=0x8036"]);
    build.args([format!("-mmcu={chip}"), format!("-I{core}"), format!("-I{AVR}/variants/{variant}")]);
    build.arg(format!("-I{AVR}/libraries/SoftwareSerial/src")).arg(&source);
    build.args(files.iter().filter(|file| file.ends_with(".cpp")));
    for file in files.iter().filter(|file| file.ends_with(".c")) {
        build.args(["-xc", file]);
    }
    let Ok(built) = build.arg("-o").arg(&elf).output() else { return skip("gcc-avr is not installed") };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(elf)
}

/// Returns the exit status, the first five lines of the output, and all of it.
fn run_mcu(elf: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_jitterlab-mcu"));
    let output = run.arg("run").arg(elf).args(options).output().unwrap();
    let all = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let joined = |lines: &str| lines.split_whitespace().collect::<Vec<_>>().join(" ");
    let first: Vec<&str> = all.lines().take(5).collect();
    (output.status.code(), joined(&first.join("\n")), joined(&all))
}

fn measure_sketch(code: &str, options: &[&str]) -> Option<(String, String)> {
    let directory = tempfile::tempdir().unwrap();
    let elf = build_sketch(directory.path(), "atmega328p", "standard", code)?;
    let (status, first, all) = run_mcu(&elf, options);
    assert_eq!(status, Some(0), "{all}");
    Some((first, all))
}

#[test]
fn how_regular_are_the_steps_of_a_motor() {
    let code = "
        static unsigned long last;
        void setup() { pinMode(2, OUTPUT); pinMode(3, OUTPUT); }
        void loop() {
            if (micros() - last >= 1250) { last += 1250; PORTD |= 4; PORTD &= ~4; }
        }";
    let Some((first, all)) = measure_sketch(code, &[]) else { return };
    assert!(first.starts_with("JITTER "), "{all}");
    for part in [
        "D2 (pin 2 of an Arduino Uno) rises every 1.25",
        "0 of ",
        " missed",
        "shorter than an A4988 takes (1 µs)",
    ] {
        assert!(first.contains(part), "{part}: {all}");
    }
    assert!(all.contains("16 MHz was taken, as an Arduino has it"), "{all}");
}

#[test]
fn by_how_much_does_millis_drift() {
    let code = "
        static unsigned long last;
        void setup() { pinMode(13, OUTPUT); }
        void loop() {
            if (millis() - last >= 10) { last = millis(); digitalWrite(13, !digitalRead(13)); delay(2); }
        }";
    let Some((first, all)) = measure_sketch(code, &["--pin", "13", "--edge", "both", "--period", "10ms"])
    else {
        return;
    };
    assert!(first.contains("B5 (pin 13 of an Arduino Uno) changes every 10."), "{all}");
    assert!(first.contains(" late: ") && first.contains(" ppm."), "{all}");
}

/// The library's way: a match begins a pulse, and the next one ends it.
#[test]
fn how_regular_are_the_pulses_of_a_servo() {
    let code = "
        ISR(TIMER1_COMPA_vect) {
            static bool high;
            high = !high;
            OCR1A += high ? 3000 : 37000;
            digitalWrite(9, high);
        }
        void setup() { pinMode(9, OUTPUT); TCCR1A = 0; TCCR1B = 2; OCR1A = 3000; TIFR1 = 255; TIMSK1 = 2; }
        void loop() {}";
    let Some((first, all)) = measure_sketch(code, &[]) else { return };
    assert!(first.contains("B1 (pin 9 of an Arduino Uno) rises every 20 ms"), "{all}");
    assert!(first.contains("Pulses of 1.") && first.contains(" or up to "), "{all}");
}

/// A sketch whose own period is not the one asked for: nothing disturbs it, and nothing is blamed.
#[test]
fn is_it_the_period_that_was_asked_for() {
    let code = "
        void setup() { pinMode(9, OUTPUT); }
        void loop() { digitalWrite(9, HIGH); delayMicroseconds(1500); digitalWrite(9, LOW); delay(18); }";
    let directory = tempfile::tempdir().unwrap();
    let Some(elf) = build_sketch(directory.path(), "atmega328p", "standard", code) else { return };
    let (status, first, all) = run_mcu(&elf, &["--period", "20ms", "--max-jitter", "50us"]);
    assert_eq!(status, Some(1), "{all}");
    assert!(first.contains("Its own period is 19.5") && first.contains(" ms, not 20 ms."), "{all}");
    assert!(!first.contains("disturbs it most"), "{all}");
}

#[test]
fn are_interrupts_lost() {
    let code = "
        volatile unsigned n;
        ISR(TIMER2_COMPB_vect) { n++; PIND = 128; }
        void setup() { pinMode(7, OUTPUT); TCCR2A = 2; TCCR2B = 4; OCR2A = 249; TIMSK2 = 4; }
        void loop() { delay(5); noInterrupts(); for (volatile int i = 0; i < 2500; i++) {} interrupts(); }";
    let Some((first, all)) = measure_sketch(code, &["--edge", "both"]) else { return };
    assert!(first.contains("lost: ") && first.contains(" of TIMER2_COMPB"), "{all}");
    assert!(first.contains("A stretch with interrupts off (sketch.cpp:6) disturbs it most"), "{all}");
    assert!(all.contains("interrupts were off from loop (sketch.cpp:6) on"), "{all}");
}

#[test]
fn how_much_of_the_processor_does_a_handler_take() {
    let code = "
        ISR(TIMER1_COMPA_vect) { PORTB |= 1; delayMicroseconds(250); PORTB &= ~1; }
        void setup() { pinMode(8, OUTPUT); TCCR1A = 0; TCCR1B = 9; OCR1A = 15999; TIMSK1 = 2; }
        void loop() {}";
    let Some((first, all)) = measure_sketch(code, &["-d", "1s"]) else { return };
    assert!(
        first.contains("Interrupts take 2") && first.contains("% of the processor (TIMER1_COMPA 25 %)"),
        "{all}"
    );
}

/// Sketches of the core on three boards: the pin 13 of each is another pin of its chip.
#[test]
fn blink_runs_on_every_board() {
    let code = "
        void setup() { pinMode(13, OUTPUT); }
        void loop() { digitalWrite(13, HIGH); delay(50); digitalWrite(13, LOW); delay(50); }";
    for (chip, variant, pin) in [
        ("atmega328p", "standard", "B5 (pin 13 of an Arduino Uno)"),
        ("atmega2560", "mega", "B7 (pin 13 of an Arduino Mega)"),
        ("atmega32u4", "leonardo", "C7 (pin 13 of an Arduino Leonardo)"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let Some(elf) = build_sketch(directory.path(), chip, variant, code) else { return };
        let (status, first, all) = run_mcu(&elf, &["-d", "2s", "--pin", "13"]);
        assert_eq!(status, Some(0), "{all}");
        assert!(first.contains(pin) && first.contains("every 100."), "{all}");
        // USB is not simulated, and a sketch on a Leonardo turns it on.
        let (status, _, all) = run_mcu(&elf, &["-d", "2s", "--pin", "13", "--max-jitter", "50ms"]);
        let expected = if chip == "atmega32u4" { (Some(3), "CANNOT TELL") } else { (Some(0), "MET") };
        assert!(status == expected.0 && all.starts_with(expected.1), "{chip}: {all}");
    }
}

#[test]
fn tone_and_software_serial_keep_their_times() {
    let Some((first, all)) = measure_sketch("void setup() { tone(8, 500); }\nvoid loop() {}", &[]) else {
        return;
    };
    assert!(first.contains("B0 (pin 8 of an Arduino Uno) rises every 2 ms"), "{all}");
    let code = "
        #include <SoftwareSerial.h>
        SoftwareSerial port(10, 11);
        void setup() { port.begin(9600); }
        void loop() { port.write('U'); delay(5); }";
    let Some((first, all)) = measure_sketch(code, &["-d", "1s"]) else { return };
    assert!(first.contains("B3 (pin 11 of an Arduino Uno)"), "{all}");
}

/// A line received by the serial port starts the steps.
#[test]
fn text_comes_to_the_serial_port() {
    let code = "
        void setup() { Serial.begin(115200); pinMode(2, OUTPUT); }
        void loop() {
            if (Serial.available() && Serial.read() == '\\n') {
                Serial.println(\"ok\");
                for (;;) { PORTD |= 4; delayMicroseconds(20); PORTD &= ~4; delay(1); }
            }
        }";
    let Some((first, all)) = measure_sketch(code, &["-d", "1s", "--serial", "G1 X10", "--details"]) else {
        return;
    };
    assert!(first.contains("D2 (pin 2 of an Arduino Uno)") && all.contains("> ok"), "{all}");
}

/// The line of a serial port is no pin that is measured, and is not counted among them.
#[test]
fn a_sketch_that_only_sends_moves_no_pin() {
    let directory = tempfile::tempdir().unwrap();
    let code = "void setup() { Serial.begin(9600); } void loop() { Serial.println(millis()); delay(100); }";
    let Some(elf) = build_sketch(directory.path(), "atmega328p", "standard", code) else { return };
    let (status, _, all) = run_mcu(&elf, &["-d", "1s"]);
    assert_eq!(status, Some(3), "{all}");
    assert!(all.contains("all pins but serial ports' together changed 0 times"), "{all}");
}
