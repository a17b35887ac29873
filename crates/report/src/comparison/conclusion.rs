//! The first three lines of a comparison: a conclusion, the figure that differs most, the next step.

use jitterlab_analysis::compare::{
    Basis, ComparedRun, Comparison, Difference, FigureVerdict, NoInterval, RunsCompared, SettingDifference,
    SettingsCompared, Statistic, ToleranceVerdict, USUAL_MOVE_NS,
};
use jitterlab_analysis::exact_binomial::binomial_at_least;
use jitterlab_model::Fitness;

use super::basis_text;
use super::code_paths;
use super::settings;
use super::table::{effect_size, figure_value, format_change, format_difference, is_notable};
use crate::conclusion::Conclusion;
use crate::words::{MANY_TASKS, count, list, list_some, plural, sentence, share, time};

/// Figures that a verdict names of the only other run, and of each of several; the table has the others.
const NAMED: [usize; 2] = [3, 1];

/// Conclusion by the tolerance, settings, runs or code paths; `None` if nothing is compared.
pub(crate) fn comparison_conclusion(compared: &RunsCompared) -> Option<Conclusion> {
    if let Some(tolerated) = &compared.tolerated {
        return Some(tolerance_conclusion(compared, tolerated));
    }
    let runs: Vec<(&str, &Comparison)> =
        compared.tasks.iter().filter_map(|of| Some((of.task.as_str(), of.comparison.as_ref()?))).collect();
    let several: Vec<(&str, &SettingsCompared)> =
        compared.tasks.iter().filter_map(|of| Some((of.task.as_str(), of.settings.as_ref()?))).collect();
    let mut found = settings_conclusion(&several).or_else(|| runs_conclusion(&runs))?;
    // In virtual time the same programs give the same run: without intervals, the paths decide.
    let decided_by_paths = compared.move_tolerance_ns.is_some() || found.fitness == Fitness::CannotTell;
    let of_paths = decided_by_paths.then(|| {
        let worst = largest_difference_sentence(&runs)
            .unwrap_or_else(|| format!("As seen, {}.", primary_figures_sentence(&runs)));
        code_paths::conclusion(compared, worst)
    });
    if compared.different_path_count().is_some() {
        found.next = format!(
            "in virtual time the same comes again: --fail-if-moved {USUAL_MOVE_NS}ns gives exit status 1 where a code path moved by \
             more"
        );
    }
    of_paths.flatten().or(Some(found))
}

/// Number of runs that the verdict names with their differences each.
const FEW_RUNS: usize = 3;

/// Conclusion from runs side by side; `None` for fewer than two.
pub(crate) fn runs_conclusion(tasks: &[(&str, &Comparison)]) -> Option<Conclusion> {
    let first = tasks.first()?.1.runs.first()?;
    let others: Vec<&str> = tasks.first()?.1.against_first.iter().map(|run| run.name.as_str()).collect();
    let each: Vec<Changes> = others.iter().map(|name| Changes::new(tasks, name)).collect();
    let fitness = each.iter().map(Changes::fitness).reduce(combined_fitness)?;
    let against = &first.name;
    let verdict = match each.as_slice() {
        [_] if fitness == Fitness::CannotTell => format!(
            "SEEN: {} {} {against}: {}. One run of each does not decide whether this comes again.",
            others[0],
            observed_direction_verb(tasks),
            primary_figures_sentence(tasks)
        ),
        [only] => {
            let pooled = common_direction_sentence(tasks).map(|pooled| format!(": {pooled}"));
            let listed = pooled.unwrap_or_else(|| only.list_differences(": ", NAMED[0]));
            format!("{}: {} against {against}{listed}.", direction_word(fitness), others[0])
        }
        all => {
            let (alike, differ): (Vec<_>, Vec<_>) =
                all.iter().zip(&others).partition(|(of, _)| of.fitness() == Fitness::CannotTell);
            let differ: Vec<String> = match differ.len() {
                ..=FEW_RUNS => differ
                    .iter()
                    .map(|(of, name)| {
                        format!("{name} {}{}", of.direction(), of.list_differences(": ", NAMED[1]))
                    })
                    .collect(),
                _ => runs_by_direction(&differ),
            };
            let alike: Vec<String> = alike.iter().map(|(_, name)| (*name).to_string()).collect();
            if differ.is_empty() {
                format!("{} whether {} differ from {against}.", direction_word(fitness), list_some(&alike))
            } else {
                let alike = (!alike.is_empty()).then(|| format!("cannot tell of {}", list_some(&alike)));
                let said: Vec<String> = differ.into_iter().chain(alike).collect();
                format!("{} against {against}: {}.", direction_word(fitness), said.join("; "))
            }
        }
    };
    let number = gross_confidence_sentence(tasks)
        .or_else(|| largest_difference_sentence(tasks))
        .or_else(|| excluded_change_sentence(tasks))
        .unwrap_or_else(|| undecided_reason(tasks));
    // With maxima alone, or without a difference in any single task, the result over all tasks comes first.
    let together = || Some(format!("{}.", sentence(&common_direction_sentence(tasks)?)));
    let (verdict, number) = match above_histogram_sentence(tasks)
        .or_else(|| maxima_direction_sentence(tasks))
        .or_else(together)
    {
        Some(maxima) if fitness == Fitness::CannotTell => (maxima, format!("{verdict} {number}")),
        _ => (verdict, number),
    };
    Some(Conclusion { fitness, asked: false, verdict, number, next: next_step(tasks) })
}

