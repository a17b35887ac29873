//! One boot: QEMU started, watched, ended. Everything it reads and writes is anonymous memory or a pipe, so that
//! nothing is left behind even if this process is killed.
#![expect(unsafe_code, reason = "handing files to a child needs pre_exec")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::Signal;

use super::devices;
use super::image::Image;
use super::initramfs::Initramfs;
use super::job::{Answer, ERROR_PREFIX};
use super::machine::{GuestTime, Machine};
use super::qemu_arguments::QemuFiles;
use super::qmp::{Event, Monitor};
use jitterlab_host::child::{DescendantKiller, EndWithParent, kill_descendants};
use jitterlab_model::Error;

/// Progress of a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestProgress {
    pub guest: Duration,
    /// This machine's time since then.
    pub host: Duration,
}

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time after which a guest whose clock does not move and whose emulator computes nothing will never
/// continue.
const STALLED_AFTER: Duration = Duration::from_secs(15);
/// Number of looks between two at the processors, and number of times that they must be found dead.
const POLLS_PER_PROCESSOR_CHECK: u64 = 50;
const DEAD_TIMES: u32 = 3;
const LAST_LINES: usize = 25;
const CONSOLE_BYTES: usize = 1 << 20;

/// Case of an error: the guest ended by itself, and no whole answer came from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCompleteAnswer;

/// Case of an error: the guest said why it cannot do its job, such as a device that its kernel has no driver for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobRefused;

/// Boots a kernel with a file system and waits for the guest's answer.
pub fn boot(
    machine: &Machine,
    image: &Image,
    initramfs: &Initramfs,
    progress: &mut dyn FnMut(GuestProgress),
) -> Result<Answer, Error> {
    let began = Instant::now();
    let mut archive = anonymous_file("initramfs")?;
    archive.write_all(&initramfs.bytes)?;
    let mut answer = anonymous_file("answer")?;
    let (monitor, qemus_end) = UnixStream::pair()?;
    let disk = machine
        .devices
        .disk
        .then(|| anonymous_file("disk"))
        .transpose()?
        .map(devices::format_disk)
        .transpose()?;
    let (archive_path, answer_path, disk_path) =
        (inherited_path(&archive), inherited_path(&answer), disk.as_ref().map(inherited_path));
    let files = QemuFiles {
        kernel: &image.path,
        initramfs: &archive_path,
        answer: &answer_path,
        disk: disk_path.as_deref(),
        monitor: qemus_end.as_raw_fd(),
    };
    let mut command = Command::new(machine.emulator());
    command
        .args(machine.qemu_arguments(files, &initramfs.library_path))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .end_with_parent(Signal::SIGKILL);
    let files = [archive.as_raw_fd(), answer.as_raw_fd(), qemus_end.as_raw_fd()].into_iter();
    inherit_files(&mut command, files.chain(disk.as_ref().map(AsRawFd::as_raw_fd)).collect());
    let guard = DescendantKiller::new(&mut command)?;
    let child = command.spawn().map_err(|error| {
        Error::refused(format!("{} could not be started", machine.emulator().display()))
            .because(error)
            .remedy(format!(
                "install it with `sudo apt-get install {}`",
                machine.architecture.emulator_package
            ))
    })?;
    let mut qemu = Qemu { child, _guard: guard };
    drop(qemus_end);
    let console = StreamCollector::new(qemu.child.stdout.take());
    let said = StreamCollector::new(qemu.child.stderr.take());

    let ending = watch_until_end(
        machine,
        &mut qemu,
        Monitor::new(monitor, machine.architecture.clock)?,
        &answer,
        began,
        progress,
    )?;
    drop(qemu);
    let console = console.finish();
    let after = ending.guest;
    let mut bytes = Vec::new();
    answer.read_to_end(&mut bytes)?;
    let ended = ending.exited_successfully() || ending.has_switched_off(&console);
    if let (Some(answer), true) = (Answer::from_bytes(&bytes), ended) {
        return Ok(answer);
    }
    if let Some((_, complaint)) = console.rsplit_once(ERROR_PREFIX) {
        return Err(Error::not_measured(format!(
            "the guest could not do its job: {}",
            complaint.lines().next().unwrap_or_default().trim()
        ))
        .case(JobRefused));
    }
    let panicked = console.contains("Kernel panic");
    let console = last_lines(&console);
    Err(match ending.kind {
        _ if panicked => Error::not_measured(format!(
            "the kernel panicked after {after:?} of its time; the console's last \
             lines:\n{console}"
        )),
        EndKind::TimedOut => Error::not_measured(format!(
            "the guest was not finished after {:?} (it had lived {after:?} of its own time) \
             and was stopped; if it is only slow, allow more with --timeout; the console's \
             last lines:\n{console}",
            machine.timeout
        )),
        EndKind::Halted => Error::not_measured(format!(
            "the guest hung: its processor halted after {after:?} of its time with nothing \
             left to wake it; the console's last lines:\n{console}"
        )),
        EndKind::Exited { reset: true, .. } => Error::not_measured(format!(
            "the guest rebooted after {after:?} of its time instead of finishing; the \
             console's last lines:\n{console}"
        )),
        EndKind::Exited { status, .. } if !status.success() || status.signal().is_some() => {
            Error::not_measured(format!("QEMU ended with {status}: {}", said.finish().trim()))
        }
        EndKind::Exited { .. } => Error::not_measured(format!(
            "the guest switched itself off after {after:?} of its time without an answer; \
             the console's last lines:\n{console}"
        ))
        .remedy("boot it again: on a busy machine an answer can be lost")
        .case(NoCompleteAnswer),
    })
}

