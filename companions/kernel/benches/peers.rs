//! Other tools that measure wake-up latency, for the same boot: the same kernel, machine, period and priority.

use std::path::Path;

use jitterlab_model::{Error, TimingStats};
use jitterlab_trace::{Hints, import_bytes};
use serde::Serialize;

use super::architecture::Architecture;
use super::debian::Archive;
use super::elf::{Included, LibraryPath};
use super::initramfs;
use super::job::{Answer, INIT, Step};

/// The task that every tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerTask {
    /// Its period, whole microseconds: rtla and cyclictest know nothing finer.
    pub period_ns: i64,
    /// Its SCHED_FIFO priority.
    pub priority: u8,
    /// Its processor.
    pub cpu: u16,
    /// How many activations.
    pub count: u64,
}

/// What a tool's latencies are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measures {
    /// The wake-up of a user's thread.
    UserThread,
    /// The wake-up of a thread of the kernel, which returns to no user's code.
    KernelThread,
}

/// The loop that tools are held against, as a tool.
pub const BARE_LOOP: &str = "bare loop";

/// A tool.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Its program.
    pub name: &'static str,
    /// What it measures.
    pub measures: Measures,
    /// The Debian package it is in; `None`: it is this program itself.
    package: Option<&'static str>,
    command: fn(&PeerTask) -> Vec<String>,
    /// The file it leaves; `None`: its standard output.
    file: Option<&'static str>,
    /// The task of its output that is compared.
    task: fn(&str) -> bool,
}

/// Bins of 1 ns, as many as are of use; longer latencies are counted and the longest is known.
const CYCLICTEST_BINS: &str = "100000";
const RTLA_BINS: &str = "2000";

/// All tools, in the order they are run.
pub const PEERS: [Peer; 4] = [
    Peer {
        name: BARE_LOOP,
        measures: Measures::UserThread,
        package: None,
        command: |task| {
            let PeerTask { period_ns, priority, cpu, count } = task;
            words(&format!("{INIT} bare {period_ns} {priority} {cpu} {count} bare.raw run.parquet"))
        },
        file: Some("bare.raw"),
        task: |_| true,
    },
    Peer {
        name: "cyclictest",
        measures: Measures::UserThread,
        package: Some("rt-tests"),
        // It holds /dev/cpu_dma_latency and changes the system's limits unless told to leave the system alone.
        command: |task| {
            words(&format!(
                "cyclictest -q -m -N -t1 -a {} -p {} -i {} -l {} -h {CYCLICTEST_BINS} --default-system --histfile=/dev/null --json=cyclictest.json",
                task.cpu,
                task.priority,
                task.period_ns / 1_000,
                task.count
            ))
        },
        file: Some("cyclictest.json"),
        task: |_| true,
    },
    Peer {
        name: "jitterdebugger",
        measures: Measures::UserThread,
        package: Some("jitterdebugger"),
        // Its figures are in ns with -N, its interval in us all the same, whatever its help says.
        command: |task| {
            words(&format!(
                "jitterdebugger -N -s -o jitterdebugger -a {} -p {} -i {} -l {}",
                task.cpu,
                task.priority,
                task.period_ns / 1_000,
                task.count
            ))
        },
        file: Some("jitterdebugger/samples.raw"),
        task: |_| true,
    },
    Peer {
        name: "rtla timerlat",
        measures: Measures::KernelThread,
        package: Some("rtla"),
        command: |task| {
            let seconds = (task.period_ns as u64).saturating_mul(task.count).div_ceil(1_000_000_000);
            words(&format!(
                "rtla timerlat hist -n -b 10 -E {RTLA_BINS} -c {} -P f:{} -p {} -d {seconds}",
                task.cpu,
                task.priority,
                task.period_ns / 1_000
            ))
        },
        file: None,
        // IRQ-000 is the interrupt, Thr-000 the thread.
        task: |name| name.starts_with("thr"),
    },
];

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

impl Peer {
    /// The step that runs it.
    pub fn step(&self, task: &PeerTask) -> Step {
        Step { name: self.name.into(), command: (self.command)(task) }
    }

    /// Its program for this kind of processor, as installed here or else from Debian's package, which goes to the cache; the
    /// packages of its libraries are added to `libraries`. `None` where it is this program itself. `note` is called before a download.
    ///
    /// # Errors
    /// A package that cannot be had.
    pub fn program(
        &self,
        architecture: &'static Architecture,
        libraries: &mut LibraryPath,
        note: &mut dyn FnMut(&str),
    ) -> Result<Option<Included>, Error> {
        let Some(of) = self.package else { return Ok(None) };
        let program = self.name.split(' ').next().unwrap_or(self.name);
        let installed = initramfs::find(program, libraries)
            .and_then(|found| initramfs::for_processor(found, architecture));
        if let Ok(installed) = installed {
            return Ok(Some(installed));
        }
        let archive = Archive::of(architecture, note)?;
        let package = archive.fetch(of, note)?;
        let mut waiting = archive.library_dependencies(of)?;
        let mut done: Vec<String> = Vec::new();
        while let Some(name) = waiting.pop() {
            if !done.contains(&name) {
                libraries.also(archive.fetch(&name, note)?.unpacked("./")?);
                waiting.extend(archive.library_dependencies(&name)?);
                done.push(name);
            }
        }
        let there = Path::new("/usr/bin").join(program);
        Ok(Some(Included { here: package.unpacked("./usr")?.join("usr/bin").join(program), there }))
    }

