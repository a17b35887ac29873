//! Outputs of other tools, one by one: their contents are read, and everything else stays unknown.
//!
//! Files in `peers/` that have a tool in Debian came from that tool (rt-tests 2.4, stress-ng 0.15, jitterdebugger 0.3.1,
//! LinuxCNC 2.9); the others are written as the tools' sources write them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

use std::path::{Path, PathBuf};

use crate::common::quick_directory;
use jitterlab_model::{Gap, Known, Overrun, TimingStats, Warning};
use jitterlab_trace::{Error, FileProblem, Hints, Import, Measured, import};
use proptest::prelude::*;

pub(crate) const US: i64 = 1_000;

pub(crate) fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

pub(crate) fn read(path: &Path) -> Import {
    import(path, &Hints::default()).unwrap()
}

fn read_text(name: &str, text: impl AsRef<[u8]>) -> Result<Import, Error> {
    let directory = quick_directory();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    import(&path, &Hints::default())
}

pub(crate) fn stats(import: &Import, task: usize) -> TimingStats {
    import.tasks[task].stats(&import.info.tasks[task])
}

/// Count, minimum and maximum of a task's latencies.
pub(crate) fn latency(import: &Import, task: usize) -> (u64, i64, i64) {
    let stats = stats(import, task);
    (stats.latency.count(), stats.latency.min_ns().unwrap(), stats.latency.max_ns().unwrap())
}

fn warnings(import: &Import) -> String {
    format!("{:?}", import.info.warnings)
}

#[test]
fn cyclictest_histograms_keep_what_overflowed() {
    let plain = read(&sample("cyclictest-h.txt"));
    assert_eq!(plain.tasks.len(), 2);
    assert_eq!(latency(&plain, 0), (2_000, 4 * US, 152 * US + 999));
    assert_eq!(latency(&plain, 1), (2_000, 6 * US, 1_799 * US + 999));
    assert!(warnings(&plain).contains("AboveHistogram { task: \"thread0\", count: 2 }"));
    let d = stats(&plain, 0).latency;
    // 141 of the 2000 are in the bins 4 and 5: the first percentile and the median lie in bins 5 and 10.
    assert!((5 * US..6 * US + 50).contains(&d.quantile_ns(0.01).unwrap()));
    assert!((10 * US..11 * US + 100).contains(&d.quantile_ns(0.5).unwrap()));

    let summed = read(&sample("cyclictest-H.txt"));
    assert_eq!(summed.tasks.len(), 2, "the column of sums is no thread");
    assert_eq!((latency(&summed, 0).0, latency(&summed, 1)), (1_000, (1_000, 6 * US, 1_152 * US + 999)));
}

#[test]
fn cyclictest_in_new_versions_leaves_out_rows_of_zeros_and_totals() {
    let text = "# Histogram\n000009 000002\t000001\n000031 000001\t000004\n\
        # Min Latencies: 00009 00009\n# Avg Latencies: 00019 00023\n# Max Latencies: 00031 07521\n\
        # Histogram Overflows: 00000 00003\n# Histogram Overflow at cycle number:\n# Thread 0:\n# Thread 1: 1 2 3\n";
    let import = read_text("hist", text).unwrap();
    assert_eq!(latency(&import, 0), (3, 9 * US, 31 * US + 999));
    assert_eq!(latency(&import, 1), (8, 9 * US, 7_521 * US + 999));
}

#[test]
fn cyclictest_json_in_both_units() {
    let us = read(&sample("cyclictest.json"));
    assert_eq!(latency(&us, 0), (1_000, 4 * US, 209 * US + 999));
    assert_eq!(us.info.tasks[0].spec.period_ns, 1_000_000);
    assert_eq!(us.info.tool, "cyclictest 2.40");
    assert!((stats(&us, 0).latency.mean_ns().unwrap() - 10_620.0).abs() < 1.0);
    assert!(warnings(&us).contains("AboveHistogram"));

    let ns = read(&sample("cyclictest-ns.json"));
    assert_eq!(latency(&ns, 0), (500, 4_153, 109_756));
    assert_eq!(ns.info.tasks[0].spec.period_ns, 500_000);
}