/// Runs that differ from the first, by the direction in which they do.
fn runs_by_direction(differ: &[(&Changes, &&str)]) -> Vec<String> {
    let ways = ["worse", "mixed", "better"].map(|way| {
        let names: Vec<String> = differ
            .iter()
            .filter(|(of, _)| of.direction() == way)
            .map(|(_, name)| (**name).to_owned())
            .collect();
        (!names.is_empty()).then(|| format!("{} {way}: {}", names.len(), list_some(&names)))
    });
    ways.into_iter().flatten().collect()
}

/// Number of tasks with a figure from which on a common direction of nearly all of them counts.
const POOLED: usize = 6;
/// Chance that as many of them do so where nothing changed, of all figures together.
const BY_CHANCE: f64 = 0.01;

/// Sentence on the figure that moved one way in most tasks, by more than chance; `None` if none did.
fn common_direction_sentence(tasks: &[(&str, &Comparison)]) -> Option<String> {
    let of_figure = |statistic: &Statistic| {
        let of_task = |(task, compared): &(&str, &Comparison)| {
            let [only] = compared.against_first.as_slice() else { return None };
            let is_it =
                |of: &&Difference| of.statistic == *statistic && of.refusal != Some(NoInterval::WithinBins);
            let of = only.differences.iter().find(is_it).filter(|of| of.difference != 0.0)?;
            Some(((*task).to_owned(), *of))
        };
        let (higher, lower): (Vec<_>, Vec<_>) =
            tasks.iter().filter_map(of_task).partition(|(_, of)| of.difference > 0.0);
        let (way, mut most, few) =
            if higher.len() >= lower.len() { ("higher", higher, lower) } else { ("lower", lower, higher) };
        let moved = most.len() + few.len();
        let chance =
            2.0 * binomial_at_least(most.len() as f64, moved as f64, 0.5) * Statistic::ALL.len() as f64;
        if moved < POOLED || chance >= BY_CHANCE {
            return None;
        }
        most.sort_by(|a, b| effect_size(&a.1).total_cmp(&effect_size(&b.1)));
        let [least, largest] =
            [most.first()?, most.last()?].map(|(_, of)| format_difference(of, of.difference));
        let except: Vec<String> = few.into_iter().map(|(task, _)| task).collect();
        let except = match except.is_empty() {
            true => String::new(),
            false => format!("; the other way in {}", list_some(&except)),
        };
        let counts = format!("{} of {} tasks", most.len(), tasks.len());
        Some((chance, format!("{} is {way} in {counts} ({least} to {largest}{except})", statistic.name())))
    };
    // Of as sure ones that which comes first in the tables.
    Statistic::ALL.iter().filter_map(of_figure).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, said)| said)
}

