//! Causes that only a kernel of one's own can be given: interrupts off, a path that is not preempted, a softirq, and an
//! emulator that is stopped. Debian's kernels are booted for it, with a module that does the first three (`holds.c`).
//!
//! Minutes on a busy machine, so only where JITTERLAB_GUEST_CAUSES is set; needs QEMU, make, gcc, and for the module
//! `apt-get install linux-headers-amd64 linux-headers-rt-amd64`.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use jitterlab_kernel::job::Step;
use jitterlab_kernel::{KernelSession, Machine};
use jitterlab_runs::{Hints, Run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::shared::known::answered;
use crate::shared::tracing::{activations, before_own, check, return_ns, why};

fn wanted() -> bool {
    let wanted = std::env::var_os("JITTERLAB_GUEST_CAUSES").is_some();
    if !wanted {
        println!("skipped: takes minutes; set JITTERLAB_GUEST_CAUSES to have it");
    }
    wanted
}

/// The module, built for the newest kernel of this flavour with headers here.
fn module(folder: &Path, flavour: &str) -> PathBuf {
    let entries = fs::read_dir("/lib/modules").unwrap().flatten();
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(&format!("{flavour}-amd64"))
            && name.contains("-rt-") == (flavour == "-rt")
            && path.join("build").exists()
    };
    let build = entries.map(|entry| entry.path()).filter(is_wanted).max().unwrap().join("build");
    fs::write(folder.join("holds.c"), include_str!("guest_causes/holds.c")).unwrap();
    fs::write(folder.join("Makefile"), "obj-m := holds.o\n").unwrap();
    let made = Command::new("make").arg("-C").arg(build).arg(format!("M={}", folder.display())).output();
    assert!(made.as_ref().unwrap().status.success(), "{made:?}");
    folder.join("holds.ko")
}

/// Watches jitterlab's own loop in a guest, in virtual time: the run files of both sides.
fn watched_in_guest(folder: &Path) -> (PathBuf, PathBuf) {
    let command = "jitterlab watch -q --find 1s -d 60s -o watched.parquet -- \
                   jitterlab run -q -d 4s --period 1ms --policy fifo:80 --cpu 0 -o own.parquet";
    let words = command.split_whitespace().map(String::from).collect();
    let session = KernelSession {
        machine: Machine::default(),
        companion: Path::new(env!("CARGO_BIN_EXE_jitterlab")).with_file_name("jitterlab-kernel"),
        with: Vec::new(),
        program: None,
        modules: Vec::new(),
        steps: vec![Step { name: "watch".into(), command: words }],
    };
    let guest = session.run_on(&"debian:generic".parse().unwrap(), &mut |_| (), &mut |_| ()).unwrap();
    let answer = &guest.answer;
    let [watched, own] = ["watched.parquet", "own.parquet"].map(|name| {
        assert!(answer.files.contains_key(name), "{name}: {:?}", answer.steps);
        let path = folder.join(name);
        fs::write(&path, &answer.files[name]).unwrap();
        path
    });
    (watched, own)
}

#[test]
fn a_watched_program_starts_when_it_says_itself_in_virtual_time() {
    if !wanted() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (watched, own) = watched_in_guest(folder.path());
    let info = Run::open(&watched, &Hints::default()).unwrap().info().clone();
    let main = info.tasks.iter().position(|task| task.spec.period_ns == 1_000_000).unwrap();
    let return_ns = return_ns(&info.tasks[main]);
    let before = before_own(&activations(&own, 0), &activations(&watched, main), 0, return_ns);
    // The same instructions lie between every time, and about as many in the thread that was timed for it.
    let at = |p: usize| before[p * (before.len() - 1) / 100];
    assert!(
        before.len() > 2_000 && return_ns > 0 && at(0) >= -100 && at(100) <= 100,
        "{} {}",
        at(0),
        at(100)
    );
}

/// Causes found for the only task after a run on a kernel.
fn measured(folder: &Path, kernel: &str, options: &[&str]) -> Value {
    let run = ["kernel", "run", "-q", "--why", "--timeout", "30m", "-o", "runs", "--kernel", kernel];
    answered(folder, &[&run[..], options].concat());
    let file = fs::read_dir(folder.join("runs")).unwrap().next().unwrap().unwrap().path();
    why(folder, file.to_str().unwrap())["tasks"][0].clone()
}

#[test]
fn what_a_module_of_the_kernel_does_is_found_by_its_name() {
    if !wanted() {
        return;
    }
    for (kernel, flavour) in [("debian:generic", ""), ("debian:rt", "-rt")] {
        println!("{kernel}\n| put there | found | as |\n|---|---|---|");
        let folder = TempDir::new().unwrap();
        let module = module(folder.path(), flavour);
        let options = ["--module", module.to_str().unwrap(), "--parameter", "schedstats=enable", "-d", "2s"];
        let task = measured(folder.path(), kernel, &options);
        let off = &["interrupts-off"][..];
        check("interrupts off, let in by the function itself", "irqs-off", off, 20, &task);
        check("interrupts off, let in by a lock's release", "lock-held", off, 20, &task);
        check("a path that is not preempted", "not-preempted", &["not-preemptible"], 20, &task);
        if flavour.is_empty() {
            // With PREEMPT_RT a thread does this, which waits for the task.
            check("a softirq", "TASKLET", &["softirq"], 10, &task);
        }
        // Nothing is outside in counted time.
        let outside =
            task["causes"].as_array().unwrap().iter().find(|row| row["cause"]["class"] == "outside");
        assert!(outside.is_none(), "{outside:#?}");
    }
}

#[test]
fn an_emulator_that_is_stopped_is_outside_of_its_guest() {
    if !wanted() {
        return;
    }
    let folder = TempDir::new().unwrap();
    // A program runs all the time; an idle processor would leave open what held it.
    let options =
        "kernel run -q --why --kernel debian:generic --time real --load cpu:1 -d 6s --timeout 30m -o runs";
    let mut run = Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .args(options.split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let children = format!("/proc/{}/task", run.id());
    while run.try_wait().unwrap().is_none() {
        let threads = fs::read_dir(&children).into_iter().flatten().flatten();
        let of = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let qemu = of.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).next();
        if let Some(qemu) = qemu.and_then(|number| number.parse().ok()).map(Pid::from_raw) {
            let _ = kill(qemu, Signal::SIGSTOP);
            sleep(Duration::from_millis(30));
            let _ = kill(qemu, Signal::SIGCONT);
        }
        sleep(Duration::from_millis(170));
    }
    let file = fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    let task = why(folder.path(), file.to_str().unwrap())["tasks"][0].clone();
    let rows = task["causes"].as_array().unwrap();
    let of = |class: &str| -> f64 {
        let here = rows.iter().filter(|row| row["cause"]["class"] == class);
        here.map(|row| row["latest_share"].as_f64().unwrap()).sum()
    };
    println!("an emulator stopped for 30 ms five times a second: outside {:.1} %", 100.0 * of("outside"));
    assert!(of("outside") >= 0.5, "{task:#}");
    // A task that it met is not to blame.
    let innocent = rows.iter().filter(|row| {
        let class = row["cause"]["class"].as_str().unwrap();
        matches!(class, "preempted" | "shared" | "not-preemptible" | "interrupts-off")
    });
    for row in innocent {
        assert!(row["worst_ns"].as_i64().unwrap() < 25_000_000 || row["proven"] == 0.0, "{row:#}");
    }
}
