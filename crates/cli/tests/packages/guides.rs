//! Commands of the README, the guides and the pages on formats, typed as they stand there.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the documents has failed")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::shared::executable;
use crate::shared::tracing::may_trace;

/// Begins of commands that no test of documents can run, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("jitterlab doctor", "takes minutes and changes the machine: tests/changes"),
    ("jitterlab tune", "takes minutes and changes the machine: tests/changes"),
    ("jitterlab matrix", "takes minutes: tests/measure"),
    ("jitterlab kernel", "boots kernels: tests/kernels"),
    ("jitterlab compare --fail-if-moved", "of kernels that are booted: tests/kernels"),
    ("jitterlab reproduce", "takes minutes: companions/papers/tests"),
    ("jitterlab fleet", "machines of a fleet: companions/fleet/tests"),
    ("jitterlab monitor", "goes on for months: companions/monitor/tests"),
    ("jitterlab run --isolate 3", "names a processor of a larger machine: tests/changes"),
    ("jitterlab run --pulse", "needs a pin"),
    ("jitterlab compare --align", "needs a pin: tests/measure/witness.rs"),
    ("jitterlab run --task name=servo,period=1ms,policy=fifo:80,wake=cobalt", "needs Xenomai"),
    ("jitterlab run --task name=servo,period=1ms,policy=fifo:80,wake=evl", "needs EVL"),
    ("jitterlab watch --pid", "needs a process of the reader: tests/causes"),
    ("jitterlab watch --duration 1s -o node.parquet -- ros2", "needs ROS 2"),
    ("jitterlab mcu run blink.elf", "needs a program for the RP2040: companions/mcu/tests"),
];

/// Extensions of files that commands read.
const KINDS: [&str; 9] = ["parquet", "vcd", "sr", "csv", "pcap", "pcapng", "txt", "json", "elf"];

/// A session of sigrok with the channel that the guide names.
const SESSION: &str = "import zipfile, sys
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile('capture.sr', 'w') as new:
    for name in old.namelist():
        data = old.read(name)
        new.writestr(name, data.replace(b'=loop', b'=D0') if name == 'metadata' else data)
";

/// A program for the ATmega328P that toggles both pins the guide names.
const FIRMWARE: &str = "#include <avr/io.h>
#include <avr/interrupt.h>
ISR(TIMER1_COMPA_vect) { PINB = 3; }
int main(void) {
    DDRB = 3; TCCR1B = 1 << WGM12 | 1 << CS11; OCR1A = 1999; TIMSK1 = 1 << OCIE1A; sei();
    for (;;) {}
}
";

