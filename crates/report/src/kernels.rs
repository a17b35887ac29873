//! The same tasks on several kernels, side by side.

use crate::words::{known_count, microseconds};
use jitterlab_analysis::Summary;
use jitterlab_analysis::code_paths::{Change, CodePath, RARE_SHARE};
use jitterlab_analysis::kernels::{AlsoRan, KernelDiff, KernelPeers, KernelRun, RunOnKernel, ToolResult};
use jitterlab_analysis::summary::{P50, P99, P99_9};
use jitterlab_model::Warning;
use jitterlab_model::kernel::Measures;
use jitterlab_model::units::Exact;

use crate::chart::Terminal;
use crate::summary;
use crate::table::columns;
use crate::warnings::{emulated, sentence};
use crate::wrap::wrap;

/// The whole summary of one kernel's run, or of several a table of latencies with a row per kernel for each task; then
/// what was run after them.
pub fn runs(run: &KernelRun, terminal: Terminal) -> String {
    let mut text = match run.kernels.as_slice() {
        [] => String::new(),
        [only] => summary::text(&only.measured, terminal),
        several => comparison(several, run.ns_per_instruction),
    };
    for AlsoRan { kernel, command, stdout, stderr, failure, .. } in &run.also {
        text.push_str(&format!("\n{kernel} $ {command}\n{stdout}{stderr}"));
        text.push_str(&failure.as_ref().map_or(String::new(), |failure| format!("({failure})\n")));
    }
    text
}

/// A table of release latencies with a row per kernel for each task, and in a sentence how far the kernels' largest
/// latencies are apart; then what the runs warn of, and where their files are.
fn comparison(kernels: &[RunOnKernel], ns_per_instruction: Option<u32>) -> String {
    let mut text: String = kernels.iter().map(|k| format!("{}: Linux {}\n", k.kernel, k.release)).collect();
    let tasks = kernels.first().map_or(&[][..], |kernel| &kernel.measured.tasks);
    for (number, task) in tasks.iter().enumerate() {
        let of: Vec<(&str, &Summary)> = kernels
            .iter()
            .filter_map(|k| Some((k.kernel.as_str(), &k.measured.tasks.get(number)?.summary)))
            .collect();
        text.push_str(&format!("\nlatency of {} in us\n", task.summary.task));
        let header = ["", "activations", "missed", "min", "mean", "p50", "p99", "p99.9", "max"];
        text.push_str(&columns(&header, of.iter().map(|(kernel, summary)| row(kernel, summary))));
        if let Some(sentence) = ratio(&of) {
            text.push_str(&wrap(&sentence));
        }
    }
    text.push('\n');
    let mut warnings: Vec<(&Warning, Vec<&str>)> = Vec::new();
    for (kernel, warning) in kernels.iter().flat_map(|k| k.measured.run.warnings.iter().map(move |w| (k, w)))
    {
        match warnings.iter_mut().find(|(known, _)| *known == warning) {
            // What is said of every kernel above or below.
            _ if matches!(warning, Warning::Emulated { .. } | Warning::Kernel { .. }) => {}
            Some((_, of)) => of.push(&kernel.kernel),
            None => warnings.push((warning, vec![&kernel.kernel])),
        }
    }
    for (warning, of) in warnings {
        let of = if of.len() == kernels.len() { String::new() } else { format!("{}: ", of.join(", ")) };
        text.push_str(&wrap(&format!("warning: {of}{}", sentence(warning))));
    }
    text.push_str(&wrap(&emulated(ns_per_instruction)));
    let files = kernels.iter().filter_map(|k| k.measured.file.as_ref());
    text.extend(files.map(|file| format!("run file: {}\n", file.display())));
    text
}

/// For each kernel a table of wake-up latencies with a row per tool.
pub fn peers(peers: &KernelPeers) -> String {
    let beside = peers.background.as_ref().map_or("idle".into(), |command| format!("beside {command}"));
    let texts = peers.kernels.iter().map(|on| {
        let kernel = format!("{}: Linux {}", on.kernel, on.release);
        let task = format!("{}, fifo:{}, {beside}", Exact(peers.period_ns), peers.priority);
        wrap(&format!("{kernel}, {task}")) + &tools(&on.tools)
    });
    let texts: Vec<String> = texts.collect();
    format!("{}\n{}", texts.join("\n"), wrap(&emulated(peers.ns_per_instruction)))
}

