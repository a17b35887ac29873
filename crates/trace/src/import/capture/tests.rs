//! Captures of pins and packets: edges are where they were, whatever wrote the file.
//!
//! `tests/peers/sigrok*` were written by sigrok-cli 0.7.2 of the same samples, `udp.*` by tcpdump and dumpcap of real traffic,
//! `ethercat.pcapng` by text2pcap; those of Saleae and of oscilloscopes as their makers document them.
use std::path::{Path, PathBuf};

use jitterlab_model::{Activation, EdgeKind, Gap, Warning};

use super::CaptureHints;
use crate::{Hints, Import, Measured, import, import_bytes};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

fn hints(channels: &[&str]) -> Hints {
    let channels = channels.iter().map(ToString::to_string).collect();
    Hints { capture: CaptureHints { channels, ..CaptureHints::default() }, ..Hints::default() }
}

#[track_caller]
fn read(name: &str, hints: &Hints) -> Import {
    import(sample(name), hints).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn rows(import: &Import, task: &str) -> Vec<Activation> {
    let place = import.info.tasks.iter().position(|one| one.spec.name == task);
    match &import.tasks[place.unwrap_or_else(|| panic!("no {task}"))] {
        Measured::Rows(rows) => rows.clone(),
        Measured::Distributions(_) => panic!("{task} is on no grid"),
    }
}

/// Since the first.
fn since_first(rows: &[Activation]) -> Vec<(i64, i64)> {
    rows.iter().map(|row| (row.start_ns - rows[0].start_ns, row.end_ns - rows[0].start_ns)).collect()
}

#[test]
fn every_format_of_sigrok_tells_the_same_edges() {
    let all = hints(&[]);
    let session = read("sigrok.sr", &all);
    let names: Vec<&str> = session.info.tasks.iter().map(|task| task.spec.name.as_str()).collect();
    assert_eq!(names, ["loop", "base"]);
    for file in ["sigrok.vcd", "sigrok.csv", "sigrok-times.csv"] {
        let other = read(file, &all);
        for task in ["loop", "base"] {
            assert_eq!(
                since_first(&rows(&other, task)),
                since_first(&rows(&session, task)),
                "{file}: {task}"
            );
        }
    }
    // 115 pulses of 1 ms, without the 61st; spikes of 300 us.
    let found = rows(&session, "loop");
    assert_eq!((found.len(), found[60].index), (114, 61));
    let unknown = |task: usize| session.info.tasks[task].unknown.contains(&Gap::Missed);
    // The capture goes on behind the last pulse of either.
    assert_eq!((unknown(0), unknown(1)), (true, true));
    let period_ns = |task: usize| session.info.tasks[task].spec.period_ns;
    assert!((period_ns(0) - MS).abs() < 500 && (period_ns(1) - MS / 5).abs() < 100, "{}", period_ns(0));
    let worst = found.iter().map(Activation::latency_ns).max().unwrap();
    assert!((300 * US..=370 * US).contains(&worst), "{worst}");
    let found = rows(&session, "base");
    assert_eq!(found.len(), 589);
    assert!(found.iter().all(|row| row.execution_ns() == 40 * US));
}

#[test]
fn channels_and_edges_are_chosen() {
    let chosen = read("sigrok.vcd", &hints(&["base"]));
    assert_eq!(chosen.tasks.len(), 1);
    let error = import(sample("sigrok.vcd"), &hints(&["D7"])).unwrap_err().to_string();
    assert!(error.contains("no channel D7: it has loop, base"), "{error}");
    let edge =
        |edge| Hints { capture: CaptureHints { edge, ..hints(&["base"]).capture }, ..Hints::default() };
    let falling = read("sigrok.vcd", &edge(EdgeKind::Falling));
    assert!(rows(&falling, "base").iter().all(|row| row.execution_ns() >= 120 * US));
    // Pulses of 40 us every 200: both edges have no common grid.
    let both = read("sigrok.vcd", &edge(EdgeKind::Both));
    assert!(matches!(both.tasks[0], Measured::Distributions(_)));
}

#[test]
fn a_given_period_is_the_nominal_one_and_the_clock_of_the_capture_its_own() {
    // A pulse every 1.0001 ms of the capture's clock, with a jitter of 2 us.
    let mut text = String::from("$timescale 1 ns $end $var wire 1 ! D0 $end $enddefinitions $end\n#0 0!\n");
    for k in 0..5_000i64 {
        let at = 1_000_100 * k + 500 + k * 7 % 2_000;
        text += &format!("#{at} 1!\n#{} 0!\n", at + 10_000);
    }
    let said = Hints { periods_ns: vec![MS], ..hints(&[]) };
    let import = import_bytes("x.vcd", text.as_bytes(), &said).unwrap();
    let found = rows(&import, "D0");
    assert_eq!((found.len(), import.info.tasks[0].spec.period_ns), (5_000, MS));
    let worst = found.iter().map(Activation::latency_ns).max().unwrap();
    assert!((1_900..2_100).contains(&worst), "the rate of the clock is no lateness: {worst}");
    assert!(found.iter().all(|row| row.latency_ns() >= 0));
}

#[test]
fn oscilloscopes_tell_where_the_voltage_crosses() {
    for (file, tasks) in [("rigol.csv", 1), ("siglent.csv", 2), ("keysight.csv", 2)] {
        let import = read(file, &hints(&[]));
        assert_eq!(import.tasks.len(), tasks, "{file}");
        let found = |warning: &Warning| matches!(warning, Warning::ThresholdFound { .. });
        assert_eq!(import.info.warnings.iter().filter(|w| found(w)).count(), tasks, "{file}");
        let first = rows(&import, "CH1");
        assert_eq!(first.len(), 12, "{file}");
        // 300 us wide, with flanks of 20 us; samples come every 20 us.
        assert!(first.iter().all(|row| (270 * US..330 * US).contains(&row.execution_ns())), "{file}");
        let threshold = Some("1V..2V".parse().unwrap());
        let said =
            Hints { capture: CaptureHints { threshold, ..CaptureHints::default() }, ..Hints::default() };
        let said = import_bytes(file, &std::fs::read(sample(file)).unwrap(), &said).unwrap();
        assert!(!said.info.warnings.iter().any(found), "{file}");
    }
}

#[test]
fn saleae_s_table_and_binary_are_the_same_channel() {
    let table = read("saleae.csv", &hints(&[]));
    let binary = read("saleae.bin", &hints(&[]));
    let (table, binary) = (rows(&table, "step"), rows(&binary, "saleae"));
    assert_eq!(table.len(), 120);
    for (a, b) in since_first(&table).iter().zip(since_first(&binary)) {
        assert!((a.0 - b.0).abs() <= 1 && (a.1 - b.1).abs() <= 1, "{a:?} {b:?}");
    }
}

#[test]
fn cyclic_frames_and_their_answers_are_cycles() {
    let ethercat = read("ethercat.pcapng", &hints(&[]));
    let found = rows(&ethercat, "00:1b:21:0a:ff:01");
    assert_eq!((found.len(), ethercat.tasks.len()), (100, 1));
    assert!(found.iter().all(|row| (30 * US..34 * US).contains(&row.execution_ns())));
    for file in ["udp.pcap", "udp.pcapng"] {
        let error = import(sample(file), &Hints::default()).unwrap_err().to_string();
        assert!(error.contains("--packets; most are udp:27181 (151), udp:40000 (150)"), "{error}");
        let packets = Some("udp:27181".parse().unwrap());
        let asked =
            Hints { capture: CaptureHints { packets, ..CaptureHints::default() }, ..Hints::default() };
        let import = read(file, &asked);
        let found = rows(&import, "127.0.0.1:40000");
        assert_eq!(found.len(), 150, "{file}");
        assert!(found.iter().all(|row| row.execution_ns() > 0), "{file}");
        assert!((19_900 * US..20_100 * US).contains(&import.info.tasks[0].spec.period_ns), "{file}");
    }
}

#[test]
fn what_is_cut_off_or_two_captures_is_refused_or_shorter() {
    for file in ["sigrok.sr", "saleae.bin", "udp.pcap", "udp.pcapng"] {
        let whole = std::fs::read(sample(file)).unwrap();
        let packets = Some("udp:27181".parse().unwrap());
        let hints =
            Hints { capture: CaptureHints { packets, ..CaptureHints::default() }, ..Hints::default() };
        assert!(
            import_bytes(file, &[whole.clone(), whole.clone()].concat(), &hints).is_err(),
            "{file} twice"
        );
        let cut = import_bytes(file, &whole[..whole.len() / 2], &hints);
        if let Ok(import) = cut {
            assert!(file.starts_with("udp") && rows(&import, "127.0.0.1:40000").len() < 80, "{file}");
        }
    }
}

#[test]
fn scopes_as_deep_as_the_file_is_long_are_read() {
    let mut text = "$scope module m $end\n".repeat(200_000);
    text += "$var wire 1 ! D0 $end\n$enddefinitions $end\n#0 0!\n";
    for k in 1..9 {
        text += &format!("#{k} {}!\n", k % 2);
    }
    let import = import_bytes("x.vcd", text.as_bytes(), &hints(&[])).unwrap();
    assert_eq!(rows(&import, "D0").len(), 4);
    assert!(import_bytes("x.vcd", format!("{text}{text}").as_bytes(), &hints(&[])).is_err());
}

/// An archive of stored entries.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let mut head = vec![0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        head.extend(crc32fast::hash(content).to_le_bytes());
        (0..2).for_each(|_| head.extend((content.len() as u32).to_le_bytes()));
        head.extend((name.len() as u32).to_le_bytes());
        directory.extend(
            [&b"PK\x01\x02\x14\0"[..], &head, &[0; 10], &(bytes.len() as u32).to_le_bytes()].concat(),
        );
        directory.extend(name.as_bytes());
        bytes.extend([&b"PK\x03\x04"[..], &head, name.as_bytes(), content].concat());
    }
    let (count, begin) = ((entries.len() as u16).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    let length = (directory.len() as u32).to_le_bytes();
    bytes.extend(directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &length, &begin, &[0; 2]].concat());
    bytes
}

