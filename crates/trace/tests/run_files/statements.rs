//! Outputs that state the same in several places, leave out a part, or include the typed command: every statement
//! counts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

use jitterlab_model::warning::StatedQuantity;
use jitterlab_model::{Gap, Known, Warning};
use jitterlab_trace::{Hints, Import, Measured, import_bytes};

use crate::import::{US, latency, read, sample, stats};

fn peer(name: &str) -> Import {
    read(&sample(name))
}

fn peer_text(name: &str) -> String {
    std::fs::read_to_string(sample(name)).unwrap()
}

fn read_text(text: &str) -> Import {
    import_bytes("pasted", text.as_bytes(), &Hints::default()).unwrap()
}

fn knows(import: &Import, gap: Gap) -> bool {
    import.info.tasks[0].knows(gap)
}

fn has(import: &Import, warning: &Warning) -> bool {
    import.info.warnings.contains(warning)
}

fn contradicts(import: &Import) -> bool {
    import.info.warnings.iter().any(|warning| matches!(warning, Warning::Contradiction { .. }))
}

#[test]
fn rows_that_were_left_out_are_missing_and_the_command_tells_the_rest() {
    let import = peer("cyclictest-abridged.txt");
    assert_eq!((import.tasks.len(), latency(&import, 0)), (16, (600_000, 2 * US, 5_999)));
    assert!(has(&import, &Warning::NotInRows { task: "thread0".into(), count: 20_494 }));
    let values = stats(&import, 0).latency;
    assert_eq!(values.known_at_rank(579_507), Known::Between { at_least: 3 * US, at_most: 5_999 });
    let task = &import.info.tasks[15];
    assert_eq!((task.period_ns(), task.spec.cpu), (Known::Exactly(1_000_000), Some(68)));
    assert!(!contradicts(&import));

    let import = peer("cyclictest-footer-only.txt");
    assert_eq!((import.tasks.len(), latency(&import, 1)), (4, (297_199, 5 * US, 85_999)));
    assert!(has(&import, &Warning::OnlyExtremes));
}

#[test]
fn status_lines_before_a_histogram_tell_its_period() {
    let import = peer("cyclictest-status-and-histogram.txt");
    assert_eq!(latency(&import, 0), (2_999_425, 5 * US, 1_475_999));
    assert_eq!(import.info.tasks[0].period_ns(), Known::Exactly(200_000));
    assert!(has(&import, &Warning::AboveHistogram { task: "thread0".into(), count: 604 }));
    // They are of some time before the end.
    assert!(!contradicts(&import));
    let other = read_text(&peer_text("cyclictest-status-and-histogram.txt").replace("I:200", "I:300"));
    assert_eq!(other.info.tasks[0].period_ns(), Known::Unknown);
    assert!(contradicts(&other));
}

#[test]
fn cycles_that_overflow_on_several_processors_are_stalls_of_the_machine() {
    let output = "# Histogram\n000001 000997\t000996\n# Min Latencies: 00001 00001\n# Max Latencies: 00400 00410\n\
        # Histogram Overflows: 00003 00004\n# Thread 0: 100 205 900\n# Thread 1: 101 300 700 899\n";
    assert!(has(&read_text(output), &Warning::SharedStalls { cycles: 2, of: 4, tasks: 2 }));
}

#[test]
fn a_display_that_was_cut_tells_only_what_was_so_far() {
    let live = peer_text("cyclictest-live.txt");
    let (cut, _) = live.rsplit_once("T: 1").unwrap();
    let cut = read_text(cut);
    assert!(has(&cut, &Warning::EndMissing { task: "thread1".into() }));
    assert!(!cut.info.tasks[1].knows(Gap::Figures) && cut.info.tasks[0].knows(Gap::Figures));
}

