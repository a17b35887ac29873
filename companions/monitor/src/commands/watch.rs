//! `jitterlab monitor`: measures until it is ended.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_analysis::purposes::Purpose;
use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::purpose_args::purpose_parser;
use jitterlab_console::task_args::TaskArgs;
use jitterlab_console::{interrupt, output};
use jitterlab_host::facts;
use jitterlab_host::watch::Target;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Error, Policy, SystemFacts, TaskSpec};
use jitterlab_monitor::archive::{Archive, Retention};
use jitterlab_monitor::clock::{Clock, SystemClock};
use jitterlab_monitor::counter::{CauseTimes, Counter, CounterRules};
use jitterlab_monitor::folder::Folder;
use jitterlab_monitor::live::LiveFigures;
use jitterlab_monitor::messages::{self, Listeners, Message};
use jitterlab_monitor::service_manager::ServiceManager;
use jitterlab_monitor::source::{SharedCounter, Source, measure, new_stream_id};
use jitterlab_monitor::{http, recover, status, words};
use jitterlab_trace::journal_path;

use super::folder_args::FolderArgs;

/// Interval between readings of `/dev/cpu_dma_latency`.
const SETTINGS_INTERVAL: Duration = Duration::from_secs(60);

/// Options for the source, for what is kept of it, and for alarms.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    tasks: TaskArgs,
    /// Watch the processes of this systemd unit instead of own tasks; they are found again after a restart (root)
    #[arg(long, value_name = "UNIT", group = "threads")]
    unit: Option<String>,
    /// Watch the threads of this process (root)
    #[arg(long, value_name = "PID", group = "threads", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    /// Watch every thread of this name (root)
    #[arg(long, value_name = "NAME", group = "threads")]
    thread: Option<String>,
    /// A purpose whose limits count and alarm; may be given several times [default: all that its tasks test]
    #[arg(long = "for", value_name = "PURPOSE", value_parser = purpose_parser())]
    purposes: Vec<&'static Purpose>,
    #[command(flatten)]
    folder_args: FolderArgs,
    /// Length of an hour
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = parse_duration_ns, hide = true)]
    slice: i64,
    /// What it may take of the disk (2GB), and how old its run files may get (400d); may be given several times
    /// [default: 2GB]
    #[arg(long, value_name = "SIZE|AGE")]
    keep: Vec<KeepLimit>,
    /// When causes of late starts are looked for: it needs root and costs some microseconds a start [default: after-spike
    /// for root, else never]
    #[arg(long, value_name = "WHEN", value_enum)]
    why: Option<CauseTimes>,
    /// Where Prometheus reads /metrics, or off
    #[arg(long, default_value = "127.0.0.1:9464", value_name = "ADDRESS|off")]
    listen: MetricsAddress,
    /// Run a shell command at each alarm and when it ends, with JSON on standard input: exec:COMMAND
    #[arg(long, value_name = "exec:COMMAND", value_parser = parse_alarm_command)]
    alarm: Vec<String>,
    /// Write a page of the hour that is over, each hour anew
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Name of this machine [default: its host name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
}

/// A limit on the size of the folder, or on the age of its run files.
#[derive(Debug, Clone, Copy)]
enum KeepLimit {
    Bytes(u64),
    Age(Duration),
}

impl FromStr for KeepLimit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let units = [("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];
        for (unit, bytes) in units {
            if let Some(number) = text.strip_suffix(unit).and_then(|number| number.trim().parse::<u64>().ok())
            {
                return Ok(KeepLimit::Bytes(number.saturating_mul(bytes)));
            }
        }
        let days = text.strip_suffix('d').and_then(|days| days.trim().parse::<u64>().ok());
        days.map(|days| KeepLimit::Age(Duration::from_secs(days.saturating_mul(86_400)))).ok_or_else(|| {
            Error::bad_use(format!("{text:?} is neither a size nor an age")).remedy("write it as 2GB or 400d")
        })
    }
}

