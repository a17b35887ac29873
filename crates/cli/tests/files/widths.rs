//! Output of every command fits the terminal: nothing is wider, prose uses its width, and the words of
//! specialists stay behind `--details`.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its files or start its program has failed")]

use std::path::Path;
use std::process::Command;

use jitterlab_report::chart::Terminal;
use jitterlab_report::document::{Document, Extent};
use jitterlab_report::printable::printable_lines;

use crate::shared::known;

/// Words of specialists, which a user must not need to look up to know the next step.
const SPECIALISTS: [&str; 7] = ["gate", "extremal index", "KPSS", "MTIE", "TDEV", "GPD", "autocovariance"];

/// Output of the command on a terminal of this width, except for files that are shown as they are.
fn printed(folder: &Path, args: &[&str], columns: usize) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    command.args(args).current_dir(folder).env("XDG_CONFIG_HOME", folder);
    let output = command.env("COLUMNS", columns.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code().is_some_and(|code| code != 2) && !said.contains("panicked"),
        "{args:?}: {said}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The longest line. An example to be copied is left as it is, and a path cannot be broken.
fn widest(text: &str) -> usize {
    let is_example = |line: &&str| {
        ["    source = ", "    # ", "    jitterlab "].iter().any(|begin| line.starts_with(begin))
    };
    let lines = text.lines().filter(|line| !is_example(line) && line.trim().contains(' '));
    lines.map(|line| line.chars().count()).max().unwrap_or_default()
}

/// The first two lines between which a number lost its unit.
fn parted(text: &str) -> Option<(&str, &str)> {
    const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "%", "Hz", "N", "steps/s", "rev/min"];
    let begins = |line: &str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']))
    };
    let is_parted = |(before, line): &(&str, &str)| {
        before.ends_with(|c: char| c.is_ascii_digit()) && begins(line) && !line.contains("  ")
    };
    text.lines().zip(text.lines().skip(1)).find(is_parted)
}

/// A latency that looks random, with a late one now and then.
fn latency_ns(index: i64, usual_ns: i64) -> i64 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let noise = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 52;
    usual_ns + noise as i64 + if index % 1_500 == 700 { 40_000 } else { 0 }
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, period_ns, usual_ns| {
        known::run(folder.path(), name, period_ns, 20_000, |index| latency_ns(index, usual_ns));
    };
    run("servo.parquet", 1_000_000, 3_000);
    run("later.parquet", 1_000_000, 9_000);
    run("base.parquet", 50_000, 3_000);
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/peers");
    let peer = |name: &str| peers.join(name).display().to_string();
    let motor = ["--frame", "23", "--torque", "1.9Nm"];
    let mut all: Vec<Vec<String>> = [
        &[] as &[&str],
        &["check"],
        &["check", "--details", "--cpus", "0"],
        &["run", "-q", "-d", "50ms", "--no-file", "--policy", "other"],
        &["run", "-q", "-d", "50ms", "--no-file", "--policy", "other", "--details"],
        &["run", "--load", "help"],
        &["analyze", "servo.parquet"],
        &["analyze", "--details", "servo.parquet"],
        &["predict", "servo.parquet"],
        &["predict", "--details", "servo.parquet"],
        &["predict", "--require", "p99.9 < 100us", "servo.parquet"],
        &["compare", "servo.parquet", "later.parquet"],
        &["compare", "--details", "servo.parquet", "later.parquet"],
        &["servo", "servo.parquet"],
        &["servo", "--details", "servo.parquet"],
        &["servo", "--list"],
        &["stepper", "--list"],
        &["reproduce", "--list"],
        &["plot", "servo.parquet"],
        &["plot", "servo.parquet", "later.parquet", "--figure", "percentiles"],
        &["plot", "servo.parquet", "--figure", "pairs"],
        &["plot", "servo.parquet", "--figure", "series"],
    ]
    .iter()
    .map(|args| args.iter().map(|arg| (*arg).to_owned()).collect())
    .collect();
    for more in [
        &["base.parquet"] as &[&str],
        &["base.parquet", "--details"],
        &["base.parquet", "--travel", "5mm/rev"],
    ] {
        all.push(["stepper"].iter().chain(&motor).chain(more).map(|arg| (*arg).to_owned()).collect());
    }
    for name in
        ["cyclictest-h.txt", "rtla-timerlat-hist.txt", "linuxcnc-nox.txt", "sigrok.vcd", "ethercat.pcapng"]
    {
        all.push(vec!["analyze".into(), peer(name)]);
    }
    let mut wider = 0;
    for args in &all {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        for columns in [40, 80, 120] {
            let text = printed(folder.path(), &args, columns);
            let widest = widest(&text);
            assert!(widest <= columns, "{args:?} at {columns}: {widest}\n{text}");
            assert_eq!(parted(&text), None, "{args:?} at {columns}");
            wider += usize::from(widest > 80);
            let is_for_all = !args.contains(&"--details") && !args.contains(&"--list");
            let is_plain =
                is_for_all && !["analyze", "plot"].iter().any(|command| args.first() == Some(command));
            for word in SPECIALISTS.iter().filter(|_| is_plain) {
                assert!(!text.contains(word), "{args:?}: {word} in\n{text}");
            }
        }
    }
    // A wide terminal is used.
    assert!(wider > 10, "{wider}");
}

/// Stored results of commands that take long or need more than a test has, printed as the commands print
/// them.
#[test]
fn no_result_is_wider_than_the_terminal() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/results");
    let mut kinds = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(kept).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // Hostile ones are kept there too; they are for the reader.
        let Ok(document) = Document::read(&text) else { continue };
        let kind: serde_json::Value = serde_json::from_str(&text).unwrap();
        kinds.insert(kind["kind"].as_str().unwrap().to_owned());
        for (columns, extent) in [40, 80, 100, 120].into_iter().flat_map(|columns| {
            [Extent::Conclusion, Extent::Answer, Extent::Details].map(|extent| (columns, extent))
        }) {
            let told = document.terminal_text(extent, Terminal { columns, ascii: false, colour: false });
            let coloured = document.terminal_text(extent, Terminal { columns, ascii: false, colour: true });
            assert_eq!(
                printable_lines(&coloured),
                coloured,
                "{path:?}: a colour is taken for what hides text"
            );
            let widest = widest(&told);
            assert!(widest <= columns, "{path:?} at {columns}: {widest}\n{told}");
            let is_for_all = extent != Extent::Details && kind["kind"] != "analysis";
            for word in SPECIALISTS.iter().filter(|_| is_for_all) {
                assert!(!told.contains(word), "{path:?}: {word} in\n{told}");
            }
        }
    }
    for kind in
        ["alignment", "compensation", "doctor", "kernel-run", "matrix", "mcu-recommendation", "tune", "why"]
    {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
}
