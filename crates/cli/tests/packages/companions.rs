//! Companions, as the program finds and calls them: scripts here, which print their arguments.

#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::shared::executable;

/// A copy of the program, alone in a folder that every user may look into.
fn alone() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("jitterlab");
    executable::copy(env!("CARGO_BIN_EXE_jitterlab"), &program);
    (folder, program)
}

/// A companion that is a shell script.
fn companion(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("jitterlab-mcu");
    executable::script(&path, &format!("#!/bin/sh\n{script}\n"));
    path
}

fn run(program: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn one_that_is_missing_is_one_line_that_names_how_to_get_it() {
    let (_folder, program) = alone();
    for args in [&["mcu"][..], &["mcu", "run", "--help"], &["help", "mcu", "run"]] {
        let output = run(&program, args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(
            said.lines().count() == 1 && said.contains("cargo build --release -p jitterlab-mcu"),
            "{said}"
        );
    }
    // Help, completions and the manual list it all the same.
    for args in [&["--help"][..], &["completions", "bash"], &["man"]] {
        let output = run(&program, args);
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("mcu"), "{args:?}");
    }
}

#[test]
fn one_gets_arguments_as_they_are_and_its_ending_is_that_of_the_command() {
    let (folder, program) = alone();
    companion(folder.path(), r#"printf '%s|' "$$" "$@"; exit 7"#);
    let asked = ["mcu", "run", "--help", "--", "-x", "a b", ""];
    let child = Command::new(&program).args(asked).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let own = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), format!("{own}|run|--help|--|-x|a b||"));
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(
        text(&run(&program, &["help", "mcu", "run"]).stdout).split_once('|').unwrap().1,
        "run|--help|"
    );

    companion(folder.path(), "kill -TERM $$");
    assert_eq!(run(&program, &["mcu", "run"]).status.signal(), Some(15));
}

/// The path is for those who have no more rights than they would have by themselves.
#[test]
fn one_in_the_path_is_for_ordinary_users_only() {
    let (folder, program) = alone();
    let elsewhere = folder.path().join("bin");
    fs::create_dir(&elsewhere).unwrap();
    companion(&elsewhere, "echo found");
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", elsewhere.display());
    let found = |command: &mut Command| command.env("PATH", &path).output().unwrap();
    let own = found(Command::new(&program).arg("mcu"));
    assert_eq!(text(&own.stdout), if is_root { "" } else { "found\n" }, "{}", text(&own.stderr));
    if !is_root {
        return eprintln!("skipped: another user's turn needs root");
    }
    let mut ordinary = Command::new("setpriv");
    ordinary.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).arg("mcu");
    let ordinary = found(&mut ordinary);
    assert_eq!(text(&ordinary.stdout), "found\n", "{}", text(&ordinary.stderr));
    // With rights that its file gives it.
    let given = Command::new("setcap").arg("cap_sys_nice+ep").arg(&program).status();
    if !given.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: this file system keeps no capabilities");
    }
    let mut capable = Command::new("setpriv");
    capable.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).arg("mcu");
    let capable = found(&mut capable);
    assert_eq!(
        (text(&capable.stdout).as_str(), capable.status.code()),
        ("", Some(2)),
        "{}",
        text(&capable.stderr)
    );
}

/// Programs that are asked for facts are those of the system, where jitterlab has rights of its own.
#[test]
fn programs_in_the_path_are_not_run_by_root() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return eprintln!("skipped: only root has rights of its own");
    }
    let (folder, program) = alone();
    let planted = folder.path().join("bin");
    fs::create_dir(&planted).unwrap();
    let ran = folder.path().join("ran");
    let system = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    for name in
        ["docker", "podman", "nerdctl", "vcgencmd", "systemctl", "sh", "grep", "sleep", "taskset", "apt-get"]
    {
        let script = format!(
            "#!/bin/sh\n{system}; echo {name} >>{}; chmod a+rw {0}; echo 0123456789\n",
            ran.display()
        );
        executable::script(&planted.join(name), &script);
    }
    let words: [&[&str]; 6] = [
        &["watch", "-q", "--container", "no-such", "--find", "100ms", "-d", "100ms"],
        &["watch", "-q", "--unit", "no-such", "--find", "100ms", "-d", "100ms"],
        &["check"],
        &["doctor", "--budget", "1s"],
        &["tune", "-q", "--budget", "1s"],
        &[
            "run",
            "-q",
            "--no-file",
            "-d",
            "100ms",
            "--policy",
            "other",
            "--load",
            "exec:/bin/true",
            "--load",
            "fork:1",
        ],
    ];
    for words in words {
        let mut command = Command::new(&program);
        command.args(words).current_dir(folder.path()).stdin(std::process::Stdio::null());
        command.env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", planted.display())).output().unwrap();
        assert!(!ran.exists(), "{words:?} ran {}", fs::read_to_string(&ran).unwrap());
    }
}

#[test]
fn one_of_another_release_is_left_out_of_manual_and_completions() {
    let (folder, program) = alone();
    let description = r#"{"release":"0.0.9","command":{"name":"jitterlab-mcu","is_hidden":false,"needs_command":true,"arguments":[],"commands":[]}}"#;
    for (script, says) in
        [(format!("echo '{description}'"), "0.0.9"), ("echo mcu".into(), "does not describe")]
    {
        companion(folder.path(), &script);
        let output = run(&program, &["completions", "bash"]);
        assert!(output.status.success() && text(&output.stdout).contains("mcu"));
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
}
