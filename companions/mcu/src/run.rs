//! From a recording of pin edges to an ordinary run: activations of a task, and the run's description.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::require::Requirement;
use jitterlab_model::edge::LevelChange;
use jitterlab_model::firmware::{FirmwareFinding, PinReport};
use jitterlab_model::units::ExactPeriod;
use jitterlab_model::{
    Activation, EdgeKind, Error, Gap, Overrun, RunInfo, StopReason, TaskResult, TaskSpec, Warning,
};
use jitterlab_trace::RunFileWriter;

use jitterlab_chip::{Pin, Stop};

use super::{Recording, disturbance};

/// Task whose activations the edges of a pin are.
#[derive(Debug, Clone, Default)]
pub struct PinTask {
    pub name: String,
    pub pin: usize,
    pub edge: EdgeKind,
    /// Distance of the due times; `None` for the mean distance of the edges.
    pub period: Option<ExactPeriod>,
    /// The cycle at which the program requested its events, if it shows that; the time to the first event is then
    /// reported. Due times count from the first event, since the time before it is a phase and not a latency: a
    /// tick that an alarm waits for.
    pub requested_at: Option<u64>,
    /// Time until which events are due, in ns since reset; `None` for the last event, of a program that ends by itself.
    pub due_until_ns: Option<i64>,
}

/// A simulated run in the common form.
#[derive(Debug, Clone)]
pub struct McuRun {
    pub info: RunInfo,
    /// One record per activation. Event n is activation n: nothing is skipped, so a drifting clock shows as
    /// growing latency.
    pub activations: Vec<Activation>,
    pub pin: Pin,
    /// Its edges in nanoseconds since reset.
    pub edges: Vec<LevelChange<i64>>,
}

impl McuRun {
    /// Creates the run of a pin with fewer than three activations: it missed the due ones, if known how many.
    pub(super) fn from_silent_pin(
        recording: &Recording,
        pin: Pin,
        pin_task: &PinTask,
        duration_ns: i64,
    ) -> Self {
        let period_ns = pin_task.period.map_or(duration_ns, ExactPeriod::rounded_ns);
        let mut info = RunInfo::new(jitterlab_model::Bench::Mcu, "", [task_spec(pin_task, period_ns)]);
        let missed = pin_task.period.map_or(0, |period| period.whole_periods(duration_ns)).unsigned_abs();
        info.tasks[0].result = Some(TaskResult { missed, ..TaskResult::default() });
        info.tasks[0].unknown.extend(pin_task.period.is_none().then_some(Gap::Silent));
        info.tasks[0].unknown.extend(unsimulated_part_gap(recording));
        let of_pin = recording.log.edges.iter().filter(|edge| edge.pin == pin_task.pin);
        let edges: Vec<LevelChange<i64>> =
            of_pin.map(|edge| LevelChange { at: recording.ns(edge.cycle), high: edge.high }).collect();
        let silent = FirmwareFinding::PinSilent { pin: pin.to_string(), edges: edges.len() as u64 };
        info.warnings.push(Warning::Firmware(silent));
        McuRun { info, activations: Vec::new(), pin, edges }
    }

    /// Reads the edges of one pin as activations.
    ///
    /// # Errors
    /// [`FailureCase::Silent`](crate::FailureCase::Silent) with fewer than three activations.
    pub fn new(recording: &Recording, pin: Pin, pin_task: &PinTask) -> Result<Self, Error> {
        let spans = activation_spans(recording, pin_task);
        if spans.len() < 3 {
            let edges = recording.log.edges.iter().filter(|e| e.pin == pin_task.pin).count();
            return Err(recording.silent_pin_error(&pin.to_string(), edges));
        }
        let grid = DueTimeGrid::new(recording, pin_task.period, &spans);
        let activations: Vec<Activation> = (0..)
            .zip(&spans)
            .map(|(index, &(start, end))| Activation {
                index,
                due_ns: grid.due_ns(index),
                start_ns: recording.ns(start),
                end_ns: recording.ns(end),
                ..Activation::default()
            })
            .collect();
        let mut info = run_info(recording, pin_task, &grid, &activations);
        if let Some(report) = &mut info.firmware {
            let starts: Vec<u64> = spans.iter().map(|(start, _)| *start).collect();
            let late = disturbance::find_late_starts(&recording.log, &starts);
            let pulse = |cycles: u64| (pin_task.edge != EdgeKind::Both).then_some(cycles);
            let widths = || spans.iter().map(|(start, end)| end - start);
            report.pins = vec![PinReport {
                task: pin_task.name.clone(),
                pin: pin.to_string(),
                on_board: recording.board_label(pin),
                edge: pin_task.edge,
                period_cycles: (starts[starts.len() - 1] - starts[0], starts.len() as u64 - 1),
                drift_ns: pin_task.period.and(activations.last()).map(Activation::latency_ns),
                pulse_cycles: widths().min().and_then(pulse).zip(widths().max()),
                made_by: late.maker.and_then(|vector| recording.vector_name(vector)),
                disturbed: late.causes.iter().map(|blame| recording.late_start_cause(blame)).collect(),
                late: late.starts,
                unexplained: late.unexplained,
            }];
        }
        let of_pin = recording.log.edges.iter().filter(|edge| edge.pin == pin_task.pin);
        let edges =
            of_pin.map(|edge| LevelChange { at: recording.ns(edge.cycle), high: edge.high }).collect();
        Ok(McuRun { info, activations, pin, edges })
    }
}