fn gaps(import: &Import, task: usize) -> &[Gap] {
    &import.info.tasks[task].unknown
}

#[test]
fn oslat_measures_gaps_of_a_loop_and_no_periodic_task() {
    let import = read(&sample("oslat.json"));
    let d = stats(&import, 0).latency;
    // Bins are upper edges, and the last is open.
    assert_eq!((d.count(), d.max_ns()), (1_518_573, Some(360_038 * US + 999)));
    assert!(d.quantile_ns(0.999_95).unwrap() <= 7 * US + 60);
    assert!(
        matches!(d.known_at_rank(d.count() - 15), Known::Between { at_most, .. } if Some(at_most) == d.max_ns())
    );
    let text = read(&sample("oslat.txt"));
    assert_eq!((text.info.tasks[0].spec.cpu, &text.info.tasks[0].spec.name[..]), (Some(1), "cpu1"));
    assert_eq!(latency(&text, 0), (4_443_130, US, 80_296 * US + 999));
    for import in [import, text] {
        let task = &import.info.tasks[0];
        assert!(!task.is_periodic() && import.info.measured_ns().is_none());
        assert_eq!((task.period_ns(), stats(&import, 0).missed()), (Known::Unknown, Known::Unknown));
    }
}

#[test]
fn what_threads_and_signals_take_is_not_periodic() {
    for (name, count, max) in
        [("ptsematest", 300, 52), ("svsematest", 300, 58), ("pmqtest", 300, 41), ("sigwaittest", 300, 67)]
    {
        let import = read(&sample(&format!("{name}.json")));
        assert_eq!((import.info.tool.as_str(), import.tasks.len()), (format!("{name} 2.40").as_str(), 2));
        assert_eq!((latency(&import, 0).0, latency(&import, 0).2), (count, max * US + 999));
        assert_eq!((import.info.tasks[1].spec.cpu, import.info.tasks[1].is_periodic()), (Some(1), false));
    }
    let text = read(&sample("pmqtest.txt"));
    assert_eq!((latency(&text, 1), text.info.tasks[1].spec.cpu), ((131, 7 * US, 56 * US + 999), Some(1)));
    let ring = read(&sample("signaltest.json"));
    assert_eq!((ring.tasks.len(), latency(&ring, 2)), (3, (300, 37 * US, 10_212 * US + 999)));
    assert_eq!((ring.info.tasks[1].period_ns(), ring.info.tasks[1].is_periodic()), (Known::Unknown, false));
    assert_eq!(latency(&read(&sample("signaltest.txt")), 2), latency(&ring, 2));
}

#[test]
fn status_lines_hold_extremes_and_a_mean() {
    for (name, count, max, period_ns) in
        [("cyclictest-q.txt", 222, 191, 1_500_000), ("cyclictest-live.txt", 202, 735, 1_500_000)]
    {
        let import = read(&sample(name));
        assert_eq!((latency(&import, 1).0, latency(&import, 1).2), (count, max * US + 999), "{name}");
        assert_eq!(import.info.tasks[1].period_ns(), Known::Exactly(period_ns));
        assert_eq!(import.info.tasks[1].overrun(), Known::Exactly(Overrun::Skip));
        assert_eq!(
            (stats(&import, 1).missed(), stats(&import, 1).latency.quantile_ns(0.5)),
            (Known::Exactly(0), None)
        );
    }
    let import = read(&sample("jitterdebugger-v.txt"));
    assert_eq!(
        (import.info.tasks[1].spec.cpu, import.info.tasks[1].overrun()),
        (Some(1), Known::Exactly(Overrun::CatchUp))
    );
}

#[test]
fn rows_alone_leave_open_what_lies_above_them() {
    let import = read(&sample("osadl.txt"));
    let d = stats(&import, 0).latency;
    assert_eq!((import.tasks.len(), d.count(), d.min_ns(), d.max_ns()), (2, 100_000, Some(0), None));
    assert!(matches!(d.known_at_rank(50_000), Known::AtLeast { at_least } if at_least < 7 * US + 60));
    assert!(gaps(&import, 0).contains(&Gap::Count));
}

