//! From a fresh start to a decision: the output for a CNC builder who measures for software stepping and asks
//! for the effect on the motor. It must be short on the terminal, and be on the first screen of the page, on
//! a desk and on a phone. The page needs Chromium and playwright.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its files or start its program has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_model::facts::Preemption;
use jitterlab_model::{
    Activation, Bench, Granted, Policy, Refusal, RunInfo, StopReason, SystemFacts, TaskResult, TaskSpec,
};
use jitterlab_trace::RunFileWriter;
use serde_json::{Value, json};

const PERIOD_NS: i64 = 50_000;
const COUNT: i64 = 200_000;
const MOST_WORDS: usize = 150;

/// Ten seconds of a base thread every 50 us that is `usual_ns` late, and `worst_ns` once in a while.
fn measured(path: &Path, usual_ns: i64, worst_ns: i64, change: impl FnOnce(&mut RunInfo)) {
    let policy = Some(Policy::Fifo(80));
    let spec = TaskSpec { period_ns: PERIOD_NS, policy, cpu: Some(3), ..TaskSpec::default() };
    let mut info = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [spec]);
    let (mut free_ns, mut rows) = (0, Vec::new());
    for index in 0..COUNT {
        let due_ns = index * PERIOD_NS;
        if due_ns + PERIOD_NS <= free_ns {
            continue;
        }
        let late_ns = if index % 40_000 == 20_000 { worst_ns } else { usual_ns + index * 7 % 1_000 };
        let start_ns = due_ns.max(free_ns) + late_ns;
        free_ns = start_ns + 500;
        let missed = ((start_ns - due_ns) / PERIOD_NS) as u32;
        rows.push(Activation {
            index: index as u64,
            due_ns,
            start_ns,
            end_ns: free_ns,
            missed,
            ..Activation::default()
        });
    }
    info.tasks[0].granted =
        Some(Granted { policy: Policy::Fifo(80), cpus: vec![3], memory_locked: true, timer_slack_ns: None });
    info.tasks[0].result = Some(TaskResult {
        executed: rows.len() as u64,
        missed: COUNT as u64 - rows.len() as u64,
        last_end_ns: free_ns,
        min_latency_ns: usual_ns,
        max_latency_ns: worst_ns,
        ..TaskResult::default()
    });
    info.stop = Some(StopReason::Duration);
    let mut facts = SystemFacts::default();
    facts.kernel.preemption = Some(Preemption::RealTime);
    info.facts_before = Some(facts);
    change(&mut info);
    let mut writer = RunFileWriter::create(path, 1).unwrap();
    writer.append(0, &rows).unwrap();
    writer.finish(&info).unwrap();
}

fn unprivileged(info: &mut RunInfo) {
    if let Some(granted) = &mut info.tasks[0].granted {
        granted.policy = Policy::Other;
    }
    info.refused = vec![Refusal {
        what: "policy fifo:80 for task main".into(),
        why: "Operation not permitted".into(),
        remedy: "sudo setcap cap_sys_nice,cap_ipc_lock+ep $(command -v jitterlab)".into(),
    }];
}

fn in_a_virtual_machine(info: &mut RunInfo) {
    let facts = info.facts_before.as_mut().unwrap();
    facts.virtualisation.virtual_machine = Some(true);
    facts.virtualisation.hypervisor = Some("KVM".into());
}

/// Output of the program, for any verdict in its exit status.
fn said(folder: &Path, args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_jitterlab")).args(args).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code != 2), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The page of a run and of its effect on a motor, and the words of both verdicts.
fn page(folder: &Path, name: &str) -> Value {
    let (run, motor, page) =
        (format!("{name}.parquet"), format!("{name}.json"), folder.join(format!("{name}.html")));
    let motor_of_it = said(
        folder,
        &["stepper", "--frame", "23", "--torque", "1.9Nm", "--travel", "5mm/rev", "--json", &run],
    );
    std::fs::write(folder.join(&motor), &motor_of_it).unwrap();
    said(folder, &["report", &run, &motor, "-o", page.to_str().unwrap()]);
    let analysis: Value = serde_json::from_str(&said(folder, &["analyze", "--json", &run])).unwrap();
    let motor: Value = serde_json::from_str(&motor_of_it).unwrap();
    json!({ "name": name, "page": page, "heads": [analysis["head"], motor["head"]] })
}

/// Five users by the computers that they measured, their runs in this folder.
fn users(folder: &Path) -> [&'static str; 5] {
    let file = |name: &str| folder.join(format!("{name}.parquet"));
    measured(&file("good"), 3_000, 12_000, |_| ());
    measured(&file("limited"), 5_000, 38_000, |_| ());
    measured(&file("unfit"), 9_000, 400_000, |_| ());
    measured(&file("unprivileged"), 60_000, 2_700_000, unprivileged);
    measured(&file("virtual"), 15_000, 6_700_000, in_a_virtual_machine);
    ["good", "limited", "unfit", "unprivileged", "virtual"]
}

#[test]
fn five_users_read_their_answer_in_150_words() {
    let folder = tempfile::tempdir().unwrap();
    for name in users(folder.path()) {
        let run = format!("{name}.parquet");
        let machine = said(folder.path(), &["analyze", "--brief", "--for", "step-50us", &run]);
        let motor = ["--frame", "23", "--torque", "1.9Nm", "--travel", "5mm/rev", "--voltage", "36V"];
        let motor = said(folder.path(), &[&["stepper"], &motor[..], &["--microsteps", "8", &run]].concat());
        let words = machine.split_whitespace().chain(motor.split_whitespace()).count();
        let text = format!("{machine}---\n{motor}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(words <= MOST_WORDS, "{words} words: {text}");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn five_users_read_their_answer_on_the_first_screen() {
    let python = std::env::var_os("JITTERLAB_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
    let import = Command::new(&python).args(["-c", "import playwright"]).output();
    if !import.is_ok_and(|output| output.status.success()) || !Path::new("/usr/bin/chromium").exists() {
        assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "no playwright, or no chromium");
        return println!("skipped: no playwright, or no chromium");
    }
    let folder = tempfile::tempdir().unwrap();
    let names = users(folder.path());
    let runs = names.map(|name| format!("{name}.parquet"));
    let all: Vec<&str> = runs.iter().map(String::as_str).collect();
    said(folder.path(), &[&["report"], &all[..], &["-o", "all.html"]].concat());
    let users = names.map(|name| page(folder.path(), name));
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/browser/first_screen.py");
    let mut command = Command::new("timeout");
    command.env("PYTHONDONTWRITEBYTECODE", "1").arg("300").arg(python).arg(check);
    command.arg(json!(users).to_string()).arg(folder.path().join("all.html"));
    command.args(std::env::var_os("JITTERLAB_SCREENSHOTS"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
