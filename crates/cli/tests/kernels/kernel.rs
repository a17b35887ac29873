//! `jitterlab kernel` as a user meets it, a companion that is built next to the program: with toy kernels of
//! a few instructions that fail in every way a kernel can, and with Debian's real ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jitterlab_kernel::machine::TIME_SLICE_NS;
use jitterlab_model::{Activation, Warning};
use jitterlab_trace::{Columns, RunReader};
use tempfile::TempDir;

use crate::shared::executable;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");
const RUN: [&str; 7] = ["--period", "1ms", "--policy", "fifo:90", "--cpu", "0", "--count"];

/// Prints why a test is skipped; fails instead if everything is required.
fn skip(why: &str) {
    assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "{why}");
    println!("skipped: {why}");
}

/// Real-mode code that writes the text at 0x300 of the image to the serial line.
const SAY: [u8; 15] = [
    0xba, 0xf8, 0x03, // mov dx, 0x3f8
    0xbe, 0x00, 0x03, // mov si, 0x300
    0xfc, 0xac, // cld; lodsb
    0x84, 0xc0, 0x74, 0x03, // test al, al; jz past the jump
    0xee, 0xeb, 0xf8, // out dx, al; jmp lodsb
];
const HALT: [u8; 4] = [0xfa, 0xf4, 0xeb, 0xfd]; // cli; hlt; jmp hlt
const LOOP: [u8; 2] = [0xeb, 0xfe];
const RESET: [u8; 6] = [0xb0, 0xfe, 0xe6, 0x64, 0xeb, 0xfe]; // by the keyboard controller

/// A kernel image that prints a text and then does only this. `None` without QEMU.
fn toy(says: &str, then: &[u8]) -> Option<(TempDir, PathBuf)> {
    if Command::new("qemu-system-x86_64").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip("qemu-system-x86_64 is not installed");
        return None;
    }
    // Documentation/arch/x86/boot.rst: one setup sector, the code begins with a jump over the header.
    let mut image = vec![0; 0x1000];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x1f1, &[1]);
    put(0x1fe, &[0x55, 0xaa, 0xeb, 0x66]);
    put(0x202, b"HdrS\x02\x02");
    put(0x20e, &0x180u16.to_le_bytes());
    put(0x211, &[1]);
    put(0x268, &[&SAY[..], then].concat());
    put(0x300, format!("{says}\r\n\0").as_bytes());
    put(0x380, b"0.1-toy #1\0");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("toy");
    fs::write(&path, image).unwrap();
    Some((folder, path))
}

/// Starts a measurement on a kernel, with a folder of its own for whatever it might leave behind.
fn start(folder: &Path, kernel: &Path, options: &[&str]) -> Child {
    fs::create_dir_all(folder.join("tmp")).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["kernel", "run", "-q", "--kernel"]).arg(kernel).args(options);
    command.current_dir(folder).env("TMPDIR", folder.join("tmp"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// QEMUs that boot this kernel.
fn emulators(kernel: &Path) -> Vec<i32> {
    let kernel = kernel.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&words).into_owned();
        text.starts_with("qemu") && text.split('\0').any(|word| word == kernel)
    })
    .collect()
}

/// Waits until something holds, a minute at most.
fn within_a_minute(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        if holds() {
            return true;
        }
        sleep(Duration::from_millis(20));
    }
    false
}

fn kill(pid: i32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}

/// Asserts that a failed measurement left nothing behind, and returns its message.
fn failed(folder: &Path, kernel: &Path, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(emulators(kernel), [0; 0], "{said}");
    let left = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(left(&folder.join("tmp")).len(), 0, "{said}");
    assert!(left(folder).iter().all(|name| name == "tmp" || name == "toy"), "{said}");
    said
}

/// Message of a measurement on a toy kernel.
fn on_toy(says: &str, then: &[u8], options: &[&str]) -> Option<String> {
    let (folder, kernel) = toy(says, then)?;
    let output = start(folder.path(), &kernel, options).wait_with_output().unwrap();
    Some(failed(folder.path(), &kernel, &output))
}

