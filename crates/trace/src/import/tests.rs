//! Every fixture against every importer: whose output it is must not be guessed wrongly, whatever is put around it.
use std::fmt::Write as _;
use std::path::PathBuf;

use jitterlab_model::Error;

use super::*;

/// Each file under `tests/peers`, and whose output it is.
const FIXTURES: &[(&str, &str)] = &[
    ("cyclictest-h.txt", CYCLICTEST),
    ("cyclictest-H.txt", CYCLICTEST),
    ("osadl.txt", CYCLICTEST),
    ("cyclictest.json", RT_TESTS),
    ("cyclictest-ns.json", RT_TESTS),
    ("cyclictest-no-h.json", RT_TESTS),
    ("cyclicdeadline.json", RT_TESTS),
    ("cyclictest-v.txt", CYCLICTEST),
    ("cyclictest-qv.txt", CYCLICTEST),
    ("cyclictest-live.txt", CYCLICTEST),
    ("cyclictest-q.txt", CYCLICTEST),
    ("signaltest.txt", CYCLICTEST),
    ("jitterdebugger-v.txt", CYCLICTEST),
    ("signaltest.json", RT_TESTS),
    ("ptsematest.json", RT_TESTS),
    ("svsematest.json", RT_TESTS),
    ("pmqtest.json", RT_TESTS),
    ("sigwaittest.json", RT_TESTS),
    ("ptsematest.txt", "ptsematest and relatives"),
    ("pmqtest.txt", "ptsematest and relatives"),
    ("oslat.json", RT_TESTS),
    ("oslat.txt", "oslat"),
    ("rtla-timerlat-hist.txt", "rtla timerlat hist"),
    ("rtla-osnoise-hist.txt", "rtla timerlat hist"),
    ("rtla-timerlat-top.txt", "rtla timerlat top"),
    ("rtla-auto-analysis.txt", "rtla timerlat's auto-analysis"),
    ("jitterdebugger/results.json", "jitterdebugger results.json"),
    ("jitterdebugger/samples.raw", "jitterdebugger samples.raw"),
    ("jittersamples.csv", "jittersamples' samples.csv"),
    ("stress-ng.txt", "stress-ng --cyclic"),
    ("stress-ng-few.txt", "stress-ng --cyclic"),
    ("stress-ng-percentiles.txt", "stress-ng --cyclic"),
    ("linuxcnc-nox.txt", "LinuxCNC latency-histogram --nox"),
    ("dot.latency", "LinuxCNC .latency"),
    ("halcmd-show-pin.txt", "LinuxCNC halcmd show"),
    ("xenomai-g.txt", XENOMAI),
    ("xenomai-console.txt", XENOMAI),
    ("latmus.txt", XENOMAI),
    ("rttest.txt", "rttest"),
    ("zephyr.txt", "Zephyr timer_behavior"),
    ("sigrok.vcd", "value change dump (VCD)"),
    ("sigrok.sr", "sigrok session"),
    ("sigrok.csv", CAPTURES),
    ("sigrok-times.csv", CAPTURES),
    ("saleae.csv", CAPTURES),
    ("saleae.bin", "Saleae Logic binary"),
    ("keysight.csv", CAPTURES),
    ("rigol.csv", CAPTURES),
    ("siglent.csv", CAPTURES),
    ("udp.pcap", PCAP),
    ("udp.pcapng", PCAP),
    ("ethercat.pcapng", PCAP),
    ("table.csv", TABLES),
    ("cyclictest-abridged.txt", CYCLICTEST),
    ("cyclictest-bins-a.txt", CYCLICTEST),
    ("cyclictest-bins-b.txt", CYCLICTEST),
    ("cyclictest-footer-only.txt", CYCLICTEST),
    ("cyclictest-maxima-after.txt", CYCLICTEST),
    ("cyclictest-maxima-before.txt", CYCLICTEST),
    ("cyclictest-ns-smi.txt", CYCLICTEST),
    ("cyclictest-oscope.txt", CYCLICTEST),
    ("cyclictest-status-and-histogram.txt", CYCLICTEST),
    ("cyclictest-verbose-break.txt", CYCLICTEST),
    ("cyclictest-verbose-d0.txt", CYCLICTEST),
    ("latmus-capital-t.txt", XENOMAI),
    ("latmus-console-and-histogram.txt", XENOMAI),
    ("xenomai-latency.txt", XENOMAI),
    ("xenomai-latency-h.txt", XENOMAI),
    ("rtla-timerlat-top-blocking.txt", "rtla timerlat top"),
    ("hwlatdetect.txt", "hwlatdetect"),
    ("runqlat.txt", "bcc, bpftrace"),
    ("ros2-control-overruns.txt", "ros2_control"),
    ("trace-cmd-report.txt", "trace-cmd report, ftrace"),
    ("rtla-osnoise-top.txt", "rtla osnoise top"),
    ("perf-sched-latency.txt", "perf sched latency"),
    ("rteval.txt", "rteval"),
    ("bpftrace.txt", "bcc, bpftrace"),
    ("cyclictest-overflow-cycles.txt", CYCLICTEST),
    ("cyclictest-spikes.txt", CYCLICTEST),
    ("rtla-timerlat-hist-all.txt", "rtla timerlat hist"),
    ("rtla-timerlat-hist-stopped.txt", "rtla timerlat hist"),
    ("halcmd-show-thread.txt", "LinuxCNC halcmd show"),
    ("ros2-diagnostics.txt", "ros2_control"),
    ("halsampler.txt", "LinuxCNC halsampler -t of timedelta"),
];