/// Sentence on the task with really more or fewer values above the histogram; `None` if there is none. No quantile
/// shows it.
fn above_histogram_sentence(tasks: &[(&str, &Comparison)]) -> Option<String> {
    let found = tasks.iter().filter_map(|(task, compared)| {
        let [only] = compared.against_first.as_slice() else { return None };
        let above = only.above.filter(|above| above.differs)?;
        let [first, here] = compared.runs.as_slice() else { return None };
        let shares =
            [(above.first, first.count), (above.here, here.count)].map(|(k, n)| k as f64 / n.max(1) as f64);
        Some((shares[1] - shares[0], *task, above, first, here))
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let (more, task, above, first, here) = *found.first()?;
    let others = match found.len() - 1 {
        0 => String::new(),
        others => format!("; so it is in {}", plural(others as u64, "other task")),
    };
    Some(format!(
        "{} than chance explains, if its starts are independent of each other: above the histogram, at {} or more, lie {} of \
         {} latencies of {task} in {}, {} of {} in {}{others}.",
        if more > 0.0 { "MORE LATE" } else { "FEWER LATE" },
        time(above.from_ns as f64),
        count(above.here),
        count(here.count),
        here.name,
        count(above.first),
        count(first.count),
        first.name
    ))
}

/// Sentence if the maxima of several tasks all moved one way and no interval is known; else `None`.
fn maxima_direction_sentence(tasks: &[(&str, &Comparison)]) -> Option<String> {
    let both = |compared: &Comparison| {
        let [first, here] = compared.runs.as_slice() else { return None };
        let known = |of: &Comparison| {
            of.against_first.first().is_some_and(|of| of.differences.iter().any(|d| d.interval.is_some()))
        };
        Some([first.max_ns? as f64, here.max_ns? as f64]).filter(|_| !known(compared))
    };
    let all: Vec<[f64; 2]> = tasks.iter().map(|(_, compared)| both(compared)).collect::<Option<_>>()?;
    let higher = all.iter().all(|[first, here]| here > first);
    let lower = all.iter().all(|[first, here]| here < first);
    if all.len() < 2 || !(higher || lower) {
        return None;
    }
    let runs = &tasks.first()?.1.runs;
    let range = |side: usize| {
        let of = all.iter().map(|both| both[side]);
        let (low, high) = (of.clone().fold(f64::INFINITY, f64::min), of.fold(0.0, f64::max));
        format!("{} to {} in {}", time(low), time(high), runs[side].name)
    };
    let way = if higher { "higher" } else { "lower" };
    let least = tasks.iter().flat_map(|(_, compared)| &compared.runs).map(|run| run.count).min()?;
    Some(format!(
        "All {} maxima are {way}: {}, {}, of {} activations or more each.",
        all.len(),
        range(0),
        range(1),
        count(least)
    ))
}

/// Differences of a run from the first, over all tasks: lower and higher figures, the largest difference
/// first.
struct Changes {
    lower: Vec<String>,
    higher: Vec<String>,
}

impl Changes {
    fn new(tasks: &[(&str, &Comparison)], run: &str) -> Self {
        let of_task = |(task, compared): &(&str, &Comparison)| {
            let prefix = if tasks.len() > 1 { format!("{task}'s ") } else { String::new() };
            let against = compared.against_first.iter().find(|against| against.name == run);
            let gross = against.and_then(|against| against.gross).map(|gross| gross.statistic);
            let real = against.into_iter().flat_map(|against| &against.differences).filter(|of| of.real);
            let said = real.map(|of| {
                let facts = format!("{prefix}{}", figure_in_both_runs(compared, run, of));
                (gross == Some(of.statistic), *of, facts)
            });
            said.collect::<Vec<(bool, Difference, String)>>()
        };
        let mut real: Vec<(bool, Difference, String)> = tasks.iter().flat_map(of_task).collect();
        // The deciding difference comes first.
        real.sort_by(|a, b| b.0.cmp(&a.0).then(effect_size(&b.1).total_cmp(&effect_size(&a.1))));
        let side = |higher: bool| {
            let of = real.iter().filter(|(_, of, _)| (of.difference > 0.0) == higher);
            of.map(|(_, _, facts)| facts.clone()).collect()
        };
        Changes { lower: side(false), higher: side(true) }
    }

    fn fitness(&self) -> Fitness {
        fitness_of_changes(!self.lower.is_empty(), !self.higher.is_empty())
    }

    fn direction(&self) -> String {
        direction_word(self.fitness()).to_lowercase()
    }

    /// Lists the differences after `before`; empty if there are none.
    fn list_differences(&self, before: &str, most: usize) -> String {
        let sides =
            [(&self.lower, "lower"), (&self.higher, "higher")].into_iter().filter(|(of, _)| !of.is_empty());
        let said: Vec<String> = sides
            .map(|(of, how)| {
                let more = of.len().saturating_sub(most);
                let mut named: Vec<String> = of.iter().take(most).cloned().collect();
                if more > 0 {
                    named.push(format!("{more} more"));
                }
                format!("{how} {}", list(&named))
            })
            .collect();
        if said.is_empty() { String::new() } else { format!("{before}{}", said.join(", but ")) }
    }
}

fn figure_in_both_runs(compared: &Comparison, run: &str, of: &Difference) -> String {
    let value =
        |run: Option<&ComparedRun>| Some(figure_with_unit(of.statistic, figure_value(run?, of.statistic)?));
    let here = value(compared.runs.iter().find(|of| of.name == run)).unwrap_or_default();
    let first = value(compared.runs.first()).unwrap_or_default();
    format!("{} {here} against {first} ({})", of.statistic.name(), format_difference(of, of.difference))
}

/// The figures that a purpose needs first.
const PRIMARY: [Statistic; 3] = [Statistic::MissedShare, Statistic::P99, Statistic::Maximum];

/// Verb such as `was better than`, by the direction that the main figures show, whatever they prove.
fn observed_direction_verb(tasks: &[(&str, &Comparison)]) -> &'static str {
    let differs = |of: &Difference| of.difference != 0.0 && of.refusal != Some(NoInterval::WithinBins);
    let primary = all_differences(tasks).filter(|(.., of)| PRIMARY.contains(&of.statistic) && differs(of));
    let (higher, lower): (Vec<_>, Vec<_>) = primary.partition(|(.., of)| of.difference > 0.0);
    match (lower.len(), higher.len()) {
        (0, 0) => "against",
        (_, 0) => "was better than",
        (0, _) => "was worse than",
        _ => "was in part better, in part worse than",
    }
}

/// These figures as seen in both of two runs, whatever they prove.
fn primary_figures_sentence(tasks: &[(&str, &Comparison)]) -> String {
    let of_task = |(task, compared): &(&str, &Comparison)| {
        let against = compared.against_first.first()?;
        let all = &against.differences;
        let of = |statistic: &Statistic| all.iter().find(|of| of.statistic == *statistic);
        let never = |of: &&Difference| {
            of.statistic == Statistic::MissedShare && of.ratio.is_none() && of.difference == 0.0
        };
        let named = PRIMARY.iter().filter_map(of).filter(|of| !never(of));
        let mut said: Vec<String> =
            named.map(|of| figure_in_both_runs(compared, &against.name, of)).collect();
        let side = |holds: fn(f64) -> bool| -> Vec<String> {
            all.iter().filter(|of| holds(of.difference)).map(|of| of.statistic.name().into()).collect()
        };
        let (lower, higher) = (side(|by| by < 0.0), side(|by| by > 0.0));
        said.push(match (lower.len(), higher.len()) {
            (0, 0) => "all figures were equal".into(),
            (_, 0) => "no figure was higher".into(),
            (0, _) => "no figure was lower".into(),
            (below, above) if below < above => format!("lower were only {}", list(&lower)),
            _ => format!("higher were only {}", list(&higher)),
        });
        let prefix = if tasks.len() > 1 { format!("{task}'s ") } else { String::new() };
        Some(format!("{prefix}{}", said.join(", ")))
    };
    let differs = |compared: &Comparison| {
        let notable = compared
            .against_first
            .iter()
            .flat_map(|against| &against.differences)
            .filter(|of| is_notable(of));
        notable.map(effect_size).fold(0.0, f64::max)
    };
    let mut sorted: Vec<&(&str, &Comparison)> = tasks.iter().collect();
    let mut rest = String::new();
    if tasks.len() >= MANY_TASKS {
        sorted.retain(|(_, compared)| differs(compared) > 0.0);
        sorted.sort_by(|a, b| differs(b.1).total_cmp(&differs(a.1)));
        sorted.truncate(NAMED[0]);
        let left = plural(
            (tasks.len() - sorted.len()) as u64,
            if sorted.is_empty() { "task" } else { "other task" },
        );
        let most = sorted.last().map_or(0.0, |(_, compared)| differs(compared));
        let how =
            if most > 0.0 { "less or not at all" } else { "by no more than the bins of the histograms" };
        rest = format!("{}{left} differ {how}", if sorted.is_empty() { "" } else { "; " });
    }
    sorted.into_iter().filter_map(of_task).collect::<Vec<String>>().join("; ") + &rest
}

/// States the confidence in the gross difference of two runs; `None` without one.
fn gross_confidence_sentence(tasks: &[(&str, &Comparison)]) -> Option<String> {
    let pairs = tasks.iter().filter(|(_, compared)| compared.runs.len() == 2);
    let mut found = pairs.filter_map(|(task, compared)| {
        let against = compared.against_first.first()?;
        Some((task, &compared.runs[0].name, &against.name, against.gross?))
    });
    let (task, first, here, gross) = found.next()?;
    let (better, worse) = if gross.is_lower { (here, first) } else { (first, here) };
    Some(format!(
        "{} of {task} is lower in every tenth part of {better} than in any of {worse}: chance and latencies that wander within a run \
         do not make this. A machine that was in another state during one whole run can: 3 to 13 of 100 pairs of equal settings on \
         such a machine look so.",
        gross.statistic.name()
    ))
}

/// Fitness for the presence of really lower and really higher figures.
fn fitness_of_changes(lower: bool, higher: bool) -> Fitness {
    match (lower, higher) {
        (false, false) => Fitness::CannotTell,
        (true, false) => Fitness::Good,
        (false, true) => Fitness::Unfit,
        (true, true) => Fitness::Limited,
    }
}

/// Combines the results of two runs, or of two tasks.
fn combined_fitness(a: Fitness, b: Fitness) -> Fitness {
    match (a, b) {
        (a, b) if a == b => a,
        (Fitness::CannotTell, other) | (other, Fitness::CannotTell) => other,
        _ => Fitness::Limited,
    }
}

fn direction_word(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Good => "BETTER",
        Fitness::Limited => "MIXED",
        Fitness::CannotTell => "CANNOT TELL",
        Fitness::Unfit => "WORSE",
    }
}

