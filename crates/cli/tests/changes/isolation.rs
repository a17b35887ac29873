//! Two isolations at once: each avoids the CPUs that the other isolates or measures on, and afterwards the
//! machine is as it was.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::path::Path;
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::shared::machine::{State, alone, command, may_isolate, start, unless_starved};

fn jitterlab(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// Waits for the second half of a run, which is the isolated one: then there is a journal of the changes.
fn isolates(run: &mut Child) {
    let begin = Instant::now();
    while !Path::new("/run/jitterlab").exists() && begin.elapsed() < Duration::from_secs(60) {
        assert!(run.try_wait().unwrap().is_none(), "it ended without having isolated anything");
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn isolations_keep_clear_of_each_other() {
    if !may_isolate() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        let before = State::now();
        let mut first = start(folder, &["run", "-q", "-d", "12s", "--isolate", "1", "-o", "first.parquet"]);
        isolates(&mut first);
        for args in [
            &["run", "-q", "-n", "10", "--isolate", "1", "--no-file"][..],
            &["run", "-q", "-n", "10", "--cpu", "1", "--no-file"],
        ] {
            let second = jitterlab(folder, args);
            let said = String::from_utf8_lossy(&second.stderr);
            assert_eq!(second.status.code(), Some(3), "{args:?}: {said}");
            assert!(said.contains("another jitterlab") && said.contains("CPU 1"), "{args:?}: {said}");
        }
        // One that leaves the choice open measures elsewhere.
        assert_eq!(jitterlab(folder, &["run", "-q", "-n", "10", "--no-file"]).status.code(), Some(0));
        assert!(first.try_wait().unwrap().is_none(), "the first goes on");
        assert!(Command::new("kill").args(["-INT", &first.id().to_string()]).status().unwrap().success());
        assert_eq!(first.wait().unwrap().code(), Some(130));
        assert_eq!(State::now().changed(&before), [""; 0]);

        // Measuring on a CPU that another wants to isolate.
        let mut measures = start(folder, &["run", "-q", "-d", "60s", "--cpu", "1", "-o", "second.parquet"]);
        let begin = Instant::now();
        while !folder.join("second.parquet.part").exists() && begin.elapsed() < Duration::from_secs(30) {
            sleep(Duration::from_millis(10));
        }
        let isolates = jitterlab(folder, &["run", "-q", "-n", "10", "--isolate", "1", "--no-file"]);
        measures.kill().unwrap();
        measures.wait().unwrap();
        let said = String::from_utf8_lossy(&isolates.stderr);
        assert_eq!(isolates.status.code(), Some(3), "{said}");
        assert!(said.contains("measures on CPU 1 right now"), "{said}");
        assert_eq!(State::now().changed(&before), [""; 0]);
    });
}
