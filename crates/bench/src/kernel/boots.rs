//! One session on several kernels, some of them at once.

use std::path::{Path, PathBuf};
use std::thread;

use super::image::KernelChoice;
use super::machine::GuestTime;
use super::qemu::GuestProgress;
use super::session::{GuestRun, KernelError, KernelSession};

/// What is told of the guests, each by its number, from threads of their own.
pub trait GuestWatch: Sync {
    /// Something that takes time before a boot.
    fn note(&self, guest: usize, text: &str);
    /// How far a guest is.
    fn show(&self, guest: usize, progress: GuestProgress);
}

impl KernelSession {
    /// Boots each kernel, `jobs` at a time (by default as many as make sense), and does everything on it. What `done` makes
    /// of each guest, by its number and as soon as it has answered, is in the kernels' order.
    pub fn on_each<T: Send>(
        &self,
        kernels: &[KernelChoice],
        jobs: Option<u16>,
        watch: &dyn GuestWatch,
        done: &(dyn Fn(usize, GuestRun) -> T + Sync),
    ) -> Vec<Result<T, KernelError>> {
        let jobs = jobs.map_or_else(|| sensible_jobs(self.machine.time), usize::from);
        let mut answers = Vec::new();
        for (first, batch) in kernels.chunks(jobs).enumerate() {
            thread::scope(|scope| {
                let booting = |(n, kernel)| {
                    let guest = first * jobs + n;
                    let mut note = move |text: &str| watch.note(guest, text);
                    scope.spawn(move || {
                        let answer = self.on(kernel, &mut note, &mut |progress| watch.show(guest, progress));
                        answer.map(|answer| done(guest, answer))
                    })
                };
                let running: Vec<_> = batch.iter().enumerate().map(booting).collect();
                answers.extend(
                    running.into_iter().map(|thread| thread.join().unwrap_or(Err(KernelError::Broken))),
                );
            });
        }
        answers
    }
}

/// Emulating in real time, guests would disturb each other.
fn sensible_jobs(time: GuestTime) -> usize {
    match time {
        GuestTime::Real => 1,
        GuestTime::PerInstruction { .. } => thread::available_parallelism().map_or(1, usize::from),
    }
}

impl GuestRun {
    /// Keeps the run file of a step in a directory, under the kernel's name (`debian-rt.parquet`, or the first such name with
    /// a number that is free), described as what it is.
    ///
    /// # Errors
    /// What the step said, if it left no file; a file that cannot be written.
    pub fn keep(
        &self,
        step: &str,
        time: GuestTime,
        directory: &Path,
        kernel: &str,
    ) -> Result<PathBuf, KernelError> {
        let file = self.run_file(step)?;
        std::fs::create_dir_all(directory)
            .map_err(|error| KernelError::Directory { path: directory.into(), error })?;
        let path = free_name(directory, kernel);
        jitterlab_trace::redescribe(file.path(), &path, |info| self.describe(info, time, std::env::args()))?;
        Ok(path)
    }
}

fn free_name(directory: &Path, kernel: &str) -> PathBuf {
    let stem = Path::new(kernel).file_name().map_or(kernel.into(), |name| name.to_string_lossy());
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let stem: String = stem.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    let names =
        std::iter::once(format!("{stem}.parquet")).chain((2..).map(|n| format!("{stem}-{n}.parquet")));
    names.map(|name| directory.join(name)).find(|path| !path.exists()).unwrap_or_else(|| directory.join(stem))
}
