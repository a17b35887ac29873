//! Conclusions of measurements on kernels: the best kernel.

use jitterlab_model::{Fitness, Known, RunInfo, StopReason, TaskRun, TaskSpec};
use jitterlab_report::conclusion::{Conclusion, file_argument};
use jitterlab_report::words::{list, plural, time};

use crate::results::{KernelRun, RunOnKernel};

/// Number of starts or misses behind a difference, below which it may be chance: six of a kind in a row come
/// by chance less often than one time in twenty.
const FEWEST_FOR_DIFFERENCE: u64 = 6;
/// Largest relative difference of latest starts that count as alike: three digits show no smaller one.
const ALIKE: f64 = 0.01;

/// Conclusion of a comparison of kernels; `None` if nothing was measured.
pub fn comparison_conclusion(run: &KernelRun) -> Option<Conclusion> {
    match run.kernels.as_slice() {
        [] => None,
        [only] => Some(one_kernel_conclusion(only, run.ns_per_instruction.is_some())),
        [first, second, ..] => Some(several_kernels_conclusion(run, first, second)),
    }
}

/// Describes the latest start of a task on a kernel, and its missed due times there.
fn latest_start_text(kernel: &RunOnKernel, task: usize) -> String {
    let Some(of) = kernel.measured.tasks.get(task).map(|task| &task.summary) else {
        return "not measured".into();
    };
    let worst =
        of.latency.max_ns.map_or("how late is unknown".into(), |ns| format!("{} late", time(ns as f64)));
    match of.missed {
        Known::Exactly(0) => worst,
        Known::Exactly(missed) => format!("{worst} ({} missed)", plural(missed, "due time")),
        _ => format!("{worst} (how many due times were missed is unknown)"),
    }
}

fn numbered_tasks(kernel: &RunOnKernel) -> impl Iterator<Item = (usize, &str)> {
    kernel.measured.summaries().map(|summary| summary.task.as_str()).enumerate()
}

/// Conclusion for one kernel: virtual time says nothing about a machine.
fn one_kernel_conclusion(kernel: &RunOnKernel, counted: bool) -> Conclusion {
    let why = match counted {
        true => "virtual time counts instructions, so it compares kernels",
        false => "in an emulated machine the delays of this computer are part of the figures",
    };
    let worst: Vec<String> = numbered_tasks(kernel)
        .map(|(number, task)| format!("{task} at worst {}", latest_start_text(kernel, number)))
        .collect();
    Conclusion {
        fitness: Fitness::CannotTell,
        asked: false,
        verdict: format!("CANNOT TELL for a machine: {why}."),
        number: format!("On {}: {}.", kernel.kernel, list(&worst)),
        next: format!("jitterlab kernel run --kernel {} --kernel OTHER", file_argument(&kernel.kernel)),
    }
}

/// Conclusion for several kernels: the best by latest starts and misses, and all latest starts.
fn several_kernels_conclusion(run: &KernelRun, first: &RunOnKernel, second: &RunOnKernel) -> Conclusion {
    let (fitness, verdict) = match (run.ns_per_instruction, reason_unranked(run, first)) {
        (None, _) => (
            Fitness::CannotTell,
            "CANNOT TELL: in emulated machines the delays of this computer are part of the figures.".into(),
        ),
        (Some(_), Some(why)) => (Fitness::CannotTell, why),
        (Some(_), None) => ranking_verdict(run, first),
    };
    let number = numbered_tasks(first).map(|(number, task)| {
        let each = run
            .kernels
            .iter()
            .map(|kernel| format!("{} on {}", latest_start_text(kernel, number), kernel.kernel));
        format!("{task} at worst {}", list(&each.collect::<Vec<_>>()))
    });
    Conclusion {
        fitness,
        asked: false,
        verdict,
        number: format!("{}.", number.collect::<Vec<_>>().join("; ")),
        next: match [first, second].map(|kernel| kernel.measured.file.as_ref()) {
            [Some(first), Some(second)] => format!(
                "jitterlab compare {} {} (which code paths differ)",
                file_argument(&first.display().to_string()),
                file_argument(&second.display().to_string())
            ),
            _ => "the same without --no-file, then jitterlab compare (which code paths differ)".into(),
        },
    }
}