#[test]
fn a_thread_that_no_line_lists_may_have_the_largest_latency() {
    let line = |thread: usize| {
        format!(
            "T: {thread} ( 70{thread}) P:80 I:1000 C:  10000 Min:      3 Act:    5 Avg:    6 Max:      4{thread}\n"
        )
    };
    let whole = format!("# cyclictest -m -t4 -p80 -d0\n{}", (0..4).map(line).collect::<String>());
    assert!(knows(&read_text(&whole), Gap::Figures));
    for thread in 0..4 {
        let import = read_text(&whole.replace(&line(thread), ""));
        assert!(has(&import, &Warning::NotListed { threads: 1, of: 4 }) && !knows(&import, Gap::Figures));
    }
    // Without the command only a thread after it shows that one is missing.
    let unsaid = whole.split_once('\n').unwrap().1;
    assert!(!knows(&read_text(&unsaid.replace(&line(2), "")), Gap::Figures));
    assert!(knows(&read_text(&unsaid.replace(&line(3), "")), Gap::Figures));
}

#[test]
fn a_break_is_the_largest_latency_though_no_line_lists_it() {
    let import = peer("cyclictest-verbose-break.txt");
    assert_eq!(latency(&import, 0), (11, 9 * US, 115 * US));
    assert!(has(&import, &Warning::Stopped { task: "thread0".into(), latency_ns: Some(115 * US) }));
    let lost: String = peer_text("cyclictest-verbose-break.txt").replace("# Break value: 115\n", "");
    let lost = read_text(&lost);
    assert!(
        !knows(&lost, Gap::Figures)
            && has(&lost, &Warning::Stopped { task: "thread0".into(), latency_ns: None })
    );
}

#[test]
fn the_interval_of_one_thread_is_not_known_by_the_next_ones() {
    assert_eq!(peer("cyclictest-verbose-d0.txt").info.tasks[0].period_ns(), Known::Unknown);
    let typed = format!("$ cyclictest -v -i 1000 -d 0 -t 1\n{}", peer_text("cyclictest-verbose-d0.txt"));
    assert_eq!(read_text(&typed).info.tasks[0].period_ns(), Known::Exactly(1_000_000));
}

#[test]
fn largest_of_blocks_are_no_activations() {
    let import = peer("cyclictest-oscope.txt");
    let values = stats(&import, 0).latency;
    assert_eq!((values.count(), values.max_ns(), values.min_ns()), (300, Some(204_999), None));
    assert!(has(&import, &Warning::LargestOfBlocks { task: "thread0".into(), activations: 10 }));
    assert!(matches!(import.tasks[0], Measured::Distributions(_)));
}

#[test]
fn units_are_told_by_options_and_by_the_width_of_columns() {
    let import = peer("cyclictest-ns-smi.txt");
    assert_eq!(latency(&import, 0), (612_345, 1_204, 18_385));
    assert!(has(&import, &Warning::ManagementInterrupts { of: "thread0".into(), count: 3 }));
    assert_eq!(import.info.tasks[0].spec.cpu, Some(3));
    let bare = "T: 0 ( 9118) P:97 I:1000 C: 612345 Min:   1204 Act:    2022 Avg:    2175 Max:   18385\n";
    assert_eq!(latency(&read_text(bare), 0).2, 18_385);
    // Without any other statement of the unit: a value that would never have been in time is no latency in
    // microseconds.
    let squeezed = "T: 0 (9118) P:97 I:1000 C: 612345 Min: 1204 Act: 2022 Avg: 2175 Max: 18385\n";
    let squeezed = read_text(squeezed);
    assert!(
        !knows(&squeezed, Gap::Unit) && has(&squeezed, &Warning::UnitImpossible { task: "thread0".into() })
    );
    let before = peer("cyclictest-maxima-before.txt");
    assert_eq!((before.tasks.len(), latency(&before, 3)), (4, (10_800_000, 9 * US, 120_999)));
    assert!(!has(&before, &Warning::UnitAssumed { unit_ns: 1_000 }));
}

#[test]
fn the_sums_behind_a_console_count() {
    let import = peer("xenomai-latency.txt");
    let found = stats(&import, 0);
    assert_eq!((latency(&import, 0), found.missed()), ((599_943, 1_175, 374_075), Known::Exactly(40)));
    assert!(knows(&import, Gap::Count) && !contradicts(&import));
    assert!((found.latency.mean_ns().unwrap() - 2_955.0).abs() < 1.0);
    let import = peer("xenomai-latency-h.txt");
    let found = stats(&import, 0).latency;
    assert_eq!((latency(&import, 0), found.quantile_ns(0.5)), ((19_997, 1_393, 21_765), Some(3_007)));
    assert!(!contradicts(&import) && !has(&import, &Warning::OnlyExtremes));
}

