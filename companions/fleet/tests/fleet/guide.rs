//! The commands of the guide, as they stand there.

use std::path::Path;
use std::process::Command;

use crate::answers::{engine, run_file, said};
use crate::samples::steady;

#[test]
fn forty_files_are_answered_in_five_commands() {
    let Some(engine) = engine() else { return };
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/fleet.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let commands: Vec<&str> =
        guide.lines().filter_map(|line| line.strip_prefix("    jitterlab fleet ")).collect();
    assert_eq!(commands.len(), 5);
    let folder = tempfile::tempdir().unwrap();
    let machines = folder.path().join("machines");
    std::fs::create_dir(&machines).unwrap();
    for machine in 0..40 {
        let rows = steady(machine + 11, 4_000, 1_000_000);
        let name = format!("cnc-{machine:02}");
        let path = machines.join(format!("{name}.parquet"));
        run_file(&path, &name, "6.12", 1_795_730_400 + 60 * machine as i64, &rows);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let engine =
        Path::new(&engine).parent().map(|folder| format!("{}:{path}", folder.display())).unwrap_or(path);
    for command in commands {
        let mut program = Command::new(env!("CARGO_BIN_EXE_jitterlab-fleet"));
        let output = program
            .args(command.split(' '))
            .current_dir(folder.path())
            .env("PATH", &engine)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {}", said(&output));
        if command.starts_with("plant") {
            assert!(said(&output).contains("GOOD for servo-thread: 40 of 40 machines."), "{}", said(&output));
        }
    }
}
