//! Slices of runs against what `analyze` computes of the same activations.

use jitterlab_analysis::Summary;
use jitterlab_fleet::cut::cut;
use jitterlab_fleet::sums::TaskSum;
use jitterlab_fleet::{Delivery, Tables};
use jitterlab_model::{Activation, Bench, Keep, RunInfo, TaskSpec};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::RunWriter;
use proptest::prelude::*;

/// Activations of a task that misses a due time now and then.
fn activations(seed: u64, count: usize, period_ns: i64) -> Vec<Activation> {
    let mut state = seed | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut rows, mut index) = (Vec::new(), 0);
    for _ in 0..count {
        let late =
            if random() % 40 == 0 { (random() % 5_000_000) as i64 } else { (random() % 40_000) as i64 };
        let missed = (late / period_ns) as u64;
        index += missed;
        let due_ns = index as i64 * period_ns;
        let start_ns = due_ns + late - missed as i64 * period_ns;
        let end_ns = start_ns + (random() % 9_000) as i64;
        rows.push(Activation {
            index,
            due_ns,
            start_ns,
            end_ns,
            missed: missed as u32,
            ..Activation::default()
        });
        index += 1;
    }
    rows
}

/// A run file of these activations.
fn run_file(folder: &std::path::Path, rows: &[Activation], period_ns: i64, keep: Keep) -> Run {
    let spec = TaskSpec { name: "it's \"α\"".into(), period_ns, ..TaskSpec::default() };
    let mut info = RunInfo::new(Bench::Host, "monotonic", [spec]);
    info.keep = keep;
    info.host = Some("cnc/07".into());
    info.epoch_offset_ns = Some(1_795_733_000_000_000_000);
    let path = folder.join(format!("{}.parquet", rows.len()));
    let mut writer = RunWriter::create(&path, &info).unwrap();
    rows.chunks(1_000).for_each(|rows| writer.append(0, rows).unwrap());
    writer.finish(info).unwrap();
    Run::open(&path, &Hints::default()).unwrap()
}

fn summaries(run: &Run) -> Vec<Summary> {
    let (stats, _) = run.timing().unwrap().into_parts();
    run.info().tasks.iter().zip(&stats).map(|(task, stats)| Summary::of(task, stats)).collect()
}

fn of_slices(tables: &Tables) -> Vec<Summary> {
    TaskSum::from_tables(tables).iter().map(TaskSum::summary).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Hours of a run, whatever it keeps, in any order and twice.
    #[test]
    fn slices_have_the_figures_of_the_run(
        seed in any::<u64>(), count in 1usize..4_000, period_ms in 1i64..4_000, spikes in any::<bool>()
    ) {
        let folder = tempfile::tempdir().unwrap();
        let period_ns = period_ms * 1_000_000;
        let rows = activations(seed, count, period_ns);
        let keep = if spikes { Keep::Spikes { above_ns: 100_000 } } else { Keep::All };
        let run = run_file(folder.path(), &rows, period_ns, keep);
        let tables = cut(&run, None).unwrap();
        prop_assert_eq!(of_slices(&tables), summaries(&run));
        let parts = Delivery::split(tables.clone());
        let inbox = folder.path().join("in");
        let mut again = Tables::new();
        for part in parts.iter().rev() {
            let path = part.write(&inbox).unwrap();
            prop_assert_eq!(part.write(&inbox).unwrap(), path.clone());
            again.append(Delivery::read(&path).unwrap().tables);
        }
        prop_assert_eq!(of_slices(&again), summaries(&run));
        prop_assert_eq!(of_slices(&again.into_one_slice()), summaries(&run));
    }
}
