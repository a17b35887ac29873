//! Metrics that Prometheus scrapes: counters since this program began, from zero.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jitterlab_analysis::Summary;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::purposes::Measure;
use jitterlab_analysis::verdict::Verdict;
use jitterlab_fleet::limit_counts::StartLimit;
use jitterlab_model::causes::Cause;
use jitterlab_model::histogram::upper_edge;
use jitterlab_model::{Distribution, Fitness, RunInfo, TimingStats};
use jitterlab_report::export::exposition::{Dialect, Exposition, MetricType};

use crate::alarms::other_causes;
use crate::words::metrics as words;

/// Causes at most that have a series of their own; the others share one.
const MOST_CAUSES: usize = 20;

/// Figures of a task since this program began.
#[derive(Debug, Clone)]
pub struct LiveTask {
    pub name: String,
    /// Limits in force.
    pub limits: Vec<StartLimit>,
    /// Starts above each limit.
    pub above: Vec<u64>,
    /// Figures until the hour that is measured.
    pub stats: TimingStats,
    /// Activations without a record.
    pub lost: u64,
    /// Largest latency of the hour that is measured.
    pub max_ns: Option<i64>,
    /// Last start, in Unix time.
    pub last_start_ns: Option<i64>,
    /// Starts above a limit by cause.
    pub causes: BTreeMap<Option<Cause>, u64>,
}

#[derive(Debug, Default)]
struct LiveState {
    machine: String,
    info: Option<RunInfo>,
    tasks: Vec<LiveTask>,
}

/// Figures that are scraped while they are counted.
#[derive(Debug, Default)]
pub struct LiveFigures(Mutex<LiveState>);

