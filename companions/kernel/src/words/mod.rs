//! The same tasks on several kernels, side by side.

mod head;

use jitterlab_analysis::Summary;
use jitterlab_analysis::summary::{P50, P99, P99_9};
use jitterlab_kernel::peers::{BARE_LOOP, Measures};
use jitterlab_model::Warning;
use jitterlab_report::comparison;
use jitterlab_report::document::Present;
use jitterlab_report::head::Head;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::warnings::{emulated, sentence};
use jitterlab_report::why;
use jitterlab_report::words::{exact, known_count, list, microseconds, share};

use crate::code_paths::{CodePath, PathChange, RARE_SHARE};
use crate::results::{
    AlsoRan, KernelDiff, KernelPeers, KernelRun, PathsOfTask, RunOnKernel, StepMoved, ToolResult,
};

impl Present for KernelRun {
    const KIND: &'static str = "kernel-run";

    fn head(&self) -> Option<Head> {
        head::run(self)
    }

    /// Of one kernel what a run says, and what was run after it.
    fn sections(&self) -> Vec<Section> {
        let [only] = self.kernels.as_slice() else { return vec![section(self)] };
        let mut sections = only.measured.sections();
        sections.iter_mut().take(1).for_each(|run| run.pieces.extend(also(self)));
        sections
    }
}

impl Present for KernelDiff {
    const KIND: &'static str = "kernel-diff";

    fn head(&self) -> Option<Head> {
        Some(head::diff(self))
    }

    fn sections(&self) -> Vec<Section> {
        vec![difference(self)]
    }
}

impl Present for KernelPeers {
    const KIND: &'static str = "kernel-peers";

    fn head(&self) -> Option<Head> {
        head::peers(self)
    }

    fn sections(&self) -> Vec<Section> {
        vec![peers(self)]
    }
}

/// For each task a table of release latencies with a row per kernel, and in a sentence how far the kernels' largest
/// latencies are apart; then what the runs warn of, where their files are, and what was run after them.
fn section(run: &KernelRun) -> Section {
    let kernels = &run.kernels;
    let named = kernels.iter().map(|k| format!("{}: Linux {}.", k.kernel, k.release));
    let mut pieces: Vec<Piece> = named.map(Piece::said).collect();
    let tasks = kernels.first().map_or(&[][..], |kernel| &kernel.measured.tasks);
    for (number, task) in tasks.iter().enumerate() {
        let of: Vec<(&str, &Summary)> = kernels
            .iter()
            .filter_map(|k| Some((k.kernel.as_str(), &k.measured.tasks.get(number)?.summary)))
            .collect();
        let header = ["", "activations", "missed", "min", "mean", "p50", "p99", "p99.9", "max"];
        let rows = of.iter().map(|(kernel, summary)| row(kernel, summary));
        pieces.push(Piece::table(format!("Latency of {} in µs", task.summary.task), &header, rows));
        pieces.extend(ratio(&of).map(Piece::said));
    }
    pieces.extend(warned(kernels));
    pieces.push(Piece::said(emulated(run.ns_per_instruction)));
    let files = kernels.iter().filter_map(|k| k.measured.file.as_ref());
    pieces.extend(files.map(|file| Piece::said(format!("Run file: {}", file.display()))));
    pieces.extend(also(run));
    kernel_section(
        "kernel-run",
        "Kernels",
        "The same tasks and loads on each kernel, in virtual time.",
        pieces,
    )
}

fn kernel_section(id: &str, title: &str, lead: &str, pieces: Vec<Piece>) -> Section {
    Section { id: id.into(), title: title.into(), lead: lead.into(), pieces }
}

/// What was run after the measurements, and the files it left.
fn also(run: &KernelRun) -> impl Iterator<Item = Piece> {
    let commands = run.also.iter().map(|AlsoRan { kernel, command, status, stdout, stderr, failure }| {
        let ended = match (failure, status) {
            (Some(why), _) => format!("({why})\n"),
            (None, Some(0) | None) => String::new(),
            (None, Some(status)) => format!("(it ended with status {status})\n"),
        };
        Piece::Verbatim { heading: format!("{kernel} $ {command}"), text: format!("{stdout}{stderr}{ended}") }
    });
    commands
        .chain(run.files.iter().map(|file| Piece::said(format!("File from the guest: {}", file.display()))))
}

