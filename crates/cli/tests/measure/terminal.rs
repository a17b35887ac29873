//! A terminal that is closed at any moment: the run ends in order, and the measured data are in its file.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot do its steps has failed")]

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use jitterlab_model::StopReason;
use jitterlab_trace::RunReader;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use tempfile::TempDir;

use crate::shared::machine::unless_starved;

/// A run on a terminal of its own, which answers nothing.
struct OnTerminal {
    run: Child,
    /// The other end of its terminal.
    screen: File,
    terminal: File,
}

/// Sizes of a terminal: none reported, and a usual one.
const NO_SIZE: [&str; 4] = ["rows", "0", "cols", "0"];
const LARGE: [&str; 4] = ["rows", "24", "cols", "80"];

impl OnTerminal {
    fn start(folder: &Path, size: [&str; 4], args: &[&str]) -> Self {
        // Closed in every program that is started, so that only this test holds it open.
        let screen = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let slave = ptsname_r(&screen).unwrap();
        let slave =
            File::options().read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits()).open(slave).unwrap();
        let end = || slave.try_clone().unwrap();
        let sized = Command::new("stty").args(size).stdin(end()).status().unwrap();
        assert!(sized.success());
        // Its own session, so that the terminal is the one that its processes belong to; a run heeds it if the tests are run
        // by nohup, too.
        let run = Command::new("env")
            .args(["--default-signal=HUP", "TERM=xterm", "setsid", "--ctty"])
            .arg(env!("CARGO_BIN_EXE_jitterlab"))
            .args(args)
            .current_dir(folder)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        // From here on it is the run that is met, not the programs before it.
        let name = format!("/proc/{}/comm", run.id());
        let begin = Instant::now();
        while fs::read_to_string(&name).unwrap().trim() != "jitterlab" {
            assert!(begin.elapsed() < Duration::from_secs(60), "the run did not begin");
            sleep(Duration::from_millis(1));
        }
        OnTerminal { run, screen: OwnedFd::from(screen).into(), terminal: end() }
    }

    /// Output on the screen from now to the end, unread text included.
    fn shown(&self) -> JoinHandle<String> {
        let mut screen = self.screen.try_clone().unwrap();
        spawn(move || {
            let (mut seen, mut part) = (Vec::new(), [0; 4096]);
            // Reading fails when the other end is closed.
            while let Ok(n) = screen.read(&mut part) {
                seen.extend_from_slice(&part[..n]);
            }
            String::from_utf8_lossy(&seen).into_owned()
        })
    }

    /// Reads no further than to this text.
    fn wait_for(&mut self, text: &str) {
        fcntl(&self.screen, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let (mut seen, mut part) = (Vec::new(), [0; 16]);
        let begin = Instant::now();
        while !String::from_utf8_lossy(&seen).contains(text) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", String::from_utf8_lossy(&seen));
            match self.screen.read(&mut part) {
                Ok(n) => seen.extend_from_slice(&part[..n]),
                Err(nothing) if nothing.kind() == ErrorKind::WouldBlock => sleep(Duration::from_millis(5)),
                Err(error) => panic!("{error}: {:?}", String::from_utf8_lossy(&seen)),
            }
        }
    }

    /// Waits for its end, and returns its status and the screen's output.
    fn end(self, shown: JoinHandle<String>) -> (ExitStatus, String) {
        let OnTerminal { run, screen, terminal } = self;
        let status = ended(run);
        drop((terminal, screen));
        (status, shown.join().unwrap())
    }

    /// Closes the terminal and waits for the run's end.
    fn hang_up(self) -> ExitStatus {
        let OnTerminal { run, screen, terminal } = self;
        drop((screen, terminal));
        ended(run)
    }
}

/// Waits for the end, with a time limit.
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
    unless_starved(|| {
        // More by hand: JITTERLAB_HANG_UPS=100.
        let rounds = std::env::var("JITTERLAB_HANG_UPS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
        let folder = TempDir::new().unwrap();
        let mut measured = 0;
        for round in 0..rounds {
            let name = format!("{round}.parquet");
            let size = if round % 2 == 0 { NO_SIZE } else { LARGE };
            let terminal = OnTerminal::start(
                folder.path(),
                size,
                &["run", "-d", "100s", "--policy", "other", "-o", &name],
            );
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
    });
}

#[test]
fn a_stopped_terminal_does_not_hold_up_a_run() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "-d", "1s", "--policy", "other", "-o", "run.parquet"];
    // The output has no reader: the terminal is full soon, or stopped at once.
    for (stop, size) in [(false, NO_SIZE), (true, NO_SIZE), (false, LARGE), (true, LARGE)] {
        let mut terminal = OnTerminal::start(folder.path(), size, &args);
        // Now the run's display is active: output from before the run has no thread of its own.
        terminal.wait_for("activation");
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

/// The final letters of commands to the terminal; queries end in n (cursor position) or c (terminal type).
fn commands(seen: &str) -> impl Iterator<Item = char> + Clone {
    let codes = seen.split("\x1b[").skip(1);
    codes.filter_map(|code| code.trim_start_matches(|c: char| !c.is_alphabetic()).chars().next())
}

#[test]
fn the_view_asks_the_terminal_nothing() {
    let folder = TempDir::new().unwrap();
    for size in [NO_SIZE, LARGE] {
        let args = ["run", "-d", "1s", "--policy", "other", "--no-file"];
        let terminal = OnTerminal::start(folder.path(), size, &args);
        let shown = terminal.shown();
        let (status, seen) = terminal.end(shown);
        assert_eq!(status.code(), Some(0));
        assert!(seen.contains(" activations, median "), "{seen}");
        assert!(commands(&seen).all(|end| "Km".contains(end)), "{seen:?}");
    }
}

#[test]
fn every_ending_clears_the_line_and_leaves_the_answer() {
    let folder = TempDir::new().unwrap();
    let endings: [(&str, &[u8], i32); 3] =
        [("1s", b"", 0), ("100s", b"\x03", 130), ("100s", b"\x03\x03", 130)];
    for (length, keys, expected) in endings {
        let args = ["run", "-d", length, "--policy", "other", "--no-file", "--brief"];
        let mut terminal = OnTerminal::start(folder.path(), LARGE, &args);
        let shown = terminal.shown();
        sleep(Duration::from_millis(1_000));
        terminal.screen.write_all(keys).unwrap();
        let (status, seen) = terminal.end(shown);
        assert_eq!(status.code(), Some(expected), "{seen:?}");
        // Two Ctrl-C wait for no answer.
        let answer = seen.rfind("Next: ");
        assert!(answer > seen.rfind("^C ends") || keys.len() == 2, "{seen:?}");
        // The next output begins in place of the line.
        let after = seen.rsplit("^C ends").next().unwrap_or_default();
        assert!(after.contains("\r\x1b[K") || keys.len() == 2, "{seen:?}");
    }
}
