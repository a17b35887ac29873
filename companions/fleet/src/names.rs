//! Names of machines: those of hosts, files or folders, and hosts whose name stands for several machines.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use jitterlab_model::{Error, RunInfo};
use jitterlab_trace::RunReader;

use crate::delivery::DeliveryName;
use crate::error::{self, Differs};

/// Clocks that are set in between move the start of a machine by less.
const CLOCK_S: f64 = 60.0;
/// One machine's kernels count its memory differently by less.
const MEMORY_RATIO: f64 = 1.25;

/// Name of a run's machine by a pattern, in which `{host}`, `{file}` and `{folder}` stand for the names of the run's host,
/// its file without the ending, and the file's folder.
pub fn named(pattern: &str, run: &RunInfo, path: &Path) -> String {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let file = text(path.file_stem());
    let host = run.host.as_ref().unwrap_or(&file);
    let folder = path.parent().and_then(Path::file_name);
    // In one walk, since a name may itself look like a part of a pattern.
    let mut name = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('{') {
        name += &rest[..at];
        rest = &rest[at..];
        let parts = [("{host}", host.clone()), ("{file}", file.clone()), ("{folder}", text(folder))];
        match parts.into_iter().find(|(part, _)| rest.starts_with(part)) {
            Some((part, value)) => {
                name += &value;
                rest = &rest[part.len()..];
            }
            None => {
                name.push('{');
                rest = &rest[1..];
            }
        }
    }
    name + rest
}

/// Run files of one host.
#[derive(Debug, Default)]
pub struct Hosts(BTreeMap<String, Vec<Seen>>);

/// What tells a run's machine from others.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    processor: Option<String>,
    memory: Option<u64>,
    up: Option<Up>,
}

/// Start of a machine and of a run on it, in seconds of the Unix epoch.
#[derive(Debug, Clone, Copy)]
struct Up {
    start_s: f64,
    began_s: f64,
}

impl Hosts {
    /// Reads descriptions of run files; everything else is left to those who take it in.
    pub fn of<'a>(files: impl Iterator<Item = &'a Path>) -> Self {
        let mut hosts = Hosts::default();
        for path in files.filter(|path| DeliveryName::from_path(path).is_none()) {
            let Ok(reader) = RunReader::open(path) else { continue };
            let info = reader.info();
            if let Some(host) = &info.host {
                hosts.0.entry(host.clone()).or_default().push(Seen::new(path, info));
            }
        }
        hosts
    }

    /// The only host of several runs, and how many they are.
    pub fn only(&self) -> Option<(&str, usize)> {
        let (host, runs) = self.0.first_key_value().filter(|_| self.0.len() == 1)?;
        (runs.len() > 1).then_some((host, runs.len()))
    }

    /// Fails where one host's name stands for several machines.
    pub fn check(&mut self) -> Result<(), Error> {
        for (host, runs) in &mut self.0 {
            if let Some((one, other, differs)) = two_machines(runs) {
                return Err(error::several_machines(host, &one.path, &other.path, &differs));
            }
        }
        Ok(())
    }
}

impl Seen {
    fn new(path: &Path, info: &RunInfo) -> Self {
        let facts = info.facts_before.as_ref();
        let began = humantime::parse_rfc3339_weak(&info.started).ok();
        let began_s = began.and_then(|time| Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64()));
        let uptime_s = facts.and_then(|facts| facts.uptime_s);
        Seen {
            path: path.into(),
            processor: facts.and_then(|facts| facts.processor.model.clone()),
            memory: facts.and_then(|facts| facts.memory.total_bytes),
            up: began_s.zip(uptime_s).map(|(began_s, uptime_s)| Up { start_s: began_s - uptime_s, began_s }),
        }
    }
}

/// Two runs that one machine cannot have made.
fn two_machines(runs: &mut [Seen]) -> Option<(&Seen, &Seen, Differs)> {
    let start = |of: &Seen| of.up.map_or(f64::INFINITY, |up| up.start_s);
    runs.sort_by(|a, b| start(a).total_cmp(&start(b)));
    let (first, others) = runs.split_first()?;
    for other in others {
        if let (Some(one), Some(two)) = (&first.processor, &other.processor)
            && one != two
        {
            return Some((first, other, Differs::Processor(one.clone(), two.clone())));
        }
        if let (Some(one), Some(two)) = (first.memory, other.memory)
            && one.max(two) as f64 > MEMORY_RATIO * one.min(two) as f64
        {
            return Some((first, other, Differs::Memory(one, two)));
        }
    }
    at_once(runs)
}

/// Two runs of different starts, of which the later start came before the run of the earlier one: a machine has one at a time.
fn at_once(runs: &[Seen]) -> Option<(&Seen, &Seen, Differs)> {
    let known: Vec<(&Seen, Up)> = runs.iter().filter_map(|of| Some((of, of.up?))).collect();
    let by_time = |a: &(&Seen, Up), b: &(&Seen, Up)| a.1.began_s.total_cmp(&b.1.began_s);
    let mut latest: Option<(&Seen, Up)> = None;
    for of_start in known.chunk_by(|one, next| next.1.start_s - one.1.start_s <= CLOCK_S) {
        let (first, up) = of_start[0];
        if let Some((other, _)) = latest.filter(|(_, other)| other.began_s - up.start_s > CLOCK_S) {
            return Some((other, first, Differs::Start));
        }
        latest = latest.into_iter().chain(of_start.iter().copied()).max_by(by_time);
    }
    None
}