/// What the runs warn of, each once, but for what is said of every kernel elsewhere.
fn warned(kernels: &[RunOnKernel]) -> impl Iterator<Item = Piece> {
    let mut warnings: Vec<(&Warning, Vec<&str>)> = Vec::new();
    for (kernel, warning) in kernels.iter().flat_map(|k| k.measured.run.warnings.iter().map(move |w| (k, w)))
    {
        match warnings.iter_mut().find(|(known, _)| *known == warning) {
            _ if matches!(warning, Warning::Emulated { .. } | Warning::Kernel { .. }) => {}
            Some((_, of)) => of.push(&kernel.kernel),
            None => warnings.push((warning, vec![&kernel.kernel])),
        }
    }
    warnings.into_iter().map(|(warning, of)| {
        let of = if of.len() == kernels.len() { String::new() } else { format!("{}: ", of.join(", ")) };
        Piece::said(format!("warning: {of}{}", sentence(warning)))
    })
}

/// For each kernel a table of wake-up latencies with a row per tool.
fn peers(peers: &KernelPeers) -> Section {
    let beside = peers.background.as_ref().map_or("idle".into(), |command| format!("beside {command}"));
    let mut pieces = Vec::new();
    for on in &peers.kernels {
        let kernel = format!("{}: Linux {}", on.kernel, on.release);
        let task = format!("{}, fifo:{}, {beside}", exact(peers.period_ns), peers.priority);
        pieces.extend(tools(format!("{kernel}, {task}"), &on.tools));
    }
    pieces.push(Piece::said(emulated(peers.ns_per_instruction)));
    kernel_section(
        "kernel-peers",
        "Other tools",
        "Tools one after the other in the same boot, with the same task.",
        pieces,
    )
}

fn tools(caption: String, tools: &[ToolResult]) -> Vec<Piece> {
    let header = ["latency in µs", "activations", "min", "mean", "p50", "p99", "p99.9", "max"];
    let measured = tools.iter().filter_map(|t| Some((t, t.summary.as_ref()?)));
    let rows = measured.map(|(tool, summary)| {
        let mut cells = row(&tool.tool, summary);
        cells.remove(2); // Most tools do not count what they missed.
        cells
    });
    let mut pieces = vec![Piece::table(caption, &header, rows)];
    let mean = |name: &str| tools.iter().find(|tool| tool.tool == name)?.summary.as_ref()?.latency.mean_ns;
    if let (Some(own), Some(bare)) = (mean("jitterlab"), mean(BARE_LOOP)) {
        pieces.push(Piece::said(held_against_bare(own / bare)));
    }
    for ToolResult { tool, command, measures, failure, .. } in tools {
        let mut how = format!("{tool}: {command}");
        how += &measured_instead(*measures).map_or(String::new(), |what| format!("; it measures {what}"));
        how += &failure.as_ref().map_or(String::new(), |why| format!("; it measured nothing: {why}"));
        pieces.push(Piece::said(how));
    }
    pieces
}

/// What it says that jitterlab's mean is so many times that of the bare loop.
fn held_against_bare(ratio: f64) -> String {
    let less = "it adds less than what differs between two runs, such as how often the kernel does something else first";
    format!(
        "The mean of jitterlab is {ratio:.4} times that of a loop as bare as can be, which only sleeps, reads the clock and stores a number: {}.",
        if ratio > 1.0 {
            "what it is above 1 is what jitterlab adds, and what differs between two runs"
        } else {
            less
        }
    )
}

/// What a tool measures where that is not the wake-up of a user's thread.
fn measured_instead(measures: Measures) -> Option<&'static str> {
    match measures {
        Measures::UserThread => None,
        Measures::KernelThread => Some("a thread of the kernel, which returns to no user's code"),
    }
}

