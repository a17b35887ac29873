//! Comparison as a test: fails if a figure is worse than the first by more than the tolerance.

use jitterlab_model::Fitness;
use serde::Serialize;

use super::{
    AgainstFirst, Comparison, Difference, NoInterval, SettingDifference, SettingsCompared, Statistic,
};

/// Verdict on whether any figure is worse than that of the first run, or setting, by more than the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "Tolerated")]
pub struct ToleranceVerdict {
    /// Tolerated relative increase of a figure over the first.
    pub tolerance: f64,
    /// Unfit if a figure is shown to be higher by more, good if that is excluded for all of them. If it is
    /// excluded for some only: limited, or undecided if the observed value of another is higher by more.
    pub fitness: Fitness,
    /// Every figure for which both are long enough; the worst first.
    pub figures: Vec<FigureVerdict>,
}

/// One figure against that of the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "JudgedFigure")]
pub struct FigureVerdict {
    /// The task.
    pub task: String,
    /// Name of the run; for two settings, names of the other's runs, separated by commas.
    pub run: String,
    /// The figure.
    pub statistic: Statistic,
    /// Relative increase over its value in the first; below 0 is better here. `None` if that value is 0.
    pub change: Option<f64>,
    /// Interval of that increase: all intervals of one comparison hold together with 95 %. `None` if the
    /// figure has none, such as a maximum.
    pub limits: Option<[f64; 2]>,
    /// True if it counts as no difference: it is no larger than the bins in which latencies were counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub within_bins: bool,
    /// True if every tenth of either run shows the difference.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gross: bool,
    /// Unfit if an increase beyond the tolerance is shown, good if it is excluded.
    pub fitness: Fitness,
}

/// Name of a task, and the comparison of its runs or of two settings.
pub type TaskComparisons<'a> = (&'a str, Option<&'a Comparison>, Option<&'a SettingsCompared>);

impl ToleranceVerdict {
    /// Judges every task's comparison.
    #[must_use]
    pub fn new<'a>(tasks: impl Iterator<Item = TaskComparisons<'a>>, tolerance: f64) -> Self {
        let mut figures: Vec<FigureVerdict> =
            tasks.flat_map(|task| figure_verdicts(task, tolerance)).collect();
        let height = |of: &FigureVerdict| of.change.unwrap_or(f64::INFINITY);
        figures.sort_by(|a, b| b.fitness.cmp(&a.fitness).then(height(b).total_cmp(&height(a))));
        let any = |fitness| figures.iter().any(|of| of.fitness == fitness);
        let seems = |of: &FigureVerdict| of.fitness == Fitness::CannotTell && height(of) > tolerance;
        let fitness = match (any(Fitness::CannotTell), any(Fitness::Good)) {
            _ if any(Fitness::Unfit) => Fitness::Unfit,
            _ if figures.iter().any(seems) => Fitness::CannotTell,
            (false, true) => Fitness::Good,
            (true, true) => Fitness::Limited,
            (_, false) => Fitness::CannotTell,
        };
        ToleranceVerdict { tolerance, fitness, figures }
    }
}

fn figure_verdicts((task, runs, settings): TaskComparisons<'_>, tolerance: f64) -> Vec<FigureVerdict> {
    let runs = runs.into_iter().flat_map(|compared| verdicts_of_runs(task, compared, tolerance));
    runs.chain(settings.into_iter().flat_map(|compared| verdicts_of_settings(task, compared, tolerance)))
        .collect()
}

