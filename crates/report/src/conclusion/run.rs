//! The conclusion of a run: which purposes it shows to be served.

use jitterlab_analysis::Summary;
use jitterlab_analysis::causes::TaskWhy;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::purposes::CONTROL_LOOP;
use jitterlab_analysis::task_analysis::RunAnalysis;
use jitterlab_analysis::verdict::{PurposeVerdict, Untested, Verdict};
use jitterlab_model::units::Exact;
use jitterlab_model::watched::LINUXCNC;
use jitterlab_model::{Fitness, Gap, Refusal, RunInfo, TaskRun, Warning};

use super::{Conclusion, MEASURE_ON_TARGET, file_argument, verdict_word, with_saved_input};
use crate::purpose::{decision_sentence, period_text, purposes_by_fitness};
use crate::warnings::gap_text;
use crate::why;
use crate::words::{exact_time, plural, time};

/// Length of a measurement under load that the field asks for before it trusts a machine: "several minutes".
const LONG_RUN_NS: i64 = 300_000_000_000;

/// Conclusion of a measurement: its requirements, else its purposes, else its firmware; `None` without these.
pub(crate) fn measurement_conclusion(measured: &MeasuredRun) -> Option<Conclusion> {
    if let Some(required) = &measured.required {
        let decided = super::outlook::requirement_conclusion(required)?;
        let next = match &measured.file {
            Some(_) => decided.next,
            None => "the same with -o FILE.parquet, which analyze, predict and compare read".into(),
        };
        let Some(disturbed) = crate::firmware::main_disturbance_sentence(&measured.run) else {
            return Some(Conclusion { next, ..decided });
        };
        return Some(Conclusion { next, number: format!("{} {disturbed}", decided.number), ..decided });
    }
    let Some(verdict) = &measured.verdict else {
        return crate::firmware::firmware_conclusion(&measured.run, measured.summaries());
    };
    let file = measured.file.as_deref().map(|file| file_argument(&file.display().to_string()));
    Some(verdict_conclusion(&measured.run, verdict, measured.summaries(), file.as_deref(), &measured.why))
}

pub(crate) fn analysis_conclusion(analysis: &RunAnalysis) -> Option<Conclusion> {
    let summaries = analysis.tasks.iter().map(|task| &task.measured.summary);
    let Some(verdict) = &analysis.verdict else {
        return crate::firmware::firmware_conclusion(&analysis.run, summaries);
    };
    let conclusion =
        verdict_conclusion(&analysis.run, verdict, summaries, Some(&file_argument(&analysis.file)), &[]);
    Some(Conclusion { next: with_saved_input(conclusion.next, &analysis.file), ..conclusion })
}

fn verdict_conclusion<'a>(
    run: &RunInfo,
    verdict: &Verdict,
    summaries: impl Iterator<Item = &'a Summary>,
    file: Option<&str>,
    causes: &[TaskWhy],
) -> Conclusion {
    let number = quoted_purpose(verdict).and_then(|purpose| {
        Some(decision_sentence(&purpose.purpose, purpose.decided_by.as_ref()?, run.tasks.len()))
    });
    Conclusion {
        fitness: verdict.fitness,
        asked: verdict.asked.is_some(),
        verdict: verdict_sentence(run, verdict),
        number: number.unwrap_or_else(|| undecided_number(run, summaries)) + consequence_hint(verdict),
        next: next_step(run, verdict, file, causes),
    }
}

/// Hint at the command that computes what timing that breaks limits does to a motor or a loop; empty for other purposes.
fn consequence_hint(verdict: &Verdict) -> &'static str {
    let broken =
        deciding_purpose(verdict).filter(|of| matches!(of.fitness, Fitness::Limited | Fitness::Unfit));
    match broken.map_or("", |of| of.purpose.as_str()) {
        "servo-thread" | "robot-1khz" => " Timing alone; what a loop makes of it: jitterlab servo.",
        name if name.starts_with("step-") => " Timing alone; what a motor makes of it: jitterlab stepper.",
        _ => "",
    }
}

