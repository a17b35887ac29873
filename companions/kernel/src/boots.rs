//! One session on several kernels, some of them at once.

use std::path::{Path, PathBuf};
use std::thread;

use jitterlab_model::{Error, RunInfo};
use jitterlab_trace::RunReader;

use super::image::KernelChoice;
use super::machine::GuestTime;
use super::qemu::GuestProgress;
use super::session::{GuestRun, KernelSession, RunFile, run_file_name};

/// Observer of the guests, each given by its number; called from threads of their own.
pub trait GuestWatch: Sync {
    /// Something that takes time before a boot.
    fn note(&self, guest: usize, text: &str);
    fn show(&self, guest: usize, progress: GuestProgress);
}

impl KernelSession {
    /// Boots each kernel, `jobs` at a time (by default as many as make sense), and does everything on it.
    /// `done` is called for each guest with its number, as soon as it has answered; the results are in the
    /// kernels' order.
    pub fn on_each<T: Send>(
        &self,
        kernels: &[KernelChoice],
        jobs: Option<u16>,
        watch: &dyn GuestWatch,
        done: &(dyn Fn(usize, GuestRun) -> T + Sync),
    ) -> Vec<Result<T, Error>> {
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
                answers.extend(running.into_iter().map(|thread| {
                    thread.join().unwrap_or_else(|_| Err(Error::defect("its boot broke down")))
                }));
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
    /// Keeps the run file of a step in a directory, under the kernel's name (`debian-rt.parquet`, or the
    /// first such name with a free number), with a description of the guest.
    pub fn keep(
        &self,
        step: &str,
        time: GuestTime,
        directory: &Path,
        kernel: &str,
    ) -> Result<PathBuf, Error> {
        let file = self.run_file(step)?;
        made(directory)?;
        let path = free_name(directory, &plain_name(kernel), ".parquet");
        jitterlab_trace::redescribe(file.path(), &path, |info| self.describe(info, time, std::env::args()))?;
        Ok(path)
    }

    /// Keeps the files that the other steps left in their working directory, in the same directory and under
    /// names with the same begin; run files among them get a description of the guest. Returns the path of
    /// each, or the reason why it is not kept.
    pub fn keep_others(
        &self,
        step: &str,
        time: GuestTime,
        directory: &Path,
        kernel: &str,
    ) -> Vec<Result<PathBuf, Error>> {
        let own = run_file_name(step);
        let others = self.boot.answer.files.iter().filter(|(name, _)| **name != own);
        let kept = others.map(|(name, content)| {
            made(directory)?;
            let (stem, extension) = name.split_at(name.rfind('.').unwrap_or(name.len()));
            let path = free_name(directory, &format!("{}-{stem}", plain_name(kernel)), extension);
            let file = RunFile::new(name, content)?;
            let describe = |info: &mut RunInfo| self.describe(info, time, std::env::args());
            match RunReader::open(file.path()) {
                Ok(_) => drop(jitterlab_trace::redescribe(file.path(), &path, describe)?),
                Err(_) => std::fs::write(&path, content).map_err(|error| {
                    Error::not_measured(format!("{} is not kept", path.display())).because(error)
                })?,
            }
            Ok(path)
        });
        kept.collect()
    }
}

fn made(directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory).map_err(Error::file("make", directory))
}

/// A kernel's name without the folders it is in.
fn plain_name(kernel: &str) -> String {
    Path::new(kernel).file_name().unwrap_or(kernel.as_ref()).to_string_lossy().into_owned()
}

/// The first name that is free: the stem, made plain, and the extension, with a number between them where it takes one.
fn free_name(directory: &Path, stem: &str, extension: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let spelled = |text: &str| text.chars().map(|c| if plain(c) { c } else { '-' }).collect::<String>();
    let (stem, extension) = (spelled(stem), spelled(extension));
    let names =
        std::iter::once(format!("{stem}{extension}")).chain((2..).map(|n| format!("{stem}-{n}{extension}")));
    names.map(|name| directory.join(name)).find(|path| !path.exists()).unwrap_or_else(|| directory.join(stem))
}