    /// What it measured.
    ///
    /// # Errors
    /// A sentence that says why there is nothing.
    pub fn figures(&self, task: &PeerTask, answer: &Answer) -> Result<TimingStats, String> {
        let step = answer.steps.get(self.name).cloned().unwrap_or_default();
        let said = |error: Error| {
            let stderr = step.stderr.trim().replace('\n', "; ");
            if stderr.is_empty() { error.to_string() } else { format!("{error}: {stderr}") }
        };
        let content = match self.file {
            Some(file) => answer.files.get(file).map(Vec::as_slice),
            None => Some(step.stdout.as_bytes()),
        };
        let content = content.filter(|content| !content.is_empty());
        let content = content.ok_or_else(|| {
            said(match (&step.failure, step.status) {
                (Some(failure), _) => Error::not_measured(failure),
                (None, Some(status)) => {
                    Error::not_measured(format!("it ended with status {status} and left no figures"))
                }
                (None, None) => Error::not_measured("it was not run"),
            })
        })?;
        let read = || -> Result<Option<TimingStats>, Error> {
            let hints = Hints { periods_ns: vec![task.period_ns], unit_ns: Some(1), ..Hints::default() };
            let imported = import_bytes(self.name, content, &hints)?;
            let mut tasks = imported.info.tasks.iter().zip(&imported.tasks);
            let found = tasks.find(|(of, _)| (self.task)(&of.spec.name));
            Ok(found.map(|(task, measured)| measured.stats(task)))
        };
        read()
            .and_then(|found| {
                found.ok_or_else(|| Error::not_measured("its output holds no thread's latencies"))
            })
            .map_err(said)
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::StepResult;
    use super::*;

    const TASK: PeerTask = PeerTask { period_ns: 1_000_000, priority: 90, cpu: 0, count: 5_500 };

    #[test]
    fn every_tool_is_given_the_same_task() {
        let commands: Vec<String> = PEERS.iter().map(|peer| peer.step(&TASK).command.join(" ")).collect();
        assert!(commands.iter().all(|c| c.contains("90") && c.contains(" 0 ")), "{commands:?}");
        assert!(commands[0].contains("1000000 90 0 5500"), "{}", commands[0]);
        assert!(commands[1].contains("-i 1000 -l 5500"), "{}", commands[1]);
        assert!(commands[2].contains("-i 1000 -l 5500"), "{}", commands[2]);
        assert!(commands[3].contains("-p 1000 -d 6"), "{}", commands[3]);
    }

    #[test]
    fn a_tools_output_becomes_figures_in_nanoseconds() {
        let stdout = "# RTLA timerlat histogram\n# Time unit is nanoseconds (ns)\n# Duration:   0 00:00:01\n\
            Index   IRQ-000   Thr-000\n1200          3         0\n3400          0         2\n3600          0         1\n\
            over:         0         0\ncount:        3         3\nmin:       1201      3402\navg:       1205      3470\nmax:       1209      3609\n";
        let mut answer = Answer::default();
        let step = StepResult { status: Some(0), stdout: stdout.into(), ..StepResult::default() };
        answer.steps.insert("rtla timerlat".into(), step);
        let stats = PEERS[3].figures(&TASK, &answer).unwrap();
        assert_eq!((stats.latency.count(), stats.latency.max_ns()), (3, Some(3_609)));
        let mut sample = vec![0u8; 28];
        sample[4..12].copy_from_slice(&7u64.to_le_bytes());
        sample[20..28].copy_from_slice(&4_960u64.to_le_bytes());
        answer.files.insert("jitterdebugger/samples.raw".into(), sample);
        assert_eq!(PEERS[2].figures(&TASK, &answer).unwrap().latency.max_ns(), Some(4_960));
    }

    #[test]
    fn a_tool_without_figures_is_quoted() {
        let step = StepResult { status: Some(1), stderr: "no tracer\n".into(), ..StepResult::default() };
        let answer = Answer { steps: [("rtla timerlat".into(), step)].into(), ..Answer::default() };
        assert_eq!(
            PEERS[3].figures(&TASK, &answer).unwrap_err(),
            "it ended with status 1 and left no figures: no tracer"
        );
        assert_eq!(PEERS[1].figures(&TASK, &answer).unwrap_err(), "it was not run");
    }
}
