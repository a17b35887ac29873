//! Runs compared, task by task.

use jitterlab_analysis::compare::{
    self, CausesCompared, ConditionDifferences, FEWEST_RUNS, PathsCompared, RunWarnings, RunsCompared,
    TaskCompared, Weight, compare_settings, condition_mismatches, twente_runs,
};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::{Error, RunCauses};

use crate::Run;

/// Options of a comparison of runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompareOptions<'a> {
    /// Only the task of this name, and of a run with one task that one; without it every task that all runs have.
    pub task: Option<&'a str>,
    /// True to compare as the University of Twente's report does.
    pub twente: bool,
    /// True to compare runs even if they are not comparable.
    pub anyway: bool,
    /// Tolerance for the move of a code path, in nanoseconds, of two runs in virtual time.
    pub move_tolerance_ns: Option<i64>,
}

/// Text of the differences that make runs incomparable.
fn describe_refusals(all: &[ConditionDifferences]) -> String {
    let grave = all.iter().flat_map(|d| {
        let refusing = d.conditions.iter().filter(|m| m.weight == Weight::Refuse);
        refusing
            .map(move |m| format!("{} is {} in {} and {} in {}", m.what, m.first, d.first, m.other, d.other))
    });
    grave.collect::<Vec<_>>().join("; ")
}

/// Compares runs with the first one. Where runs of another setting are given, too, the two settings are compared
/// instead.
///
/// # Errors
/// There is no task that all of them have, they are not comparable, there are too few of a setting, one cannot be
/// read, or code paths are requested of anything but two runs in virtual time.
pub fn compare(
    runs: &[Run],
    of_other_setting: &[Run],
    options: CompareOptions<'_>,
) -> Result<RunsCompared, Error> {
    let first = runs.len();
    let by_setting = !of_other_setting.is_empty();
    if by_setting && first.min(of_other_setting.len()) < FEWEST_RUNS {
        return Err(Error::bad_use("one run of a setting says nothing of the spread from run to run")
            .remedy(format!(
                "give {FEWEST_RUNS} or more of either, better 5, as in jitterlab compare A1 A2 \
                 A3 --with B1 B2 B3"
            )));
    }
    if first + of_other_setting.len() < 2 {
        return Err(Error::bad_use("there is nothing to compare with")
            .remedy("give another run, as in jitterlab compare A B"));
    }
    let runs: Vec<&Run> = runs.iter().chain(of_other_setting).collect();
    let matching = matching_tasks(&runs, options.task)?;
    let labels = labels(&runs);
    // Conditions first: a refusal must not wait for hours of data to be read.
    let mut tasks = Vec::new();
    for numbers in &matching {
        let mismatches = condition_differences(&runs, numbers, &labels);
        let refused = |d: &ConditionDifferences| d.conditions.iter().any(|m| m.weight == Weight::Refuse);
        if !options.anyway && mismatches.iter().any(refused) {
            return Err(Error::bad_use(format!(
                "these runs are not comparable: {}",
                describe_refusals(&mismatches)
            ))
            .remedy("measure again alike, or look at the figures all the same with --anyway"));
        }
        let task = runs[0].info().tasks[numbers[0]].spec.name.clone();
        tasks.push(TaskCompared { task, mismatches, ..TaskCompared::default() });
    }
    if options.move_tolerance_ns.is_some() {
        runs.iter().try_for_each(|run| run.check_code_paths())?;
        if runs.len() != 2 {
            return Err(Error::bad_use("code paths are compared between two runs"));
        }
    }
    let mut scans: Vec<Vec<TaskScan>> = Vec::new();
    let mut warnings = Vec::new();
    for (run, label) in runs.iter().zip(&labels) {
        let (scan, of_run) = run.scan()?.into_parts();
        scans.push(scan);
        if !of_run.is_empty() {
            warnings.push(RunWarnings { run: label.clone(), warnings: of_run });
        }
    }
    let causes: Option<Vec<RunCauses>> = runs.iter().map(|run| run.causes().ok()).collect();
    let began: Vec<String> = runs.iter().map(|run| run.info().started.clone()).collect();
    for (task, numbers) in tasks.iter_mut().zip(&matching) {
        let of_runs: Vec<(String, &TaskScan)> =
            labels.iter().zip(&scans).zip(numbers).map(|((l, s), n)| (l.clone(), &s[*n])).collect();
        if options.twente {
            task.twente = Some(twente_runs(&of_runs));
        } else if by_setting {
            let began = [&began[..first], &began[first..]];
            task.settings = compare_settings([&of_runs[..first], &of_runs[first..]], began);
        } else {
            task.comparison = Some(compare::compare(&of_runs));
            task.causes = causes.as_deref().and_then(|causes| compare_causes(causes, &labels, numbers));
            task.paths =
                compare_paths(&runs, numbers, causes.as_deref(), options.move_tolerance_ns.is_some())?;
        }
    }
    let files = runs.iter().map(|run| run.path().display().to_string()).collect();
    let move_tolerance_ns = options.move_tolerance_ns;
    Ok(RunsCompared { files, tasks, warnings, tolerated: None, move_tolerance_ns })
}