/// The purpose whose number the verdict quotes: the deciding one, else the first with a number; else `None`.
pub(crate) fn quoted_purpose(verdict: &Verdict) -> Option<&PurposeVerdict> {
    deciding_purpose(verdict).or_else(|| verdict.purposes.iter().find(|purpose| purpose.decided_by.is_some()))
}

/// The purpose that the conclusion is about: the first of those served worst; `None` if all are undecided.
fn deciding_purpose(verdict: &Verdict) -> Option<&PurposeVerdict> {
    let judged = |fitness| verdict.with_fitness(fitness).next();
    [Fitness::Unfit, Fitness::Limited, Fitness::Good].into_iter().find_map(judged)
}

fn verdict_sentence(run: &RunInfo, verdict: &Verdict) -> String {
    if verdict.fitness == Fitness::CannotTell {
        let what = match verdict.purposes.as_slice() {
            [only] => only.purpose.clone(),
            _ => "any usual purpose".into(),
        };
        return format!(
            "{} for {what}: {}.",
            verdict_word(verdict.fitness),
            untested_reason(run, &verdict.purposes)
        );
    }
    let worst_first: Vec<String> = purposes_by_fitness(verdict)
        .enumerate()
        .map(|(at, (how, names))| match at {
            0 => format!("{} for {names}", verdict_word(verdict.fitness)),
            _ => format!("{how} for {names}"),
        })
        .collect();
    let is_bad = verdict.fitness == Fitness::Unfit;
    let as_it_ran = if is_bad && has_ordinary_policy(run, verdict) { ", as it ran" } else { "" };
    format!("{}{as_it_ran}.", worst_first.join("; "))
}

/// True if a task that decides an unserved purpose ran under an ordinary policy, so that a better one may help.
fn has_ordinary_policy(run: &RunInfo, verdict: &Verdict) -> bool {
    let decides = |name: &str| {
        let mut unserved =
            verdict.with_fitness(Fitness::Unfit).filter_map(|purpose| purpose.decided_by.as_ref());
        unserved.any(|decided| decided.task == name)
    };
    let of_those = run.tasks.iter().filter(|task| decides(&task.spec.name));
    let mut granted = of_those.filter_map(|task| task.granted.as_ref());
    granted.any(|granted| !granted.policy.is_real_time())
}

/// Reason why no verdict is possible.
pub(crate) fn untested_reason(run: &RunInfo, purposes: &[PurposeVerdict]) -> String {
    let why =
        |wanted: fn(&Untested) -> bool| purposes.iter().find(|p| p.untested.as_ref().is_some_and(wanted));
    let policy = why(|why| matches!(why, Untested::Policy));
    let other = why(|why| !matches!(why, Untested::Policy | Untested::Period));
    match (policy, other.and_then(|purpose| purpose.untested)) {
        (Some(_), _) => match policy_refusal(run) {
            Some(refusal) => {
                format!("{} was refused ({}), and other work may delay it", refusal.what, refusal.why)
            }
            None => "it ran under an ordinary policy, where other work may delay it".into(),
        },
        (None, Some(Untested::Length { activations })) => {
            format!("the run is too short, it takes {} to tell", plural(activations, "activation"))
        }
        (None, Some(Untested::Clocks { millionths })) => format!(
            "starts {} {:.1} ppm on due times, as those of two clocks do, so how late it was is not known",
            if millionths > 0.0 { "gain" } else { "lose" },
            millionths.abs()
        ),
        (None, Some(Untested::Gap { gap: open })) => format!("the source does not say {}", gap_text(open)),
        _ => match purposes {
            [only] => format!("no task had its period of {}", period_text(only)),
            _ => "no task had the period of one".into(),
        },
    }
}