const CYCLICTEST: &str = "cyclictest";
const RT_TESTS: &str = "rt-tests --json";
const XENOMAI: &str = "Xenomai latency, EVL latmus";
const TABLES: &str = "tables (CSV)";
const CAPTURES: &str = "captures (CSV)";
const PCAP: &str = "packet capture (pcap)";

/// Endings of files that are no text.
const BINARY: [&str; 6] = [".raw", ".sr", ".bin", ".pcap", ".pcapng", ".latency"];

fn is_text(fixture: &str) -> bool {
    !BINARY.iter().any(|ending| fixture.ends_with(ending))
}

fn fixture_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

fn content(fixture: &str) -> Vec<u8> {
    std::fs::read(fixture_folder().join(fixture)).unwrap()
}

/// Statements that the output's user would make.
fn hints(fixture: &str) -> Hints {
    Hints {
        capture: CaptureHints {
            packets: fixture.starts_with("udp").then(|| "udp:27181".parse().unwrap()),
            ..CaptureHints::default()
        },
        ..Hints::default()
    }
}

fn read_bytes(fixture: &str, bytes: &[u8]) -> Result<Import, Error> {
    // LinuxCNC's file is recognised by its name.
    let name = fixture.strip_prefix("dot").unwrap_or(fixture);
    import_bytes(name, bytes, &hints(fixture))
}

/// Names and figures, to be compared.
fn figures(import: &Import) -> Vec<(String, TimingStats)> {
    let both = import.info.tasks.iter().zip(&import.tasks);
    both.map(|(task, measured)| (task.spec.name.clone(), measured.stats(task))).collect()
}

#[test]
fn every_fixture_is_of_one_importer_alone_and_every_importer_has_one() {
    for (fixture, wanted) in FIXTURES {
        let bytes = content(fixture);
        let text = unpack::text_of(&bytes);
        let input = Input {
            name: fixture.strip_prefix("dot").unwrap_or(fixture),
            folder: None,
            bytes: &bytes,
            text: &text,
            columns_given: false,
        };
        let found: Vec<&str> =
            importers().filter(|peer| (peer.recognise)(&input)).map(|peer| peer.name).collect();
        assert_eq!(found, [*wanted], "{fixture}");
        let import = read_bytes(fixture, &bytes).unwrap_or_else(|error| panic!("{fixture}: {error}"));
        assert!(figures(&import).iter().all(|(_, stats)| stats.executed() > 0), "{fixture}");
    }
    for peer in importers() {
        assert!(FIXTURES.iter().any(|(_, of)| *of == peer.name), "{} has no fixture", peer.name);
    }
    let listed = std::fs::read_dir(fixture_folder()).unwrap().count();
    // Two of them, and the file next to them, are in one folder.
    assert_eq!(listed, FIXTURES.len() - 1, "a fixture is not in the list");
}