/// Compares code paths of a task in two runs in virtual time; `None` for other runs, or missing latencies.
/// `numbers` are its numbers in the runs. Missing latencies are an error if code paths are `requested`.
fn compare_paths(
    runs: &[&Run],
    numbers: &[usize],
    causes: Option<&[RunCauses]>,
    requested: bool,
) -> Result<Option<PathsCompared>, Error> {
    let ([old, new], [of_old, of_new]) = (runs, numbers) else { return Ok(None) };
    let known =
        |run: &Run, number| run.check_code_paths().is_ok() && (requested || run.keeps_all_rows(number));
    if !known(old, *of_old) || !known(new, *of_new) {
        return Ok(None);
    }
    let latencies = [old.latencies(*of_old)?, new.latencies(*of_new)?];
    let causes = causes.and_then(|of| Some([of[0].tasks.get(*of_old)?, of[1].tasks.get(*of_new)?]));
    Ok(Some(PathsCompared::new(latencies, causes)))
}

/// Compares the causes of a task's delays; `None` where one run lacks them. `numbers` are its numbers in the
/// runs.
fn compare_causes(causes: &[RunCauses], labels: &[String], numbers: &[usize]) -> Option<CausesCompared> {
    let each = causes.iter().zip(labels).zip(numbers);
    let known = each.map(|((causes, label), number)| Some((label.clone(), causes.tasks.get(*number)?)));
    CausesCompared::from_runs(&known.collect::<Option<Vec<_>>>()?)
}

/// Returns for each compared task its number in every run: by name, or the only task. A requested name also means the
/// only task of a run.
fn matching_tasks(runs: &[&Run], name: Option<&str>) -> Result<Vec<Vec<usize>>, Error> {
    let names = |run: &Run| run.info().tasks.iter().map(|t| t.spec.name.clone()).collect::<Vec<_>>();
    if name.is_none() && runs.iter().all(|run| run.info().tasks.len() == 1) {
        return Ok(vec![vec![0; runs.len()]]);
    }
    let wanted = match name {
        Some(name) => vec![name.to_owned()],
        None => runs.first().map(|run| names(run)).unwrap_or_default(),
    };
    // Another tool calls its only task otherwise.
    let only = |run: &Run| (name.is_some() && run.info().tasks.len() == 1).then_some(0);
    let of = |run: &Run, name: &str| run.task_number(name).or_else(|| only(run));
    let in_all = |name: &String| runs.iter().map(|run| of(run, name)).collect::<Option<Vec<usize>>>();
    let found: Vec<Vec<usize>> = wanted.iter().filter_map(in_all).collect();
    if found.is_empty() {
        let of = |run: &&Run| format!("{} has {}", run.path().display(), names(run).join(", "));
        let all = runs.iter().map(of).collect::<Vec<_>>().join("; ");
        return Err(
            Error::bad_use(format!("no task is in all of these runs: {all}")).remedy("name one with --task")
        );
    }
    Ok(found)
}

fn condition_differences(runs: &[&Run], numbers: &[usize], labels: &[String]) -> Vec<ConditionDifferences> {
    let of = |at: usize| (runs[at].info(), &runs[at].info().tasks[numbers[at]]);
    (1..runs.len())
        .map(|other| ConditionDifferences {
            first: labels[0].clone(),
            other: labels[other].clone(),
            conditions: condition_mismatches(of(0), of(other)),
        })
        .collect()
}

/// Labels of the runs: the file's name without the ending, or the whole path where names are not unique.
fn labels(runs: &[&Run]) -> Vec<String> {
    let short: Vec<String> = runs
        .iter()
        .map(|run| run.path().file_stem().map_or_else(String::new, |s| s.to_string_lossy().into()))
        .collect();
    let unique = |label: &String| short.iter().filter(|s| *s == label).count() == 1 && !label.is_empty();
    short
        .iter()
        .zip(runs)
        .map(|(label, run)| if unique(label) { label.clone() } else { run.path().display().to_string() })
        .collect()
}
