//! Whatever holds a run: its bytes, and the values in it.

use std::path::Path;
use std::sync::LazyLock;

use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::require::Requirement;
use jitterlab_analysis::task_analysis::AnalysisSection;
use jitterlab_model::bounds::{check_description, check_numbers, check_times};
use jitterlab_model::distribution::Distribution;
use jitterlab_model::{
    Activation, Bench, EdgeKind, Flags, Keep, RunInfo, TaskResult, TaskRun, TaskSpec, TimingStats,
};
use jitterlab_motion::servo::{AssessmentOptions, Design, Plant, ServoResult, SingleTaskLoop};
use jitterlab_motion::stepper::{Axis, AxisFacts, Motor, StepperQuestion};
use jitterlab_motion::{JudgedRun, catalog};
use jitterlab_report::chart::Terminal;
use jitterlab_report::document::{self, Extent};
use jitterlab_report::page;
use jitterlab_runs::{CaptureHints, CompareOptions, Hints, OneTask, PacketFilter, Run, compare};
use jitterlab_trace::{RunFileWriter, RunReader, recover_to};

use super::{file, lot};

const TERMINAL: Terminal = Terminal { columns: 80, ascii: false, colour: false };

/// All activations of a run through to their quantiles; what takes long: everything that is said of it.
pub(super) fn through(path: &Path, data: &[u8], long: bool) {
    // Every other input with what a user says of a capture.
    let capture = CaptureHints {
        raw: false,
        edge: if data.len().is_multiple_of(3) { EdgeKind::Both } else { EdgeKind::Rising },
        packets: data.len().is_multiple_of(2).then_some(PacketFilter::Udp(27_181)),
        ..CaptureHints::default()
    };
    let hints = Hints { periods_ns: vec![1_000_000], capture, ..Hints::default() };
    let Ok(run) = Run::open(path, &hints) else { return };
    for stats in run.timing().map(|stats| stats.into_parts().0).unwrap_or_default() {
        quantiles(&stats.latency);
    }
    if !long {
        return;
    }
    let Ok(analysis) = run.analysis(None, AnalysisSection::ALL.to_vec(), true, None) else { return };
    assert!(!document::terminal_text(&analysis, Extent::Details, TERMINAL).is_empty());
    match lot(data) % 6 {
        0 => pages(&run),
        1 => predictions(&run),
        2 => comparison(path, run),
        3 => servo(run),
        4 => stepper(run),
        _ => drop(document::to_json(&analysis).expect("every result is JSON")),
    }
}

fn quantiles(values: &Distribution) {
    let known: Vec<i64> =
        [0.0, 0.5, 0.99, 0.9999, 1.0].iter().filter_map(|p| values.quantile_ns(*p)).collect();
    assert!(known.is_sorted(), "quantiles rise: {known:?}");
    let (min, max) = (values.min_ns(), values.max_ns());
    assert!(known.iter().all(|q| min.is_none_or(|min| min <= *q) && max.is_none_or(|max| *q <= max)));
}

fn pages(run: &Run) {
    if let Ok(runs) = page::read_page_runs(std::slice::from_ref(run), None) {
        let html = page::render(&runs, &[]).expect("every run has a page");
        assert!(html.trim_end().ends_with("</html>"));
    }
}

fn predictions(run: &Run) {
    let Ok(scans) = run.scan() else { return };
    let (scans, _) = scans.into_parts();
    let requirements = ["p99.99 < 80us", "missed < 1e-3", "response max < 1ms", "period-error p99 < 10us"];
    let requirements: Vec<Requirement> = requirements.iter().filter_map(|text| text.parse().ok()).collect();
    let _ = run.breaches(&requirements.iter().collect::<Vec<_>>());
    for (task, scan) in scans.iter().enumerate() {
        let _ = Prediction::new(scan, &run.info().tasks[task], run.info(), None);
        let _ = run.backtest(task, 1_000_000_000);
    }
}

fn comparison(path: &Path, run: Run) {
    let Ok(again) = Run::open(path, &Hints::default()) else { return };
    let options = CompareOptions { anyway: true, ..CompareOptions::default() };
    if let Ok(compared) = compare(&[run, again], &[], options) {
        let _ = document::terminal_text(&compared, Extent::Details, TERMINAL);
    }
}