/// The refusal of a real-time policy, which a thread asks for last; `None` if none was refused.
fn policy_refusal(run: &RunInfo) -> Option<&Refusal> {
    let refused = run.tasks.iter().any(|task| {
        let granted = task.granted.as_ref().is_some_and(|granted| granted.policy.is_real_time());
        task.spec.policy.is_none_or(|asked| asked.is_real_time()) && !granted
    });
    run.refused.last().filter(|_| refused)
}

/// First alternative of a remedy: the others are shown with the refusal itself.
fn first_remedy(remedy: &str) -> &str {
    remedy.split(" | ").next().unwrap_or(remedy)
}

/// Sentence with the worst latency, or else the worst interval, of a run without a decision.
fn undecided_number<'a>(run: &RunInfo, summaries: impl Iterator<Item = &'a Summary>) -> String {
    let (summaries, without_unit): (Vec<&Summary>, Vec<&Summary>) =
        summaries.partition(|summary| summary.knows(Gap::Unit));
    if summaries.is_empty() && !without_unit.is_empty() {
        return "How late it was is not known: the unit of the values is not.".into();
    }
    let latencies = summaries.iter().filter_map(|summary| Some((summary.latency.max_ns?, summary)));
    if let Some((ns, summary)) = latencies.max_by_key(|(ns, _)| *ns) {
        let (task, worst) = (&summary.task, time(ns as f64));
        if !summary.knows(Gap::Figures) {
            // Another figure of the same output is larger.
            return format!("The longest value of {task} is {worst} at least.");
        }
        let threshold_ns = run.warnings.iter().find_map(|warning| match warning {
            Warning::OnlyAbove { above_ns } => Some(*above_ns),
            _ => None,
        });
        if let Some(above_ns) = threshold_ns.filter(|above_ns| ns < *above_ns) {
            return format!(
                "No value of {task} reached {}, from which on they are recorded.",
                exact_time(above_ns)
            );
        }
        return match summary.knows(Gap::Grid) {
            true => format!("{task} started up to {worst} late."),
            false => format!("The longest value of {task} is {worst}."),
        };
    }
    let intervals = summaries.iter().filter_map(|summary| {
        let error = summary.period_error;
        Some((error.max_ns?.max(-error.min_ns?), summary))
    });
    if let Some((ns, summary)) = intervals.max_by_key(|(ns, _)| *ns) {
        return format!("{}'s intervals were up to {} off.", summary.task, time(ns as f64));
    }
    let executions = summaries.iter().filter_map(|summary| Some((summary.execution.max_ns?, &summary.task)));
    if let Some((ns, task)) = executions.max() {
        return format!("The longest activation of {task} took {}.", time(ns as f64));
    }
    match summaries.iter().any(|summary| summary.latency.min_ns.is_some()) {
        true => "The largest latency is not known.".into(),
        false => "Nothing was measured.".into(),
    }
}