fn tools(tools: &[ToolResult]) -> String {
    let header = ["latency in us", "activations", "min", "mean", "p50", "p99", "p99.9", "max"];
    let measured = tools.iter().filter_map(|t| Some((t, t.summary.as_ref()?)));
    let mut text = columns(
        &header,
        measured.map(|(tool, summary)| {
            let mut cells = row(&tool.tool, summary);
            cells.remove(2); // Most tools do not count what they missed.
            cells
        }),
    );
    let mean = |name: &str| tools.iter().find(|tool| tool.tool == name)?.summary.as_ref()?.latency.mean_ns;
    if let (Some(own), Some(bare)) = (mean("jitterlab"), mean("bare loop")) {
        text.push_str(&wrap(&format!(
            "The mean of jitterlab is {:.4} times that of a loop as bare as can be, which only sleeps, reads the clock and stores a number: no tool can be below it.",
            own / bare
        )));
    }
    text.push_str("\nhow each was measured\n");
    for ToolResult { tool, command, measures, failure, .. } in tools {
        text.push_str(&wrap(&format!("{tool}: {command}")));
        if let Some(what) = measured_instead(*measures) {
            text.push_str(&wrap(&format!("{tool} measures {what}.")));
        }
        if let Some(why) = failure {
            text.push_str(&wrap(&format!("{tool} measured nothing: {why}")));
        }
    }
    text
}

/// What a tool measures where that is not the wake-up of a user's thread.
fn measured_instead(measures: Measures) -> Option<&'static str> {
    match measures {
        Measures::UserThread => None,
        Measures::KernelThread => Some("a thread of the kernel, which returns to no user's code"),
        _ => None,
    }
}

/// A table with a row for each code path of either kernel, and in a sentence whether they differ by more than
/// chance and the tolerance.
pub fn difference(diff: &KernelDiff) -> String {
    let KernelDiff { old, new, tolerance_ns, .. } = diff;
    let mut text = wrap(&format!("code paths of {old} (old) and {new} (new), median latency in ns"));
    for task in &diff.tasks {
        text.push_str(&format!("\n{}\n", task.task));
        let header = ["", "old ns", "new ns", "moved", "share old", "share new"];
        text.push_str(&columns(&header, task.changes.iter().map(|change| path_row(change, *tolerance_ns))));
        let whole = |ns: Option<i64>| ns.map_or("-".into(), |ns| format!("{ns} ns"));
        let (old_max, new_max) = (whole(task.old_max_ns), whole(task.new_max_ns));
        text.push_str(&wrap(&format!("The largest latency was {old_max} and is {new_max}.")));
        text.push_str(&wrap(&match task.different(*tolerance_ns) {
            0 => format!(
                "No path that 1 % of the activations take appeared, vanished or moved by more than {tolerance_ns} ns."
            ),
            1 => "1 path that 1 % of the activations take differs.".into(),
            n => format!("{n} paths that 1 % of the activations take differ."),
        }));
    }
    text.push('\n');
    text + &wrap(&emulated(diff.ns_per_instruction))
}

fn path_row(change: &Change, tolerance_ns: i64) -> Vec<String> {
    let share = |path: &CodePath| format!("{:.2} %", path.share * 100.0);
    let none = || "-".to_owned();
    let (what, cells) = match change {
        Change::Kept { old, new, moved_ns } => {
            let what = if moved_ns.abs() > tolerance_ns { "moved" } else { "kept" };
            let (was, is) = (old.median_ns.to_string(), new.median_ns.to_string());
            (what, [was, is, format!("{moved_ns:+}"), share(old), share(new)])
        }
        Change::Appeared { new } => {
            ("appeared", [none(), new.median_ns.to_string(), none(), none(), share(new)])
        }
        Change::Vanished { old } => {
            ("vanished", [old.median_ns.to_string(), none(), none(), share(old), none()])
        }
    };
    let rare = change.share() < RARE_SHARE;
    let what = if rare { format!("{what} (rare)") } else { what.into() };
    std::iter::once(what).chain(cells).collect()
}

fn row(kernel: &str, summary: &Summary) -> Vec<String> {
    let latency = &summary.latency;
    let whole = |ns: Option<i64>| ns.map(|ns| ns as f64);
    let figures = [
        whole(latency.min_ns),
        latency.mean_ns,
        whole(latency.at(P50).exactly()),
        whole(latency.at(P99).exactly()),
        whole(latency.at(P99_9).exactly()),
        whole(latency.max_ns),
    ];
    let mut cells = vec![kernel.to_owned(), known_count(summary.executed), known_count(summary.missed)];
    cells.extend(figures.map(|ns| ns.map_or("-".into(), microseconds)));
    cells
}