#[test]
fn a_kernel_that_panics_is_quoted() {
    let Some(said) = on_toy("Kernel panic - not syncing: no init", &RESET, &[]) else { return };
    assert!(said.contains("the kernel panicked") && said.contains("not syncing: no init"), "{said}");
}

#[test]
fn a_kernel_that_reboots_is_quoted() {
    let Some(said) = on_toy("going down", &RESET, &[]) else { return };
    assert!(said.contains("rebooted") && said.contains("going down"), "{said}");
}

#[test]
fn a_kernel_that_halts_for_ever_is_noticed() {
    let Some(said) = on_toy("good night", &HALT, &[]) else { return };
    assert!(said.contains("hung") && said.contains("good night"), "{said}");
}

#[test]
fn a_kernel_that_takes_too_long_is_stopped() {
    let Some(said) = on_toy("for ever", &LOOP, &["--timeout", "3s"]) else { return };
    assert!(said.contains("--timeout") && said.contains("for ever"), "{said}");
}

#[test]
fn a_killed_emulator_is_reported() {
    let Some((folder, kernel)) = toy("working", &LOOP) else { return };
    let running = start(folder.path(), &kernel, &["--timeout", "50s"]);
    assert!(within_a_minute(|| emulators(&kernel).into_iter().map(kill).count() == 1));
    let said = failed(folder.path(), &kernel, &running.wait_with_output().unwrap());
    assert!(said.contains("QEMU ended with signal: 9"), "{said}");
}

#[test]
fn the_emulator_ends_with_a_killed_jitterlab() {
    let Some((folder, kernel)) = toy("working", &LOOP) else { return };
    let script = folder.path().join("script");
    executable::script(&script, "#!/bin/sh\nqemu-system-x86_64 \"$@\"\ntrue\n");
    for qemu in ["qemu-system-x86_64", script.to_str().unwrap()] {
        let mut running = start(folder.path(), &kernel, &["--timeout", "50s", "--qemu", qemu]);
        assert!(within_a_minute(|| emulators(&kernel).len() == 1), "{qemu}");
        running.kill().unwrap();
        running.wait().unwrap();
        assert!(within_a_minute(|| emulators(&kernel).is_empty()), "{qemu}");
        assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
    }
}

/// Building jitterlab for arm64 takes as long as all other tests together, so it is built elsewhere.
#[test]
fn an_arm64_guest_measures_analyzes_and_reports() {
    let Some(program) = std::env::var_os("JITTERLAB_ARM64") else {
        println!(
            "skipped: JITTERLAB_ARM64 names no jitterlab that packaging/cross built for arm64, with jitterlab-kernel beside it"
        );
        return;
    };
    let folder = TempDir::new().unwrap();
    let program = program.to_str().unwrap();
    let also = [
        "jitterlab analyze run.parquet",
        "jitterlab report run.parquet -o page.html",
        "jitterlab check --details",
    ];
    let inside = also.into_iter().flat_map(|command| ["--also", command]);
    let words = ["run", "-q", "--kernel", "debian:rt-arm64", "--program", program].into_iter();
    let words: Vec<&str> = words.chain(inside).chain(RUN).chain(["200"]).collect();
    for file in ["debian-rt-arm64.parquet", "debian-rt-arm64-2.parquet"] {
        let output =
            on_debian(folder.path(), &words).expect("the kernel and the emulator that were asked for");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("page.html") && said.contains("one speed, in every idle state"), "{said}");
        assert_eq!(activations(&folder.path().join(file)).len(), 200);
    }
    let file = |name: &str| folder.path().join(name);
    assert_eq!(
        activations(&file("debian-rt-arm64.parquet")),
        activations(&file("debian-rt-arm64-2.parquet"))
    );
    let facts =
        RunReader::open(file("debian-rt-arm64.parquet")).unwrap().info().facts_before.clone().unwrap();
    assert_eq!(facts.kernel.architecture.as_deref(), Some("aarch64"));
    assert_eq!(facts.virtualisation.hypervisor.as_deref(), Some("QEMU"));
}