/// Due times, exact in cycles, without accumulated rounding.
struct DueTimeGrid {
    hz: u128,
    first: u64,
    /// Cycles from one to the next, as a fraction.
    over: u128,
    under: u128,
}

impl DueTimeGrid {
    /// Creates a grid from the first start on, by a period or the mean distance of the starts.
    fn new(recording: &Recording, period: Option<ExactPeriod>, spans: &[(u64, u64)]) -> Self {
        let hz = u128::from(recording.clock_hz.max(1));
        let [first, last] = [spans[0].0, spans[spans.len() - 1].0];
        let (over, under) = match period.map(ExactPeriod::fraction_ns) {
            Some((over, under)) => {
                (u128::from(over.unsigned_abs()) * hz, u128::from(under.unsigned_abs()) * 1_000_000_000)
            }
            None => (u128::from(last - first), spans.len() as u128 - 1),
        };
        let divisor = greatest_common_divisor(over, under);
        DueTimeGrid { hz, first, over: (over / divisor).max(1), under: under / divisor }
    }

    /// Due time of an activation, rounded to the nearest nanosecond.
    fn due_ns(&self, index: u64) -> i64 {
        let scale = self.hz * self.under;
        let cycles = u128::from(self.first) * self.under + u128::from(index) * self.over;
        ((cycles * 1_000_000_000 + scale / 2) / scale) as i64
    }

    fn period_ns(&self) -> i64 {
        let scale = self.hz * self.under;
        (((self.over * 1_000_000_000 + scale / 2) / scale) as i64).max(1)
    }