/// Address that metrics are served at.
#[derive(Debug, Clone, Copy)]
enum MetricsAddress {
    Off,
    At(SocketAddr),
}

impl FromStr for MetricsAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "off" => Ok(MetricsAddress::Off),
            _ => text.parse().map(MetricsAddress::At).map_err(|_| {
                Error::bad_use(format!("{text:?} is no address")).remedy("write it as 127.0.0.1:9464, or off")
            }),
        }
    }
}

fn parse_alarm_command(text: &str) -> Result<String, Error> {
    text.strip_prefix("exec:").filter(|command| !command.trim().is_empty()).map(ToOwned::to_owned).ok_or_else(
        || Error::bad_use(format!("{text:?} is no way to tell of alarms")).remedy("write it as exec:COMMAND"),
    )
}

impl Args {
    fn to_source(&self, facts: &SystemFacts) -> Result<Source, Error> {
        let named = |name: &Option<String>, of: fn(String) -> Target| name.clone().map(of);
        let target = self.pid.map(Target::Process).or(named(&self.thread, Target::Thread));
        if let Some(target) = target.or(named(&self.unit, Target::Unit)) {
            return Ok(Source::Threads(target));
        }
        let period_ns = self.purposes.first().map(|purpose| purpose.period_ns);
        let usual = TaskSpec::default();
        let usual =
            TaskSpec { period_ns: period_ns.unwrap_or(usual.period_ns), policy: low_policy(facts), ..usual };
        let tasks = self.tasks.specs(vec![usual]);
        tasks.iter().try_for_each(TaskSpec::validate)?;
        Ok(Source::Tasks(tasks))
    }

    fn to_retention(&self) -> Retention {
        let mut retention = Retention { bytes: 2_000_000_000, age: None };
        for keep in &self.keep {
            match *keep {
                KeepLimit::Bytes(bytes) => retention.bytes = bytes,
                KeepLimit::Age(age) => retention.age = Some(age),
            }
        }
        retention
    }

    fn machine_name(&self) -> String {
        let name = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let name = self.machine.clone().or_else(name).unwrap_or_default();
        if name.trim().is_empty() { "unknown".into() } else { name.trim().into() }
    }
}

/// Policy with a priority below those of the machine's own real-time threads; `None` where it has none.
fn low_policy(facts: &SystemFacts) -> Option<Policy> {
    let own = std::process::id();
    let others = facts.real_time_threads.iter().filter(|thread| !thread.kernel && thread.pid != own);
    let least = others.map(|thread| thread.priority).filter(|priority| *priority > 0).min()?;
    format!("fifo:{}", least.saturating_sub(1).max(1)).parse().ok()
}

/// Measures until it is ended.
pub fn execute(args: &Args) -> CommandResult {
    let interrupted = interrupt::listen_for_interrupt()?;
    let facts = facts::read(&facts::Root::system());
    let source = args.to_source(&facts)?;
    let folder = args.folder_args.folder();
    let lock = folder.lock()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let machine = args.machine_name();
    let live = Arc::new(LiveFigures::new(&machine));

    let (messages, received) = mpsc::channel();
    let listeners = Listeners { commands: args.alarm.clone() };
    let listening = {
        let (clock, machine) = (Arc::clone(&clock), machine.clone());
        spawn_named("alarms", move || messages::deliver_messages(&received, &clock, &machine, &listeners))?
    };
    let after_hour = page_writer(args.page.clone(), messages.clone());
    let archive =
        Archive::new(folder.clone(), args.to_retention(), Arc::clone(&clock), messages.clone(), after_hour);
    let end = recover::recover(&folder, &archive, &machine)?;
    let (closed, closed_hours) = mpsc::channel();
    let closing = spawn_named("hours", move || archive.run(&closed_hours))?;
    let address = match args.listen {
        MetricsAddress::Off => None,
        MetricsAddress::At(address) => Some(http::serve(address, Arc::clone(&live))?),
    };
    let default = if nix::unistd::geteuid().is_root() { CauseTimes::AfterSpike } else { CauseTimes::Never };
    let rules = CounterRules {
        machine,
        slice_ns: args.slice,
        purposes: args.purposes.clone(),
        why: args.why.unwrap_or(default),
    };
    let counter = Counter::new(rules, clock, folder.clone(), (closed, messages.clone()), live, end);
    let counter = SharedCounter(Arc::new(Mutex::new(counter)));
    output::print_note(&words::start_text(&source_names(&source), folder.path(), address));
    let mut checks = PeriodicChecks::new(folder, counter.clone(), messages, &facts);
    let measured = measure(&source, &counter, &mut || checks.run_due(), &interrupted);
    checks.manager.report_stopping();
    // The counter's ends of the channels go with it, and with them the threads behind.
    drop((checks, counter));
    let _ = closing.join();
    let _ = listening.join();
    drop(lock);
    measured.map(|()| Status::Fine)
}