#[test]
fn a_console_and_the_histogram_behind_it_are_one_run() {
    for name in ["latmus-console-and-histogram.txt", "latmus-capital-t.txt"] {
        let import = peer(name);
        assert_eq!(latency(&import, 0), (71_598, 205, 25_510), "{name}");
        let task = &import.info.tasks[0];
        assert_eq!((task.period_ns(), task.spec.cpu), (Known::Exactly(1_000_000), Some(1)), "{name}");
        assert!(!contradicts(&import), "{name}: {:?}", import.info.warnings);
    }
}

#[test]
fn contradictions_leave_everything_open_that_rests_on_them() {
    let changed = |name: &str, from: &str, to: &str| {
        let before = peer_text(name);
        assert!(before.contains(from), "{name}: {from}");
        read_text(&before.replace(from, to))
    };
    let smaller = changed("cyclictest-h.txt", "# Max Latencies: 00152", "# Max Latencies: 00012");
    assert_eq!((stats(&smaller, 0).latency.max_ns(), knows(&smaller, Gap::Figures)), (None, false));
    let fewer = changed("cyclictest-h.txt", "# Total: 000001998", "# Total: 000000998");
    let figure = |import: &Import| {
        import.info.warnings.iter().find_map(|warning| match warning {
            Warning::Contradiction { figure, .. } => Some(*figure),
            _ => None,
        })
    };
    assert_eq!((stats(&fewer, 0).latency.count(), figure(&fewer)), (2_000, Some(StatedQuantity::Count)));
    let none = changed("cyclictest-h.txt", "# Histogram Overflows: 00002", "# Histogram Overflows: 00000");
    assert_eq!(
        (figure(&none), stats(&none, 0).latency.quantile_ns(0.5)),
        (Some(StatedQuantity::Largest), None)
    );
}

#[test]
fn stops_of_a_processor_and_waits_for_one_are_not_periodic() {
    let import = peer("hwlatdetect.txt");
    assert_eq!((latency(&import, 0), import.info.tasks[0].is_periodic()), ((600, 0, 142_999), false));
    assert!(has(&import, &Warning::OnlyAbove { above_ns: 10 * US }));
    assert!(has(&import, &Warning::ManagementInterrupts { of: "cpu0".into(), count: 3 }));
    let import = peer("runqlat.txt");
    assert_eq!((latency(&import, 0), import.info.tasks[0].is_periodic()), ((1_411, 0, 255_999), false));
    assert!((7_999..8_060).contains(&stats(&import, 0).latency.quantile_ns(0.8).unwrap()));
}

#[test]
fn tools_that_print_a_few_figures_for_each_thread_are_read() {
    let import = peer("rtla-osnoise-top.txt");
    assert_eq!((import.tasks.len(), stats(&import, 0).latency.max_ns()), (4, Some(56_999)));
    assert_eq!((stats(&import, 0).latency.count(), import.info.tasks[3].spec.cpu), (55_263, Some(3)));
    let import = peer("perf-sched-latency.txt");
    let found = stats(&import, 0).latency;
    assert_eq!((found.count(), found.max_ns(), found.mean_ns()), (1_999, Some(215_999), Some(12_000.0)));
    let import = peer("rteval.txt");
    assert_eq!(latency(&import, 1), (599_979, 2 * US, 31_999));
    assert_eq!(import.info.tasks[1].period_ns(), Known::Exactly(100_000));
    assert_eq!(stats(&import, 1).latency.standard_deviation_ns().map(f64::round), Some(910.0));
    let import = peer("bpftrace.txt");
    assert_eq!(latency(&import, 0), (1_209, 0, 2_047_999));
}