/// Nothing is unpacked to a path that a name gives.
#[test]
fn names_in_an_archive_lead_nowhere() {
    let samples: Vec<u8> = (0..4_000u32).map(|n| u8::from(n / 50 % 2 == 1)).collect();
    let session = |capture: &str, entries: &[&str]| {
        let metadata =
            format!("[device 1]\ncapturefile={capture}\nsamplerate=1 MHz\nprobe1=D0\nunitsize=1\n");
        let mut all: Vec<(&str, &[u8])> = vec![("version", b"2"), ("metadata", metadata.as_bytes())];
        all.extend(entries.iter().map(|name| (*name, &*samples)));
        import_bytes("names.sr", &archive(&all), &Hints::default())
    };
    let usual = since_first(&rows(&session("logic-1", &["logic-1-1"]).unwrap(), "D0"));
    assert!(usual.len() > 30);
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("logic-1-1");
    std::fs::write(&outside, &samples).unwrap();
    for foreign in
        ["../logic-1-1", "../../../../tmp/x", outside.to_str().unwrap(), "..\\metadata", "a/../metadata"]
    {
        let found = session("logic-1", &["logic-1-1", foreign]).unwrap();
        assert_eq!(since_first(&rows(&found, "D0")), usual, "{foreign}");
        assert!(!Path::new("/tmp/x").exists());
        // A file that is not in the archive is not looked for elsewhere.
        let capture = foreign.strip_suffix("-1").unwrap_or(foreign);
        assert!(session(capture, &["logic-1-1"]).is_err(), "{foreign}");
        // One that is in it is read there, whatever it is called.
        assert_eq!(since_first(&rows(&session(foreign, &[foreign]).unwrap(), "D0")), usual, "{foreign}");
    }
    assert_eq!(std::fs::read(&outside).unwrap(), samples);
}