fn spawn_named(name: &str, work: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>, Error> {
    let started = thread::Builder::new().name(name.into()).spawn(work);
    started.map_err(|error| Error::refused(format!("cannot start the thread {name}")).because(error))
}

fn page_writer(page: Option<PathBuf>, messages: Sender<Message>) -> Box<dyn FnMut(&Path) + Send> {
    Box::new(move |journal| {
        let Some(page) = page.as_deref().filter(|_| journal.exists()) else { return };
        if let Err(error) = status::write_page(journal, page) {
            let _ = messages.send(Message::Trouble(error.to_string()));
        }
    })
}

fn source_names(source: &Source) -> Vec<String> {
    match source {
        Source::Tasks(tasks) => tasks.iter().map(|task| task.name.clone()).collect(),
        Source::Threads(Target::Process(number)) => vec![number.to_string()],
        Source::Threads(Target::Thread(name) | Target::Unit(name) | Target::Container(name)) => {
            vec![name.clone()]
        }
        Source::Threads(Target::Command(words)) => words.clone(),
    }
}

/// Checks of the journal for the service manager, and of settings that other programs change.
struct PeriodicChecks {
    folder: Folder,
    counter: SharedCounter,
    messages: Sender<Message>,
    manager: ServiceManager,
    last_check: Instant,
    dma_latency_us: Option<u64>,
}

impl PeriodicChecks {
    fn new(folder: Folder, counter: SharedCounter, messages: Sender<Message>, facts: &SystemFacts) -> Self {
        let (manager, last_check) = (ServiceManager::from_environment(), Instant::now());
        let dma_latency_us = facts.power.dma_latency_us;
        PeriodicChecks { folder, counter, messages, manager, last_check, dma_latency_us }
    }

    fn run_due(&mut self) {
        if self.manager.is_due() {
            let (recording, fails) = {
                let counter = self.counter.lock();
                let recording = counter.current_hour().map(|(stream, seq)| self.folder.run_path(stream, seq));
                (recording, counter.journal_failure.is_some())
            };
            // Where nothing runs that could be watched, there is nothing to record.
            let has_nothing = recording.is_none();
            self.manager.report_progress(recording.as_deref().map(journal_path), fails || has_nothing);
        }
        if self.last_check.elapsed() < SETTINGS_INTERVAL {
            return;
        }
        self.last_check = Instant::now();
        let power = facts::read_power(&facts::Root::system());
        if power.dma_latency_us != self.dma_latency_us {
            let Ok(id) = new_stream_id() else { return };
            if !self.counter.lock().change_power(id, &power) {
                return;
            }
            self.dma_latency_us = power.dma_latency_us;
            let holders: Vec<String> = power
                .dma_latency_holders
                .iter()
                .map(|holder| format!("{} ({})", holder.name, holder.pid))
                .collect();
            let _ =
                self.messages.send(Message::Trouble(words::dma_latency_text(power.dma_latency_us, &holders)));
        }
    }
}
