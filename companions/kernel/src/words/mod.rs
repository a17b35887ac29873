//! The same tasks on several kernels, side by side.

mod conclusion;

use jitterlab_analysis::Summary;
use jitterlab_analysis::summary::{P50, P99, P99_9};
use jitterlab_model::Warning;
use jitterlab_report::conclusion::Conclusion;
use jitterlab_report::document::Present;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::warnings::{emulation_sentence, warning_sentence};
use jitterlab_report::words::{known_count, microseconds_of_bins};

use crate::results::{GuestCommandResult, KernelRun, RunOnKernel};

impl Present for KernelRun {
    const KIND: &'static str = "kernel-run";

    fn conclusion(&self) -> Option<Conclusion> {
        conclusion::comparison_conclusion(self)
    }

    /// For one kernel, the sections of its run and the further commands after it.
    fn sections(&self) -> Vec<Section> {
        let [only] = self.kernels.as_slice() else { return vec![comparison_section(self)] };
        let mut sections = only.measured.sections();
        sections.iter_mut().take(1).for_each(|run| run.pieces.extend(further_command_pieces(self)));
        sections
    }
}

/// Section that compares kernels: for each task a table of latencies and the ratio of the largest ones.
/// Then the warnings of the runs, their files, and the further commands after them.
fn comparison_section(run: &KernelRun) -> Section {
    let kernels = &run.kernels;
    let named = kernels.iter().map(|k| format!("{}: Linux {}.", k.kernel, k.release));
    let mut pieces: Vec<Piece> = named.map(Piece::text).collect();
    let tasks = kernels.first().map_or(&[][..], |kernel| &kernel.measured.tasks);
    for (number, task) in tasks.iter().enumerate() {
        let of: Vec<(&str, &Summary)> = kernels
            .iter()
            .filter_map(|k| Some((k.kernel.as_str(), &k.measured.tasks.get(number)?.summary)))
            .collect();
        let header = ["", "activations", "missed", "min", "mean", "p50", "p99", "p99.9", "max"];
        let rows = of.iter().map(|(kernel, summary)| latency_row(kernel, summary));
        pieces.push(Piece::table(format!("Latency of {} in µs", task.summary.task), &header, rows));
        pieces.extend(ratio_sentence(&of).map(Piece::text));
    }
    pieces.extend(warning_pieces(kernels));
    pieces.push(Piece::text(emulation_sentence(run.ns_per_instruction)));
    let files = kernels.iter().filter_map(|k| k.measured.file.as_ref());
    pieces.extend(files.map(|file| Piece::text(format!("Run file: {}", file.display()))));
    pieces.extend(further_command_pieces(run));
    Section::new("kernel-run", "Kernels", "The same tasks and loads on each kernel, in virtual time.", pieces)
}

/// Further commands that ran after the measurements, and the files they left.
fn further_command_pieces(run: &KernelRun) -> impl Iterator<Item = Piece> {
    let commands =
        run.also.iter().map(|GuestCommandResult { kernel, command, status, stdout, stderr, failure }| {
            let ended = match (failure, status) {
                (Some(why), _) => format!("({why})\n"),
                (None, Some(0) | None) => String::new(),
                (None, Some(status)) => format!("(it ended with status {status})\n"),
            };
            Piece::Verbatim {
                heading: format!("{kernel} $ {command}"),
                text: format!("{stdout}{stderr}{ended}"),
            }
        });
    commands
        .chain(run.files.iter().map(|file| Piece::text(format!("File from the guest: {}", file.display()))))
}

/// Warnings of the runs, each once, without those that other parts show for every kernel.
fn warning_pieces(kernels: &[RunOnKernel]) -> impl Iterator<Item = Piece> {
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
        Piece::text(format!("warning: {of}{}", warning_sentence(warning)))
    })
}

fn latency_row(kernel: &str, summary: &Summary) -> Vec<String> {
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
    cells.extend(figures.map(|ns| ns.map_or("-".into(), |ns| microseconds_of_bins(ns, 0.0))));
    cells
}

/// Sentence on the largest of the kernels' largest latencies over the smallest; `None` if equal or not positive.
fn ratio_sentence(of: &[(&str, &Summary)]) -> Option<String> {
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
    use jitterlab_model::{Bench, RunInfo, TaskSpec};
    use jitterlab_report::chart::Terminal;
    use jitterlab_report::document::{self, Extent};

    use crate::sample;

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: true, colour: false };

    fn measured(latencies: &[i64]) -> MeasuredRun {
        let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
        MeasuredRun::new(
            RunInfo::new(Bench::Kernel, "monotonic", [spec]),
            &[sample::sample_stats(latencies)],
            None,
        )
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
        let also = GuestCommandResult {
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
        let text = |run: &KernelRun| document::terminal_text(run, Extent::Details, terminal);
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
        let same = comparison_section(&same).text(terminal);
        assert!(!same.contains("times that"), "{same}");
    }
}