#[test]
fn what_is_not_listed_is_of_nobody() {
    for text in [
        "",
        "Dear Sir",
        "{}",
        "[1, 2, 3]",
        "{\"cpu\": 3}",
        "1 2 3\n4 5 6\n",
        "a,b,c\n1,2,3\n",
        "latency of our letters\nis long\n",
        "T: 0 is a line\n",
        "min: 3 max: 4\n",
        "PAR1\0\0",
        "\0\0\0\0",
    ] {
        let error = import_bytes("x", text.as_bytes(), &Hints::default()).unwrap_err();
        assert!(error.is(FileProblem::UnknownOutput), "{text:?}: {error}");
    }
}

#[test]
fn long_texts_are_known_by_their_ends_or_else_by_all() {
    let rows = (0..200_000u64).map(|k| format!("{},{}\n", 1_000_000 * k, 1_000_000 * k + 9_000 + k % 7));
    let table = String::from("due_ns,start_ns\n") + &rows.collect::<String>();
    assert!(table.len() > LONG);
    let read = |text: &str| import_bytes("x", text.as_bytes(), &Hints::default());
    let import = read(&table).unwrap();
    assert_eq!(import.tasks[0].stats(&import.info.tasks[0]).executed(), 200_000);
    let other = String::from_utf8(content("rtla-timerlat-hist.txt")).unwrap();
    let both = read(&(table.clone() + &other)).unwrap_err();
    assert!(both.is(FileProblem::SeveralOutputs), "{both}");
    let letters = "Dear Sir\n".repeat(LONG / 8);
    let hidden = read(&[&letters, "\n", &other, "\n", &letters].concat()).unwrap();
    assert_eq!(figures(&hidden), figures(&read(&other).unwrap()));
}

#[test]
fn the_times_of_a_build_server_change_nothing() {
    for (fixture, _) in FIXTURES.iter().filter(|(name, _)| is_text(name)) {
        let bytes = content(fixture);
        let text = String::from_utf8(bytes.clone()).unwrap();
        let mut logged = String::new();
        for (second, line) in text.lines().enumerate() {
            let (minute, second) = (second / 60 % 60, second % 60);
            let _ = writeln!(logged, "2026-11-22T16:{minute:02}:{second:02}.1234567Z {line}");
        }
        let plain = figures(&read_bytes(fixture, &bytes).unwrap());
        let found =
            read_bytes(fixture, logged.as_bytes()).unwrap_or_else(|error| panic!("{fixture}: {error}"));
        assert_eq!(figures(&found), plain, "{fixture}");
    }
}

#[test]
fn a_compressed_output_is_the_same() {
    for (fixture, _) in FIXTURES {
        let bytes = content(fixture);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &bytes).unwrap();
        let packed = packed.finish().unwrap();
        let found = read_bytes(fixture, &packed).unwrap_or_else(|error| panic!("{fixture}: {error}"));
        assert_eq!(figures(&found), figures(&read_bytes(fixture, &bytes).unwrap()), "{fixture}");
        assert!(read_bytes(fixture, &packed[..packed.len() - 9]).is_err(), "{fixture}");
    }
}

fn renumbered(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let text = text.replace("( 9", "( 8").replace("( 1", "( 9").replace("( 2", "( 9").replace("#58", "#05");
    text.replace("(2", "(9").replace("(3", "(9").replace(": ID2", ": ID9").replace("#123", "#012").into()
}

#[test]
fn two_measurements_in_one_file_are_refused() {
    for (fixture, _) in FIXTURES {
        let first = content(fixture);
        // Refreshed lines that repeat are no second measurement: that has other threads, or begins anew.
        let second = match *fixture {
            "ptsematest.txt" | "pmqtest.txt" | "rtla-timerlat-top.txt" => renumbered(&first),
            "cyclictest-spikes.txt"
            | "cyclictest-maxima-after.txt"
            | "cyclictest-maxima-before.txt"
            | "cyclictest-ns-smi.txt" => renumbered(&first),
            "rtla-timerlat-top-blocking.txt" => renumbered(&first),
            "cyclictest-live.txt" | "cyclictest-q.txt" | "signaltest.txt" | "jitterdebugger-v.txt" => {
                renumbered(&first)
            }
            _ => first.clone(),
        };
        let twice = [first, second].concat();
        let found = read_bytes(fixture, &twice);
        assert!(found.is_err(), "{fixture}: {:?}", found.map(|import| import.info.warnings));
    }
    let both = [content("cyclictest-h.txt"), content("stress-ng.txt")].concat();
    let error = read_bytes("both", &both).unwrap_err().to_string();
    assert!(error.contains("cyclictest, stress-ng --cyclic"), "{error}");
}
