//! No statement of another tool's output can be changed, added or removed so that a requirement passes that is broken.

use std::fs;
use std::path::Path;

use jitterlab_analysis::require::{Outcome, Requirement};
use jitterlab_model::{Distribution, TimingStats};
use jitterlab_runs::{Hints, Run};
use tempfile::TempDir;

/// One of the distributions of a task.
type DistributionOf = fn(&TimingStats) -> &Distribution;

/// Words of lines that state a maximum, a count, an overflow, a break or a period.
const STATING: [&str; 29] = [
    "max", "total", "overflow", "break", " c:", " i:", "count", "over:", "rts|", "rtd|", "hss|", "period",
    "interval", "samples", "duration", "latency:", "overruns", "cycles", "smi", "missed", "avg", "mean",
    "min", "thread ", "peak", "test", "spike", "all", "jitter",
];

/// Outcomes of these requirements for each task that is there, by name; `None` where the output is refused.
fn outcomes(path: &Path, requirements: &[Requirement]) -> Option<Vec<(String, Vec<Outcome>)>> {
    let run = Run::open(path, &Hints::default()).ok()?;
    let wanted: Vec<&Requirement> = requirements.iter().collect();
    let breaches = run.breaches(&wanted).ok()?;
    let judged = run.info().tasks.iter().zip(breaches).map(|(task, breaches)| {
        let outcomes =
            requirements.iter().zip(&breaches).map(|(of, breaches)| of.judge(breaches, Some(1)).outcome);
        (task.spec.name.clone(), outcomes.collect())
    });
    Some(judged.collect())
}

/// A line with every number replaced by the result of `change`.
fn numbers(line: &str, change: impl Fn(u64) -> u64) -> String {
    let mut changed = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at);
        let number = rest[at..at + digits].parse::<u64>().map_or(0, &change);
        changed += &rest[..at];
        changed += &format!("{number:0digits$}");
        rest = &rest[at + digits..];
    }
    changed + rest
}

#[test]
fn no_changed_statement_makes_a_broken_requirement_pass() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/peers");
    let folder = TempDir::new().unwrap();
    let mut changes = 0;
    let (mut wrong, mut seen) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(peers).unwrap() {
        let original = entry.unwrap().path();
        let Some(text) = fs::read(&original).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
            continue;
        };
        let name = original.file_name().unwrap().to_string_lossy().into_owned();
        // Tables of single activations: each row is a statement about itself, and about no other.
        if !name.ends_with(".txt") && !name.ends_with(".json") {
            continue;
        }
        let Ok(run) = Run::open(&original, &Hints::default()) else { continue };
        let (timing, _) = run.timing().unwrap().into_parts();
        let quantities: [(&str, DistributionOf); 3] = [
            ("latency", |of| &of.latency),
            ("period-error", |of| &of.period_error),
            ("execution", |of| &of.execution),
        ];
        let of_quantity = |(quantity, of): (&str, DistributionOf)| {
            let max_ns = timing.iter().filter_map(|timing| of(timing).max_ns()).max();
            let max_ns = max_ns.filter(|ns| *ns > 1_000)?;
            // Other statements may be finer.
            let limits = [("max", max_ns / 100 * 99), ("p99.9", max_ns / 2), ("p50", max_ns / 20)];
            Some(limits.map(|(figure, ns)| format!("{quantity} {figure} < {ns}ns").parse().unwrap()))
        };
        let requirements: Vec<Requirement> =
            quantities.into_iter().filter_map(of_quantity).flatten().collect();
        if requirements.is_empty() {
            continue;
        }
        seen.push(name.clone());
        let before = outcomes(&original, &requirements).unwrap();
        let path = folder.path().join("changed.txt");
        // First: a broken requirement passes with the changed output. Second: every outcome is unchanged.
        let try_it = |lines: &[String]| {
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            let after = outcomes(&path, &requirements).unwrap_or_default();
            let mut still = true;
            let mut passes = false;
            for (task, outcomes) in &before {
                let now = after.iter().find(|(name, _)| name == task).map(|(_, of)| of);
                for (number, outcome) in outcomes.iter().enumerate().filter(|(_, of)| **of == Outcome::Fail) {
                    let now = now.map(|of| of[number]);
                    still &= now == Some(*outcome);
                    passes |= now == Some(Outcome::Pass);
                }
            }
            (passes, still)
        };
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let states = |line: &str| {
            let line = line.to_lowercase();
            line.contains(|c: char| c.is_ascii_digit()) && STATING.iter().any(|word| line.contains(word))
        };
        for at in (0..lines.len()).filter(|at| states(&lines[*at])).take(60) {
            let mut removed = lines.clone();
            let line = removed.remove(at);
            let mut tried = vec![("removed", removed.clone())];
            let (passes, still) = try_it(&removed);
            for (how, change) in [
                ("smaller", numbers(&line, |n| n / 10)),
                ("larger", numbers(&line, |n| n.saturating_mul(10))),
            ] {
                let mut added = lines.clone();
                added.insert(at + 1, change.clone());
                tried.push((how, added));
                // If no other statement has the same content, no change can be detected.
                if still {
                    let mut changed = lines.clone();
                    changed[at] = change;
                    tried.push((how, changed));
                }
            }
            changes += tried.len();
            if passes {
                wrong.push(format!("{name}: without {line:?}"));
            }
            for (how, lines) in &tried[1..] {
                if try_it(lines).0 {
                    wrong.push(format!("{name}: {how} {line:?}"));
                }
            }
        }
    }
    // Each importer of statements has its files among them.
    for tool in [
        "cyclictest",
        "hwlatdetect",
        "jitterdebugger",
        "latmus",
        "linuxcnc",
        "oslat",
        "perf-sched",
        "pmqtest",
        "ptsematest",
        "rteval",
        "rtla",
        "ros2-control",
        "runqlat",
        "bpftrace",
        "halcmd",
        "signaltest",
        "stress-ng",
        "xenomai",
    ] {
        assert!(seen.iter().any(|name| name.starts_with(tool)), "{tool}: {seen:?}");
    }
    assert!(changes > 1_000, "{changes}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