/// Next step, the most useful first.
fn next_step(run: &RunInfo, verdict: &Verdict, file: Option<&str>, causes: &[TaskWhy]) -> String {
    let no_period = [Untested::Period, Untested::Gap { gap: Gap::Period }].map(Some);
    let of_its_period = || verdict.purposes.iter().find(|purpose| !no_period.contains(&purpose.untested));
    let asked = verdict.purposes.first().filter(|_| verdict.asked.is_some());
    let purpose = deciding_purpose(verdict).or_else(of_its_period).or(asked);
    let name = purpose.map_or("servo-thread", |purpose| purpose.purpose.as_str());
    let task = match purpose.filter(|purpose| purpose.purpose == CONTROL_LOOP.name) {
        Some(purpose) => format!("--period {}", Exact(purpose.period_ns)),
        None => format!("--for {name}"),
    };
    let without = |why: Untested| verdict.purposes.iter().any(|purpose| purpose.untested == Some(why));
    let facts = run.facts_before.as_ref();
    let is_virtual = facts.is_some_and(|facts| facts.virtualisation.virtual_machine == Some(true));
    let watched = run.tasks.iter().any(|task| task.watched.is_some());
    let of_linuxcnc = |task: &TaskRun| task.watched.as_ref().is_some_and(|of| of.program == LINUXCNC);
    if run.is_imported() {
        return next_step_of_import(run, verdict, file.unwrap_or("FILE"));
    }
    let is_bad = verdict.fitness == Fitness::Unfit && has_ordinary_policy(run, verdict);
    let is_late = matches!(verdict.fitness, Fitness::Limited | Fitness::Unfit);
    let wants_policy = is_bad || without(Untested::Policy);
    if is_late
        && !wants_policy
        && let Some(remedy) = why::next_step_of_run(causes, run)
    {
        return remedy;
    }
    match verdict.fitness {
        _ if wants_policy => match policy_refusal(run) {
            Some(refusal) => format!("{}, then measure again", first_remedy(&refusal.remedy)),
            None if run.tasks.iter().any(of_linuxcnc) => {
                "a kernel with PREEMPT_RT, and rtapi_app set-uid root, as LinuxCNC needs for real time; then the same again".into()
            }
            None if watched => {
                "the same again with the program under a real-time policy (chrt -f 80 COMMAND)".into()
            }
            None => "the same again with --policy fifo:80 (an ordinary task waits for others)".into(),
        },
        _ if watched => {
            format!("jitterlab why {} (what delayed it, and what to do)", file.unwrap_or("FILE"))
        }
        Fitness::CannotTell => format!("jitterlab run {task} --duration 1min"),
        Fitness::Good if run.load.is_none() || run.measured_ns().is_none_or(|ns| ns < LONG_RUN_NS) => {
            format!("jitterlab run {task} --duration 10min --load cpu:1 (rare events need time and load)")
        }
        Fitness::Good if name.starts_with("step") => {
            format!("jitterlab stepper --frame 23 --torque 1.9Nm --travel 5mm/rev {}", file.unwrap_or("FILE"))
        }
        Fitness::Good => format!("jitterlab predict {} (how much worse it can get)", file.unwrap_or("FILE")),
        Fitness::Limited | Fitness::Unfit if is_virtual => MEASURE_ON_TARGET.into(),
        Fitness::Limited | Fitness::Unfit => {
            "jitterlab check (what holds it up, and what to change first)".into()
        }
    }
}

/// Next step for a run that another tool measured, on a machine that need not be this one.
fn next_step_of_import(run: &RunInfo, verdict: &Verdict, file: &str) -> String {
    let why = |wanted: fn(&Untested) -> bool| {
        verdict.purposes.iter().filter_map(|purpose| purpose.untested).find(wanted)
    };
    match verdict.fitness {
        Fitness::CannotTell => {
            if why(|why| matches!(why, Untested::Gap { gap: Gap::Period })).is_some() {
                let mut periods: Vec<i64> = run.tasks.iter().map(|task| task.spec.period_ns).collect();
                let alike = periods.iter().all(|ns| periods.first() == Some(ns));
                periods.truncate(if alike { 1 } else { periods.len() });
                let periods: String =
                    periods.into_iter().map(|ns| format!("--period {} ", Exact(ns))).collect();
                return format!("jitterlab analyze {periods}{file} with the period that the tool was given");
            }
            if why(|why| matches!(why, Untested::Gap { gap: Gap::Unit })).is_some() {
                return format!("jitterlab analyze --unit ns {file}, or us, as the tool counted");
            }
            if why(|why| matches!(why, Untested::Gap { gap: Gap::Grid })).is_some() {
                return "jitterlab run, or the output of a tool that wakes periodically (cyclictest, rtla timerlat)".into();
            }
            match why(|why| matches!(why, Untested::Length { .. })) {
                Some(Untested::Length { activations }) => {
                    format!("a record of {} or more, read in the same way", plural(activations, "activation"))
                }
                _ => format!("jitterlab predict {file} (how much worse it can get)"),
            }
        }
        Fitness::Good => format!("jitterlab predict {file} (how much worse it can get)"),
        Fitness::Limited | Fitness::Unfit => {
            "on the machine that was measured: jitterlab check (what holds it up)".into()
        }
    }
}
