//! Files of a guest, kept on this machine.

use std::path::{Path, PathBuf};

use jitterlab_model::{Error, RunInfo};
use jitterlab_trace::RunReader;

use super::machine::GuestTime;
use super::session::{GuestRun, MemoryRunFile, run_file_name};

impl GuestRun {
    /// Keeps a step's run file, with a description of the guest, under the kernel's name; returns its path.
    /// The name is `debian-rt.parquet`, or the first such name with a free number.
    pub fn save_run_file(
        &self,
        step: &str,
        time: GuestTime,
        directory: &Path,
        kernel: &str,
    ) -> Result<PathBuf, Error> {
        let file = self.run_file(step)?;
        create_directory(directory)?;
        let path = free_path(directory, &plain_name(kernel), ".parquet");
        jitterlab_trace::redescribe(file.path(), &path, |info| self.add_guest_facts(info, time))?;
        Ok(path)
    }

    /// Keeps the other files of the guest's steps in the same directory; the path of each, or why it is not kept.
    /// Their names have the same begin; run files among them get a description of the guest.
    pub fn save_other_files(
        &self,
        step: &str,
        time: GuestTime,
        directory: &Path,
        kernel: &str,
    ) -> Vec<Result<PathBuf, Error>> {
        let own = run_file_name(step);
        let others = self.answer.files.iter().filter(|(name, _)| **name != own);
        let kept = others.map(|(name, content)| {
            create_directory(directory)?;
            let (stem, extension) = name.split_at(name.rfind('.').unwrap_or(name.len()));
            let path = free_path(directory, &format!("{}-{stem}", plain_name(kernel)), extension);
            let file = MemoryRunFile::new(name, content)?;
            let describe = |info: &mut RunInfo| self.add_guest_facts(info, time);
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

fn create_directory(directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory).map_err(Error::file("make", directory))
}

/// Returns a kernel's name without the folders it is in.
fn plain_name(kernel: &str) -> String {
    Path::new(kernel).file_name().unwrap_or(kernel.as_ref()).to_string_lossy().into_owned()
}

/// First free path of the stem, made plain, and the extension, with a number between them if needed.
fn free_path(directory: &Path, stem: &str, extension: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let spelled = |text: &str| text.chars().map(|c| if plain(c) { c } else { '-' }).collect::<String>();
    let (stem, extension) = (spelled(stem), spelled(extension));
    let names =
        std::iter::once(format!("{stem}{extension}")).chain((2..).map(|n| format!("{stem}-{n}{extension}")));
    names.map(|name| directory.join(name)).find(|path| !path.exists()).unwrap_or_else(|| directory.join(stem))
}