fn servo(run: Run) {
    let Ok(task) = OneTask::new(run, None, |spec| spec.period_ns) else { return };
    let Ok(rows) = task.rows_around_worst(500, 500) else { return };
    let (Ok(trace), Ok(plant)) = (task.activations(rows), catalog::known_device::<Plant>("dc-servo")) else {
        return;
    };
    let period_ns = task.stats.period_ns();
    let question = SingleTaskLoop::new(plant, period_ns);
    let _ = ServoResult::under_run(
        &question,
        JudgedRun::from_task(&task),
        &trace[..],
        &AssessmentOptions::default(),
    );
    let _ = Design::parse("pd:1:0.01", 1);
}

fn stepper(run: Run) {
    let Ok(task) = OneTask::new(run, None, |spec| spec.period_ns) else { return };
    let Ok(motor) = catalog::known_device::<Motor>("as1050") else { return };
    let facts = AxisFacts { voltage_v: Some(48.0), ..AxisFacts::default() };
    let Ok(axis) = Axis::new(motor, None, facts) else { return };
    let Ok(question) = StepperQuestion::new(axis, None, None) else { return };
    let _ = question.under_run(JudgedRun::from_task(&task), &task.stats);
}

/// The bytes of a run file.
pub fn run_file(folder: &Path, data: &[u8], long: bool) {
    let path = file(folder, "run.parquet", data);
    if let Ok(reader) = RunReader::open(&path) {
        for number in 0..reader.row_groups().len().min(64) {
            let _ = reader.visit_row_group(number, jitterlab_trace::Columns::ALL, |_| ());
        }
        through(&path, data, long);
    }
}

/// The bytes of a journal. Most get the checksums that belong to them: else nothing behind these would ever be tried.
pub fn journal(folder: &Path, data: &[u8], long: bool) {
    let mut sealed = data.to_vec();
    if !data.len().is_multiple_of(4) {
        seal(&mut sealed);
    }
    let path = file(folder, "run.parquet.part", &sealed);
    through(&path, data, long);
    let target = folder.join("recovered.parquet");
    if long && recover_to(&path, Some(&target), |_, _| ()).is_ok() {
        RunReader::open(&target).expect("what was recovered can be read");
        std::fs::remove_file(&target).expect("the file is there");
    }
}

/// Puts the right checksum into each frame: docs/formats/run-file.md.
fn seal(journal: &mut [u8]) {
    let mut at = 16;
    while let Some(frame) = journal.get_mut(at..).filter(|rest| rest.len() >= 20) {
        let (header, payload) = frame.split_at_mut(20);
        let length = u32::from_le_bytes([header[12], header[13], header[14], header[15]]) as usize;
        let Some(payload) = payload.get(..length) else { return };
        let checksum = crc32(header[..16].iter().chain(payload));
        header[16..].copy_from_slice(&checksum.to_le_bytes());
        at += 20 + length;
    }
}

/// CRC-32 as in IEEE 802.3.
pub(super) fn crc32<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    static OF_BYTES: LazyLock<[u32; 256]> = LazyLock::new(|| {
        let bit = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        std::array::from_fn(|byte| (0..8).fold(byte as u32, bit))
    });
    let of_bytes = &*OF_BYTES;
    !bytes.fold(!0, |crc, byte| crc >> 8 ^ of_bytes[usize::from(crc as u8 ^ byte)])
}

/// What another tool printed; the first byte tells the file's name, which some formats are told by.
pub fn import(folder: &Path, data: &[u8], long: bool) {
    let Some((name, content)) = data.split_first() else { return };
    let name = ["output.txt", "results.json", "samples.raw", ".latency"][usize::from(*name) % 4];
    through(&file(folder, name, content), data, long);
}

/// Numbers and rows out of bytes.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number of any size: mostly a small one.
    fn number(&mut self) -> i64 {
        let size = self.byte();
        let low = i64::from(self.byte()) << 8 | i64::from(self.byte());
        let sign = if size & 0x80 == 0 { 1 } else { -1 };
        match size & 0x7f {
            shift @ 0..=0x2e => sign * (low << shift),
            0x2f => sign * i64::MAX,
            _ => sign * low,
        }
    }
}