/// Runs `jitterlab kernel` on Debian's kernels; `None` if they are not available.
fn on_debian(folder: &Path, words: &[&str]) -> Option<Output> {
    had(Command::new(PROGRAM).arg("kernel").args(words).current_dir(folder).output().unwrap())
}

/// Output of a command that needs Debian's kernels; `None` if they are not available.
fn had(output: Output) -> Option<Output> {
    let said = String::from_utf8_lossy(&output.stderr);
    let missing = ["could not be started", "could not be fetched", "is not here", "package lists"];
    if missing.iter().any(|what| said.contains(what)) {
        skip(&said);
        return None;
    }
    Some(output)
}

fn activations(file: &Path) -> Vec<Activation> {
    let mut all = Vec::new();
    let reader = RunReader::open(file).unwrap();
    reader.for_each_batch(Columns::ALL, |_, rows| all.extend_from_slice(rows)).unwrap();
    all
}

#[test]
fn real_kernels_boot_and_repeat_to_the_nanosecond() {
    // Below /tmp on most machines, where the guest must not cover it.
    let folder = TempDir::new().unwrap();
    let brought = folder.path().join("brought");
    fs::write(&brought, "it came along\n").unwrap();
    let brought = brought.to_str().unwrap();
    let show = format!("cat {brought} /sys/fs/cgroup/cgroup.controllers");
    let run = |kernels: &[&str]| {
        let kernels = kernels.iter().flat_map(|kernel| ["--kernel", kernel]);
        let inside = ["--with", brought, "--also", &show];
        let words = ["run", "-q"].into_iter().chain(kernels).chain(inside).chain(RUN);
        // The guest has one processor only, so the load shares it.
        let words: Vec<&str> = words.chain(["200", "--load", "stress -c 1"]).collect();
        on_debian(folder.path(), &words)
    };
    let Some(both) = run(&["debian:rt", "debian:generic"]) else { return };
    let said = String::from_utf8_lossy(&both.stdout);
    assert!(both.status.success(), "{}", String::from_utf8_lossy(&both.stderr));
    assert!(said.contains("counts code paths, not caches"), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cpu:1 runs on the measured CPU 0"), "{said}");
    let controllers =
        said.split("it came along\n").skip(1).map(|rest| rest.lines().next().unwrap_or_default());
    assert_eq!(controllers.filter(|line| line.split(' ').any(|word| word == "cpuset")).count(), 2, "{said}");
    run(&["debian:rt"]).unwrap();
    let file = |name: &str| folder.path().join(name);
    let first = activations(&file("debian-rt.parquet"));
    assert_eq!(first.len(), 200);
    assert_eq!(first, activations(&file("debian-rt-2.parquet")));
    assert_ne!(first, activations(&file("debian-generic.parquet")));
    let info = RunReader::open(file("debian-rt.parquet")).unwrap().info().clone();
    assert_eq!(info.bench, jitterlab_model::Bench::Kernel);
    assert!(info.facts_before.unwrap().kernel.release.unwrap().ends_with("-rt-amd64"));

    // A repetition shows no difference; another kernel has other code paths.
    let diff = |new: &str| {
        let words = ["compare", "--anyway", "--fail-if-moved", "0ns", "debian-rt.parquet", new];
        Command::new(PROGRAM).args(words).current_dir(folder.path()).output().unwrap()
    };
    let same = diff("debian-rt-2.parquet");
    assert_eq!(same.status.code(), Some(0), "{}", String::from_utf8_lossy(&same.stderr));
    let other = diff("debian-generic.parquet");
    assert_eq!(other.status.code(), Some(1), "{}", String::from_utf8_lossy(&other.stderr));
}

#[test]
fn a_load_on_another_processor_invents_no_latency_beyond_turns() {
    let folder = TempDir::new().unwrap();
    let run = |cpus: &str, cpu: &str| {
        let words = ["run", "-q", "--kernel", "debian:rt", "--cpus", cpus];
        let task =
            ["--period", "1ms", "--policy", "fifo:90", "--cpu", cpu, "--count", "200", "--load", "hog@0"];
        on_debian(folder.path(), &[&words[..], &task[..]].concat())
    };
    let Some(alone) = run("1", "0") else { return };
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stderr));
    for _ in 0..2 {
        let output = run("2", "1").unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let file = |name: &str| activations(&folder.path().join(name));
    let (alone, beside) = (file("debian-rt.parquet"), file("debian-rt-2.parquet"));
    assert_eq!(beside, file("debian-rt-3.parquet"));
    // Nothing is missed, where whole milliseconds were lost without turns.
    assert_eq!(beside.len(), 200);
    let sorted = |all: &[Activation]| {
        let mut latencies: Vec<i64> = all.iter().map(Activation::latency_ns).collect();
        latencies.sort_unstable();
        latencies
    };
    let (alone, beside) = (sorted(&alone), sorted(&beside));
    let bound = |own: i64| 2 * (TIME_SLICE_NS + own);
    assert!(beside[100] <= bound(alone[100]), "{} of {}", beside[100], alone[100]);
    // A lock that the other processor holds costs its turns again.
    assert!(beside[199] <= 3 * bound(alone[199]), "{} of {}", beside[199], alone[199]);
    let info = RunReader::open(folder.path().join("debian-rt-2.parquet")).unwrap().info().clone();
    assert!(info.warnings.contains(&Warning::Turns { cpus: 2, turn_ns: TIME_SLICE_NS }));
}