#[test]
fn overruns_tell_the_period_and_what_was_missed_at_least() {
    let import = peer("ros2-control-overruns.txt");
    let found = stats(&import, 0);
    assert_eq!(import.info.tasks[0].period_ns(), Known::Exactly(2_000_000));
    assert_eq!((found.missed(), found.execution.max_ns()), (Known::AtLeast { at_least: 5 }, Some(2_927_795)));
    assert!(!knows(&import, Gap::Latency) && !knows(&import, Gap::Count));
}

#[test]
fn a_kernels_trace_tells_from_the_timer_to_the_first_instruction() {
    let import = peer("trace-cmd-report.txt");
    let Measured::Rows(rows) = &import.tasks[0] else { panic!("no rows") };
    let latencies: Vec<_> = rows.iter().map(|row| row.latency_ns()).collect();
    assert_eq!(
        (import.info.tasks[0].spec.name.as_str(), latencies),
        ("cyclictest-1519", vec![19_979, 249_980])
    );
    assert_eq!(rows[0].execution_ns(), 7_000);
    assert!(!knows(&import, Gap::Phase), "how late the timer was is not known");
}

#[test]
fn what_blocked_a_thread_is_told_with_its_stack() {
    let import = peer("rtla-timerlat-top-blocking.txt");
    let parts = import.info.warnings.iter().find_map(|warning| match warning {
        Warning::Traced(one) => Some(one.parts.clone()),
        _ => None,
    });
    let blocking = parts.unwrap().pop().unwrap();
    assert_eq!((blocking.by, blocking.ns), (vec!["kworker/0:1:8231".to_owned()], 1_003_650));
    assert!(blocking.stack.contains(&"delay_tsc".to_owned()), "{:?}", blocking.stack);
}

#[test]
fn captures_of_older_versions_and_with_silent_channels_are_read() {
    let edges = |k: usize| (k % 2, f64::from(u32::try_from(k).unwrap()) * 0.0005);
    let csv = |second: fn(usize) -> &'static str| {
        (0..40).fold(String::from("Time [s],D0,D1\n"), |text, k| {
            let (level, at) = edges(k);
            text + &format!("{at:.4},{level},{}\n", second(k))
        })
    };
    let import = read_text(&csv(|_| "0"));
    assert_eq!(import.tasks.len(), 1);
    assert!(has(&import, &Warning::SilentChannels { channels: vec!["D1".into()] }));
    // The last line may have a time and no sample.
    let import = read_text(&(csv(|_| "1") + "0.02,,\n"));
    assert_eq!(import.tasks.len(), 1);
}

#[test]
fn a_table_without_some_times_and_one_of_two_clocks() {
    let rows = "due_us,start_us\n1000,1003\n2000,-1\n3000,3004\n4000,4003\n";
    let import = read_text(rows);
    assert_eq!(latency(&import, 0).0, 3);
    assert!(has(&import, &Warning::NotInRows { task: "main".into(), count: 1 }));
    let far = "due_ns,start_ns\n1700000000000000000,1000\n1700000000001000000,1001000\n1700000000002000000,2001000\n";
    let far = read_text(far);
    assert!(!knows(&far, Gap::Phase));
    assert_eq!(latency(&far, 0), (3, 0, 0));
}

#[test]
fn what_is_put_around_an_output_changes_nothing() {
    for name in [
        "cyclictest-q.txt",
        "cyclictest-h.txt",
        "latmus.txt",
        "rtla-timerlat-hist.txt",
        "runqlat.txt",
        "xenomai-latency.txt",
    ] {
        let (plain, output) = (peer(name), peer_text(name));
        let each = |prefix: &str| output.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>();
        let wide = |bytes: fn(u16) -> [u8; 2]| output.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let ways = [
            each("> ").into_bytes(),
            each("> > 12:00:01 ").into_bytes(),
            each("    ").into_bytes(),
            each("vm-3 | ").into_bytes(),
            format!("It prints this:\n```\n{output}```\n").into_bytes(),
            output.replace('\n', "\r\n").into_bytes(),
            wide(u16::to_le_bytes),
            [&[0xfe, 0xff][..], &wide(u16::to_be_bytes)].concat(),
        ];
        for (way, bytes) in ways.iter().enumerate() {
            let found = import_bytes("pasted", bytes, &Hints::default());
            let found = found.unwrap_or_else(|error| panic!("{name}, way {way}: {error}"));
            assert_eq!(stats(&found, 0), stats(&plain, 0), "{name}, way {way}");
            assert_eq!(found.info.warnings, plain.info.warnings, "{name}, way {way}");
        }
    }
    let refused =
        import_bytes("pasted", b"$ cyclictest -q\ncommand not found\n", &Hints::default()).unwrap_err();
    assert!(refused.to_string().contains("It names cyclictest"), "{refused}");
}

