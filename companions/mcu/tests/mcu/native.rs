//! The library on this system: queue and strategies against the reference model, with sanitizers.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::skip;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcu");

fn is_installed(tool: &str, argument: &str) -> bool {
    Command::new(tool).arg(argument).output().is_ok_and(|o| o.status.success())
}

#[test]
fn random_programs_of_alarms_do_what_the_reference_says() {
    if !is_installed("g++", "--version") || !is_installed("make", "--version") {
        return skip("g++ or make is not installed: apt install g++ make").unwrap_or_default();
    }
    let build = tempfile::tempdir().unwrap();
    let output = Command::new("make")
        .args(["-C", ROOT, "-s", "PROGRAMS=40", &format!("BUILD={}", build.path().display())])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("services: fine").count(), 3, "{text}");
    assert!(text.contains("40 programs"), "{text}");
}

/// clang without its fuzzer's library.
fn has_fuzzer(directory: &Path) -> bool {
    let source = directory.join("probe.cc");
    fs::write(&source, "extern \"C\" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }")
        .unwrap();
    let mut compiler = Command::new("clang++");
    compiler.arg("-fsanitize=fuzzer").arg(&source).arg("-o").arg(directory.join("probe"));
    compiler.output().is_ok_and(|o| o.status.success())
}

/// A fuzzer writes the programs: a short turn of it, for the long ones see the Makefile.
#[test]
fn no_program_that_a_fuzzer_finds_breaks_the_queue() {
    let build = tempfile::tempdir().unwrap();
    if !is_installed("make", "--version") || !has_fuzzer(build.path()) {
        return skip("make or clang's fuzzer is not installed: apt install make clang libclang-rt-14-dev")
            .unwrap_or_default();
    }
    let output = Command::new("make")
        .args(["-C", ROOT, "-s", "FUZZ_SECONDS=10", &format!("BUILD={}", build.path().display()), "fuzz"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let runs = text.lines().find_map(|l| l.strip_prefix("Done ")?.split(' ').next()?.parse::<u64>().ok());
    assert!(runs.is_some_and(|runs| runs > 20), "{text}");
}

/// The compiler checks equation 1, and its message names the change to make.
#[test]
fn a_board_that_breaks_equation_1_does_not_compile() {
    if !is_installed("g++", "--version") {
        return skip("g++ is not installed: apt install g++").unwrap_or_default();
    }
    let compile = |case: usize| {
        let output = Command::new("g++")
            .args(["-std=c++14", "-fsyntax-only", &format!("-DCASE={case}"), "-Isrc", "-Itests/native"])
            .arg("tests/native/equation_1.cc")
            .current_dir(ROOT)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(compile(0).0, "{}", compile(0).1);
    let messages = [
        "MAX_PERIOD is below one count",
        "TICK is below one count",
        "TICK is above the timer's longest period",
        "SOFTWARE_TICK is above the timer's longest period",
        "set its trait TIME_STAMPS",
        "TICK is not a whole number of counts",
    ];
    for (case, message) in (1..).zip(messages) {
        let (compiled, said) = compile(case);
        assert!(!compiled && said.contains(message), "case {case}: {said}");
    }
}