/// The commands of the two recipes in the guide, as a reader of YAML finds them.
const RECIPES: &str = r#"
import json, re, sys, yaml
github, gitlab = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", open(sys.argv[1]).read(), re.S))
steps = [step["run"] for step in github["jobs"]["timing"]["steps"] if "run" in step]
print(json.dumps([steps, gitlab["timing"]["before_script"] + gitlab["timing"]["script"]]))
"#;

#[test]
fn the_recipes_of_the_guide_pass_what_is_as_it_was_and_fail_what_grew() {
    let python = std::env::var("JITTERLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/ci.md");
    let read = Command::new(python).args(["-c", RECIPES]).arg(&guide).output();
    let Some(read) = read.ok().filter(|read| read.status.success()) else {
        return skip("a Python with yaml is needed");
    };
    let recipes: [Vec<String>; 2] = serde_json::from_slice(&read.stdout).unwrap();
    let [github, gitlab] = recipes.map(|commands| {
        let own = |command: &String| command.starts_with("jitterlab ");
        assert!(commands.iter().filter(|command| !own(command)).all(|command| command.contains("apt-get")));
        // Fewer activations, for a test: as few as the requirement takes.
        commands
            .into_iter()
            .filter(own)
            .map(|c| c.replace("--count 20000", "--count 3200"))
            .collect::<Vec<_>>()
    });
    let [measure, predict, compare, markdown] = github.as_slice() else { panic!("{github:?}") };
    assert_eq!(gitlab, github[..3]);
    let guide = fs::read_to_string(guide).unwrap();
    let once: Vec<&str> = guide.lines().filter_map(|line| line.strip_prefix("    mv ")).collect();
    let [baseline] = once.as_slice() else { panic!("{once:?}") };

    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("ci")).unwrap();
    let path =
        format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let shell = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder.path()).env("PATH", &path);
        shell.env("GITHUB_STEP_SUMMARY", folder.path().join("summary.md")).output().unwrap()
    };
    let ended = |command: &str, status: i32| {
        let Output { status: found, stdout, stderr } = shell(command);
        let (told, said) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert_eq!(found.code(), Some(status), "{command}\n{told}\n{said}");
    };
    let words: Vec<&str> = measure.split_whitespace().skip(2).collect();
    let Some(first) = on_debian(folder.path(), &words) else { return };
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    ended(&format!("mv {baseline}"), 0);
    for command in &github {
        ended(command, 0);
    }
    let written = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(written("timing.xml").contains("failures=\"0\""), "{}", written("timing.xml"));
    assert!(written("summary.md").contains("| p50 |"), "{}", written("summary.md"));
    ended(&predict.replace("p99.9 ", "p99.999 "), 3);

    // Every function of the kernel takes some instructions more.
    fs::remove_file(folder.path().join("debian-rt.parquet")).unwrap();
    ended(&format!("{measure} --parameter ftrace=function"), 0);
    ended(predict, 1);
    ended(compare, 1);
    assert!(written("timing.xml").contains("<failure "), "{}", written("timing.xml"));
    ended(markdown, 0);
}