/// End of QEMU, and the guest's clock at that time.
struct Ending {
    kind: EndKind,
    guest: Duration,
}

impl Ending {
    fn exited_successfully(&self) -> bool {
        matches!(self.kind, EndKind::Exited { status, .. } if status.success())
    }

    /// True if it halted after its kernel had switched off, while the machine stayed on: seen once when busy.
    fn has_switched_off(&self, console: &str) -> bool {
        matches!(self.kind, EndKind::Halted) && console.contains("reboot: Power down")
    }
}

enum EndKind {
    Exited { status: ExitStatus, reset: bool },
    TimedOut,
    Halted,
}

/// Watches QEMU until it exits, halts or times out; ends its time slices once the answer begins.
fn watch_until_end(
    machine: &Machine,
    qemu: &mut Qemu,
    mut monitor: Monitor,
    answer: &File,
    began: Instant,
    progress: &mut dyn FnMut(GuestProgress),
) -> io::Result<Ending> {
    let mut switched_on = None;
    let mut guest = Duration::ZERO;
    let mut reset = false;
    let mut still = StallDetector::new();
    let mut dead_times = 0u32;
    let mut look = 0u64;
    let mut has_time_slices = machine.uses_time_slices();
    loop {
        look += 1;
        let exited = qemu.child.try_wait()?;
        for event in monitor.take_events() {
            match event {
                Event::Reset => reset = true,
                Event::Processors { dead } => dead_times = if dead { dead_times + 1 } else { 0 },
                Event::Clock(seconds) => {
                    let first = *switched_on.get_or_insert(seconds);
                    guest = Duration::from_secs(u64::try_from(seconds - first).unwrap_or(0));
                }
            }
        }
        let end = |kind| Ok(Ending { kind, guest });
        if let Some(status) = exited {
            return end(EndKind::Exited { status, reset });
        }
        if began.elapsed() >= machine.timeout {
            return end(EndKind::TimedOut);
        }
        let virtual_time = machine.time != GuestTime::Real;
        if virtual_time && still.stalled_for(guest, qemu.wants_to_compute(), Instant::now()) >= STALLED_AFTER
        {
            return end(EndKind::Halted);
        }
        if dead_times >= DEAD_TIMES {
            return end(EndKind::Halted);
        }
        progress(GuestProgress { guest, host: began.elapsed() });
        // The measurement is over when the answer begins: time slices would only slow the guest down.
        if has_time_slices && answer.metadata()?.len() > 0 {
            monitor.end_time_slices();
            has_time_slices = false;
        }
        monitor.request_clock();
        if look.is_multiple_of(POLLS_PER_PROCESSOR_CHECK) {
            monitor.request_processor_states();
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Time for which a guest's clock has not moved while no thread of its emulator was ready to run. An emulator
/// that is ready but gets no processor, on a busy machine, is only slow.
struct StallDetector {
    since: Instant,
    guest: Duration,
}

impl StallDetector {
    fn new() -> Self {
        StallDetector { since: Instant::now(), guest: Duration::ZERO }
    }

    /// Time since the guest's clock last moved or its emulator was last ready to run.
    fn stalled_for(&mut self, guest: Duration, wants_to_compute: bool, now: Instant) -> Duration {
        if guest != self.guest || wants_to_compute {
            *self = StallDetector { since: now, guest };
        }
        now - self.since
    }
}

/// A running QEMU, which does not outlive this.
struct Qemu {
    child: Child,
    _guard: DescendantKiller,
}

impl Qemu {
    /// True if any of its threads is running or ready to run (proc(5): the letter after the name in stat).
    fn wants_to_compute(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let mut states = threads.filter_map(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
            stat.rsplit_once(')')?.1.trim_start().chars().next()
        });
        states.any(|state| state != 'S')
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // The emulator may be a script that starts it.
        kill_descendants(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn anonymous_file(name: &str) -> io::Result<File> {
    Ok(memfd_create(name, MFdFlags::MFD_CLOEXEC)?.into())
}

/// Path under which a child that inherited the file finds it.
fn inherited_path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn inherit_files(command: &mut Command, files: Vec<RawFd>) {
    let prepare = move || {
        for file in &files {
            // SAFETY: the files are open in the parent during the spawn, so in the child too.
            let file = unsafe { std::os::fd::BorrowedFd::borrow_raw(*file) };
            fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

/// Thread that collects a stream: all of it, or the last part if it is endless.
struct StreamCollector {
    collected: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl StreamCollector {
    fn new(stream: Option<impl Read + Send + 'static>) -> Self {
        let collected = Arc::new(Mutex::new(Vec::new()));
        let into = collected.clone();
        let thread = stream.map(|mut stream| {
            thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut chunk) {
                    let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                    if into.len() > CONSOLE_BYTES {
                        into.drain(..CONSOLE_BYTES / 2);
                    }
                    into.extend(chunk.iter().take(n));
                }
            })
        });
        StreamCollector { collected, thread }
    }

    /// Collected text once the stream has ended, without the serial line's carriage returns.
    fn finish(self) -> String {
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
        let collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&collected).replace('\r', "")
    }
}

fn last_lines(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
    if last.is_empty() { "(it showed nothing)".into() } else { last.join("\n") }
}
