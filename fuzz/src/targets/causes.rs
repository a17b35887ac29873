//! Why activations were late, as run files keep it.

use std::io::sink;
use std::path::Path;

use jitterlab_analysis::causes::{ListedEvents, RunWhy};
use jitterlab_model::{Activation, Bench, RunCauses, RunInfo, TaskSpec};
use jitterlab_report::chart::Terminal;
use jitterlab_report::document::{self, Document, Extent};
use jitterlab_report::export::{ExportOptions, Format};
use jitterlab_report::page;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::RunFileWriter;

/// More tasks than that say nothing new.
const TASKS: usize = 4;

/// As a table and as JSON; what takes long: through a run file.
pub fn causes(folder: &Path, data: &[u8], long: bool) {
    let Ok(causes) = serde_json::from_slice::<RunCauses>(data) else { return };
    let tasks = causes.tasks.len().min(TASKS);
    let info = RunInfo::new(Bench::Host, "monotonic", (0..tasks).map(|_| TaskSpec::default()));
    for told in [ListedEvents::Worst(10), ListedEvents::Rank(1)] {
        let all: Vec<usize> = (0..tasks).collect();
        let why = RunWhy::new("run".into(), &causes, info.clone(), &all, told);
        let terminal = Terminal { columns: 80, ascii: false, colour: false };
        let text = document::terminal_text(&why, Extent::Details, terminal);
        assert!(!text.is_empty());
        let json = document::to_json(&why).expect("every result is JSON");
        assert!(Document::read(&json).is_ok(), "what is printed can be read");
    }
    if long {
        through_a_file(folder, &causes, &info);
    }
}

/// A run of some activations with these causes: to a page and the lanes of other programs.
fn through_a_file(folder: &Path, causes: &RunCauses, info: &RunInfo) {
    let path = folder.join("causes.parquet");
    let _ = std::fs::remove_file(&path);
    let mut writer = RunFileWriter::create(&path, info.tasks.len()).expect("a temporary file");
    for task in 0..info.tasks.len() {
        writer.append(task, &rows()).expect("room");
    }
    writer.set_causes(causes).expect("causes that were read can be written");
    writer.finish(info).expect("room");
    let Ok(run) = Run::open(&path, &Hints::default()) else { return };
    let _ = run.why(None, ListedEvents::Rank(1));
    let _ = Format::Perfetto.write(
        &run,
        &run.task_numbers(None).unwrap_or_default(),
        &ExportOptions::default(),
        &mut sink(),
    );
    if let Ok(runs) = page::read_page_runs(std::slice::from_ref(&run), None) {
        page::render(&runs, &[]).expect("every run has a page");
    }
}

/// Of a task every millisecond.
fn rows() -> Vec<Activation> {
    let row = |index: i64| {
        let due_ns = index * 1_000_000;
        let start_ns = due_ns + 10_000 + index % 7 * 1_000;
        Activation { index: index as u64, due_ns, start_ns, end_ns: start_ns + 500, ..Activation::default() }
    };
    (0..64).map(row).collect()
}
