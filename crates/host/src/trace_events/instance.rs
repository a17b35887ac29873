//! An instance of tracefs of our own: set up, and taken away again whatever happens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jitterlab_model::{CpuSet, Error};
use nix::libc;

use super::error::not_permitted_error;
use super::tracefs::TraceFs;

/// Our instances begin with this; the process's number follows.
const PREFIX: &str = "jitterlab-";

/// A trace instance. Without its owner it keeps recording until [`remove_stale_instances`] removes it.
#[derive(Debug)]
pub(super) struct Instance {
    folder: PathBuf,
    _fs: TraceFs,
    /// The buffers of the processors, open: while they are, the instance cannot be removed.
    pub(super) pipes: Vec<Pipe>,
}

#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) cpu: u16,
    pub(super) file: File,
    /// The time of the last event that was read from it.
    pub(super) last_ns: i64,
}

impl Instance {
    /// Makes an instance for these processors that records nothing yet, after stale ones are removed.
    pub(super) fn create(cpus: &CpuSet, buffer_bytes: u64) -> Result<Self, Error> {
        let fs = TraceFs::find()?;
        remove_stale_in(fs.path());
        let instances = fs.path().join("instances");
        let mut number = 0;
        let (folder, pipes) = loop {
            let folder = instances.join(format!("{PREFIX}{}-{number}", std::process::id()));
            let pipes = fs::create_dir(&folder)
                .map_err(|error| (error, folder.clone()))
                .and_then(|()| open_pipes(&folder, cpus));
            match pipes {
                Ok(pipes) => break (folder, pipes),
                // The name is taken, or another jitterlab took the instance for left behind before a buffer was open.
                Err((error, _))
                    if number < 100 && (error.kind() == io::ErrorKind::AlreadyExists || !folder.exists()) =>
                {
                    number += 1;
                }
                Err((error, path)) => {
                    remove_instance(&folder);
                    return Err(not_permitted_at(&path)(error));
                }
            }
        };
        let instance = Instance { folder, _fs: fs, pipes };
        instance.write_file("tracing_on", "0")?;
        instance.write_file("trace_clock", "mono")?;
        // Pages mark missing events only if the oldest events are overwritten.
        instance.write_file("options/overwrite", "1")?;
        instance.record_cpus(cpus)?;
        for Pipe { cpu, .. } in &instance.pipes {
            instance.write_file(
                &format!("per_cpu/cpu{cpu}/buffer_size_kb"),
                &(buffer_bytes / 1024).to_string(),
            )?;
        }
        // Names of threads come with the events themselves.
        let _ = instance.write_file("options/record-cmd", "0");
        Ok(instance)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A file's text; empty without a file.
    pub(super) fn read_file(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Writes to a file of the instance.
    pub(super) fn write_file(&self, name: &str, value: &str) -> Result<(), Error> {
        let path = self.path(name);
        write(&path, value).map_err(not_permitted_at(&path))
    }

    /// Restricts the recording to these processors.
    pub(super) fn record_cpus(&self, cpus: &CpuSet) -> Result<(), Error> {
        self.write_file("tracing_cpumask", &cpus.to_mask())
    }

    /// Switches an event on or off.
    pub(super) fn enable(&self, event: &str, on: bool) -> Result<(), Error> {
        self.write_file(&format!("events/{event}/enable"), if on { "1" } else { "0" })
    }

    /// Adds threads to those whose events are recorded; before the first call, these are all threads.
    pub(super) fn follow_threads(&self, threads: &[i32]) -> Result<(), Error> {
        let path = self.path("set_event_pid");
        let mut file = OpenOptions::new().append(true).open(&path).map_err(not_permitted_at(&path))?;
        // Together, since the kernel waits for all processors at each write. One that has ended meanwhile does nothing more.
        let all: Vec<String> = threads.iter().map(i32::to_string).collect();
        let _ = file.write_all(all.join(" ").as_bytes());
        Ok(())
    }

    /// Sets the condition under which an event is recorded.
    pub(super) fn set_filter(&self, event: &str, condition: &str) -> Result<(), Error> {
        self.write_file(&format!("events/{event}/filter"), condition)
    }
}

/// Opens the buffers of these processors; an open buffer keeps the instance from being removed.
fn open_pipes(folder: &Path, cpus: &CpuSet) -> Result<Vec<Pipe>, (io::Error, PathBuf)> {
    let mut pipes = Vec::new();
    for cpu in cpus.iter() {
        let path = folder.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path) {
            Ok(file) => pipes.push(Pipe { cpu, file, last_ns: i64::MIN }),
            // A processor that is switched off runs nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.exists() => {}
            Err(error) => return Err((error, path)),
        }
    }
    Ok(pipes)
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.write_file("tracing_on", "0");
        self.pipes.clear();
        remove_instance(&self.folder);
    }
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

fn not_permitted_at(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| not_permitted_error(path, error)
}

/// Removes an instance with its events and triggers; true if it is gone. It is busy while a process reads its
/// buffers.
fn remove_instance(folder: &Path) -> bool {
    for _ in 0..20 {
        match fs::remove_dir(folder) {
            Ok(()) => return true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
            // A reader that was just closed is let go a moment later.
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    false
}

fn remove_stale_in(fs: &Path) -> usize {
    let entries = fs::read_dir(fs.join("instances")).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    ours.filter(|entry| fs::remove_dir(entry.path()).is_ok()).count()
}

/// Removes trace instances that killed processes left recording, and returns their number. Instances in use
/// stay: the kernel does not remove one while it is read.
pub fn remove_stale_instances() -> usize {
    TraceFs::find().map_or(0, |fs| remove_stale_in(fs.path()))
}
