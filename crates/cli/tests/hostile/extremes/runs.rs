//! Runs of few rows with values at the limits of the possible, and beyond.

use std::path::Path;

use jitterlab_model::bounds::{COUNT, INDEX, LATEST_NS, SPAN_NS};
use jitterlab_model::{
    Activation, Bench, Error, Flags, Keep, MarginUsed, RunInfo, TaskResult, TaskRun, TaskSpec, Warning,
};
use jitterlab_trace::{RunFileWriter, RunWriter};

/// A run's description, and each task's rows.
#[derive(Clone)]
pub struct Described {
    pub info: RunInfo,
    pub rows: Vec<Vec<Activation>>,
}

const MS: i64 = 1_000_000;
const ROWS: u64 = 3_000;

fn row(k: u64, period_ns: i64) -> Activation {
    let due_ns = k as i64 * period_ns;
    let late = 2_000 + (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as i64;
    let start_ns = due_ns + late;
    Activation { index: k, due_ns, start_ns, end_ns: start_ns + 500, ..Activation::default() }
}

fn of_tasks(count: usize, rows: u64) -> Described {
    let name = |n: usize| TaskSpec { name: format!("task {n}"), period_ns: MS, ..TaskSpec::default() };
    let info = RunInfo::new(Bench::Host, "monotonic", (0..count).map(name));
    let rows = (0..rows).map(|k| row(k, MS)).collect();
    Described { info, rows: vec![rows; count] }
}

/// One task, late by some microseconds.
pub fn usual() -> Described {
    of_tasks(1, ROWS)
}

/// The usual run with every row changed.
fn each(change: impl Fn(u64, &mut Activation)) -> Described {
    let mut run = usual();
    for (k, a) in (0..).zip(&mut run.rows[0]) {
        change(k, a);
    }
    run
}

fn with_period(period_ns: i64, rows_too: bool) -> Described {
    let mut run = usual();
    run.info.tasks[0].spec.period_ns = period_ns;
    if rows_too {
        let most = (LATEST_NS / period_ns.max(1)).min(ROWS as i64);
        run.rows[0] = (0..most as u64).map(|k| row(k, period_ns)).collect();
    }
    run
}

fn with_result(result: TaskResult) -> Described {
    let mut run = usual();
    run.info.tasks[0].result = Some(result);
    run
}

fn described(change: impl Fn(&mut RunInfo, &mut TaskRun)) -> Described {
    let mut run = usual();
    let mut task = run.info.tasks.remove(0);
    change(&mut run.info, &mut task);
    run.info.tasks.push(task);
    run
}

/// A row moved in time, with all its times.
fn later(a: &mut Activation, ns: i64) {
    (a.due_ns, a.start_ns, a.end_ns) = (a.due_ns + ns, a.start_ns + ns, a.end_ns + ns);
}

pub fn extremes() -> Vec<(&'static str, Described)> {
    let one = |at: u64, change: fn(&mut Activation)| {
        each(move |k, a| {
            if k == at {
                change(a);
            }
        })
    };
    let few = |rows: u64| of_tasks(1, rows);
    let long = "n".repeat(1 << 20);
    vec![
        ("nothing", few(0)),
        ("one-row", few(1)),
        ("two-rows", few(2)),
        ("no-task", of_tasks(0, 0)),
        ("missed-once", one(1_500, |a| a.missed = u32::MAX)),
        ("missed-always", each(|_, a| a.missed = u32::MAX)),
        ("missed-after-long", one(9, |a| (a.missed, a.end_ns) = (u32::MAX, a.end_ns + SPAN_NS / 2))),
        ("period-0", with_period(0, false)),
        ("period-negative", with_period(-MS, false)),
        ("period-1", with_period(1, false)),
        ("period-1-rows", with_period(1, true)),
        ("period-longest", with_period(SPAN_NS, false)),
        ("period-longest-rows", with_period(SPAN_NS, true)),
        ("period-beyond", with_period(i64::MAX, false)),
        ("gap", each(|k, a| later(a, if k > 1_000 { 100_000_000_000_000 } else { 0 }))),
        ("gap-on-grid", each(|k, a| (a.index, a.due_ns) = (k + (k / 1_500) * 100_000_000, a.due_ns))),
        ("far-apart", each(|k, a| (a.index, a.flags) = (k * (INDEX / ROWS), Flags::AFTER_GAP))),
        ("index-limit", each(|k, a| a.index = INDEX - ROWS + k)),
        ("index-beyond", each(|k, a| a.index = u64::MAX - ROWS + k)),
        ("late-once", one(7, |a| (a.start_ns, a.end_ns) = (a.due_ns + SPAN_NS, a.due_ns + SPAN_NS))),
        ("late-always", each(|_, a| (a.start_ns, a.end_ns) = (a.due_ns + SPAN_NS, a.due_ns + SPAN_NS))),
        ("early-always", each(|_, a| (a.start_ns, a.end_ns) = (a.due_ns - SPAN_NS / 8, a.due_ns))),
        (
            "early-and-late",
            each(|k, a| {
                let far = if k % 2 == 0 { SPAN_NS / 8 } else { -SPAN_NS / 8 };
                (a.start_ns, a.end_ns) = (a.due_ns + far, a.due_ns + far);
            }),
        ),
        ("works-for-years", each(|_, a| a.end_ns = a.start_ns + SPAN_NS)),
        ("works-backwards", each(|_, a| a.end_ns = a.start_ns - 1_000_000)),
        ("beyond-years", each(|_, a| a.end_ns = i64::MAX)),
        ("latest", each(|_, a| later(a, LATEST_NS - ROWS as i64 * MS))),
        ("beyond-latest", each(|_, a| later(a, i64::MAX - 2 * ROWS as i64 * MS))),
        ("before-all", each(|_, a| later(a, i64::MIN / 2))),
        ("all-at-once", each(|_, a| *a = Activation { index: a.index, ..Activation::default() })),
        ("never-late", each(|_, a| (a.start_ns, a.end_ns) = (a.due_ns, a.due_ns))),
        (
            "due-reversed",
            each(|k, a| {
                let due_ns = (ROWS - k) as i64 * MS;
                (a.due_ns, a.start_ns, a.end_ns) = (due_ns, due_ns + 5_000, due_ns + 6_000);
            }),
        ),
        ("index-reversed", each(|k, a| a.index = ROWS - k)),
        ("index-same", each(|_, a| a.index = 7)),
        ("all-flags", each(|_, a| (a.flags, a.cpu) = (Flags(u16::MAX), u16::MAX))),
        ("other-cpu-each-time", each(|k, a| a.cpu = k as u16 * 21)),
        ("many-tasks-empty", of_tasks(20_000, 0)),
        ("many-tasks", of_tasks(20_000, 1)),
        ("some-tasks", of_tasks(200, 40)),
        (
            "counters-large",
            with_result(TaskResult {
                executed: INDEX,
                missed: INDEX,
                dropped: INDEX,
                last_end_ns: LATEST_NS,
                max_latency_ns: SPAN_NS,
                polled_ns: LATEST_NS,
                minor_faults: Some(u64::MAX),
                voluntary_switches: Some(u64::MAX),
                cpu_time_ns: Some(i64::MAX),
                clock_steps: u64::MAX,
                ..TaskResult::default()
            }),
        ),
        (
            "counters-contradict",
            with_result(TaskResult {
                executed: COUNT,
                first_due_ns: 9,
                last_end_ns: -9,
                min_latency_ns: 5,
                max_latency_ns: -5,
                ..TaskResult::default()
            }),
        ),
        (
            "margins",
            with_result(TaskResult {
                margin: Some(MarginUsed {
                    samples: u64::MAX,
                    course: (0..1_000).map(|k| (i64::MAX - k, i64::MIN + k)).collect(),
                }),
                executed: 1,
                ..TaskResult::default()
            }),
        ),
        ("long-name", described(|_, task| task.spec.name.clone_from(&long))),
        ("no-name", described(|_, task| task.spec.name.clear())),
        (
            "many-warnings",
            described(|info, _| {
                info.warnings = (0..5_000)
                    .map(|n| Warning::RecordingEnded { reason: format!("{n} {}", "w".repeat(99)) })
                    .collect();
            }),
        ),
        (
            "asked-for-ever",
            described(|info, task| {
                (info.duration_ns, info.count, info.stop_above_ns) =
                    (Some(i64::MAX), Some(u64::MAX), Some(i64::MIN));
                task.spec.offset_ns = i64::MIN;
            }),
        ),
        (
            "spikes-missed",
            Described {
                info: RunInfo { keep: Keep::Spikes { above_ns: 1 }, ..usual().info },
                ..each(|_, a| a.missed = u32::MAX)
            },
        ),
        (
            "spikes-late",
            Described {
                info: RunInfo { keep: Keep::Spikes { above_ns: i64::MAX }, ..usual().info },
                ..each(|_, a| (a.start_ns, a.end_ns) = (a.due_ns + SPAN_NS, a.due_ns + SPAN_NS))
            },
        ),
        (
            "spikes-far-apart",
            Described {
                info: RunInfo { keep: Keep::Spikes { above_ns: 1 }, ..usual().info },
                ..each(|k, a| later(a, k as i64 * (LATEST_NS / ROWS as i64 / 2)))
            },
        ),
    ]
}

/// Writes a run file, if the writer takes the rows.
pub fn write(folder: &Path, name: &str, run: &Described) -> bool {
    if run.info.keep != Keep::All {
        let Ok(writer) = record(folder, name, run) else { return false };
        return writer.finish(run.info.clone()).is_ok();
    }
    let mut writer = RunFileWriter::create(folder.join(name), run.rows.len()).unwrap();
    let taken = run.rows.iter().enumerate().all(|(task, rows)| writer.append(task, rows).is_ok());
    taken && writer.finish(&run.info).is_ok()
}

fn record(folder: &Path, name: &str, run: &Described) -> Result<RunWriter, Error> {
    let mut writer = RunWriter::create(folder.join(name), &run.info)?;
    for (task, rows) in run.rows.iter().enumerate() {
        writer.append(task, rows)?;
    }
    Ok(writer)
}

/// Leaves the journal of a run that was not closed.
pub fn leave_journal(folder: &Path, name: &str, run: &Described) -> String {
    drop(record(folder, name, run).unwrap());
    format!("{name}.part")
}