/// Which kernel's largest latency is how many times the smallest one's.
fn ratio(of: &[(&str, &Summary)]) -> Option<String> {
    let largest = |s: &Summary| s.latency.max_ns;
    let best = of.iter().filter(|(_, s)| largest(s).is_some()).min_by_key(|(_, s)| largest(s))?;
    let worst = of.iter().max_by_key(|(_, s)| largest(s))?;
    let (low, high) = (largest(best.1)?, largest(worst.1)?);
    if low <= 0 || high == low {
        return None;
    }
    let factor = high as f64 / low as f64;
    Some(format!("The largest latency on {} is {factor:.1} times that on {}.", worst.0, best.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::kernels::{PathsOfTask, PeersOnKernel};
    use jitterlab_analysis::measured::MeasuredRun;
    use jitterlab_model::{Activation, Bench, RunInfo, TaskSpec, TimingStats};

    fn measured(latencies: &[i64]) -> MeasuredRun {
        let mut stats = TimingStats::new(1_000_000);
        for (k, latency) in (0..).zip(latencies) {
            let due_ns = k * 1_000_000;
            let start_ns = due_ns + latency;
            stats.push(&Activation {
                index: k as u64,
                due_ns,
                start_ns,
                end_ns: start_ns,
                ..Activation::default()
            });
        }
        let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
        MeasuredRun::new(RunInfo::new(Bench::Kernel, "monotonic", [spec]), &[stats], None)
    }

    fn summary(latencies: &[i64]) -> Summary {
        measured(latencies).tasks.remove(0).summary
    }

    #[test]
    fn kernels_stand_side_by_side_with_the_ratio_of_their_maxima() {
        let kernel = |name: &str, latencies: &[i64], warnings: &[&str]| {
            let mut measured = measured(latencies);
            measured.run.warnings = vec![Warning::Emulated { ns_per_instruction: Some(1) }];
            measured.run.warnings.extend(warnings.iter().map(|text| Warning::from(*text)));
            RunOnKernel { kernel: name.into(), release: "6.1".into(), version: "#1".into(), measured }
        };
        let kernels = vec![
            kernel("debian:rt", &[4_000, 6_000], &["shared", "alone"]),
            kernel("debian:generic", &[4_000, 600_000], &["shared"]),
        ];
        let terminal = Terminal { columns: 80, ascii: true, colour: false };
        let also = AlsoRan {
            kernel: "debian:cloud".into(),
            command: "dmesg".into(),
            status: Some(0),
            stdout: "what happened\n".into(),
            stderr: String::new(),
            failure: None,
        };
        let run = KernelRun { ns_per_instruction: Some(1), kernels, also: vec![also] };
        let nothing = runs(&KernelRun { kernels: Vec::new(), ..run.clone() }, terminal);
        assert_eq!(nothing, "\ndebian:cloud $ dmesg\nwhat happened\n");
        let text = runs(&run, terminal);
        assert!(text.ends_with(&nothing), "{text}");
        assert!(text.contains("on debian:generic is 100.0 times that on debian:rt"), "{text}");
        assert!(text.contains("latency of servo") && text.contains("Virtual time: 1 ns"), "{text}");
        assert!(text.contains("\nwarning: shared\nwarning: debian:rt: alone\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let same = [kernel("a", &[4_000], &[]), kernel("b", &[4_000], &[])];
        assert!(!comparison(&same, None).contains("times"));
    }

    #[test]
    fn tools_stand_side_by_side_and_one_without_figures_says_why() {
        let tool = |tool: &str, command: &str, measures, measured: Result<Summary, &str>| ToolResult {
            tool: tool.into(),
            command: command.into(),
            measures,
            failure: measured.as_ref().err().map(|why| (*why).into()),
            summary: measured.ok(),
        };
        let figures = summary(&[3_700, 4_600]);
        let text = peers(&KernelPeers {
            period_ns: 1_000_000,
            priority: 90,
            background: None,
            ns_per_instruction: Some(1),
            kernels: vec![PeersOnKernel {
                kernel: "debian:rt".into(),
                release: "6.1".into(),
                tools: vec![
                    tool("jitterlab", "jitterlab run --period 1ms", Measures::UserThread, Ok(figures)),
                    tool("rtla timerlat", "rtla timerlat hist", Measures::KernelThread, Err("no tracer")),
                ],
            }],
        });
        assert!(text.starts_with("debian:rt: Linux 6.1, 1ms, fifo:90, idle\n"), "{text}");
        assert!(text.contains("jitterlab") && text.contains("4.600"), "{text}");
        assert!(text.contains("rtla timerlat measured nothing: no tracer"), "{text}");
        assert!(text.contains("a thread of the kernel"), "{text}");
        assert!(text.contains("\njitterlab: jitterlab run --period 1ms\n"), "{text}");
    }

    #[test]
    fn every_path_has_its_line_and_rare_ones_do_not_decide() {
        let path =
            |median_ns, share| CodePath { count: 1, share, min_ns: median_ns, median_ns, max_ns: median_ns };
        let (old, new) = (path(3_900, 0.9), path(3_950, 0.9));
        let task = |changes| PathsOfTask {
            task: "main".into(),
            changes,
            old_max_ns: Some(3_900),
            new_max_ns: Some(9_000),
        };
        let kept = Change::Kept { old, new, moved_ns: 50 };
        let rare = Change::Appeared { new: path(9_000, 0.001) };
        let diff = |tolerance_ns, changes| KernelDiff {
            old: "a".into(),
            new: "b".into(),
            ns_per_instruction: Some(1),
            tolerance_ns,
            differs: false,
            tasks: vec![task(changes)],
        };
        let text = difference(&diff(100, vec![kept, rare]));
        assert!(text.contains("kept") && text.contains("+50") && text.contains("appeared (rare)"), "{text}");
        assert!(text.contains("No path that 1 %") && text.contains("9000 ns"), "{text}");
        let text = difference(&diff(20, vec![kept]));
        assert!(text.contains("moved") && text.contains("1 path"), "{text}");
        assert!(text.contains("Virtual time: 1 ns"), "{text}");
    }
}