fn verdicts_of_runs(task: &str, compared: &Comparison, tolerance: f64) -> Vec<FigureVerdict> {
    let first = |statistic: Statistic| {
        let mut estimates = compared.runs.first()?.estimates.iter();
        estimates.find(|of| of.statistic == statistic).map(|of| of.value)
    };
    let figure = |run: &AgainstFirst, of: &Difference| {
        let first = first(of.statistic)?;
        let share = |difference: f64| (first != 0.0).then(|| difference / first.abs());
        let limits = of.interval.and_then(|[low, high]| Some([share(low)?, share(high)?]));
        let nothing = first == 0.0 && of.difference == 0.0;
        let silent = nothing || !of.real && of.refusal == Some(NoInterval::NoMethod);
        let is_none = of.refusal == Some(NoInterval::WithinBins);
        let gross = run.gross.filter(|gross| gross.statistic == of.statistic);
        let by_blocks = gross.and_then(|gross| match gross.is_lower {
            true => Some(Fitness::Good),
            false => (gross.factor > 1.0 + tolerance).then_some(Fitness::Unfit),
        });
        let real = of.real && gross.is_none();
        let seen = FigureEvidence { silent, higher: of.difference > 0.0, real, is_none };
        Some(FigureVerdict {
            task: task.to_owned(),
            run: run.name.clone(),
            statistic: of.statistic,
            change: share(of.difference),
            limits,
            within_bins: is_none,
            gross: by_blocks.is_some(),
            fitness: by_blocks.or_else(|| seen.judge(share(of.difference), limits, tolerance))?,
        })
    };
    let each = compared.against_first.iter();
    each.flat_map(|run| run.differences.iter().filter_map(|of| figure(run, of))).collect()
}

fn verdicts_of_settings(task: &str, compared: &SettingsCompared, tolerance: f64) -> Vec<FigureVerdict> {
    let run = compared.other.runs.join(", ");
    let figure = |of: &SettingDifference| {
        let mean = of.first.iter().sum::<f64>() / of.first.len() as f64;
        let share = |change: f64| match of.relative {
            true => Some(change - 1.0),
            false => (mean != 0.0).then(|| change / mean.abs()),
        };
        let limits = Option::zip(share(of.interval[0]), share(of.interval[1])).map(|(low, high)| [low, high]);
        let higher = of.change > if of.relative { 1.0 } else { 0.0 };
        let seen = FigureEvidence { silent: false, higher, real: of.real, is_none: false };
        Some(FigureVerdict {
            task: task.to_owned(),
            run: run.clone(),
            statistic: of.statistic,
            change: share(of.change),
            limits,
            within_bins: false,
            gross: false,
            fitness: seen.judge(share(of.change), limits, tolerance)?,
        })
    };
    compared.differences.iter().filter_map(figure).collect()
}

/// Evidence on one figure from a comparison.
struct FigureEvidence {
    /// True without evidence: it is 0 in both, or it has no method and shows nothing, as for most maxima.
    silent: bool,
    higher: bool,
    real: bool,
    /// True if it counts as no difference.
    is_none: bool,
}