/// The library for C++ where `pkg-config` finds it, as `crates/capi/install` puts it there.
fn library(prefix: &Path) {
    let mut install = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/install"));
    let built = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let installed = install.arg(prefix).env("BUILT", built).output().unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
}

#[test]
fn a_program_of_the_users_own_fails_the_build_when_it_grew() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    library(&folder.join("prefix"));
    let guide =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/ci.md")).unwrap();
    let section = guide.split("## When your own program grew").nth(1).unwrap();
    let program = section.split("```cpp\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(folder.join("controller.cpp"), program).unwrap();
    let after = section.split("```\n").nth(1).unwrap();
    let commands: Vec<&str> = after.lines().filter_map(|line| line.strip_prefix("    ")).take(4).collect();
    let [clean, compile, measure, compare] = commands[..] else { panic!("{commands:?}") };
    let path =
        format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let shell = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder).env("PATH", &path);
        shell.env("PKG_CONFIG_PATH", folder.join("prefix/lib/pkgconfig"));
        shell.env("LD_LIBRARY_PATH", folder.join("prefix/lib")).output().unwrap()
    };
    let said = |Output { stdout, stderr, .. }: &Output| {
        String::from_utf8_lossy(stdout).into_owned() + &String::from_utf8_lossy(stderr)
    };
    let compiled = shell(compile);
    assert!(compiled.status.success(), "{}", said(&compiled));
    let Some(first) = had(shell(measure)) else { return };
    assert!(said(&first).contains("./debian-rt-control.parquet"), "{}", said(&first));
    let run = RunReader::open(folder.join("debian-rt-control.parquet")).unwrap();
    assert!(matches!(run.info().warnings[0], Warning::Emulated { ns_per_instruction: Some(1) }));

    let grown = compile.replace("STEPS=1000", "STEPS=1150");
    assert_ne!(grown, compile);
    let again = shell(&format!(
        "mkdir ci && mv debian-rt-control.parquet ci/control.parquet && {clean} && {grown} && {measure}"
    ));
    assert!(again.status.success(), "{}", said(&again));
    let judged = shell(&format!("{compare} --junit timing.xml"));
    assert_eq!(judged.status.code(), Some(1), "{}", said(&judged));
    let judged = fs::read_to_string(folder.join("timing.xml")).unwrap();
    let failed: Vec<&str> = judged.lines().filter(|line| line.contains("<failure ")).collect();
    assert!(matches!(*failed, [only] if only.contains("median execution time of main")), "{judged}");
    let unchanged = shell(
        "cp ci/control.parquet same.parquet && jitterlab compare --fail-if-worse 10% ci/control.parquet same.parquet",
    );
    assert_eq!(unchanged.status.code(), Some(0), "{}", said(&unchanged));
}

#[test]
fn a_real_kernel_that_panics_is_quoted() {
    let folder = TempDir::new().unwrap();
    let words = ["run", "-q", "--kernel", "debian:rt", "--parameter", "rdinit=/nothing"];
    let Some(output) = on_debian(folder.path(), &words) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the kernel panicked") && said.contains("Unable to mount root fs"), "{said}");
}
