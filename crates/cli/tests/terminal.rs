//! A terminal that is closed at any moment: the run ends in order, and what was measured is in its file.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot do its steps has failed")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jitterlab_model::StopReason;
use jitterlab_trace::RunReader;
use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use tempfile::TempDir;

/// A run on a terminal of its own, which answers nothing.
struct OnTerminal {
    run: Child,
    /// The other end of its terminal.
    screen: File,
}

impl OnTerminal {
    fn start(folder: &Path, args: &[&str]) -> Self {
        // Closed in every program that is started, so that only this test holds it open.
        let screen = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let slave = ptsname_r(&screen).unwrap();
        let slave =
            File::options().read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits()).open(slave).unwrap();
        let end = || slave.try_clone().unwrap();
        // Its own session, so that the terminal is the one that its processes belong to; a run heeds it if the tests are run
        // by nohup, too.
        let run = Command::new("env")
            .args(["--default-signal=HUP", "setsid", "--ctty"])
            .arg(env!("CARGO_BIN_EXE_jitterlab"))
            .args(args)
            .current_dir(folder)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        OnTerminal { run, screen: OwnedFd::from(screen).into() }
    }

    /// Closes the terminal and waits for the run's end.
    fn hang_up(self) -> ExitStatus {
        let OnTerminal { run, screen } = self;
        drop(screen);
        ended(run)
    }
}

/// Waits for an end, but not for ever.
fn ended(mut run: Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = run.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > Duration::from_secs(60) {
            run.kill().unwrap();
            panic!("the run did not end");
        }
        sleep(Duration::from_millis(5));
    }
}

/// A different moment each time, the same in each test.
fn moment_ms(round: u64, within: u64) -> u64 {
    (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % within
}

#[test]
fn a_closed_terminal_ends_a_run_in_order() {
    // More by hand: JITTERLAB_HANG_UPS=100.
    let rounds = std::env::var("JITTERLAB_HANG_UPS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let folder = TempDir::new().unwrap();
    let mut measured = 0;
    for round in 0..rounds {
        let name = format!("{round}.parquet");
        let terminal =
            OnTerminal::start(folder.path(), &["run", "-d", "100s", "--policy", "other", "-o", &name]);
        sleep(Duration::from_millis(moment_ms(round, 1_500)));
        let status = terminal.hang_up();
        let (file, journal) = (folder.path().join(&name), folder.path().join(format!("{name}.part")));
        assert!(!journal.exists(), "round {round}: {status}, and the run was not closed");
        if file.exists() {
            let run = RunReader::open(&file).unwrap();
            assert_eq!(run.info().stop, Some(StopReason::Interrupted));
            assert_eq!(status.code(), Some(128 + 1), "round {round}: {status}");
            measured += 1;
        } else {
            // Before there was anything to keep.
            assert!(status.signal() == Some(1) || status.code() == Some(129), "round {round}: {status}");
        }
        fs::remove_file(file).ok();
    }
    println!("{measured} of {rounds} runs had begun; each has its file");
    assert!(measured > rounds / 4, "{measured}");
}

#[test]
fn a_stopped_terminal_does_not_hold_up_a_run() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "-d", "1s", "--policy", "other", "-o", "run.parquet"];
    // Nobody reads what it draws: the terminal is full soon, or stopped at once.
    for stop in [false, true] {
        let mut terminal = OnTerminal::start(folder.path(), &args);
        // It has begun to show something.
        let _ = terminal.screen.read(&mut [0; 16]).unwrap();
        if stop {
            terminal.screen.write_all(b"\x13").unwrap();
        }
        let file = folder.path().join("run.parquet");
        let begin = Instant::now();
        while !file.exists() {
            assert!(begin.elapsed() < Duration::from_secs(60), "the run is held up");
            sleep(Duration::from_millis(20));
        }
        assert_eq!(RunReader::open(&file).unwrap().info().stop, Some(StopReason::Duration));
        terminal.hang_up();
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn the_view_asks_the_terminal_nothing() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "-d", "1s", "--policy", "other", "--no-file"];
    let OnTerminal { run, mut screen } = OnTerminal::start(folder.path(), &args);
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    // Reading fails when the other end is closed.
    while let Ok(n) = screen.read(&mut part) {
        seen.extend_from_slice(&part[..n]);
    }
    assert_eq!(ended(run).code(), Some(0));
    let seen = String::from_utf8_lossy(&seen);
    assert!(seen.contains("Ctrl-C ends early") && seen.contains("median"), "{seen}");
    // Queries end in n (where is the cursor) or c (what are you).
    let asks = seen
        .split("\x1b[")
        .skip(1)
        .filter_map(|code| code.trim_start_matches(|c: char| !c.is_alphabetic()).chars().next());
    assert!(asks.clone().all(|end| "AJKm".contains(end)), "{seen:?}");
}