/// A table with a row for each code path of either kernel, and in a sentence whether they differ by more than
/// chance and the tolerance.
fn difference(diff: &KernelDiff) -> Section {
    let KernelDiff { old, new, tolerance_ns, .. } = diff;
    let mut pieces =
        vec![Piece::said(format!("code paths of {old} (old) and {new} (new), median latency in ns"))];
    for task in &diff.tasks {
        let header = ["", "old ns", "new ns", "moved", "share old", "share new"];
        let rows = task.changes.iter().map(|change| path_row(change, *tolerance_ns));
        pieces.push(Piece::table(&task.task, &header, rows));
        let whole = |ns: Option<i64>| ns.map_or("-".into(), |ns| format!("{ns} ns"));
        let (old_max, new_max) = (whole(task.old_max_ns), whole(task.new_max_ns));
        pieces.push(Piece::said(format!("The largest latency was {old_max} and is {new_max}.")));
        pieces.push(Piece::said(match task.different(*tolerance_ns) {
            0 => format!(
                "No path that 1 % of the activations take appeared, vanished or moved by more than {tolerance_ns} ns."
            ),
            1 => "1 path that 1 % of the activations take differs.".into(),
            n => format!("{n} paths that 1 % of the activations take differ."),
        }));
        pieces.extend(steps(task, *tolerance_ns));
        pieces.extend(task.causes.as_ref().map(|found| comparison::causes(&task.task, found)));
    }
    if diff.tasks.iter().all(|task| task.steps.is_empty()) {
        pieces.push(Piece::said(
            "Which step of a wake-up grew, and what delayed it beside that, is said of kernels measured with --why.",
        ));
    }
    pieces.push(Piece::said(emulated(diff.ns_per_instruction)));
    kernel_section(
        "kernel-diff",
        "Code paths",
        "What a change of the kernel added, moved or removed.",
        pieces,
    )
}

/// Each step of a wake-up on both kernels, and in a sentence which of them moved.
fn steps(task: &PathsOfTask, tolerance_ns: i64) -> Vec<Piece> {
    if task.steps.is_empty() {
        return Vec::new();
    }
    let row = |of: &StepMoved| {
        let moved = format!("{:+}", of.new_ns - of.old_ns);
        vec![why::step(of.step).into(), of.old_ns.to_string(), of.new_ns.to_string(), moved]
    };
    let caption = format!("{}: steps of a wake-up, median in ns", task.task);
    let table = Piece::table(caption, &["", "old ns", "new ns", "moved"], task.steps.iter().map(row));
    let mut moved: Vec<&StepMoved> =
        task.steps.iter().filter(|of| (of.new_ns - of.old_ns).abs() > tolerance_ns).collect();
    moved.sort_by_key(|of| std::cmp::Reverse((of.new_ns - of.old_ns).abs()));
    let said = moved.iter().map(|of| {
        let (way, ns) = if of.new_ns > of.old_ns {
            ("longer", of.new_ns - of.old_ns)
        } else {
            ("shorter", of.old_ns - of.new_ns)
        };
        format!("the step {} is {ns} ns {way}", why::step(of.step))
    });
    let said: Vec<String> = said.collect();
    let sentence = match said.is_empty() {
        true => format!("No step of a wake-up moved by more than {tolerance_ns} ns."),
        false => format!("In the middle, {}.", list(&said)),
    };
    vec![table, Piece::said(sentence)]
}