/// Columns of microseconds under a command that asks for nanoseconds: neither is believed, and the larger is shown.
#[test]
fn a_unit_that_contradicts_itself_leaves_values_open() {
    let status = "T: 0 ( 7001) P:90 I:1000 C:   1000 Min:     19 Act:   28 Avg:   25 Max:     712\n";
    let usual = read_text(&format!("$ cyclictest -q -i 1000 -p 90\n{status}"));
    let contrary = read_text(&format!("$ cyclictest -N -q -i 1000 -p 90\n{status}"));
    assert!(!knows_nothing(&usual) && knows_nothing(&contrary));
    let max = |import: &Import| import.tasks[0].stats(&import.info.tasks[0]).latency.max_ns();
    assert_eq!(max(&usual), max(&contrary));
    let nanoseconds =
        "T: 0 ( 7001) P:90 I:1000 C:   1000 Min:   1950 Act:    2800 Avg:    2500 Max:   71200\n";
    let agreeing = read_text(&format!("$ cyclictest -N -q -i 1000 -p 90\n{nanoseconds}"));
    assert!(!knows_nothing(&agreeing) && max(&agreeing) == Some(71_200), "{:?}", max(&agreeing));
}

fn knows_nothing(import: &Import) -> bool {
    import.info.tasks[0].unknown.contains(&Gap::Unit)
}

/// Wake-ups alone do not say when a thread was due.
#[test]
fn a_trace_without_timers_says_what_is_missing() {
    let line = |at: f64, event: &str| format!("          <idle>-0     [001] d... {at:12.6}: {event}\n");
    let text: String = (0..30)
        .map(|k| {
            let at = 100.0 + f64::from(k) / 1_000.0;
            line(at, "sched_waking: comm=servo pid=900 prio=9 target_cpu=001")
                + &line(at + 5e-6, "sched_switch: swapper/1:0 [120] R ==> servo:900 [9]")
                + &line(at + 3e-4, "sched_switch: servo:900 [9] S ==> swapper/1:0 [120]")
        })
        .collect();
    let error = import_bytes("trace.txt", text.as_bytes(), &Hints::default()).unwrap_err().to_string();
    assert!(error.contains("trace-cmd report") && error.contains("hrtimer_expire_entry"), "{error}");
}

/// The value at which it stopped stays, whoever it was of.
#[test]
fn a_break_of_a_thread_that_is_not_listed_counts() {
    let whole = "# cyclictest -S -p 99 -i 250 -b 150\n\
        T: 0 (90201) P:99 I:250 C: 112034 Min:      1 Act:    2 Avg:    2 Max:      38\n\
        T: 1 (90202) P:99 I:250 C: 112030 Min:      1 Act:    3 Avg:    2 Max:      61\n\
        # Thread Ids: 90201 90202\n# Break thread: 90202\n# Break value: 163\n";
    let largest = |text: &str| {
        let import = read_text(text);
        let tasks = import.info.tasks.iter().zip(&import.tasks);
        tasks.filter_map(|(task, measured)| measured.stats(task).latency.max_ns()).max().unwrap()
    };
    let without = |part: &str| {
        whole.lines().filter(|line| !line.contains(part)).map(|line| format!("{line}\n")).collect::<String>()
    };
    let texts = [
        whole.into(),
        without("T: 1"),
        without("Break thread"),
        without("Thread Ids"),
        whole.replace("thread: 90202", "thread: 7"),
    ];
    for text in texts {
        assert!(largest(&text) >= 163_000, "{}: {text}", largest(&text));
    }
}