#[test]
fn cyclictest_verbose_is_a_row_per_activation() {
    let import = read(&sample("cyclictest-v.txt"));
    // Started with -i 1000 and the usual distance of 500 us; the printed intervals are one distance too long.
    assert_eq!(import.info.tasks[0].spec.period_ns, 1_000_000);
    assert_eq!(import.info.tasks[1].spec.period_ns, 1_500_000);
    let Measured::Rows(rows) = &import.tasks[0] else { panic!("no rows") };
    assert_eq!((rows[1].index, rows[1].due_ns, rows[1].latency_ns()), (1, 1_000_000, 13 * US));
    let stats = stats(&import, 0);
    assert_eq!(
        (stats.latency.count(), stats.execution.count(), stats.period_error.count()),
        (rows.len() as u64, 0, 0)
    );
    assert_eq!(stats.missed(), Known::Unknown);
}

#[test]
fn cyclictest_verbose_ends_with_status_lines() {
    let import = read(&sample("cyclictest-qv.txt"));
    let Measured::Rows(rows) = &import.tasks[0] else { panic!("no rows") };
    assert_eq!((import.tasks.len(), rows.len(), import.info.tasks[0].spec.period_ns), (1, 30, 2_000_000));
}

#[test]
fn stress_ng_counts_every_sample_by_its_percentiles() {
    let import = read(&sample("stress-ng.txt"));
    let d = stats(&import, 0).latency;
    assert_eq!((d.count(), d.min_ns(), d.max_ns()), (10_000, Some(3_579), Some(1_423_206)));
    assert!((d.mean_ns().unwrap() - 5_388.77).abs() < 0.5);
    assert!((d.standard_deviation_ns().unwrap() - 14_632.09).abs() < 0.5);
    assert_eq!(import.info.tasks[0].spec.period_ns, 100_000);
    assert!(warnings(&import).contains("--cyclic-samples needed"));
    // Of 8128 samples only 2965 are in buckets, which end at 10 us; of 1781 none.
    // Buckets of 10 us hold nearly all of 10 000; percentiles separate them.
    for (name, samples, percentiles) in [
        ("stress-ng.txt", 10_000, [(0.5, 4_885), (0.9, 5_863), (0.99, 11_656), (0.999, 52_535)]),
        ("stress-ng-few.txt", 8_128, [(0.5, 10_450), (0.9, 14_040), (0.99, 177_150), (0.999, 505_831)]),
        (
            "stress-ng-percentiles.txt",
            1_781,
            [(0.5, 31_821), (0.9, 36_501), (0.99, 66_751), (0.999, 460_561)],
        ),
    ] {
        let d = stats(&read(&sample(name)), 0).latency;
        assert_eq!(d.count(), samples, "{name}");
        for (share, value) in percentiles {
            let found = d.quantile_ns(share).unwrap();
            assert!((value..value + value / 100).contains(&found), "{name}: {share}: {found}");
        }
    }
}

#[test]
fn rtla_stages_are_never_added() {
    let import = read(&sample("rtla-timerlat-hist.txt"));
    let names: Vec<_> = import.info.tasks.iter().map(|t| (&t.spec.name[..], t.spec.cpu)).collect();
    assert_eq!(
        names,
        [("irq-000", Some(0)), ("thr-000", Some(0)), ("irq-003", Some(3)), ("thr-003", Some(3))]
    );
    assert_eq!(latency(&import, 0), (600_002, 0, 9 * US + 999));
    assert_eq!(latency(&import, 1), (600_002, US, 143 * US + 999));
    // Bins are 5 us wide: half of all is in the bin from 5 on, below 10.
    assert!((9 * US..10 * US + 80).contains(&stats(&import, 1).latency.quantile_ns(0.5).unwrap()));
    let noise = read(&sample("rtla-osnoise-hist.txt"));
    assert_eq!((noise.info.tasks[1].is_periodic(), latency(&noise, 1).2), (false, 612 * US + 999));
}