/// Reason not to rank the kernels: one was not measured as the first, or not to its end; `None` if none.
fn reason_unranked(run: &KernelRun, first: &RunOnKernel) -> Option<String> {
    let name = &first.kernel;
    let first = &first.measured.run;
    let asked = |run: &RunInfo| {
        let specs: Vec<TaskSpec> = run.tasks.iter().map(|task| task.spec.clone()).collect();
        (run.duration_ns, run.count, run.stop_above_ns, run.load.clone(), specs)
    };
    let granted = |run: &RunInfo| {
        let of = |task: &TaskRun| task.granted.as_ref().map(|of| (of.policy, of.memory_locked));
        run.tasks.iter().map(of).collect::<Vec<_>>()
    };
    type Differs<'a> = &'a dyn Fn(&RunInfo) -> bool;
    let differences: [(Differs<'_>, String); 4] = [
        (
            &|run| asked(run) != asked(first),
            format!("the tasks, the load or the length were others than on {name}"),
        ),
        (
            &|run| granted(run) != granted(first),
            format!("the tasks got another policy or memory lock than on {name}"),
        ),
        (&|run| run.loads.iter().any(|load| load.failure.is_some()), "a load failed".into()),
        (
            &|run| !matches!(run.stop, Some(StopReason::Duration | StopReason::Count)),
            "the run ended before its time".into(),
        ),
    ];
    differences.into_iter().find_map(|(differs, why)| {
        let other = run.kernels.iter().find(|kernel| differs(&kernel.measured.run))?;
        Some(format!("NOT RANKED: on {} {why}.", other.kernel))
    })
}

/// Kernels, by their numbers, on which a task is best.
#[derive(PartialEq)]
enum BestKernels {
    /// On these: nowhere else was its latest start earlier, or were fewer due times missed, and on each other kernel one of
    /// both was worse.
    These(Vec<usize>),
    /// All kernels are alike.
    All,
    /// On some fewer due times are missed, on others the latest start is earlier.
    Split { least_missed: Vec<usize>, least_late: Vec<usize> },
    /// The latest start or the number of missed due times is unknown on some kernel.
    Unknown,
}

/// Kernels on which a task is best, and how many later starts, or else misses, elsewhere show it.
/// The number is of the nearest other kernel: its starts that were later than any on the best; if none, its further misses.
fn best_kernels(run: &KernelRun, task: usize) -> (BestKernels, u64) {
    let known = run.kernels.iter().map(|kernel| {
        let of = kernel.measured.tasks.get(task)?;
        Some((of.summary.latency.max_ns?, of.summary.missed.exactly()?, &of.latency_bins))
    });
    let Some(all) = known.collect::<Option<Vec<_>>>() else { return (BestKernels::Unknown, 0) };
    let earliest = all.iter().map(|(worst, ..)| *worst).min().unwrap_or_default();
    let fewest = all.iter().map(|(_, missed, _)| *missed).min().unwrap_or_default();
    let near = earliest.saturating_add((earliest.unsigned_abs() as f64 * ALIKE) as i64);
    let numbers = |wanted: &dyn Fn(i64, u64) -> bool| -> Vec<usize> {
        (0..all.len()).filter(|number| wanted(all[*number].0, all[*number].1)).collect()
    };
    let kernels = numbers(&|worst, missed| worst <= near && missed == fewest);
    if kernels.len() == all.len() {
        return (BestKernels::All, 0);
    }
    if kernels.is_empty() {
        let least_missed = numbers(&|_, missed| missed == fewest);
        return (BestKernels::Split { least_missed, least_late: numbers(&|worst, _| worst <= near) }, 0);
    }
    // The latest bin of the best kernels: starts above it elsewhere were later.
    let last_bin = |kernel: &usize| all[*kernel].2.last().map_or(i64::MIN, |(high, _)| *high);
    let above = kernels.iter().map(last_bin).max().unwrap_or(i64::MIN).max(near);
    let others = all.iter().enumerate().filter(|(number, _)| !kernels.contains(number));
    let rests_on = others.map(|(_, (_, missed, bins))| {
        match bins.iter().filter(|(high, _)| *high > above).map(|(_, count)| count).sum() {
            0 => missed - fewest,
            later => later,
        }
    });
    let rests_on = rests_on.min().unwrap_or_default();
    (BestKernels::These(kernels), rests_on)
}

/// Names the best kernel, for each task if they differ.
fn ranking_verdict(run: &KernelRun, first: &RunOnKernel) -> (Fitness, String) {
    let all: Vec<(&str, (BestKernels, u64))> =
        numbered_tasks(first).map(|(number, task)| (task, best_kernels(run, number))).collect();
    let Some((_, (one, _))) = all.first() else {
        return (Fitness::CannotTell, "CANNOT TELL: no task was measured.".into());
    };
    if all.iter().all(|(_, (other, _))| other == one) {
        let fewest = all.iter().map(|(_, (_, rests_on))| *rests_on).min().unwrap_or_default();
        return verdict_for_all_tasks(run, one, fewest);
    }
    let each: Vec<String> =
        all.iter().map(|(task, (best, rests_on))| task_sentence(run, task, best, *rests_on)).collect();
    (Fitness::Limited, format!("DIFFERENT by task: {}.", each.join("; ")))
}

/// Names of kernels; of several, that they are alike.
fn kernel_names(run: &KernelRun, kernels: &[usize]) -> String {
    let names = kernels.iter().filter_map(|number| Some(run.kernels.get(*number)?.kernel.clone()));
    let names: Vec<String> = names.collect();
    let alike = if names.len() > 1 { " alike" } else { "" };
    format!("{}{alike}", list(&names))
}

/// Verdict where all tasks have the same best kernels; `rests_on` starts or misses show the difference.
fn verdict_for_all_tasks(run: &KernelRun, best: &BestKernels, rests_on: u64) -> (Fitness, String) {
    const WHY: &str = "nowhere else is the latest start earlier, or are fewer due times missed";
    match best {
        BestKernels::These(kernels) if rests_on >= FEWEST_FOR_DIFFERENCE => {
            (Fitness::Good, format!("BEST: {}; {WHY}.", kernel_names(run, kernels)))
        }
        BestKernels::These(kernels) => {
            let (names, rests_on) = (kernel_names(run, kernels), plural(rests_on, "due time"));
            let verdict =
                format!("BEST as seen: {names}; {WHY}, but that rests on {rests_on}, which may be chance.");
            (Fitness::Limited, verdict)
        }
        BestKernels::All => {
            let verdict = "NO DIFFERENCE: the latest starts and the missed due times are alike.";
            (Fitness::CannotTell, verdict.into())
        }
        BestKernels::Split { least_missed, least_late } => {
            let (missed, late) = (kernel_names(run, least_missed), kernel_names(run, least_late));
            let verdict = format!(
                "NONE IS BEST: fewest due times are missed on {missed}, the latest start is earliest on {late}."
            );
            (Fitness::Limited, verdict)
        }
        BestKernels::Unknown => {
            let verdict = "CANNOT TELL: what would rank the kernels is not known of all of them.";
            (Fitness::CannotTell, verdict.into())
        }
    }
}

/// Sentence on one task of several that differ.
fn task_sentence(run: &KernelRun, task: &str, best: &BestKernels, rests_on: u64) -> String {
    match best {
        BestKernels::These(kernels) => {
            let as_seen = if rests_on < FEWEST_FOR_DIFFERENCE { " as seen" } else { "" };
            format!("best{as_seen} for {task} is {}", kernel_names(run, kernels))
        }
        BestKernels::All => format!("no difference for {task}"),
        BestKernels::Split { .. } => format!("none is best for {task}"),
        BestKernels::Unknown => format!("not known for {task}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::measured::MeasuredRun;
    use jitterlab_model::{Bench, Granted, Policy, TaskResult, TimingStats};

    use crate::sample;

    /// Measurement on this kernel of tasks with these latencies and these numbers of missed due times.
    fn on(kernel: &str, tasks: &[(&[i64], u64)]) -> RunOnKernel {
        let spec = |number: usize| TaskSpec { name: ["base", "servo"][number].into(), ..TaskSpec::default() };
        let mut run = RunInfo::new(Bench::Kernel, "monotonic", (0..tasks.len()).map(spec));
        run.stop = Some(StopReason::Count);
        run.count = Some(20);
        let stats: Vec<TimingStats> =
            tasks.iter().map(|(latencies, _)| sample::sample_stats(latencies)).collect();
        for (task, (latencies, missed)) in run.tasks.iter_mut().zip(tasks) {
            task.granted = Some(Granted {
                policy: Policy::Fifo(80),
                cpus: vec![0],
                memory_locked: true,
                timer_slack_ns: None,
            });
            task.result = Some(TaskResult {
                executed: latencies.len() as u64,
                missed: *missed,
                min_latency_ns: *latencies.iter().min().unwrap(),
                max_latency_ns: *latencies.iter().max().unwrap(),
                ..TaskResult::default()
            });
        }
        let measured = MeasuredRun::new(run, &stats, None);
        RunOnKernel { kernel: kernel.into(), release: "6.1".into(), version: "#1".into(), measured }
    }

    fn kernels(kernels: Vec<RunOnKernel>) -> KernelRun {
        KernelRun { ns_per_instruction: Some(1), kernels, also: Vec::new(), files: Vec::new() }
    }

    #[track_caller]
    fn said(run: &KernelRun, fitness: Fitness, verdict: &str, number: &str) {
        let conclusion = comparison_conclusion(run).unwrap();
        assert_eq!(
            (conclusion.fitness, conclusion.verdict.as_str(), conclusion.number.as_str()),
            (fitness, verdict, number)
        );
        assert!(!conclusion.asked);
    }

    const EARLY: &[i64] = &[4_000; 20];
    const LATE: &[i64] = &[9_000; 20];

    #[test]
    fn the_best_kernel_starts_earliest_at_worst_and_misses_no_more() {
        said(
            &kernels(vec![on("rt", &[(EARLY, 0)]), on("generic", &[(LATE, 3)])]),
            Fitness::Good,
            "BEST: rt; nowhere else is the latest start earlier, or are fewer due times missed.",
            "base at worst 4 µs late on rt and 9 µs late (3 due times missed) on generic.",
        );
        // A kernel that misses due times is not best because its other starts are earlier.
        said(
            &kernels(vec![on("rt", &[(EARLY, 3)]), on("generic", &[(LATE, 0)])]),
            Fitness::Limited,
            "NONE IS BEST: fewest due times are missed on generic, the latest start is earliest on rt.",
            "base at worst 4 µs late (3 due times missed) on rt and 9 µs late on generic.",
        );
        let run = kernels(vec![on("a", &[(EARLY, 9)]), on("b", &[(EARLY, 1)])]);
        assert!(comparison_conclusion(&run).unwrap().verdict.starts_with("BEST: b;"));
    }

    #[test]
    fn what_is_alike_to_its_digits_is_a_tie() {
        let nearly: &[i64] = &[4_003; 20];
        said(
            &kernels(vec![on("a", &[(EARLY, 0)]), on("b", &[(nearly, 0)])]),
            Fitness::CannotTell,
            "NO DIFFERENCE: the latest starts and the missed due times are alike.",
            "base at worst 4 µs late on a and 4 µs late on b.",
        );
        said(
            &kernels(vec![on("a", &[(nearly, 0)]), on("b", &[(LATE, 0)]), on("c", &[(EARLY, 0)])]),
            Fitness::Good,
            "BEST: a and c alike; nowhere else is the latest start earlier, or are fewer due times missed.",
            "base at worst 4 µs late on a, 9 µs late on b and 4 µs late on c.",
        );
    }

    #[test]
    fn a_few_late_starts_may_be_chance() {
        let rarely = |late: usize| [&[9_000].repeat(late)[..], &EARLY[late..]].concat();
        let verdict = |late| {
            let conclusion =
                comparison_conclusion(&kernels(vec![on("a", &[(EARLY, 0)]), on("b", &[(&rarely(late), 0)])]));
            conclusion.map(|conclusion| (conclusion.fitness, conclusion.verdict)).unwrap()
        };
        let (fitness, text) = verdict(5);
        assert_eq!(
            (fitness, text.as_str()),
            (
                Fitness::Limited,
                "BEST as seen: a; nowhere else is the latest start earlier, or are fewer due times missed, but that rests on 5 \
                 due times, which may be chance."
            )
        );
        assert_eq!(verdict(6).0, Fitness::Good);
        assert!(verdict(1).1.contains("rests on 1 due time,"), "{}", verdict(1).1);
    }

    #[test]
    fn tasks_that_differ_are_each_named() {
        said(
            &kernels(vec![on("a", &[(EARLY, 0), (LATE, 0)]), on("b", &[(LATE, 0), (EARLY, 0)])]),
            Fitness::Limited,
            "DIFFERENT by task: best for base is a; best for servo is b.",
            "base at worst 4 µs late on a and 9 µs late on b; servo at worst 9 µs late on a and 4 µs late on b.",
        );
        let verdict = |b: &[(&[i64], u64)]| {
            let a = on("a", &[(EARLY, 0), (EARLY, 0)]);
            comparison_conclusion(&kernels(vec![a, on("b", b)])).unwrap().verdict
        };
        assert_eq!(
            verdict(&[(LATE, 0), (EARLY, 0)]),
            "DIFFERENT by task: best for base is a; no difference for servo."
        );
        assert!(verdict(&[(LATE, 0), (LATE, 0)]).starts_with("BEST: a;"));
    }

    #[test]
    fn lost_records_do_not_hide_the_worst_and_what_is_unknown_is_not_ranked() {
        // Its thread saw more than was recorded.
        let mut lossy = on("b", &[(EARLY, 0)]);
        let mut task = lossy.measured.run.tasks[0].clone();
        let result = task.result.as_mut().unwrap();
        (result.executed, result.dropped, result.max_latency_ns) = (25, 5, 9_000);
        let stats = sample::sample_stats(EARLY);
        lossy.measured.tasks[0].summary = jitterlab_analysis::Summary::new(&task, &stats);
        let run = kernels(vec![on("a", &[(EARLY, 0)]), lossy]);
        let conclusion = comparison_conclusion(&run).unwrap();
        assert!(conclusion.number.contains("9 µs late on b"), "{}", conclusion.number);
        assert!(conclusion.verdict.starts_with("BEST as seen: a;") && conclusion.fitness == Fitness::Limited);

        let mut silent = on("b", &[(LATE, 0)]);
        silent.measured.tasks[0].summary.missed = Known::Unknown;
        said(
            &kernels(vec![on("a", &[(EARLY, 0)]), silent]),
            Fitness::CannotTell,
            "CANNOT TELL: what would rank the kernels is not known of all of them.",
            "base at worst 4 µs late on a and 9 µs late (how many due times were missed is unknown) on b.",
        );
    }

    #[test]
    fn what_was_not_measured_alike_is_not_ranked() {
        let verdict = |change: &dyn Fn(&mut RunInfo)| {
            let mut other = on("b", &[(LATE, 0)]);
            change(&mut other.measured.run);
            let conclusion = comparison_conclusion(&kernels(vec![on("a", &[(EARLY, 0)]), other])).unwrap();
            assert_eq!(conclusion.fitness, Fitness::CannotTell);
            conclusion.verdict
        };
        let asked = "NOT RANKED: on b the tasks, the load or the length were others than on a.";
        assert_eq!(
            verdict(&|run| run.load = jitterlab_model::Load::from_specs(["cpu:1".parse().unwrap()])),
            asked
        );
        assert_eq!(verdict(&|run| run.count = Some(30)), asked);
        assert_eq!(verdict(&|run| run.tasks[0].spec.period_ns = 500_000), asked);
        assert_eq!(
            verdict(&|run| run.tasks[0].granted.as_mut().unwrap().policy = Policy::Other),
            "NOT RANKED: on b the tasks got another policy or memory lock than on a."
        );
        let cut = "NOT RANKED: on b the run ended before its time.";
        assert_eq!(verdict(&|run| run.stop = None), cut);
        let mut real = kernels(vec![on("a", &[(EARLY, 0)]), on("b", &[(LATE, 0)])]);
        real.ns_per_instruction = None;
        assert!(
            comparison_conclusion(&real).unwrap().verdict.starts_with("CANNOT TELL: in emulated machines")
        );
    }

    #[test]
    fn one_kernel_says_nothing_of_a_machine() {
        said(
            &kernels(vec![on("rt", &[(EARLY, 2), (LATE, 0)])]),
            Fitness::CannotTell,
            "CANNOT TELL for a machine: virtual time counts instructions, so it compares kernels.",
            "On rt: base at worst 4 µs late (2 due times missed) and servo at worst 9 µs late.",
        );
        assert_eq!(comparison_conclusion(&kernels(Vec::new())), None);
    }
}
