//! Reads the facts of this machine. Everything comes from files below a root, so that tests read the trees of
//! other machines; unreadable facts stay absent.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jitterlab_model::facts::Power;
use jitterlab_model::{CpuSet, SystemFacts};

mod devices;
mod interrupts;
mod kernel;
mod memory;
mod power;
mod process;
mod processor;
mod threads;
mod virtualisation;

pub(crate) use process::group_limits;
pub(crate) use threads::{program_names, thread_name};

/// Folder with the machine's `/proc`, `/sys`, `/dev` and `/boot`.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    /// The machine this program runs on.
    pub fn system() -> Self {
        Root(PathBuf::from("/"))
    }

    /// Root of a machine's tree that was copied into a folder before; reads nothing yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Root(folder.into())
    }

    /// True for the running machine, where system calls report more than files.
    fn is_system(&self) -> bool {
        self.0 == Path::new("/")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    /// A file's text without white space around it; `None` if it cannot be read. Bytes that are no text are
    /// replaced.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let bytes = self.bytes(name)?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A file's text; `None` if it is empty or cannot be read.
    fn nonempty_text(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// Reads the number in a file.
    fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// Reads the switch in a file: false for `0`.
    fn switch(&self, name: &str) -> Option<bool> {
        self.number::<i64>(name).map(|n| n != 0)
    }

    /// Reads the list of CPUs in a file; the kernel writes `(null)` for a list that was never set.
    pub(crate) fn cpus(&self, name: &str) -> Option<CpuSet> {
        let text = self.text(name)?;
        if text == "(null)" { Some(CpuSet::new()) } else { text.parse().ok() }
    }

    /// The names in a folder, in order of their numbers and then of their letters.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_cached_key(|name| {
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            (digits[..end].parse::<u64>().unwrap_or(u64::MAX), name.clone())
        });
        names
    }

    /// Target of a symbolic link.
    fn link_target(&self, name: &str) -> Option<String> {
        fs::read_link(self.path(name)).ok()?.into_os_string().into_string().ok()
    }

    /// `N` bytes of a device at an offset.
    fn bytes_at<const N: usize>(&self, name: &str, offset: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        fs::File::open(self.path(name)).ok()?.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

/// The value of a line `key: value` or `key value`, as many files in `/proc` have them.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let value = rest.trim_start();
        let value = match value.strip_prefix(':') {
            Some(value) => value,
            None if value.len() < rest.len() => value,
            None => return None,
        };
        Some(value.trim())
    })
}

/// Maps items in order, in up to 8 threads if each gets `worth_it` items or more.
fn in_parallel<T: Sync, R: Send>(items: &[T], worth_it: usize, map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(8).min(items.len() / worth_it);
    if threads < 2 {
        return items.iter().map(map).collect();
    }
    let map = &map;
    std::thread::scope(|scope| {
        let chunks: Vec<_> = items
            .chunks(items.len().div_ceil(threads))
            .map(|chunk| {
                let read = move || chunk.iter().map(map).collect::<Vec<R>>();
                (chunk, std::thread::Builder::new().spawn_scoped(scope, read))
            })
            .collect();
        // Chunks without a thread, and chunks that failed, are read here, so that a panic reaches the caller.
        chunks
            .into_iter()
            .flat_map(|(chunk, thread)| {
                let found = thread.ok().and_then(|thread| thread.join().ok());
                found.unwrap_or_else(|| chunk.iter().map(map).collect())
            })
            .collect()
    })
}

/// Reads everything that is known of the machine. Takes a few milliseconds and changes nothing.
pub fn read(root: &Root) -> SystemFacts {
    let online = processor::read_online_cpus(root);
    let cpu_info = root.text("proc/cpuinfo").unwrap_or_default();
    let stat = root.text("proc/stat").unwrap_or_default();
    let kernel = kernel::read_kernel(root);
    let threads = threads::read_threads(root);
    let mut cpus = processor::read_cpus(root, &online);
    processor::add_cpu_times(&mut cpus, &stat);
    let mut interrupts = interrupts::read_interrupts(root);
    interrupts.irqbalance_running = threads::is_running(&threads, "irqbalance");
    SystemFacts {
        uptime_s: root.text("proc/uptime").and_then(|t| t.split_whitespace().next()?.parse().ok()),
        clock: kernel::read_clock(root),
        scheduler: kernel::read_scheduler(root),
        processor: processor::read_processor(root, &cpu_info),
        caches: processor::read_caches(root, &online),
        isolation: kernel::read_isolation(root, &kernel, &online),
        power: power::read_power(root),
        memory: memory::read_memory(root),
        interrupts,
        process: process::read_process(root),
        real_time_threads: threads::urgent_threads(&threads),
        measuring: threads::measuring_programs(&threads),
        devices: devices::read_devices(root),
        virtualisation: virtualisation::read_virtualisation(root, &cpu_info),
        real_time_cores: virtualisation::read_real_time_cores(root),
        activity: memory::read_activity(root, &stat),
        kernel,
        cpus,
    }
}

/// Reads power management alone, which costs little.
pub fn read_power(root: &Root) -> Power {
    power::read_power(root)
}

#[cfg(test)]
pub(crate) mod tests;