fn largest_difference_sentence(tasks: &[(&str, &Comparison)]) -> Option<String> {
    let real = all_differences(tasks).filter(|(_, _, of)| of.real);
    // A difference with an interval ranks above a maximum.
    let rank = |of: &Difference| (of.interval.is_some(), effect_size(of));
    let by_rank = |a: &Difference, b: &Difference| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let (task, (first, here), of) = real.max_by(|a, b| by_rank(a.2, b.2))?;
    let compared = tasks.iter().find(|(name, _)| *name == task)?.1;
    let value = |run: &str| {
        let run = compared.runs.iter().find(|of| of.name == run)?;
        Some(figure_with_unit(of.statistic, figure_value(run, of.statistic)?))
    };
    let by = format_difference(of, of.difference);
    let sure = of.interval.map_or(String::new(), |[low, high]| {
        let provided = interval_assumption(compared, [first, here]);
        format!(
            ", between {} and {} with 95 % confidence{provided}",
            format_difference(of, low),
            format_difference(of, high)
        )
    });
    let (before, after) = (value(first)?, value(here)?);
    Some(format!("{} of {task}: {before} in {first}, {after} in {here} ({by}{sure}).", of.statistic.name()))
}

/// Sentence on the change that can be excluded, by the highest quantile with an interval; `None` without one.
fn excluded_change_sentence(tasks: &[(&str, &Comparison)]) -> Option<String> {
    let ranked = |of: &Difference| Statistic::ALL.iter().position(|s| *s == of.statistic);
    let known = all_differences(tasks)
        .filter(|(_, _, of)| of.interval.is_some() && of.statistic != Statistic::MissedShare);
    let (task, (first, here), of) = known.max_by_key(|(_, _, of)| ranked(of))?;
    let [low, high] = of.interval?;
    let provided = interval_assumption(tasks.iter().find(|(name, _)| *name == task)?.1, [first, here]);
    Some(format!(
        "{} of {task} in {here}: a change between {} and {} cannot be excluded, a larger one is (95 %{provided}).",
        of.statistic.name(),
        format_difference(of, low),
        format_difference(of, high)
    ))
}