    /// Whole periods from the first due time to a moment.
    fn periods_until(&self, ns: i64) -> i64 {
        let first_ns = self.due_ns(0);
        let ahead = u128::from((ns - first_ns).max(0).unsigned_abs());
        (ahead * self.hz * self.under / (self.over * 1_000_000_000)) as i64
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Several pins of one simulated run, one task each.
#[derive(Debug, Clone)]
pub struct McuPins {
    pub info: RunInfo,
    pub pins: Vec<McuRun>,
}

impl From<McuRun> for McuPins {
    fn from(pin: McuRun) -> Self {
        McuPins { info: pin.info.clone(), pins: vec![pin] }
    }
}

impl McuPins {
    /// Joins the pins of one recording; warnings common to all are kept once. `None` without a pin.
    pub fn new(pins: Vec<McuRun>) -> Option<Self> {
        // A silent pin has no report of the firmware.
        let first = pins.iter().position(|pin| pin.info.firmware.is_some()).unwrap_or(0);
        let mut info = pins.get(first)?.info.clone();
        info.tasks.clear();
        for (number, pin) in pins.iter().enumerate() {
            info.tasks.extend(pin.info.tasks.iter().cloned());
            match (&mut info.firmware, &pin.info.firmware) {
                (Some(all), Some(own)) if number != first => all.pins.extend(own.pins.iter().cloned()),
                _ => {}
            }
            for warning in &pin.info.warnings {
                if !info.warnings.contains(warning) {
                    info.warnings.push(warning.clone());
                }
            }
        }
        Some(McuPins { info, pins })
    }

    /// Writes them as a run file, and returns its path.
    pub fn save(&self, path: &Path) -> Result<PathBuf, Error> {
        let mut file = RunFileWriter::create(path, self.pins.len())?;
        for (task, pin) in self.pins.iter().enumerate() {
            file.append(task, &pin.activations)?;
        }
        Ok(file.finish(&self.info)?.path)
    }

    /// Decides the requirements, pin by pin.
    pub fn check_requirements(&self, file: String, requirements: &[Requirement]) -> Outlook {
        let tasks = self.info.tasks.iter().zip(&self.pins);
        let tasks =
            tasks.map(|(task, pin)| TaskOutlook::from_activations(task, &pin.activations, requirements));
        Outlook { file, tasks: tasks.collect(), warnings: Vec::new() }
    }
}

/// Beginning and end of each activation, in cycles.
fn activation_spans(recording: &Recording, pin_task: &PinTask) -> Vec<(u64, u64)> {
    let of_pin = recording.log.edges.iter().filter(|edge| edge.pin == pin_task.pin);
    pin_task.edge.activation_spans(of_pin.map(|edge| LevelChange { at: edge.cycle, high: edge.high }))
}

fn task_spec(pin_task: &PinTask, period_ns: i64) -> TaskSpec {
    TaskSpec { name: pin_task.name.clone(), period_ns, overrun: Overrun::CatchUp, ..TaskSpec::default() }
}

/// True if hardly any distance is off the usual one by more than half.
fn are_distances_regular(apart: &[i64]) -> bool {
    let mut sorted = apart.to_vec();
    sorted.sort_unstable();
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let odd = apart.iter().filter(|one| (*one - usual).abs() * 2 > usual).count();
    odd * 20 <= apart.len()
}

/// Gap left by a part of the chip that the firmware uses and that is not simulated; `None` without one.
fn unsimulated_part_gap(recording: &Recording) -> Option<Gap> {
    let not_simulated =
        |warning: &Warning| matches!(warning, Warning::Firmware(FirmwareFinding::NotSimulated { .. }));
    recording.warnings.iter().any(not_simulated).then_some(Gap::Chip)
}

fn run_info(
    recording: &Recording,
    pin_task: &PinTask,
    grid: &DueTimeGrid,
    activations: &[Activation],
) -> RunInfo {
    let period_ns = grid.period_ns();
    let spec = task_spec(pin_task, period_ns);
    let clock = format!("simulated {}, cycles at {} Hz", recording.mcu, recording.clock_hz);
    let mut info = RunInfo::new(jitterlab_model::Bench::Mcu, &clock, [spec]);
    info.tool = concat!("jitterlab ", env!("CARGO_PKG_VERSION")).into();
    info.command = std::env::args().collect();
    info.started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    info.stop = Some(match recording.log.stop {
        Stop::Cycles | Stop::Crashed { .. } => StopReason::Duration,
        Stop::Edges | Stop::Asleep(_) => StopReason::Count,
    });
    info.firmware = Some(recording.report.clone());
    info.warnings.extend(recording.warnings.iter().cloned());
    info.tasks[0].unknown.extend(unsimulated_part_gap(recording));
    if pin_task.period.is_none() {
        info.warnings.push(Warning::MeanPeriod { period_ns });
    }
    if let (Some(cycle), Some(first)) = (pin_task.requested_at, activations.first()) {
        let after_ns = first.start_ns - recording.ns(cycle);
        info.warnings.push(Warning::FirstEvent { after_ns, period_ns });
    }
    if let (Some(first), Some(last)) = (activations.first(), activations.last()) {
        let executed = activations.len() as u64;
        let due_by_last = grid.periods_until(last.end_ns) + 1;
        // An event due less than a period before the end may still come.
        let due_until = pin_task.due_until_ns.map_or(0, |end| grid.periods_until(end));
        // Without a requested period, a regular pin is silent after more than twice the longest observed distance.
        let apart: Vec<i64> =
            activations.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).collect();
        let longest = apart.iter().max().copied().unwrap_or_default();
        let is_usual = |end: i64| end - last.start_ns <= 2 * longest || !are_distances_regular(&apart);
        let pauses = pin_task.period.is_none() && pin_task.due_until_ns.is_some_and(is_usual);
        let due_until = if pauses { 0 } else { due_until };
        let due_by_then = due_by_last.max(due_until);
        let latencies = || activations.iter().map(Activation::latency_ns);
        info.tasks[0].result = Some(TaskResult {
            executed,
            missed: (due_by_then.max(0) as u64).saturating_sub(executed),
            first_due_ns: first.due_ns,
            last_end_ns: last.end_ns,
            min_latency_ns: latencies().min().unwrap_or_default(),
            max_latency_ns: latencies().max().unwrap_or_default(),
            cpu_time_ns: Some(
                recording.ns(recording.log.cycles - recording.log.asleep_cycles.min(recording.log.cycles)),
            ),
            ..TaskResult::default()
        });
    }
    info
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jitterlab_chip::{Edge, Log};
    use jitterlab_model::firmware::FirmwareSize;

    use super::super::report;
    use super::super::symbols::Symbols;

    use super::*;

    /// 1 MHz, so that a cycle is a microsecond.
    fn recording(edges: &[(u64, bool)]) -> Recording {
        let edges = edges.iter().map(|&(cycle, high)| Edge { cycle, pin: 0, high }).collect();
        let log = Log { edges, stop: Stop::Edges, cycles: 1_000, asleep_cycles: 900, ..Log::default() };
        let names = Symbols::new(None, |_| None);
        let report = report::firmware_report(&log, "atmega128", 1_000_000, FirmwareSize::default(), &names);
        let (mcu, end) = ("atmega128".into(), names.location(0));
        let (warnings, pins, places) = (Vec::new(), Vec::new(), BTreeMap::new());
        Recording { mcu, clock_hz: 1_000_000, log, report, warnings, end, pins, places }
    }

    fn pin() -> Pin {
        "B0".parse().unwrap()
    }

    #[test]
    fn rising_edges_begin_and_falling_ones_end() {
        let r = recording(&[
            (100, true),
            (110, false),
            (201, true),
            (215, false),
            (302, true),
            (310, false),
            (400, true),
        ]);
        let pin_task = PinTask {
            period: Some(100_000.into()),
            requested_at: Some(0),
            name: "alarm".into(),
            ..PinTask::default()
        };
        let run = McuRun::new(&r, pin(), &pin_task).unwrap();
        let latencies: Vec<_> = run.activations.iter().map(Activation::latency_ns).collect();
        assert_eq!(latencies, [0, 1_000, 2_000], "the cut-off fourth one is left out");
        assert_eq!(run.activations[1].execution_ns(), 14_000);
        let result = run.info.tasks[0].result.as_ref().unwrap();
        assert_eq!((result.executed, result.missed, result.first_due_ns), (3, 0, 100_000));
        assert_eq!((result.min_latency_ns, result.max_latency_ns), (0, 2_000));
        assert_eq!(result.cpu_time_ns, Some(100_000));
        assert_eq!(run.info.bench, jitterlab_model::Bench::Mcu);
        assert_eq!(run.info.warnings, [Warning::FirstEvent { after_ns: 100_000, period_ns: 100_000 }]);
    }

    /// A tick that the first event waits for is a phase: with the period of 100 us it comes 201 us after the
    /// request, and is regular from then on.
    #[test]
    fn a_perfect_alarm_misses_nothing_whenever_it_was_asked_for() {
        let edges: Vec<_> =
            (0..50u64).flat_map(|k| [(201 + 100 * k, true), (220 + 100 * k, false)]).collect();
        let pin_task = PinTask { period: Some(100_000.into()), requested_at: Some(0), ..PinTask::default() };
        let run = McuRun::new(&recording(&edges), pin(), &pin_task).unwrap();
        let result = run.info.tasks[0].result.as_ref().unwrap();
        assert_eq!((result.executed, result.missed, result.max_latency_ns), (50, 0, 0));
        assert!(run.info.warnings.contains(&Warning::FirstEvent { after_ns: 201_000, period_ns: 100_000 }));
    }

    #[test]
    fn without_a_period_the_mean_is_taken_and_said() {
        let r = recording(&[(0, true), (99, false), (201, true), (300, false)]);
        let run = McuRun::new(&r, pin(), &PinTask { edge: EdgeKind::Both, ..PinTask::default() }).unwrap();
        assert_eq!(run.info.tasks[0].spec.period_ns, 100_000);
        assert_eq!(run.activations[1].latency_ns(), -1_000);
        assert_eq!(run.info.warnings[0], Warning::MeanPeriod { period_ns: 100_000 });
    }

    /// Of a pin that moves now and then nothing is due after its last edge; of a regular one it is, a stumble or not.
    #[test]
    fn without_a_period_only_a_regular_pin_falls_silent() {
        let missed = |steps: &[u64]| {
            let begins = steps.iter().scan(0, |at, step| {
                *at += step;
                Some(*at)
            });
            let edges: Vec<_> = begins.flat_map(|at| [(at, true), (at + 1, false)]).collect();
            let pin_task = PinTask { due_until_ns: Some(100_000_000), ..PinTask::default() };
            let run = McuRun::new(&recording(&edges), pin(), &pin_task).unwrap();
            run.info.tasks[0].result.as_ref().unwrap().missed
        };
        let mut steps = vec![100; 50];
        assert!(missed(&steps) > 900);
        // The stumble makes the mean period longer, and the missed fewer.
        steps[30] = 350;
        assert!(missed(&steps) > 850);
        let serial: Vec<u64> = (0..50).map(|n| [100, 200, 300, 900][n % 4]).collect();
        assert_eq!(missed(&serial), 0);
    }

    #[test]
    fn events_that_fall_behind_are_missed_at_the_end() {
        let r = recording(&[(100, true), (110, false), (300, true), (310, false), (500, true), (510, false)]);
        let pin_task = PinTask { period: Some(100_000.into()), requested_at: Some(0), ..PinTask::default() };
        let result = McuRun::new(&r, pin(), &pin_task).unwrap().info.tasks[0].result.clone().unwrap();
        assert_eq!((result.executed, result.missed), (3, 2));
    }

    #[test]
    fn a_silent_pin_is_named() {
        let error =
            McuRun::new(&recording(&[(5, true)]), pin(), &PinTask::default()).unwrap_err().to_string();
        assert!(error.contains("B0") && error.contains("0.001 s"), "{error}");
    }
}