/// Begins of commands that a machine may be too busy for, which they say as an error.
const MAY_REFUSE: &[&str] = &["jitterlab export threads.parquet --as linuxcnc"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Documents of users, with their commands in order.
fn documents() -> Vec<(String, Vec<String>)> {
    let mut paths = vec![root().join("README.md")];
    for folder in ["docs/guide", "docs/formats"] {
        paths.extend(fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    let commands = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let typed = text.lines().filter_map(|line| line.strip_prefix("    "));
        let typed = typed.map(|line| line.strip_prefix("sudo ").unwrap_or(line));
        typed.filter(|line| line.starts_with("jitterlab ")).map(shortened).collect()
    };
    paths.iter().map(|path| (path.display().to_string(), commands(path))).collect()
}

/// The command with a second for each minute or more that it measures, and files of this test instead of `/tmp`.
fn shortened(command: &str) -> String {
    let mut after_duration = false;
    let words = command.split(' ').map(|word| {
        let word = if after_duration { "1s" } else { word };
        after_duration = word == "--duration";
        word
    });
    words.collect::<Vec<_>>().join(" ").replace("/tmp/", "")
}

/// Copies the files that a command reads and no earlier one made.
fn provide(command: &str, examples: &Path, folder: &Path) {
    let mut is_output = false;
    for word in command.split_whitespace() {
        let path = folder.join(word);
        let of_known_kind = word.rsplit_once('.').is_some_and(|(_, kind)| KINDS.contains(&kind));
        let is_placeholder =
            word.len() >= 4 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        if !is_output && !path.exists() && (of_known_kind || is_placeholder) {
            let own = examples.join(word);
            let example = if own.exists() { own } else { examples.join("run.parquet") };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy(example, path).unwrap();
        }
        is_output = matches!(word, "-o" | "--output" | "--gains" | "--junit" | ">");
    }
}

/// Files that the documents take for given.
fn examples(call: impl Fn(&Path, &str) -> (Option<i32>, String)) -> TempDir {
    let folder = TempDir::new().unwrap();
    let peers = root().join("crates/trace/tests/peers");
    let copies = [
        ("rigol.csv", "scope.csv"),
        ("ethercat.pcapng", "fieldbus.pcapng"),
        ("udp.pcap", "mesa.pcap"),
        ("halsampler.txt", "servo.txt"),
    ];
    for (from, to) in copies {
        fs::copy(peers.join(from), folder.path().join(to)).unwrap();
    }
    let mut table = String::from("t_wake,t_plan,late\n");
    let mut capture = String::from(
        "$timescale 1 us $end\n$var wire 1 ! STEP $end\n$var wire 1 \" SYNC $end\n$var wire 1 # D0 $end\n\
         $enddefinitions $end\n",
    );
    for k in 0..2_000_u64 {
        let late = 5_000 + k * 7_919 % 3_000;
        table += &format!("{},{},{}\n", k * 1_000_000 + late, k * 1_000_000, late / 1_000);
        capture += &format!("#{}\n1!\n1\"\n{}#\n", k * 1_000 + late / 1_000, k % 2);
        capture += &format!("#{}\n0!\n0\"\n", k * 1_000 + 500);
    }
    fs::write(folder.path().join("loop.csv"), table).unwrap();
    fs::write(folder.path().join("capture.vcd"), capture).unwrap();
    let plant = r#"{"A": [[0, 1], [0, -2]], "B": [[0], [40]], "C": [[1, 0]], "D": [[0]], "dt": 0}"#;
    fs::write(folder.path().join("axis.json"), plant).unwrap();
    fs::write(folder.path().join("firmware.c"), FIRMWARE).unwrap();
    let why = if may_trace() { "--why " } else { "" };
    let tasks = "--task name=servo,period=1ms --task name=base,period=200us --task name=fast,period=50us";
    for command in [
        format!("jitterlab run -q {why}--task name=servo,period=1ms --duration 3s -o run.parquet"),
        format!("jitterlab run -q {tasks} --duration 3s -o three.parquet"),
        "jitterlab run -q --duration 22s -o long.parquet".to_owned(),
        format!("python3 -c \"{SESSION}\" {}", peers.join("sigrok.sr").display()),
        "avr-gcc -mmcu=atmega328p -Os firmware.c -o firmware.elf".to_owned(),
    ] {
        let (status, error) = call(folder.path(), &command);
        assert!(matches!(status, Some(0 | 1)), "{command}: {status:?} {error}");
    }
    fs::copy(folder.path().join("firmware.elf"), folder.path().join("sketch.elf")).unwrap();
    for name in ["threads.parquet", "drive.parquet"] {
        fs::copy(folder.path().join("three.parquet"), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn every_command_of_the_documents_does_what_its_page_says_or_says_why_not() {
    let programs = TempDir::new().unwrap();
    executable::script(&programs.path().join("sudo"), "#!/bin/sh\nexec \"$@\"\n");
    let here = Path::new(env!("CARGO_BIN_EXE_jitterlab")).parent().unwrap();
    let path = [programs.path(), here, Path::new("/usr/bin"), Path::new("/bin")];
    let path = std::env::join_paths(path).unwrap();
    let call = |folder: &Path, command: &str| {
        let output =
            Command::new("sh").args(["-c", command]).env("PATH", &path).current_dir(folder).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    if !["jq", "avr-gcc"].iter().all(|program| executable::has(program, &["--version"])) {
        return;
    }
    let examples = examples(call);
    let traces = may_trace();
    let mut ran = 0;
    let mut left_out = vec![false; NOT_RUN.len()];
    let mut failed = Vec::new();
    for (document, commands) in documents() {
        let folder = TempDir::new().unwrap();
        symlink(root().join("mcu"), folder.path().join("mcu")).unwrap();
        for command in commands {
            if let Some(at) = NOT_RUN.iter().position(|(begin, _)| command.starts_with(begin)) {
                left_out[at] = true;
                continue;
            }
            if !traces && (command.contains("why") || command.contains("watch")) {
                continue;
            }
            provide(&command, examples.path(), folder.path());
            let (status, error) = call(folder.path(), &command);
            ran += 1;
            // 1: a requirement or a machine that fails; 3: an answer that cannot be had from so short a run.
            let is_error = error.lines().any(|line| line.starts_with("error"));
            let refuses = status == Some(3) && MAY_REFUSE.iter().any(|begin| command.starts_with(begin));
            if !(matches!(status, Some(0 | 1 | 3)) && (!is_error || refuses)) {
                failed.push(format!("{document}: {command}: {status:?}\n{error}"));
            }
        }
        if document.ends_with("README.md") && folder.path().join("report.html").exists() {
            let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
            assert!(page.contains("class=\"tiles\""), "{document}");
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ran >= 70, "only {ran} commands found");
    let stale: Vec<_> =
        NOT_RUN.iter().zip(left_out).filter(|(_, found)| !found).map(|(entry, _)| entry).collect();
    assert!(stale.is_empty(), "no document has {stale:?}");
}