/// Assumption behind intervals of these runs, in addition to their data; empty if there is none.
fn interval_assumption(compared: &Comparison, names: [&str; 2]) -> &'static str {
    let mut runs = compared.runs.iter().filter(|run| names.contains(&run.name.as_str()));
    let unordered = runs.any(|run| run.basis == Basis::IfIndependent);
    if unordered { ", if latencies are independent of each other" } else { "" }
}

fn undecided_reason(tasks: &[(&str, &Comparison)]) -> String {
    let within = all_differences(tasks).filter(|(.., of)| of.refusal == Some(NoInterval::WithinBins));
    if let Some((task, (first, here), of)) =
        within.max_by(|a, b| effect_size(a.2).total_cmp(&effect_size(b.2)))
    {
        let by = time(of.difference.abs());
        return format!(
            "{} of {task} differs by {by} between {first} and {here}, which is within the bins of the histograms: no difference.",
            of.statistic.name()
        );
    }
    let runs = tasks.iter().flat_map(|(_, compared)| &compared.runs);
    let unsure = runs.into_iter().find(|run| !matches!(run.basis, Basis::Dependence { .. }));
    unsure.map_or_else(
        || "How large a lasting change is cannot be told: what varies is a burst or two.".into(),
        |run| {
            format!(
                "How large a lasting change is cannot be told: in {}, {}.",
                run.name,
                basis_text(&run.basis)
            )
        },
    )
}

