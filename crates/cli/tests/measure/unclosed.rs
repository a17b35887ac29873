//! Run files that take long to close, or cannot be closed: no measured data are lost, and the user is
//! informed.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]
#![expect(unsafe_code, reason = "a thread is stopped by ptrace(2), which is a C call")]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jitterlab_trace::{RunReader, recover};
use nix::errno::Errno;
use nix::libc;
use tempfile::TempDir;

fn start(folder: &TempDir, duration: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    command
        .args(["run", "-d", duration, "--policy", "other", "-o", "run.parquet"])
        .current_dir(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for something that comes at the latest after a minute.
fn until<T>(what: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not come");
        sleep(Duration::from_millis(5));
    }
}

/// The number of a thread of this name.
fn thread(process: u32, name: &str) -> Option<i32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let named = |path: &std::path::Path| {
        fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let mut paths = threads.map(|thread| thread.path());
    paths.find(|path| named(path))?.file_name()?.to_str()?.parse().ok()
}

/// Stops one thread of a process for as long; whether that was permitted.
fn stop_thread(thread: i32, length: Duration) -> bool {
    const SEIZE: libc::c_uint = 0x4206;
    const INTERRUPT: libc::c_uint = 0x4207;
    // SAFETY: none of these requests takes memory of this process.
    let ask = |request: libc::c_uint| unsafe {
        libc::ptrace(
            request as _,
            thread,
            std::ptr::null_mut::<libc::c_void>(),
            std::ptr::null_mut::<libc::c_void>(),
        )
    };
    if ask(SEIZE) != 0 {
        println!("skipped: it is not permitted to stop a thread: {}", Errno::last());
        return false;
    }
    assert_eq!(ask(INTERRUPT), 0);
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) }, thread);
    sleep(length);
    assert_eq!(ask(libc::PTRACE_DETACH), 0);
    true
}

#[test]
fn a_writer_that_is_stopped_loses_nothing_and_is_spoken_of() {
    for (name, is_spoken_of) in [("journal", true), ("journal sync", false)] {
        let folder = TempDir::new().unwrap();
        let run = start(&folder, "1s");
        let writer = until(|| thread(run.id(), name));
        // Ten seconds beyond its end, and some for a busy machine.
        let length = Duration::from_secs(if is_spoken_of { 13 } else { 2 });
        let was_stopped = stop_thread(writer, length);
        let output = run.wait_with_output().unwrap();
        if !was_stopped {
            return;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
        assert!(!is_spoken_of || said.contains("closing the run file: 0 % done"), "{name}: {said}");
        let file = RunReader::open(folder.path().join("run.parquet")).unwrap();
        let result = file.info().tasks[0].result.as_ref().unwrap();
        assert_eq!((file.rows(), result.dropped), (result.executed, 0), "{name}");
    }
}

#[test]
fn figures_are_shown_where_the_run_file_cannot_be_closed() {
    let folder = TempDir::new().unwrap();
    let run = start(&folder, "1s");
    let (file, journal) = (folder.path().join("run.parquet"), folder.path().join("run.parquet.part"));
    until(|| journal.exists().then_some(()));
    fs::write(&file, "another's").unwrap();
    let output = run.wait_with_output().unwrap();
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(shown.contains("activations") && shown.contains("latency"), "{shown}");
    assert!(said.contains("kept in run.parquet.part") && !said.contains("saved"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "another's");
    fs::remove_file(&file).unwrap();
    assert!(recover(&file).unwrap().rows > 0);
}
