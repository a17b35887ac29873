//! Comparison of jitterlab with other tools that measure wake-up latency, one after the other in one boot:
//! the same kernel, processor, period and priority, in virtual time. A loop as bare as can be shows the limit
//! of a tool's measurement.
//!
//! `cargo build --release && cargo bench -p jitterlab-kernel --bench peers -- [KERNEL...]`, by default of `debian:rt`. The
//! tools are those of this machine: `apt-get install rt-tests jitterdebugger rtla`.

mod bare;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use jitterlab_analysis::Summary;
use jitterlab_analysis::summary::{P50, P99, P99_9};
use jitterlab_kernel::job::{Answer, Step};
use jitterlab_kernel::session::jitterlab_run_step;
use jitterlab_kernel::{GuestProgress, GuestRun, KernelChoice, KernelSession, Machine};
use jitterlab_model::{Error, TaskRun, TaskSpec, TimingStats};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::import_bytes;

/// The task that every tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PeerTask {
    /// Its period, whole microseconds: rtla and cyclictest know nothing finer.
    period_ns: i64,
    priority: u8,
    cpu: u16,
    count: u64,
}

#[derive(Debug, Clone, Copy)]
struct Peer {
    /// Name of its program.
    name: &'static str,
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
const PEERS: [Peer; 4] = [
    Peer {
        name: "bare loop",
        command: |task| {
            let PeerTask { period_ns, priority, cpu, count } = task;
            words(&format!(
                "{} bare {period_ns} {priority} {cpu} {count} bare.raw run.parquet",
                own_executable().display()
            ))
        },
        file: Some("bare.raw"),
        task: |_| true,
    },
    Peer {
        name: "cyclictest",
        // By default cyclictest holds /dev/cpu_dma_latency and changes the system's limits.
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
        // With -N its figures are in ns, yet its interval stays in us, against its help text.
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
        // Its thread is one of the kernel and does not return to user space.
        name: "rtla timerlat",
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
    fn step(&self, task: &PeerTask) -> Step {
        Step { name: self.name.into(), command: (self.command)(task) }
    }

    /// Its figures in a guest.
    ///
    /// # Errors
    /// A sentence with the reason why there are none.
    fn figures(&self, task: &PeerTask, answer: &Answer) -> Result<TimingStats, String> {
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

/// This program, which is the bare loop in the guest.
fn own_executable() -> PathBuf {
    env::current_exe().unwrap_or_default()
}

/// The row of a tool.
fn table_row(name: &str, stats: &TimingStats) -> String {
    let spec = TaskSpec { name: name.into(), period_ns: stats.period_ns(), ..TaskSpec::default() };
    let of = Summary::new(&TaskRun::new(spec), stats).latency;
    let figures = [of.min_ns, of.at(P50).exactly(), of.at(P99).exactly(), of.at(P99_9).exactly(), of.max_ns];
    let shown = figures.map(|ns| ns.map_or("-".into(), |ns| format!("{:8.3}", ns as f64 / 1e3)));
    let mean = stats.latency.mean_ns().unwrap_or(f64::NAN) / 1e3;
    format!("{name:15} {:11} {mean:8.3} {}", stats.latency.count(), shown.join(" "))
}

/// The figures of jitterlab in the same boot.
fn own_figures(guest: &GuestRun) -> Result<TimingStats, Error> {
    let file = guest.run_file("run")?;
    let (mut stats, _) = Run::open(file.path(), &Hints::default())?.timing()?.into_parts();
    Ok(stats.remove(0))
}

const TASK: PeerTask = PeerTask { period_ns: 1_000_000, priority: 90, cpu: 0, count: 5_000 };

fn compare(kernel: &KernelChoice) -> Result<(), Error> {
    let PeerTask { period_ns, priority, cpu, count } = TASK;
    let options =
        format!("--period {}us --policy fifo:{priority} --cpu {cpu} --count {count}", period_ns / 1_000);
    let mut steps = vec![jitterlab_run_step("run", &words(&options))];
    steps.extend(PEERS.iter().map(|peer| peer.step(&TASK)));
    let session = KernelSession {
        machine: Machine::default(),
        companion: env!("CARGO_BIN_EXE_jitterlab-kernel").into(),
        program: None,
        with: vec![own_executable().display().to_string()],
        modules: Vec::new(),
        steps,
    };
    let guest = session.run_on(kernel, &mut |note| eprintln!("{note}"), &mut |_: GuestProgress| {})?;
    println!(
        "{kernel}: Linux {}, every {} us, fifo:{priority}, idle; virtual time, 1 ns for each instruction",
        guest.image.release,
        period_ns / 1_000
    );
    println!("latency in us   activations     mean      min      p50      p99    p99.9      max");
    let stats = own_figures(&guest)?;
    println!("{}", table_row("jitterlab", &stats));
    let own_mean_ns = stats.latency.mean_ns().unwrap_or(f64::NAN);
    for peer in &PEERS {
        match peer.figures(&TASK, &guest.answer) {
            Ok(stats) => {
                let ratio = own_mean_ns / stats.latency.mean_ns().unwrap_or(f64::NAN);
                println!("{}  jitterlab's mean is {ratio:.4} times this", table_row(peer.name, &stats));
            }
            Err(why) => println!("{:15} nothing: {why}", peer.name),
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.first().is_some_and(|first| first == "bare") {
        return bare::main(&arguments[1..]);
    }
    let named = if arguments.is_empty() { vec!["debian:rt".to_owned()] } else { arguments };
    let compared = named.iter().map(|kernel| compare(&kernel.parse()?)).collect::<Result<Vec<()>, Error>>();
    match compared {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