type Compared<'a> = (&'a str, (&'a str, &'a str), &'a Difference);

/// Every difference, with its task and the names of its runs.
fn all_differences<'a>(tasks: &'a [(&'a str, &'a Comparison)]) -> impl Iterator<Item = Compared<'a>> {
    tasks.iter().flat_map(|(task, compared)| {
        let first = compared.runs.first().map_or("", |run| run.name.as_str());
        compared.against_first.iter().flat_map(move |run| {
            run.differences.iter().map(move |of| (*task, (first, run.name.as_str()), of))
        })
    })
}

fn figure_with_unit(statistic: Statistic, value: f64) -> String {
    if statistic == Statistic::MissedShare { share(value) } else { time(value) }
}

fn next_step(tasks: &[(&str, &Comparison)]) -> String {
    let decided = all_differences(tasks).any(|(.., of)| of.real);
    let runs = tasks.iter().flat_map(|(_, compared)| &compared.runs);
    let needs = runs.filter_map(|run| match run.basis {
        Basis::TooDependent { needs_ns, .. } => Some(needs_ns),
        _ => None,
    });
    match needs.reduce(f64::max) {
        Some(ns) if !decided => format!("measure both again, in turns, each for {} or longer", time(ns)),
        _ => "three runs of each setting, measured in turns: jitterlab compare A1 A2 A3 --with B1 B2 B3 (two runs of one \
              setting differ, too)"
            .into(),
    }
}