impl LiveFigures {
    pub fn new(machine: &str) -> Self {
        LiveFigures(Mutex::new(LiveState { machine: machine.into(), ..LiveState::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to count tasks; one that was counted before goes on.
    pub fn begin_tasks(&self, info: &RunInfo, limits: &[Vec<StartLimit>]) {
        let mut state = self.lock();
        for (task, limits) in info.tasks.iter().zip(limits) {
            if state.tasks.iter().all(|known| known.name != task.spec.name) {
                state.tasks.push(LiveTask {
                    name: task.spec.name.clone(),
                    limits: limits.clone(),
                    above: vec![0; limits.len()],
                    stats: TimingStats::new(task.spec.period_ns),
                    lost: 0,
                    max_ns: None,
                    last_start_ns: None,
                    causes: BTreeMap::from([(None, 0)]),
                });
            }
        }
        state.info = Some(info.clone());
    }

    /// Changes the figures of a task, if it is known.
    pub fn update_task(&self, task: &str, count: impl FnOnce(&mut LiveTask)) {
        if let Some(task) = self.lock().tasks.iter_mut().find(|known| known.name == task) {
            count(task);
        }
    }

    /// Counts a start above a limit by its cause.
    pub fn count_cause(&self, task: &str, cause: Option<&Cause>) {
        self.update_task(task, |task| {
            let cause = cause.cloned();
            let is_one_too_many = task.causes.len() >= MOST_CAUSES && !task.causes.contains_key(&cause);
            *task.causes.entry(if is_one_too_many { Some(other_causes()) } else { cause }).or_default() += 1;
        });
    }

    /// All figures in Prometheus' text format.
    ///
    /// # Errors
    /// Never in practice: it is written into memory.
    pub fn exposition(&self) -> io::Result<String> {
        let state = self.lock();
        let mut bytes = Vec::new();
        let text = &mut Exposition::new(&mut bytes, Dialect::Classic);
        let machine = &*state.machine;
        if let Some(info) = &state.info {
            let kernel = info.facts_before.as_ref().and_then(|facts| facts.kernel.release.as_deref());
            let labels =
                [("machine", machine), ("kernel", kernel.unwrap_or_default()), ("version", &*info.tool)];
            text.begin_family("jitterlab", MetricType::Info, words::INFO)?;
            text.write_sample("jitterlab_info", &labels, 1.0)?;
        }
        write_counters(text, machine, &state.tasks)?;
        write_histogram(text, "jitterlab_latency_seconds", words::LATENCY, machine, &state.tasks, |stats| {
            stats.latency.clone()
        })?;
        let corrected = |stats: &TimingStats| {
            let mut all = stats.latency.clone();
            all.merge(&stats.missed_ages);
            all
        };
        write_histogram(
            text,
            "jitterlab_corrected_latency_seconds",
            words::CORRECTED,
            machine,
            &state.tasks,
            corrected,
        )?;
        write_verdicts(text, machine, &state)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn write_counters(text: &mut Exposition<'_>, machine: &str, tasks: &[LiveTask]) -> io::Result<()> {
    type Count = fn(&LiveTask) -> u64;
    let counts: [(&str, &str, Count); 3] = [
        ("jitterlab_activations", words::ACTIVATIONS, |task| task.stats.executed()),
        ("jitterlab_missed", words::MISSED, |task| task.stats.least_missed()),
        ("jitterlab_lost", words::LOST, |task| task.lost),
    ];
    for (name, help, count) in counts {
        text.begin_family(name, MetricType::Counter, help)?;
        for task in tasks {
            let labels = [("machine", machine), ("task", &*task.name)];
            text.write_sample(&format!("{name}_total"), &labels, count(task) as f64)?;
        }
    }
    text.begin_family("jitterlab_above_limit", MetricType::Counter, words::ABOVE)?;
    for task in tasks {
        for (limit, above) in
            task.limits.iter().zip(&task.above).filter(|(limit, _)| limit.measure != Measure::Missed)
        {
            let edge = format_seconds(limit.limit_ns);
            let labels =
                [("machine", machine), ("task", &*task.name), ("purpose", limit.purpose), ("limit", &*edge)];
            text.write_sample("jitterlab_above_limit_total", &labels, *above as f64)?;
        }
    }
    text.begin_family("jitterlab_late_by_cause", MetricType::Counter, words::CAUSES)?;
    for task in tasks {
        for (cause, times) in &task.causes {
            let class = crate::words::class_id(cause.as_ref());
            let who = cause.as_ref().and_then(|cause| cause.who.as_deref()).unwrap_or_default();
            let labels = [("machine", machine), ("task", &*task.name), ("class", &*class), ("who", who)];
            text.write_sample("jitterlab_late_by_cause_total", &labels, *times as f64)?;
        }
    }
    type Value = fn(&LiveTask) -> Option<f64>;
    let gauges: [(&str, &str, Value); 2] = [
        ("jitterlab_max_latency_seconds", words::MAX, |task| Some(task.max_ns? as f64 / 1e9)),
        ("jitterlab_last_activation_timestamp_seconds", words::LAST, |task| {
            Some(task.last_start_ns? as f64 / 1e9)
        }),
    ];
    for (name, help, value) in gauges {
        text.begin_family(name, MetricType::Gauge, help)?;
        for (task, value) in tasks.iter().filter_map(|task| Some((task, value(task)?))) {
            text.write_sample(name, &[("machine", machine), ("task", &*task.name)], value)?;
        }
    }
    Ok(())
}

/// Upper edges of buckets: eight an octave from 1 µs to 16 ms, each a bin's, so that counts are exact.
fn bucket_edges_ns() -> Vec<i64> {
    let octaves =
        (0..14).flat_map(|octave| (0..8).map(move |part| (1_000 << octave) + (125 << octave) * part));
    octaves.map(upper_edge).collect()
}

fn write_histogram(
    text: &mut Exposition<'_>,
    name: &str,
    help: &str,
    machine: &str,
    tasks: &[LiveTask],
    of: impl Fn(&TimingStats) -> Distribution,
) -> io::Result<()> {
    text.begin_family(name, MetricType::Histogram, help)?;
    for task in tasks {
        let distribution = of(&task.stats);
        let labels = [("machine", machine), ("task", &*task.name)];
        // Starts up to a limit were counted one by one; of missed due times only bins are known.
        let of_starts = distribution.count() == task.stats.latency.count();
        let exact = task.limits.iter().zip(&task.above);
        let exact = exact.filter(|(limit, _)| of_starts && limit.measure == Measure::Latency);
        let mut counts: BTreeMap<i64, u64> = exact
            .map(|(limit, above)| (limit.limit_ns, distribution.count().saturating_sub(*above)))
            .collect();
        let (mut below, mut bins) = (0, distribution.bins().peekable());
        for edge_ns in bucket_edges_ns() {
            while let Some(bin) = bins.next_if(|bin| bin.high_ns <= edge_ns) {
                below += bin.count;
            }
            counts.entry(edge_ns).or_insert(below);
        }
        let bucket = format!("{name}_bucket");
        for (edge_ns, below) in counts {
            let edge = format_seconds(edge_ns);
            text.write_sample(&bucket, &[&labels[..], &[("le", &*edge)]].concat(), below as f64)?;
        }
        let all = distribution.count() as f64;
        text.write_sample(&bucket, &[&labels[..], &[("le", "+Inf")]].concat(), all)?;
        text.write_sample(
            &format!("{name}_sum"),
            &labels,
            distribution.mean_ns().unwrap_or(0.0) * all / 1e9,
        )?;
        text.write_sample(&format!("{name}_count"), &labels, all)?;
    }
    Ok(())
}

/// Writes the fitness of the machine for each purpose, as far as it is known.
fn write_verdicts(text: &mut Exposition<'_>, machine: &str, state: &LiveState) -> io::Result<()> {
    text.begin_family("jitterlab_verdict", MetricType::Gauge, words::VERDICT)?;
    let Some(info) = &state.info else { return Ok(()) };
    let stats: Vec<TimingStats> = info
        .tasks
        .iter()
        .filter_map(|task| state.tasks.iter().find(|live| live.name == task.spec.name))
        .map(|live| live.stats.clone())
        .collect();
    let measured = MeasuredRun::new(info.clone(), &stats, None);
    let tasks: Vec<(&Summary, Option<f64>)> = measured.summaries().map(|summary| (summary, None)).collect();
    let verdict = Verdict::from_run(info, &tasks, None);
    for purpose in verdict.iter().flat_map(|verdict| &verdict.purposes) {
        let value = match purpose.fitness {
            Fitness::Good => 1.0,
            Fitness::Limited => 0.5,
            Fitness::Unfit => 0.0,
            Fitness::CannotTell => continue,
        };
        text.write_sample(
            "jitterlab_verdict",
            &[("machine", machine), ("purpose", &*purpose.purpose)],
            value,
        )?;
    }
    Ok(())
}

fn format_seconds(ns: i64) -> String {
    format!("{}", ns as f64 / 1e9)
}