fn path_row(change: &PathChange, tolerance_ns: i64) -> Vec<String> {
    let share = |path: &CodePath| share(path.share);
    let none = || "-".to_owned();
    let (what, cells) = match change {
        PathChange::Kept { old, new, moved_ns } => {
            let what = if moved_ns.abs() > tolerance_ns { "moved" } else { "kept" };
            let (was, is) = (old.median_ns.to_string(), new.median_ns.to_string());
            (what, [was, is, format!("{moved_ns:+}"), share(old), share(new)])
        }
        PathChange::Appeared { new } => {
            ("appeared", [none(), new.median_ns.to_string(), none(), none(), share(new)])
        }
        PathChange::Vanished { old } => {
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
    use jitterlab_analysis::measured::MeasuredRun;
    use jitterlab_model::causes::Step;
    use jitterlab_model::{Bench, RunInfo, TaskSpec};
    use jitterlab_report::chart::Terminal;
    use jitterlab_report::document::{self, Extent};

    use crate::results::PeersOnKernel;
    use crate::sample;

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: true, colour: false };

    fn measured(latencies: &[i64]) -> MeasuredRun {
        let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
        MeasuredRun::new(RunInfo::new(Bench::Kernel, "monotonic", [spec]), &[sample::stats(latencies)], None)
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
        let terminal = TERMINAL;
        let also = AlsoRan {
            kernel: "debian:cloud".into(),
            command: "dmesg".into(),
            status: Some(0),
            stdout: "what happened\n".into(),
            stderr: String::new(),
            failure: None,
        };
        let run = KernelRun {
            ns_per_instruction: Some(1),
            kernels,
            also: vec![also],
            files: vec!["rt-servo.parquet".into()],
        };
        let text = |run: &KernelRun| document::text(run, Extent::Details, terminal);
        let nothing = text(&KernelRun { kernels: Vec::new(), ..run.clone() });
        assert!(nothing.contains("debian:cloud $ dmesg\nwhat happened\nFile"), "{nothing}");
        let text = text(&run);
        assert!(text.ends_with("dmesg\nwhat happened\nFile from the guest: rt-servo.parquet\n"), "{text}");
        assert!(text.contains("on debian:generic is 100.0 times that on debian:rt"), "{text}");
        assert!(text.contains("Latency of servo") && text.contains("Virtual time: 1 ns"), "{text}");
        assert!(text.contains("\nwarning: shared\nwarning: debian:rt: alone\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let kernels = vec![kernel("a", &[4_000], &[]), kernel("b", &[4_000], &[])];
        let same = KernelRun { ns_per_instruction: None, kernels, also: Vec::new(), files: Vec::new() };
        let same = section(&same).text(terminal);
        assert!(!same.contains("times that"), "{same}");
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
        })
        .text(TERMINAL);
        assert!(text.starts_with("debian:rt: Linux 6.1, 1 ms, fifo:90, idle\n"), "{text}");
        assert!(text.contains("jitterlab") && text.contains("4.600"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("no user's code; it measured nothing: no tracer"), "{text}");
        assert!(words.contains("rtla timerlat hist; it measures a thread of the kernel"), "{text}");
        assert!(text.contains("\njitterlab: jitterlab run --period 1ms\n"), "{text}");
    }

    #[test]
    fn the_bare_loop_is_no_bound_where_jitterlab_is_below_it() {
        let (above, below) = (held_against_bare(1.002), held_against_bare(0.9189));
        assert!(
            above.contains("1.0020 times") && above.contains("above 1 is what jitterlab adds"),
            "{above}"
        );
        assert!(below.contains("0.9189 times") && below.contains("adds less than what differs"), "{below}");
        assert!(![above, below].iter().any(|said| said.contains("no tool")));
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
            steps: vec![StepMoved { step: Step::Switch, old_ns: 1_850, new_ns: 3_050 }],
            causes: None,
        };
        let kept = PathChange::Kept { old, new, moved_ns: 50 };
        let rare = PathChange::Appeared { new: path(9_000, 0.001) };
        let diff = |tolerance_ns, changes| KernelDiff {
            old: "a".into(),
            new: "b".into(),
            ns_per_instruction: Some(1),
            tolerance_ns,
            differs: false,
            tasks: vec![task(changes)],
        };
        let text = difference(&diff(100, vec![kept, rare])).text(TERMINAL);
        assert!(text.contains("kept") && text.contains("+50") && text.contains("appeared (rare)"), "{text}");
        assert!(text.contains("No path that 1 %") && text.contains("9000 ns"), "{text}");
        let text = difference(&diff(20, vec![kept])).text(TERMINAL);
        assert!(text.contains("moved") && text.contains("1 path"), "{text}");
        assert!(text.contains("the step to the switch is 1200 ns longer"), "{text}");
        assert!(text.contains("Virtual time: 1 ns"), "{text}");
    }
}