pub(super) fn settings_conclusion(tasks: &[(&str, &SettingsCompared)]) -> Option<Conclusion> {
    let (_, any) = tasks.first()?;
    let real = |higher: bool| {
        tasks.iter().any(|(_, of)| of.differences.iter().any(|d| d.real && settings::is_higher(d) == higher))
    };
    let fitness = fitness_of_changes(real(false), real(true));
    let named = |task: &str| if tasks.len() > 1 { format!("{task}: ") } else { String::new() };
    let sides: Vec<String> = tasks
        .iter()
        .filter_map(|(task, of)| Some(format!("{}{}", named(task), settings::lower_and_higher_figures(of)?)))
        .collect();
    let sides = if sides.is_empty() { String::new() } else { format!(": {}", sides.join("; ")) };
    let turns = match any.in_turns {
        Some(false) if fitness != Fitness::CannotTell => {
            ", but one setting was measured after the other: a machine that changed meanwhile looks the same"
        }
        _ => "",
    };
    let all = tasks.iter().flat_map(|(task, of)| of.differences.iter().map(move |d| (*task, d)));
    let most = all.max_by(|a, b| {
        let by = |d: &SettingDifference| (d.real, if d.relative { d.change.ln().abs() } else { 0.0 });
        let (a, b) = (by(a.1), by(b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    Some(Conclusion {
        fitness,
        asked: false,
        verdict: match fitness {
            Fitness::CannotTell => format!("{} whether the settings differ{sides}.", direction_word(fitness)),
            _ => format!("{}: --with against the first setting{sides}{turns}.", direction_word(fitness)),
        },
        number: most.map_or_else(
            || "There is no figure that all runs are long enough for.".into(),
            |(task, d)| settings::difference_sentence(task, d),
        ),
        next: settings::next_step(any),
    })
}

fn tolerance_conclusion(compared: &RunsCompared, judged: &ToleranceVerdict) -> Conclusion {
    let most = share(judged.tolerance);
    let first = compared.tasks.first();
    let first = first.and_then(|task| {
        let runs = task.comparison.as_ref().and_then(|of| of.runs.first().map(|run| run.name.clone()));
        runs.or_else(|| task.settings.as_ref().map(|_| "the first setting".into()))
    });
    let first = first.unwrap_or_else(|| "the first run".into());
    let names = |fitness| {
        let mut names: Vec<String> = Vec::new();
        for of in judged.figures.iter().filter(|of| of.fitness == fitness) {
            let name = of.statistic.name().to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        list(&names)
    };
    let verdict = match judged.fitness {
        Fitness::Unfit => format!("WORSE than {first} by more than {most} in {}.", names(Fitness::Unfit)),
        Fitness::CannotTell => {
            format!(
                "CANNOT TELL whether it is worse than {first} by more than {most}: {}.",
                undecided_figures_text(judged)
            )
        }
        Fitness::Good => format!("NOT WORSE than {first} by more than {most}, in any figure."),
        Fitness::Limited => format!(
            "NOT WORSE than {first} by more than {most} in {}; in {} that cannot be told.",
            names(Fitness::Good),
            names(Fitness::CannotTell)
        ),
    };
    let runs: Vec<(&str, &Comparison)> =
        compared.tasks.iter().filter_map(|of| Some((of.task.as_str(), of.comparison.as_ref()?))).collect();
    let number = judged.figures.first().map_or_else(|| undecided_reason(&runs), figure_sentence);
    let next = match judged.fitness {
        Fitness::Unfit => "jitterlab report, with all these files: where they differ",
        Fitness::CannotTell | Fitness::Limited => {
            "several runs of each, measured in turns: jitterlab compare A1 A2 A3 --with B1 B2 B3 --fail-if-worse SHARE"
        }
        Fitness::Good => "keep the first file for the next comparison",
    };
    Conclusion { fitness: judged.fitness, asked: true, verdict, number, next: next.into() }
}

fn undecided_figures_text(judged: &ToleranceVerdict) -> String {
    let seems = |of: &&FigureVerdict| of.change.is_none_or(|change| change > judged.tolerance);
    match judged.figures.iter().find(seems) {
        Some(of) => format!("{} is as seen, which may be chance", of.statistic.name()),
        None => "nothing is shown, and nothing excluded".into(),
    }
}

pub(super) fn figure_sentence(of: &FigureVerdict) -> String {
    let FigureVerdict { task, run, statistic, .. } = of;
    let name = statistic.name();
    match (of.change, of.limits) {
        (Some(change), Some([low, high])) if !of.gross => format!(
            "{name} of {task} in {run}: {} (between {} and {} with 95 % confidence).",
            format_change(change),
            format_change(low),
            format_change(high)
        ),
        (change, _) if of.gross => format!(
            "{name} of {task} in {run}: {}, shown by every tenth of the run against every tenth of the first.",
            change.map_or("there was none in the first".into(), format_change)
        ),
        (Some(change), None) if of.within_bins => format!(
            "{name} of {task} in {run}: {} as seen, which is within the bins of the histograms: no difference.",
            format_change(change)
        ),
        (Some(change), None) if *statistic == Statistic::Maximum => format!(
            "{name} of {task} in {run}: {}; the largest latencies of equal stretches differ, too.",
            format_change(change)
        ),
        (Some(change), None) => {
            format!("{name} of {task} in {run}: {} as seen, without an interval.", format_change(change))
        }
        _ => format!("{name} of {task} in {run}: there was none in the first."),
    }
}