impl FigureEvidence {
    /// Judges an increase against the tolerance: good, unfit or undecided; `None` if there is nothing to judge.
    fn judge(&self, change: Option<f64>, limits: Option<[f64; 2]>, tolerance: f64) -> Option<Fitness> {
        let more = change.is_none_or(|change| change > tolerance);
        match limits {
            _ if self.silent => None,
            _ if self.is_none => Some(Fitness::Good),
            Some([low, _]) if low > tolerance => Some(Fitness::Unfit),
            Some([_, high]) if high <= tolerance => Some(Fitness::Good),
            None if self.real && self.higher && more => Some(Fitness::Unfit),
            None if self.real => Some(Fitness::Good),
            _ => Some(Fitness::CannotTell),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{compare, compare_settings};
    use crate::scan::TaskScan;
    use jitterlab_model::Activation;

    /// Latencies without memory around a level; one in `every` is missed.
    fn scan(mean_ns: i64, seed: u64, every: u64) -> TaskScan {
        let mut scan = TaskScan::new(1_000_000, 20_000);
        let rows: Vec<Activation> = (0..20_000u64)
            .map(|k| {
                let mut z = (k + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let noise = ((z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 54) as i64;
                let due_ns = k as i64 * 1_000_000;
                let start_ns = due_ns + mean_ns + noise;
                let missed = u32::from(every > 0 && k % every == every - 1);
                Activation {
                    index: k,
                    due_ns,
                    start_ns,
                    end_ns: start_ns + 9,
                    missed,
                    ..Activation::default()
                }
            })
            .collect();
        scan.push_all(&rows);
        scan
    }

    fn judge(first: &TaskScan, other: &TaskScan, tolerance: f64) -> ToleranceVerdict {
        let compared = compare(&[("before".into(), first), ("after".into(), other)]);
        ToleranceVerdict::new([("main", Some(&compared), None)].into_iter(), tolerance)
    }

    fn fitness_of(judged: &ToleranceVerdict, statistic: Statistic) -> Option<Fitness> {
        judged.figures.iter().find(|of| of.statistic == statistic).map(|of| of.fitness)
    }

    #[test]
    fn a_run_that_is_worse_fails_and_one_that_is_not_passes() {
        let (before, after) = (scan(5_000, 0, 0), scan(6_000, 77_777, 0));
        let worse = judge(&before, &after, 0.1);
        assert_eq!((worse.fitness, worse.figures[0].fitness), (Fitness::Unfit, Fitness::Unfit), "{worse:#?}");
        assert!(worse.figures[0].change.is_some_and(|change| change > 0.1));
        assert_eq!(fitness_of(&judge(&before, &after, 0.5), Statistic::P50), Some(Fitness::Good));
        let better = judge(&after, &before, 0.01);
        assert_eq!(fitness_of(&better, Statistic::P50), Some(Fitness::Good), "better is not worse");
        assert_ne!(better.fitness, Fitness::Unfit);
    }

    #[test]
    fn what_is_neither_shown_nor_excluded_cannot_be_told() {
        // Higher by a tenth as seen: neither that it is more nor that it is less.
        let (before, after) = (scan(5_000, 0, 0), scan(5_551, 77_777, 0));
        let change =
            judge(&before, &after, 0.1).figures.into_iter().find(|of| of.statistic == Statistic::P50);
        let [low, high] = change.and_then(|of| of.limits).unwrap_or_default();
        let judged = judge(&before, &after, (low + high) / 2.0);
        assert_eq!(fitness_of(&judged, Statistic::P50), Some(Fitness::CannotTell), "{judged:#?}");
    }

    #[test]
    fn what_the_first_run_never_missed_fails() {
        let (before, after) = (scan(5_000, 0, 0), scan(5_000, 77_777, 10));
        let judged = judge(&before, &after, 0.1);
        let missed = judged.figures.iter().find(|of| of.statistic == Statistic::MissedShare);
        let missed = missed.map(|of| (of.fitness, of.change));
        assert_eq!((judged.fitness, missed), (Fitness::Unfit, Some((Fitness::Unfit, None))), "{judged:#?}");
        assert_eq!(fitness_of(&judge(&before, &before, 0.1), Statistic::MissedShare), None);
    }

    #[test]
    fn settings_are_judged_by_their_runs() {
        let runs = [(5_000, 1), (5_020, 2), (4_990, 3)].map(|(ns, seed)| scan(ns, seed * 100_000, 0));
        let others = [(6_500, 4), (6_480, 5), (6_530, 6)].map(|(ns, seed)| scan(ns, seed * 100_000, 0));
        fn named(runs: &[TaskScan; 3]) -> [(String, &TaskScan); 3] {
            runs.each_ref().map(|scan| (String::from("run"), scan))
        }
        let none = [const { String::new() }; 3];
        let judged = |a, b| {
            let compared = compare_settings([&named(a), &named(b)], [&none, &none]);
            ToleranceVerdict::new([("main", None, compared.as_ref())].into_iter(), 0.1).fitness
        };
        assert_eq!(judged(&runs, &others), Fitness::Unfit);
        assert_eq!(judged(&others, &runs), Fitness::Good);
    }
}
