//! The heads of what was measured on kernels: which is better, whether a change shows, which tool adds least.

use jitterlab_analysis::Summary;
use jitterlab_analysis::kernels::{KernelDiff, KernelPeers, KernelRun, PathsOfTask};
use jitterlab_model::Fitness;

use super::{Head, shown};
use crate::words::{list, plural, time};

/// How late the tasks of a kernel started at worst; `None` of a task of which that is not known.
type Worst<'a> = (&'a str, Vec<(&'a str, Option<i64>)>);

/// The head of the same tasks on one kernel after the other; `None` where nothing was measured.
pub(crate) fn run(run: &KernelRun) -> Option<Head> {
    let worst = |summary: &'_ Summary| summary.latency.max_ns;
    let kernels: Vec<Worst> = run
        .kernels
        .iter()
        .map(|of| {
            let tasks = of.measured.summaries();
            (of.kernel.as_str(), tasks.map(|summary| (summary.task.as_str(), worst(summary))).collect())
        })
        .collect();
    match kernels.as_slice() {
        [] => None,
        [(kernel, tasks)] => Some(alone(kernel, tasks, run.ns_per_instruction.is_some())),
        [(_, tasks), ..] => Some(beside(&kernels, tasks, run.ns_per_instruction.is_some())),
    }
}

/// One kernel: virtual time says nothing of a machine.
fn alone(kernel: &str, tasks: &[(&str, Option<i64>)], counted: bool) -> Head {
    let why = match counted {
        true => "virtual time counts instructions, so it compares kernels",
        false => "in an emulated machine the delays of this computer are part of the figures",
    };
    let late = tasks.iter().map(|(task, worst)| match worst {
        Some(ns) => format!("{task} started up to {} late", time(*ns as f64)),
        None => format!("how late {task} was is not known"),
    });
    Head {
        fitness: Fitness::CannotTell,
        asked: false,
        verdict: format!("CANNOT TELL for a machine: {why}."),
        number: format!("On {kernel}, {}.", list(&late.collect::<Vec<_>>())),
        next: format!(
            "jitterlab kernel run --kernel {0} --kernel OTHER, or kernel diff {0} OTHER",
            shown(kernel)
        ),
    }
}

/// Several kernels: the one on which each task's latest start is earliest.
fn beside(kernels: &[Worst], tasks: &[(&str, Option<i64>)], counted: bool) -> Head {
    let worst = |kernel: usize, task: usize| kernels[kernel].1.get(task).and_then(|(_, worst)| *worst);
    // The kernel with the least of each task's worst latencies; `None` where they do not differ or are not known.
    let best = |task: usize| {
        let known: Vec<(usize, i64)> =
            (0..kernels.len()).filter_map(|kernel| Some((kernel, worst(kernel, task)?))).collect();
        let least = known.iter().min_by_key(|(_, ns)| *ns)?;
        let only = known.iter().filter(|(_, ns)| *ns == least.1).count() == 1;
        (only && known.len() == kernels.len()).then_some(least.0)
    };
    let all: Vec<Option<usize>> = (0..tasks.len()).map(best).collect();
    let same = all.iter().all(|best| *best == all[0]);
    let (fitness, verdict) = match all.first().copied().flatten() {
        _ if !counted => (
            Fitness::CannotTell,
            "CANNOT TELL: in emulated machines the delays of this computer are part of the figures.".into(),
        ),
        Some(best) if same => {
            (Fitness::Good, format!("BEST: {}, where the latest start is the earliest.", kernels[best].0))
        }
        _ if all.iter().any(Option::is_some) => {
            let each = all
                .iter()
                .zip(tasks)
                .filter_map(|(best, (task, _))| Some(format!("{} for {task}", kernels[(*best)?].0)));
            (Fitness::Limited, format!("BEST: {}.", list(&each.collect::<Vec<_>>())))
        }
        _ => (Fitness::CannotTell, "NO DIFFERENCE of the latest starts.".into()),
    };
    let number = tasks.iter().enumerate().map(|(number, (task, _))| {
        let each = kernels.iter().enumerate().map(|(kernel, (name, _))| match worst(kernel, number) {
            Some(ns) => format!("{} on {name}", time(ns as f64)),
            None => format!("unknown on {name}"),
        });
        format!("{task} started up to {} late", list(&each.collect::<Vec<_>>()))
    });
    let names: Vec<String> = kernels.iter().take(2).map(|(name, _)| shown(name)).collect();
    Head {
        fitness,
        asked: false,
        verdict,
        number: format!("{}.", number.collect::<Vec<_>>().join("; ")),
        next: format!("jitterlab kernel diff {} (which code paths differ)", names.join(" ")),
    }
}

/// The head of two kernels' code paths.
pub(crate) fn diff(diff: &KernelDiff) -> Head {
    let different: usize = diff.tasks.iter().map(|task| task.different(diff.tolerance_ns)).sum();
    let (fitness, verdict) = match diff.differs {
        true => (
            Fitness::Unfit,
            format!(
                "DIFFERENT: {} taken by 1 % of the activations or more.",
                plural(different as u64, "code path")
            ),
        ),
        false => (
            Fitness::Good,
            format!(
                "SAME: no code path that 1 % of the activations take moved by more than {} ns.",
                diff.tolerance_ns
            ),
        ),
    };
    let worst = diff.tasks.iter().filter_map(|task| Some((task, task.old_max_ns?, task.new_max_ns?)));
    let number = worst.max_by_key(|(_, old, new)| old.abs_diff(*new)).map_or_else(
        || "How late starts were at worst is not known.".into(),
        |(PathsOfTask { task, .. }, old, new)| {
            format!("{task} started up to {} late, and now up to {}.", time(old as f64), time(new as f64))
        },
    );
    let has_steps = diff.tasks.iter().any(|task| !task.steps.is_empty());
    let next = match (diff.differs, has_steps) {
        (true, false) => "the same with --why: which step of a wake-up grew".into(),
        (true, true) => "the table of steps below names what grew".into(),
        (false, _) => "jitterlab compare, of runs on the machine itself".into(),
    };
    Head { fitness, asked: true, verdict, number, next }
}

/// The head of tools one after the other: which adds least to a wake-up; `None` where nothing was measured.
pub(crate) fn peers(peers: &KernelPeers) -> Option<Head> {
    let first = peers.kernels.first()?;
    let mut means: Vec<(&str, f64)> = first
        .tools
        .iter()
        .filter_map(|tool| Some((tool.tool.as_str(), tool.summary.as_ref()?.latency.mean_ns?)))
        .collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (best, least) = *means.first()?;
    let others = means.iter().skip(1).map(|(tool, mean)| format!("{tool} {}", time(*mean)));
    let others: Vec<String> = others.collect();
    Some(Head {
        fitness: if peers.ns_per_instruction.is_some() { Fitness::Good } else { Fitness::CannotTell },
        asked: false,
        verdict: format!("LEAST: {best} on {}, by its mean latency.", first.kernel),
        number: match others.is_empty() {
            true => format!("{best} {}.", time(least)),
            false => format!("{best} {}; {}.", time(least), list(&others)),
        },
        next: "jitterlab run on the machine itself: virtual time counts instructions only".into(),
    })
}