/// A run of any values; what takes long: through the file.
pub fn values(folder: &Path, data: &[u8], long: bool) {
    let mut bytes = Bytes(data);
    let tasks = usize::from(bytes.byte() % 3);
    let mut info = RunInfo::new(Bench::Host, "monotonic", (0..tasks).map(|_| TaskSpec::default()));
    let mut rows: Vec<Vec<Activation>> = Vec::new();
    for (number, task) in info.tasks.iter_mut().enumerate() {
        *task = described(&mut bytes, number);
        rows.push(activations(&mut bytes, task.spec.period_ns));
    }
    if bytes.byte() == 1 {
        info.keep = Keep::Spikes { above_ns: bytes.number() };
    }
    info.duration_ns = Some(bytes.number()).filter(|ns| *ns != 0);
    if check_description(&info).is_ok() {
        info.tasks.iter().zip(&rows).for_each(|(task, rows)| counted(task.spec.period_ns, rows));
    }
    if long {
        through_a_file(folder, data, &info, &rows);
    }
}

/// What a reader does with rows once it has decoded them.
fn counted(period_ns: i64, rows: &[Activation]) {
    if check_times(rows).is_ok() && check_numbers(rows, None).is_ok() {
        let mut stats = TimingStats::new(period_ns);
        stats.push_all(rows);
        for values in [&stats.latency, &stats.period_error, &stats.cycle_to_cycle, &stats.execution] {
            quantiles(values);
        }
    }
}

fn through_a_file(folder: &Path, data: &[u8], info: &RunInfo, rows: &[Vec<Activation>]) {
    let path = folder.join("values.parquet");
    let _ = std::fs::remove_file(&path);
    let mut writer = RunFileWriter::create(&path, rows.len()).expect("a temporary file");
    for (task, rows) in rows.iter().enumerate() {
        writer.append(task, rows).expect("room");
    }
    writer.finish(info).expect("room");
    through(&path, data, true);
}

fn described(bytes: &mut Bytes<'_>, number: usize) -> TaskRun {
    let period_ns = match bytes.number() {
        0 => 1_000_000,
        other => other,
    };
    let mut task =
        TaskRun::new(TaskSpec { name: format!("task {number}"), period_ns, ..TaskSpec::default() });
    if bytes.byte() % 4 == 1 {
        task.result = Some(TaskResult {
            executed: bytes.number() as u64,
            missed: bytes.number() as u64,
            dropped: bytes.number() as u64,
            first_due_ns: bytes.number(),
            last_end_ns: bytes.number(),
            min_latency_ns: bytes.number(),
            max_latency_ns: bytes.number(),
            cpu_time_ns: Some(bytes.number()),
            ..TaskResult::default()
        });
    }
    task
}

/// Up to some thousand rows: single ones with values of their own, and stretches that go on from them.
fn activations(bytes: &mut Bytes<'_>, period_ns: i64) -> Vec<Activation> {
    let mut rows = Vec::new();
    let mut next = Activation::default();
    for _ in 0..bytes.byte() % 32 {
        let kind = bytes.byte();
        let value = bytes.number();
        match kind % 8 {
            0 => next.index = next.index.wrapping_add(value as u64),
            1 => next.due_ns = next.due_ns.wrapping_add(value),
            2 => next.missed = value as u32,
            3 => (next.flags, next.cpu) = (Flags(value as u16), (value >> 16) as u16),
            _ => {}
        }
        let (late, work) = (bytes.number(), bytes.number());
        let scatter = bytes.byte();
        let length = match bytes.byte() {
            250.. => 1_000,
            short => 1 + u64::from(short) / 16,
        };
        for k in 0..length {
            let noise = (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i64 & i64::from(scatter) << 8;
            next.start_ns = next.due_ns.wrapping_add(late).wrapping_add(noise);
            next.end_ns = next.start_ns.wrapping_add(work);
            rows.push(next);
            next.index = next.index.wrapping_add(1 + u64::from(next.missed));
            next.due_ns = next.due_ns.wrapping_add(period_ns.wrapping_mul(1 + i64::from(next.missed)));
            if kind & 0x10 == 0 {
                next.missed = 0;
            }
        }
    }
    rows
}
