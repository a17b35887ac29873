//! Names of machines: those of hosts, files or folders, and hosts whose name stands for several machines.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use jitterlab_model::{Error, RunInfo};
use jitterlab_trace::RunReader;

use crate::delivery::DeliveryName;
use crate::error::{self, HostDifference};

/// Ratio of two machines' memory at least: kernels of one machine count it differently by less.
const MEMORY_RATIO: f64 = 1.25;

/// Fills a pattern with a run's host, its file's name and folder: `{host}`, `{file}`, `{folder}`.
pub fn machine_name(pattern: &str, run: &RunInfo, path: &Path) -> String {
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

/// Runs by the name of their host.
#[derive(Debug, Default)]
pub struct Hosts(BTreeMap<String, Vec<RunMachine>>);

/// Facts of a run that distinguish machines.
#[derive(Debug)]
struct RunMachine {
    path: PathBuf,
    processor: Option<String>,
    memory: Option<u64>,
}

impl Hosts {
    /// Collects the hosts that these run files name; other files are passed over.
    pub fn from_files<'a>(files: impl Iterator<Item = &'a Path>) -> Self {
        let mut hosts = Hosts::default();
        for path in files.filter(|path| DeliveryName::from_path(path).is_none()) {
            let Ok(reader) = RunReader::open(path) else { continue };
            let info = reader.info();
            if let Some(host) = &info.host {
                hosts.0.entry(host.clone()).or_default().push(RunMachine::new(path, info));
            }
        }
        hosts
    }

    /// The host and the number of runs, if several runs all name the same host; else `None`.
    pub fn single_host(&self) -> Option<(&str, usize)> {
        let (host, runs) = self.0.first_key_value().filter(|_| self.0.len() == 1)?;
        (runs.len() > 1).then_some((host, runs.len()))
    }

    /// Fails if one host's name stands for several machines.
    pub fn check_unique(&self) -> Result<(), Error> {
        for (host, runs) in &self.0 {
            if let Some((one, other, differs)) = find_different(runs) {
                return Err(error::ambiguous_host(host, &one.path, &other.path, &differs));
            }
        }
        Ok(())
    }
}

impl RunMachine {
    fn new(path: &Path, info: &RunInfo) -> Self {
        let facts = info.facts_before.as_ref();
        RunMachine {
            path: path.into(),
            processor: facts.and_then(|facts| facts.processor.model.clone()),
            memory: facts.and_then(|facts| facts.memory.total_bytes),
        }
    }
}

/// Finds two runs that one machine cannot have made, by processor or memory; `None` if there are none. Runs at the same
/// time are separated later, by the answer.
fn find_different(runs: &[RunMachine]) -> Option<(&RunMachine, &RunMachine, HostDifference)> {
    let (first, others) = runs.split_first()?;
    for other in others {
        if let (Some(one), Some(two)) = (&first.processor, &other.processor)
            && one != two
        {
            return Some((first, other, HostDifference::Processor(one.clone(), two.clone())));
        }
        if let (Some(one), Some(two)) = (first.memory, other.memory)
            && one.max(two) as f64 > MEMORY_RATIO * one.min(two) as f64
        {
            return Some((first, other, HostDifference::Memory(one, two)));
        }
    }
    None
}
