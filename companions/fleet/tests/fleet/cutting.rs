//! Slices of runs against what `analyze` computes of the same activations.

use std::collections::BTreeMap;

use jitterlab_analysis::Summary;
use jitterlab_fleet::run_slices::cut_run;
use jitterlab_fleet::sums::TaskSum;
use jitterlab_fleet::{Delivery, Interval, Stream, Tables, TaskSlice};
use jitterlab_model::{Activation, Bench, Keep, RunInfo, TaskSpec, TimingStats};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::RunWriter;
use proptest::prelude::*;

use crate::samples::activations;

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
    run.info().tasks.iter().zip(&stats).map(|(task, stats)| Summary::new(task, stats)).collect()
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
        let tables = cut_run(&run, None).unwrap();
        prop_assert_eq!(of_slices(&tables), summaries(&run));
        let parts = Delivery::split(tables.clone());
        let inbox = folder.path().join("in");
        let mut again = Tables::default();
        for part in parts.iter().rev() {
            let path = part.write(&inbox).unwrap();
            prop_assert_eq!(part.write(&inbox).unwrap(), path.clone());
            again.append(Delivery::read(&path).unwrap().tables);
        }
        prop_assert_eq!(of_slices(&again), summaries(&run));
        prop_assert_eq!(of_slices(&again.into_days()), summaries(&run));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Any slices, in any order, some of them twice, sum up to the figures of all activations.
    #[test]
    fn any_slices_in_any_order_and_twice_sum_up_to_the_whole(
        seed in any::<u64>(), count in 1usize..1_200, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..20)
    ) {
        let rows = activations(seed, count, 1_000_000);
        let mut edges: Vec<usize> = cuts.iter().map(|cut| cut.index(count + 1)).chain([0, count]).collect();
        edges.sort_unstable();
        let info = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let stream = Stream::new("0123456789abcdef".into(), String::new(), "cnc", &info);
        let (mut whole, mut running) = (TimingStats::new(1_000_000), TimingStats::new(1_000_000));
        whole.push_all(&rows);
        let mut parts: BTreeMap<String, Tables> = BTreeMap::new();
        for (seq, edge) in edges.windows(2).enumerate() {
            running.push_all(&rows[edge[0]..edge[1]]);
            let mut slice = Tables::default();
            let interval = Interval { seq: seq as i64, ..Interval::default() };
            slice.push(&stream, &interval, &TaskSlice {
                task: &info.tasks[0],
                stats: &running.take(),
                lost: 0,
                max_at_s: None,
                limits: None,
                causes: None,
                epoch_offset_ns: None,
            });
            let delivery = Delivery::split(slice).remove(0);
            delivery.check().unwrap();
            parts.insert(delivery.name().file_name("slices"), delivery.tables);
        }
        let mut left: Vec<(String, Tables)> = parts.into_iter().collect();
        let mut taken = BTreeMap::new();
        for at in order {
            let (name, tables) = &left[at.index(left.len())];
            taken.insert(name.clone(), tables.clone());
        }
        taken.extend(left.drain(..));
        let mut all = Tables::default();
        taken.into_values().rev().for_each(|tables| all.append(tables));
        let expected = Summary::new(&info.tasks[0], &whole);
        prop_assert_eq!(of_slices(&all), vec![expected]);
    }
}