#[test]
fn rtla_says_what_was_in_the_way() {
    let import = read(&sample("rtla-timerlat-top.txt"));
    let names: Vec<_> = import.info.tasks.iter().map(|t| &t.spec.name[..]).collect();
    assert_eq!(names, ["irq-021", "thr-021", "irq-022", "thr-022", "irq-023", "thr-023"]);
    assert_eq!(latency(&import, 5), (12_320, 3 * US, 41 * US + 999));
    let traced = import.info.warnings.iter().find_map(|warning| match warning {
        Warning::Traced(one) => Some(one.clone()),
        _ => None,
    });
    let traced = traced.unwrap();
    assert_eq!((traced.cpu, traced.latency_ns, traced.irq_latency_ns), (Some(23), 41_960, Some(28_130)));
    let parts: Vec<_> = traced.parts.iter().map(|part| (&part.name[..], part.ns)).collect();
    assert_eq!(
        parts,
        [("IRQ handler delay", 27_490), ("Timerlat IRQ duration", 9_590), ("Blocking thread", 3_790)]
    );
    assert_eq!(traced.parts[2].by, ["objtool:49256"]);

    let alone = read(&sample("rtla-auto-analysis.txt"));
    let d = stats(&alone, 1).latency;
    assert_eq!((d.max_ns(), d.min_ns(), d.mean_ns()), (Some(1_235_470), None, None));
    assert!(gaps(&alone, 1).contains(&Gap::Count));
}

#[test]
fn jitterdebugger_catches_up_and_its_cpus_are_beside_it() {
    let import = read(&sample("jitterdebugger"));
    assert_eq!(latency(&import, 0).0, 60);
    for task in &import.info.tasks {
        assert_eq!((task.overrun(), task.spec.period_ns), (Known::Exactly(Overrun::CatchUp), 1_000_000));
    }
    assert_eq!(stats(&import, 0).missed(), Known::Exactly(0));
    let cpus: Vec<_> = import.info.tasks.iter().map(|task| task.spec.cpu).collect();
    assert_eq!(cpus, [Some(0), Some(1)]);
    assert!(!warnings(&import).contains("UnitAssumed"), "{}", warnings(&import));
    let results = read(&sample("jitterdebugger/results.json"));
    assert_eq!((results.tasks.len(), results.info.tasks[1].spec.cpu), (2, Some(1)));
    // Away from the other files nobody knows where its threads ran.
    let moved =
        read_text("results.json", std::fs::read(sample("jitterdebugger/results.json")).unwrap()).unwrap();
    assert_eq!(moved.info.tasks[1].spec.cpu, None);
    let csv = read(&sample("jittersamples.csv"));
    assert_eq!(stats(&csv, 0).latency, stats(&import, 0).latency);

    let dropped = r#"{"version":3,"sysinfo":{"sysname":"Linux","resolution_in_ns":1000},
        "cpu":{"0":{"histogram":{"3":3678,"4":20},"count":3700,"min":3,"max":2500,"avg":3.9}}}"#;
    let import = read_text("results.json", dropped).unwrap();
    assert_eq!(latency(&import, 0), (3_700, 3 * US, 2_500 * US + 999));
    assert!(warnings(&import).contains("task: \"thread0\", count: 2"));
}

#[test]
fn a_sample_that_jitterdebugger_lost_leaves_a_hole() {
    let csv: String =
        [0, 1, 2, 5, 6].map(|k: i64| format!("0;7.{:09};{}\n", k * 1_000_000 + 4_000, 4)).concat();
    let import = read_text("samples.csv", csv).unwrap();
    let Measured::Rows(rows) = &import.tasks[0] else { panic!("no rows") };
    assert_eq!(rows.iter().map(|a| a.index).collect::<Vec<_>>(), [0, 1, 2, 5, 6]);
    assert_eq!(stats(&import, 0).period_error.max_ns(), Some(0), "none across the hole");
    // A system with a time_t of 32 bits.
    let mut raw = Vec::new();
    for k in 0..50u32 {
        [1, 7, k * 1_000_000 + 3_000, 3, 0].iter().for_each(|word: &u32| raw.extend(word.to_le_bytes()));
    }
    assert_eq!(latency(&read_text("samples.raw", raw).unwrap(), 0), (50, 3 * US, 3 * US));
}

