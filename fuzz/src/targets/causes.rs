//! Why activations were late, as run files keep it.

use std::io::sink;
use std::path::Path;

use jitterlab_analysis::causes::Told;
use jitterlab_model::{Activation, Bench, RunCauses, RunInfo, TaskSpec};
use jitterlab_report::chart::Terminal;
use jitterlab_report::document::{Content, Document};
use jitterlab_report::export::{Asked, Format};
use jitterlab_report::page;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::RunFileWriter;

/// More tasks than that say nothing new.
const TASKS: usize = 4;

/// The causes of a run of some activations: through the file to a table, a page and the lanes of other programs.
pub fn causes(folder: &Path, data: &[u8]) {
    let Ok(causes) = serde_json::from_slice::<RunCauses>(data) else { return };
    let path = folder.join("causes.parquet");
    let _ = std::fs::remove_file(&path);
    let tasks = causes.tasks.len().min(TASKS);
    let info = RunInfo::new(Bench::Host, "monotonic", (0..tasks).map(|_| TaskSpec::default()));
    let mut writer = RunFileWriter::create(&path, tasks).expect("a temporary file");
    for task in 0..tasks {
        writer.append(task, &rows()).expect("room");
    }
    writer.causes(&causes).expect("causes that were read can be written");
    writer.finish(&info).expect("room");
    let Ok(run) = Run::open(&path, &Hints::default()) else { return };
    for told in [Told::Latest(10), Told::Rank(1)] {
        let Ok(why) = run.why(None, told) else { continue };
        let document = Document::new(Content::Why(Box::new(why)));
        let text = document.text(Terminal { columns: 80, ascii: false, colour: false });
        assert!(!text.is_empty());
        let json = document.json().expect("every result is JSON");
        assert!(Document::read(&json).is_ok(), "what is printed can be read");
    }
    let _ =
        Format::Perfetto.write(&run, &run.tasks(None).unwrap_or_default(), &Asked::default(), &mut sink());
    if data.len().is_multiple_of(8)
        && let Ok(runs) = page::read(std::slice::from_ref(&run), None)
    {
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
