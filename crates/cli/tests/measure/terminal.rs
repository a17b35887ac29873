//! A terminal that is closed at any moment: the run ends in order, and what was measured is in its file.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot do its steps has failed")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use jitterlab_model::StopReason;
use jitterlab_trace::RunReader;
use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};
use tempfile::TempDir;

/// A run on a terminal of its own, which answers nothing.
struct OnTerminal {
    run: Child,
    /// The other end of its terminal.
    screen: File,
    /// Its terminal.
    terminal: File,
}

/// The size of a terminal that says none, and of one.
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

    /// How the terminal takes what is typed.
    fn modes(&self) -> Termios {
        tcgetattr(&self.terminal).unwrap()
    }

    /// What it shows, from now to its end, with what is left to be read.
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

    /// Waits for its end, and gives what it left: its status, how the terminal is set, what was shown.
    fn end(self, shown: JoinHandle<String>) -> (ExitStatus, Termios, String) {
        let OnTerminal { run, screen, terminal } = self;
        let status = ended(run);
        let modes = tcgetattr(&terminal).unwrap();
        drop((terminal, screen));
        (status, modes, shown.join().unwrap())
    }

    /// Closes the terminal and waits for the run's end.
    fn hang_up(self) -> ExitStatus {
        let OnTerminal { run, screen, terminal } = self;
        drop((screen, terminal));
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
        let size = if round % 2 == 0 { NO_SIZE } else { LARGE };
        let terminal =
            OnTerminal::start(folder.path(), size, &["run", "-d", "100s", "--policy", "other", "-o", &name]);
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
    for (stop, size) in [(false, NO_SIZE), (true, NO_SIZE), (false, LARGE), (true, LARGE)] {
        let mut terminal = OnTerminal::start(folder.path(), size, &args);
        // The view is on it: what is said before the run begins has no thread of its own.
        let (mut seen, mut part) = (Vec::new(), [0; 16]);
        while !String::from_utf8_lossy(&seen).contains("ends early") {
            let n = terminal.screen.read(&mut part).unwrap();
            seen.extend_from_slice(&part[..n]);
        }
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

/// The letters that commands to the terminal end with; queries end in n (where is the cursor) or c (what are you).
fn commands(seen: &str) -> impl Iterator<Item = char> + Clone {
    let codes = seen.split("\x1b[").skip(1);
    codes.filter_map(|code| code.trim_start_matches(|c: char| !c.is_alphabetic()).chars().next())
}

#[test]
fn the_view_asks_the_terminal_nothing() {
    let folder = TempDir::new().unwrap();
    for (size, says) in [(NO_SIZE, "Ctrl-C ends early"), (LARGE, "q ends early")] {
        let args = ["run", "-d", "1s", "--policy", "other", "--no-file"];
        let terminal = OnTerminal::start(folder.path(), size, &args);
        let shown = terminal.shown();
        let (status, _, seen) = terminal.end(shown);
        assert_eq!(status.code(), Some(0));
        assert!(seen.contains(says) && seen.contains("median"), "{seen}");
        assert!(commands(&seen).all(|end| "AHJKhlm".contains(end)), "{seen:?}");
    }
}

/// A way in which a measurement ends.
enum Ending {
    ByItself,
    Typed(&'static [u8]),
    Signals(&'static [&'static str]),
}

#[test]
fn every_ending_gives_the_terminal_back() {
    let folder = TempDir::new().unwrap();
    let endings = [
        (Ending::ByItself, 0),
        (Ending::Typed(b"q"), 130),
        (Ending::Typed(b"\x03"), 130),
        (Ending::Typed(b"\x03\x03"), 130),
        // Neither stops it nor leaves the terminal as it is.
        (Ending::Typed(b"\x1a\x1c q"), 130),
        (Ending::Signals(&["TERM"]), 143),
        (Ending::Signals(&["INT", "INT"]), 130),
    ];
    for (ending, expected) in endings {
        let length = if matches!(ending, Ending::ByItself) { "1s" } else { "100s" };
        let args = ["run", "-d", length, "--policy", "other", "--no-file", "--brief"];
        let mut terminal = OnTerminal::start(folder.path(), LARGE, &args);
        let before = terminal.modes();
        let begin = Instant::now();
        while terminal.modes().local_flags.contains(LocalFlags::ICANON) {
            assert!(begin.elapsed() < Duration::from_secs(60), "it never took the screen");
            sleep(Duration::from_millis(5));
        }
        let shown = terminal.shown();
        sleep(Duration::from_millis(600));
        match ending {
            Ending::ByItself => {}
            Ending::Typed(keys) => terminal.screen.write_all(keys).unwrap(),
            Ending::Signals(signals) => signals.iter().for_each(|signal| {
                Command::new("kill").args(["-s", signal, &terminal.run.id().to_string()]).status().unwrap();
            }),
        }
        let (status, after, seen) = terminal.end(shown);
        assert_eq!(status.code(), Some(expected), "{seen:?}");
        assert_eq!((before.local_flags, before.control_chars), (after.local_flags, after.control_chars));
        let [taken, left] = ["\x1b[?1049h", "\x1b[?1049l"].map(|code| seen.rfind(code));
        assert!(taken.is_some() && left > taken, "{seen:?}");
        // The summary stays behind; two Ctrl-C wait for none.
        let summary = seen.rfind("Next: ");
        assert!(summary > left || expected == 130 && summary.is_none(), "{seen:?}");
    }
}

#[test]
fn keys_change_the_view_and_marks_are_left_behind() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "-d", "100s", "--no-file", "--brief", "--task", "name=a,period=1ms,policy=other"];
    let args = [args.as_slice(), &["--task", "name=b,period=2ms,policy=other"]].concat();
    let mut terminal = OnTerminal::start(folder.path(), LARGE, &args);
    let shown = terminal.shown();
    for keys in ["\t", "m", "r", "c", " ", "q"] {
        sleep(Duration::from_millis(700));
        terminal.screen.write_all(keys.as_bytes()).unwrap();
    }
    let (_, _, seen) = terminal.end(shown);
    let said = [">a", "latency of a", ">b", "since mark 1", "latency of b, up to its p99.9", "PAUSED"];
    for part in said.into_iter().chain(["from mark 1 at", "ending the measurement"]) {
        assert!(seen.contains(part), "{part} is missing: {seen}");
    }
}