#[test]
fn xenomai_counts_are_one_too_high_between_two_rows_of_nothing() {
    let import = read(&sample("xenomai-g.txt"));
    assert_eq!(latency(&import, 0), (10 + 50 + 30 + 1, -1_250, 3_100));
    assert_eq!(import.info.tasks[0].spec.period_ns, 100_000);
    assert_eq!(stats(&import, 0).latency.quantile_ns(0.1), Some(-1_001));

    let import = read(&sample("xenomai-console.txt"));
    assert_eq!(latency(&import, 0), (2_000, -344, 9_250));
    assert_eq!(stats(&import, 0).missed(), Known::Exactly(3));
    assert!((stats(&import, 0).latency.mean_ns().unwrap() - 556.0).abs() < 1.0);
}

#[test]
fn latmus_has_lower_edges_and_an_open_end() {
    let import = read(&sample("latmus.txt"));
    assert_eq!(latency(&import, 0), (1_003, 150, 312 * US));
    assert_eq!(
        (import.info.tasks[0].spec.period_ns, stats(&import, 0).missed()),
        (500_000, Known::Exactly(1))
    );
}

#[test]
fn linuxcnc_tells_period_errors_and_no_latencies() {
    let import = read(&sample("linuxcnc-nox.txt"));
    let (base, servo) = (stats(&import, 0), stats(&import, 1));
    assert_eq!((base.period_error.min_ns(), base.period_error.max_ns()), (Some(-24_900), Some(4_685_800)));
    assert_eq!((base.latency.count(), base.executed()), (0, base.period_error.count()));
    assert_eq!(base.period_error.standard_deviation_ns(), None, "its squares overflow from 46.34 us on");
    assert_eq!((base.period_ns(), servo.period_ns()), (25_000, 1_000_000), "each has its own");
    assert!(gaps(&import, 0).contains(&Gap::Latency) && gaps(&import, 0).contains(&Gap::Count));
    assert_eq!(
        (base.missed(), import.info.tasks[0].overrun()),
        (Known::Exactly(0), Known::Exactly(Overrun::CatchUp))
    );
    let hints = Hints { periods_ns: vec![50_000, 1_000_000], ..Hints::default() };
    let slower = jitterlab_trace::import(sample("linuxcnc-nox.txt"), &hints).unwrap();
    assert_eq!((stats(&slower, 0).period_ns(), stats(&slower, 1).period_ns()), (50_000, 1_000_000));
    for (periods, said) in
        [(vec![50_000], "a period each"), (vec![50_000; 3], "not the periods of base, servo")]
    {
        let hints = Hints { periods_ns: periods, ..Hints::default() };
        let error = jitterlab_trace::import(sample("linuxcnc-nox.txt"), &hints).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    let calm = "    2 s   base min:  -8.120 us max:  10.301 us sdev:   0.412 us\n";
    let calm = stats(&read_text("nox", calm).unwrap(), 0).period_error;
    assert!((calm.standard_deviation_ns().unwrap() - 412.0).abs() < 1.0);

    let import = read_text(".latency", "14523\n").unwrap();
    assert_eq!(stats(&import, 0).period_error.max_ns(), Some(14_523));
}

#[test]
fn pins_of_linuxcnc_tell_each_threads_period() {
    let import = read(&sample("halcmd-show-pin.txt"));
    let found: Vec<_> = (0..2)
        .map(|task| {
            let errors = stats(&import, task).period_error;
            (import.info.tasks[task].period_ns(), errors.min_ns(), errors.max_ns())
        })
        .collect();
    assert_eq!(
        found,
        [
            (Known::Exactly(100_000), Some(80 - 100_000), Some(14_319_623)),
            (Known::Exactly(1_000_000), Some(100 - 1_000_000), Some(13_662_583)),
        ]
    );
    // Without the list of threads two pins have to agree on the period: these do.
    let text = std::fs::read_to_string(sample("halcmd-show-pin.txt")).unwrap();
    let (pins, _) = text.split_once("Realtime Threads").unwrap();
    assert_eq!(read_text("pins", pins).unwrap().info.tasks[0].period_ns(), Known::Exactly(100_000));
    let torn = pins.replace("-99650", "-99000");
    let refused = read_text("pins", torn).unwrap_err().to_string();
    assert!(refused.contains("timedelta.0") && refused.contains("--period"), "{refused}");
}

fn with_columns(columns: &[&str], period_ns: Option<i64>) -> Hints {
    let columns = columns.iter().map(|column| column.parse().unwrap()).collect();
    Hints { periods_ns: period_ns.into_iter().collect(), columns, ..Hints::default() }
}

fn table(text: &str, hints: &Hints) -> Result<Import, Error> {
    jitterlab_trace::import_bytes("table.csv", text.as_bytes(), hints)
}

#[test]
fn halsampler_streams_period_errors() {
    let stream = read(&sample("halsampler.txt"));
    let found = stats(&stream, 0);
    // Two lines from before the thread's second run say nothing of a time between two.
    assert_eq!((found.period_ns(), found.period_error.count(), found.executed()), (1_000_000, 198, 199));
    assert!(gaps(&stream, 0).contains(&Gap::Phase), "{:?}", gaps(&stream, 0));
    assert_eq!(found.latency.min_ns(), Some(0), "latencies count from the earliest");
    // Samples that its buffer lost leave no time to count from.
    let text = std::fs::read_to_string(sample("halsampler.txt")).unwrap();
    let holes: String =
        text.lines().filter(|line| !line.starts_with("17 ")).map(|line| format!("{line}\n")).collect();
    for holes in [holes, text.replace("\n17 ", "\noverrun\n17 ")] {
        let holes = table(&holes, &Hints::default()).unwrap();
        let found = stats(&holes, 0);
        assert_eq!((found.latency.count(), holes.info.tasks[0].spec.period_ns), (0, 1_000_000));
        assert!(found.period_error.count() >= 197);
    }
    assert!(table(&format!("{text}{text}"), &Hints::default()).is_err(), "two streams");
    // Without the time, only the user's word decides the content of a column.
    let errors: String = text
        .lines()
        .map(|line| {
            format!("{}\n", line.rsplit_once(' ').map_or("", |l| l.0.rsplit_once(' ').map_or(l.0, |l| l.0)))
        })
        .collect();
    assert!(table(&errors, &Hints::default()).is_err());
    let hints = with_columns(&["index=1", "period-error=2:ns"], Some(1_000_000));
    assert_eq!(stats(&table(&errors, &hints).unwrap(), 0).period_error.count(), 200);
}

#[test]
fn tables_are_read_by_their_heads_or_the_users_word() {
    let named = read(&sample("table.csv"));
    let tasks: Vec<_> = named.info.tasks.iter().map(|t| (&t.spec.name[..], t.spec.period_ns)).collect();
    assert_eq!(tasks, [("servo", 1_000_000), ("base", 100_000)]);
    assert_eq!(latency(&named, 1), (3, 1_500, 2_125));
    assert_eq!(stats(&named, 0).execution.max_ns(), Some(38_500));
    assert_eq!(stats(&named, 1).missed(), Known::Exactly(0));

    let german = "Zeit;Verspätung\n0,5;12,5\n1,5;13,25\n2,5;11,0\n";
    let chosen = table(german, &with_columns(&["start=Zeit:ms", "latency=2:us"], None)).unwrap();
    assert_eq!((latency(&chosen, 0), stats(&chosen, 0).period_ns()), ((3, 11 * US, 13_250), 1_000_750));

    let bare = "12.5\n13\n-2\n";
    let latencies = table(bare, &with_columns(&["latency=1:us"], Some(250_000))).unwrap();
    assert_eq!(latency(&latencies, 0), (3, -2_000, 13_000));
    assert_eq!(
        (stats(&latencies, 0).period_error.count(), stats(&latencies, 0).missed()),
        (0, Known::Unknown)
    );
}

#[test]
fn names_in_quotes_are_what_is_between_them() {
    let names = |rows: &str| -> Vec<String> {
        let rows: String = (1..4).map(|k| rows.replace('@', &k.to_string())).collect();
        let table = table(&format!("task;due_us;start_us\n{rows}"), &Hints::default()).unwrap();
        table.info.tasks.iter().map(|task| task.spec.name.clone()).collect()
    };
    assert_eq!(names("\"a;b\";@000;@001\n"), ["a;b"]);
    assert_eq!(names("\"5\"\" disk\"; \"@000\";@001,5\n"), ["5\" disk"]);
    // A quote within a cell is one of its text.
    assert_eq!(names("5\" disk;@000;@001\n"), ["5\" disk"]);
    assert_eq!(names("\" a\";@000;@001\na;@000;@002\n"), [" a", "a"]);
}

#[test]
fn tasks_of_one_name_are_told_apart_and_nobody_elses_name_is_taken() {
    let edges: String =
        (0..8).map(|k| format!("#{}\n{level}!\n{level}$\n{level}%\n", k * 500_000, level = k % 2)).collect();
    let wires = "$var wire 1 ! a $end\n$var wire 1 $ a $end\n$var wire 1 % a_2 $end\n".replace("a_2", "a·2");
    let pins = format!(
        "$timescale 1 ns $end\n$scope module m $end\n{wires}$upscope $end\n$enddefinitions $end\n{edges}"
    );
    let read = jitterlab_trace::import_bytes("pins.vcd", pins.as_bytes(), &Hints::default()).unwrap();
    let names: Vec<_> = read.info.tasks.iter().map(|task| task.spec.name.as_str()).collect();
    assert_eq!(names, ["a", "a 2", "a·2"]);
    let edge = |k: u64| format!("{},{level},{level},{level}\n", k as f64 * 0.0005, level = k % 2);
    let saleae = (0..40).fold(String::from("Time [s],a,a,a 2\n"), |text, k| text + &edge(k));
    let read = jitterlab_trace::import_bytes("digital.csv", saleae.as_bytes(), &Hints::default()).unwrap();
    let names: Vec<_> = read.info.tasks.iter().map(|task| task.spec.name.as_str()).collect();
    assert_eq!(names, ["a", "a 3", "a 2"]);
}

#[test]
fn time_stamps_alone_leave_the_phase_open() {
    let starts =
        |at: &[i64]| -> String { at.iter().fold("start_us\n".into(), |text, t| text + &format!("{t}\n")) };
    let steady = table(&starts(&[1_000, 2_030, 3_000, 4_010, 5_000]), &Hints::default()).unwrap();
    assert_eq!((latency(&steady, 0), stats(&steady, 0).period_ns()), ((5, 0, 30_000), 1_000_000));
    assert!(gaps(&steady, 0).contains(&Gap::Phase) && warnings(&steady).contains("PhaseUnknown"));
    // One is missing: where the others belong would be a guess.
    let holes = table(&starts(&[1_000, 2_000, 4_000, 5_000, 6_000, 7_000]), &Hints::default()).unwrap();
    let found = stats(&holes, 0);
    assert_eq!(
        (found.period_ns(), found.latency.count(), found.period_error.max_ns()),
        (1_000_000, 0, Some(1_000_000))
    );
    assert_eq!((found.missed(), gaps(&holes, 0).contains(&Gap::Latency)), (Known::Unknown, true));
}

#[test]
fn a_table_says_what_it_lacks() {
    let error = |text: &str, hints: &Hints| table(text, hints).unwrap_err().to_string();
    let none = Hints::default();
    assert!(error("latency\n1\n2\n", &none).contains("--unit"));
    assert!(error("latency_us,x\n1,2\n2\n3,y\n", &with_columns(&["latency=x:us"], None)).contains("line 3"));
    assert!(error("a,b\n1,2\n", &with_columns(&["latency=c:us"], None)).contains("names a, b"));
    assert!(error("start_us\n5\n4\n", &none).contains("time goes back"));
    assert!(error("start_us\n5\n", &none).contains("--period"));
    assert!(error("latency_us\n5\nlate\n", &none).contains("\"late\" is not a number"));
    assert!("latency".parse::<jitterlab_trace::Column>().unwrap_err().to_string().contains("ROLE=COLUMN"));
}

#[test]
fn rttest_and_zephyr() {
    let import = read(&sample("rttest.txt"));
    assert_eq!(latency(&import, 0), (3, -120, 7_000));
    let result = import.info.tasks[0].result.as_ref().unwrap();
    assert_eq!((result.minor_faults, result.major_faults), (Some(1), Some(1)));

    let error = stats(&read(&sample("zephyr.txt")), 0).period_error;
    assert_eq!((error.count(), error.min_ns(), error.max_ns()), (10_000, Some(-2_000), Some(3_500)));
}

#[test]
fn extremes_and_a_mean_give_no_percentile_and_no_deviation() {
    let text = r#"{"file_version": 1, "cmdline:": "cyclictest -q -i 1000 --json=a", "rt_test_version:": "2.40",
        "thread": {"0": {"cycles": 1000, "min": 4, "max": 209, "avg": 10.62, "cpu": 0}}}"#;
    let import = read_text("bare.json", text).unwrap();
    let found = stats(&import, 0);
    assert_eq!(latency(&import, 0), (1_000, 4 * US, 209 * US + 999));
    assert_eq!((found.latency.quantile_ns(0.5), found.latency.standard_deviation_ns()), (None, None));
    assert_eq!(
        found.latency.known_at_rank(500),
        Known::Between { at_least: 4 * US, at_most: 209 * US + 999 }
    );
    // It skips due times that have passed, and none had: the largest latency is shorter than the period.
    assert_eq!(found.missed(), Known::Exactly(0));
    let task = &import.info.tasks[0];
    assert_eq!(task.unknown, [Gap::Lost, Gap::Execution, Gap::Settings]);
    assert_eq!(
        (task.overrun(), task.period_ns()),
        (Known::Exactly(Overrun::Skip), Known::Exactly(1_000_000))
    );

    let text = "# Histogram\n000009 000002\n# Min Latencies: 00009\n# Avg Latencies: 00019\n\
        # Max Latencies: 00031\n# Histogram Overflows: 00001\n";
    let import = read_text("hist", text).unwrap();
    assert_eq!(import.info.tasks[0].period_ns(), Known::Unknown, "the period is only assumed");
}

