//! The commands of the guide, run as they stand: measuring for some seconds, in a folder of the test.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab-monitor");
const GUIDE: &str = include_str!("../../../../docs/guide/monitor.md");

fn run(folder: &Path, command: &str) -> Output {
    let script = format!("jitterlab() {{ shift; exec '{PROGRAM}' \"$@\"; }}\n{command}");
    Command::new("/bin/sh").args(["-c", &script]).current_dir(folder).output().unwrap()
}

#[test]
fn the_guide_works_as_it_stands() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("stick")).unwrap();
    let commands: Vec<&str> = GUIDE.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let (measuring, others): (Vec<&str>, Vec<&str>) =
        commands.into_iter().partition(|command| command.contains("monitor --"));
    assert!(measuring.len() >= 3 && others.len() >= 3);
    for command in measuring {
        // Ended from outside, as a service is.
        let command = command.replace("jitterlab monitor", &format!("timeout -s TERM 4 '{PROGRAM}'"));
        let output = run(folder, &format!("{command} --slice 1s --listen off"));
        let said = String::from_utf8_lossy(&output.stderr);
        // An unusual place to test this: no such unit, or no root for it.
        let is_excused = command.contains("--unit") && output.status.code() == Some(3);
        assert!(is_excused || said.contains("watching"), "{command}: {said}");
        assert!(is_excused || output.status.code() == Some(124), "{command}: {said}");
    }
    assert!(fs::read_to_string(folder.join("today.html")).unwrap().contains("</html>"));
    for command in others {
        let command = command.trim_start_matches("sudo ").replace("/media/stick", "stick");
        let rest = if command.contains("install") { "--root root" } else { "--folder watched" };
        let output = run(folder, &format!("{command} {rest}"));
        let (said, answered) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(0), "{command}: {said}");
        if command.contains("status") {
            let lines: Vec<&str> = answered.lines().take(4).collect();
            assert!(answered.contains("due times") && answered.contains("Next: "), "{lines:?}");
        }
    }
    assert!(fs::read_dir(folder.join("stick")).unwrap().count() > 0, "the stick has hours");
}
