//! The inside of a guest: the companion as the guest's first process.
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use jitterlab_model::Error;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::sys::termios::{ControlFlags, SetArg, cfmakeraw, tcdrain, tcgetattr, tcsetattr};

use super::devices::DISK;
use super::guest_network;
use super::job::{Answer, ERROR_PREFIX, INIT_WORD, JOB_FILE, Job, MODULES, RESULTS, Step, StepResult};

/// Does the guest's job and switches the machine off, if this is the first process of a guest; returns otherwise. To be called first by a
/// program that makes guests.
pub fn run_if_init() {
    let is_asked = std::env::args_os().nth(1).is_some_and(|word| word == INIT_WORD);
    if !is_asked || std::process::id() != 1 {
        return;
    }
    if let Err(error) = perform_job() {
        println!("{ERROR_PREFIX}{error}");
    }
    // A kernel without a way to switch the machine off halts here; a reset ends QEMU too.
    for way in [RebootMode::RB_POWER_OFF, RebootMode::RB_AUTOBOOT] {
        let Err(error) = reboot(way);
        println!("{ERROR_PREFIX}{error}");
    }
}

fn perform_job() -> io::Result<()> {
    mount_system_folders()?;
    let job = fs::read(JOB_FILE).map_err(with_operation(JOB_FILE))?;
    let job: Job = serde_json::from_slice(&job)?;
    for module in &job.modules {
        let path = format!("{MODULES}/{module}");
        let file = File::open(&path).map_err(with_operation(&path))?;
        let loaded = finit_module(&file, c"", ModuleInitFlags::empty());
        loaded.map_err(|error| {
            io::Error::other(
                Error::not_measured(format!("the module {module} does not load"))
                    .because(io::Error::from(error)),
            )
        })?;
    }
    create_device_nodes(Path::new("/sys/dev/char"), SFlag::S_IFCHR);
    create_device_nodes(Path::new("/sys/dev/block"), SFlag::S_IFBLK);
    guest_network::switch_loopback_on();
    if job.devices.disk {
        mount_disk()?;
    }
    if job.devices.network.is_some() {
        guest_network::set_up_cards_and_peer()?;
    }
    std::env::set_current_dir(RESULTS).map_err(with_operation(RESULTS))?;
    let steps = job.steps.iter().map(|step| (step.name.clone(), run_command(step)));
    let mut answer = Answer { steps: steps.collect(), files: BTreeMap::new() };
    collect_files(Path::new(RESULTS), "", &mut answer.files)?;
    send_answer(&job.answer, &answer.to_bytes()?)
}

/// Returns a function that puts an operation before the text of its error.
fn with_operation(what: &str) -> impl Fn(io::Error) -> io::Error {
    let what = what.to_owned();
    move |error| io::Error::other(format!("{what}: {error}"))
}

fn mount_system_folders() -> io::Result<()> {
    let here = |kind: &str, target: &str, options: Option<&str>| {
        mount(Some(kind), target, Some(kind), MsFlags::empty(), options)
            .map_err(|error| with_operation(&format!("cannot mount {kind} on {target}"))(error.into()))
    };
    here("proc", "/proc", None)?;
    here("sysfs", "/sys", None)?;
    // Kernels for small machines lack some of these; programs that need them will report it. /tmp and /run
    // are in memory already and hold the files put there.
    let _ = here("devtmpfs", "/dev", None);
    let _ = fs::create_dir_all("/dev/shm");
    let _ = here("tmpfs", "/dev/shm", Some("mode=1777"));
    let _ = here("cgroup2", "/sys/fs/cgroup", None);
    let _ = here("debugfs", "/sys/kernel/debug", None);
    let _ = here("tracefs", "/sys/kernel/tracing", None);
    fs::set_permissions("/tmp", fs::Permissions::from_mode(0o1777))
}

/// Creates the missing device files, for kernels without devtmpfs. `directory` is one of /sys/dev's.
fn create_device_nodes(directory: &Path, kind: SFlag) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let number = entry.file_name().to_string_lossy().into_owned();
        let Some((Ok(major), Ok(minor))) = number.split_once(':').map(|(a, b)| (a.parse(), b.parse())) else {
            continue;
        };
        let description = fs::read_to_string(entry.path().join("uevent")).unwrap_or_default();
        let Some(name) = description.lines().find_map(|line| line.strip_prefix("DEVNAME=")) else { continue };
        let path = Path::new("/dev").join(name);
        if path.exists() || name.contains("..") {
            continue;
        }
        let _ = path.parent().map(fs::create_dir_all);
        let _ = mknod(&path, kind, Mode::from_bits_truncate(0o660), makedev(major, minor));
    }
}

/// Mounts the disk, whose driver has found it when it was loaded.
fn mount_disk() -> io::Result<()> {
    fs::create_dir_all(DISK)?;
    mount(Some("/dev/vda"), DISK, Some("ext4"), MsFlags::MS_NOATIME, None::<&str>).map_err(|error| {
        let refused = Error::refused("cannot mount the disk: this kernel may lack virtio-blk or ext4");
        io::Error::other(refused.because(io::Error::from(error)))
    })
}

fn run_command(step: &Step) -> StepResult {
    let Some((program, arguments)) = step.command.split_first() else { return StepResult::default() };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .env("TERM", "dumb")
        .output();
    match output {
        Ok(output) => {
            let signal = output
                .status
                .signal()
                .map(|number| Error::not_measured(format!("it was ended by signal {number}")).to_string());
            StepResult {
                status: output.status.code(),
                failure: signal,
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            }
        }
        Err(error) => StepResult { failure: Some(error.to_string()), ..StepResult::default() },
    }
}

fn collect_files(directory: &Path, below: &str, into: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), &format!("{name}/"), into)?;
        } else if fs::metadata(entry.path()).is_ok_and(|found| found.is_file()) {
            // A pipe or a socket has no content to return, and reading it would block.
            into.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}

fn send_answer(path: &str, answer: &[u8]) -> io::Result<()> {
    let mut line = OpenOptions::new().read(true).write(true).open(path).map_err(with_operation(path))?;
    let mut settings = tcgetattr(&line).map_err(|error| with_operation(path)(error.into()))?;
    cfmakeraw(&mut settings);
    // Not by cfsetspeed: nix asks for a version of it, which a C library that is linked into a program does not have.
    let speed = ControlFlags::from_bits_retain(nix::libc::B115200);
    settings.control_flags = settings.control_flags.difference(ControlFlags::CBAUD) | speed;
    tcsetattr(&line, SetArg::TCSANOW, &settings)?;
    line.write_all(answer).map_err(with_operation(path))?;
    Ok(tcdrain(&line)?)
}