#[test]
fn what_is_not_known_or_wrong_is_said() {
    let error = read_text("letter", "Dear Sir").unwrap_err();
    assert!(error.is(FileProblem::UnknownOutput) && error.to_string().contains("cyclictest, rtla"));
    let error =
        read_text("rttest", "iteration timestamp latency\n0 0 5012\n1 x 3\n").unwrap_err().to_string();
    assert!(error.contains("rttest") && error.contains("line 3"), "{error}");
}

proptest! {
    #[test]
    fn changed_outputs_never_panic(which in 0usize..14, at in any::<prop::sample::Index>(), with in "[-0-9.:|a-z \n]{0,6}") {
        let names = [
            "cyclictest-h.txt", "cyclictest-H.txt", "cyclictest.json", "cyclictest-v.txt", "stress-ng-few.txt", "oslat.json",
            "oslat.txt", "pmqtest.txt", "rtla-timerlat-top.txt", "jittersamples.csv", "halcmd-show-pin.txt", "table.csv",
            "xenomai-console.txt", "signaltest.txt",
        ];
        let mut text = std::fs::read_to_string(sample(names[which])).unwrap();
        let at = at.index(text.len());
        text.replace_range(at..(at + 3).min(text.len()), &with);
        if let Ok(import) = read_text("changed", text) {
            (0..import.tasks.len()).for_each(|task| drop(stats(&import, task)));
        }
    }

    #[test]
    fn small_outputs_of_any_numbers_never_panic(rows in prop::collection::vec((any::<i64>(), any::<i64>()), 0..6)) {
        let rows: String = rows.iter().map(|(a, b)| format!("{a} {b}\n")).collect();
        for head in ["start_us,end_us\n", "latency_s\n", "# test started on: x\n", "# ----lat min|\n", "iteration timestamp latency\n", "# Histogram\n# Min Latencies: 1\n"] {
            let _ = read_text("numbers", format!("{head}{rows}"));
        }
    }
}

#[test]
fn an_output_that_is_cut_short_is_said_to_be() {
    for (name, from) in
        [("cyclictest-h.txt", "# Min Latencies"), ("cyclictest-h.txt", "# Max"), ("oslat.txt", "Minimum")]
    {
        let text = std::fs::read_to_string(sample(name)).unwrap();
        let (cut, _) = text.split_once(from).unwrap();
        let error = read_text(name, cut).unwrap_err().to_string();
        assert!(error.contains("cut short"), "{name} up to {from}: {error}");
    }
    let unknown = read_text("mine.csv", "wake,delay\n1,2\n").unwrap_err().to_string();
    assert!(unknown.contains("--columns"), "{unknown}");
}
